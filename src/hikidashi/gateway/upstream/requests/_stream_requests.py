"""Requests on the streams of a process, beside those of the `mcp` package.

The package opens a memory stream and a task for each request that it sends or answers. Here a request is a future.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Mapping
from typing import Any, cast

import anyio
import mcp_types as types
from mcp import MCPError
from mcp.shared.dispatcher import ProgressFnT
from mcp.shared.message import SessionMessage

from ....servers.messages import BROKEN, FilteredStream
from .._reports import Reports

__all__ = ["StreamRequests", "progress_in"]

_FIRST_ID = 1_000_000_000  # the package counts from 1; some servers take ids of 32 bits only
_CANCEL_SECONDS = 5.0  # for a cancellation that a server does not read


class StreamRequests(FilteredStream):
    """Sends requests on `write`, and takes their answers out of `read`; both are the streams of one connection.

    Itself the stream that the package reads from: it gets the messages that do not belong to these requests.
    """

    def __init__(self, read: Any, write: Any) -> None:
        super().__init__(read)
        self._write = write
        self._ids = itertools.count(_FIRST_ID)
        self._pending: dict[object, tuple[asyncio.Future[dict[str, Any]], ProgressFnT]] = {}
        self._reports = Reports()
        self._ended = False

    async def request(self, method: str, params: dict[str, Any], on_progress: ProgressFnT) -> dict[str, Any]:
        """The result of a request; `params` has a `_meta`.

        Raises:
            MCPError: the server answered with an error, or the connection is closed.
        """
        if self._ended:
            raise _closed()
        id_ = next(self._ids)
        params["_meta"]["progressToken"] = id_
        answer: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._pending[id_] = answer, on_progress
        try:
            await self._send(types.JSONRPCRequest(jsonrpc="2.0", id=id_, method=method, params=params))
            return await answer
        except BROKEN:
            raise _closed() from None
        except asyncio.CancelledError:
            await self._cancel(id_)
            raise
        finally:
            del self._pending[id_]
            if not answer.cancel() and not answer.cancelled():
                answer.exception()  # seen, also where the caller was cancelled at the same moment

    def _takes(self, message: types.JSONRPCMessage) -> bool:
        """Whether `message` is about a request sent here."""
        match message:
            case types.JSONRPCResponse():
                return self._settle(message.id, message.result)
            case types.JSONRPCError():
                return self._settle(message.id, MCPError.from_error_data(message.error))
            case types.JSONRPCNotification(method="notifications/progress", params=dict() as params):
                pending = self._pending.get(_as_id(params.get("progressToken")))
                if pending is not None:
                    self._report(params, pending[1])
                return pending is not None
            case _:
                return False

    def _settle(self, id_: object, outcome: dict[str, Any] | MCPError) -> bool:
        pending = self._pending.get(_as_id(id_))
        if pending is None:
            # The answer to a cancelled request is dropped: the package never sent that id.
            return isinstance(_as_id(id_), int) and cast("int", _as_id(id_)) >= _FIRST_ID
        if not pending[0].done():
            if isinstance(outcome, MCPError):
                pending[0].set_exception(outcome)
            else:
                pending[0].set_result(outcome)
        return True

    def _report(self, params: dict[str, Any], on_progress: ProgressFnT) -> None:
        reported = progress_in(params)
        if reported is not None:
            self._reports.start(on_progress(*reported))

    async def _cancel(self, id_: int) -> None:
        params = {"requestId": id_, "reason": "caller cancelled"}
        with anyio.move_on_after(_CANCEL_SECONDS, shield=True):
            try:
                await self._send(
                    types.JSONRPCNotification(jsonrpc="2.0", method="notifications/cancelled", params=params)
                )
            except BROKEN:
                return

    async def _send(self, message: types.JSONRPCMessage) -> None:
        await self._write.send(SessionMessage(message))

    async def _end(self) -> None:
        self._ended = True
        self._reports.cancel()
        for answer, _ in self._pending.values():
            if not answer.done():
                answer.set_exception(_closed())


def _closed() -> MCPError:
    return MCPError(types.CONNECTION_CLOSED, "Connection closed")


def _as_id(value: object) -> object:
    """`value` as a key of the pending requests: some servers send the id back as text."""
    return int(value) if isinstance(value, str) and value.isascii() and value.isdigit() else value


def progress_in(params: Mapping[str, Any]) -> tuple[float, float | None, str | None] | None:
    """The progress, total and message of a progress notification; None if it is malformed."""
    progress, total, message = _number(params.get("progress")), _number(params.get("total")), params.get("message")
    if progress is None:
        return None
    return progress, total, message if isinstance(message, str) else None


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
