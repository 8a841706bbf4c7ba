"""Where acts happen: what they share, and how they tell the audience."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AbstractContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal, Protocol

from hikidashi import ClaudeCodeModel
from hikidashi.testing import MessagesServer, Reply

from .events import Event
from .trip import Diary
from .words import Words

__all__ = ["Act", "Audience", "Stage"]

ToolExecution = Literal["mcp", "agent"]


class Audience(Protocol):
    """Whoever is told what happens: a terminal, or a program that reads JSON."""

    async def hear(self, event: Event) -> None:
        """Take in one step."""
        ...

    def waiting(self) -> AbstractContextManager[object]:
        """Something to look at while Claude Code works."""
        ...


@dataclass(frozen=True, kw_only=True)
class Stage:
    """What the acts of one tour share."""

    words: Words
    audience: Audience
    diary: Diary
    cli_path: Path | None = None
    documents: tuple[Path, ...] = ()
    """What the act about the web indexes; nothing is hikidashi's own README."""

    async def tell(self, event: Event) -> None:
        """Let the audience know that `event` happened."""
        await self.audience.hear(event)

    @asynccontextmanager
    async def claude_code(
        self, script: list[Reply], tool_execution: ToolExecution
    ) -> AsyncGenerator[tuple[ClaudeCodeModel, MessagesServer]]:
        """A model on the real CLI with a temporary home, and the scripted Messages API behind it."""
        with (
            TemporaryDirectory(prefix="hikidashi-tour-", ignore_cleanup_errors=True) as home,
            MessagesServer(script) as server,
        ):
            yield (
                ClaudeCodeModel(
                    "sonnet",
                    tool_execution=tool_execution,
                    env=server.env(home),
                    working_directory=home,
                    timeout=60,
                    max_retries=0,
                    cli_path=self.cli_path,
                ),
                server,
            )


Act = Callable[[Stage, int], Awaitable[None]]
"""One act, given its number; a new one is a function in a file of its own, and an entry in `ACTS`."""
