"""The tool calls of one answer: which Claude Code runs itself, and which wait for a result from pydantic-ai."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass, field


@dataclass
class TurnCalls:
    """The calls so far. An answer is complete when Claude Code has run all of its own, and the others wait."""

    names: dict[str, str] = field(default_factory=dict[str, str])
    """The name on Claude Code's side of each call, by id, in the order of the calls."""
    waiting: set[str] = field(default_factory=set[str])
    """Calls that pydantic-ai is to run."""
    running: set[str] = field(default_factory=set[str])
    """Calls that Claude Code, or an MCP server behind it, runs and has not answered yet."""
    arriving: bool = False
    """Whether the message is still arriving."""
    released: bool = False
    """Whether the waiting calls were released, so that Claude Code ends its turn itself."""

    def begin_message(self) -> None:
        """Record that a message has begun to arrive."""
        self.arriving = True

    def end_message(self) -> None:
        """Record that the message is complete."""
        self.arriving = False

    def release(self) -> None:
        """Record that the waiting calls were released."""
        self.released = True

    def add(self, call_id: str, name: str, *, waits: bool) -> None:
        """Record a call that has begun to arrive."""
        self.names[call_id] = name
        (self.waiting if waits else self.running).add(call_id)

    def waits(self, call_id: str) -> None:
        """Record that pydantic-ai is to run a call after all."""
        self.running.discard(call_id)
        self.waiting.add(call_id)

    def answered(self, call_id: str) -> None:
        """Record that Claude Code has the result of a call."""
        self.running.discard(call_id)

    @property
    def only_wait(self) -> bool:
        """Whether nothing more can arrive before pydantic-ai has run a call."""
        return bool(self.waiting) and not (self.running or self.arriving or self.released)

    def held_up_by_waiting(self, runs_beside: Container[str]) -> bool:
        """Whether a call may never start because one before it waits.

        Args:
            runs_beside: names of tools whose calls Claude Code runs concurrently, because they are read-only to it.
        """
        behind = False
        for call_id, name in self.names.items():
            if behind and call_id in self.running and name not in runs_beside:
                return True
            behind = behind or call_id in self.waiting
        return False
