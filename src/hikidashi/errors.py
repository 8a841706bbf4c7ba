"""Every error hikidashi raises, in one tree.

    HikidashiError
    ├── MissingExtra (ImportError)               an optional framework is not installed
    ├── Unsupported (TypeError)                  the target of a conversion cannot express something
    ├── ToolValidationError (ValueError)         a tool has no usable name, function or schema
    ├── ToolConnectionError (ConnectionError)    the connection to the server of a tool is lost
    ├── ToolSearchError (ValueError)             a search that cannot be answered: its words, pattern or catalogue
    ├── ToolTurnLimitError (RuntimeError)        a model still called tools after `max_turns` replies
    ├── ToolSourceError (ValueError)             tools that cannot be read from a file, module or list of servers
    ├── SearchLogError                           a search log that cannot be read or written
    ├── TavilyAPIError                           a web search, extraction or context that failed; `error_type` says how
    │   └── PageError                            a page that could not be fetched or read; `reason` says why
    ├── FetchRefused (ValueError)                an address that must not be fetched, such as a private one
    ├── WebIndexError                            the local index of documents cannot be read or written
    ├── SlackError                               Slack refused a call, or cannot be reached
    ├── ServerUnavailableError (ConnectionError)  a server behind the gateway cannot be reached
    │   └── LoginError                           a person could not log in to a server behind the gateway
    ├── ConfigError (ValueError)                 a config file that cannot be used: file, line, key, what is allowed
    └── ClaudeCodeError                          Claude Code, or tools and dependencies for it
        ├── UnsupportedDepsTypeError             dependencies that cannot be serialised as JSON
        ├── MissingDepsError                     a tool reads dependencies, and none were given
        ├── DepsJSONError (ValueError)           JSON that does not describe the dependencies asked for
        ├── TypeHintResolutionError              type hints of dependencies that cannot be resolved
        ├── ToolsetNotRegisteredError            tools were asked for before `set_agent_toolsets()`
        ├── ToolNotFoundError                    a tool was asked for that no toolset has
        ├── InvalidSettingError (ValueError)     a model setting of the wrong type, or out of range
        ├── ClaudeCodeNotFoundError              the Claude Code CLI was not found
        ├── ClaudeCodeProcessError               the CLI ended, or could not start
        ├── ClaudeCodeTimeoutError (TimeoutError)  no answer in time
        ├── ClaudeCodeAPIError                   the model's API refused or failed
        └── ClaudeCodeLimitError                 `max_turns` or `max_budget_usd` was reached

Each class has its details as attributes, so callers never parse its text, and is rebuilt from
`args`, so it survives pickle and copy.
"""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from enum import StrEnum
from typing import Any, Literal

__all__ = [
    "ClaudeCodeAPIError",
    "ClaudeCodeError",
    "ClaudeCodeLimitError",
    "ClaudeCodeNotFoundError",
    "ClaudeCodeProcessError",
    "ClaudeCodeTimeoutError",
    "ConfigError",
    "DepsJSONError",
    "ErrorType",
    "FetchRefused",
    "HikidashiError",
    "InvalidSettingError",
    "LoginError",
    "MissingDepsError",
    "MissingExtra",
    "PageError",
    "SearchLogError",
    "ServerUnavailableError",
    "SlackError",
    "TavilyAPIError",
    "ToolConnectionError",
    "ToolNotFoundError",
    "ToolSearchError",
    "ToolSourceError",
    "ToolTurnLimitError",
    "ToolValidationError",
    "ToolsetNotRegisteredError",
    "TypeHintResolutionError",
    "Unsupported",
    "UnsupportedDepsTypeError",
    "WebIndexError",
]


# The root of the tree, and the error of a package that is not installed.


class HikidashiError(Exception):
    """Base class: `except HikidashiError` catches everything hikidashi raises."""


class MissingExtra(HikidashiError, ImportError):  # noqa: N818 - reads as what it says
    """A package that is needed here is not installed: a framework of an extra, or one that comes with hikidashi."""

    def __init__(self, package: str, extra: str = "") -> None:
        super().__init__(package, extra)
        self.package = package
        self.extra = extra

    def __str__(self) -> str:
        wanted = f"'hikidashi[{self.extra}]'" if self.extra else "hikidashi"
        return f"`{self.package}` is not installed. Run: pip install {wanted}"


# Errors of tools and their conversions.


class Unsupported(HikidashiError, TypeError):  # noqa: N818 - reads as what it says
    """The target of a conversion cannot express `what`."""

    def __init__(self, what: str, target: str, remedy: str = "") -> None:
        super().__init__(what, target, remedy)
        self.what = what
        self.target = target
        self.remedy = remedy

    def __str__(self) -> str:
        return f"{self.target} cannot express {self.what}. {self.remedy}".rstrip()


class ToolValidationError(HikidashiError, ValueError):
    """A tool has no usable name, function or schema."""

    def __init__(self, message: str, tool_name: str | None = None) -> None:
        super().__init__(message, tool_name)
        self.message = message
        self.tool_name = tool_name

    def __str__(self) -> str:
        return self.message


class ToolConnectionError(HikidashiError, ConnectionError):
    """The connection to the server of the tool `tool_name` is lost."""

    def __init__(
        self,
        tool_name: str,
        reason: str,
        remedy: str = "Connect again, list its tools again, and keep the connection open while they are used.",
    ) -> None:
        super().__init__(tool_name, reason)  # of three, OSError takes the last for the name of a file
        self.tool_name = tool_name
        self.reason = reason
        self.remedy = remedy

    def __reduce__(self) -> tuple[type[ToolConnectionError], tuple[str, str, str]]:
        return type(self), (self.tool_name, self.reason, self.remedy)

    def __str__(self) -> str:
        return f"The connection to the server of tool {self.tool_name!r} is lost: {self.reason}. {self.remedy}"


# Errors of Claude Code: its process, its API, and the tools and dependencies for it.


class ClaudeCodeError(HikidashiError):
    """Base class of errors of Claude Code, and of tools and dependencies for it."""


class UnsupportedDepsTypeError(ClaudeCodeError):
    """Dependencies that cannot be serialised as JSON, at `path` inside them."""

    def __init__(self, type_name: str, path: str = "deps", reason: str = "") -> None:
        super().__init__(type_name, path, reason)
        self.type_name = type_name
        self.path = path
        self.reason = reason

    def __str__(self) -> str:
        because = f" ({self.reason})" if self.reason else ""
        return (
            f"`{self.path}` is a {self.type_name}, which cannot be serialised{because}. "
            "Use dict, list, plain values, dataclasses or pydantic models, and build clients inside the tool: "
            "`agent.run(deps=...)` and `set_agent_toolsets(deps=...)` take the same types. "
            'Or run the agent with `ClaudeCodeModel(tool_execution="agent")`, where deps of any type work.'
        )


class MissingDepsError(ClaudeCodeError):
    """A tool reads `ctx.deps`, and no deps were given."""

    def __init__(self, tool_name: str, wanted: str) -> None:
        super().__init__(tool_name, wanted)
        self.tool_name = tool_name
        self.wanted = wanted

    def __str__(self) -> str:
        return (
            f"Tool {self.tool_name!r} reads `ctx.deps` ({self.wanted}), but no deps were given. Give them to the run "
            "with `agent.run(deps=...)`, or beforehand with `set_agent_toolsets(deps=...)`, "
            "`create_mcp_server_from_tools(..., deps=...)` or `convert_tool_with_deps(tool, deps)`. Or use "
            '`ClaudeCodeModel(tool_execution="agent")`, where deps of any type work.'
        )


class DepsJSONError(ClaudeCodeError, ValueError):
    """JSON that is malformed, or does not describe the dependencies asked for."""

    def __init__(self, type_name: str, path: str, reason: str) -> None:
        super().__init__(type_name, path, reason)
        self.type_name = type_name
        self.path = path
        self.reason = reason

    def __str__(self) -> str:
        return (
            f"The JSON does not describe a {self.type_name}: {self.reason} (at `{self.path}`). "
            "Pass what `serialize_deps()` returned, and the type it was made from."
        )


class TypeHintResolutionError(ClaudeCodeError):
    """Type hints of a dataclass that cannot be resolved."""

    def __init__(self, type_name: str, detail: str) -> None:
        super().__init__(type_name, detail)
        self.type_name = type_name
        self.detail = detail

    def __str__(self) -> str:
        return (
            f"The type hints of `{self.type_name}` cannot be resolved: {self.detail}. "
            "Import the names it uses at module level, outside `if TYPE_CHECKING:`."
        )


class ToolsetNotRegisteredError(ClaudeCodeError):
    """Tools were asked for before `set_agent_toolsets()` was called."""

    def __init__(self, requested: Sequence[str] = ()) -> None:
        super().__init__(tuple(requested))
        self.requested = tuple(requested)

    def __str__(self) -> str:
        names = ", ".join(repr(name) for name in self.requested)
        return (
            f"No toolset is registered{f', but these tools were requested: {names}' if names else ''}. "
            "Call `model.set_agent_toolsets(agent._function_toolset)` before running the agent, "
            'or use `ClaudeCodeModel(tool_execution="agent")`, which needs no registration.'
        )


class ToolNotFoundError(ClaudeCodeError):
    """A tool was asked for that no registered toolset has."""

    def __init__(self, missing: Sequence[str], available: Sequence[str] = ()) -> None:
        super().__init__(tuple(missing), tuple(available))
        self.missing = tuple(missing)
        self.available = tuple(available)

    def __str__(self) -> str:
        lines = [f"Not registered: {', '.join(repr(name) for name in self.missing)}."]
        close = [match for name in self.missing for match in get_close_matches(name, self.available, n=1)]
        lines += [f"Did you mean {name!r}?" for name in close]
        known = ", ".join(repr(name) for name in self.available[:20]) or "none"
        more = f" and {len(self.available) - 20} more" if len(self.available) > 20 else ""
        lines.append(f"Registered tools: {known}{more}. Register the toolset that has it with `set_agent_toolsets()`.")
        return " ".join(lines)


class InvalidSettingError(ClaudeCodeError, ValueError):
    """A model setting has the wrong type, or is out of range."""

    def __init__(self, setting: str, value: object, expected: str) -> None:
        super().__init__(setting, value, expected)
        self.setting = setting
        self.value = value
        self.expected = expected

    def __str__(self) -> str:
        return f"Model setting `{self.setting}` cannot be {self.value!r}: {self.expected}."


class ClaudeCodeNotFoundError(ClaudeCodeError):
    """The Claude Code CLI was not found."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.path = path

    def __str__(self) -> str:
        return (
            f"The Claude Code CLI was not found at {self.path!r}. It comes with `pip install 'hikidashi[claude]'`; "
            "leave `cli_path` unset to use that one."
        )


class ClaudeCodeProcessError(ClaudeCodeError):
    """The Claude Code CLI ended before it answered, or could not start."""

    def __init__(self, message: str, exit_code: int | None = None, stderr: str = "") -> None:
        super().__init__(message, exit_code, stderr)
        self.message = message
        self.exit_code = exit_code
        self.stderr = stderr

    def __str__(self) -> str:
        code = f" (exit code {self.exit_code})" if self.exit_code is not None else ""
        ending = f" stderr ended with: {self.stderr.strip()[-500:]}" if self.stderr.strip() else ""
        return f"{self.message}{code}.{ending} Run `hikidashi doctor` to see whether the CLI works here."


class ClaudeCodeTimeoutError(ClaudeCodeError, TimeoutError):
    """There was no answer within `seconds`."""

    def __init__(self, seconds: float, waiting_for: str) -> None:
        super().__init__(seconds, waiting_for)
        self.seconds = seconds
        self.waiting_for = waiting_for

    def __str__(self) -> str:
        return (
            f"No answer within {self.seconds:g} s, waiting for {self.waiting_for}. The CLI was stopped. "
            "Raise `timeout` in the model settings, or look at what it waited for."
        )


class ClaudeCodeAPIError(ClaudeCodeError):
    """The model's API refused the request, or failed."""

    remedy: str | None = None
    """What to do, if the status alone does not tell."""

    def __init__(self, message: str, status_code: int | None = None) -> None:
        super().__init__(message, status_code)
        self.message = message
        self.status_code = status_code

    def __str__(self) -> str:
        status = f"status {self.status_code}" if self.status_code is not None else "no status"
        return (
            f"The model API failed ({status}): {_sentence(self.message)} {self.remedy or _api_remedy(self.status_code)}"
        )


class ClaudeCodeLimitError(ClaudeCodeError):
    """A limit the caller set, `max_turns` or `max_budget_usd`, was reached."""

    def __init__(self, limit: str, detail: str = "") -> None:
        super().__init__(limit, detail)
        self.limit = limit
        self.detail = detail

    def __str__(self) -> str:
        detail = f": {self.detail}" if self.detail else ""
        return f"Claude Code stopped because `{self.limit}` was reached{detail}. Raise `{self.limit}` to let it go on."


def _sentence(text: str) -> str:
    return text if text.endswith((".", "!", "?")) else f"{text}."


def _api_remedy(status: int | None) -> str:
    match status:
        case 401 | 403:
            return "Check ANTHROPIC_API_KEY, or log in once with `claude`."
        case 404:
            return "Check the model name."
        case 413:
            return "Send less: shorten the history or the tool results."
        case 429:
            return "Wait and try again, or lower the number of runs at once."
        case int() if status >= 500:
            return "The service failed: try again later."
        case int():
            return "Check the request: model settings, history and tool schemas."
        case None:
            return "Check the network and ANTHROPIC_BASE_URL."


# The error of a config file.


class ConfigError(HikidashiError, ValueError):
    """The config file `path` cannot be used; `key` and `line` say where, `reason` what is allowed there."""

    def __init__(self, path: str, reason: str, key: str = "", line: int | None = None) -> None:
        super().__init__(path, reason, key, line)
        self.path = path
        self.reason = reason
        self.key = key
        self.line = line
        """Line of the error in the file, counted from 1; None if it has none."""

    def __str__(self) -> str:
        place = f", line {self.line}" if self.line is not None else ""
        key = f" `{self.key}`:" if self.key else ""
        return f"{self.path}{place}:{key} {self.reason}"


# Errors of the gateway.


class ServerUnavailableError(HikidashiError, ConnectionError):
    """A server behind the gateway cannot be reached: `reason` says why, `remedy` what to do."""

    def __init__(self, server: str, reason: str, remedy: str = "") -> None:
        super().__init__(server, reason, remedy)
        self.server = server
        self.reason = reason
        self.remedy = remedy

    def __str__(self) -> str:
        return f"The MCP server {self.server!r} cannot be reached: {self.reason.rstrip('.')}. {self.remedy}".rstrip()


class LoginError(ServerUnavailableError):
    """A person could not log in to a server behind the gateway: `reason` says why, `remedy` what to do."""

    def __str__(self) -> str:
        return f"The login to the MCP server {self.server!r} failed: {self.reason.rstrip('.')}. {self.remedy}".rstrip()


# Errors of tool search: queries, catalogues and search logs.


ToolSearchCode = Literal[
    "invalid_tool_input",
    "unavailable",
    "too_many_requests",
    "execution_time_exceeded",
    "invalid_pattern",
    "pattern_too_long",
]
_CODES_OF_2026 = {"invalid_pattern": "invalid_tool_input", "pattern_too_long": "invalid_tool_input"}
_CODES_OF_2025 = {"invalid_tool_input": "invalid_pattern", "execution_time_exceeded": "unavailable"}


class ToolSearchError(HikidashiError, ValueError):
    """A tool search that cannot be answered; `code` is the API's error code, `message` says how to repair it."""

    def __init__(self, code: ToolSearchCode, message: str, position: int | None = None) -> None:
        super().__init__(code, message, position)
        self.code: ToolSearchCode = code
        self.message = message
        self.position = position
        """Position of the error in the pattern, counted from 0; None if it has none."""

    def __str__(self) -> str:
        return self.message

    def wire_code(self, dialect: Literal["2026", "2025"] = "2026") -> str:
        """The code in the API's current spelling, or in that of 2025 (`invalid_pattern`, `pattern_too_long`)."""
        return (_CODES_OF_2026 if dialect == "2026" else _CODES_OF_2025).get(self.code, self.code)


class ToolTurnLimitError(HikidashiError, RuntimeError):
    """A model still called tools after `max_turns` replies; `messages` is the conversation, ready to go on with."""

    def __init__(self, max_turns: int, messages: Sequence[Any] = ()) -> None:
        super().__init__(max_turns, messages)
        self.max_turns = max_turns
        self.messages = list(messages)

    def __str__(self) -> str:
        return (
            f"The model still called tools after {self.max_turns} replies. Raise `max_turns`, or go on with "
            "`messages=error.messages`: every call in it is answered."
        )


class ToolSourceError(HikidashiError, ValueError):
    """Tools cannot be read from `source`: a file, a module or a list of servers."""

    def __init__(self, source: str, reason: str, remedy: str = "", line: int | None = None) -> None:
        super().__init__(source, reason, remedy, line)
        self.source = source
        self.reason = reason
        self.remedy = remedy
        self.line = line
        """Line of the error in the file; None if it has none."""

    def __str__(self) -> str:
        place = f", line {self.line}" if self.line is not None else ""
        return f"{self.source}{place}: {self.reason}. {self.remedy}".rstrip()


class SearchLogError(HikidashiError):
    """The search log at `path` cannot be read or written; the file is not changed."""

    def __init__(self, path: str, reason: str, remedy: str = "") -> None:
        super().__init__(path, reason, remedy)
        self.path = path
        self.reason = reason
        self.remedy = remedy

    def __str__(self) -> str:
        return f"The search log {self.path!r} {self.reason}. {self.remedy}".rstrip()


# The error of Slack, with a remedy for each of its codes.


_SLACK_REMEDIES = {
    "account_inactive": "The app was removed from the workspace: install it again and use its new bot token.",
    "channel_not_found": "Invite the bot to the channel with /invite.",
    "http_404": "Check `slack.base_url`.",
    "invalid_auth": "Check the bot token (xoxb-...) and the app token (xapp-...).",
    "is_archived": "The channel is archived.",
    "not_allowed_token_type": "The bot token begins with xoxb-, the app token with xapp-: they may be swapped.",
    "not_authed": "Set the bot token (xoxb-...) and the app token (xapp-...).",
    "not_in_channel": "Invite the bot to the channel with /invite.",
    "ratelimited": "Slack asked to wait for too long. Try again later.",
    "restricted_action": "The workspace does not let apps post there.",
    "token_expired": "The tokens of this app rotate: use a new one, or turn off token rotation.",
    "token_revoked": "Install the app again and use its new bot token.",
    "unreachable": "Check the network, the proxy (HTTPS_PROXY, NO_PROXY) and `slack.base_url`.",
}


class SlackError(HikidashiError):
    """Slack refused a call, or cannot be reached; `code` is Slack's error code."""

    def __init__(self, method: str, code: str, needed: str = "", detail: str = "") -> None:
        super().__init__(method, code, needed, detail)
        self.method = method
        """The method of the Web API, such as `chat.postMessage`."""
        self.code = code
        self.needed = needed
        """The missing scope, if `code` is `missing_scope`."""
        self.detail = detail

    @property
    def remedy(self) -> str:
        """What to do next; empty if unknown."""
        if self.code == "missing_scope":
            return f"Add the scope `{self.needed or 'that it needs'}` to the Slack app and install it again."
        return _SLACK_REMEDIES.get(self.code, "")

    def __str__(self) -> str:
        detail = f" ({self.detail})" if self.detail else ""
        return f"Slack: `{self.method}` failed with {self.code}{detail}. {self.remedy}".rstrip()


# Errors of the web tools: searching, fetching, reading and indexing.


class ErrorType(StrEnum):
    """The kind of a `TavilyAPIError`; the value is the name, as tools print it."""

    AUTH_ERROR = "AUTH_ERROR"
    """The key is missing, wrong or not allowed to do this: check TAVILY_API_KEY."""
    RATE_LIMIT_ERROR = "RATE_LIMIT_ERROR"
    """Too many requests: wait `retry_after` seconds, if the provider gave a time."""
    VALIDATION_ERROR = "VALIDATION_ERROR"
    """The input cannot be used: the message names it and what is allowed."""
    TIMEOUT_ERROR = "TIMEOUT_ERROR"
    """No answer in time: try again, or raise `timeout`."""
    SERVER_ERROR = "SERVER_ERROR"
    """The provider failed (HTTP 500): try again later."""
    SERVICE_UNAVAILABLE = "SERVICE_UNAVAILABLE"
    """The provider is overloaded or down: try again later."""
    NETWORK_ERROR = "NETWORK_ERROR"
    """The provider cannot be reached: check the network, the proxy and `base_url`."""
    API_ERROR = "API_ERROR"
    """Any other refusal, such as a plan without credits left: the message has the provider's own text."""


_WORTH_ANOTHER_TRY = frozenset(
    {
        ErrorType.RATE_LIMIT_ERROR,
        ErrorType.TIMEOUT_ERROR,
        ErrorType.SERVER_ERROR,
        ErrorType.SERVICE_UNAVAILABLE,
        ErrorType.NETWORK_ERROR,
    }
)


class TavilyAPIError(HikidashiError):
    """A web search, extraction or context that failed, with Tavily or any other provider.

    `error_type` is the kind of failure, and so what to do; `is_retryable` says whether to try again.
    """

    def __init__(
        self,
        message: str,
        error_type: ErrorType,
        status_code: int | None = None,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message, error_type, status_code, retry_after)
        self.message = message
        self.error_type = ErrorType(error_type)
        self.status_code = status_code
        """The HTTP status; None without a response."""
        self.retry_after = retry_after
        """Seconds the server asked to wait; None if it did not."""

    @property
    def is_retryable(self) -> bool:
        """Whether the same request may succeed later: not with a bad key or bad input."""
        return self.error_type in _WORTH_ANOTHER_TRY

    def __str__(self) -> str:
        return self.message


class PageError(TavilyAPIError):
    """The page at `url` could not be fetched or read; `reason` says why."""

    def __init__(
        self,
        url: str,
        reason: str,
        error_type: ErrorType,
        status_code: int | None = None,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(f"{url!r} could not be read: {reason}.", error_type, status_code, retry_after)
        self.args = (url, reason, error_type, status_code, retry_after)
        self.url = url
        self.reason = reason


class FetchRefused(HikidashiError, ValueError):  # noqa: N818 - reads as what it says
    """`url` must not be fetched: its scheme, host, port or address is not allowed.

    To allow a private host, add it to the `allowed_hosts` of a fetcher.
    """

    def __init__(self, url: str, reason: str, code: str = "") -> None:
        super().__init__(url, reason, code)
        self.url = url
        self.reason = reason
        self.code = code
        """The reason as one word, such as `private` or `scheme`; may be empty."""

    def __str__(self) -> str:
        return f"{self.url!r} is not fetched: {self.reason}."


class WebIndexError(HikidashiError):
    """The local index of documents at `path` cannot be read or written; the file is not changed."""

    def __init__(self, path: str, reason: str, remedy: str = "") -> None:
        super().__init__(path, reason, remedy)
        self.path = path
        self.reason = reason
        self.remedy = remedy

    def __str__(self) -> str:
        return f"The web index {self.path!r} {self.reason}. {self.remedy}".rstrip()
