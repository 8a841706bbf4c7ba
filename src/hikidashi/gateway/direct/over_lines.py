"""Calls on a connection of lines, such as a pipe or a socket: taken out before the `mcp` package reads them.

The package passes each message through a memory stream, and opens a task group for its request.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import anyio
import mcp_types as types
from mcp.shared.dispatcher import CallOptions
from mcp.shared.inbound import InboundModernRoute, classify_inbound_request
from mcp.shared.jsonrpc_dispatcher import cancelled_request_id_from_params
from mcp.shared.message import SessionMessage
from mcp.shared.transport_context import TransportContext

from ...servers.messages import BROKEN, FilteredStream
from .answering import CALL, CallAnswers, CallContext

__all__ = ["LineCalls"]

_LAST_WRITE_SECONDS = 1.0
_TRANSPORT = TransportContext(kind="jsonrpc", can_send_request=False)


class LineCalls(FilteredStream):
    """The stream that the package reads from: everything of `incoming` but ordinary calls since 2026-07-28.

    Args:
        incoming: The messages of the client.
        outgoing: Where messages to it go.
        answers: Answers calls.
    """

    def __init__(self, incoming: Any, outgoing: Any, answers: CallAnswers) -> None:
        super().__init__(incoming)
        self._outgoing = outgoing
        self._answers = answers
        self._is_modern: bool | None = None
        """The revision of the first request decides that of the connection; None before it."""
        self._calls: dict[types.RequestId, tuple[_LineCall, asyncio.Task[None]]] = {}

    async def _end(self) -> None:
        tasks = [task for _, task in self._calls.values()]
        for task in tasks:
            task.cancel()
        with anyio.CancelScope(shield=True):
            await asyncio.gather(*tasks, return_exceptions=True)

    def _takes(self, message: types.JSONRPCMessage) -> bool:
        """Whether `message` is handled here."""
        if isinstance(message, types.JSONRPCRequest):
            if self._is_modern is None:
                meta = (message.params or {}).get("_meta")
                is_enveloped = isinstance(meta, dict) and types.PROTOCOL_VERSION_META_KEY in meta
                self._is_modern = message.method != "initialize" and is_enveloped
                return False
            return self._is_modern and message.method == CALL and self._begins(message)
        if isinstance(message, types.JSONRPCNotification) and message.method == "notifications/cancelled":
            id_ = cancelled_request_id_from_params(message.params)
            if id_ is not None and (call := self._calls.get(id_)) is not None:
                call[0].cancel()
                return True
        return False

    def _begins(self, request: types.JSONRPCRequest) -> bool:
        """Begin to answer a call; False if the package has to look at it."""
        if request.id in self._calls or not self._answers.knows(request.params):
            return False
        route = classify_inbound_request({"method": request.method, "params": request.params})
        if not isinstance(route, InboundModernRoute):
            return False
        call = _LineCall(request, self._outgoing)
        task = asyncio.create_task(call.run(self._answers, route))
        self._calls[request.id] = call, task
        task.add_done_callback(lambda _: self._calls.pop(request.id, None))
        return True


class _LineCall(CallContext):
    """One call."""

    def __init__(self, request: types.JSONRPCRequest, outgoing: Any) -> None:
        super().__init__(request, _TRANSPORT)
        self._request = request
        self._outgoing = outgoing
        self._scope = anyio.CancelScope()
        self._ended = False

    def cancel(self) -> None:
        """Cancel the call, as its client wants: it is not answered."""
        self.cancel_requested.set()
        self._scope.cancel()

    async def run(self, answers: CallAnswers, route: InboundModernRoute) -> None:
        """Answer the call."""
        answer: types.JSONRPCMessage | None = None
        try:
            with self._scope:
                answer = await answers.answer(self, self._request, route)
            self._ended = True
            if answer is not None and not self.cancel_requested.is_set():
                await self._write(answer)
        except asyncio.CancelledError:  # the connection ends
            if answer is None and not self.cancel_requested.is_set():
                closed = types.ErrorData(code=types.CONNECTION_CLOSED, message="Connection closed")
                with anyio.move_on_after(_LAST_WRITE_SECONDS, shield=True):
                    await self._write(types.JSONRPCError(jsonrpc="2.0", id=self._request.id, error=closed))
            raise

    async def notify(self, method: str, params: Mapping[str, Any] | None, opts: CallOptions | None = None) -> None:
        """Send a notification."""
        if self._ended:
            return
        body = {} if params is None else {"params": dict(params)}
        await self._write(types.JSONRPCNotification(jsonrpc="2.0", method=method, **body))

    async def _write(self, message: types.JSONRPCMessage) -> None:
        try:
            await self._outgoing.send(SessionMessage(message))
        except BROKEN:  # the client is gone
            return
