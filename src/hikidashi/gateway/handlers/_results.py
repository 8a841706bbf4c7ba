"""Results over the size limit: cut at a paragraph, line or word, with a handle to read the rest."""

from __future__ import annotations

import json
import secrets
from collections import OrderedDict
from typing import Any, cast

__all__ = ["LongResults"]

_MOST_KEPT = 64
_MOST_CHARACTERS = 200_000_000  # of all kept texts together
_BREAKS = ("\n\n", "\n", " ")


class LongResults:
    """The rest of results that were cut; the least recently used are dropped when there are too many."""

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[str, str], tuple[str, int]] = OrderedDict()

    def cut(self, result: dict[str, Any], limit: int, owner: str = "") -> dict[str, Any]:
        """`result` with at most `limit` characters of text; a last text names the handle of the rest.

        Only `owner` can read the rest.
        """
        content = cast("list[dict[str, Any]]", result.get("content") or [])
        structured = _structured_text(result)
        if sum(len(_text_of(block) or "") for block in content) <= limit and len(structured) <= limit:
            return result
        if structured and not any(_is_json_of(_text_of(block), result["structuredContent"]) for block in content):
            content = [*content, {"type": "text", "text": structured}]
        kept: list[dict[str, Any]] = []
        rest: list[str] = []
        left = limit
        for block in content:
            text = _text_of(block)
            if text is None:
                kept.append(block)
            elif left <= 0:
                rest.append(text)
            elif len(text) <= left:
                kept.append(block)
                left -= len(text)
            else:
                end = _break(text, left)
                kept.append(_with_text(block, text[:end]))
                rest.append(text[end:])
                left = 0
        whole = {key: value for key, value in result.items() if key != "structuredContent"}  # it is part of the texts
        if not rest:
            return {**whole, "content": kept}
        handle = self._keep("\n".join(rest), limit, owner)
        note = (
            f"[{len(self._kept[owner, handle][0]):,} more characters: "
            f'read them with read_result(handle="{handle}", offset=0).]'
        )
        return {**whole, "content": [*kept, {"type": "text", "text": note}]}

    def read(self, handle: str, offset: int, owner: str = "") -> str | None:
        """The kept text from `offset` on, as much as a result may have, and how much is left; None if there is none."""
        if (owner, handle) not in self._kept:
            return None
        self._kept.move_to_end((owner, handle))
        text, limit = self._kept[owner, handle]
        if offset >= len(text):
            return f"[The result ends at {len(text):,} characters.]"
        end = offset + _break(text[offset : offset + limit + 1], limit) if len(text) - offset > limit else len(text)
        left = len(text) - end
        note = f'\n[{left:,} more characters: read_result(handle="{handle}", offset={end}).]' if left else ""
        return text[offset:end] + note

    def _keep(self, text: str, limit: int, owner: str) -> str:
        handle = secrets.token_hex(8)
        self._kept[owner, handle] = text, limit
        while len(self._kept) > _MOST_KEPT or (
            len(self._kept) > 1 and sum(len(kept) for kept, _ in self._kept.values()) > _MOST_CHARACTERS
        ):
            self._kept.popitem(last=False)
        return handle


def _text_of(block: dict[str, Any]) -> str | None:
    """The text of a content block or of the resource in it."""
    resource = block.get("resource")
    text: object = cast("dict[str, Any]", resource).get("text") if isinstance(resource, dict) else block.get("text")
    return text if isinstance(text, str) else None


def _with_text(block: dict[str, Any], text: str) -> dict[str, Any]:
    if isinstance(block.get("resource"), dict):
        return {**block, "resource": {**block["resource"], "text": text}}
    return {**block, "text": text}


def _structured_text(result: dict[str, Any]) -> str:
    structured = result.get("structuredContent")
    return "" if structured is None else json.dumps(structured, ensure_ascii=False)


def _is_json_of(text: str | None, value: object) -> bool:
    """Whether `text` is `value` as JSON, as servers repeat it for older clients."""
    try:
        return text is not None and json.loads(text) == value
    except (ValueError, RecursionError):
        return False


def _break(text: str, limit: int) -> int:
    """Where to cut `text` so that at most `limit` characters stay: after a paragraph, a line, or a word."""
    for end in _BREAKS:
        place = text.rfind(end, limit // 2, limit)
        if place >= 0:
            return min(place + len(end), limit)
    return limit
