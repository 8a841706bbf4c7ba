"""ServerState: whether a followed server is connected, and its tools."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["ServerState"]


@dataclass(frozen=True, kw_only=True, slots=True)
class ServerState:
    """State of a followed server."""

    server: str
    status: Literal["starting", "ready", "lost"]
    tools: tuple[str, ...] = ()
    """The names of its tools in the catalogue."""
    skipped: tuple[str, ...] = ()
    """The names of tools that the catalogue does not accept; the log says why."""
    why: str = ""
    """Why it is lost, in one line."""

    def __str__(self) -> str:
        """The state as a sentence."""
        match self.status:
            case "starting":
                return f"MCP server {self.server!r} is starting."
            case "ready":
                return f"MCP server {self.server!r} has {len(self.tools):,} tools."
            case "lost":
                return f"MCP server {self.server!r} is lost: {self.why}."
