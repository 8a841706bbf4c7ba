"""Serves any search provider through Tavily's HTTP API, for clients with a configurable base URL.

    provider = LocalSearchProvider()
    with SearchServer(provider, port=8765) as server:
        TavilyClient("any-key", api_base_url=server.url).search("…")

HTTP is uvicorn's. It runs in a thread of its own, with the provider in the same event loop.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import socket
import threading
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, Self

import uvicorn
from starlette.requests import ClientDisconnect, Request
from uvicorn.protocols.http.h11_impl import H11Protocol

from ..common.urls import is_loopback, is_loopback_url
from ..errors import HikidashiError, TavilyAPIError
from .provider import SearchProvider
from .request import CrawlOptions, ExtractOptions, SearchRequest
from .results import CrawlResults, ExtractResults, MapResults, SearchHit
from .tavily_api import (
    APIAnswer,
    APIRefusal,
    ExtractBody,
    MapBody,
    SearchBody,
    bad_request,
    check_key,
    crawl_answer,
    crawl_request,
    error_answer,
    extract_answer,
    extract_request,
    failure_answer,
    map_answer,
    map_request,
    search_answer,
    search_request,
    usage_answer,
)

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

logger = logging.getLogger("hikidashi")

_METHODS = {"/search": "POST", "/extract": "POST", "/crawl": "POST", "/map": "POST", "/usage": "GET"}
_DAYS_OF_CLIENT = 7
_SAME_IN_REQUEST = {
    "search_depth",
    "include_answer",
    "topic",
    "time_range",
    "end_date",
    "include_domains",
    "exclude_domains",
    "country",
}
_Body = ExtractBody | MapBody
_Results = ExtractResults | CrawlResults | MapResults
_CHARGED = ("search", "extract", "crawl", "map")
_SHARE_OF_TIME = 0.9  # of the request timeout, after which a crawl returns what it has
_LONGEST_QUERY = 1_000  # the limit of the tools, which is higher than Tavily's
_PIECE = 256 * 1024  # bytes of an answer that are written at once
# Closing a connection while its client still sends may reset it and lose the answer.
_LINGER_SECONDS = 1.0
_LINGER_BYTES = 256 * 1024
_MOST_LINGERING = 256
_NO_ROOM = b"HTTP/1.1 503 Service Unavailable\r\ncontent-length: 0\r\nretry-after: 1\r\nconnection: close\r\n\r\n"


@dataclass(frozen=True, kw_only=True, slots=True)
class ServerLimits:
    """Limits on what one client may use of this process; who exceeds one gets an error if possible, and is let go."""

    body_bytes: int = 1_000_000
    """A request with a longer body is answered with 413."""
    idle_seconds: float = 120.0
    """Time between two requests of a connection."""
    head_seconds: float = 10.0
    """Time for the head of a request, from its first byte on."""
    body_seconds: float = 20.0
    """Time for the body."""
    write_seconds: float = 30.0
    """Time for a client to read a response."""
    connections: int = 512
    """Connections at once; others are answered with 503."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Served:
    """A served request, without its content."""

    method: str
    path: str
    status: int
    seconds: float


class SearchServer:
    """Tavily's `/search`, `/extract`, `/crawl`, `/map` and `/usage`, answered by `provider`.

    Filters and options are passed to the provider; those it does not support, and unknown ones, get status 400 with
    their name. The raw content of a page is its extraction by the provider. Closing the server closes the provider.

    Use it as a context manager, plain or `async`, or call `start()` and `close()`.

    Args:
        provider: The search provider.
        host: The address to listen on. On a loopback address, requests with another `Host` are refused, against
            DNS rebinding by web pages.
        port: The port; 0 chooses a free one.
        api_key: The key that clients must send; with `None` any key or none is accepted.
        timeout: Seconds per request.
        on_served: Called after each response, in the thread of the server.
    """

    def __init__(
        self,
        provider: SearchProvider,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        api_key: str | None = None,
        timeout: float = 60.0,
        on_served: Callable[[Served], None] | None = None,
    ) -> None:
        self.limits = ServerLimits()
        self.lingering = 0
        """Connections that were refused and are not closed yet."""
        self._provider = provider
        self._where = (host, port)
        self._api_key = api_key
        self._timeout = timeout
        self._on_served = on_served
        self._only_local_names = is_loopback(host)
        self._listening: tuple[socket.socket, uvicorn.Server, threading.Thread] | None = None
        self._spent: dict[str, float] = dict.fromkeys(_CHARGED, 0.0)

    @property
    def url(self) -> str:
        """The address of the running server, such as `http://127.0.0.1:49152`."""
        if self._listening is None:
            raise RuntimeError("SearchServer is not running. Use it in a `with` block, or call `start()`.")
        host, port = self._listening[0].getsockname()[:2]
        return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"

    def start(self) -> Self:
        """Start listening, and return the server.

        Raises:
            OSError: the port is in use, or the address is not local.
        """
        if self._listening is not None:
            return self
        listener = _listener(*self._where)
        connection: Any = partial(_Connection, self)  # instead of the class that uvicorn would take by itself
        config = uvicorn.Config(
            self._serve,
            interface="asgi3",
            http=connection,
            ws="none",
            proxy_headers=False,
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            headers=[("server", "hikidashi")],
            timeout_graceful_shutdown=2,
        )
        server = uvicorn.Server(config)
        thread = threading.Thread(
            target=lambda: asyncio.run(self._run(server, listener)), name="hikidashi-search", daemon=True
        )
        self._listening = (listener, server, thread)
        thread.start()
        return self

    def close(self) -> None:
        """Cancel running requests, stop listening, and close the provider."""
        if self._listening is not None:
            listener, server, thread = self._listening
            self._listening = None
            server.should_exit = True
            thread.join()
            listener.close()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self.start()

    async def __aexit__(self, *_: object) -> None:
        await asyncio.to_thread(self.close)

    async def _run(self, server: uvicorn.Server, listener: socket.socket) -> None:
        try:
            await server.serve(sockets=[listener])
        finally:
            await self._provider.aclose()

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request: the ASGI application."""
        began = time.monotonic()
        request = _LimitedRequest(scope, receive, self.limits)
        try:
            answer = await self._answer_or_failure(request)
            async with asyncio.timeout(self.limits.write_seconds):
                await _write(answer, request, send)
        except (ClientDisconnect, TimeoutError):
            request.state.abort()
            return
        except asyncio.CancelledError:
            return  # the server closes, and has cut the connection
        if self._on_served is not None:
            seconds = time.monotonic() - began
            self._on_served(Served(method=request.method, path=request.url.path, status=answer.status, seconds=seconds))

    async def _answer_or_failure(self, request: _LimitedRequest) -> APIAnswer:
        try:
            return await self._answer(request)
        except APIRefusal as refused:
            return refused.answer
        except TavilyAPIError as error:
            return failure_answer(error)
        except HikidashiError as error:
            return error_answer(500, str(error))
        except ClientDisconnect:
            raise
        except Exception as error:
            logger.error("A request could not be answered.", exc_info=error)
            return error_answer(500, "Internal Server Error")

    async def _answer(self, request: _LimitedRequest) -> APIAnswer:
        headers = request.headers
        if self._only_local_names and not is_loopback_url(f"//{headers.get('host', '')}"):
            raise APIRefusal(error_answer(403, "Forbidden: call this server as 127.0.0.1 or localhost."))
        if request.method == "POST":
            _check_not_from_a_web_page(headers)
        path = request.url.path
        if self._api_key is not None and _METHODS.get(path) == request.method:
            check_key(headers, {self._api_key})
        match request.method, path:
            case "GET" | "HEAD", "/":
                about = {"service": "hikidashi", "provider": self._provider.name, "routes": list(_METHODS)}
                return APIAnswer(200, about, {"content-type": "application/json"})
            case "POST", "/search":
                search = search_request(await request.whole_body(), longest_query=_LONGEST_QUERY, strict=True)
                return await self._within(self._search(search), search.timeout)
            case "POST", "/extract":
                extract = extract_request(await request.whole_body(), strict=True)
                work = self._provider.extract(extract.addresses, options=extract.options)
                return await self._within(self._charged("extract", extract, work, extract_answer), extract.timeout)
            case "POST", "/crawl":
                crawl = crawl_request(await request.whole_body(), strict=True)
                pages = self._provider.crawl(crawl.url, options=self._crawl_options(crawl))
                return await self._within(self._charged("crawl", crawl, pages, crawl_answer))
            case "POST", "/map":
                wanted = map_request(await request.whole_body(), strict=True)
                found = self._provider.map(wanted.url, options=self._crawl_options(wanted))
                return await self._within(self._charged("map", wanted, found, map_answer))
            case "GET", "/usage":
                return usage_answer(**self._spent, plan=self._provider.name)
            case _ if path == "/" or path in _METHODS:
                raise APIRefusal(error_answer(405, "Method Not Allowed"))
            case _:
                raise APIRefusal(error_answer(404, f"Not Found: this server knows {', '.join(_METHODS)}."))

    async def _within(self, work: Awaitable[APIAnswer], seconds: float | None = None) -> APIAnswer:
        limit = self._timeout if seconds is None else min(seconds, self._timeout)
        try:
            return await asyncio.wait_for(work, limit)
        except TimeoutError as error:
            message = f"The {self._provider.name} provider took more than {limit:g} seconds."
            raise APIRefusal(error_answer(504, message)) from error

    async def _search(self, body: SearchBody) -> APIAnswer:
        began = time.monotonic()
        found = await self._provider.search(_search_request(body))
        hits = found.results[: body.max_results]
        raw, extract_credits = await self._raw_contents(hits, body) if body.include_raw_content else ({}, 0.0)
        charged = (found.credits or 0.0) + extract_credits
        self._spent["search"] += charged
        seconds = time.monotonic() - began
        return search_answer(body, hits, answer=found.answer, raw_contents=raw, seconds=seconds, credits=charged)

    async def _raw_contents(self, hits: Sequence[SearchHit], body: SearchBody) -> tuple[dict[str, str], float]:
        """The full text of the pages by URL, and its cost."""
        urls = list(dict.fromkeys(hit.url for hit in hits))
        if not urls:
            return {}, 0.0
        options = ExtractOptions(format="text" if body.include_raw_content == "text" else "markdown")
        pages = await self._provider.extract(urls, options=options)
        return {page.url: page.raw_content for page in pages.results}, pages.credits or 0.0

    async def _charged(
        self, kind: str, body: _Body, work: Awaitable[_Results], answer: Callable[..., APIAnswer]
    ) -> APIAnswer:
        """The answer with what `work` gives, and its cost, which is counted."""
        began = time.monotonic()
        results = await work
        charged = results.credits or 0.0
        self._spent[kind] += charged
        return answer(body, results, seconds=time.monotonic() - began, credits=charged)

    def _crawl_options(self, body: MapBody) -> CrawlOptions:
        return body.options(most_seconds=self._timeout * _SHARE_OF_TIME)


class _LimitedRequest(Request):
    """A request whose body is read only when it is asked for, within the limits."""

    def __init__(self, scope: Scope, receive: Receive, limits: ServerLimits) -> None:
        super().__init__(scope, receive)
        self._limits = limits
        self._is_read = False

    @property
    def has_unread_body(self) -> bool:
        """Whether a body was announced and not read."""
        announced = "transfer-encoding" in self.headers or self.headers.get("content-length", "0").strip() != "0"
        return announced and not self._is_read

    async def whole_body(self) -> bytes:
        """The body.

        Raises:
            APIRefusal: it is too long, or too slow.
            ClientDisconnect: the client is gone.
        """
        most = self._limits.body_bytes
        too_long = APIRefusal(error_answer(413, f"The body has more than {most:,} bytes."))
        length = self.headers.get("content-length", "")
        if length.isdecimal() and int(length) > most:
            raise too_long
        body = bytearray()
        try:
            async with asyncio.timeout(self._limits.body_seconds):
                async for piece in self.stream():
                    body += piece
                    if len(body) > most:
                        raise too_long
        except TimeoutError as error:
            message = f"The body did not arrive within {self._limits.body_seconds:g} seconds."
            raise APIRefusal(error_answer(408, message)) from error
        self._is_read = True
        return bytes(body)

    async def drain(self) -> None:
        """Read some of what still arrives, before the connection is closed."""
        size = 0
        try:
            async with asyncio.timeout(_LINGER_SECONDS):
                async for piece in self.stream():
                    size += len(piece)
                    if size > _LINGER_BYTES:
                        return
        except (ClientDisconnect, RuntimeError, TimeoutError):  # RuntimeError: a part of the body was read before
            return


async def _write(answer: APIAnswer, request: _LimitedRequest, send: Send) -> None:
    """Send an answer piece by piece, each when the client has read those before."""
    body = answer.wire()
    headers = {**answer.headers, "content-length": str(len(body))}
    if request.has_unread_body:
        headers["connection"] = "close"  # what is left of the body would be taken for the next request
    encoded = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": answer.status, "headers": encoded})
    start = 0
    while request.has_unread_body or len(body) - start > _PIECE:
        await send({"type": "http.response.body", "body": body[start : start + _PIECE], "more_body": True})
        start += _PIECE
        if start >= len(body):
            await request.drain()
            break
    await send({"type": "http.response.body", "body": body[start:]})


class _Connection(H11Protocol):
    """A connection of uvicorn with what it lacks: a deadline for each part of a request, and for idle clients."""

    def __init__(self, server: SearchServer, **options: Any) -> None:
        super().__init__(**options)
        self.logger = _SILENT
        self.app_state = {**self.app_state, "abort": self._abort}
        self._server = server
        self._deadline: asyncio.TimerHandle | None = None
        self._has_begun = False
        self._is_refused = False

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        limits = self._server.limits
        if len(self.connections) > limits.connections:
            self._refuse()
        else:
            self._expect(limits.idle_seconds)

    def data_received(self, data: bytes) -> None:
        if self._is_refused:
            return
        if not self._has_begun:
            self._has_begun = True
            self._expect(self._server.limits.head_seconds)
        super().data_received(data)
        if self._is_answering:
            self._expect(None)

    def on_response_complete(self) -> None:
        """Called by uvicorn when it has written the end of a response."""
        self._has_begun = False
        self._expect(self._server.limits.idle_seconds)
        super().on_response_complete()
        if self._is_answering:  # the next request had come already
            self._expect(None)

    def shutdown(self) -> None:
        """Called by uvicorn when the server closes: nothing that runs is waited for."""
        self._abort()
        for task in self.tasks:
            task.cancel()

    def connection_lost(self, exc: Exception | None) -> None:
        self._expect(None)
        if self._is_refused:
            self._server.lingering -= 1
        super().connection_lost(exc)

    @property
    def _is_answering(self) -> bool:
        cycle: Any = self.cycle  # None before the first request, against its annotation
        return cycle is not None and not cycle.response_complete

    def _abort(self) -> None:
        self.transport.abort()

    def _expect(self, seconds: float | None) -> None:
        """Close the connection in so many seconds, in place of an earlier deadline."""
        if self._deadline is not None:
            self._deadline.cancel()
        self._deadline = None if seconds is None else self.loop.call_later(seconds, self._abort)

    def _refuse(self) -> None:
        self._is_refused = True
        self._server.lingering += 1
        self.connections.discard(self)
        self.transport.write(_NO_ROOM)  # it fits into any buffer, so a slow client blocks nothing
        self.transport.write_eof()
        self._expect(_LINGER_SECONDS if self._server.lingering <= _MOST_LINGERING else 0)


_SILENT = logging.Logger("uvicorn.error", logging.CRITICAL + 1)  # stderr belongs to the program


def _listener(host: str, port: int) -> socket.socket:
    """A socket that listens: what connects from now on is answered as soon as uvicorn runs."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # Without the protocol asyncio leaves Nagle's algorithm on, and each answer waits 40 ms for an acknowledgement.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(1024)
    except OSError as error:
        listener.close()
        raise _cannot_listen(error, host, port) from error
    return listener


def _search_request(body: SearchBody) -> SearchRequest:
    start = body.start_date
    # tavily-python always sends 7 with `qna_search` and `get_search_context`, which Tavily applies to news only.
    by_itself = body.days == _DAYS_OF_CLIENT and body.topic != "news"
    if body.days is not None and not by_itself:
        if start is not None or body.time_range is not None:
            raise bad_request("`days` cannot go with `start_date` or `time_range`. Give one or the other.")
        start = (datetime.now(UTC).date() - timedelta(days=body.days)).isoformat()
    same: dict[str, Any] = body.model_dump(include=_SAME_IN_REQUEST)
    return SearchRequest.of(body.query, max_results=max(body.max_results, 1), start_date=start, **same)


def _check_not_from_a_web_page(headers: Mapping[str, str]) -> None:
    """Raise for a cross-site request from a browser, which would spend credits without the user's knowledge.

    A browser sends `Origin` with every POST, and JSON to another origin only after a preflight request.
    """
    origin = headers.get("origin")
    if origin is not None and origin != f"http://{headers.get('host', '')}":
        raise APIRefusal(
            error_answer(403, f"Forbidden: requests of web pages (origin {origin!r:.80}) are not answered.")
        )
    kind = headers.get("content-type", "application/json").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise APIRefusal(error_answer(415, f"The body must be application/json, not {kind!r:.80}."))


def _cannot_listen(error: OSError, host: str, port: int) -> OSError:
    match error.errno:
        case errno.EADDRINUSE:
            reason = f"Port {port} of {host} is in use. Stop the program that uses it, or choose another port."
        case errno.EACCES:
            reason = f"Port {port} of {host} is not allowed for this user. Choose a port from 1024 on."
        case _:
            reason = f"Cannot listen on {host!r}, port {port}: {error.strerror}. Use an address of this machine."
    return OSError(error.errno, reason)
