"""`hikidashi tour`: a pydantic-ai agent on the real Claude Code CLI, step by step."""

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
    from .stage import Act, Bilingual, Stage

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

    from .reader import JsonLines, Reader
    from .stage import Stage, text_in

    text = text_in(language)
    audience = JsonLines() if as_json else Reader(stdout(), text, pause=pause)
    try:
        asyncio.run(_tour(Stage(text, audience, cli_path=cli_path, documents=tuple(documents)), language))
    except KeyboardInterrupt:
        stderr().print(
            text("Stopped. The CLI and the server were closed.", "中断しました。CLI とサーバーは終了済みです。")
        )
        sys.exit(130)


def _acts() -> list[Act]:
    """The acts in order. A new one is a coroutine function in a file of its own, and a line here."""
    from .agent_run import claude_code_runs_the_tools, pydantic_ai_runs_the_tools
    from .mcp_client import an_mcp_client_calls_the_tools
    from .tool_search import a_tool_is_found_among_a_thousand
    from .web import documents_are_searched

    return [
        pydantic_ai_runs_the_tools,
        claude_code_runs_the_tools,
        an_mcp_client_calls_the_tools,
        a_tool_is_found_among_a_thousand,
        documents_are_searched,
    ]


async def _tour(stage: Stage, language: Language) -> None:
    started = time.perf_counter()
    await stage.tell("tour_started", version=hikidashi.__version__, language=language, model="scripted")
    for act in _acts():
        await act(stage)
    seconds = time.perf_counter() - started
    await stage.tell("tour_ended", seconds=seconds, next_commands=_next_commands(stage.text))


def _next_commands(text: Bilingual) -> list[tuple[str, str]]:
    return [
        (f"{_command('hikidashi')} doctor", text("what works here", "動作環境を調べる")),
        (f"{_command('hikidashi')} tour --lang {text('ja', 'en')}", text("the tour in Japanese", "英語で見る")),
        (
            f"{_command('python')} -m pydoc hikidashi.ClaudeCodeModel",
            text("the model's options", "モデルの説明を読む"),
        ),
    ]


def _command(name: str) -> str:
    """`name` as one types it in the current folder: with its path, unless PATH leads to it."""
    here = Path(sys.executable).with_name(name)
    found = shutil.which(name)
    if not here.exists() or (found is not None and Path(found) == here):
        return name
    return os.path.relpath(here) if here.is_relative_to(Path.cwd()) else str(here)
