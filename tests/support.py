"""What several tests need: the type of the `claude_code` fixture, a look at processes, a schema, a picture."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

from hikidashi import ClaudeCodeModel, Tool, ToolResult
from hikidashi.search import ToolCatalog, ToolMatch
from hikidashi.testing import MessagesServer


class ClaudeCode(Protocol):
    """`claude_code(script, **options)` gives a model on the real CLI, and the server behind it."""

    def __call__(self, script: Any, **options: Any) -> tuple[ClaudeCodeModel, MessagesServer]: ...


def cli_processes(parent: int | None = None) -> set[int]:
    """The Claude Code processes that are children of this process, or of another."""
    found: set[int] = set()
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            owner = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            command = (entry / "cmdline").read_bytes()
        except (OSError, IndexError):  # it ended while we looked
            continue
        if owner == (parent or os.getpid()) and b"--input-format" in command:
            found.add(int(entry.name))
    return found


class Heard:
    """A recorder that keeps what it hears."""

    def __init__(self) -> None:
        self.searches: list[tuple[str, str, list[str]]] = []
        self.calls: list[str] = []

    def searched(self, query: str, kind: str, names: Sequence[str]) -> None:
        self.searches.append((query, kind, list(names)))

    def called(self, name: str) -> None:
        self.calls.append(name)


class Unsure(ToolCatalog):
    """A catalogue that is confident of nothing that it finds by words."""

    def search(self, query: str, *, limit: int = 5, by_meaning: bool = True) -> list[ToolMatch]:
        return [replace(match, doubt="Too little fits.") for match in super().search(query, limit=limit)]


def saying_its_name(name: str) -> Tool:
    """A tool of this name, which says it when called."""

    async def call(_: dict[str, Any]) -> ToolResult:
        return ToolResult.of(f"{name}: done")

    return Tool(name=name, description="Do it", input_schema={"type": "object"}, call=call)


SEARCH_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "query": {"type": "string", "description": "検索クエリ"},
        "search_depth": {"type": "string", "enum": ["basic", "advanced"], "default": "basic"},
        "max_results": {"type": "integer", "minimum": 1, "maximum": 20, "default": 5},
    },
    "required": ["query"],
}
"""The arguments of `tavily_search`, as every framework must get them."""

PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c4890000000d49444154789c6360000002000001"
    "e221bc330000000049454e44ae426082"
)
"""A PNG of one pixel."""
