"""Requests of 2026-07-28 to a server over HTTP: each is a POST of its own, answered with JSON or a stream of events."""

from __future__ import annotations

import asyncio
import itertools
import logging
import re
import zlib
from codecs import BOM_UTF8
from collections.abc import AsyncGenerator, Callable, Coroutine, Mapping
from contextlib import aclosing
from typing import Any, TypeAlias
from urllib.parse import urlsplit
from urllib.request import getproxies

import httpx2
import mcp_types as types
from mcp import MCPError
from mcp.shared.dispatcher import ProgressFnT
from mcp.shared.inbound import (
    MCP_METHOD_HEADER,
    MCP_NAME_HEADER,
    MCP_PROTOCOL_VERSION_HEADER,
    encode_header_value,
)
from pydantic import ValidationError
from pydantic_core import from_json

from .... import __version__
from ....servers.config import McpServer
from ....servers.process import LONGEST_MESSAGE
from ...encoding import encoded
from .._lost import NotSent
from .._reports import Reports
from ._http_connections import Connections, NotSentError, Response
from ._http_responses import MalformedResponseError, ResponseTooLargeError
from ._stream_requests import progress_in

__all__ = ["AskAgain", "HttpRequests", "OnNotification"]

OnNotification: TypeAlias = Callable[[str, dict[str, Any] | None], Coroutine[Any, Any, None]]
"""Called with the method and the parameters of a notification."""

logger = logging.getLogger("hikidashi.gateway")

_OURS = re.compile(r"accept|accept-encoding|connection|content-length|content-type|host|te|transfer-encoding|mcp-.*")
_USER_AGENT = f"hikidashi/{__version__}".encode()
_NOT_CARRIED_OUT = frozenset({301, 302, 307, 308, 401, 407})
"""The status of responses that leave it to the client to send the request again, elsewhere or with a login."""


class AskAgain(Exception):  # noqa: N818 - not an error
    """The request was not carried out: httpx2 has to send it, which follows redirects and logs in."""


class HttpRequests:
    """Sends requests to `server`.

    Args:
        server: A server at an `http:` address.
        seconds: Timeout for connecting.
        on_notification: Called with the method and the parameters of notifications other than progress.
        on_error: Called with the status line of an error response.
    """

    def __init__(
        self,
        server: McpServer,
        *,
        seconds: float,
        on_notification: OnNotification,
        on_error: Callable[[str], None],
    ) -> None:
        parts = urlsplit(server.url)
        assert parts.hostname is not None
        self._connections = Connections(parts.hostname, parts.port or 80, seconds=seconds)
        path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        self._target = path.encode("ascii")
        self._headers = [
            (b"host", parts.netloc.encode("ascii")),
            (b"accept", b"application/json, text/event-stream"),
            (b"accept-encoding", b"identity"),
            (b"content-type", b"application/json"),
            *([] if "user-agent" in map(str.lower, server.headers) else [(b"user-agent", _USER_AGENT)]),
            *((name.lower().encode("ascii"), value.encode("ascii")) for name, value in server.headers.items()),
        ]
        self._name = server.name
        self._ids = itertools.count(1)
        self._on_notification = on_notification
        self._on_error = on_error
        self._reports = Reports()

    @staticmethod
    def can_reach(server: McpServer) -> bool:
        """Whether `server` is reached without TLS, a proxy or a password in its address: httpx2 does those."""
        parts = urlsplit(server.url)
        return (
            server.transport == "http"
            and parts.scheme == "http"
            and parts.hostname is not None
            and parts.username is None
            and parts.netloc.isascii()
            and all(ord(" ") < ord(character) < 127 for character in server.url)
            and all(name.isascii() and value.isascii() for name, value in server.headers.items())
            and not any(_OURS.fullmatch(name.lower()) for name in server.headers)
            and not {"http", "all"} & getproxies().keys()
        )

    async def request(
        self,
        method: str,
        params: dict[str, Any],
        on_progress: ProgressFnT,
        headers: Mapping[str, str],
        *,
        repeatable: bool,
    ) -> dict[str, Any]:
        """The result of a request; `params` has a `_meta`, and `repeatable` requests may be carried out twice.

        Raises:
            AskAgain: the server wants the request to be sent elsewhere, or with a login.
            NotSent: the server could not be connected to.
            MCPError: the server answered with an error or too much, or the connection is closed.
        """
        id_ = next(self._ids)
        meta = params["_meta"]
        meta["progressToken"] = id_
        body = encoded({"jsonrpc": "2.0", "id": id_, "method": method, "params": params})
        named = params.get("name")
        own = [
            (MCP_PROTOCOL_VERSION_HEADER.encode(), str(meta[types.PROTOCOL_VERSION_META_KEY]).encode()),
            (MCP_METHOD_HEADER.encode(), method.encode()),
            *([(MCP_NAME_HEADER.encode(), encode_header_value(named).encode())] if isinstance(named, str) else []),
            *((name.encode(), value.encode()) for name, value in headers.items()),
            (b"content-length", str(len(body)).encode()),
        ]
        try:
            response, connection = await self._connections.post(
                self._target, [*self._headers, *own], body, repeatable=repeatable
            )
        except ValueError as error:
            raise AskAgain from error  # httpx2 says what is wrong with the headers
        except NotSentError as error:
            raise NotSent(str(error)) from error
        except OSError as error:
            raise self._lost(error) from error
        try:
            return await self._result(response, on_progress)
        except OSError as error:
            raise self._lost(error) from error
        except ResponseTooLargeError as error:
            raise MCPError(
                types.INTERNAL_ERROR,
                f"The server {self._name!r} sent a message of more than {LONGEST_MESSAGE:,} bytes, which is the limit. "
                "Ask it for less at once.",
            ) from error
        finally:
            self._connections.release(connection)

    def close(self) -> None:
        """Close the connections."""
        self._reports.cancel()
        self._connections.close()

    def _lost(self, error: OSError) -> MCPError:
        if isinstance(error, MalformedResponseError):
            return MCPError(
                types.INTERNAL_ERROR,
                f"The server {self._name!r} sent an invalid response: {error}. Check its address.",
            )
        logger.debug("the connection to the server %r was lost: %s", self._name, error)
        return MCPError(types.CONNECTION_CLOSED, "Connection closed")

    async def _result(self, response: Response, on_progress: ProgressFnT) -> dict[str, Any]:
        status, kind = response.status, response.header(b"content-type").partition(";")[0].strip().lower()
        if status in _NOT_CARRIED_OUT:
            raise AskAgain
        if status >= 400:
            self._on_error(f"{status} {response.reason}")
            raise _refusal(status, await _whole(response) if kind == "application/json" else b"")
        if status == 202:
            raise MCPError(types.INVALID_REQUEST, "server answered a request with 202 Accepted")
        if kind == "application/json":
            body = await _whole(response)
            result = _plain_result(body)
            return _outcome(_parsed(body)) if result is None else result
        if kind == "text/event-stream":
            return await self._streamed(response, on_progress)
        raise MCPError(types.INVALID_REQUEST, f"Unexpected content type: {kind}")

    async def _streamed(self, response: Response, on_progress: ProgressFnT) -> dict[str, Any]:
        """The result at the end of a stream of events; the notifications before it are passed on."""
        async with aclosing(_events(response)) as events:
            async for data in events:
                message = _parsed(data)
                if isinstance(message, types.JSONRPCNotification):
                    await self._notify(message, on_progress)
                elif isinstance(message, types.JSONRPCRequest):
                    logger.debug("the server sent a request, which 2026-07-28 does not allow: %s", message.method)
                else:
                    return _outcome(message)
        raise MCPError(types.CONNECTION_CLOSED, "SSE stream ended without a response")

    async def _notify(self, message: types.JSONRPCNotification, on_progress: ProgressFnT) -> None:
        if message.method == "notifications/progress":
            reported = progress_in(message.params or {})
            if reported is None:
                return
            passing = on_progress(*reported)
        else:
            passing = self._on_notification(message.method, message.params)
        await self._reports.room()
        self._reports.start(passing)
        await asyncio.sleep(0)  # it begins before the answer is read, and so still finds its call


def _refusal(status: int, body: bytes) -> MCPError:
    """The error of a response with an error status, which may carry one of JSON-RPC."""
    try:
        message = types.jsonrpc_message_adapter.validate_json(body, by_name=False)
    except ValidationError:
        message = None
    if isinstance(message, types.JSONRPCError):
        return MCPError.from_error_data(message.error)
    if status == 404:
        return MCPError(types.METHOD_NOT_FOUND, "Not Found")
    return MCPError(types.INTERNAL_ERROR, "Server returned an error response")


def _plain_result(body: bytes) -> dict[str, Any] | None:
    """The result in a response without anything else in it; None for other messages, which `_parsed` validates."""
    try:
        message: Any = from_json(body)
    except ValueError:
        return None
    match message:
        case {"jsonrpc": "2.0", "id": int() | str(), "result": dict(), **rest} if not rest:
            return message["result"]
        case _:
            return None


def _parsed(data: bytes | str) -> types.JSONRPCMessage:
    try:
        return types.jsonrpc_message_adapter.validate_json(data, by_name=False)
    except ValidationError as error:
        raise MCPError(types.PARSE_ERROR, f"Failed to parse JSON response: {error}") from error


def _outcome(message: types.JSONRPCMessage) -> dict[str, Any]:
    match message:
        case types.JSONRPCResponse():
            return message.result
        case types.JSONRPCError():
            raise MCPError.from_error_data(message.error)
        case _:
            raise MCPError(types.INVALID_REQUEST, "The server answered a request with one of its own.")


async def _whole(response: Response) -> bytes:
    body = await response.body(LONGEST_MESSAGE)
    return _decompressed(body) if _is_compressed(response) else body


def _is_compressed(response: Response) -> bool:
    match response.header(b"content-encoding").strip().lower():
        case "" | "identity":
            return False
        case "gzip" | "deflate":
            return True
        case other:
            raise MCPError(types.INVALID_REQUEST, f"Unexpected content encoding: {other}")


def _decompressed(body: bytes) -> bytes:
    decompress = zlib.decompressobj(32 + zlib.MAX_WBITS)
    try:
        data = decompress.decompress(body, LONGEST_MESSAGE)
    except zlib.error as error:
        raise MCPError(types.PARSE_ERROR, f"Failed to decompress the response: {error}") from error
    if decompress.unconsumed_tail:
        raise ResponseTooLargeError
    if not decompress.eof:
        raise MCPError(types.PARSE_ERROR, "Failed to decompress the response: it is incomplete")
    return data


_REQUEST = httpx2.Request("POST", "http://localhost/")  # a response needs one


class _Body(httpx2.AsyncByteStream):
    """The body of a stream of events, without the byte order mark that it may begin with."""

    def __init__(self, response: Response) -> None:
        self._response = response

    async def __aiter__(self) -> AsyncGenerator[bytes]:
        begun: bytes | None = b""
        async with aclosing(self._response.chunks()) as chunks:
            async for chunk in chunks:
                if begun is None:
                    yield chunk
                elif not BOM_UTF8.startswith(begun := begun + chunk):
                    yield begun.removeprefix(BOM_UTF8)
                    begun = None


async def _events(response: Response) -> AsyncGenerator[str]:
    """The data of each message in a stream of server-sent events, which httpx2 parses."""
    coding = response.header(b"content-encoding") if _is_compressed(response) else ""
    headers = {"content-type": response.header(b"content-type"), "content-encoding": coding}
    streamed = httpx2.Response(200, headers=headers, stream=_Body(response), request=_REQUEST)
    try:
        async for event in httpx2.EventSource(streamed, max_event_size=LONGEST_MESSAGE):
            if event.event == "message" and event.data:
                yield event.data
    except httpx2.SSEError as error:
        raise ResponseTooLargeError from error
    except httpx2.DecodingError as error:
        raise MCPError(types.PARSE_ERROR, f"Failed to decompress the response: {error}") from error
