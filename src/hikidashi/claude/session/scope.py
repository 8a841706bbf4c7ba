"""The live sessions of each run of an agent.

A session may outlive a request only if something is sure to end it. pydantic-ai holds a scope of the model around each
run and leaves it however the run ends; outside of one, no session is kept.
"""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from contextvars import ContextVar

from ...errors import ClaudeCodeTimeoutError
from ..downloads import Downloads
from ..history import Conversation, results_fit_mcp
from ..limits import Tally
from .session import Deadline, Session


class RunScope:
    """The sessions of one run."""

    def __init__(self, limit: asyncio.Timeout) -> None:
        self.tally = Tally()
        self.downloads: Downloads = {}
        self._sessions: list[Session] = []
        self._ended = False
        self._limit = limit
        self._timeout_error: Callable[[], ClaudeCodeTimeoutError] | None = None
        self._alarm: asyncio.TimerHandle | None = None
        self._on_success: Callable[[], None] | None = None

    @property
    def ended(self) -> bool:
        """Whether the run is over."""
        return self._ended

    @property
    def sessions(self) -> tuple[Session, ...]:
        """The sessions that end with the run."""
        return tuple(self._sessions)

    def add(self, session: Session) -> None:
        """End `session` with the run."""
        self._sessions.append(session)

    def on_success(self, callback: Callable[[], None]) -> None:
        """Call `callback` when the run has ended without an error, in place of the one given before."""
        self._on_success = callback

    def session_for(self, conversation: Conversation, identity: object) -> Session | None:
        """The live session that can take the last turn of `talk`, if any."""
        if not results_fit_mcp(conversation.last):
            return None
        return next((session for session in self._sessions if session.can_continue(conversation, identity)), None)

    async def end_answered(self, conversation: Conversation) -> None:
        """End the sessions whose calls the last turn of `talk` answers: a new one takes their place."""
        answered = [session for session in self._sessions if session.is_answered_by(conversation)]
        self._sessions = [session for session in self._sessions if session not in answered]
        await asyncio.gather(*(session.close() for session in answered))

    def wait_until(self, deadline: Deadline, timeout_error: Callable[[], ClaudeCodeTimeoutError] | None) -> None:
        """End the sessions at `deadline` unless a request comes before, and the run too if there is an error for it.

        The tools that a run calls belong to the request that asked for them. If the run waits for something else, such
        as an approval, it may go on later, with a new session.
        """
        if deadline.at is None or self._ended or self._limit.expired():
            return
        # Beside the limit: a run that waits for a thread is cancelled only when the thread is done.
        self._alarm = asyncio.get_running_loop().call_at(deadline.at, self._stop_sessions)
        self._timeout_error = timeout_error
        if timeout_error is not None:
            self._limit.reschedule(deadline.at)

    def begin_request(self) -> None:
        """Cancel the deadline of the request before."""
        if not self._limit.expired():
            self._limit.reschedule(None)
        if self._alarm is not None:
            self._alarm.cancel()

    def _stop_sessions(self) -> None:
        for session in self._sessions:
            session.stop()

    async def end(self) -> None:
        """End every session, all at once."""
        self.begin_request()
        self._ended = True
        sessions, self._sessions = self._sessions, []
        await asyncio.gather(*(session.close() for session in sessions))

    def timed_out(self) -> ClaudeCodeTimeoutError | None:
        """The error of a run that was ended at a deadline of `wait_until`; None if it was not."""
        return self._timeout_error() if self._timeout_error is not None and self._limit.expired() else None

    def succeeded(self) -> None:
        """Run the callback of `on_success`."""
        if self._on_success is not None:
            self._on_success()


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
        ClaudeCodeTimeoutError: a tool that pydantic-ai runs missed the deadline of the request that called it.
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
        late = scope.timed_out()
        if late is None:
            raise
        raise late from error
    scope.succeeded()
