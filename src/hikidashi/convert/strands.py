"""Tools from strands agents, and tools for them."""

from __future__ import annotations

import base64
import mimetypes
import re
import uuid
from collections.abc import Iterable, Mapping
from typing import Any

from ..common.json import is_mapping
from ..errors import MissingExtra, ToolValidationError, Unsupported
from ..tool import (
    ContentBlock,
    Tool,
    ToolAnnotations,
    ToolResult,
    current_call_id,
    image,
    json_text,
    resource,
    text,
)
from .wire import by_name, root_schema

try:
    from strands.types.events import ToolResultEvent
    from strands.types.tools import AgentTool, ToolGenerator, ToolSpec, ToolUse
    from strands.types.tools import ToolResult as StrandsResult
except ImportError as error:
    raise MissingExtra("strands-agents", "strands") from error

_CALLABLE_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_IMAGES = {"image/png": "png", "image/jpeg": "jpeg", "image/gif": "gif", "image/webp": "webp"}
_DOCUMENTS = {
    "application/pdf": "pdf",
    "text/csv": "csv",
    "application/msword": "doc",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": "docx",
    "application/vnd.ms-excel": "xls",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": "xlsx",
    "text/html": "html",
    "text/plain": "txt",
    "text/markdown": "md",
}
_MIME_OF = {kind: mime for mime, kind in (_IMAGES | _DOCUMENTS).items()}


def to_strands(tools: Iterable[Tool]) -> list[AgentTool]:
    """The tools for `strands.Agent(tools=...)`.

    Annotations and the output schema are in the tool's spec; structured content and metadata are on its
    result, where strands puts those of MCP tools. A call that returns audio raises `Unsupported`.

    Raises:
        ToolValidationError: two tools have the same name for strands, which takes `-` and `_` for one, or strands
            cannot call a tool of this name.
        Unsupported: the root of an input schema cannot be written as one object.
    """
    named = by_name(tools, seen_as=lambda name: name.replace("-", "_"))
    for tool in named.values():
        check_name(tool.name)
    return [_NeutralTool(tool) for tool in named.values()]


def check_name(name: str) -> None:
    """Raise unless strands can call a tool of this name; it lists tools with other names, but refuses their calls.

    Raises:
        ToolValidationError: strands cannot call it.
    """
    if _CALLABLE_NAME.fullmatch(name) is None:
        raise ToolValidationError(
            f"strands cannot call a tool named {name!r}: it takes ASCII letters, digits, `_` and `-`, and 64 of them. "
            "Rename it with `tool.renamed(...)`.",
            name,
        )


def from_strands(tool: AgentTool, *, invocation_state: Mapping[str, Any] | None = None) -> Tool:
    """A strands tool, such as a function with `@strands.tool`, as a neutral one.

    A tool that takes a `ToolContext` or the agent finds it in `invocation_state["agent"]`. What the
    tool raises is an error result, as in strands.

    Raises:
        ToolValidationError: `tool` is not a strands tool.
        Unsupported: on a call, if the tool raises an interrupt, or needs an agent that `invocation_state` does not
            have.
    """
    if not isinstance(tool, AgentTool):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ToolValidationError(
            f"Expected a strands tool, got a {type(tool).__name__} ({tool!r:.100}). Decorate a function with "
            "`@strands.tool`, or use `from_function`."
        )
    spec: Mapping[str, Any] = dict(tool.tool_spec)
    state = dict(invocation_state or {})

    async def call(arguments: dict[str, Any]) -> ToolResult:
        call_id = current_call_id.get() or f"tooluse_{uuid.uuid4().hex}"
        use: ToolUse = {"toolUseId": call_id, "name": tool.tool_name, "input": arguments}
        last: Any = None
        async for last in tool.stream(use, dict(state)):
            if isinstance(last, ToolResultEvent):
                break
        if "agent" not in state and isinstance(last, ToolResultEvent) and _needs_agent(last.exception):
            raise Unsupported(
                f"tool {tool.tool_name!r}, which takes the agent or a `ToolContext`",
                "A tool outside strands",
                'Give one: `from_strands(tool, invocation_state={"agent": agent})`.',
            )
        return _from_result(tool.tool_name, last)

    return Tool(
        name=tool.tool_name,
        description=spec["description"],
        input_schema=_bare(spec["inputSchema"]),
        call=call,
        output_schema=_bare(spec["outputSchema"]) if "outputSchema" in spec else None,
        annotations=ToolAnnotations.from_mcp(spec.get("annotations")),
    )


class _NeutralTool(AgentTool):
    """A neutral tool as a strands tool."""

    def __init__(self, tool: Tool) -> None:
        super().__init__()
        self._tool = tool
        schema = root_schema(tool.input_schema, tool_name=tool.name, target="strands", for_claude=False)
        self._spec: ToolSpec = {
            "name": tool.name,
            "description": tool.description,
            "inputSchema": {"json": schema},
        }
        if tool.output_schema is not None:
            self._spec["outputSchema"] = {"json": tool.output_schema}
        if hints := tool.annotations.to_mcp():
            self._spec["annotations"] = hints

    @property
    def tool_name(self) -> str:
        return self._tool.name

    @property
    def tool_spec(self) -> ToolSpec:
        return self._spec

    @property
    def tool_type(self) -> str:
        return "python"

    async def stream(self, tool_use: ToolUse, invocation_state: dict[str, Any], **kwargs: Any) -> ToolGenerator:
        token = current_call_id.set(tool_use["toolUseId"])
        try:
            result = await self._tool.call(tool_use["input"] or {})
        finally:
            current_call_id.reset(token)
        yield ToolResultEvent(_to_result(self._tool.name, tool_use["toolUseId"], result))


def _needs_agent(error: Exception | None) -> bool:
    return isinstance(error, KeyError) and error.args == ("agent",)


def _bare(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The JSON Schema itself, without strands' `{"json": ...}` around it."""
    return schema["json"] if set(schema) == {"json"} else dict(schema)


def _to_result(tool_name: str, call_id: str, result: ToolResult) -> StrandsResult:
    answer: Any = {
        "toolUseId": call_id,
        "status": "error" if result.is_error else "success",
        "content": [_to_content(tool_name, number, block) for number, block in enumerate(result.blocks, 1)],
    }
    # Where strands keeps what MCP tools answer beside their content: `strands.tools.mcp.MCPToolResult`.
    if result.structured_content is not None:
        answer["structuredContent"] = result.structured_content
    if result.meta:
        answer["metadata"] = dict(result.meta)
    return answer


def _to_content(tool_name: str, number: int, block: ContentBlock) -> dict[str, Any]:
    match block["type"]:
        case "text":
            return {"text": block["text"]}
        case "resource_link":
            return {"text": f"{block['name']}: {block['uri']}"}
        case "resource" if "text" in block["resource"]:
            return {"text": block["resource"]["text"]}
        case "resource":
            mime_type, data = block["resource"].get("mimeType", ""), block["resource"]["blob"]
        case _:
            mime_type, data = block["mimeType"], block["data"]
    source = {"bytes": base64.b64decode(data)}
    if kind := _IMAGES.get(mime_type):
        return {"image": {"format": kind, "source": source}}
    if kind := _DOCUMENTS.get(mime_type):
        return {"document": {"format": kind, "name": f"document-{number}", "source": source}}
    raise Unsupported(f"{mime_type or 'a blob without a type'} in the result of {tool_name!r}", "A strands tool result")


def _from_result(tool_name: str, event: Any) -> ToolResult:
    answer: Any = event.tool_result if isinstance(event, ToolResultEvent) else event
    if not is_mapping(answer) or "content" not in answer:
        raise Unsupported(
            f"tool {tool_name!r}, which ended without a result",
            "A tool outside strands",
            "It may have raised an interrupt.",
        )
    return ToolResult(
        content=tuple(_from_content(tool_name, content) for content in answer["content"]),
        structured_content=answer.get("structuredContent", _only_json(answer["content"])),
        is_error=answer.get("status") == "error",
        meta=answer.get("metadata") or {},
    )


def _only_json(contents: Iterable[Mapping[str, Any]]) -> dict[str, Any] | None:
    """The object in `contents`, if it is the only one."""
    objects = [content["json"] for content in contents if isinstance(content.get("json"), dict)]
    return objects[0] if len(objects) == 1 else None


def _from_content(tool_name: str, content: Mapping[str, Any]) -> ContentBlock:
    match content:
        case {"text": str(words)}:
            return text(words)
        case {"json": value}:
            return text(json_text(value))
        case {"image": {"format": str(kind), "source": {"bytes": bytes(data)}}}:
            return image(data, _MIME_OF.get(kind, f"image/{kind}"))
        case {"document": {"format": str(kind), "source": {"bytes": bytes(data)}, **rest}}:
            mime_type = _MIME_OF.get(kind) or mimetypes.types_map.get(f".{kind}")
            return resource(f"document:{rest.get('name', 'document')}", data, mime_type)
        case _:
            raise Unsupported(f"the content {list(content)} of strands tool {tool_name!r}", "A tool result")
