"""`hikidashi tour`: a pydantic-ai agent on the real Claude Code CLI, told step by step."""

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
from hikidashi import __version__

from ..output import Language, stderr, stdout
from .events import TourEnded, TourStarted
from .words import WORDS, Words

if TYPE_CHECKING:
    from .stage import Act, Audience, Stage

__all__ = ["run_tour"]


def run_tour(
    *,
    language: Language,
    pause: bool,
    as_json: bool,
    cli_path: Path | None = None,
    documents: Sequence[Path] = (),
) -> None:
    """Give the tour; Ctrl-C closes what it started and ends the process with 130.

    Raises:
        MissingExtra: pydantic-ai or claude-agent-sdk is not installed.
        ClaudeCodeError: the CLI does not run here.
    """
    os.environ.setdefault("PYDANTIC_AI_NO_BANNER", "1")  # the tour tells what happens, nothing else does
    logging.basicConfig(handlers=[logging.NullHandler()])  # what goes wrong is told once, by the error
    words = WORDS[language]
    try:
        acts = _acts()
        stage = _stage(words, _audience(words, pause=pause, as_json=as_json), cli_path, documents)
        asyncio.run(_tour(acts, stage, language))
    except KeyboardInterrupt:
        stderr().print(words.stopped)
        sys.exit(130)


async def _tour(acts: list[Act], stage: Stage, language: Language) -> None:
    started = time.perf_counter()
    await stage.tell(TourStarted(version=__version__, language=language))
    for number, act in enumerate(acts, start=1):
        await act(stage, number)
    await stage.tell(TourEnded(seconds=time.perf_counter() - started, next_commands=_next_commands(stage.words)))


def _stage(words: Words, audience: Audience, cli_path: Path | None, documents: Sequence[Path]) -> Stage:
    from .stage import Stage
    from .trip import Diary

    return Stage(words=words, audience=audience, diary=Diary(), cli_path=cli_path, documents=tuple(documents))


def _acts() -> list[Act]:
    """The acts in order; importing them needs the extras, so it happens when a tour starts."""
    _ = hikidashi.ClaudeCodeModel  # the first to be loaded, because it says which extra is missing

    from .agent_run import claude_code_runs_the_tools, pydantic_ai_runs_the_tools
    from .drawer import any_mcp_client_calls_them
    from .find_tool import one_of_a_thousand_is_found
    from .web import documents_are_searched_like_the_web

    return [
        pydantic_ai_runs_the_tools,
        claude_code_runs_the_tools,
        any_mcp_client_calls_them,
        one_of_a_thousand_is_found,
        documents_are_searched_like_the_web,
    ]


def _audience(words: Words, *, pause: bool, as_json: bool) -> Audience:
    from .audience import Program, Reader

    return Program() if as_json else Reader(stdout(), words, pause=pause)


def _next_commands(words: Words) -> tuple[tuple[str, str], ...]:
    language, what = words.other_language
    return (
        (f"{_command('hikidashi')} doctor", words.doctor),
        (f"{_command('hikidashi')} tour --lang {language}", what),
        (f"{_command('python')} -m pydoc hikidashi.ClaudeCodeModel", words.pydoc),
    )


def _command(name: str) -> str:
    """`name` as a person in the current folder would type it: with its path only where PATH leads elsewhere."""
    here = Path(sys.executable).with_name(name)
    found = shutil.which(name)
    if not here.exists() or (found is not None and Path(found) == here):
        return name
    return os.path.relpath(here) if here.is_relative_to(Path.cwd()) else str(here)
