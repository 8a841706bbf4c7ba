"""One pydantic-ai `Tool` as one `SdkMcpTool`: the low level of spec 002.

A handler made here never raises what its tool raised: it answers with `isError`, so that Claude can react.
A cancellation is raised. `mcp_integration` runs its tools through here too, and raises.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
import logging
from collections.abc import Awaitable, Callable, Collection, Coroutine, Iterable, Mapping
from dataclasses import replace
from enum import Enum
from typing import (
    Any,
    Final,
    Literal,
    NotRequired,
    TypedDict,
    TypeGuard,
    TypeVar,
    get_args,
    get_origin,
    get_type_hints,
)

from pydantic import ValidationError

from ..common.json import is_iterable, is_mapping, is_object, is_sequence
from ..errors import MissingDepsError, MissingExtra, ToolValidationError, Unsupported
from ..tool import Tool as NeutralTool
from ..tool import ToolResult

try:
    import pydantic_ai
    from mcp import types
    from pydantic_ai import RunContext, Tool
    from pydantic_ai.exceptions import ApprovalRequired, CallDeferred, ModelRetry, ToolFailed
    from pydantic_ai.messages import ToolReturn, ToolReturnPart, is_multi_modal_content
    from pydantic_ai.tools import ToolDefinition
except ImportError as error:
    raise MissingExtra("pydantic-ai-slim", "claude,pydantic-ai") from error
try:
    from claude_agent_sdk import McpSdkServerConfig, SdkMcpTool
except ImportError as error:
    raise MissingExtra("claude-agent-sdk", "claude,pydantic-ai") from error

from ..convert.claude import readable_result, sdk_tool, to_claude
from ..convert.pydantic_ai import is_tool_return, to_result, tool_of
from ..convert.wire import PYDANTIC_AI_META, failed_tool
from .deps_support import DepsContext
from .history import returned_with_downloads
from .limits import Guard

__all__ = [
    "McpResponse",
    "McpTextContent",
    "_create_async_handler",
    "_format_return_value_as_mcp",
    "convert_tool",
    "convert_tool_with_deps",
    "convert_tools_to_mcp_server",
]

WITHOUT_DEPS = DepsContext(None)
"""The context of `RunContext[None]`; one is enough, since it holds nothing."""

_CONTENT_WITH_NONE = (None, type(None), Any, object)


class NoDeps(DepsContext[Any]):
    """The context of a tool that needs deps if none were given: reading them raises."""

    __slots__ = ("_tool_name", "_wanted")

    def __init__(self, tool_name: str, wanted: str) -> None:
        super().__init__(None)
        self._tool_name = tool_name
        self._wanted = wanted

    @property
    def deps(self) -> Any:
        """Not available.

        Raises:
            MissingDepsError: always.
        """
        raise MissingDepsError(self._tool_name, self._wanted)


def context_for(tool: Any, given: DepsContext[Any] | None) -> DepsContext[Any] | None:
    """What the function of `tool` gets as its first argument: `given`, if it takes a context at all.

    Whether it takes one is in `takes_ctx`, else in its annotations. Without `given`, `ctx.deps` is `None` for
    `RunContext[None]`, and raises `MissingDepsError` for a tool that needs deps.
    """
    if not takes_context(tool):
        return None
    if given is not None:
        return given
    wanted = wanted_deps(tool)
    return WITHOUT_DEPS if wanted is None else NoDeps(tool.name, wanted)


def takes_context(tool: Any) -> bool:
    """Whether the function of `tool` takes a context first."""
    takes = getattr(tool, "takes_ctx", None)
    return takes if isinstance(takes, bool) else _is_context(_first_hint(tool.function))


def wanted_deps(tool: Any) -> str | None:
    """The type of the deps that `tool` needs from its context; `None` if it needs none."""
    hint = _first_hint(tool.function) if takes_context(tool) else None
    wanted = next(iter(get_args(hint)), None) if _is_context(hint) else None
    return None if _accepts_none(wanted) else getattr(wanted, "__qualname__", str(wanted))


def _is_context(hint: object) -> bool:
    return (get_origin(hint) or hint) in (RunContext, DepsContext)


def _accepts_none(wanted: object) -> bool:
    return wanted in _CONTENT_WITH_NONE or isinstance(wanted, TypeVar) or type(None) in get_args(wanted)


def _first_hint(function: Callable[..., Any]) -> Any:
    try:
        first = next(iter(inspect.signature(function).parameters))
        return get_type_hints(function).get(first)
    except (NameError, StopIteration, TypeError, ValueError):  # no parameters, or nothing that can be read
        return None


# One call of a pydantic-ai tool outside a pydantic-ai run: arguments in, a `ToolResult` out


Call = Callable[[dict[str, Any]], Awaitable[Any]]
"""A tool's function with its arguments checked and its context bound."""

T = TypeVar("T")

TARGET = "The in-process MCP server of Claude Code"
AGENT_MODE = 'Use `ClaudeCodeModel(tool_execution="agent")`, where pydantic-ai itself runs the tools.'
_MCP_BLOCKS = (
    types.TextContent,
    types.ImageContent,
    types.AudioContent,
    types.EmbeddedResource,
    types.ResourceLink,
)


def check_tool(name: object, function: object) -> None:
    """Raise `ToolValidationError` unless a tool of this name can call this function."""
    if not isinstance(name, str) or not name.strip():
        raise ToolValidationError(f"A tool needs a name, got {name!r}. Give it one with `Tool(function, name=...)`.")
    if not callable(function):
        raise ToolValidationError(
            f"Tool {name!r} has no function to call, got {function!r}. Register one with `@agent.tool_plain`.", name
        )


def check_names(names: object) -> None:
    """Raise `ToolValidationError` unless `names` is a collection of names, or `None`."""
    if names is None:
        return
    if isinstance(names, str | bytes) or not is_iterable(names) or not isinstance(names, Collection):
        kind = type(names).__name__
        raise ToolValidationError(f"`names` must be a list of tool names, got {names!r} (a {kind}). Use `names=[...]`.")
    for name in names:
        if not isinstance(name, str):
            raise ToolValidationError(f"`names` must be a list of tool names, got {name!r} in it.")


def check_schema(schema: object, place: str, name: str | None) -> dict[str, Any]:
    """`schema`, if it is a JSON Schema object; else a `ToolValidationError` is raised."""
    if is_object(schema):
        return schema
    kind = type(schema).__name__
    raise ToolValidationError(f"`{place}` of tool {name!r} must be a JSON Schema object (a dict), got {kind}.", name)


def call_of(tool: Any, ctx: DepsContext[Any] | None, timeout: float | None = None, *, name: str | None = None) -> Call:
    """`tool`, of pydantic-ai or anything else with a `function`, ready to be called; see `call_of_tool`."""
    if _is_tool(tool):
        return call_of_tool(tool, ctx, timeout)
    return call_of_function(tool.function, ctx, tool.name if name is None else name)


def _is_tool(tool: object) -> TypeGuard[Tool[Any]]:
    return isinstance(tool, Tool)


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
        raise Unsupported(f"tool {tool.name!r}, which requires approval", TARGET, AGENT_MODE)
    context: Any = WITHOUT_DEPS if ctx is None else ctx  # in place of the `RunContext` of a run
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


async def answer(
    call: Call,
    arguments: Mapping[str, Any] | None,
    tool_name: str,
    guard: Guard | None = None,
    max_retries: int | None = None,
) -> ToolResult:
    """The result of the tool; an error that the model can repair has `is_error`.

    A `guard` counts the call, and may keep it from running or from being answered.

    Raises:
        Exception: any other error of the tool.
    """
    succeeded = False
    if guard is not None:
        await guard.starts()
    try:
        value = await call(dict(arguments or {}))
        succeeded = True
        return result_of(await returned_with_downloads(value))
    except ToolFailed as error:
        return ToolResult.error(error.message)
    except ModelRetry as error:
        if guard is not None:
            await guard.failed(tool_name, max_retries, error)
        return ToolResult.error(error.message)
    except (ApprovalRequired, CallDeferred) as error:
        asked = "asked for approval" if isinstance(error, ApprovalRequired) else "was deferred"
        raise Unsupported(f"a call of {tool_name!r} that {asked}", TARGET, AGENT_MODE) from error
    finally:
        if guard is not None:
            guard.ends(tool_name, succeeded=succeeded)


def result_of(value: object) -> ToolResult:
    """What a tool returned as a result for Claude: MCP results stay whole, the rest becomes content only.

    Metadata of a `ToolReturn` is for the application, so it stays here.

    Raises:
        Unsupported: `value` has no JSON form.
    """
    if isinstance(value, types.CallToolResult):
        return ToolResult.from_mcp(_dumped(value))
    if is_tool_return(value):
        return _result_of_tool_return(value)
    parts = value if is_sequence(value) else [value]
    if parts and all(isinstance(part, _MCP_BLOCKS) for part in parts):
        return ToolResult.from_mcp({"content": [_dumped(part) for part in parts]})
    if any(map(is_multi_modal_content, parts)):
        return to_result(value)
    return ToolResult.of(value)


def _result_of_tool_return(value: ToolReturn[Any]) -> ToolResult:
    result = to_result(value)
    # Claude Code shows structured content in place of the text, so what only repeats the text is left out.
    structured = result.structured_content if is_whole(value.return_value, result) else None
    meta = {key: item for key, item in result.meta.items() if key != PYDANTIC_AI_META}
    return replace(result, structured_content=structured, meta=meta)


def is_whole(value: object, result: ToolResult) -> bool:
    """Whether `value` was an MCP result already, which `result_of` returns unchanged."""
    if is_mapping(value):
        return value.get("content") == list(result.content)
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


# Neutral tools as the SDK takes them


Handler = Callable[[dict[str, Any]], Awaitable[dict[str, Any]]]


def neutral_tool(
    tool: Any, schema: dict[str, Any], call: Callable[[dict[str, Any]], Awaitable[ToolResult]]
) -> NeutralTool:
    """A neutral tool that runs `call`, with the name and description of `tool`, which may be a definition alone.

    It has no output schema, since results are text as in spec 002, and no metadata that is for pydantic-ai alone.
    """
    if isinstance(tool, pydantic_ai.Tool):
        tool = tool.tool_def
    if isinstance(tool, ToolDefinition):
        definition = tool
    else:
        description = getattr(tool, "description", None)
        definition = ToolDefinition(name=tool.name, description=description, parameters_json_schema=schema)
    neutral = tool_of(definition, call)
    metadata = {key: value for key, value in neutral.metadata.items() if key != PYDANTIC_AI_META}
    return replace(neutral, output_schema=None, metadata=metadata)


def readable_response(tool_name: str, result: ToolResult) -> dict[str, Any]:
    """`result` as a handler returns it, in the form that a model in Claude Code can read."""
    return as_response(result if result.is_error else readable_result(tool_name, result))


def as_response(result: ToolResult) -> dict[str, Any]:
    """`result` as a handler returns it.

    A failure has `isError`, as MCP spells it, and `is_error`, the only spelling that `create_sdk_mcp_server` reads.
    """
    response = result.to_mcp()
    if result.is_error:
        response["is_error"] = True
    return response


# `convert_tool` and its relatives


logger = logging.getLogger("hikidashi")


class _Unset(Enum):
    UNSET = "no deps, which is not the same as None"


_UNSET: Final = _Unset.UNSET


class McpTextContent(TypedDict):
    """Text for the model."""

    type: Literal["text"]
    text: str


class McpResponse(TypedDict):
    """What a handler returns: MCP's answer to `tools/call`.

    A tool that returns images, audio or resources puts them into `content` beside, or instead of, text. A failure
    has `isError`, as MCP spells it, and also `is_error`, the only spelling that `create_sdk_mcp_server` reads.
    """

    content: list[McpTextContent]
    isError: NotRequired[bool]
    is_error: NotRequired[bool]


def convert_tool(tool: Tool[Any]) -> SdkMcpTool[Any]:
    """`tool` with its name, description and input schema, for `create_sdk_mcp_server` or a server of your own.

    Raises:
        NotImplementedError: as spec 002 (US2-3) asks, `tool` takes a `RunContext`: use `convert_tool_with_deps`.
        ToolValidationError: `tool` has no usable name, function or schema.
        Unsupported: `tool` requires approval.
    """
    return sdk_tool(*_converted(tool, None))


def convert_tool_with_deps(tool: Tool[Any], deps: object) -> SdkMcpTool[Any]:
    """`tool`, finding `deps` in `ctx.deps` whenever Claude calls it.

    **Experimental**: this function and `DepsContext` may change in any release. `deps` may be a dict, a list, a plain
    value, a dataclass or a pydantic model; the tool gets the object itself, not a copy.

    Raises:
        UnsupportedDepsTypeError: `deps`, or something inside it, cannot be serialised.
        ToolValidationError: `tool` has no usable name, function or schema.
        Unsupported: `tool` requires approval.
    """
    return sdk_tool(*_converted(tool, DepsContext(deps)))


def convert_tools_to_mcp_server(
    tools: Iterable[Tool[Any]], *, name: str = "pydantic_tools", deps: object = _UNSET
) -> McpSdkServerConfig:
    """A server with all `tools`, for `ClaudeAgentOptions(mcp_servers={name: ...})`.

    Claude sees each as `mcp__<name>__<tool_name>`. Images, audio, resources and `isError` are passed on without loss.

    Args:
        tools: the tools.
        name: the name under which the config is put into `mcp_servers`.
        deps: what tools with a `RunContext` find in `ctx.deps` (experimental); without it they are refused.

    Raises:
        NotImplementedError: as spec 002 (US2-3) asks, a tool takes a `RunContext`, and there are no `deps`.
        ToolValidationError: a tool has no usable name, function or schema, or two share a name.
        UnsupportedDepsTypeError: `deps` cannot be serialised as JSON.
        Unsupported: a tool requires approval.
    """
    context = None if deps is _UNSET else DepsContext(deps)
    converted = [_converted(tool, context)[0] for tool in _listed(tools)]
    return to_claude(converted, name=name)


def _listed(tools: object) -> Iterable[Any]:
    if is_iterable(tools) and not isinstance(tools, str | bytes) and not is_mapping(tools):
        return tools
    shown, kind = f"{tools!r:.100}", type(tools).__name__
    raise ToolValidationError(
        f"Expected a list of pydantic-ai tools, got {shown} (a {kind}). Pass `[tool]` for one "
        "tool; for agents, toolsets and tools by name there is `create_mcp_server_from_tools`."
    )


def _converted(tool: Tool[Any], context: DepsContext[Any] | None) -> tuple[NeutralTool, Handler]:
    if not hasattr(tool, "tool_def") or not hasattr(tool, "function"):
        raise ToolValidationError(
            f"Expected a pydantic-ai `Tool`, got {tool!r:.100} (a {type(tool).__name__}). Make one of a function with "
            "`Tool(function)`; for agents and toolsets there is `create_mcp_server_from_tools`."
        )
    definition = tool.tool_def
    name: Any = getattr(definition, "name", None)
    check_tool(name, tool.function)
    given: object = getattr(definition, "parameters_json_schema", None)
    schema = check_schema(given, "tool_def.parameters_json_schema", name)
    handler = _create_async_handler(tool.function, getattr(tool, "takes_ctx", False), context, tool=tool)

    async def call(arguments: dict[str, Any]) -> ToolResult:
        return ToolResult.from_mcp(await handler(arguments))

    return neutral_tool(definition, schema, call), handler


def _create_async_handler(
    func: Callable[..., Any],
    takes_ctx: bool,
    deps_context: DepsContext[Any] | None = None,
    *,
    tool: Tool[Any] | None = None,
) -> Handler:
    """A handler that calls `func`, in a thread if it is not async, with checked arguments.

    Args:
        func: the function.
        takes_ctx: whether it takes a context first.
        deps_context: that context.
        tool: the tool that `func` belongs to, for its own schema, checks and timeout; else the type hints are used.

    Raises:
        NotImplementedError: as spec 002 (US2-3) asks, `func` takes a context, and there is no `deps_context`.
        ToolValidationError: `func` cannot be called.
        Unsupported: `tool` requires approval.
    """
    name = tool.tool_def.name if tool is not None else getattr(func, "__name__", type(func).__name__)
    check_tool(name, func)
    if takes_ctx and deps_context is None:
        raise NotImplementedError(  # the error that spec 002 (US2-3) names
            f"Tool {name!r} takes a `RunContext`, and there is none outside a pydantic-ai run. Convert it with "
            "`convert_tool_with_deps(tool, deps)` (`deps=None` for `RunContext[None]`), or use "
            '`ClaudeCodeModel(tool_execution="agent")`.'
        )
    context = deps_context if takes_ctx else None
    call = call_of_function(func, context, name) if tool is None else call_of(tool, context, name=name)

    async def handler(arguments: dict[str, Any]) -> dict[str, Any]:
        try:
            return readable_response(name, await answer(call, arguments, name))
        except Exception as error:
            logger.exception("tool %r failed", name)
            return as_response(failed_tool(name, error))

    return handler


def _format_return_value_as_mcp(value: object) -> McpResponse:
    """`value` as MCP's answer to `tools/call`: already one, it is returned as it is; `None` is an empty text.

    Raises:
        Unsupported: `value` has no JSON form.
    """
    result = result_of(value)
    response: Any = value if is_object(value) and is_whole(value, result) else as_response(result)
    return response
