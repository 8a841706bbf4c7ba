"""An HTTP client that bounds the bodies of responses, which the client of the `mcp` package reads as a whole.

Of a stream of events, each event is bounded.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

from ...errors import MissingExtra
from .message_lines import LONGEST_MESSAGE
from .messages.large_events import LargeEvents, TooLargeError

try:
    import httpx2
except ImportError as error:
    raise MissingExtra("mcp", "mcp") from error

__all__ = ["BoundedClient"]

_PIECE = 1 << 16


class BoundedClient(httpx2.AsyncClient):
    """An HTTP client for one server.

    Args:
        name: The name of the server, for errors.
        events: Keeps the large events of streams.
        options: As those of `httpx2.AsyncClient`.
    """

    def __init__(self, name: str, events: LargeEvents, **options: Any) -> None:
        super().__init__(**options)
        self._name = name
        self._events = events

    async def send(self, request: httpx2.Request, *, stream: bool = False, **options: Any) -> httpx2.Response:
        """Send a request. The body of a streamed response is bounded."""
        response = await super().send(request, stream=stream, **options)
        if not stream:
            return response
        if response.headers.get("content-type", "").lower().startswith("text/event-stream"):
            return _EventStream(response, self._name, self._events)
        return _BoundedResponse(response, self._name)


class _Response(httpx2.Response):
    """A response as it came, for one server."""

    def __init__(self, response: httpx2.Response, name: str) -> None:
        super().__init__(
            response.status_code,
            headers=response.headers,
            stream=response.stream,
            request=response.request,
            extensions=response.extensions,
            history=response.history,
        )
        self._server_name = name

    def _too_large(self) -> httpx2.StreamError:
        # The mcp client answers the request with the message of this error.
        return httpx2.StreamError(
            f"The server {self._server_name!r} sent a message of more than {LONGEST_MESSAGE:,} bytes, "
            "which is the limit. Ask it for less at once."
        )


class _EventStream(_Response):
    def __init__(self, response: httpx2.Response, name: str, events: LargeEvents) -> None:
        super().__init__(response, name)
        self._events = events

    async def aiter_text(self, chunk_size: int | None = None) -> AsyncGenerator[str, None]:
        async with aclosing(self._events.shortened(super().aiter_text(chunk_size))) as parts:
            try:
                async for text in parts:
                    yield text
            except TooLargeError as error:
                raise self._too_large() from error


class _BoundedResponse(_Response):
    async def aiter_bytes(self, chunk_size: int | None = None) -> AsyncGenerator[bytes, None]:
        size, held = 0, bytearray()  # small chunks are joined: each takes memory of its own
        async with aclosing(super().aiter_bytes(chunk_size)) as parts:
            async for part in parts:
                size += len(part)
                if size > LONGEST_MESSAGE:
                    raise self._too_large()
                held += part
                if len(held) >= _PIECE:
                    yield bytes(held)
                    held.clear()
        if held:
            yield bytes(held)
