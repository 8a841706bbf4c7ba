"""Tools for the Anthropic Messages API, as the plain dicts its client takes.

Needs no package: `client.messages.create(tools=to_anthropic(tools), ...)`, then one
`await call_anthropic(tools, block)` for each `tool_use` block of the answer.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Mapping
from typing import Any, Protocol

from ..errors import ToolValidationError, Unsupported
from ..tool import ContentBlock, EmbeddedResource, Tool, ToolResult, current_call_id
from .wire import IMAGES, IS_ERROR, by_name, failed_tool, neutral_tools, root_schema, unknown_tool

logger = logging.getLogger("hikidashi")

_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")


class ToolUse(Protocol):
    """A `tool_use` block, as the anthropic client gives it."""

    @property
    def id(self) -> str:
        """The id that the `tool_result` refers to."""
        ...

    @property
    def name(self) -> str:
        """The tool that the model calls."""
        ...

    @property
    def input(self) -> Any:
        """The arguments, a JSON object."""
        ...


def to_anthropic(tools: Iterable[Tool]) -> list[dict[str, Any]]:
    """The definitions of `tools` for `messages.create(tools=...)`; never with `cache_control`.

    For tools with `defer_loading` the API requires a tool search tool beside them.

    Raises:
        ToolValidationError: a name that the API refuses, or one that two tools share.
        Unsupported: the root of an input schema cannot be written as one object, or an argument has a name that
            the API refuses.
    """
    return [_definition(tool) for tool in by_name(tools).values()]


async def call_anthropic(tools: Iterable[Tool], tool_use: ToolUse | Mapping[str, Any]) -> dict[str, Any]:
    """The `tool_result` block that answers `tool_use`, a block of the client or a dict.

    What the tool raises, and the name of a tool that is not there, becomes an `is_error` result that
    the model can act on; what it raises is logged as well. An error with images says so in text instead,
    since the API takes only text with `is_error`.

    Raises:
        Unsupported: the result holds something that a `tool_result` cannot, such as audio.
        ToolValidationError: `tools` is not a list of hikidashi tools, or `tool_use` is not a `tool_use` block.
    """
    call_id, name, arguments = _parts(tool_use)
    named = {tool.name: tool for tool in neutral_tools(tools)}
    token = current_call_id.set(call_id)
    try:
        result = await _run(named[name], arguments) if name in named else unknown_tool(name, named)
    finally:
        current_call_id.reset(token)
    content = [_block(name, block) for block in result.blocks if block.get("text") != ""]
    answer = {"type": "tool_result", "tool_use_id": call_id, "content": content}
    if not result.is_error:
        return answer
    if any(block["type"] != "text" for block in content):  # which the API refuses beside `is_error`
        return {**answer, "content": [{"type": "text", "text": IS_ERROR}, *content]}
    return {**answer, "is_error": True}


async def _run(tool: Tool, arguments: dict[str, Any]) -> ToolResult:
    try:
        return await tool.call(arguments)
    except Exception as error:
        logger.exception("tool %r failed", tool.name)
        return failed_tool(tool.name, error)


def _definition(tool: Tool) -> dict[str, Any]:
    if not _NAME.fullmatch(tool.name):
        raise ToolValidationError(
            f"The Anthropic API refuses the tool name {tool.name!r}: it takes 1 to 128 ASCII letters, digits, "
            "`_` and `-`. Rename it with `tool.renamed(...)`.",
            tool.name,
        )
    schema = root_schema(tool.input_schema, tool_name=tool.name, target="The Anthropic API")
    definition: dict[str, Any] = {"name": tool.name, "input_schema": schema}
    if tool.description:
        definition["description"] = tool.description
    if tool.defer_loading:
        definition["defer_loading"] = True
    return definition


def _parts(tool_use: ToolUse | Mapping[str, Any]) -> tuple[str, str, dict[str, Any]]:
    try:
        if isinstance(tool_use, Mapping):
            call_id, name, arguments = tool_use["id"], tool_use["name"], tool_use["input"]
        else:
            call_id, name, arguments = tool_use.id, tool_use.name, tool_use.input
    except (KeyError, AttributeError) as error:
        raise ToolValidationError(
            f"Expected a `tool_use` block with `id`, `name` and `input`, got {tool_use!r:.100}. Pass a block of the "
            "reply whose `type` is `tool_use`."
        ) from error
    return call_id, name, arguments or {}


def _block(tool_name: str, block: ContentBlock) -> dict[str, Any]:
    match block["type"]:
        case "text":
            return {"type": "text", "text": block["text"]}
        case "image" if block["mimeType"] in IMAGES:
            return {"type": "image", "source": _base64(block["mimeType"], block["data"])}
        case "resource":
            return _document(tool_name, block)
        case "resource_link":
            return {"type": "text", "text": f"{block['name']}: {block['uri']}"}
        case _:
            raise Unsupported(f"{block['mimeType']} in the result of {tool_name!r}", "An Anthropic tool_result")


def _document(tool_name: str, block: EmbeddedResource) -> dict[str, Any]:
    resource = block["resource"]
    mime_type = resource.get("mimeType", "application/octet-stream")
    if "text" in resource:
        source = {"type": "text", "media_type": "text/plain", "data": resource["text"]}
    elif mime_type == "application/pdf":
        source = _base64(mime_type, resource["blob"])
    elif mime_type in IMAGES:
        return {"type": "image", "source": _base64(mime_type, resource["blob"])}
    else:
        raise Unsupported(f"the {mime_type} resource in the result of {tool_name!r}", "An Anthropic tool_result")
    return {"type": "document", "source": source, "title": resource["uri"]}


def _base64(media_type: str, data: str) -> dict[str, str]:
    return {"type": "base64", "media_type": media_type, "data": data}
