"""`hikidashi tour`: all MCP servers behind one, tools on the real Claude Code CLI, tool search and the web.

What is shown is in `tour_acts`; here it is started, and printed for a person at a terminal or as lines of JSON.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import re
import shutil
import sys
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.cells import cell_len, set_cell_size
from rich.console import Console, RenderableType
from rich.panel import Panel
from rich.rule import Rule
from rich.text import Text

import hikidashi
from hikidashi.common.exceptions import is_group

from .doctor import require_cli
from .output import Language, clean, cut, language_of_environment, stderr, stdout, wrapped

if TYPE_CHECKING:
    from .tour_acts import Stage

EXAMPLES = """\b
Examples:
  hikidashi tour                         five acts, less than a minute
  hikidashi tour --lang ja               in Japanese
  hikidashi tour --no-pause > tour.txt   all at once
  hikidashi tour --json | jq .event      each step as one JSON object
"""

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

Bilingual = Callable[[str, str], str]
"""Chooses between a text in English and the same in Japanese."""


def text_in(language: Language) -> Bilingual:
    """The texts of one language."""
    return lambda english, japanese: japanese if language == "ja" else english


def tour(
    lang: Annotated[Language | None, typer.Option(help="Language of the tour.", show_default="from LANG")] = None,
    pause: Annotated[
        bool, typer.Option("--pause/--no-pause", help="Short pauses to read along, on a terminal only.")
    ] = True,
    as_json: Annotated[bool, typer.Option("--json", help="Print each step as a line of JSON.")] = False,
    cli_path: Annotated[
        Path | None,
        typer.Option(help="Another Claude Code CLI than the SDK's own.", show_default=False),
    ] = None,
    docs: Annotated[
        list[Path] | None,
        typer.Option(metavar="PATH", help="Documents to search in the last act.", show_default="hikidashi's README"),
    ] = None,
) -> None:
    """See a thousand tools behind one MCP server, and your own in the real Claude Code CLI.

    The model behind it is scripted and listens on 127.0.0.1: no network, no account, no key.
    Its gateway and servers run in a temporary folder, and end with it.
    Exit code 1 means that the CLI does not run here, and the last line says why.
    """
    language = lang or language_of_environment()
    os.environ.setdefault("PYDANTIC_AI_NO_BANNER", "1")
    logging.basicConfig(handlers=[logging.NullHandler()])  # an error is printed once, at the end
    _ = hikidashi.ClaudeCodeModel  # imported first, because its error names the missing extra
    require_cli(cli_path)

    from .tour_acts import ACTS, Stage

    text = text_in(language)
    audience = JsonLines() if as_json else Reader(stdout(), text, pause=pause)
    try:
        asyncio.run(_tour(Stage(text, audience, cli_path=cli_path, documents=tuple(docs or ())), ACTS, language))
    except KeyboardInterrupt:
        stderr().print(text("Stopped. Nothing is left running.", "中断しました。動いたままのものはありません。"))
        sys.exit(130)


async def _tour(stage: Stage, acts: Sequence[Callable[[Stage], Awaitable[None]]], language: Language) -> None:
    started = time.perf_counter()
    await stage.tell("tour_started", version=hikidashi.__version__, language=language, model="scripted")
    for act in acts:
        try:
            await act(stage)
        except BaseExceptionGroup as group:  # an MCP client wraps what happens while it is connected
            raise _first(group) from None
    await stage.tell("tour_ended", seconds=time.perf_counter() - started, next_commands=_next_commands(stage.text))


def _first(error: BaseException) -> BaseException:
    return _first(error.exceptions[0]) if is_group(error) else error


def _next_commands(text: Bilingual) -> list[tuple[str, str]]:
    command = _command()
    return [
        (f"{command} serve import", text("take over the servers you have", "お使いのサーバーを取り込む")),
        (f"{command} serve install claude-code", text("or another client", "ほかのクライアントにも")),
        (f"{command} doctor", text("what works here", "動作環境を調べる")),
        (f"{command} tour --lang {text('ja', 'en')}", text("the tour in Japanese", "英語で見る")),
    ]


def _command() -> str:
    """The command as one types it in the current folder: with its path, unless PATH leads to it."""
    here = Path(sys.executable).with_name("hikidashi")
    found = shutil.which("hikidashi")
    if not here.exists() or (found is not None and Path(found) == here):
        return "hikidashi"
    return os.path.relpath(here) if here.is_relative_to(Path.cwd()) else str(here)


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
