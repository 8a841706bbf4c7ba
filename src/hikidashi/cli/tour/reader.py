"""Two audiences: a person at a terminal, and a program that reads lines of JSON."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from rich.cells import cell_len, set_cell_size
from rich.console import Console, RenderableType
from rich.panel import Panel
from rich.rule import Rule
from rich.text import Text

from ..output import clean, cut, wrapped
from .stage import Bilingual

__all__ = ["JsonLines", "Reader"]

# Seconds to read before the next event; none during a run, whose time is shown.
_PAUSES = {"tour_started": 1.5, "act_started": 1.0, "asked": 1.0, "answered": 1.5, "table": 1.5}

# The label in the margin, in English and Japanese, and its style.
_LABELS = {
    "servers": ("servers", "サーバー", "magenta"),
    "asked": ("you", "あなた", "bold"),
    "called": ("call", "呼出", "cyan"),
    "success": ("result", "結果", "green"),
    "retried": ("try again", "再試行", "yellow"),
    "failed": ("failed", "失敗", "red"),
    "found": ("found", "発見", "green"),
    "answered": ("answer", "回答", "bold green"),
    "prompt": ("prompt", "プロンプト", "magenta"),
    "diary": ("diary", "手帳", "magenta"),
    "mcp": ("mcp", "MCP", "magenta"),
}
_STYLES = {"asked": "", "answered": "bold"}  # events that are a text
_NO_PARAGRAPH = {"found", "returned"}  # events that follow the line before without a blank line


class JsonLines:
    """Prints each event as one line of JSON."""

    async def show(self, event: str, **fields: Any) -> None:
        """Print the event."""
        print(json.dumps({"event": event, **fields}, ensure_ascii=False), flush=True)  # noqa: T201 - this is the output

    def waiting(self, text: str) -> AbstractContextManager[object]:
        """Print nothing."""
        return nullcontext()


class Reader:
    """Prints each event for a person: a label in the margin, and the event beside it.

    The method `_<event>` draws an event that is more than a text; its parameters are the fields of the event.
    """

    def __init__(self, console: Console, text: Bilingual, *, pause: bool) -> None:
        self._console = console
        self._text = text
        self._pause = pause and console.is_terminal
        self._margin = 2 + max(Text(text(*label[:2])).cell_len for label in _LABELS.values())
        self._room = console.width - self._margin - 2
        self._last = ""

    async def show(self, event: str, **fields: Any) -> None:
        """Print the event, and pause to let it be read."""
        if event in _STYLES:
            lines = self._beside(event, Text(fields["text"], _STYLES[event]))
        else:
            lines = getattr(self, f"_{event}")(**fields)
        if event not in _NO_PARAGRAPH and not (event == "called" and self._last != "returned"):
            self._console.print()
        for line in lines:
            self._console.print(line)
        self._last = event
        if self._pause:
            await asyncio.sleep(_PAUSES.get(event, 0.0))

    def waiting(self, text: str) -> AbstractContextManager[object]:
        """A spinner, on a terminal."""
        if not self._console.is_terminal:
            return nullcontext()
        return self._console.status(Text(text, "dim"), spinner="dots", spinner_style="cyan")

    def _tour_started(self, version: str, language: str, model: str) -> list[RenderableType]:
        notice = self._text(
            "The servers, the Claude Code CLI and every call are real here. The model is not: a script plays its "
            "part, on a Messages API at 127.0.0.1. No network, no account, no key. Token counts are estimates.",
            "サーバーも Claude Code CLI も呼び出しも本物です。モデルだけは本物ではなく、127.0.0.1 の Messages API が"
            "台本どおりに答えます。ネットワークもアカウントもキーも使いません。トークン数は目安です。",
        )
        drawer = self._text("one drawer for every tool an agent has", "ツールをひとつの引き出しに")
        title = Text.assemble(("引き出し ", "bold cyan"), ("hikidashi", "bold"), (f" {version} · {drawer}", "dim"))
        lines = Text("\n").join(wrapped(Text(notice), self._console.width - 6))
        return [Panel(lines, title=title, title_align="left", border_style="cyan", padding=(1, 2))]

    def _act_started(self, number: int, title: str, about: str, code: str) -> list[RenderableType]:
        heading = Text.assemble((str(number), "bold cyan"), "  ", (title, "bold"))
        return [Rule(heading, align="left", style="cyan"), *self._indented(Text(about, "dim"), Text(code, "cyan"))]

    def _called(self, tool: str, arguments: Mapping[str, Any]) -> list[RenderableType]:
        given = [
            Text.assemble((f"{name}=", "dim"), json.dumps(value, ensure_ascii=False))
            for name, value in arguments.items()
        ]
        name = re.sub(r"^mcp__.+?__", "", tool)  # without the prefix of Claude Code
        return self._beside("called", Text.assemble((name, "bold"), "(", Text(", ").join(given), ")"))

    def _returned(self, tool: str, content: str, outcome: str) -> list[RenderableType]:
        return self._beside(outcome if outcome in _LABELS else "failed", Text(cut(content, 2 * self._room)))

    def _found(self, hits: Sequence[Any], among: int = 0, seconds: float = 0, note: str = "") -> list[RenderableType]:
        lines = self._columns([(cut(hit["name"], self._room // 2), hit["text"]) for hit in hits])
        if among:
            took = f"{seconds * 1000:.1f}"
            where = self._text(f"among {among:,}, in {took} ms", f"{among:,} 件から {took} ミリ秒")
            lines.append(Text(where + note, "dim"))
        return self._beside("found", *lines)

    def _table(self, label: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> list[RenderableType]:
        lines = self._columns([columns, *rows] if columns else rows)
        if columns:
            lines[0] = Text(lines[0].plain, "dim")
        return self._beside(label, *lines)

    def _tour_ended(self, seconds: float, next_commands: Sequence[tuple[str, str]]) -> list[RenderableType]:
        heading = self._text(f"Next, after {seconds:.0f} seconds", f"{seconds:.0f} 秒のツアーでした。次は")
        rule = Rule(Text(heading, "bold"), align="left", style="cyan")
        return [rule, *self._indented(*self._columns(next_commands, self._console.width - 2))]

    def _columns(self, rows: Sequence[Sequence[Any]], room: int = 0) -> list[Text]:
        """Rows in columns: the first in colour, numbers at the right, cut where the line ends."""
        cells = [[f"{cell:,}" if isinstance(cell, int) else clean(cell) for cell in row] for row in rows]
        widths = [max(map(cell_len, column)) for column in zip(*cells, strict=True)]
        lines: list[Text] = []
        for row in cells:
            first, *others = map(_padded, row, widths)
            line = Text("  ").join([Text(first, "magenta"), *map(Text, others)])
            line.rstrip()
            line.truncate(room or self._room, overflow="ellipsis")
            lines.append(line)
        return lines

    def _beside(self, label: str, *content: Text) -> list[RenderableType]:
        """`content`, wrapped, with a label at its first line; no padding at the end, so that files stay clean."""
        english, japanese, style = _LABELS[label]
        shown = Text(self._text(english, japanese), style)
        margin = Text(" " * (self._margin - shown.cell_len)) + shown + Text("  ")
        lines = [line for text in content for line in wrapped(text, self._room)]
        return [(Text(" " * (self._margin + 2)) if number else margin) + line for number, line in enumerate(lines)]

    def _indented(self, *content: Text) -> list[RenderableType]:
        return [Text("  ") + line for text in content for line in wrapped(text, self._console.width - 2)]


def _padded(cell: str, width: int) -> str:
    return cell.rjust(width) if cell.replace(",", "").isdecimal() else set_cell_size(cell, width)
