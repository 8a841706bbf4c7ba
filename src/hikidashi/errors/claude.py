"""Errors of Claude Code: its process, its API, and the tools and dependencies for it."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches

from ._base import HikidashiError


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
