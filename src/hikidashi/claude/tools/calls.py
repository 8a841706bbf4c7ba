"""One call of a pydantic-ai tool outside a pydantic-ai run: arguments in, a `ToolResult` out.

Both layers of spec 002 run tools through here; they differ only in what they do with an exception.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
from collections.abc import Awaitable, Callable, Collection, Coroutine, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol, TypeVar, cast

from pydantic import ValidationError

from ...errors import MissingExtra, ToolValidationError, Unsupported
from ...tool import ToolResult

try:
    from mcp import types
    from pydantic_ai import RunContext, Tool
    from pydantic_ai.exceptions import ApprovalRequired, CallDeferred, ModelRetry, ToolFailed
    from pydantic_ai.messages import ToolReturn, ToolReturnPart, is_multi_modal_content
except ImportError as error:
    raise MissingExtra("pydantic-ai-slim", "claude,pydantic-ai") from error

from ...convert.pydantic_ai_content import META, to_result
from ..deps_support import DepsContext
from ..downloads import returned_with_downloads
from .context import WITHOUT_DEPS

Call = Callable[[dict[str, Any]], Awaitable[Any]]
"""A tool's function with its arguments checked and its context bound."""

T = TypeVar("T")

_TARGET = "The in-process MCP server of Claude Code"
_AGENT_MODE = 'Use `ClaudeCodeModel(tool_execution="agent")`, where pydantic-ai itself runs the tools.'
_MCP_BLOCKS = (
    types.TextContent,
    types.ImageContent,
    types.AudioContent,
    types.EmbeddedResource,
    types.ResourceLink,
)


def check_tool(name: object, function: object) -> None:
    """Raise unless a tool of this name can call this function.

    Raises:
        ToolValidationError: the name is empty, or the function is not callable.
    """
    if not isinstance(name, str) or not name.strip():
        raise ToolValidationError(f"A tool needs a name, got {name!r}. Give it one with `Tool(function, name=...)`.")
    if not callable(function):
        raise ToolValidationError(
            f"Tool {name!r} has no function to call, got {function!r}. Register one with `@agent.tool_plain`.", name
        )


def check_server_name(name: object, place: str) -> str:
    """`name`, if it is valid for a server.

    Raises:
        ToolValidationError: it is not text, or empty.
    """
    if isinstance(name, str) and name.strip():
        return name
    raise ToolValidationError(f"`{place}` must be the name of a server, such as 'pydantic_tools', got {name!r}.")


def check_names(names: object) -> None:
    """Raise unless `names` is a collection of names, or `None`.

    Raises:
        ToolValidationError: it is something else, such as one name.
    """
    if names is None:
        return
    if isinstance(names, str | bytes) or not isinstance(names, Collection):
        kind = type(names).__name__
        raise ToolValidationError(f"`names` must be a list of tool names, got {names!r} (a {kind}). Use `names=[...]`.")
    for name in cast("Collection[object]", names):
        if not isinstance(name, str):
            raise ToolValidationError(f"`names` must be a list of tool names, got {name!r} in it.")


def check_schema(schema: object, place: str, name: str | None) -> dict[str, Any]:
    """`schema`, if it is a JSON Schema object.

    Raises:
        ToolValidationError: it is not.
    """
    if isinstance(schema, dict):
        return cast("dict[str, Any]", schema)
    kind = type(schema).__name__
    raise ToolValidationError(f"`{place}` of tool {name!r} must be a JSON Schema object (a dict), got {kind}.", name)


def call_of(tool: Any, ctx: DepsContext[Any] | None, timeout: float | None = None, *, name: str | None = None) -> Call:
    """`tool`, of pydantic-ai or anything else with a `function`, ready to be called; see `call_of_tool`."""
    if isinstance(tool, Tool):
        return call_of_tool(cast("Tool[Any]", tool), ctx, timeout)
    return call_of_function(tool.function, ctx, tool.name if name is None else name)


def call_of_tool(tool: Tool[Any], ctx: DepsContext[Any] | None, timeout: float | None = None) -> Call:
    """`tool` ready to be called, with the checks and the timeout it was registered with.

    Args:
        tool: the tool.
        ctx: what its function gets as its context, if it takes one.
        timeout: seconds to wait if the tool has no timeout of its own.

    Raises:
        Unsupported: `tool` requires approval, which cannot be asked for here.
    """
    if tool.requires_approval:
        raise Unsupported(f"tool {tool.name!r}, which requires approval", _TARGET, _AGENT_MODE)
    context = cast("RunContext[Any]", WITHOUT_DEPS if ctx is None else ctx)
    schema, more_checks = tool.function_schema, tool.args_validator
    seconds = timeout if tool.timeout is None else tool.timeout

    async def call(arguments: dict[str, Any]) -> Any:
        try:
            valid = schema.validator.validate_python(arguments)
            if more_checks is not None:
                verdict = more_checks(context, **valid)
                if inspect.isawaitable(verdict):
                    await verdict
        except ValidationError as error:
            raise _invalid_arguments(tool.name, error) from error
        running = schema.call(valid, context)
        return await (running if schema.is_async and seconds is None else _not_waiting_for_threads(running, seconds))

    return call


def call_of_function(function: Callable[..., Any], ctx: DepsContext[Any] | None, name: str) -> Call:
    """`function` ready to be called, its arguments checked by its type hints; `ctx` goes first if there is one."""
    bound = functools.partial(function, *([] if ctx is None else [ctx]))
    for attribute in ("__module__", "__name__", "__qualname__", "__doc__"):
        setattr(bound, attribute, getattr(function, attribute, type(function).__name__))
    try:
        tool = Tool[Any](bound, takes_ctx=False, name=name)
    except (NameError, TypeError):  # hints that cannot be resolved, or an object with `__call__`: no validation

        def unchecked(**arguments: Any) -> Any:
            return bound(**arguments)

        tool = Tool[Any](unchecked, name=name)
    return call_of_tool(tool, None)


class Attempts(Protocol):
    """Counts the calls of a tool, and may keep one from running or from being answered."""

    async def starts(self) -> None:
        """Raise unless the call may run."""
        ...

    def ends(self, *, succeeded: bool) -> None:
        """Count the call."""
        ...

    async def failed(self, error: ModelRetry) -> None:
        """Raise unless the tool may be retried after `error`."""
        ...


async def answer(
    call: Call, arguments: Mapping[str, Any] | None, tool_name: str, attempts: Attempts | None = None
) -> ToolResult:
    """The result of the tool; an error that the model can repair has `is_error`.

    Raises:
        Exception: any other error of the tool.
    """
    succeeded = False
    if attempts is not None:
        await attempts.starts()
    try:
        value = await call(dict(arguments or {}))
        succeeded = True
        return result_of(await returned_with_downloads(value))
    except ToolFailed as error:
        return ToolResult.error(error.message)
    except ModelRetry as error:
        if attempts is not None:
            await attempts.failed(error)
        return ToolResult.error(error.message)
    except (ApprovalRequired, CallDeferred) as error:
        asked = "asked for approval" if isinstance(error, ApprovalRequired) else "was deferred"
        raise Unsupported(f"a call of {tool_name!r} that {asked}", _TARGET, _AGENT_MODE) from error
    finally:
        if attempts is not None:
            attempts.ends(succeeded=succeeded)


def result_of(value: object) -> ToolResult:
    """What a tool returned as a result for Claude: MCP results stay whole, the rest becomes content only.

    Metadata of a `ToolReturn` is for the application, so it stays here.

    Raises:
        Unsupported: `value` has no JSON form.
    """
    if isinstance(value, types.CallToolResult):
        return ToolResult.from_mcp(_dumped(value))
    if isinstance(value, ToolReturn):
        return _result_of_tool_return(cast("ToolReturn[Any]", value))
    parts = cast("Sequence[object]", value) if isinstance(value, list | tuple) else [value]
    if parts and all(isinstance(part, _MCP_BLOCKS) for part in parts):
        return ToolResult.from_mcp({"content": [_dumped(part) for part in parts]})
    if any(map(is_multi_modal_content, parts)):
        return to_result(cast("object", value))
    return ToolResult.of(cast("object", value))


def _result_of_tool_return(value: ToolReturn[Any]) -> ToolResult:
    result = to_result(value)
    # Claude Code shows structured content in place of the text, so what only repeats the text is left out.
    structured = result.structured_content if is_whole(value.return_value, result) else None
    meta = {key: item for key, item in result.meta.items() if key != META}
    return replace(result, structured_content=structured, meta=meta)


def failure(tool_name: str, error: Exception) -> ToolResult:
    """The error for Claude when a tool raised."""
    return ToolResult.error(f"Tool {tool_name!r} failed. {type(error).__name__}: {error}")


def is_whole(value: object, result: ToolResult) -> bool:
    """Whether `value` was an MCP result already, which `result_of` returns unchanged."""
    if isinstance(value, Mapping):
        return cast("Mapping[str, Any]", value).get("content") == list(result.content)
    return isinstance(value, ToolResult)


def _dumped(model: Any) -> dict[str, Any]:
    return model.model_dump(mode="json", by_alias=True, exclude_none=True)


def _invalid_arguments(tool_name: str, error: ValidationError) -> ModelRetry:
    problems = error.errors(include_url=False, include_context=False)
    part = ToolReturnPart(tool_name=tool_name, content=problems, tool_call_id="", outcome="retried")
    problem = part.model_response_str(wrap_if_error=False)
    return ModelRetry(f"Invalid arguments for `{tool_name}`, correct them and call it again: {problem}")


async def _not_waiting_for_threads(running: Coroutine[Any, Any, T], seconds: float | None) -> T:
    """The result of `running`; after a timeout or cancellation, a thread that it waits for is left running.

    Awaited directly, a thread would hold up the cancellation until it is done, and nothing can stop a thread.
    """
    task = asyncio.ensure_future(running)
    try:
        done, _ = await asyncio.wait({task}, timeout=seconds)
    finally:
        task.cancel()
    if not done:
        raise ModelRetry(f"Timed out after {seconds} seconds.")
    return task.result()
