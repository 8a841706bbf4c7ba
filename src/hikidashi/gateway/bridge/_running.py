"""Whose call a server is working on, so that what it asks and logs meanwhile reaches the right client.

A server before 2026-07-28 does not say for which call it asks. It is taken to be for the client whose call it is
working on; a call that waits for an answer of its own is not one of them.
"""

from __future__ import annotations

import math
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager

from ...errors import MissingExtra
from ..upstream.turn import Turn
from ..upstream.upstream import Upstream
from .callers import Caller

try:
    import anyio
    import mcp_types as types
    from mcp.client import Client
except ImportError as error:
    raise MissingExtra("mcp", "mcp") from error

__all__ = ["MOST_QUESTIONS", "CallTime", "RunningCalls"]

MOST_QUESTIONS = 50
"""How often a server may ask in one call."""
_PAUSE = 0.5  # seconds until a question for nobody is refused: a server that asks for ever does so slowly


class RunningCalls:
    """The calls that servers work on."""

    def __init__(self) -> None:
        self._calls: dict[str, list[_Call]] = {}
        self._one_at_a_time: dict[str, anyio.CapacityLimiter] = {}

    @asynccontextmanager
    async def call(self, upstream: Upstream, caller: Caller) -> AsyncGenerator[tuple[Client, CallTime]]:
        """The client for one call of `caller`, and the time that it has."""
        async with AsyncExitStack() as stack:
            turns: list[Turn] = []
            if alone := self._one_at_a_time.get(upstream.name):
                turns.append(await stack.enter_async_context(Turn(alone)))
            client, turn = await stack.enter_async_context(upstream.use())
            calls = self._calls.setdefault(upstream.name, [])
            call = _Call(caller, [*turns, turn], CallTime(upstream.given.options.call_seconds))
            calls.append(call)
            stack.callback(calls.remove, call)
            yield client, call.time

    async def ask(self, upstream: Upstream, request: types.InputRequest) -> types.InputResponse | types.ErrorData:
        """The answer of the client whose call `upstream` is working on."""
        calls = self._calls.get(upstream.name, [])
        candidates = [call for call in calls if not call.waiting] or calls
        keys = {call.caller.key for call in candidates}
        if len(keys) == 1:
            return await candidates[-1].ask(request)
        if keys:  # from now on its calls run one after the other
            self._one_at_a_time.setdefault(upstream.name, anyio.CapacityLimiter(1))
        await anyio.sleep(_PAUSE)
        why = "several clients are calling it" if keys else "no client is calling it"
        return types.ErrorData(
            code=types.INVALID_REQUEST,
            message=f"Nobody can be asked: {why}, and the request does not say for whom it is.",
        )

    async def log(self, upstream: Upstream, params: types.LoggingMessageNotificationParams) -> bool:
        """Send a log message to the clients whose calls `upstream` is working on; False if there are none.

        Nobody gets one that may be about the call of another principal: it does not say which call it is about.
        """
        calls = list(self._calls.get(upstream.name, []))
        for call in calls if len({call.caller.principal for call in calls}) == 1 else ():
            await call.caller.log(params)
        return bool(calls)


class CallTime:
    """How long a call may take: progress and answers of a person begin it anew, and waiting for one does not count."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.scope = anyio.CancelScope()
        self.keeps_asking = False
        self.renew()

    def renew(self) -> None:
        """Begin it anew."""
        self.scope.deadline = anyio.current_time() + self.seconds

    def stop(self) -> None:
        """Do not count from now on."""
        self.scope.deadline = math.inf


class _Call:
    """A call that a server works on."""

    def __init__(self, caller: Caller, turns: list[Turn], time: CallTime) -> None:
        self.caller = caller
        self.time = time
        self.waiting = 0
        self._asked = 0
        self._turns = turns

    async def ask(self, request: types.InputRequest) -> types.InputResponse | types.ErrorData:
        """Ask its client; others may go on meanwhile."""
        self._asked += 1
        if self._asked > MOST_QUESTIONS:
            self.time.keeps_asking = True
            self.time.scope.cancel()
            await anyio.sleep_forever()  # it would ask again at once, and for ever
        self.waiting += 1
        self.time.stop()
        try:
            async with AsyncExitStack() as stack:
                for turn in self._turns:
                    await stack.enter_async_context(turn.paused())
                return await self.caller.ask(request)
        finally:
            self.waiting -= 1
            if not self.waiting:
                self.time.renew()
