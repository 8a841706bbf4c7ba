"""Streams of messages between the `mcp` package and a connection, with hooks for each message."""

from __future__ import annotations

from abc import ABC, abstractmethod
from types import TracebackType
from typing import Any, Self

from ....errors import MissingExtra
from .closing import Closing

try:
    import anyio
    from mcp import types
    from mcp.shared.message import SessionMessage
except ImportError as error:
    raise MissingExtra("mcp", "mcp") from error

__all__ = ["GONE", "FilteredStream", "WatchedSends"]

GONE = (anyio.ClosedResourceError, anyio.BrokenResourceError)
"""What a stream raises when the other side is gone."""


class FilteredStream(Closing):
    """The messages of `inner` that `_takes` does not take."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    @abstractmethod
    def _takes(self, message: types.JSONRPCMessage) -> bool:
        """Handle `message`; False leaves it to the package."""

    @abstractmethod
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
            if not isinstance(item, SessionMessage) or not self._takes(item.message):
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


class WatchedSends(ABC):
    """The stream `inner`, to which messages are sent after `_sends` has seen them."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    @abstractmethod
    def _sends(self, message: types.JSONRPCMessage) -> None:
        """Take note of `message`, or change it."""

    async def send(self, item: SessionMessage, /) -> None:
        """Send a message."""
        self._sends(item.message)
        await self._inner.send(item)

    async def aclose(self) -> None:
        """Close the stream."""
        await self._inner.aclose()

    async def __aenter__(self) -> Self:
        await self._inner.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        return await self._inner.__aexit__(kind, error, trace)
