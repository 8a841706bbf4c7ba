"""Requests to a modern server over HTTP: each is a POST of its own, answered with JSON or a stream of events."""

from __future__ import annotations

import asyncio
import itertools
import logging
import re
import select
import ssl
import sys
import time
import zlib
from codecs import BOM_UTF8
from collections.abc import AsyncGenerator, Callable, Coroutine, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
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

from ... import __version__
from ...servers.config import McpServer
from ...servers.messages import LONGEST_MESSAGE, encoded
from .events import Reports, progress_in
from .state import NotSent

__all__ = [
    "AskAgain",
    "ChunkedBody",
    "Head",
    "Headers",
    "HostConnections",
    "HttpRequests",
    "MalformedResponseError",
    "NotSentError",
    "OnNotification",
    "Response",
    "ResponseTooLargeError",
    "parse_head",
]

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
        server: A server that `can_reach` accepts.
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
        is_secure = parts.scheme == "https"
        context = httpx2.create_ssl_context() if is_secure else None  # the same certificates as the session trusts
        port = parts.port or (443 if is_secure else 80)
        self._connections = HostConnections(parts.hostname, port, seconds=seconds, context=context)
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
        """Whether `server` is reached without a proxy, or a password in its address: httpx2 does those."""
        parts = urlsplit(server.url)
        return (
            server.transport == "http"
            and parts.scheme in {"http", "https"}
            and parts.hostname is not None
            and parts.username is None
            and parts.netloc.isascii()
            and all(ord(" ") < ord(character) < 127 for character in server.url)
            and all(name.isascii() and value.isascii() for name, value in server.headers.items())
            and not any(_OURS.fullmatch(name.lower()) for name in server.headers)
            and not {parts.scheme, "all"} & getproxies().keys()
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
                    logger.debug("the server sent a request, which its revision does not allow: %s", message.method)
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


Headers = Sequence[tuple[bytes, bytes]]

_PIECE = 1 << 16
_IDLE_SECONDS = 3.0  # many servers close a connection after 5, at the same moment as a client that waits for 5 sends
_BRIEF_SECONDS = 1.0  # where a request cannot be sent again
_MOST_IDLE = 20
_LARGEST_HEAD = 100 * 1024  # bytes; as in httpx2
_MOST_INTERIM = 20  # responses before the final one
_END_OF_HEAD = re.compile(rb"\n\r?\n")
_LINE = re.compile(rb"[\t\x20-\x7e\x80-\xff]*")
_KEEP_ALIVE = re.compile(r"(?:^|,)\s*timeout\s*=\s*(\d{1,6})\b", re.IGNORECASE)


class NotSentError(OSError):
    """There is no connection, so that the request was not sent."""


class _ClosedBeforeAnswerError(ConnectionError):
    """The connection ended before the first byte of a response."""


class Response:
    """A response whose body is still to be read."""

    def __init__(self, connection: _HostConnection, head: Head) -> None:
        self.status = head.status
        self.reason = head.reason
        self.headers = head.headers
        self.header = head.header
        self._connection = connection

    def chunks(self) -> AsyncGenerator[bytes]:
        """The parts of the body as they arrive.

        Raises:
            OSError: the connection was lost.
        """
        return self._connection.body()

    async def body(self, most: int) -> bytes:
        """The whole body.

        Raises:
            OSError: the connection was lost.
            ResponseTooLargeError: it has more than `most` bytes.
        """
        if (self._connection.head.length or 0) > most:
            raise ResponseTooLargeError
        received = bytearray()  # a list of chunks of one byte each would take fifty times as much memory
        async for chunk in self.chunks():
            received += chunk
            if len(received) > most:
                raise ResponseTooLargeError
        return bytes(received)


class HostConnections:
    """The connections to one host.

    Args:
        host: Name or address.
        port: Port.
        seconds: Timeout for connecting.
        context: Checks certificates; None means no TLS.
    """

    def __init__(self, host: str, port: int, *, seconds: float, context: ssl.SSLContext | None = None) -> None:
        self._host = host
        self._port = port
        self._seconds = seconds
        self._context = context
        if context is not None:
            context.set_alpn_protocols(["http/1.1"])
        self._idle: list[_HostConnection] = []

    async def post(
        self, target: bytes, headers: Headers, body: bytes, *, repeatable: bool
    ) -> tuple[Response, _HostConnection]:
        """Send a request; the caller passes the connection to `release` when it has read the response.

        A server may close an idle connection at the moment at which a request is sent on it. A request that is
        `repeatable` is then sent again on a new one; for others, only a connection that was used just now is taken.

        Raises:
            NotSentError: there is no connection.
            OSError: it was lost. The request may have been carried out.
            ValueError: a header cannot be sent; nothing was.
        """
        request = _request(target, headers, body)
        connection = self._taken(_IDLE_SECONDS if repeatable else _BRIEF_SECONDS)
        if connection is not None:
            try:
                return await self._sent(connection, request)
            except _ClosedBeforeAnswerError:
                if not repeatable:
                    raise
        return await self._sent(await self._opened(), request)

    async def _sent(self, connection: _HostConnection, request: bytes) -> tuple[Response, _HostConnection]:
        try:
            return Response(connection, await connection.send(request)), connection
        except BaseException:
            connection.close()
            raise

    def release(self, connection: _HostConnection) -> None:
        """Keep a connection for the next request, or close it if its response was not read to the end."""
        if connection.is_reusable() and len(self._idle) < _MOST_IDLE:
            self._idle.append(connection)
        else:
            connection.close()

    def close(self) -> None:
        """Close the connections that are not in use."""
        while self._idle:
            self._idle.pop().close()

    def _taken(self, most_seconds: float) -> _HostConnection | None:
        """The connection that was used last, if it still is good; those below it were idle for longer."""
        while self._idle:
            connection = self._idle.pop()
            if connection.is_open(most_seconds):
                return connection
            connection.close()
        return None

    async def _opened(self) -> _HostConnection:
        try:
            async with asyncio.timeout(self._seconds):
                return _HostConnection(
                    *await asyncio.open_connection(self._host, self._port, limit=_PIECE, ssl=self._context)
                )
        except OSError as error:  # TimeoutError is one
            raise NotSentError(str(error) or f"no connection within {self._seconds:g} s") from error


def _request(target: bytes, headers: Headers, body: bytes) -> bytes:
    """A POST request, in one piece so that it is sent in one packet."""
    lines = [b"POST %s HTTP/1.1" % target]
    for name, value in headers:
        line = b"%s: %s" % (name, value)
        if _LINE.fullmatch(line) is None:
            raise ValueError(f"The header {name.decode('latin-1')!r} has a character that cannot be sent.")
        lines.append(line)
    return b"\r\n".join((*lines, b"", body))


class _HostConnection:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._buffer = bytearray()
        self._used = 0.0
        self._is_at_end = False
        self._keep_seconds = _IDLE_SECONDS
        self.head: Head

    async def send(self, request: bytes) -> Head:
        self._is_at_end = False
        self._writer.write(request)
        try:
            await self._writer.drain()
            await self._fill()
        except OSError as error:
            raise _ClosedBeforeAnswerError("the server closed the connection") from error
        for _ in range(_MOST_INTERIM):
            self.head = head = parse_head(await self._head())
            if head.status >= 200:
                self._is_at_end = head.length == 0
                if timeout := _KEEP_ALIVE.search(head.header(b"keep-alive")):
                    self._keep_seconds = int(timeout[1]) / 2
                return head
            if head.status == 101:
                break
        raise MalformedResponseError("it has no final status")

    async def _head(self) -> bytearray:
        """The lines up to the next empty one."""
        start = 0
        while (end := _END_OF_HEAD.search(self._buffer, start)) is None:
            if len(self._buffer) > _LARGEST_HEAD:
                raise MalformedResponseError(f"its headers have more than {_LARGEST_HEAD:,} bytes")
            start = max(0, len(self._buffer) - 2)
            await self._fill()
        head = self._buffer[: end.start()]
        del self._buffer[: end.end()]
        return head

    async def body(self) -> AsyncGenerator[bytes]:
        head, buffer = self.head, self._buffer
        if head.is_chunked:
            chunks = ChunkedBody()
            while True:
                if data := chunks.take(buffer):
                    yield data
                if chunks.ended:
                    break
                await self._fill()
        elif head.length is None:
            while True:
                if buffer:
                    yield bytes(buffer)
                    buffer.clear()
                try:
                    await self._fill()
                except ConnectionError:
                    if self._reader.at_eof() and self._reader.exception() is None:
                        return
                    raise
        else:
            left = head.length
            while left:
                if not buffer:
                    await self._fill()
                data = bytes(buffer[:left])
                del buffer[: len(data)]
                left -= len(data)
                yield data
        self._is_at_end = True

    async def _fill(self) -> None:
        data = await self._reader.read(_PIECE)
        if not data:
            raise ConnectionError("the server closed the connection")
        self._buffer += data

    def is_reusable(self) -> bool:
        """Whether its response was read to the end, nothing came after it, and it may stay open."""
        self._used = time.monotonic()
        return self._is_at_end and not self._buffer and self.head.may_stay_open

    def is_open(self, most_seconds: float) -> bool:
        """Whether it can still be used: one that has something to read is closed, or out of step."""
        if self._reader.at_eof() or time.monotonic() - self._used > min(most_seconds, self._keep_seconds):
            return False
        if sys.platform == "win32":  # `poll` is not there, and `select` takes few sockets
            return True
        poll = select.poll()
        poll.register(self._writer.get_extra_info("socket"), select.POLLIN)
        return not poll.poll(0)

    def close(self) -> None:
        self._writer.transport.abort()


_STATUS_LINE = re.compile(rb"HTTP/1\.([01]) ([1-9][0-9]{2})(?: ([\t\x20-\x7e\x80-\xff]*))?")
_HEADER = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([\t\x20-\x7e\x80-\xff]*?)[ \t]*")
_LENGTH = re.compile(rb"[0-9]{1,20}")
_CHUNK = re.compile(rb"([0-9A-Fa-f]{1,16})(?:;[\t\x20-\x7e\x80-\xff]*)?[ \t]*")
_LONGEST_CHUNK_LINE = 4_096
_LONGEST_TRAILERS = 16_384


class MalformedResponseError(ConnectionError):
    """What the server sent is not a response of HTTP/1.1."""


class ResponseTooLargeError(Exception):
    """A response is larger than allowed."""


@dataclass(frozen=True, slots=True)
class Head:
    """The status and the headers of a response."""

    status: int
    reason: str
    headers: dict[bytes, list[bytes]]
    """By their names in lower case."""
    length: int | None
    """Bytes of the body; None if it is chunked, or ends with the connection."""
    is_chunked: bool
    may_stay_open: bool
    """Whether the connection can be used for another request after the body."""

    def header(self, name: bytes) -> str:
        """The values of a header, joined by commas; empty if there is none."""
        return b", ".join(self.headers.get(name, ())).decode("latin-1")


def parse_head(data: bytes | bytearray) -> Head:
    """The head of a response, without the empty line that ends it.

    Raises:
        MalformedResponseError: it is not one, or the length of its body is ambiguous.
    """
    first, *lines = [line[:-1] if line.endswith(b"\r") else line for line in bytes(data).split(b"\n")]
    match = _STATUS_LINE.fullmatch(first)
    if match is None:
        raise MalformedResponseError("it is not HTTP/1.1")
    headers: dict[bytes, list[bytes]] = {}
    for line in lines:
        found = _HEADER.fullmatch(line)
        if found is None:
            raise MalformedResponseError("a header is malformed")
        headers.setdefault(found[1].lower(), []).append(found[2])
    status = int(match[2])
    length, is_chunked = _framing(status, headers)
    tokens = {token.strip().lower() for value in headers.get(b"connection", ()) for token in value.split(b",")}
    is_framed_once = not (is_chunked and b"content-length" in headers)
    may_stay_open = match[1] == b"1" and b"close" not in tokens and (is_chunked or length is not None)
    reason = (match[3] or b"").decode("latin-1")
    return Head(status, reason, headers, length, is_chunked, may_stay_open and is_framed_once)


def _framing(status: int, headers: dict[bytes, list[bytes]]) -> tuple[int | None, bool]:
    """The length of the body, and whether it is chunked (RFC 9112, section 6.3)."""
    codings = headers.get(b"transfer-encoding")
    if codings is not None and [coding.lower() for coding in codings] != [b"chunked"]:
        raise MalformedResponseError("its transfer encoding is not chunked")
    lengths = {length.strip() for value in headers.get(b"content-length", ()) for length in value.split(b",")}
    if len(lengths) > 1 or not all(map(_LENGTH.fullmatch, lengths)):
        raise MalformedResponseError("its Content-Length is invalid")
    if status < 200 or status in (204, 304):
        return 0, False
    return (None, True) if codings is not None else (int(lengths.pop()) if lengths else None, False)


class ChunkedBody:
    """Takes the data out of a chunked body."""

    def __init__(self) -> None:
        self._left = 0
        self._state = "size"
        self._trailers = 0
        self.ended = False

    def take(self, buffer: bytearray) -> bytes:
        """Remove what can be parsed from `buffer`, and return the data in it.

        Raises:
            MalformedResponseError: it is not a chunked body.
        """
        data = bytearray()
        at = 0  # removed at the end: a buffer of small chunks would be moved for each of them
        while not self.ended:
            if self._state == "data":
                piece = buffer[at : at + self._left]
                data += piece
                at += len(piece)
                self._left -= len(piece)
                if self._left:
                    break
                self._state = "end of data"
            if self._state == "end of data":
                end = bytes(buffer[at : at + 2])
                if len(end) < 2 and b"\r\n".startswith(end):
                    break
                if end != b"\r\n":
                    raise MalformedResponseError("a chunk has no end")
                at += 2
                self._state = "size"
            line = self._line(buffer, at)
            if line is None:
                break
            at += len(line) + 2
            if self._state == "trailers":
                self._trailers += len(line) + 2
                if self._trailers > _LONGEST_TRAILERS or (line and _HEADER.fullmatch(line) is None):
                    raise MalformedResponseError("its trailers are malformed")
                self.ended = not line
                continue
            size = _CHUNK.fullmatch(line)
            if size is None:
                raise MalformedResponseError("a chunk has no size")
            self._left = int(size[1], 16)
            self._state = "data" if self._left else "trailers"
        del buffer[:at]
        return bytes(data)

    @staticmethod
    def _line(buffer: bytearray, at: int) -> bytes | None:
        end = buffer.find(b"\r\n", at)
        if (end if end >= 0 else len(buffer)) - at > _LONGEST_CHUNK_LINE:
            raise MalformedResponseError("a line of its chunks is too long")
        return None if end < 0 else bytes(buffer[at:end])
