"""What the acts of a tour share: the language, the audience, and a scripted Claude Code."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Literal

from hikidashi import ClaudeCodeModel
from hikidashi.testing import MessagesServer, Reply

from ..output import Language
from .trip import Trip

if TYPE_CHECKING:
    from .reader import JsonLines, Reader

__all__ = ["Act", "Bilingual", "Stage", "text_in"]

Bilingual = Callable[[str, str], str]
"""Chooses between a text in English and the same in Japanese."""


def text_in(language: Language) -> Bilingual:
    """The texts of one language."""
    return lambda english, japanese: japanese if language == "ja" else english


class Stage:
    """What every act is given."""

    def __init__(
        self, text: Bilingual, audience: Reader | JsonLines, *, cli_path: Path | None, documents: tuple[Path, ...]
    ) -> None:
        self.text = text
        self.trip = Trip(text)
        self.documents = documents
        """To be indexed by the act about the web; none is hikidashi's own README."""
        self.tell = audience.show
        self.waiting = audience.waiting
        self._cli_path = cli_path
        self._acts = 0

    async def begin_act(self, title: str, about: str, *, code: str) -> None:
        """Announce the next act; `code` is the line that it demonstrates."""
        self._acts += 1
        await self.tell("act_started", number=self._acts, title=title, about=about, code=code)

    async def offer(self, tools: Iterable[tuple[str, str | None, Mapping[str, Any]]]) -> None:
        """Tell which tools were offered: name, description and input schema of each."""
        shown = [
            {"name": name, "description": description or "", "arguments": list(schema.get("properties", {}))}
            for name, description, schema in tools
        ]
        await self.tell("offered", tools=shown)

    @asynccontextmanager
    async def claude_code(
        self, script: list[Reply], tool_execution: Literal["mcp", "agent"]
    ) -> AsyncGenerator[tuple[ClaudeCodeModel, MessagesServer]]:
        """A model on the real CLI with a temporary home, and the scripted Messages API behind it."""
        with (
            TemporaryDirectory(prefix="hikidashi-tour-", ignore_cleanup_errors=True) as home,
            MessagesServer(script) as server,
        ):
            model = ClaudeCodeModel(
                "sonnet",
                tool_execution=tool_execution,
                env=server.env(home),
                working_directory=home,
                timeout=60,
                max_retries=0,
                cli_path=self._cli_path,
            )
            yield model, server


Act = Callable[[Stage], Awaitable[None]]
