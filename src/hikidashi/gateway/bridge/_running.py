"""The calls that servers work on, so that their requests and log messages reach the right client.

A request of a server up to 2025-11-25 does not name its call. It belongs to the client whose calls run, of which there
is one at a time (`ClientTurns`). If calls of several clients overlap after all, the request waits until the others have
ended; only if as many requests wait as there are calls, the newest is refused, since none of them would ever end.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextlib import AsyncExitStack
from functools import partial
from typing import Any, TypeVar

import anyio
import mcp_types as types
from mcp.client import Client

from ..telemetry import current_trace, within_trace
from ..upstream.turn import Turn
from ..upstream.upstream import Upstream
from ._client_turns import ClientSlot, ClientTurns
from .callers import Caller

__all__ = ["MOST_REQUESTS", "CallTime", "RunningCall", "RunningCalls"]

_Answer = TypeVar("_Answer")

MOST_REQUESTS = 50
"""How many requests a server may send in one call."""
_DELIVERY_SECONDS = 10.0  # for which an answer waits for notifications that a slow client does not take
_PAUSE = 0.5  # seconds until a request without a call is refused: it slows a server down that sends them in a loop


class RunningCalls:
    """The calls that servers work on."""

    def __init__(self) -> None:
        self._calls: defaultdict[str, list[RunningCall]] = defaultdict(list)
        self._principals: defaultdict[str, frozenset[str]] = defaultdict(frozenset)
        self._turns: defaultdict[str, ClientTurns] = defaultdict(ClientTurns)
        self._undecided = Counter[str]()
        self._changed: anyio.Event | None = None
        """Set at the next change; None while none is waited for."""

    async def call(
        self, upstream: Upstream, caller: Caller, send: Callable[[Client, RunningCall], Awaitable[_Answer]]
    ) -> _Answer:
        """What `send` returns for one call of `caller`."""

        async def sent(turns: Sequence[Turn], client: Client, turn: Turn) -> tuple[_Answer, RunningCall]:
            name = upstream.name
            call = RunningCall(caller, [*turns, turn], CallTime(upstream.given.options.call_seconds))
            self._calls[name].append(call)
            if len(self._principals[name]) < 2:  # more make no difference
                self._principals[name] |= {caller.principal}
            try:
                return await send(client, call), call
            finally:
                self._calls[name].remove(call)
                self._notify()

        if upstream.is_modern:
            answer, call = await upstream.with_client(partial(sent, ()))
        else:
            async with Turn(ClientSlot(self._turns[upstream.name], caller.key, caller.behalf)) as turn:
                answer, call = await upstream.with_client(partial(sent, (turn,)))
        await call.delivered()  # after it has given up its turn: nothing else waits for a slow client
        return answer

    async def ask(self, upstream: Upstream, request: types.InputRequest) -> types.InputResponse | types.ErrorData:
        """The response of the client whose call `upstream` is working on."""
        self._turns[upstream.name].has_asked = True
        self._undecided[upstream.name] += 1
        try:
            candidates = self._candidates(upstream)
            while len({call.caller.key for call in candidates}) > 1:
                if self._undecided[upstream.name] >= len(candidates):
                    return _refusal("several clients are calling it at the same time. Call the tool again")
                await self._change()
                candidates = self._candidates(upstream)
        finally:
            self._undecided[upstream.name] -= 1
        if not candidates:
            await anyio.sleep(_PAUSE)
            return _refusal("no client is calling it")
        call = candidates[-1]
        try:
            return await call.ask(request, self._notify)
        finally:
            self._notify()

    async def log(self, upstream: Upstream, params: types.LoggingMessageNotificationParams) -> bool:
        """Send a log message to the clients whose calls `upstream` is working on; False if there are none.

        One that may be about the call of another principal is not sent: it does not name its call.
        """
        calls = list(self._calls[upstream.name])
        if len({call.caller.principal for call in calls}) == 1:
            sending = [call.delivery(partial(call.caller.log, params)) for call in calls]
            async with anyio.create_task_group() as tasks:  # a client that reads slowly delays no other
                for send in sending:
                    tasks.start_soon(send)
        return bool(calls)

    def principals_of(self, upstream: Upstream) -> frozenset[str]:
        """The principals whose calls `upstream` has worked on so far; two of them stand for many."""
        return self._principals[upstream.name]

    def _candidates(self, upstream: Upstream) -> list[RunningCall]:
        """The calls that a request may belong to. One that waits for its client sends no second request meanwhile."""
        calls = self._calls[upstream.name]
        return [call for call in calls if not call.waiting] or list(calls)

    async def _change(self) -> None:
        """Wait for the next change."""
        if self._changed is None:
            self._changed = anyio.Event()
        await self._changed.wait()

    def _notify(self) -> None:
        if self._changed is not None:
            self._changed.set()
            self._changed = None


class CallTime:
    """The time limit of a call: restarted by progress and by responses of a client, paused while waiting for one."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.scope = anyio.CancelScope()
        self.asks_too_often = False
        self.restart()

    def restart(self) -> None:
        """Restart the limit."""
        self.scope.deadline = anyio.current_time() + self.seconds

    def pause(self) -> None:
        """Suspend the limit."""
        self.scope.deadline = math.inf


class RunningCall:
    """A call that a server works on."""

    def __init__(self, caller: Caller, turns: list[Turn], time: CallTime) -> None:
        self.caller = caller
        self.time = time
        self.waiting = 0
        self._request_count = 0
        self._turns = turns
        self._trace = current_trace()
        self._deliveries = 0
        self._delivered: anyio.Event | None = None

    def delivery(self, send: Callable[[], Awaitable[None]]) -> Callable[[], Coroutine[Any, Any, None]]:
        """`send`, which sends a notification of the server to the client; from now on `delivered` waits for it."""
        self._deliveries += 1

        async def deliver() -> None:
            try:
                await send()
            finally:
                self._deliveries -= 1
                if self._delivered is not None:
                    self._delivered.set()

        return deliver

    async def delivered(self) -> None:
        """Wait for the notifications that came before the answer: after it, a client does not get them."""
        if not self._deliveries:
            return
        with anyio.move_on_after(_DELIVERY_SECONDS):
            while self._deliveries:
                self._delivered = anyio.Event()
                await self._delivered.wait()

    async def ask(
        self, request: types.InputRequest, on_waiting: Callable[[], None]
    ) -> types.InputResponse | types.ErrorData:
        """Ask its client; other calls may run meanwhile."""
        self._request_count += 1
        if self._request_count > MOST_REQUESTS:
            self.time.asks_too_often = True
            self.time.scope.cancel()
            await anyio.sleep_forever()  # an answer would only cause the next request
        self.waiting += 1
        self.time.pause()
        on_waiting()
        try:
            async with AsyncExitStack() as stack:
                for turn in reversed(self._turns):  # so that they are taken again in the order of their first time
                    await stack.enter_async_context(turn.paused())
                with within_trace(self._trace):
                    return await self.caller.ask(request)
        finally:
            self.waiting -= 1
            if not self.waiting:
                self.time.restart()


def _refusal(reason: str) -> types.ErrorData:
    return types.ErrorData(
        code=types.INVALID_REQUEST, message=f"The request of the server reaches no client: {reason}."
    )
