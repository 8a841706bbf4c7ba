"""Which live sessions belong to which run of an agent.

A session may wait between two requests only if somebody is sure to end it. pydantic-ai holds a scope of
the model around each run and leaves it however the run ends; outside of one, nothing is kept alive.
"""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from contextvars import ContextVar

from ...errors import ClaudeCodeTimeoutError
from ..downloads import Downloads
from ..history import Conversation, can_travel_by_mcp
from ..limits import Tally
from .session import Deadline, Session


class RunScope:
    """The sessions of one run."""

    def __init__(self, limit: asyncio.Timeout) -> None:
        self.sessions: list[Session] = []
        self.tally = Tally()
        self.downloads: Downloads = {}
        self.ended = False
        self._limit = limit
        self.late: Callable[[], ClaudeCodeTimeoutError] | None = None
        """What to raise when the run is ended at a deadline."""
        self._alarm: asyncio.TimerHandle | None = None
        self.after: Callable[[], None] | None = None
        """What to do when the run has ended well."""

    def holding(self, talk: Conversation, identity: object) -> Session | None:
        """The live session that lacks nothing of `talk` but its last turn, if there is one that can be given it."""
        if not can_travel_by_mcp(talk.last):
            return None
        for session in self.sessions:
            if not session.alive or session.parked.abandoned or session.identity != identity:
                continue
            lacking = session.lacks(talk)
            if lacking is None:
                continue
            answered = {block["tool_use_id"] for block in lacking if block["type"] == "tool_result"}
            # Something said beside the results can be put into history, not into a turn that waits.
            if answered >= session.waiting and (not session.waiting or len(answered) == len(lacking)):
                return session
        return None

    async def end_answered(self, talk: Conversation) -> None:
        """End the sessions whose calls the last turn of `talk` answers: another one goes on in their place."""
        answered = {block["tool_use_id"] for block in talk.last if block["type"] == "tool_result"}
        over = [session for session in self.sessions if session.waiting and session.waiting <= answered]
        self.sessions = [session for session in self.sessions if session not in over]
        await asyncio.gather(*(session.close() for session in over))

    def wait_until(self, deadline: Deadline, late: Callable[[], ClaudeCodeTimeoutError] | None) -> None:
        """End the sessions at `deadline` unless a request comes before, and the run too if there is an error for it.

        The tools that a run calls belong to the request that asked for them. Where it waits for something else, such
        as an approval, it may go on later, with a new session.
        """
        if deadline.at is None or self.ended or self._limit.expired():
            return
        # Beside the limit: a run that waits for a thread is cancelled only when the thread is done.
        self._alarm = asyncio.get_running_loop().call_at(deadline.at, self._stop_sessions)
        self.late = late
        if late is not None:
            self._limit.reschedule(deadline.at)

    def begin_request(self) -> None:
        """Lift the deadline of the request before."""
        if not self._limit.expired():
            self._limit.reschedule(None)
        if self._alarm is not None:
            self._alarm.cancel()

    def _stop_sessions(self) -> None:
        for session in self.sessions:
            session.stop()

    async def end(self) -> None:
        """End every session, all at once."""
        self.begin_request()
        self.ended = True
        sessions, self.sessions = self.sessions, []
        await asyncio.gather(*(session.close() for session in sessions))


# Weak references: each context that a run leaves behind keeps the value, and with it every session of that run.
_scopes: ContextVar[Mapping[int, weakref.ref[RunScope]]] = ContextVar("hikidashi_claude_code_runs")


def current_scope(model: object) -> RunScope | None:
    """The scope of `model` that the running agent holds, if any."""
    known = _scopes.get({}).get(id(model))
    scope = None if known is None else known()
    return None if scope is None or scope.ended else scope


@asynccontextmanager
async def run_scope(model: object) -> AsyncGenerator[None]:
    """A scope for the sessions that `model` opens inside.

    Raises:
        ClaudeCodeTimeoutError: a tool that pydantic-ai runs was not ready at the deadline of the request it belongs to.
    """
    limit = asyncio.timeout(None)
    scope = RunScope(limit)
    _scopes.set({**{key: known for key, known in _scopes.get({}).items() if known()}, id(model): weakref.ref(scope)})
    try:
        async with limit:
            try:
                yield
            finally:
                # Not reset: the run may end in another context than it began in. An ended scope is as good as none.
                await scope.end()
    except TimeoutError as error:
        if scope.late is None or not limit.expired():
            raise
        raise scope.late() from error
    if scope.after is not None:
        scope.after()
