"""Results that are too long for a context: cut at a sensible place, with a handle to read on."""

from __future__ import annotations

import secrets
from collections import OrderedDict
from typing import Any, cast

__all__ = ["LongResults"]

_MOST_KEPT = 64
_MOST_CHARACTERS = 200_000_000  # of all that is kept together
_BREAKS = ("\n\n", "\n", " ")


class LongResults:
    """The rest of results that were cut, as long as there is room for them."""

    def __init__(self) -> None:
        self._texts: OrderedDict[tuple[str, str], str] = OrderedDict()

    def cut(self, result: dict[str, Any], limit: int, owner: str = "") -> dict[str, Any]:
        """`result` with at most `limit` characters of text; where it has more, the last text says how to read on.

        Only `owner` can read on.
        """
        content = cast("list[dict[str, Any]]", result.get("content") or [])
        total = sum(len(str(block.get("text", ""))) for block in content)
        if total <= limit:
            return result
        kept: list[dict[str, Any]] = []
        left = limit
        rest: list[str] = []
        for block in content:
            text = block.get("text")
            if not isinstance(text, str):
                kept.append(block)
            elif left > 0:
                shown = text if len(text) <= left else text[: _break(text, left)]
                kept.append({**block, "text": shown})
                left = left - len(shown) if len(shown) == len(text) else 0
                rest += [text[len(shown) :]] if len(shown) < len(text) else []
            else:
                rest.append(text)
        handle = self._keep("\n".join(rest), owner)
        length = len(self._texts[owner, handle])
        note = f'[{length:,} more characters: read them with read_result(handle="{handle}", offset=0).]'
        cut = {**result, "content": [*kept, {"type": "text", "text": note}]}
        cut.pop("structuredContent", None)  # it says the same, whole
        return cut

    def read(self, handle: str, offset: int, limit: int, owner: str = "") -> str | None:
        """The kept text from `offset` on, and how much is left; None where nothing is kept for `owner`."""
        text = self._texts.get((owner, handle))
        if text is None:
            return None
        self._texts.move_to_end((owner, handle))
        end = offset + _break(text[offset : offset + limit + 1], limit) if len(text) - offset > limit else len(text)
        left = len(text) - end
        note = f'\n[{left:,} more characters: read_result(handle="{handle}", offset={end}).]' if left else ""
        return text[offset:end] + note

    def _keep(self, text: str, owner: str) -> str:
        handle = secrets.token_hex(8)
        self._texts[owner, handle] = text
        while len(self._texts) > _MOST_KEPT or (
            len(self._texts) > 1 and sum(map(len, self._texts.values())) > _MOST_CHARACTERS
        ):
            self._texts.popitem(last=False)
        return handle


def _break(text: str, limit: int) -> int:
    """Where to cut `text` so that at most `limit` characters stay: after a paragraph, a line, or a word."""
    for end in _BREAKS:
        place = text.rfind(end, limit // 2, limit)
        if place >= 0:
            return place + len(end)
    return limit
