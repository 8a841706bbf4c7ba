"""Conversion between pydantic-ai's content and MCP's blocks."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, cast

from pydantic_ai.messages import (
    AudioUrl,
    BinaryContent,
    BinaryImage,
    CachePoint,
    DocumentUrl,
    FileUrl,
    ImageUrl,
    TextContent,
    ToolReturn,
    UploadedFile,
    VideoUrl,
    is_multi_modal_content,
)

from ..errors import Unsupported
from ..tool import ContentBlock, ToolResult, audio, image, json_text, resource, text
from .shared.checks import PYDANTIC_AI_META, mapping, strings
from .shared.repetition import NOTHING, without_repetition

META = PYDANTIC_AI_META

_URLS: Mapping[str, type[FileUrl]] = {kind.kind: kind for kind in (AudioUrl, DocumentUrl, ImageUrl, VideoUrl)}


def own_meta(meta: Mapping[str, Any] | None) -> Mapping[str, Any]:
    """The value of hikidashi's key in `_meta`."""
    return mapping((meta or {}).get(META))


def to_result(value: object) -> ToolResult:
    """The return value of a pydantic-ai tool as a neutral result.

    Raises:
        Unsupported: it holds a file on some provider's storage, or a value that has no JSON form.
    """
    if isinstance(value, ToolReturn):
        return _from_tool_return(cast("ToolReturn[Any]", value))
    if is_multi_modal_content(value):
        return ToolResult(content=(_to_block(value),))
    items = cast("Sequence[object]", value) if isinstance(value, list | tuple) else ()
    if any(map(is_multi_modal_content, items)):
        return ToolResult(content=tuple(map(_to_block, items)))
    return ToolResult.of(cast("object", value), structured=True)


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
    metadata = own.get("metadata") if set(result.meta) == {META} else dict(result.meta)
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
            return cast("Any", kind)(
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
        content=(*result.content, *_user_blocks(extra)),
        structured_content=result.structured_content,
        is_error=result.is_error,
        meta={**result.meta, **({META: extras} if extras else {})},
    )


def _user_blocks(content: Iterable[object]) -> Iterable[ContentBlock]:
    return (_to_block(item) for item in content if not isinstance(item, CachePoint))


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
        block["_meta"] = {META: {"vendor_metadata": item.vendor_metadata}}
    return block


def _link(item: FileUrl) -> ContentBlock:
    extras: dict[str, Any] = {"kind": cast("Any", item).kind}
    if item.force_download:
        extras["force_download"] = item.force_download
    if item.vendor_metadata:
        extras["vendor_metadata"] = item.vendor_metadata
    link: ContentBlock = {"type": "resource_link", "uri": item.url, "name": item.identifier, "_meta": {META: extras}}
    with suppress(ValueError):  # the media type cannot be inferred from the URL
        link["mimeType"] = item.media_type
    return link
