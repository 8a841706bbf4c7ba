"""Calls to older servers that send requests meanwhile, for modern clients.

Such a server sends a request and waits. The client gets `input_required` instead of a result, with a sealed state; it
calls again with its responses, and the waiting call continues.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

import anyio
import mcp_types as types
from anyio.abc import TaskGroup
from mcp import MCPError
from mcp.server import ServerRequestContext
from mcp.server.request_state import AESGCMRequestStateCodec, InvalidRequestState, authenticated_principal
from mcp_types import INVALID_PARAMS

from .callers import Caller, client_key, missing_capability, principal_of, send_log
from .upstream.requests import Behalf

Raw = dict[str, Any]
_MOST_PARKED = 1_000


class ParkedCalls:
    """The calls that wait for input of their clients.

    Args:
        tasks: Task group in which calls run between the rounds of their client.
        seal: Seals request states; a call whose state has expired is cancelled.
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
        """Run `work`; return its result, or the input that the client has to give first."""
        if len(self._calls) >= _MOST_PARKED:
            raise MCPError(types.INTERNAL_ERROR, f"{_MOST_PARKED:,} calls already wait for input. Try again later.")
        call = _ParkedCall(ctx, work, log_level)
        self._tasks.start_soon(call.run)
        return await self._round(ctx, call)

    async def resume(
        self, ctx: ServerRequestContext[Any, Any], state: str, responses: types.InputResponses | None
    ) -> Raw | types.InputRequiredResult:
        """Pass the client's responses to the call that `state` names; return as `begin` does."""
        call = self._calls.pop(self._seal.open(ctx, state), None)
        if call is None:
            raise MCPError(
                types.INVALID_PARAMS,
                "The call that waited for this input has ended. Call the tool again.",
                data={"reason": "invalid_request_state"},
            )
        call.resume_with(ctx, responses or {})
        return await self._round(ctx, call)

    async def _round(self, ctx: ServerRequestContext[Any, Any], call: _ParkedCall) -> Raw | types.InputRequiredResult:
        try:
            requests = await call.settled()
        except BaseException:  # the client is gone, or the call failed
            call.cancel()
            raise
        if requests is None:
            return call.result()
        self._calls[call.id] = call
        call.expires_after(self._seal.seconds, lambda: self._calls.pop(call.id, None))
        return types.InputRequiredResult(input_requests=requests, request_state=self._seal.seal(ctx, call.id))


class _ParkedCall:
    """One call and the open requests of its server: a `Caller`."""

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
        self._requests: dict[str, types.InputRequest] = {}
        self._responses: dict[str, types.InputResponse] = {}
        self._responded = anyio.Event()
        self._request_count = 0
        self._result: Raw | None = None
        self._error: BaseException | None = None
        self._ended = False
        self._expired: Callable[[], object] = lambda: None

    async def run(self) -> None:
        """Run the call until it ends, or its client stays away too long."""
        with self._scope:
            try:
                self._result = await self._work(self)
            except Exception as error:
                self._error = error
        self._ended = True
        self._expired()
        self._changed.set()

    async def ask(self, request: types.InputRequest) -> types.InputResponse | types.ErrorData:
        """Ask the client in its next round; return its response."""
        if missing := missing_capability(self.behalf.capabilities, request):
            return missing
        self._request_count += 1
        key = f"input-{self._request_count}"
        self._requests[key] = request
        self._changed.set()
        while key not in self._responses:
            await self._responded.wait()
        return self._responses.pop(key)

    async def progress(self, progress: float, total: float | None, message: str | None) -> None:
        """Report progress, if the client waits for the answer."""
        if self._ctx is not None:
            await self._ctx.session.report_progress(progress, total, message)

    async def log(self, params: types.LoggingMessageNotificationParams) -> None:
        """Send a log message, if the client waits for the answer."""
        if self._ctx is not None:
            await send_log(self._ctx, params, self.behalf)

    async def settled(self) -> dict[str, types.InputRequest] | None:
        """Wait until the call has ended (None), or needs input of the client."""
        while not self._ended and not self._requests:
            await self._changed.wait()
            self._changed = anyio.Event()
        if self._ended:
            return None
        self._ctx = None
        return dict(self._requests)

    def resume_with(self, ctx: ServerRequestContext[Any, Any], responses: types.InputResponses) -> None:
        """Take the client's responses; a request without one is repeated."""
        self._ctx = ctx
        self._scope.deadline = float("inf")
        for key, response in responses.items():
            if self._requests.pop(key, None) is not None:
                self._responses[key] = response
        answered, self._responded = self._responded, anyio.Event()
        answered.set()

    def expires_after(self, seconds: float, expired: Callable[[], object]) -> None:
        """Cancel the call unless the client responds in time."""
        self._expired = expired
        self._scope.deadline = anyio.current_time() + seconds

    def cancel(self) -> None:
        """End the call."""
        self._scope.cancel()

    def result(self) -> Raw:
        """The result of the call.

        Raises:
            Exception: the call failed with it.
        """
        if self._error is not None:
            raise self._error
        if self._result is None:
            raise MCPError(types.INTERNAL_ERROR, "The call was cancelled.")
        return self._result


_PREFIX = "hikidashi."


class Seal:
    """Seals and opens the states of parked calls, with AES-256-GCM.

    Args:
        keys: Secrets of at least 32 bytes; the first seals, all open. By default, a random key of this process.
        seconds: How long a state is valid.
    """

    def __init__(self, keys: Sequence[str] = (), *, seconds: float = 600.0) -> None:
        self._codec = AESGCMRequestStateCodec(list(keys) or [os.urandom(32)])
        self._instance = os.urandom(8).hex()
        self.seconds = seconds

    def is_ours(self, state: str) -> bool:
        """Whether a request state is that of a parked call, and not of a server."""
        return state.startswith(_PREFIX)

    def seal(self, ctx: ServerRequestContext[Any, Any], call_id: str) -> str:
        """The request state of a parked call."""
        claims = {"i": self._instance, "c": call_id, "e": time.time() + self.seconds, "b": _binding(ctx)}
        return _PREFIX + self._codec.seal(json.dumps(claims).encode())

    def open(self, ctx: ServerRequestContext[Any, Any], state: str) -> str:
        """The id of the call that a state names.

        Raises:
            MCPError: it is expired, forged, of another request or principal, or the call is parked in another process.
        """
        try:
            claims = json.loads(self._codec.unseal(state.removeprefix(_PREFIX)))
        except (InvalidRequestState, ValueError):
            raise _refused("invalid_request_state", "Invalid or expired requestState") from None
        if claims["e"] < time.time() or claims["b"] != _binding(ctx):
            raise _refused("invalid_request_state", "Invalid or expired requestState")
        if claims["i"] != self._instance:
            raise _refused(
                "parked_elsewhere",
                "This call waits in another process of the gateway, or in one that has ended. Call the tool again, "
                "and have the balancer send the answers of one client to one process.",
            )
        return str(claims["c"])


def _refused(reason: str, message: str) -> MCPError:
    return MCPError(code=INVALID_PARAMS, message=message, data={"reason": reason})


def _binding(ctx: ServerRequestContext[Any, Any]) -> str:
    params: Mapping[str, Any] = ctx.params or {}
    request: dict[str, Any] = {
        "method": ctx.method,
        "target": params.get("name", params.get("uri")),
        "arguments": params.get("arguments") or {},
        "principal": authenticated_principal(ctx),
    }
    return hashlib.sha256(json.dumps(request, sort_keys=True).encode()).hexdigest()
