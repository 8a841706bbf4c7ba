"""The HTTP server of `hikidashi serve --http`: uvicorn, with each response in one packet."""

from __future__ import annotations

import asyncio
from typing import Any

import uvicorn
from uvicorn.protocols.http.auto import AutoHTTPProtocol

__all__ = ["http_server"]

_GRACE = 2  # seconds that requests have to end by themselves; those that listen for changes never do
_IDLE_SECONDS = 75
"""Much longer than clients keep a connection: most drop it after 5 s, which is the default here too. A server that
closes at the same moment as a client sends makes the request fail."""
_MOST_HELD = 1 << 16  # bytes


def http_server(app: Any, host: str, port: int) -> uvicorn.Server:
    """A server of the ASGI application `app`."""
    config = uvicorn.Config(
        app,
        host=host,
        port=port,
        http=_Protocol,
        log_level="warning",
        access_log=False,
        lifespan="on",
        timeout_keep_alive=_IDLE_SECONDS,
        timeout_graceful_shutdown=_GRACE,
    )
    return uvicorn.Server(config)


class _Protocol(AutoHTTPProtocol):
    """uvicorn's protocol, which writes the head and the body of a response separately: a client wakes up twice then."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._one_write = _OneWrite(transport)
        super().connection_made(self._one_write)

    def on_response_complete(self) -> None:
        """Called by uvicorn when it has written the end of a response."""
        self._one_write.flush()
        complete: Any = super()
        complete.on_response_complete()


class _OneWrite(asyncio.Transport):
    """A transport that holds what is written until it is flushed, or the event loop runs again."""

    def __init__(self, inner: Any) -> None:
        super().__init__()
        self._inner = inner
        self._held: list[bytes | bytearray | memoryview[Any]] = []
        self._size = 0

    def write(self, data: bytes | bytearray | memoryview[Any]) -> None:
        if not self._held:
            asyncio.get_running_loop().call_soon(self.flush)
        self._held.append(data)
        self._size += len(data)
        if self._size > _MOST_HELD:
            self.flush()

    def flush(self) -> None:
        if self._held:
            data, self._held, self._size = b"".join(self._held), [], 0
            self._inner.write(data)

    def close(self) -> None:
        self.flush()
        self._inner.close()

    def abort(self) -> None:
        self._held = []
        self._inner.abort()

    def is_closing(self) -> bool:
        return self._inner.is_closing()

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return self._inner.get_extra_info(name, default)

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        self._inner.set_protocol(protocol)

    def pause_reading(self) -> None:
        self._inner.pause_reading()

    def resume_reading(self) -> None:
        self._inner.resume_reading()
