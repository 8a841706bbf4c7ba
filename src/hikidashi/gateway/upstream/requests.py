"""Requests to one connected server, stamped with the capabilities and the log level of the client."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncGenerator, Callable, Generator, Iterable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, get_args

import anyio
import mcp_types as types
from mcp import MCPError
from mcp.shared.dispatcher import ProgressFnT
from mcp.shared.inbound import mcp_param_headers, x_mcp_header_map
from mcp.shared.message import SessionMessage
from mcp_types.methods import serialize_server_result

from ...common.json import is_object
from ...servers.config import McpServer
from ...servers.messages import BROKEN, FilteredStream, WatchedSends
from ..auth.logins import ServerLogin
from .events import Reports, progress_in
from .http_requests import AskAgain, HttpRequests, OnNotification

_METHOD = "tools/call"


class ShapedResult(dict[str, Any]):
    """A result that is known to be valid, and to have the fields of `version` only."""

    def __init__(self, result: dict[str, Any], version: str) -> None:
        super().__init__(result)
        self.version = version


class DirectCalls:
    """Sends calls to one connected server.

    Args:
        server: The server.
        login: The person's login to it, if it takes one.
        seconds: Timeout for connecting.
        on_notification: Called with a notification in the response to a call.
        on_error: Called with the status line of an error response.
    """

    def __init__(
        self,
        server: McpServer,
        *,
        login: ServerLogin | None,
        seconds: float,
        on_notification: OnNotification,
        on_error: Callable[[str], None],
    ) -> None:
        self._login = login
        self._envelope: dict[str, Any] | None = None
        """The `_meta` of each request that the session sends to a modern server; None before its first one."""
        self._lines: StreamRequests | None = None
        self._http: HttpRequests | None = None
        if HttpRequests.can_reach(server):
            self._http = HttpRequests(server, seconds=seconds, on_notification=on_notification, on_error=on_error)
        self._is_process = server.transport == "stdio"
        self._headers: dict[str, dict[tuple[str, ...], str]] = {}

    @asynccontextmanager
    async def wrap(self, transport: AbstractAsyncContextManager[Any]) -> AsyncGenerator[tuple[Any, Any]]:
        """`transport` for the session, whose streams the calls share where there is only one connection.

        What the session sends is stamped for its client, and what it stamps itself is kept for the calls.
        """
        try:
            async with transport as (read, write):
                if self._is_process:
                    self._lines = StreamRequests(read, write)
                yield self._lines or read, WatchedSends(write, self._stamp)
        finally:
            if self._http is not None:
                self._http.close()

    def listed(self, tools: Iterable[types.Tool]) -> None:
        """Take note of the tools whose arguments are repeated in headers."""
        found = {tool.name: x_mcp_header_map(tool.input_schema) for tool in tools}
        self._headers = {name: headers for name, headers in found.items() if headers}

    async def call(
        self, request: types.CallToolRequest, client: Behalf, on_progress: ProgressFnT, *, repeatable: bool
    ) -> dict[str, Any]:
        """The result of a call on behalf of `client`, as the server sent it.

        Raises:
            AskAgain: the session has to send it.
            MCPError: the server answered with an error, or the connection is closed.
            ValidationError: the result is malformed.
        """
        if self._envelope is None or (self._lines is None and self._http is None):
            raise AskAgain
        params = _dumped(request.params)
        meta = {**params.get("_meta", {}), **self._envelope}
        params["_meta"] = meta
        stamp(meta, client)
        if self._lines is not None:
            result = await self._lines.request(_METHOD, params, on_progress)
        else:
            assert self._http is not None
            result = await self._http.request(
                _METHOD, params, on_progress, self._headers_of(params), repeatable=repeatable
            )
        version = meta[types.PROTOCOL_VERSION_META_KEY]
        shaped = serialize_server_result(_METHOD, version, result)
        return ShapedResult(shaped, version) if shaped == result else result  # an older client may know other fields

    def _stamp(self, message: types.JSONRPCMessage) -> None:
        """Put the client of a request of the session into it, and keep what all requests have in common."""
        if isinstance(message, types.JSONRPCRequest):
            meta = (message.params or {}).get("_meta")
            # To older servers, capabilities are declared once per connection.
            if is_object(meta) and types.CLIENT_CAPABILITIES_META_KEY in meta:
                self._envelope = {key: meta[key] for key in _ENVELOPE if key in meta}
                if (client := _BEHALF.get()) is not None:
                    stamp(meta, client)

    def _headers_of(self, params: dict[str, Any]) -> dict[str, str]:
        declared = self._headers.get(params["name"])
        headers = {} if declared is None else mcp_param_headers(declared, params.get("arguments") or {})
        if self._login is not None:
            authorization = self._login.authorization()
            if authorization is None:
                raise AskAgain
            if authorization:
                headers["authorization"] = authorization
        return headers


def _dumped(params: types.CallToolRequestParams) -> dict[str, Any]:
    if params.input_responses is not None or params.request_state is not None:
        return params.model_dump(by_alias=True, mode="json", exclude_none=True)
    # Nothing in the first round of a call is a model: arguments and metadata are as the client sent them.
    given = {"name": params.name, "arguments": params.arguments, "_meta": params.meta}
    return {name: value for name, value in given.items() if value is not None}


LEVELS: tuple[types.LoggingLevel, ...] = get_args(types.LoggingLevel)

_ENVELOPE = (types.PROTOCOL_VERSION_META_KEY, types.CLIENT_INFO_META_KEY, types.CLIENT_CAPABILITIES_META_KEY)
_TASKS = "io.modelcontextprotocol/tasks"  # the gateway does not support tasks, so no server may answer with one


@dataclass(frozen=True, slots=True)
class Behalf:
    """The client on whose behalf a request is forwarded."""

    capabilities: types.ClientCapabilities | None
    log_level: types.LoggingLevel | None


def reaches(level: types.LoggingLevel, wanted: types.LoggingLevel | None) -> bool:
    """Whether `level` is at least `wanted`; None means no messages."""
    return wanted is not None and LEVELS.index(level) >= LEVELS.index(wanted)


_BEHALF: ContextVar[Behalf | None] = ContextVar("hikidashi_gateway_behalf", default=None)


@contextmanager
def on_behalf_of(client: Behalf) -> Generator[None]:
    """Stamp the requests sent in this block with the capabilities of `client`."""
    token = _BEHALF.set(client)
    try:
        yield
    finally:
        _BEHALF.reset(token)


def stamp(meta: dict[str, Any], client: Behalf) -> None:
    """Put the capabilities and the log level of `client` into the `_meta` of a request."""
    can = client.capabilities or types.ClientCapabilities()
    declared = can.model_dump(mode="json", by_alias=True, exclude_none=True, exclude={"tasks"})
    if (extensions := declared.get("extensions")) is not None:
        extensions.pop(_TASKS, None)
        if not extensions:
            del declared["extensions"]
    meta[types.CLIENT_CAPABILITIES_META_KEY] = declared
    if client.log_level is not None:
        meta[types.LOG_LEVEL_META_KEY] = client.log_level


_FIRST_ID = 1_000_000_000  # the package counts from 1; some servers take ids of 32 bits only
_CANCEL_SECONDS = 5.0  # for a cancellation that a server does not read


class StreamRequests(FilteredStream):
    """Sends requests on `write`, and takes their answers out of `read`; both are the streams of one connection.

    Itself the stream that the package reads from: it gets the messages that do not belong to these requests.
    """

    def __init__(self, read: Any, write: Any) -> None:
        super().__init__(read, self._takes)
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
            known = _as_id(id_)
            return isinstance(known, int) and known >= _FIRST_ID
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
