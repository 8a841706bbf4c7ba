"""An HTTP client that bounds the bodies of responses, which the client of the `mcp` package reads as a whole."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

from ...errors import MissingExtra
from .message_lines import LONGEST_MESSAGE

try:
    import httpx2
except ImportError as error:
    raise MissingExtra("mcp", "mcp") from error

__all__ = ["BoundedClient"]

_PIECE = 1 << 16


class BoundedClient(httpx2.AsyncClient):
    """An HTTP client for one server. The events of a stream are bounded by the `mcp` package.

    Args:
        name: The name of the server, for errors.
        options: As those of `httpx2.AsyncClient`.
    """

    def __init__(self, name: str, **options: Any) -> None:
        super().__init__(**options)
        self._name = name

    async def send(self, request: httpx2.Request, *, stream: bool = False, **options: Any) -> httpx2.Response:
        """Send a request. The body of a streamed response is bounded."""
        response = await super().send(request, stream=stream, **options)
        if not stream or response.headers.get("content-type", "").lower().startswith("text/event-stream"):
            return response
        return _BoundedResponse(response, self._name)


class _BoundedResponse(httpx2.Response):
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

    async def aiter_bytes(self, chunk_size: int | None = None) -> AsyncGenerator[bytes, None]:
        size, held = 0, bytearray()  # small chunks are joined: each takes memory of its own
        async with aclosing(super().aiter_bytes(chunk_size)) as parts:
            async for part in parts:
                size += len(part)
                if size > LONGEST_MESSAGE:
                    # The mcp client answers the request with the message of this error.
                    raise httpx2.StreamError(
                        f"The server {self._server_name!r} sent a message of more than {LONGEST_MESSAGE:,} bytes, "
                        "which is the limit. Ask it for less at once."
                    )
                held += part
                if len(held) >= _PIECE:
                    yield bytes(held)
                    held.clear()
        if held:
            yield bytes(held)
