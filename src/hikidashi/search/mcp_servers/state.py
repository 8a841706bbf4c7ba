"""ServerState: how a server is whose tools a catalogue follows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["ServerState"]


@dataclass(frozen=True, kw_only=True, slots=True)
class ServerState:
    """How a server is."""

    server: str
    status: Literal["starting", "ready", "lost"]
    tools: tuple[str, ...] = ()
    """The names of its tools in the catalogue."""
    skipped: tuple[str, ...] = ()
    """The names of tools that the catalogue does not take; the log says why."""
    why: str = ""
    """Why it is lost, in one line."""

    def __str__(self) -> str:
        """In a sentence."""
        match self.status:
            case "starting":
                return f"MCP server {self.server!r} is starting."
            case "ready":
                return f"MCP server {self.server!r} has {len(self.tools):,} tools."
            case "lost":
                return f"MCP server {self.server!r} is lost: {self.why}."
