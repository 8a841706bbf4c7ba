"""`hikidashi tour`: all MCP servers behind one, tools on the real Claude Code CLI, tool search and the web."""

from __future__ import annotations

import asyncio
import logging
import os
import shutil
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import hikidashi

from ..output import Language, stderr, stdout

if TYPE_CHECKING:
    from .stage import Bilingual, Stage

__all__ = ["run_tour"]


def run_tour(
    *, language: Language, pause: bool, as_json: bool, cli_path: Path | None = None, documents: Sequence[Path] = ()
) -> None:
    """Give the tour; Ctrl-C closes what it started and exits with 130.

    Raises:
        MissingExtra: pydantic-ai or claude-agent-sdk is not installed.
        ClaudeCodeError: the CLI does not run here.
    """
    os.environ.setdefault("PYDANTIC_AI_NO_BANNER", "1")
    logging.basicConfig(handlers=[logging.NullHandler()])  # an error is printed once, at the end
    _ = hikidashi.ClaudeCodeModel  # imported first, because its error names the missing extra

    from ..doctor.claude_code import require_cli
    from .reader import JsonLines, Reader
    from .stage import Stage, text_in

    require_cli(cli_path)
    text = text_in(language)
    audience = JsonLines() if as_json else Reader(stdout(), text, pause=pause)
    try:
        asyncio.run(_tour(Stage(text, audience, cli_path=cli_path, documents=tuple(documents)), language))
    except KeyboardInterrupt:
        stderr().print(text("Stopped. Nothing is left running.", "中断しました。動いたままのものはありません。"))
        sys.exit(130)


async def _tour(stage: Stage, language: Language) -> None:
    from .gateway import gateway_act
    from .own_tools import own_tools_act
    from .searches import tool_search_act, web_act

    started = time.perf_counter()
    await stage.tell("tour_started", version=hikidashi.__version__, language=language, model="scripted")
    for act in (gateway_act, own_tools_act, tool_search_act, web_act):
        try:
            await act(stage)
        except BaseExceptionGroup as group:  # an MCP client wraps what happens while it is connected
            raise _first(group) from None
    await stage.tell("tour_ended", seconds=time.perf_counter() - started, next_commands=_next_commands(stage.text))


def _first(error: BaseException) -> BaseException:
    inner: tuple[BaseException, ...] = getattr(error, "exceptions", ())
    return _first(inner[0]) if inner else error


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
