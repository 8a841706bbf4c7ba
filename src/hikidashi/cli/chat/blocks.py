"""Split a stream of Markdown into blocks that can be shown as soon as they are complete."""

from __future__ import annotations

import re

__all__ = ["MarkdownBlocks"]

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)")
_ITEM = re.compile(r" {0,3}(?:[-*+]|[0-9]{1,9}[.)])[ \t]")
_INSIDE_ITEM = re.compile(r" {2,}|\t")


class MarkdownBlocks:
    """Takes text in pieces and returns complete blocks: paragraphs, lists, headings, fenced code.

    A block ends at a blank line outside a fence, or where its fence closes. A list continues after a blank line with
    its next item or with indented text, which would be code on its own.
    """

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._unfinished = ""
        self._fence = ""

    @property
    def rest(self) -> str:
        """The text of the incomplete block."""
        return "\n".join([*self._lines, self._unfinished])

    def feed(self, text: str) -> list[str]:
        """The blocks that `text` completes."""
        *lines, self._unfinished = (self._unfinished + text).split("\n")
        blocks: list[str] = []
        for line in lines:
            blocks += self._take(line)
        return blocks

    def finish(self) -> list[str]:
        """The last block, complete or not; the next `feed` starts a new text."""
        rest = self.rest if self._fence else self.rest.rstrip("\n")
        self._lines, self._unfinished, self._fence = [], "", ""
        return [rest] if rest.strip() else []

    def _take(self, line: str) -> list[str]:
        mark = _FENCE.fullmatch(line.rstrip())
        if self._fence:
            self._lines.append(line)
            if mark and mark[1].startswith(self._fence) and not mark[2].strip():
                self._fence = ""
                return self._complete()
            return []
        if mark:
            before = self._complete()
            self._fence = mark[1]
            self._lines.append(line)
            return before
        is_list = bool(self._lines and _ITEM.match(self._lines[0]))
        if not line.strip():
            if is_list:
                self._lines.append("")
                return []
            return self._complete()
        done: list[str] = []
        if is_list and not self._lines[-1] and not _ITEM.match(line) and not _INSIDE_ITEM.match(line):
            done = self._complete()
        self._lines.append(line)
        return done

    def _complete(self) -> list[str]:
        block = "\n".join(self._lines).rstrip("\n")
        self._lines = []
        return [block] if block.strip() else []
