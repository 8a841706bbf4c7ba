"""Structured content and text of a result, without what is in both.

MCP asks servers to send structured content as text too, and the SDKs put a plain value under the key `result`. A
framework that shows a model both would show it everything twice. What is in only one of the two stays.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any, cast

from ...tool import ContentBlock, ToolResult

__all__ = ["NOTHING", "without_repetition"]

NOTHING = object()
"""No structured content beyond the text."""

_LONG_ENOUGH = 20
"""Characters; a shorter text inside a longer one may be there by chance."""


def without_repetition(result: ToolResult) -> tuple[Any, list[ContentBlock]]:
    """The structured content of `result`, or `NOTHING`, and the blocks to show beside it."""
    structured = result.structured_content
    if structured is None:
        return NOTHING, list(result.content)
    wrapped = structured["result"] if _is_wrapper(structured) else NOTHING
    texts = [block for block in result.content if _text(block) is not None]
    if wrapped is not NOTHING and _is_list_of(texts, wrapped):
        return wrapped, _without(result.content, texts)
    if any(_is_list_of(texts, value) for value in (structured, *_children(structured))):
        return structured, _without(result.content, texts)
    says_nothing = structured in ({}, []) and bool(result.content)
    if says_nothing or any(_says_more(str(_text(block)), structured, wrapped) for block in texts):
        return NOTHING, list(result.content)
    known = _Known(structured, wrapped)
    repeated = [block for block in texts if known.has(str(_text(block)))]
    unwrap = any(_is_value(str(_text(block)), wrapped) for block in repeated)
    return wrapped if unwrap else structured, _without(result.content, repeated)


class _Known:
    """All values in structured content, nested ones included."""

    def __init__(self, structured: Any, wrapped: Any) -> None:
        self._wholes = [structured] if wrapped is NOTHING else [structured, wrapped]
        self._strings = set(_strings(structured))
        self._parts = [*self._wholes, *_children(structured), *([] if wrapped is NOTHING else _children(wrapped))]

    def has(self, text: str) -> bool:
        """Whether `text` is one of them, literally or as JSON."""
        if not text or text in self._strings or any(_is_value(text, whole) for whole in self._wholes):
            return True
        value = _parsed(text)
        is_empty = value in ({}, [])
        return isinstance(value, dict | list) and not is_empty and any(_covers(part, value) for part in self._parts)


def _is_wrapper(structured: Any) -> bool:
    return isinstance(structured, dict) and list(cast("dict[str, Any]", structured)) == ["result"]


def _text(block: ContentBlock) -> str | None:
    match block["type"]:
        case "text":
            return block["text"]
        case "resource":
            return block["resource"].get("text")
        case _:
            return None


def _without(blocks: Iterable[ContentBlock], left_out: list[ContentBlock]) -> list[ContentBlock]:
    ids = set(map(id, left_out))
    return [block for block in blocks if id(block) not in ids]


def _is_list_of(texts: list[ContentBlock], value: Any) -> bool:
    """Whether each text is one item of `value`, in order: how SDKs write a list."""
    if not isinstance(value, list) or not texts or len(cast("list[Any]", value)) != len(texts):
        return False
    return all(_is_value(str(_text(block)), item) for block, item in zip(texts, cast("list[Any]", value), strict=True))


def _is_value(text: str, value: Any) -> bool:
    """Whether `text` is `value`: literally, as JSON, or as Python's `str`."""
    if isinstance(value, str) and text == value:
        return True
    if isinstance(value, bool | int | float | None) and text == str(value):
        return True
    parsed = _parsed(text)
    return parsed is not NOTHING and _same(parsed, value)


def _says_more(text: str, structured: Any, wrapped: Any) -> bool:
    """Whether `text` has all of the structured content, and more."""
    value = _parsed(text)
    if isinstance(value, dict | list):
        return _covers(value, structured) and not _same(value, structured)
    if isinstance(wrapped, str):
        return len(wrapped) >= _LONG_ENOUGH and wrapped in text and wrapped != text
    return any(written in text for written in _written(structured))


def _written(value: Any) -> Iterator[str]:
    for indent, separators in ((None, None), (None, (",", ":")), (2, None), (4, None)):
        for ensure_ascii in (False, True):
            yield json.dumps(value, indent=indent, separators=separators, ensure_ascii=ensure_ascii)


def _parsed(text: str) -> Any:
    with suppress(ValueError, RecursionError):
        return json.loads(text)
    return NOTHING


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    for child in _children(value):
        yield from _strings(child)


def _children(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return list(cast("dict[str, Any]", value).values())
    return cast("list[Any]", value) if isinstance(value, list) else []


def _same(one: Any, other: Any) -> bool:
    return _covers(one, other) and _covers(other, one)


def _covers(whole: Any, part: Any) -> bool:
    """Whether `whole` contains everything in `part`; true is not 1."""
    match whole, part:
        case dict(), dict():
            big, small = cast("dict[str, Any]", whole), cast("dict[str, Any]", part)
            return all(key in big and _covers(big[key], item) for key, item in small.items())
        case list(), list():
            items, others = cast("list[Any]", whole), cast("list[Any]", part)
            return len(items) == len(others) and all(map(_covers, items, others))
        case _:
            return isinstance(whole, bool) == isinstance(part, bool) and whole == part
