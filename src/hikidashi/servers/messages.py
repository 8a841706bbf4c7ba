"""Messages between the `mcp` package and a connection: streams with hooks for each, and lists repaired in them.

The `mcp` package refuses a list as a whole, so that one tool without `type` in its schema would cost all others.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Generator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from types import TracebackType
from typing import Any, Self, cast

import anyio
from mcp import types
from mcp.shared.message import SessionMessage
from mcp_types.methods import validate_server_result
from pydantic import ValidationError

from ..common.validation import first_problem

__all__ = ["BROKEN", "Closing", "FilteredStream", "ListRepairs", "WatchedSends"]


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


_ITEMS = {
    "tools/list": ("tools", "tool", "name"),
    "prompts/list": ("prompts", "prompt", "name"),
    "resources/list": ("resources", "resource", "uri"),
    "resources/templates/list": ("resourceTemplates", "resource template", "uriTemplate"),
}
"""The key of the items, what one is called, and the key of its name."""


class ListRepairs:
    """Takes invalid items out of the lists that one connection asks for while `on` holds."""

    def __init__(self) -> None:
        self._version: str | None = None
        self._asked: dict[types.RequestId, str] = {}
        self._notes: list[str] = []

    @contextmanager
    def on(self, version: str, notes: list[str]) -> Generator[None]:
        """Repair the lists that are asked for in this block, by the revision `version`; `notes` gets what is lost."""
        self._version, self._notes = version, notes
        try:
            yield
        finally:
            self._version = None
            self._asked.clear()

    @asynccontextmanager
    async def wrap(self, transport: AbstractAsyncContextManager[Any]) -> AsyncGenerator[tuple[Any, Any]]:
        """`transport` with its lists repaired."""
        async with transport as (read, write):
            yield _Answers(read, self), _Requests(write, self)

    def asked(self, message: types.JSONRPCMessage) -> None:
        """Take note of a request for a list."""
        if self._version is not None and isinstance(message, types.JSONRPCRequest) and message.method in _ITEMS:
            self._asked[message.id] = message.method

    def answered(self, message: types.JSONRPCMessage) -> None:
        """Repair the list in an answer."""
        if self._asked and isinstance(message, types.JSONRPCResponse):
            method = self._asked.pop(message.id, None)
            if method is not None and self._version is not None:
                self._repair(method, self._version, message.result)

    def _repair(self, method: str, version: str, result: dict[str, Any]) -> None:
        key, kind, named = _ITEMS[method]
        items = result.get(key)
        if not isinstance(items, list):
            return
        kept: list[Any] = []
        for number, item in enumerate(cast("list[Any]", items), start=1):
            completed = _completed(item) if key == "tools" else item
            problem = _problem(method, version, {**result, key: [completed]})
            name = cast("dict[str, Any]", item).get(named) if isinstance(item, dict) else None
            if problem is None and isinstance(name, str) and not name.strip():
                problem = f"its `{named}` is empty"
            if problem is None:
                kept.append(completed)
                continue
            called = repr(name) if isinstance(name, str) and name.strip() else f"number {number}"
            self._notes.append(f"the {kind} {called} is left out, since it is invalid: {problem}")
        result[key] = kept


def _problem(method: str, version: str, result: dict[str, Any]) -> str | None:
    try:
        validate_server_result(method, version, result)
    except ValidationError as error:
        return first_problem(error, below=2)
    return None


def _completed(tool: Any) -> Any:
    """A tool whose schemas have the `type` that they must have: arguments are always an object."""
    if not isinstance(tool, dict):
        return tool
    given = dict(cast("dict[str, Any]", tool))
    if given.get("inputSchema", True) in (True, None):
        given["inputSchema"] = {}
    for key in ("inputSchema", "outputSchema"):
        schema = given.get(key)
        if isinstance(schema, dict) and "type" not in schema:
            given[key] = {"type": "object", **cast("dict[str, Any]", schema)}
    return given


class _Answers(FilteredStream):
    def __init__(self, inner: Any, repairs: ListRepairs) -> None:
        super().__init__(inner)
        self._repairs = repairs

    def _takes(self, message: types.JSONRPCMessage) -> bool:
        self._repairs.answered(message)
        return False

    async def _end(self) -> None:
        pass


class _Requests(WatchedSends):
    def __init__(self, inner: Any, repairs: ListRepairs) -> None:
        super().__init__(inner)
        self._repairs = repairs

    def _sends(self, message: types.JSONRPCMessage) -> None:
        self._repairs.asked(message)
