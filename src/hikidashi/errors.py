"""Every error hikidashi raises, in one tree.

    HikidashiError
    ├── MissingExtra (ImportError)               an optional framework is not installed
    ├── Unsupported (TypeError)                  the target of a conversion cannot express something
    ├── ToolValidationError (ValueError)         a tool has no usable name, function or schema
    ├── ToolConnectionError (ConnectionError)    the server behind a tool is gone
    ├── ToolSearchError (ValueError)             a search that cannot be answered: its words, pattern or catalogue
    ├── ToolTurnLimitError (RuntimeError)        a model still called tools after the turns it was given
    ├── ToolSourceError (ValueError)             tools that cannot be read from a file, module or list of servers
    ├── SearchLogError                           a record of searches that cannot be read or written
    ├── TavilyAPIError                           a web search, extraction or context that failed; `error_type` says how
    │   └── PageError                            a page that could not be fetched or read; `reason` says why
    ├── FetchRefused (ValueError)                an address that must not be fetched, such as a private one
    ├── WebIndexError                            the local index of documents cannot be read or written
    ├── SlackError                               Slack refused a call, or cannot be reached
    ├── ConfigError (ValueError)                 a config file that cannot be used: file, line, key, what is allowed
    └── ClaudeCodeError                          Claude Code, or a tool on its way there
        ├── UnsupportedDepsTypeError             dependencies that JSON cannot carry
        ├── DepsJSONError (ValueError)           JSON that does not describe the dependencies asked for
        ├── TypeHintResolutionError              type hints of dependencies that name nothing
        ├── ToolsetNotRegisteredError            tools were asked for before `set_agent_toolsets()`
        ├── ToolNotFoundError                    a tool was asked for that no toolset has
        ├── InvalidSettingError (ValueError)     a model setting of the wrong type, or out of range
        ├── ClaudeCodeNotFoundError              the Claude Code CLI is not there
        ├── ClaudeCodeProcessError               the CLI ended, or could not start
        ├── ClaudeCodeTimeoutError (TimeoutError)  an answer did not come in time
        ├── ClaudeCodeAPIError                   the model's API refused or failed
        └── ClaudeCodeLimitError                 `max_turns` or `max_budget_usd` was reached

Each class keeps what it is about as attributes, so callers never parse its text, and rebuilds
itself from `args`, so it survives pickle and copy.
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
    "MissingExtra",
    "PageError",
    "SearchLogError",
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


class HikidashiError(Exception):
    """Base class: `except HikidashiError` catches everything hikidashi raises."""


class MissingExtra(HikidashiError, ImportError):  # noqa: N818 - reads as what it says
    """An optional framework is not installed."""

    def __init__(self, package: str, extra: str) -> None:
        super().__init__(package, extra)
        self.package = package
        self.extra = extra

    def __str__(self) -> str:
        return f"`{self.package}` is not installed. Run: pip install 'hikidashi[{self.extra}]'"


class Unsupported(HikidashiError, TypeError):  # noqa: N818 - reads as what it says
    """The target of a conversion cannot express `what`."""

    def __init__(self, what: str, target: str, remedy: str = "") -> None:
        super().__init__(what, target, remedy)
        self.what = what
        self.target = target
        self.remedy = remedy

    def __str__(self) -> str:
        return f"{self.target} cannot express {self.what}." + (f" {self.remedy}" if self.remedy else "")


class ToolValidationError(HikidashiError, ValueError):
    """A tool has no usable name, function or schema."""

    def __init__(self, message: str, tool_name: str | None = None) -> None:
        super().__init__(message, tool_name)
        self.message = message
        self.tool_name = tool_name

    def __str__(self) -> str:
        return self.message


class ToolConnectionError(HikidashiError, ConnectionError):
    """The server behind the tool `tool_name` is gone."""

    def __init__(self, tool_name: str, reason: str) -> None:
        super().__init__(tool_name, reason)
        self.tool_name = tool_name
        self.reason = reason

    def __str__(self) -> str:
        return (
            f"Tool {self.tool_name!r} lost its server: {self.reason}. "
            "Connect again, take its tools anew, and use them while the connection is open."
        )


class ToolSearchError(HikidashiError, ValueError):
    """A tool search that cannot be answered; `code` says why in the API's words, `message` how to repair it."""

    def __init__(self, code: ToolSearchCode, message: str, position: int | None = None) -> None:
        super().__init__(code, message, position)
        self.code: ToolSearchCode = code
        self.message = message
        self.position = position
        """Where in the pattern the fault is, counted from 0; None where there is no such place."""

    def __str__(self) -> str:
        return self.message

    def wire_code(self, dialect: Literal["2026", "2025"] = "2026") -> str:
        """The code in a dialect of the API: today's, or that of 2025 with `invalid_pattern` and `pattern_too_long`."""
        return (_CODES_OF_2026 if dialect == "2026" else _CODES_OF_2025).get(self.code, self.code)


class ToolSourceError(HikidashiError, ValueError):
    """Tools cannot be read from `source`: a file, a module or a list of servers."""

    def __init__(self, source: str, reason: str, remedy: str = "", line: int | None = None) -> None:
        super().__init__(source, reason, remedy, line)
        self.source = source
        self.reason = reason
        self.remedy = remedy
        self.line = line
        """The line of the file where the fault is; None where there is no such line."""

    def __str__(self) -> str:
        place = f", line {self.line}" if self.line is not None else ""
        return f"{self.source}{place}: {self.reason}." + (f" {self.remedy}" if self.remedy else "")


class SearchLogError(HikidashiError):
    """The record of searches at `path` cannot be read or written; the file stays as it is."""

    def __init__(self, path: str, reason: str, remedy: str = "") -> None:
        super().__init__(path, reason, remedy)
        self.path = path
        self.reason = reason
        self.remedy = remedy

    def __str__(self) -> str:
        return f"The search log {self.path!r} {self.reason}." + (f" {self.remedy}" if self.remedy else "")


class ErrorType(StrEnum):
    """What kind of failure a `TavilyAPIError` is; the value is the name, as tools print it."""

    AUTH_ERROR = "AUTH_ERROR"
    RATE_LIMIT_ERROR = "RATE_LIMIT_ERROR"
    VALIDATION_ERROR = "VALIDATION_ERROR"
    TIMEOUT_ERROR = "TIMEOUT_ERROR"
    SERVER_ERROR = "SERVER_ERROR"
    SERVICE_UNAVAILABLE = "SERVICE_UNAVAILABLE"
    NETWORK_ERROR = "NETWORK_ERROR"
    API_ERROR = "API_ERROR"


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
    """A web search, extraction or context that failed, with Tavily or any other provider."""

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
        """The HTTP status; None where no answer came."""
        self.retry_after = retry_after
        """Seconds the server asked to wait; None where it did not say."""

    @property
    def is_retryable(self) -> bool:
        """Whether the same request may succeed later: not with a bad key or bad input."""
        return self.error_type in _WORTH_ANOTHER_TRY

    def __str__(self) -> str:
        return self.message


class PageError(TavilyAPIError):
    """The page at `url` could not be fetched or read; `reason` says why and fits the failed section."""

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
    """`url` must not be fetched: its scheme, host, port or address is not allowed."""

    def __init__(self, url: str, reason: str, code: str = "") -> None:
        super().__init__(url, reason, code)
        self.url = url
        self.reason = reason
        self.code = code
        """The reason as one word, such as `private` or `scheme`; empty where there is none."""

    def __str__(self) -> str:
        return f"{self.url!r} is not fetched: {self.reason}."


class WebIndexError(HikidashiError):
    """The local index of documents at `path` cannot be read or written; the file stays as it is."""

    def __init__(self, path: str, reason: str, remedy: str = "") -> None:
        super().__init__(path, reason, remedy)
        self.path = path
        self.reason = reason
        self.remedy = remedy

    def __str__(self) -> str:
        return f"The web index {self.path!r} {self.reason}." + (f" {self.remedy}" if self.remedy else "")


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
    "token_expired": "Tokens of this app rotate: use a new one, or switch token rotation off.",
    "token_revoked": "Install the app again and use its new bot token.",
    "unreachable": "Check the network, the proxy (HTTPS_PROXY, NO_PROXY) and `slack.base_url`.",
}


class SlackError(HikidashiError):
    """Slack refused a call, or cannot be reached; `code` is Slack's own word."""

    def __init__(self, method: str, code: str, needed: str = "", detail: str = "") -> None:
        super().__init__(method, code, needed, detail)
        self.method = method
        """The method of the Web API, such as `chat.postMessage`."""
        self.code = code
        self.needed = needed
        """The scope the app lacks, where `code` is `missing_scope`."""
        self.detail = detail

    @property
    def remedy(self) -> str:
        """What to do next; empty where nothing is known."""
        if self.code == "missing_scope":
            return f"Add the scope `{self.needed or 'that it needs'}` to the Slack app and install it again."
        return _SLACK_REMEDIES.get(self.code, "")

    def __str__(self) -> str:
        detail = f" ({self.detail})" if self.detail else ""
        return f"Slack: `{self.method}` failed with {self.code}{detail}. {self.remedy}".rstrip()


class ConfigError(HikidashiError, ValueError):
    """The config file `path` cannot be used; `key` and `line` say where, `reason` what is allowed there."""

    def __init__(self, path: str, reason: str, key: str = "", line: int | None = None) -> None:
        super().__init__(path, reason, key, line)
        self.path = path
        self.reason = reason
        self.key = key
        self.line = line
        """The line of the file where the fault is, counted from 1; None where there is no such line."""

    def __str__(self) -> str:
        place = f", line {self.line}" if self.line is not None else ""
        key = f" `{self.key}`:" if self.key else ""
        return f"{self.path}{place}:{key} {self.reason}"


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


class ClaudeCodeError(HikidashiError):
    """Base class of what goes wrong with Claude Code, or with a tool on its way there."""


class UnsupportedDepsTypeError(ClaudeCodeError):
    """Dependencies that JSON cannot carry, at `path` inside them."""

    def __init__(self, type_name: str, path: str = "deps", reason: str = "") -> None:
        super().__init__(type_name, path, reason)
        self.type_name = type_name
        self.path = path
        self.reason = reason

    def __str__(self) -> str:
        because = f" ({self.reason})" if self.reason else ""
        return (
            f"`{self.path}` is a {self.type_name}, which cannot be serialised{because}. "
            "Use dict, list, plain values, dataclasses or pydantic models, and build clients inside the tool; "
            'or run the agent with `ClaudeCodeModel(tool_execution="agent")`, where deps of any type work.'
        )


class DepsJSONError(ClaudeCodeError, ValueError):
    """JSON that is broken, or describes something else than the dependencies asked for."""

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
    """Type hints of a dataclass that name nothing."""

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
    """The Claude Code CLI is not where it should be."""

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
        said = f" Its last words: {self.stderr.strip()[-500:]}" if self.stderr.strip() else ""
        return f"{self.message}{code}.{said} Run `hikidashi doctor` to see whether the CLI works here."


class ClaudeCodeTimeoutError(ClaudeCodeError, TimeoutError):
    """An answer did not come within `seconds`."""

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

    def __init__(self, message: str, status_code: int | None = None) -> None:
        super().__init__(message, status_code)
        self.message = message
        self.status_code = status_code

    def __str__(self) -> str:
        status = f"status {self.status_code}" if self.status_code is not None else "no status"
        return f"The model API failed ({status}): {self.message} {_api_remedy(self.status_code)}"


class ClaudeCodeLimitError(ClaudeCodeError):
    """A limit the caller set, `max_turns` or `max_budget_usd`, was reached."""

    def __init__(self, limit: str, detail: str = "") -> None:
        super().__init__(limit, detail)
        self.limit = limit
        self.detail = detail

    def __str__(self) -> str:
        detail = f": {self.detail}" if self.detail else ""
        return f"Claude Code stopped because `{self.limit}` was reached{detail}. Raise `{self.limit}` to let it go on."


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
            return "The service is in trouble: try again later."
        case int():
            return "Check the request: model settings, history and tool schemas."
        case None:
            return "Check the network and ANTHROPIC_BASE_URL."
