"""Two audiences: a person at a terminal, and a program that reads lines of JSON."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from rich.console import Console, RenderableType
from rich.panel import Panel
from rich.rule import Rule
from rich.text import Text

from ..tools.text import cut
from ..wrap import wrapped
from .stage import Bilingual

__all__ = ["JsonLines", "Reader"]

# Seconds to read before the next event; none is within a run, whose time is shown.
_PAUSES = {"tour_started": 1.5, "act_started": 1.0, "asked": 1.0, "used": 2.0, "found": 1.5}

# The label in the margin, in English and Japanese, and its style.
_LABELS = {
    "offered": ("tools", "ツール", "magenta"),
    "asked": ("you", "あなた", "bold"),
    "said": ("model", "モデル", "cyan"),
    "called": ("call", "呼出", "cyan"),
    "success": ("result", "結果", "green"),
    "retry": ("try again", "再試行", "yellow"),
    "failed": ("failed", "失敗", "red"),
    "answered": ("answer", "回答", "bold green"),
    "diary_read": ("diary", "手帳", "cyan"),
    "used": ("used", "使用量", "dim"),
    "found": ("found", "発見", "green"),
}
_STYLES = {"asked": "", "said": "italic", "answered": "bold"}
"""Events that are a text."""

_NO_PARAGRAPH = {"returned", "diary_read", "used"}
"""Events that follow the line before without a blank line."""

Tools = Sequence[Mapping[str, Any]]


class JsonLines:
    """Prints each event as one line of JSON."""

    async def show(self, event: str, **fields: Any) -> None:
        """Print the event."""
        print(json.dumps({"event": event, **fields}, ensure_ascii=False), flush=True)  # noqa: T201 - this is the output

    def waiting(self) -> AbstractContextManager[object]:
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
        self._last = ""

    async def show(self, event: str, **fields: Any) -> None:
        """Print the event, and pause to let it be read."""
        if event in _STYLES:
            lines = self._beside(event, Text(fields["text"], _STYLES[event]))
        else:
            lines = getattr(self, f"_{event}")(**fields)
        if event not in _NO_PARAGRAPH and not (event == "called" and self._last in ("said", "called")):
            self._console.print()
        for line in lines:
            self._console.print(line)
        self._last = event
        if self._pause:
            await asyncio.sleep(_PAUSES.get(event, 0.0))

    def waiting(self) -> AbstractContextManager[object]:
        """A spinner, on a terminal."""
        if not self._console.is_terminal:
            return nullcontext()
        status = Text(self._text("Claude Code is at work …", "Claude Code が動いています …"), "dim")
        return self._console.status(status, spinner="dots", spinner_style="cyan")

    def _tour_started(self, version: str, language: str, model: str) -> list[RenderableType]:
        notice = self._text(
            "The Claude Code CLI and the tools are real here. The model is not: a script plays its part, on a "
            "Messages API at 127.0.0.1. No network, no account, no key is used. Tokens and costs are estimates; "
            "nothing is paid.",
            "Claude Code CLI もツールも本物です。モデルだけは本物ではなく、127.0.0.1 の Messages API が台本どおりに"
            "答えます。ネットワークもアカウントもキーも使いません。"
            "トークン数と費用は目安で、支払いは発生しません。",
        )
        panel = Panel(
            Text("\n").join(wrapped(Text(notice), self._console.width - 6)),
            title=Text.assemble(("引き出し ", "bold cyan"), ("hikidashi", "bold"), (f" {version}", "dim")),
            title_align="left",
            subtitle=Text(
                self._text("one drawer for every tool an agent has", "エージェントの道具を、ひとつの引き出しに"), "dim"
            ),
            subtitle_align="right",
            border_style="cyan",
            padding=(1, 2),
        )
        return [panel]

    def _act_started(self, number: int, title: str, about: str, code: str) -> list[RenderableType]:
        act = self._text(f"Act {number}", f"第{number}幕")
        heading = Text.assemble((act, "bold cyan"), "  ", (title, "bold"))
        return [_rule(heading), *self._indented(Text(about, "dim"), Text(code, "cyan"))]

    def _offered(self, tools: Tools) -> list[RenderableType]:
        lines = _two_columns([(_short(tool["name"]), tool["description"]) for tool in tools], "bold magenta", "")
        prefix = tools[0]["name"].removesuffix(_short(tools[0]["name"])) if tools else ""
        if prefix:
            note = self._text(f"Claude Code calls them {prefix}…", f"Claude Code からは {prefix}… と見えます")
            lines.append(Text(note, "dim"))
        return self._beside("offered", *lines)

    def _called(self, id: str, tool: str, arguments: Mapping[str, Any]) -> list[RenderableType]:  # noqa: A002 - a field
        given = [
            Text.assemble((f"{name}=", "dim"), json.dumps(value, ensure_ascii=False))
            for name, value in arguments.items()
        ]
        return self._beside("called", Text.assemble((_short(tool), "bold"), "(", Text(", ").join(given), ")"))

    def _returned(self, id: str, tool: str, content: str, outcome: str) -> list[RenderableType]:  # noqa: A002 - a field
        return self._beside(outcome, Text.assemble((f"{_short(tool)} → ", "dim"), content))

    def _diary_read(self, entries: Sequence[str]) -> list[RenderableType]:
        return self._beside("diary_read", *map(Text, entries))

    def _used(
        self, api_requests: int, input_tokens: int, output_tokens: int, cost_usd: float, seconds: float
    ) -> list[RenderableType]:
        usage = self._text(
            f"{api_requests} requests · {input_tokens:,} tokens in, {output_tokens:,} out · "
            f"${cost_usd:.4f} · {seconds:.1f} s",
            f"リクエスト {api_requests} 回 · 入力 {input_tokens:,} / 出力 {output_tokens:,} トークン · "
            f"${cost_usd:.4f} · {seconds:.1f} 秒",
        )
        return self._beside("used", Text(usage, "dim"))

    def _found(self, query: str, among: int, things: str, hits: Tools, seconds: float) -> list[RenderableType]:
        names = [cut(hit["name"], 36) for hit in hits]
        room = self._console.width - self._margin - 4 - max((Text(name).cell_len for name in names), default=0)
        texts = [cut(hit["text"], max(10, room)) for hit in hits]
        lines = _two_columns(list(zip(names, texts, strict=True)), "bold magenta", "")
        kind = {"tools": "ツール", "passages": "文章"}[things]
        where = self._text(
            f"among {among:,} {things}, in {seconds * 1000:.1f} ms",
            f"{kind} {among:,} 件から {seconds * 1000:.1f} ミリ秒",
        )
        nothing = Text(self._text("nothing", "見つかりませんでした"))
        return [*self._beside("asked", Text(query)), *self._beside("found", *(lines or [nothing]), Text(where, "dim"))]

    def _tour_ended(self, seconds: float, next_commands: Sequence[tuple[str, str]]) -> list[RenderableType]:
        return [_rule(Text(self._text("Next", "次は"), "bold")), *self._indented(*_two_columns(next_commands))]

    def _beside(self, label: str, *content: Text) -> list[RenderableType]:
        """`content`, wrapped, with a label at its first line; no padding at the end, so that files stay clean."""
        english, japanese, style = _LABELS[label]
        shown = Text(self._text(english, japanese), style)
        margin = Text(" " * (self._margin - shown.cell_len)) + shown + Text("  ")
        lines = [line for text in content for line in wrapped(text, self._console.width - self._margin - 2)]
        return [(Text(" " * (self._margin + 2)) if number else margin) + line for number, line in enumerate(lines)]

    def _indented(self, *content: Text) -> list[RenderableType]:
        return [Text("  ") + line for text in content for line in wrapped(text, self._console.width - 2)]


def _rule(heading: Text) -> RenderableType:
    return Rule(heading, align="left", style="cyan")


def _two_columns(rows: Sequence[tuple[str, str]], first: str = "cyan", second: str = "dim") -> list[Text]:
    widest = max((Text(left).cell_len for left, _ in rows), default=0)
    return [
        Text.assemble((left, first), " " * (widest - Text(left).cell_len + 2), (right, second)) for left, right in rows
    ]


def _short(name: str) -> str:
    """The name of a tool without the `mcp__server__` that Claude Code puts before it."""
    return name.rpartition("__")[2]
