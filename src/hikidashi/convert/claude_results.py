"""Tool results in the form that a model in Claude Code can read.

Through MCP it gets text and four kinds of images. Everything else Claude Code writes to a file, and gives the model
the path; so it does with more than 500,000 characters. A model without `Read` can do nothing with a path: here such
content becomes text where it is text, and otherwise an error that says what it was and what to return instead.
Measured on the CLI 2.1.325.
"""

from __future__ import annotations

import base64
import logging
from dataclasses import dataclass, replace

from ..tool import ContentBlock, ToolResult, image, json_text, resource, text
from .claude_listing import MAX_RESULT_CHARS
from .shared.checks import PYDANTIC_AI_META, mapping
from .shared.media import IMAGES, decoded, is_text, utf16_length

__all__ = [
    "IS_ERROR",
    "LONGEST_BESIDE_IMAGES",
    "LONGEST_ERROR",
    "LONGEST_RESULT",
    "readable_result",
    "with_readable_error",
]

logger = logging.getLogger("hikidashi")

LONGEST_BESIDE_IMAGES = 100_000
"""Characters of text in a result that has images too; Claude Code cuts the rest off and leaves images out."""

LONGEST_RESULT = 2_000_000
"""Characters of a result in a transcript; from about 2,500,000 on, Claude Code summarises the conversation instead."""

LONGEST_ERROR = 10_000
"""Characters of an error; Claude Code cuts out its middle."""

IS_ERROR = "This result is an error:"
"""The first words of an error that cannot have `is_error`."""

_NAMING = 200
"""At most this many characters that Claude Code puts around a resource, with the name of the server in them."""

_AGENT_MODE = '`ClaudeCodeModel(tool_execution="agent")` carries it as it is.'


@dataclass(frozen=True)
class _Refused:
    """Content that a model cannot read, and what to return instead."""

    what: str
    remedy: str


def readable_result(tool_name: str, result: ToolResult, *, longest: int | None = MAX_RESULT_CHARS) -> ToolResult:
    """`result` as a model in Claude Code can read it; what it cannot read is named in an error, and logged.

    Args:
        tool_name: the tool that answered.
        result: its answer.
        longest: how many characters stay in the conversation; `None` is no limit.
    """
    shown: list[ContentBlock] = []
    refused: list[_Refused] = []
    for block in result.content:
        blocks = _shown(block)
        if isinstance(blocks, _Refused):
            refused.append(blocks)
        else:
            shown += blocks
    if refused:
        what = "; ".join(item.what for item in refused)
        remedies = " ".join(dict.fromkeys(item.remedy for item in refused))
        note = f"The result of tool {tool_name!r} has content that cannot be shown here: {what}. {remedies}"
        logger.warning(note)
        whole = _as_text(replace(result, content=tuple(shown)))
        result = replace(whole, content=(*whole.content, text(note)), is_error=True)
    elif list(result.content) != shown:
        result = replace(result, content=tuple(shown))
    if longest is not None and (problem := _too_long(result, min(longest, MAX_RESULT_CHARS))):
        note = f"The result of tool {tool_name!r} {problem}"
        logger.warning(note)
        return ToolResult.error(note)
    return with_readable_error(result)


def with_readable_error(result: ToolResult) -> ToolResult:
    """`result`, where an error with more than short text starts with a note that it is one.

    The API takes only text in a result with `is_error`, and Claude Code only 10,000 characters of it.
    """
    others = any(block["type"] not in ("text", "resource_link") for block in result.content)
    if not result.is_error or not (others or _length(result) > LONGEST_ERROR):
        return result
    whole = _as_text(result)
    return replace(whole, content=(text(IS_ERROR), *whole.content), is_error=False)


def _as_text(result: ToolResult) -> ToolResult:
    """`result` without structured content, which Claude Code would show in place of the text."""
    if result.structured_content is None:
        return result
    has_text = any(block["type"] == "text" for block in result.content)
    content = result.content if has_text else (text(json_text(result.structured_content)), *result.content)
    return replace(result, content=content, structured_content=None)


def _shown(block: ContentBlock) -> list[ContentBlock] | _Refused:
    """The blocks that show `block` to a model."""
    match block["type"]:
        case "image" if block["mimeType"] not in IMAGES:
            return _file(block["mimeType"], block["data"], f"image:{block['mimeType'].partition('/')[2]}")
        case "audio":
            return _file(block["mimeType"], block["data"], "audio")
        case "resource" if "text" not in block["resource"]:
            body = block["resource"]
            return _file(body.get("mimeType") or "application/octet-stream", body.get("blob", ""), body["uri"])
        case "resource_link" if kind := mapping(mapping(block.get("_meta")).get(PYDANTIC_AI_META)).get("kind"):
            what = str(kind).removesuffix("-url")
            readable = f"Return its bytes as `BinaryContent`, or its text. {_AGENT_MODE}"
            return _Refused(
                f"the {what} at {block['uri']}", readable if what in ("image", "document") else "Return text about it."
            )
        case _:
            return [block]


def _file(media_type: str, data: str, uri: str) -> list[ContentBlock] | _Refused:
    content = base64.b64decode(data)
    if media_type in IMAGES:
        return [text(f"[{uri}]"), image(content, media_type)]
    what = f"a file of type {media_type} ({uri}, {len(content):,} bytes)"
    if media_type == "application/pdf":
        return _Refused(what, f"Return its text. {_AGENT_MODE}")
    if not is_text(media_type):
        return _Refused(what, "Return text, or an image as PNG, JPEG, GIF or WebP.")
    written = decoded(content, media_type)
    if written is None:
        return _Refused(f"{what}, which is neither UTF-8 nor in the charset it names", "Return its text.")
    return [resource(uri, written, media_type)]


def _too_long(result: ToolResult, longest: int) -> str:
    beside_images = any(block["type"] == "image" for block in result.content)
    limit = min(longest, LONGEST_BESIDE_IMAGES) if beside_images else longest
    length = _length(result)
    if length <= limit:
        return ""
    what = "beside an image " if beside_images and length <= longest else ""
    return (
        f"has {length:,} characters, and the model can be shown {limit:,} {what}at once. Return less, or in parts: "
        "let the tool take a page or a range, and ask for one after the other."
        + (f" {_AGENT_MODE}" if length <= LONGEST_RESULT else "")
    )


def _length(result: ToolResult) -> int:
    """The length of `result` as Claude Code counts it: of the structured content, or else of the text."""
    if result.structured_content is not None and not result.is_error:
        return utf16_length(json_text(result.structured_content))
    return sum(_block_length(block) for block in result.content)


def _block_length(block: ContentBlock) -> int:
    match block["type"]:
        case "text":
            return utf16_length(block["text"])
        case "resource":
            return _NAMING + utf16_length(block["resource"]["uri"] + block["resource"].get("text", ""))
        case "resource_link":
            return _NAMING + utf16_length(block["name"] + block["uri"] + block.get("description", ""))
        case _:
            return 0
