"""JSON-RPC messages, one per line, as the streams that the `mcp` package reads from and writes to.

The package's own transports pass each message through a memory stream to a task that writes it, and another the other
way: four tasks that wake each other for one call. These streams read and write in the task that uses them.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import suppress

from ...common.unicode import well_formed
from ...errors import MissingExtra
from ._malformed import error_for
from .messages.closing import Closing

try:
    import anyio
    from mcp import types
    from mcp.shared.message import SessionMessage
except ImportError as error:
    raise MissingExtra("mcp", "mcp") from error

__all__ = ["GONE", "LONGEST_MESSAGE", "MessageReader", "MessageWriter"]

LONGEST_MESSAGE = 64_000_000
"""Maximum size of a message of a server, in bytes: it is held in memory."""

GONE = (anyio.ClosedResourceError, anyio.BrokenResourceError, anyio.EndOfStream, OSError)
"""What reading and writing raise when the other side is gone."""


class MessageReader(Closing):
    """Parses messages from chunks of bytes.

    Args:
        read: Returns the next chunk; at the end, returns nothing or raises one of `GONE`.
        longest: Maximum number of bytes of a line.
        on_end: Called once at the end, with whether a line was too long, after which nothing is read.
    """

    def __init__(
        self, read: Callable[[], Awaitable[bytes]], *, longest: int, on_end: Callable[[bool], None] = lambda _: None
    ) -> None:
        self._read = read
        self._longest = longest
        self._on_end = on_end
        self._lines: deque[bytes] = deque()
        self._rest: list[bytes] = []  # chunks of an incomplete line
        self._held = 0
        self._ended = False
        self._reading: anyio.CancelScope | None = None

    async def receive(self) -> SessionMessage | Exception:
        """The next message, or the error of a line that is not one.

        Raises:
            anyio.EndOfStream: there are no more messages.
        """
        while not self._lines:
            if self._ended:
                raise anyio.EndOfStream
            await self._fill()
        return _message(self._lines.popleft())

    def end(self) -> None:
        """End the stream, also for a pending `receive`."""
        if self._reading is None:
            self._finish(too_long=False)
        else:  # the pending `receive` finishes it
            self._reading.cancel()

    async def aclose(self) -> None:
        """Close the stream."""
        self.end()

    def __aiter__(self) -> MessageReader:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def _fill(self) -> None:
        piece = b""
        self._reading = scope = anyio.CancelScope()
        try:
            with scope, suppress(*GONE):
                piece = await self._read()
        finally:
            self._reading = None
        if not piece or scope.cancel_called:
            self._finish(too_long=False)
            return
        first, *more = piece.split(b"\n")
        self._rest.append(first)
        self._held += len(first)
        if more:
            self._lines.append(b"".join(self._rest))
            self._lines.extend(more[:-1])
            self._rest, self._held = [more[-1]], len(more[-1])
        if self._held > self._longest:
            self._finish(too_long=True)

    def _finish(self, *, too_long: bool) -> None:
        if not self._ended:
            self._ended = True
            self._on_end(too_long)


class MessageWriter(Closing):
    """Writes messages as bytes.

    Args:
        write: Writes the bytes of a line; waits while the other side is slow.
        on_gone: Called when the other side is gone.
    """

    def __init__(self, write: Callable[[bytes], Awaitable[None]], *, on_gone: Callable[[], None]) -> None:
        self._write = write
        self._on_gone = on_gone
        self._closed = False

    async def send(self, item: SessionMessage, /) -> None:
        """Write a message.

        Raises:
            anyio.ClosedResourceError: this end is closed.
            anyio.BrokenResourceError: the other side is gone.
        """
        if self._closed:
            raise anyio.ClosedResourceError
        line = item.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n"
        try:
            await self._write(line)
        except GONE as error:
            self._on_gone()
            raise anyio.BrokenResourceError from error

    async def aclose(self) -> None:
        """Close the stream."""
        self._closed = True


def _message(line: bytes) -> SessionMessage | Exception:
    try:
        return SessionMessage(types.jsonrpc_message_adapter.validate_json(line, by_name=False))
    except ValueError as error:
        text = line.decode("utf-8", "replace")
        try:  # invalid UTF-8 and escaped lone surrogates cost a character, not the message
            text = well_formed(json.dumps(json.loads(text), ensure_ascii=False))
            return SessionMessage(types.jsonrpc_message_adapter.validate_json(text, by_name=False))
        except (ValueError, RecursionError):
            return error_for(text) or error
