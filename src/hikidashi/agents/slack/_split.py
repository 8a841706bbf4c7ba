"""Split a long answer into messages within Slack's limit, without breaking code blocks or links."""

from __future__ import annotations

import re

__all__ = ["LONGEST", "split_message"]

LONGEST = 3_900
"""Slack refuses to update a message beyond 4,000 characters."""

_FENCE = "```"
_WHOLE = re.compile(r"<[^<>\n]*>|&(?:amp|lt|gt);")
_BREAKS = (re.compile(r"[。．！？!?]+"), re.compile(r"[、，,;；]+"), re.compile(r"[ \t　]+"))


def split_message(mrkdwn: str, limit: int = LONGEST) -> list[str]:
    """`mrkdwn` in messages of at most `limit` characters, none of them empty.

    It is split between paragraphs if that leaves no message half empty, else between lines; a line is split only if it
    is longer than a message. A code block that is split is closed and opened again.
    """
    parts = _Parts(limit)
    for line in mrkdwn.split("\n"):
        *pieces, last = _pieces(line, limit - 2 * len(_FENCE) - 2)
        for piece in pieces:
            parts.add(piece)
            parts.end()  # the rest of a split line
        parts.add(last)
    return parts.whole()


class _Parts:
    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._done: list[str] = []
        self._lines: list[str] = []
        self._size = 0
        self._in_fence = False
        self._good_cut = 0
        """How many lines come before the last start of a paragraph or code block."""

    def add(self, line: str) -> None:
        is_fence = line == _FENCE
        closing = len(_FENCE) + 1 if self._in_fence != is_fence else 0
        while self._lines and self._size + len(line) + closing > self._limit:
            self._cut()
        if not self._in_fence and (is_fence or not line.strip()):
            self._good_cut = len(self._lines)
        self._append(line)
        if is_fence:
            self._in_fence = not self._in_fence

    def whole(self) -> list[str]:
        if self._in_fence:
            self._append(_FENCE)
        self._finish(len(self._lines))
        return self._done

    def end(self) -> None:
        """End the part; an open code block continues in the next."""
        rest: list[str] = []
        if self._in_fence:
            rest = [_FENCE]
            if self._lines[-1] == _FENCE:  # an empty code block
                self._lines.pop()
            else:
                self._lines.append(_FENCE)
        self._finish(len(self._lines))
        for line in rest:
            self._append(line)

    def _cut(self) -> None:
        at = self._good_cut
        if sum(len(line) + 1 for line in self._lines[:at]) * 2 < self._limit:
            self.end()
            return
        rest = self._lines[at:]
        self._finish(at)
        for line in rest:
            self._append(line)

    def _append(self, line: str) -> None:
        self._lines.append(line)
        self._size += len(line) + 1

    def _finish(self, count: int) -> None:
        part = "\n".join(self._lines[:count]).strip("\n")
        if part.strip():
            self._done.append(part)
        self._lines = []
        self._size = 0
        self._good_cut = 0


def _pieces(line: str, longest: int) -> list[str]:
    pieces: list[str] = []
    while len(line) > longest:
        at = _cut_of(line, longest)
        pieces.append(line[:at])
        line = line[at:]
    return [*pieces, line]


def _cut_of(line: str, longest: int) -> int:
    """Where to split without breaking a link or an escaped character, at the end of a sentence if one is near."""
    whole = [found.span() for found in _WHOLE.finditer(line[: longest * 2])]
    for pattern in _BREAKS:
        ends = [found.end() for found in pattern.finditer(line, longest // 2, longest)]
        for end in reversed(ends):
            if not any(start < end < stop for start, stop in whole):
                return end
    torn = next((start for start, stop in whole if start < longest < stop), longest)
    return torn or longest
