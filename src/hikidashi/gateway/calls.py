"""Calls of tools by modern clients, without the layers of the `mcp` package that other requests need.

A call of a modern client is self-contained: no session, no request back to the client. What does not look like an
ordinary call is left to the package, so that each refusal is written in one place.
"""

from __future__ import annotations

import asyncio
import json
from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import anyio
import mcp_types as types
from mcp.server.connection import Connection
from mcp.server.context import HandlerResult
from mcp.server.runner import ServerRunner, modern_error_data
from mcp.server.streamable_http import check_accept_headers
from mcp.shared.dispatcher import CallOptions
from mcp.shared.exceptions import NoBackChannelError
from mcp.shared.inbound import (
    ERROR_CODE_HTTP_STATUS,
    MCP_METHOD_HEADER,
    MCP_PARAM_HEADER_PREFIX,
    MCP_PROTOCOL_VERSION_HEADER,
    X_MCP_HEADER_KEY,
    InboundModernRoute,
    classify_inbound_request,
)
from mcp.shared.jsonrpc_dispatcher import cancelled_request_id_from_params, progress_token_from_params
from mcp.shared.message import MessageMetadata, ServerMessageMetadata, SessionMessage
from mcp.shared.transport_context import TransportContext
from pydantic import ValidationError
from starlette.requests import Request

from ..servers.messages import BROKEN, FilteredStream, encoded
from ..servers.revisions import MODERN_PROTOCOL_VERSIONS
from .finder import OWN_TOOLS
from .gateway import Gateway
from .server import GatewayMCPServer
from .upstream.requests import ShapedResult

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

CALL = "tools/call"

_MOST_RUNNERS = 256
_LONGEST_KEY = 4_096  # characters


class CallContext(ABC):
    """What the `mcp` package needs to know about a request, and how notifications reach its client.

    Subclasses send them.
    """

    can_send_request = False

    def __init__(
        self, request: types.JSONRPCRequest, transport: TransportContext, metadata: MessageMetadata = None
    ) -> None:
        self.transport = transport
        self.request_id: types.RequestId | None = request.id
        self.message_metadata = metadata
        self.cancel_requested = anyio.Event()
        self._progress_token = progress_token_from_params(request.params)

    async def send_raw_request(
        self, method: str, params: Mapping[str, Any] | None, opts: CallOptions | None = None
    ) -> dict[str, Any]:
        """Refused: a modern client is sent no requests."""
        raise NoBackChannelError(method)

    async def notify(self, method: str, params: Mapping[str, Any] | None, opts: CallOptions | None = None) -> None:
        """Send a notification about this request."""
        body = {} if params is None else {"params": dict(params)}
        await self._notify(types.JSONRPCNotification(jsonrpc="2.0", method=method, **body))

    @abstractmethod
    async def _notify(self, message: types.JSONRPCNotification) -> None:
        """Send `message`."""

    async def progress(self, progress: float, total: float | None = None, message: str | None = None) -> None:
        """Report progress, if the client has asked for it."""
        if self._progress_token is None:
            return
        params: dict[str, Any] = {"progressToken": self._progress_token, "progress": progress}
        more = {"total": total, "message": message}
        params |= {name: value for name, value in more.items() if value is not None}
        await self.notify("notifications/progress", params)


class _Runner(ServerRunner[Any]):
    """Runs handlers; a result that a server of the client's revision sent is not validated twice."""

    def _serialize(self, method: str, version: str, result: HandlerResult) -> dict[str, Any]:
        if isinstance(result, ShapedResult) and result.version == version:
            return self._stamp_server_info(version, dict(result))
        return super()._serialize(method, version, result)


class CallAnswers:
    """Answers calls of tools.

    Args:
        server: Handles them.
        gateway: Its gateway.
        lifespan: The lifespan context of the connection.
    """

    def __init__(self, server: GatewayMCPServer, gateway: Gateway, lifespan: Any) -> None:
        self._server: Any = server
        self._gateway = gateway
        self._lifespan = lifespan
        # One for all calls with the same envelope: building one validates the capabilities of the client, and the
        # handlers of calls keep nothing in it.
        self._runners: OrderedDict[str, _Runner] = OrderedDict()
        self._has_headers: tuple[object, dict[str, bool]] = None, {}

    def knows(self, params: Mapping[str, Any] | None) -> bool:
        """Whether the tool that `params` calls is known now."""
        name = (params or {}).get("name")
        return isinstance(name, str) and (name in self._gateway.merged.tools or name in OWN_TOOLS)

    def declares_headers(self, name: str) -> bool:
        """Whether the tool `name` wants arguments repeated in headers."""
        merged, known = self._has_headers
        if merged is not self._gateway.merged:
            known = {}
            self._has_headers = self._gateway.merged, known
        if name not in known:
            tool = self._gateway.merged.tools.get(name)
            known[name] = tool is not None and f'"{X_MCP_HEADER_KEY}"' in json.dumps(tool.input_schema)
        return known[name]

    async def answer(
        self, context: CallContext, request: types.JSONRPCRequest, route: InboundModernRoute
    ) -> types.JSONRPCResponse | types.JSONRPCError:
        """The response to a call."""
        try:
            result = await self._runner(route).on_request(context, CALL, request.params)
        except Exception as error:
            return types.JSONRPCError(jsonrpc="2.0", id=request.id, error=modern_error_data(error))
        return types.JSONRPCResponse.model_construct(jsonrpc="2.0", id=request.id, result=result)

    def _runner(self, route: InboundModernRoute) -> _Runner:
        version, info, capabilities = route.protocol_version, route.client_info, route.client_capabilities
        key = repr((version, info, capabilities))
        runner = self._runners.get(key)
        if runner is None:
            connection = Connection.from_envelope(version, info, capabilities)
            runner = _Runner(self._server, connection, self._lifespan)
            if len(key) <= _LONGEST_KEY:
                self._runners[key] = runner
                if len(self._runners) > _MOST_RUNNERS:
                    self._runners.popitem(last=False)
        return runner


_LAST_WRITE_SECONDS = 1.0
_TRANSPORT = TransportContext(kind="jsonrpc", can_send_request=False)


class LineCalls(FilteredStream):
    """The stream that the package reads from: everything of `incoming` but ordinary modern calls.

    Args:
        incoming: The messages of the client.
        outgoing: Where messages to it go.
        answers: Answers calls.
    """

    def __init__(self, incoming: Any, outgoing: Any, answers: CallAnswers) -> None:
        super().__init__(incoming, self._takes)
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

    async def _notify(self, message: types.JSONRPCNotification) -> None:
        if not self._ended:
            await self._write(message)

    async def _write(self, message: types.JSONRPCMessage) -> None:
        try:
            await self._outgoing.send(SessionMessage(message))
        except BROKEN:  # the client is gone
            return


_PATH = "/mcp"
_ACCEPT = "application/json, text/event-stream"
_WATCH_SECONDS = 0.05  # a call that is answered sooner needs no task that watches whether its client is gone
_PING_SECONDS = 15.0  # as in the package: proxies close a connection on which nothing arrives
_PARAM_PREFIX = MCP_PARAM_HEADER_PREFIX.lower()
_EVENTS = [
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-cache, no-transform"),
    (b"connection", b"keep-alive"),
    (b"x-accel-buffering", b"no"),
]


class HttpCalls:
    """Answers ordinary modern calls, and passes every other request to `app`.

    Args:
        app: The application of the package.
        answers: Answers calls.
    """

    def __init__(self, app: ASGIApp, answers: CallAnswers) -> None:
        self._app = app
        self._answers = answers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or pass it on."""
        if scope["type"] != "http" or scope["method"] != "POST" or scope["path"] != _PATH:
            await self._app(scope, receive, send)
            return
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        request = Request(scope, receive)
        if (
            headers.get(MCP_METHOD_HEADER) != CALL
            or headers.get(MCP_PROTOCOL_VERSION_HEADER) not in MODERN_PROTOCOL_VERSIONS
            or len(headers) != len(scope["headers"])  # some are there twice
            or any(name.startswith(_PARAM_PREFIX) for name in headers)
            or (headers.get("accept") != _ACCEPT and check_accept_headers(request) != (True, True))
        ):
            await self._app(scope, receive, send)
            return
        first = await receive()
        call = self._ordinary_call(first, headers)
        if call is None:
            await self._app(scope, replayed(first, receive), send)
        else:
            await _Exchange(call[0], request, receive, send).run(self._answers, call[1])

    def _ordinary_call(
        self, first: Message, headers: Mapping[str, str]
    ) -> tuple[types.JSONRPCRequest, InboundModernRoute] | None:
        """The call in the first part of a body; None if the package has to look at it."""
        if first["type"] != "http.request" or first.get("more_body", False):
            return None
        try:
            decoded = json.loads(first.get("body", b""))
            request = types.JSONRPCRequest.model_validate(decoded)
        except (ValueError, RecursionError, ValidationError):
            return None
        if not self._answers.knows(request.params) or self._answers.declares_headers((request.params or {})["name"]):
            return None
        route = classify_inbound_request(decoded, headers=headers)
        return (request, route) if isinstance(route, InboundModernRoute) else None


class _Exchange(CallContext):
    """One call and its response: JSON, or a stream of events once there is a notification before the result."""

    def __init__(self, call: types.JSONRPCRequest, request: Request, receive: Receive, send: Send) -> None:
        super().__init__(
            call,
            TransportContext(kind="streamable-http", can_send_request=False, headers=request.headers),
            ServerMessageMetadata(request_context=request),
        )
        self._call = call
        self._receive = receive
        self._send = send
        self._scope = anyio.CancelScope()
        self._writing = asyncio.Lock()  # unlike that of anyio, it does not yield to the event loop when it is free
        self._streams = False
        self._ended = False
        self._tasks: set[asyncio.Task[None]] = set()

    async def run(self, answers: CallAnswers, route: InboundModernRoute) -> None:
        """Answer the call; it is cancelled when the client closes the connection."""
        watch = asyncio.get_running_loop().call_later(_WATCH_SECONDS, self._start)
        try:
            with self._scope:
                answer = await answers.answer(self, self._call, route)
                if self._streams:
                    await self._write(_event(answer), last=True)
                else:
                    await self._write_json(answer)
        finally:
            self._ended = True
            watch.cancel()
            for task in self._tasks:
                task.cancel()

    async def _notify(self, message: types.JSONRPCNotification) -> None:
        await self._write(_event(message))

    async def _write_json(self, answer: types.JSONRPCResponse | types.JSONRPCError) -> None:
        async with self._writing:
            if self._streams:  # a ping came first
                await self._write_event(_event(answer), last=True)
                return
            self._ended = True
            status = (
                ERROR_CODE_HTTP_STATUS.get(answer.error.code, 200) if isinstance(answer, types.JSONRPCError) else 200
            )
            body = _json(answer)
            headers = [(b"content-length", str(len(body)).encode()), (b"content-type", b"application/json")]
            await self._send({"type": "http.response.start", "status": status, "headers": headers})
            await self._send({"type": "http.response.body", "body": body, "more_body": False})

    async def _write(self, event: bytes, *, last: bool = False) -> None:
        async with self._writing:
            await self._write_event(event, last=last)

    async def _write_event(self, event: bytes, *, last: bool) -> None:
        if self._ended:
            return
        self._ended = last
        if not self._streams:
            self._streams = True
            await self._send({"type": "http.response.start", "status": 200, "headers": _EVENTS})
        await self._send({"type": "http.response.body", "body": event, "more_body": not last})

    async def _watch(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass
        self._scope.cancel()

    async def _ping(self) -> None:
        await asyncio.sleep(_PING_SECONDS)
        while not self._ended:
            await self._write(b": ping\r\n\r\n")
            await asyncio.sleep(_PING_SECONDS)

    def _start(self) -> None:
        self._tasks = {asyncio.create_task(self._watch()), asyncio.create_task(self._ping())}


def _json(message: types.JSONRPCMessage) -> bytes:
    if isinstance(message, types.JSONRPCResponse):
        return encoded({"jsonrpc": "2.0", "id": message.id, "result": message.result})
    return encoded(message.model_dump(by_alias=True, exclude_none=True))


def _event(message: types.JSONRPCMessage) -> bytes:
    return b"event: message\r\ndata: " + _json(message) + b"\r\n\r\n"


def replayed(first: Message, receive: Receive) -> Receive:
    """`receive` that begins with `first` again."""
    waiting = [first]

    async def replay() -> Message:
        return waiting.pop() if waiting else await receive()

    return replay
