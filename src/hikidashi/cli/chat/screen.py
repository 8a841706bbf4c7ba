"""Output of an answer as it arrives: on a terminal, in a pipe, or as JSON."""

from __future__ import annotations

import dataclasses
import json
import re
import shutil
import sys
import time
from abc import ABC, abstractmethod
from types import TracebackType
from typing import Any, Self

from rich.console import Console
from rich.markdown import Markdown
from rich.status import Status
from rich.text import Text

from hikidashi.apps.citations import Citations, FoundSources
from hikidashi.apps.responder import AnswerEvent, AnswerFailed, TextDelta, ToolCalled, ToolReturned
from hikidashi.web.answers.fence import unfenced

from ..output import clean, clean_lines, cut
from .blocks import MarkdownBlocks
from .live_lines import LiveLines
from .words import Words

__all__ = ["JsonScreen", "PlainScreen", "Screen", "TerminalScreen"]

_KINDS = {TextDelta: "text", ToolCalled: "tool_called", ToolReturned: "tool_returned", AnswerFailed: "failed"}


class Screen(ABC):
    """Shows one answer; a context manager around the wait for it."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @abstractmethod
    def show(self, event: AnswerEvent) -> None:
        """Show one event of the answer."""

    def close(self) -> None:  # noqa: B027 - optional
        """Show what is still buffered, after the last event."""


class TerminalScreen(Screen):
    """Complete blocks as formatted Markdown, the incomplete one below them as it grows, and each tool call."""

    def __init__(self, console: Console, words: Words, *, hyperlinks: bool = False) -> None:
        """Without `hyperlinks`, the address of a link is printed after its text."""
        self._console = console
        self._hyperlinks = hyperlinks and console.color_system is not None
        self._found = FoundSources()
        self._citations = Citations(self._found)
        self._widest = console.width
        self._words = words
        self._blocks = MarkdownBlocks()
        self._began: dict[str, float] = {}
        self._spinner = Status("", console=console, spinner="dots", spinner_style="cyan")
        self._live = LiveLines(console)

    def __enter__(self) -> Self:
        self._wait(self._words.thinking)
        return self

    def show(self, event: AnswerEvent) -> None:
        """Draw one event below the others."""
        self._spinner.stop()
        self._fit()
        self._found.take(event)
        match event:
            case TextDelta(text):
                self._grow(text)
            case ToolCalled():
                self._flush()
                self._began[event.call_id] = time.monotonic()
                line = Text.assemble(("● ", "cyan"), (cut(event.name, 40), "bold"), "  ")
                self._print_line(line, _arguments(event.arguments))
                self._wait(self._words.using.format(tool=cut(event.name, 40)))
            case ToolReturned():
                took = time.monotonic() - self._began.pop(event.call_id, time.monotonic())
                mark, style = ("✓", "green") if event.ok else ("✗", "red")
                reason = event.reason or unfenced(event.text)
                self._print_line(Text.assemble((f"  {mark} ", style), (f"{took:.1f} s  ", "dim")), reason)
                self._wait(self._words.thinking)
            case AnswerFailed(message):
                self._flush()
                self._console.print(Text(clean_lines(message), "red"))

    def close(self) -> None:
        """Print the last block, complete or not, and the sources of the answer."""
        self._spinner.stop()
        self._flush()
        if sources := self._citations.sources:
            self._console.print(Text(self._words.sources, "bold"))
            for source in sources:
                address = Text(clean(source.url), "cyan")
                if self._hyperlinks:
                    address.stylize(f"link {clean(source.url)}")
                title = f"{clean(source.title)}  " if source.title else ""
                self._console.print(Text.assemble((f"[{source.number}] ", "dim"), title, address), soft_wrap=True)
            self._console.print()

    def _fit(self) -> None:
        """Adapt to a window that became narrower: wrapped lines could not be redrawn."""
        if self._console.is_terminal:
            self._console.width = min(self._widest, shutil.get_terminal_size().columns)

    def _wait(self, what: str) -> None:
        self._spinner.update(Text(what, "dim"))
        self._spinner.start()

    def _grow(self, text: str) -> None:
        blocks = self._blocks.feed(text)
        if blocks:
            self._live.erase()
        for block in blocks:
            self._print_block(block)
        # A block taller than the terminal cannot be redrawn, so only its end is shown.
        most = max(1, self._console.height // 2)
        lines = clean_lines(self._blocks.rest).splitlines()[-most:]
        rows = Text("\n".join(lines)).wrap(self._console, self._console.width)
        self._live.draw(rows[-most:])

    def _flush(self) -> None:
        self._live.erase()
        for block in self._blocks.finish():
            self._print_block(block)

    def _print_block(self, block: str) -> None:
        cited = self._citations.cited(block)
        if cited.strip():
            self._console.print(Markdown(clean_lines(cited), hyperlinks=self._hyperlinks))
            self._console.print()

    def _print_line(self, line: Text, rest: str) -> None:
        line.append(cut(rest, max(10, self._console.width - line.cell_len)), "dim")
        self._console.print(line, no_wrap=True)


class PlainScreen(Screen):
    """The text of the answer on stdout, as it arrives; tool calls and failures on stderr."""

    def __init__(self) -> None:
        self._last = "\n"

    def show(self, event: AnswerEvent) -> None:
        """Write one event."""
        match event:
            case TextDelta(text):
                sys.stdout.write(text)
                sys.stdout.flush()
                self._last = text[-1:] or self._last
            case ToolCalled():
                _print_to_stderr(f"{event.name}: {cut(_arguments(event.arguments), 200)}")
            case ToolReturned():
                if not event.ok:
                    _print_to_stderr(f"{event.name} failed: {cut(event.reason or unfenced(event.text), 300)}")
            case AnswerFailed(message):
                self.close()
                _print_to_stderr(message)

    def close(self) -> None:
        """End the last line."""
        if self._last != "\n":
            sys.stdout.write("\n")
            sys.stdout.flush()
            self._last = "\n"


class JsonScreen(Screen):
    """Each event as a line of JSON, and at the end the sources of the answer, if there are any."""

    def __init__(self) -> None:
        self._found = FoundSources()
        self._said: list[str] = []

    def show(self, event: AnswerEvent) -> None:
        """Write one event as a JSON object, with its kind as `event`."""
        self._found.take(event)
        if isinstance(event, TextDelta):
            self._said.append(event.text)
        line = {"event": _KINDS[type(event)], **dataclasses.asdict(event)}
        if not line.get("reason"):
            line.pop("reason", None)
        self._write(line)

    def close(self) -> None:
        """Write the sources."""
        citations = Citations(self._found)
        citations.cited("".join(self._said))
        if citations.sources:
            self._write({"event": "sources", "sources": list(map(dataclasses.asdict, citations.sources))})

    def _write(self, line: dict[str, Any]) -> None:
        sys.stdout.write(json.dumps(line, ensure_ascii=False, default=str) + "\n")
        sys.stdout.flush()


def _print_to_stderr(line: str) -> None:
    sys.stderr.write(f"{line}\n")


def _arguments(arguments: dict[str, Any]) -> str:
    if len(arguments) == 1:
        (value,) = arguments.values()
        return value if isinstance(value, str) else _compact(value)
    return re.sub(r'"(\w+)":', r"\1:", _compact(arguments)[1:-1])


def _compact(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)
