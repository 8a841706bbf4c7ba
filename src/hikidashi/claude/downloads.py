"""Downloads of files in prompts and tool results that must be sent as bytes instead of a URL.

The rules are those of pydantic-ai's `AnthropicModel`: `force_download` asks for it, and text is always downloaded,
since the API takes only images and PDF by URL. pydantic-ai's own guarded download is used: private addresses need
`force_download="allow-local"`.
"""

from __future__ import annotations

from collections.abc import Hashable, MutableMapping, Sequence
from dataclasses import replace
from typing import Any, cast

from pydantic_ai.exceptions import UserError
from pydantic_ai.messages import (
    BinaryContent,
    DocumentUrl,
    FileUrl,
    ImageUrl,
    ModelMessage,
    ModelRequest,
    ToolReturn,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import download_item

from ..convert.shared.media import is_text

Downloads = MutableMapping[Hashable, BinaryContent]
"""Downloaded files, so that a run downloads each once."""


async def with_downloads(messages: Sequence[ModelMessage], done: Downloads) -> list[ModelMessage]:
    """`messages` with the bytes in place of each URL that is to be downloaded.

    Raises:
        UserError: a file could not be downloaded.
    """
    return [await _message(message, done) for message in messages]


async def returned_with_downloads(value: Any) -> Any:
    """What a tool returned, with the bytes in place of each URL that is to be downloaded.

    Raises:
        UserError: a file could not be downloaded.
    """
    if isinstance(value, ToolReturn):
        answer = cast("ToolReturn[Any]", value)
        return_value, content = await _loaded(answer.return_value, {}), await _loaded(answer.content, {})
        return replace(answer, return_value=return_value, content=content)
    return await _loaded(value, {})


async def _message(message: ModelMessage, done: Downloads) -> ModelMessage:
    if not isinstance(message, ModelRequest):
        return message
    parts = [await _part(part, done) for part in message.parts]
    same = all(new is old for new, old in zip(parts, message.parts, strict=True))
    return message if same else replace(message, parts=parts)


async def _part(part: Any, done: Downloads) -> Any:
    if not isinstance(part, UserPromptPart | ToolReturnPart):
        return part
    held = cast("Any", part)
    content = await _loaded(held.content, done)
    return held if content is held.content else replace(held, content=content)


async def _loaded(value: Any, done: Downloads) -> Any:
    """`value`, a file or a list of items, with files downloaded; the same object if there is nothing to download."""
    if isinstance(value, list | tuple):
        items = cast("Sequence[Any]", value)
        return [await _loaded_item(item, done) for item in items] if any(map(_is_to_load, items)) else items
    return await _loaded_item(value, done)


async def _loaded_item(item: Any, done: Downloads) -> Any:
    if not _is_to_load(item):
        return item
    key = (item.url, item.force_download)
    if key not in done:
        done[key] = await _downloaded(item)
    return done[key]


def _is_to_load(item: object) -> bool:
    if not isinstance(item, ImageUrl | DocumentUrl):
        return False
    return bool(item.force_download) or (isinstance(item, DocumentUrl) and is_text(_media_type(item)))


def _media_type(item: FileUrl) -> str:
    try:
        return item.media_type
    except ValueError:  # the media type cannot be inferred from the URL
        return ""


async def _downloaded(item: FileUrl) -> BinaryContent:
    try:
        got = await download_item(item, data_format="bytes")
    except Exception as error:  # from the HTTP client, the resolver or the SSRF check
        raise UserError(
            f"The file at {item.url} could not be downloaded ({type(error).__name__}: {error}). Send its bytes as "
            "`BinaryContent`, or leave it out."
        ) from error
    return BinaryContent.narrow_type(
        BinaryContent(got["data"], media_type=got["data_type"], identifier=item.identifier)
    )
