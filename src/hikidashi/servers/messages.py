"""Messages between the `mcp` package and a connection: streams with hooks for each, and lists repaired in them.

The `mcp` package refuses a list as a whole, so that one tool without `type` in its schema would cost all others.
"""

from __future__ import annotations

import asyncio
import json
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import Any, Self

import anyio
from mcp import types
from mcp.shared.message import SessionMessage
from pydantic_core import PydanticSerializationError, to_json

from ..common.json import is_object
from ..common.unicode import well_formed


class Closing(ABC):
    """Base class of streams."""

    @abstractmethod
    async def aclose(self) -> None:
        """Close the stream."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc_val: BaseException | None, exc_tb: TracebackType | None
    ) -> None:
        await self.aclose()


BROKEN = (anyio.ClosedResourceError, anyio.BrokenResourceError)
"""What a stream raises when the other side is gone."""


class FilteredStream(Closing):
    """The messages of `inner` that `take` does not take: where it returns True, it has handled the message."""

    def __init__(self, inner: Any, take: Callable[[types.JSONRPCMessage], bool | None]) -> None:
        self._inner = inner
        self._take = take

    async def _end(self) -> None:
        """Called when there are no more messages, and when the stream is closed."""

    async def receive(self) -> Any:
        """The next message for the package.

        Raises:
            anyio.EndOfStream: there are no more messages.
        """
        while True:
            try:
                item = await self._inner.receive()
            except BaseException:
                await self._end()
                raise
            if not isinstance(item, SessionMessage) or not self._take(item.message):
                return item

    async def aclose(self) -> None:
        """Close the stream."""
        await self._end()
        await self._inner.aclose()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Any:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None


class WatchedSends(Closing):
    """The stream `inner`, to which messages are sent after `see` has seen them, which may change them."""

    def __init__(self, inner: Any, see: Callable[[types.JSONRPCMessage], None]) -> None:
        self._inner = inner
        self._see = see

    async def send(self, item: SessionMessage, /) -> None:
        """Send a message."""
        self._see(item.message)
        await self._inner.send(item)

    async def aclose(self) -> None:
        """Close the stream."""
        await self._inner.aclose()


def encoded(message: dict[str, Any]) -> bytes:
    """`message` as JSON."""
    try:
        return to_json(message)
    except (PydanticSerializationError, UnicodeError):  # lone surrogates, which JSON can escape
        return json.dumps(message, separators=(",", ":")).encode()


_KINDS: tuple[tuple[type, str], ...] = ((dict, "an object"), (list, "an array"), (str, "a string"), (bool, "a boolean"))


def error_for(line: str) -> SessionMessage | None:
    """The error in place of a malformed response; None if `line` does not name its request."""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not is_object(value) or "method" in value:
        return None
    answer = value
    id_ = answer.get("id")
    if not isinstance(id_, str | int) or isinstance(id_, bool):
        return None
    shown = ", ".join(f"`{key}` is {_kind(answer[key])}" for key in ("result", "error") if key in answer)
    failure = types.ErrorData(
        code=types.INTERNAL_ERROR,
        message=f"The server sent an invalid response: {shown or 'it has neither `result` nor `error`'}.",
    )
    return SessionMessage(types.JSONRPCError(jsonrpc="2.0", id=id_, error=failure))


def _kind(value: object) -> str:
    for kind, name in _KINDS:
        if isinstance(value, kind):
            return name
    return "null" if value is None else "a number"


_PIECE = 1 << 16
LONGEST_MESSAGE = 64_000_000
"""Maximum size of a message of a server, in bytes: it is held in memory."""

GONE = (anyio.ClosedResourceError, anyio.BrokenResourceError, anyio.EndOfStream, OSError)
"""What reading and writing raise when the other side is gone."""


class MessageReader(Closing):
    """Parses the messages on the lines of a stream.

    Args:
        stream: Where they are read from.
        longest: Maximum number of bytes of a line.
        on_end: Called once at the end, with whether a line was too long, after which nothing is read.
    """

    def __init__(
        self, stream: asyncio.StreamReader, *, longest: int, on_end: Callable[[bool], None] = lambda _: None
    ) -> None:
        self._stream = stream
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
                piece = await self._stream.read(_PIECE)
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
    """Writes each message as a line, and waits while the other side is slow.

    Args:
        stream: Where they are written to.
        on_gone: Called when the other side is gone.
    """

    def __init__(self, stream: asyncio.StreamWriter, *, on_gone: Callable[[], None]) -> None:
        self._stream = stream
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
            self._stream.write(line)
            await self._stream.drain()
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
