"""Which live sessions belong to which run of an agent.

A session may wait between two requests only if somebody is sure to end it. pydantic-ai holds a scope of
the model around each run and leaves it however the run ends; outside of one, nothing is kept alive.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from contextvars import ContextVar

from .downloads import Downloads
from .history import Conversation, can_travel_by_mcp
from .limits import Tally
from .session import Session


class RunScope:
    """The sessions of one run."""

    def __init__(self) -> None:
        self.sessions: list[Session] = []
        self.tally = Tally()
        self.downloads: Downloads = {}
        self.ended = False

    def holding(self, talk: Conversation, identity: object) -> Session | None:
        """The live session that lacks nothing of `talk` but its last turn, if there is one that can be given it."""
        if not can_travel_by_mcp(talk.last):
            return None
        for session in self.sessions:
            if not session.alive or session.identity != identity or session.held != talk.messages[:-1]:
                continue
            answered = {block["tool_use_id"] for block in talk.last if block["type"] == "tool_result"}
            # Something said beside the results can be put into history, not into a turn that waits.
            if answered >= session.waiting and (not session.waiting or len(answered) == len(talk.last)):
                return session
        return None

    async def end_answered(self, talk: Conversation) -> None:
        """End the sessions whose calls the last turn of `talk` answers: another one goes on in their place."""
        answered = {block["tool_use_id"] for block in talk.last if block["type"] == "tool_result"}
        over = [session for session in self.sessions if session.waiting and session.waiting <= answered]
        self.sessions = [session for session in self.sessions if session not in over]
        await asyncio.gather(*(session.close() for session in over))

    async def end(self) -> None:
        """End every session, all at once."""
        self.ended = True
        await asyncio.gather(*(session.close() for session in self.sessions))


_scopes: ContextVar[Mapping[int, RunScope]] = ContextVar("hikidashi_claude_code_runs")


def current_scope(model: object) -> RunScope | None:
    """The scope of `model` that the running agent holds, if any."""
    scope = _scopes.get({}).get(id(model))
    return None if scope is None or scope.ended else scope


@asynccontextmanager
async def run_scope(model: object) -> AsyncGenerator[None]:
    """A scope for the sessions that `model` opens inside."""
    scope = RunScope()
    _scopes.set({**_scopes.get({}), id(model): scope})
    try:
        yield
    finally:
        # Not reset: the run may end in another context than it began in. An ended scope is as good as none.
        await scope.end()
