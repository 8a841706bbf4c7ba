"""Calls of servers that ask in the middle, for clients that are asked by an answer (2026-07-28).

Such a server sends a request and waits. The client gets `input_required` instead of a result, with a sealed state; it
calls again with its answers, and the waiting call goes on.
"""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable
from typing import Any

from ...errors import MissingExtra
from ..upstream.stamping import Behalf
from .callers import Caller, client_key, missing_capability, principal_of, send_log
from .sealing import Seal

try:
    import anyio
    import mcp_types as types
    from anyio.abc import TaskGroup
    from mcp import MCPError
    from mcp.server import ServerRequestContext
except ImportError as error:
    raise MissingExtra("mcp", "mcp") from error

__all__ = ["ParkedCalls"]

Raw = dict[str, Any]
_MOST_PARKED = 1_000


class ParkedCalls:
    """The calls that wait for answers of their clients.

    Args:
        tasks: Where calls go on while their client is away.
        seal: What states are sealed with; a call whose state is expired is cancelled.
    """

    def __init__(self, tasks: TaskGroup, seal: Seal) -> None:
        self._tasks = tasks
        self._seal = seal
        self._calls: dict[str, _ParkedCall] = {}

    def __len__(self) -> int:
        return len(self._calls)

    async def begin(
        self,
        ctx: ServerRequestContext[Any, Any],
        work: Callable[[Caller], Awaitable[Raw]],
        log_level: types.LoggingLevel | None,
    ) -> Raw | types.InputRequiredResult:
        """Run `work`; return its result, or what the client has to answer first."""
        if len(self._calls) >= _MOST_PARKED:
            raise MCPError(types.INTERNAL_ERROR, f"{_MOST_PARKED:,} calls already wait for answers. Try again later.")
        call = _ParkedCall(ctx, work, log_level)
        self._tasks.start_soon(call.run)
        return await self._round(ctx, call)

    async def resume(
        self, ctx: ServerRequestContext[Any, Any], state: str, responses: types.InputResponses | None
    ) -> Raw | types.InputRequiredResult:
        """Give the client's answers to the call that `state` names; return as `begin` does."""
        call = self._calls.pop(self._seal.open(ctx, state), None)
        if call is None:
            raise MCPError(
                types.INVALID_PARAMS,
                "The call that waited for this answer has ended. Call the tool again.",
                data={"reason": "invalid_request_state"},
            )
        call.go_on(ctx, responses or {})
        return await self._round(ctx, call)

    async def _round(self, ctx: ServerRequestContext[Any, Any], call: _ParkedCall) -> Raw | types.InputRequiredResult:
        try:
            asked = await call.settled()
        except BaseException:  # the client is gone, or it failed
            call.cancel()
            raise
        if asked is None:
            return call.result()
        self._calls[call.id] = call
        call.expires_after(self._seal.seconds, lambda: self._calls.pop(call.id, None))
        return types.InputRequiredResult(input_requests=asked, request_state=self._seal.seal(ctx, call.id))


class _ParkedCall:
    """One call, and the questions that its server asks meanwhile: a `Caller`."""

    def __init__(
        self,
        ctx: ServerRequestContext[Any, Any],
        work: Callable[[Caller], Awaitable[Raw]],
        log_level: types.LoggingLevel | None,
    ) -> None:
        self.id = secrets.token_hex(8)
        self.key = client_key(ctx) if ctx.request is None else f"call {self.id}"
        self.principal = principal_of(ctx)
        self.behalf = Behalf(ctx.session.client_capabilities, log_level)
        self._ctx: ServerRequestContext[Any, Any] | None = ctx
        self._work = work
        self._scope = anyio.CancelScope()
        self._changed = anyio.Event()
        self._questions: dict[str, types.InputRequest] = {}
        self._answers: dict[str, types.InputResponse] = {}
        self._answered = anyio.Event()
        self._asked = 0
        self._result: Raw | None = None
        self._error: BaseException | None = None
        self._ended = False
        self._expired: Callable[[], object] = lambda: None

    async def run(self) -> None:
        """Do the work until it ends, or the client stays away too long."""
        with self._scope:
            try:
                self._result = await self._work(self)
            except Exception as error:
                self._error = error
        self._ended = True
        self._expired()
        self._changed.set()

    async def ask(self, request: types.InputRequest) -> types.InputResponse | types.ErrorData:
        """Have the client asked in its next round; return its answer."""
        if missing := missing_capability(self.behalf.capabilities, request):
            return missing
        self._asked += 1
        key = f"input-{self._asked}"
        self._questions[key] = request
        self._changed.set()
        while key not in self._answers:
            await self._answered.wait()
        return self._answers.pop(key)

    async def progress(self, progress: float, total: float | None, message: str | None) -> None:
        """Report progress, while the client waits."""
        if self._ctx is not None:
            await self._ctx.session.report_progress(progress, total, message)

    async def log(self, params: types.LoggingMessageNotificationParams) -> None:
        """Send a log message, while the client waits."""
        if self._ctx is not None:
            await send_log(self._ctx, params, self.behalf)

    async def settled(self) -> dict[str, types.InputRequest] | None:
        """Wait until the call has ended (None), or the client must answer."""
        while not self._ended and not self._questions:
            await self._changed.wait()
            self._changed = anyio.Event()
        if self._ended:
            return None
        self._ctx = None
        return dict(self._questions)

    def go_on(self, ctx: ServerRequestContext[Any, Any], responses: types.InputResponses) -> None:
        """Take the client's answers; a question without one is asked again."""
        self._ctx = ctx
        self._scope.deadline = float("inf")
        for key, response in responses.items():
            if self._questions.pop(key, None) is not None:
                self._answers[key] = response
        answered, self._answered = self._answered, anyio.Event()
        answered.set()

    def expires_after(self, seconds: float, expired: Callable[[], object]) -> None:
        """Cancel the call unless the client answers in time."""
        self._expired = expired
        self._scope.deadline = anyio.current_time() + seconds

    def cancel(self) -> None:
        """End the call."""
        self._scope.cancel()

    def result(self) -> Raw:
        """What the work returned.

        Raises:
            Exception: what it raised.
        """
        if self._error is not None:
            raise self._error
        if self._result is None:
            raise MCPError(types.INTERNAL_ERROR, "The call was cancelled.")
        return self._result
