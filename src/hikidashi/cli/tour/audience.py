"""Two audiences: a person at a terminal, and a program that reads lines of JSON."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext

from rich.console import Console, RenderableType
from rich.panel import Panel
from rich.rule import Rule
from rich.text import Text

from ..tools.text import cut
from ..wrap import wrapped
from . import events
from .words import Words

__all__ = ["Program", "Reader"]

_PAUSES: Mapping[type[events.Event], float] = {
    events.TourStarted: 1.5,
    events.ActStarted: 1.0,
    events.Asked: 1.0,
    events.Used: 2.0,
    events.Found: 1.5,
}
"""Seconds to read before the next step; none of them falls within a run, so its time is its own."""


class Program:
    """Prints each event as one line of JSON."""

    async def hear(self, event: events.Event) -> None:
        """Print `event`."""
        print(json.dumps(event.as_json(), ensure_ascii=False), flush=True)  # noqa: T201 - this is the output

    def waiting(self) -> AbstractContextManager[object]:
        """Nothing: programs are patient."""
        return nullcontext()


class Reader:
    """Prints each event for a person: a word in the margin, and what happened beside it."""

    def __init__(self, console: Console, words: Words, *, pause: bool) -> None:
        self._console = console
        self._words = words
        self._pause = pause and console.is_terminal
        labels = (
            words.tools,
            words.you,
            words.model,
            words.call,
            words.result,
            words.retry,
            words.answer,
            words.used,
            words.found,
        )
        self._margin = 2 + max(Text(label).cell_len for label in labels)
        self._last: events.Event | None = None

    async def hear(self, event: events.Event) -> None:
        """Print `event`, and give time to read it."""
        if self._starts_a_paragraph(event):
            self._console.print()
        for line in self._drawn(event):
            self._console.print(line)
        self._last = event
        if self._pause:
            await asyncio.sleep(_PAUSES.get(type(event), 0.0))

    def waiting(self) -> AbstractContextManager[object]:
        """A line that moves, on a terminal."""
        if not self._console.is_terminal:
            return nullcontext()
        return self._console.status(Text(f"{self._words.waiting} …", "dim"), spinner="dots", spinner_style="cyan")

    def _starts_a_paragraph(self, event: events.Event) -> bool:
        match event:
            case events.Called() | events.Said():
                return not isinstance(self._last, events.Said | events.Called)
            case events.Returned() | events.DiaryRead() | events.Used():
                return False
            case _:
                return True

    def _drawn(self, event: events.Event) -> list[RenderableType]:
        words = self._words
        match event:
            case events.TourStarted():
                return [self._opening(event)]
            case events.ActStarted():
                heading = Text.assemble(
                    (words.act.format(number=event.number), "bold cyan"), "  ", (event.title, "bold")
                )
                return [self._rule(heading), *self._indented(Text(event.about, "dim"), Text(event.code, "cyan"))]
            case events.Offered():
                return self._beside(words.tools, "magenta", *self._offer(event.tools))
            case events.Asked():
                return self._beside(words.you, "bold", Text(event.text))
            case events.Said():
                return self._beside(words.model, "cyan", Text(event.text, "italic"))
            case events.Called():
                return self._beside(words.call, "cyan", _call(event))
            case events.Returned(outcome="success"):
                return self._beside(words.result, "green", _result(event))
            case events.Returned(outcome="retry"):
                return self._beside(words.retry, "yellow", _result(event))
            case events.Returned():
                return self._beside(words.failed, "red", _result(event))
            case events.Answered():
                return self._beside(words.answer, "bold green", Text(event.text, "bold"))
            case events.DiaryRead():
                return self._beside(words.diary, "cyan", *(Text(entry) for entry in event.entries))
            case events.Used():
                return self._beside(words.used, "dim", Text(_usage(words, event), "dim"))
            case events.Found():
                return self._found(event)
            case events.TourEnded():
                return [self._rule(Text(words.next_steps, "bold")), *self._indented(*_two_columns(event.next_commands))]
            case _:
                raise AssertionError(f"no drawing for {event!r}")

    def _found(self, event: events.Found) -> list[RenderableType]:
        names = [cut(hit.name, 36) for hit in event.hits]
        room = self._console.width - self._margin - 4 - max((Text(name).cell_len for name in names), default=0)
        texts = [cut(hit.text, max(10, room)) for hit in event.hits]
        hits = _two_columns(list(zip(names, texts, strict=True)), "bold magenta", "")
        among = self._words.among[event.things].format(among=event.among, milliseconds=event.seconds * 1000)
        return [
            *self._beside(self._words.you, "bold", Text(event.query)),
            *self._beside(self._words.found, "green", *(hits or [Text(self._words.nothing)]), Text(among, "dim")),
        ]

    def _opening(self, event: events.TourStarted) -> RenderableType:
        return Panel(
            Text("\n").join(wrapped(Text(self._words.honest), self._console.width - 6)),
            title=Text.assemble(("引き出し ", "bold cyan"), ("hikidashi", "bold"), (f" {event.version}", "dim")),
            title_align="left",
            subtitle=Text(self._words.subtitle, "dim"),
            subtitle_align="right",
            border_style="cyan",
            padding=(1, 2),
        )

    def _rule(self, heading: Text) -> RenderableType:
        return Rule(heading, align="left", style="cyan")

    def _offer(self, tools: tuple[events.OfferedTool, ...]) -> list[Text]:
        lines = _two_columns([(_short(tool.name), tool.description) for tool in tools], "bold magenta", "")
        prefix = tools[0].name.removesuffix(_short(tools[0].name)) if tools else ""
        return [*lines, Text(self._words.prefix.format(prefix=prefix), "dim")] if prefix else lines

    def _beside(self, label: str, style: str, *content: Text) -> list[RenderableType]:
        """`content`, wrapped, with `label` at its first line; no padding at the end, so that files stay clean."""
        margin = Text(" " * (self._margin - Text(label).cell_len)) + Text(label, style) + Text("  ")
        lines = [line for text in content for line in wrapped(text, self._console.width - self._margin - 2)]
        return [(Text(" " * (self._margin + 2)) if number else margin) + line for number, line in enumerate(lines)]

    def _indented(self, *content: Text) -> list[RenderableType]:
        return [Text("  ") + line for text in content for line in wrapped(text, self._console.width - 2)]


def _two_columns(rows: Sequence[tuple[str, str]], first: str = "cyan", second: str = "dim") -> list[Text]:
    widest = max((Text(left).cell_len for left, _ in rows), default=0)
    return [
        Text.assemble((left, first), " " * (widest - Text(left).cell_len + 2), (right, second)) for left, right in rows
    ]


def _short(name: str) -> str:
    """A tool's own name, without the `mcp__server__` that Claude Code puts before it."""
    return name.rpartition("__")[2]


def _call(event: events.Called) -> Text:
    arguments = [
        Text.assemble((f"{name}=", "dim"), json.dumps(value, ensure_ascii=False))
        for name, value in event.arguments.items()
    ]
    return Text.assemble((_short(event.tool), "bold"), "(", Text(", ").join(arguments), ")")


def _result(event: events.Returned) -> Text:
    return Text.assemble((f"{_short(event.tool)} → ", "dim"), event.content)


def _usage(words: Words, used: events.Used) -> str:
    return words.usage.format(
        requests=used.api_requests,
        input=used.input_tokens,
        output=used.output_tokens,
        cost=used.cost_usd,
        seconds=used.seconds,
    )
