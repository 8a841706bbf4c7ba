"""Tools from pydantic-ai, and tools for it.

First results and definitions in both directions, then `from_pydantic_ai` and `to_pydantic_ai`.
"""

from __future__ import annotations

import base64
import inspect
import logging
import uuid
from collections.abc import Awaitable, Callable, Generator, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import replace
from types import TracebackType
from typing import Any, Literal, TypeGuard, overload

from pydantic import TypeAdapter, ValidationError
from pydantic_core import SchemaValidator, core_schema
from typing_extensions import TypedDict

from ..common.json import is_iterable, is_sequence
from ..errors import MissingExtra, ToolConnectionError, ToolValidationError, Unsupported
from ..tool import (
    ContentBlock,
    Tool,
    ToolAnnotations,
    ToolResult,
    audio,
    current_call_id,
    image,
    json_text,
    resource,
    text,
)
from .wire import ALIASES, NOTHING, PYDANTIC_AI_META, by_name, failed_tool, mapping, strings, without_repetition

try:
    import pydantic_ai
    from pydantic_ai import RunContext
    from pydantic_ai.agent import AbstractAgent
    from pydantic_ai.capabilities import AbstractCapability
    from pydantic_ai.exceptions import ApprovalRequired, CallDeferred, ModelRetry, ToolFailed
    from pydantic_ai.messages import (
        AudioUrl,
        BinaryContent,
        BinaryImage,
        CachePoint,
        DocumentUrl,
        FileUrl,
        ImageUrl,
        ModelMessage,
        ModelResponse,
        TextContent,
        ToolReturn,
        ToolReturnPart,
        UploadedFile,
        VideoUrl,
        is_multi_modal_content,
    )
    from pydantic_ai.models import Model, ModelRequestParameters
    from pydantic_ai.settings import ModelSettings
    from pydantic_ai.tools import ToolDefinition
    from pydantic_ai.toolsets import (
        AbstractToolset,
        ApprovalRequiredToolset,
        CombinedToolset,
        FunctionToolset,
        ToolsetTool,
        WrapperToolset,
    )
    from pydantic_ai.usage import RunUsage
except ImportError as error:
    raise MissingExtra("pydantic-ai-slim", "pydantic-ai") from error

_URLS: Mapping[str, Callable[..., FileUrl]] = {kind.kind: kind for kind in (AudioUrl, DocumentUrl, ImageUrl, VideoUrl)}


def own_meta(meta: Mapping[str, Any] | None) -> Mapping[str, Any]:
    """The value of hikidashi's key in `_meta`."""
    return mapping((meta or {}).get(PYDANTIC_AI_META))


def is_tool_return(value: object) -> TypeGuard[ToolReturn[Any]]:
    """Whether `value` is a `ToolReturn` of any type."""
    return isinstance(value, ToolReturn)


def to_result(value: object) -> ToolResult:
    """The return value of a pydantic-ai tool as a neutral result.

    Raises:
        Unsupported: it holds a file on some provider's storage, or a value that has no JSON form.
    """
    if is_tool_return(value):
        return _from_tool_return(value)
    if is_multi_modal_content(value):
        return ToolResult(content=(_to_block(value),))
    if is_sequence(value) and any(map(is_multi_modal_content, value)):
        return ToolResult(content=tuple(map(_to_block, value)))
    return ToolResult.of(value, structured=True)


def from_result(result: ToolResult) -> Any:
    """`result` as the value that a pydantic-ai tool returns.

    Structured content is returned instead of text that repeats it, and text that has more instead of structured
    content; files stay files. All of it is in the return value: `ToolReturn.content` would present the text of a
    server as the user's.
    """
    structured, blocks = without_repetition(result)
    items: list[Any] = [] if structured is NOTHING else [structured]
    items += map(from_block, blocks)
    value = items[0] if len(items) == 1 else items or ""
    if not result.meta:
        return value
    own = own_meta(result.meta)
    metadata = own.get("metadata") if set(result.meta) == {PYDANTIC_AI_META} else dict(result.meta)
    return ToolReturn(return_value=value, metadata=metadata, tools=strings(own.get("tools")) or None)


def error_text(result: ToolResult) -> str:
    """The text of an error; files, which a retry cannot carry, are mentioned."""
    lines = [block["text"] if block["type"] == "text" else f"[{block['type']} left out]" for block in result.blocks]
    return "\n".join(lines) or "The tool failed without an error message."


def from_block(block: ContentBlock) -> str | BinaryContent | FileUrl:
    """One block as pydantic-ai content; a link becomes a `FileUrl` only if it was one before."""
    own = own_meta(block.get("_meta"))
    # Only this value: "allow-local" would let a remote server reach into the local network.
    forced = own.get("force_download") is True
    vendor: dict[str, Any] = {"vendor_metadata": mapping(own.get("vendor_metadata")) or None}
    match block["type"]:
        case "text":
            return block["text"]
        case "image":
            return BinaryImage(base64.b64decode(block["data"]), media_type=block["mimeType"], **vendor)
        case "audio":
            return BinaryContent(base64.b64decode(block["data"]), media_type=block["mimeType"], **vendor)
        case "resource" if "text" in block["resource"]:
            return block["resource"]["text"]
        case "resource":
            body = block["resource"]
            media_type = body.get("mimeType") or "application/octet-stream"
            data = base64.b64decode(body["blob"])
            return BinaryContent.narrow_type(
                BinaryContent(data, media_type=media_type, identifier=body["uri"], **vendor)
            )
        case "resource_link" if kind := _URLS.get(str(own.get("kind"))):
            return kind(
                block["uri"],
                media_type=block.get("mimeType"),
                identifier=block["name"],
                force_download=forced,
                **vendor,
            )
        case _:
            return f"{block['name']}: {block['uri']}"


def _from_tool_return(answer: ToolReturn[Any]) -> ToolResult:
    result = to_result(answer.return_value)
    extra = [answer.content] if isinstance(answer.content, str) else answer.content or ()
    extras = {name: value for name in ("metadata", "tools") if (value := getattr(answer, name)) is not None}
    return ToolResult(
        content=(*result.content, *(_to_block(item) for item in extra if not isinstance(item, CachePoint))),
        structured_content=result.structured_content,
        is_error=result.is_error,
        meta={**result.meta, **({PYDANTIC_AI_META: extras} if extras else {})},
    )


def _to_block(item: object) -> ContentBlock:
    match item:
        case str():
            return text(item)
        case TextContent():
            return text(item.content)
        case BinaryContent():
            return _binary_block(item)
        case FileUrl():
            return _link(item)
        case UploadedFile():
            raise Unsupported(
                f"the file {item.file_id!r} in the storage of {item.provider_name!r}",
                "A tool result",
                "Return its bytes as `BinaryContent`, or a URL.",
            )
        case _:
            return text(json_text(item))


def _binary_block(item: BinaryContent) -> ContentBlock:
    if item.is_image:
        block: ContentBlock = image(item.data, item.media_type)
    elif item.is_audio:
        block = audio(item.data, item.media_type)
    else:
        uri = item.identifier if ":" in item.identifier else f"attachment:{item.identifier}"
        block = resource(uri, item.data, item.media_type)
    if item.vendor_metadata:
        block["_meta"] = {PYDANTIC_AI_META: {"vendor_metadata": item.vendor_metadata}}
    return block


def _link(item: FileUrl) -> ContentBlock:
    extras: dict[str, Any] = {"kind": getattr(item, "kind", None)}
    if item.force_download:
        extras["force_download"] = item.force_download
    if item.vendor_metadata:
        extras["vendor_metadata"] = item.vendor_metadata
    link: ContentBlock = {
        "type": "resource_link",
        "uri": item.url,
        "name": item.identifier,
        "_meta": {PYDANTIC_AI_META: extras},
    }
    with suppress(ValueError):  # the media type cannot be inferred from the URL
        link["mimeType"] = item.media_type
    return link


# `ToolDefinition` and neutral tool


class _Carried(TypedDict, total=False):
    """Fields of a `ToolDefinition` that a neutral tool keeps in its metadata."""

    strict: bool | None
    sequential: bool
    timeout: float | None
    include_return_schema: bool | None
    return_schema: dict[str, Any]
    metadata: dict[str, Any]


_CARRIED = TypeAdapter(_Carried)
_CARRIED_AS_THEY_ARE = ("strict", "sequential", "timeout", "include_return_schema")

_FILE_KINDS = frozenset({"binary", "image-url", "audio-url", "video-url", "document-url", "uploaded-file"})


def tool_of(definition: ToolDefinition, call: Callable[[dict[str, Any]], Awaitable[ToolResult]]) -> Tool:
    """The neutral tool that `definition` describes and `call` runs."""
    metadata = dict(definition.metadata or {})
    hints, meta = _taken_from(metadata, "annotations"), _taken_from(metadata, "meta")
    annotations = ToolAnnotations.from_mcp(hints)
    if unknown := {name: hint for name, hint in hints.items() if hint is not None and name not in annotations.to_mcp()}:
        metadata["annotations"] = unknown
    aliases = strings(meta.pop(ALIASES, None))
    return Tool(
        name=definition.name,
        description=definition.description or "",
        input_schema=definition.parameters_json_schema,
        call=call,
        output_schema=definition.return_schema if _describes_object(definition.return_schema) else None,
        annotations=annotations,
        aliases=tuple(aliases),
        defer_loading=definition.defer_loading,
        metadata={**meta, **_carried(definition, metadata)},
    )


def definition_of(tool: Tool) -> ToolDefinition:
    """The definition of `tool`; annotations and `_meta` are where pydantic-ai has those of MCP tools."""
    carried = _carried_by(tool)
    meta = {key: value for key, value in tool.metadata.items() if key != PYDANTIC_AI_META}
    if tool.aliases:
        meta[ALIASES] = list(tool.aliases)
    metadata = dict(carried.get("metadata", {}))
    if hints := tool.annotations.to_mcp():
        metadata["annotations"] = {**mapping(metadata.get("annotations")), **hints}
    if meta:
        metadata["meta"] = meta
    return ToolDefinition(
        name=tool.name,
        description=tool.description or None,
        parameters_json_schema=tool.input_schema,
        return_schema=tool.output_schema or carried.get("return_schema"),
        defer_loading=tool.defer_loading,
        metadata=metadata or None,
        strict=carried.get("strict"),
        sequential=carried.get("sequential", False),
        timeout=carried.get("timeout"),
        include_return_schema=carried.get("include_return_schema"),
    )


def _describes_object(schema: Mapping[str, Any] | None) -> bool:
    """Whether `schema` promises structured content.

    The schema of a bare `dict` promises nothing, and that of a file describes a class whose values become
    content blocks.
    """
    if schema is None or schema.get("type") != "object" or "properties" not in schema:
        return False
    kind = mapping(mapping(schema["properties"]).get("kind"))
    return str(kind.get("const")) not in _FILE_KINDS


def _taken_from(metadata: dict[str, Any], key: str) -> dict[str, Any]:
    """The dict of an MCP tool under `key`, removed from `metadata`; a value of another type stays there."""
    return mapping(metadata.pop(key)) if isinstance(metadata.get(key, ""), Mapping | None) else {}


def _carried(definition: ToolDefinition, metadata: Mapping[str, Any]) -> dict[str, Any]:
    plain = ToolDefinition(name=definition.name)
    carried: dict[str, Any] = {
        name: value for name in _CARRIED_AS_THEY_ARE if (value := getattr(definition, name)) != getattr(plain, name)
    }
    if definition.return_schema and not _describes_object(definition.return_schema):
        carried["return_schema"] = definition.return_schema
    if metadata:
        carried["metadata"] = dict(metadata)
    return {PYDANTIC_AI_META: carried} if carried else {}


def _carried_by(tool: Tool) -> _Carried:
    try:
        return _CARRIED.validate_python(own_meta(tool.metadata))
    except ValidationError:  # another server uses the same key
        return {}


# Capabilities are notified of calls that pydantic-ai does not run itself: in Claude Code's server, where registered
# tools run, the hooks of a capability around a call do not.


def call_listeners(run: RunContext[Any] | None) -> list[Callable[[ToolDefinition], None]]:
    """The methods `tool_called` of the capabilities of a run, to call with the tool that is about to run."""
    found: list[Callable[[ToolDefinition], None]] = []

    def visit(capability: AbstractCapability[Any]) -> None:
        listener: Callable[[ToolDefinition], None] | None = getattr(capability, "tool_called", None)
        if listener is not None:
            found.append(listener)

    if run is not None and run.root_capability is not None:
        run.root_capability.apply(visit)
    return found


# Tools in, tools out


logger = logging.getLogger("hikidashi")

_Source = AbstractToolset[Any] | AbstractAgent[Any, Any]
_Function = pydantic_ai.Tool[Any] | Callable[..., Any]

_ANY_OBJECT = SchemaValidator(core_schema.dict_schema(core_schema.str_schema(), core_schema.any_schema()))


@overload
def from_pydantic_ai(
    source: pydantic_ai.Tool[Any], *, deps: Any = None, ctx: RunContext[Any] | None = None, approved: bool = False
) -> Tool: ...
@overload
def from_pydantic_ai(
    source: _Source | Sequence[_Function | _Source],
    *,
    deps: Any = None,
    ctx: RunContext[Any] | None = None,
    approved: bool = False,
) -> ToolsetTools: ...
def from_pydantic_ai(
    source: pydantic_ai.Tool[Any] | _Source | Sequence[_Function | _Source],
    *,
    deps: Any = None,
    ctx: RunContext[Any] | None = None,
    approved: bool = False,
) -> Tool | ToolsetTools:
    """The neutral form of pydantic-ai tools: one `Tool` for a `Tool`, `ToolsetTools` for anything else.

    `source` is a `Tool`, a toolset of any kind, an agent, or a list of tools, functions and toolsets.
    What is not a single `Tool` is used in one of three ways:

        async with from_pydantic_ai(toolset) as tools: ...   # every toolset; an MCP server stays connected
        tools = await from_pydantic_ai(toolset)              # every toolset that need not be entered
        tools = from_pydantic_ai(function_toolset)           # a `FunctionToolset`, or a list of functions

    Arguments are checked by the tool's own validators. What pydantic-ai would send back to the model
    (`ModelRetry`, `ToolFailed`, arguments that do not fit) is a result with `is_error` and the same
    text; other exceptions are raised. A tool that takes a `RunContext` gets one with `deps`, or a copy
    of `ctx`, and `prepare` functions see it too.

    Raises:
        Unsupported: a tool needs approval or is run elsewhere, which only an agent run can arrange.
            With `approved=True`, calls count as approved: for targets that ask for permission themselves.
        ToolValidationError: `source` is none of these.
    """
    context = ctx if ctx is not None else RunContext(deps=deps, model=_NoModel(), usage=RunUsage(), max_retries=1)
    context = replace(context, tool_call_approved=approved)
    if not isinstance(source, pydantic_ai.Tool):
        return ToolsetTools(_toolset_of(source), context)
    tools = ToolsetTools(FunctionToolset([source]), context)
    if not tools:
        raise Unsupported(f"tool {source.name!r}, because its `prepare` leaves it out for these deps", "A neutral tool")
    return tools[0]


class ToolsetTools(Sequence[Tool]):
    """The tools of a pydantic-ai toolset, listed when they are first asked for: see `from_pydantic_ai`."""

    def __init__(self, toolset: AbstractToolset[Any], ctx: RunContext[Any]) -> None:
        self._toolset = toolset
        self._ctx = ctx
        self._listed: list[Tool] | None = None
        self._entered = AsyncExitStack()

    def __await__(self) -> Generator[Any, None, list[Tool]]:
        return self._list_unentered().__await__()

    async def __aenter__(self) -> list[Tool]:
        toolset = await self._toolset.for_run(self._ctx)
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(toolset)
            tools = await _listed(await toolset.for_run_step(self._ctx), self._ctx)
            self._entered = stack.pop_all()
        return tools

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._entered.__aexit__(kind, error, trace)

    def __len__(self) -> int:
        return len(self._list_now())

    @overload
    def __getitem__(self, index: int) -> Tool: ...
    @overload
    def __getitem__(self, index: slice) -> list[Tool]: ...
    def __getitem__(self, index: int | slice) -> Tool | list[Tool]:
        return self._list_now()[index]

    def __repr__(self) -> str:
        return f"<tools of {self._toolset.label}>"

    async def _list_unentered(self) -> list[Tool]:
        if waiting := _must_be_entered(self._toolset):
            raise Unsupported(
                f"the tools of {waiting}, which must stay open while they are used",
                "`await from_pydantic_ai(...)`",
                "Use `async with from_pydantic_ai(...) as tools:`.",
            )
        toolset = await self._toolset.for_run(self._ctx)
        return await _listed(await toolset.for_run_step(self._ctx), self._ctx)

    def _list_now(self) -> list[Tool]:
        if self._listed is None:
            if not isinstance(self._toolset, FunctionToolset):
                raise self._must_be_awaited()
            steps = _listed(self._toolset, self._ctx)
            try:
                steps.send(None)
            except StopIteration as done:
                self._listed = list(done.value)
            else:  # a `prepare` function waits for something
                steps.close()
                raise self._must_be_awaited()
        return self._listed

    def _must_be_awaited(self) -> Unsupported:
        return Unsupported(
            f"the tools of {self._toolset.label} without waiting for them",
            "A list",
            "Use `await from_pydantic_ai(...)`, or `async with from_pydantic_ai(...) as tools:`.",
        )


def to_pydantic_ai(
    tools: Iterable[Tool],
    *,
    id: str | None = None,  # noqa: A002 - pydantic-ai's own word
    max_retries: int | None = None,
    on_error: Literal["retry", "failed"] = "retry",
) -> AbstractToolset[Any]:
    """A toolset for `Agent(toolsets=[...])`.

    A result with `is_error` asks the model to try again (`ModelRetry`), up to `max_retries` times or as
    often as the agent allows; with `on_error="failed"` it is a failure (`ToolFailed`), which does
    not count as a retry. A lost connection to a tool's server is a failure, too. Images and other files arrive as
    `BinaryContent`, structured content as the value. Annotations and `_meta` are in the tool definition's metadata,
    as pydantic-ai has them for MCP tools.

    Raises:
        ToolValidationError: two tools have the same name.
    """
    return _NeutralToolset(by_name(tools), id=id, max_retries=max_retries, on_error=on_error)


class _NeutralToolset(AbstractToolset[Any]):
    def __init__(
        self,
        tools: Mapping[str, Tool],
        *,
        id: str | None,  # noqa: A002
        max_retries: int | None,
        on_error: Literal["retry", "failed"],
    ) -> None:
        self._tools = tools
        self._id = id
        self._max_retries = max_retries
        self._on_error = on_error
        self._definitions = {name: definition_of(tool) for name, tool in tools.items()}

    @property
    def id(self) -> str | None:
        return self._id

    async def get_tools(self, ctx: RunContext[Any]) -> dict[str, ToolsetTool[Any]]:
        return {
            name: ToolsetTool(
                toolset=self,
                tool_def=definition,
                max_retries=ctx.max_retries if self._max_retries is None else self._max_retries,
                args_validator=_ANY_OBJECT,
            )
            for name, definition in self._definitions.items()
        }

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[Any], tool: ToolsetTool[Any]
    ) -> Any:
        token = current_call_id.set(ctx.tool_call_id)
        try:
            result = await self._tools[name].call(tool_args)
        except ToolConnectionError as error:
            logger.exception("tool %r failed", name)
            # A failure and not a retry: the server stays dead, and a retry too many would end the run.
            raise ToolFailed(failed_tool(name, error).text) from error
        finally:
            current_call_id.reset(token)
        if not result.is_error:
            return from_result(result)
        failed = self._on_error == "failed" or own_meta(result.meta).get("outcome") == "failed"
        raise ToolFailed(error_text(result)) if failed else ModelRetry(error_text(result))


def is_agent(value: object) -> TypeGuard[AbstractAgent[Any, Any]]:
    """Whether `value` is an agent, whatever its deps and output."""
    return isinstance(value, AbstractAgent)


def is_toolset(value: object) -> TypeGuard[AbstractToolset[Any]]:
    """Whether `value` is a toolset, whatever its deps."""
    return isinstance(value, AbstractToolset)


def _toolset_of(source: Any) -> AbstractToolset[Any]:
    if is_toolset(source):
        return source
    if is_agent(source):
        toolsets = list(source.toolsets)
    elif isinstance(source, str) or not is_iterable(source):
        raise ToolValidationError(
            f"`from_pydantic_ai` takes a `pydantic_ai.Tool`, a toolset, an agent or a list of these, got {source!r}."
        )
    else:
        toolsets, functions = list[AbstractToolset[Any]](), list[Any]()
        for item in source:
            if is_toolset(item) or is_agent(item):
                toolsets.append(_toolset_of(item))
            elif isinstance(item, pydantic_ai.Tool) or callable(item):
                functions.append(item)
            else:
                raise ToolValidationError(
                    f"`from_pydantic_ai` takes tools, functions, toolsets and agents, got {item!r:.100} in a list."
                )
        if functions or not toolsets:
            toolsets.insert(0, FunctionToolset(functions))
    return toolsets[0] if len(toolsets) == 1 else CombinedToolset(toolsets)


def _must_be_entered(toolset: AbstractToolset[Any]) -> str:
    """The toolsets inside `toolset` that do something when entered and have not been: an MCP server, say."""
    waiting: list[str] = []

    def visit(leaf: AbstractToolset[Any]) -> None:
        if type(leaf).__aenter__ is not AbstractToolset.__aenter__ and not getattr(leaf, "is_running", False):
            waiting.append(leaf.label)

    toolset.apply(visit)
    return ", ".join(waiting)


async def _listed(toolset: AbstractToolset[Any], ctx: RunContext[Any]) -> list[Tool]:
    if not ctx.tool_call_approved:
        for guarded in _approval_wrappers(toolset):
            for name in await guarded.get_tools(ctx):
                raise _needs_approval(name)
    tools = await toolset.get_tools(ctx)
    return [_neutral(toolset, tool, ctx) for tool in tools.values()]


def _approval_wrappers(toolset: AbstractToolset[Any]) -> Iterable[ApprovalRequiredToolset[Any]]:
    if isinstance(toolset, ApprovalRequiredToolset):
        yield toolset
    parts: Iterable[Any] = (
        [toolset.wrapped] if isinstance(toolset, WrapperToolset) else getattr(toolset, "toolsets", ())
    )
    for part in parts:
        yield from _approval_wrappers(part)


def _neutral(toolset: AbstractToolset[Any], tool: ToolsetTool[Any], ctx: RunContext[Any]) -> Tool:
    definition = tool.tool_def
    if definition.kind == "unapproved" and not ctx.tool_call_approved:
        raise _needs_approval(definition.name)
    if definition.kind in ("external", "output"):
        raise Unsupported(
            f"tool {definition.name!r}, which is run outside of pydantic-ai",
            "A neutral tool",
            "Convert the function that runs it with `from_function` instead.",
        )
    failures = 0

    async def call(arguments: dict[str, Any]) -> ToolResult:
        nonlocal failures
        now = replace(
            ctx,
            tool_name=definition.name,
            tool_call_id=current_call_id.get() or f"call_{uuid.uuid4().hex}",
            retry=failures,
            max_retries=tool.max_retries,
        )
        result = await _run(toolset, tool, arguments, now)
        failures = failures + 1 if result.is_error else 0
        return result

    return tool_of(definition, call)


async def _run(
    toolset: AbstractToolset[Any], tool: ToolsetTool[Any], arguments: dict[str, Any], ctx: RunContext[Any]
) -> ToolResult:
    name = tool.tool_def.name
    try:
        args = tool.args_validator.validate_python(arguments or {}, context=ctx.validation_context)
    except ValidationError as error:
        details = error.errors(include_url=False, include_context=False)
        part = ToolReturnPart(tool_name=name, content=details, tool_call_id=ctx.tool_call_id or "", outcome="retried")
        return ToolResult.error(part.model_response_str(wrap_if_error=False))
    try:
        if tool.args_validator_func is not None:
            verdict = tool.args_validator_func(ctx, **args)
            if inspect.isawaitable(verdict):
                await verdict
        return to_result(await toolset.call_tool(name, args, ctx, tool))
    except ModelRetry as error:
        return ToolResult.error(error.message)
    except ToolFailed as error:
        return replace(ToolResult.error(error.message), meta={PYDANTIC_AI_META: {"outcome": "failed"}})
    except ApprovalRequired as error:
        raise _needs_approval(name) from error
    except CallDeferred as error:
        raise Unsupported(f"tool {name!r}, which deferred its call", "A neutral tool") from error


def _needs_approval(name: str) -> Unsupported:
    return Unsupported(
        f"tool {name!r}, which needs approval",
        "A neutral tool",
        "Run it in an agent, or pass `approved=True` where the other side asks for permission.",
    )


class _NoModel(Model):
    """Stands for the model of a context outside of a run; a request to it raises `Unsupported`."""

    @property
    def model_name(self) -> str:
        return "none"

    @property
    def system(self) -> str:
        return "hikidashi"

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        raise Unsupported(
            "a request to `ctx.model`",
            "A tool outside of an agent run",
            "Pass `ctx=` with a model to from_pydantic_ai.",
        )
