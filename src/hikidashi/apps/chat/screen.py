"""Output of an answer as it arrives: on a terminal, in a pipe, or as JSON."""

from __future__ import annotations

import dataclasses
import json
import os
import re
import shutil
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from rich.console import Console
from rich.markdown import Markdown
from rich.status import Status
from rich.text import Text

from ...common.terminal import clean, clean_lines, cut
from ...web.answers import unfenced
from ..citations import Citations, FoundSources
from ..responder import AnswerEvent, AnswerFailed, TextDelta, ToolCalled, ToolReturned

if TYPE_CHECKING:
    from markdown_it.token import Token

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

    def __init__(self, console: Console, words: Mapping[str, str], *, hyperlinks: bool = False) -> None:
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
        self._wait(self._words["thinking"])
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
                self._wait(self._words["using"].format(tool=cut(event.name, 40)))
            case ToolReturned():
                took = time.monotonic() - self._began.pop(event.call_id, time.monotonic())
                mark, style = ("✓", "green") if event.ok else ("✗", "red")
                reason = event.reason or unfenced(event.text)
                self._print_line(Text.assemble((f"  {mark} ", style), (f"{took:.1f} s  ", "dim")), reason)
                self._wait(self._words["thinking"])
            case AnswerFailed(message):
                self._flush()
                self._console.print(Text(clean_lines(message), "red"))

    def close(self) -> None:
        """Print the last block, complete or not, and the sources of the answer."""
        self._spinner.stop()
        self._flush()
        if sources := self._citations.sources:
            self._console.print(Text(self._words["sources"], "bold"))
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


_BLANK_LINES_BEFORE = re.compile(r"\A(?:[ \t]*\n)+")
_BLANK_LINES_AFTER = re.compile(r"(?:\n[ \t]*)+\Z")
_GOES_ON = {"bullet_list_open", "ordered_list_open", "code_block"}


class MarkdownBlocks:
    """Takes Markdown in pieces and returns complete blocks: paragraphs, lists, headings, fenced code.

    A block is complete at a blank line or when the next one begins; a list or indented code, which may go on after a
    blank line, only when the next block begins.
    """

    def __init__(self) -> None:
        self.rest = ""
        """The text of the incomplete block."""

    def feed(self, text: str) -> list[str]:
        """The blocks that `text` completes."""
        self.rest = _BLANK_LINES_BEFORE.sub("", self.rest + text)
        if "\n" not in text:
            return []
        *lines, unfinished = self.rest.split("\n")
        tokens = _top_level("\n".join([*lines, ""]))
        spans = [token.map for token in tokens if token.map]
        complete = len(spans) - 1
        if spans and spans[-1][1] < len(lines) and tokens[-1].type not in _GOES_ON:
            complete += 1
        if complete < 1:
            return []
        # What has no token, such as the address of a reference, stays with the block before it.
        bounds = [0, *(start for start, _ in spans[1:]), len(lines)][: complete + 1]
        self.rest = "\n".join([*lines[bounds[-1] :], unfinished])
        return [_BLANK_LINES_AFTER.sub("", "\n".join(lines[start:end])) for start, end in pairwise(bounds)]

    def finish(self) -> list[str]:
        """The last block, complete or not; the next `feed` starts a new text."""
        blocks = self.feed("\n\n")
        rest, self.rest = self.rest.removesuffix("\n\n"), ""
        is_code = any(token.type == "fence" for token in _top_level(rest))
        return [*blocks, rest if is_code else _BLANK_LINES_AFTER.sub("", rest)] if rest.strip() else blocks


def _top_level(markdown: str) -> list[Token]:
    return [token for token in Markdown(markdown).parsed if token.level == 0 and token.map]


class LiveLines:
    """Rows of text that are redrawn in place, also after the window has become narrower.

    Nothing is drawn if the console is not a terminal.
    """

    def __init__(self, console: Console) -> None:
        self._console = console
        self._widths: list[int] = []
        self._columns = 0

    def draw(self, rows: Sequence[Text]) -> None:
        """Draw `rows` over the previous ones; each must fit the width of the console."""
        if not self._console.is_terminal or self._console.is_dumb_terminal:
            return
        self.erase()
        if not rows:
            return
        self._console.show_cursor(False)
        self._console.print(Text("\n").join(rows), end="", no_wrap=True, crop=False)
        self._widths = [row.cell_len for row in rows]
        self._columns = self._console.width

    def erase(self) -> None:
        """Erase the rows and move the cursor to where they began."""
        if not self._widths:
            return
        rows = len(self._widths)
        if self._console.width < self._columns and terminal_reflows():
            rows = rows_after_reflow(self._widths, self._console.width)
        up = f"\x1b[{rows - 1}A" if rows > 1 else ""
        self._console.file.write(f"\r{up}{ERASE_BELOW}")
        self._widths = []
        self._console.show_cursor(True)


ERASE_BELOW = "\x1b7\x1b[K\x1b[B\r\x1b[J\x1b8"
"""Erase from the cursor to the end of the screen.

In two steps: from the first row of a window, tmux would move all of it into its history.
"""


def rows_after_reflow(widths: Iterable[int], columns: int) -> int:
    """How many rows lines of these widths take in a window of `columns`; an empty line takes one."""
    return sum(max(1, -(-width // max(1, columns))) for width in widths)


def terminal_reflows(environment: Mapping[str, str] | None = None) -> bool:
    """Whether the terminal rewraps lines; xterm, GNU screen and the Linux console truncate them instead."""
    given = os.environ if environment is None else environment
    if "TMUX" in given:
        return True
    term = given.get("TERM", "")
    return "XTERM_VERSION" not in given and "STY" not in given and not term.startswith(("screen", "linux"))


_PROGRAMS = frozenset({"ghostty", "Hyper", "iTerm.app", "rio", "Tabby", "vscode", "WarpTerminal", "WezTerm", "zed"})
_TERMS = ("alacritty", "contour", "foot", "ghostty", "kitty", "wezterm", "xterm-ghostty", "xterm-kitty")
_SET_BY_TERMINALS = ("DOMTERM", "KITTY_WINDOW_ID", "KONSOLE_VERSION", "WT_SESSION")
_FIRST_VTE = 5000  # 0.50


def supports_hyperlinks(environment: Mapping[str, str] | None = None) -> bool:
    """Whether the terminal is known to support hyperlinks; elsewhere the address must be printed.

    `FORCE_HYPERLINK=1` and `FORCE_HYPERLINK=0` override this, as in other programs.
    """
    given = os.environ if environment is None else environment
    if (forced := given.get("FORCE_HYPERLINK")) is not None:
        return forced.lower() not in {"", "0", "false", "no"}
    term = given.get("TERM", "")
    # Inside tmux and screen, the outer terminal is unknown.
    if term in {"", "dumb", "linux"} or term.startswith(("tmux", "screen")) or "TMUX" in given:
        return False
    if given.get("TERM_PROGRAM") in _PROGRAMS or term.startswith(_TERMS):
        return True
    if any(given.get(name) for name in _SET_BY_TERMINALS):
        return True
    vte = given.get("VTE_VERSION", "")
    return vte.isascii() and vte.isdigit() and int(vte) >= _FIRST_VTE
