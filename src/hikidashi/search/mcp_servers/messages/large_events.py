"""Server-sent events of any size: the parser behind the `mcp` package refuses those of more than 1 MiB.

The list of a few thousand tools is one such event. Its message is kept here, and the package gets a short one in its
place with a key; behind the package, the message that was kept is put back.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import AsyncGenerator, AsyncIterable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

from ....errors import MissingExtra
from .filtered import FilteredStream

try:
    from mcp import types
except ImportError as error:
    raise MissingExtra("mcp", "mcp") from error

__all__ = ["LargeEvents", "TooLargeError"]

_LARGE = 100_000  # characters; at most 400,000 bytes
_KEY = "hikidashi/largeEvent"
_LINE_END = re.compile(r"\r\n|\n|\r")
_EVENT_END = re.compile(r"(?>\r\n|\n|\r){2}")


class TooLargeError(Exception):
    """An event is larger than allowed."""


class LargeEvents:
    """The large events of one connection.

    Args:
        longest: Maximum number of characters of an event.
    """

    def __init__(self, longest: int) -> None:
        self._longest = longest
        self._kept: dict[str, types.JSONRPCMessage] = {}

    async def shortened(self, chunks: AsyncIterable[str]) -> AsyncGenerator[str]:
        """The events of a stream, with short ones in place of the large.

        Raises:
            TooLargeError: an event is larger than allowed.
        """
        held: list[str] = []
        size, last = 0, ""
        async for chunk in chunks:
            text = last + chunk
            # The end of a line may be two characters, and that of an event up to four.
            cut = max((match.end() for match in _EVENT_END.finditer(text)), default=0)
            if cut:
                held.append(text[:cut])
                yield self._event("".join(held)) if size + cut > _LARGE else "".join(held)
                held, size, text = [], 0, text[cut:]
            kept = max(0, len(text) - 3)
            held.append(text[:kept])
            size, last = size + kept, text[kept:]
            if size > self._longest:
                raise TooLargeError
        yield "".join([*held, last])

    @asynccontextmanager
    async def wrap(self, transport: AbstractAsyncContextManager[Any]) -> AsyncGenerator[tuple[Any, Any]]:
        """`transport` with the messages of large events put back."""
        async with transport as (read, write):
            yield _Restored(read, self), write

    def restore(self, message: types.JSONRPCMessage) -> None:
        """Put back what was kept in place of `message`."""
        match message:
            case types.JSONRPCResponse():
                kept = self._kept.pop(str(message.result.get(_KEY)), None)
                if isinstance(kept, types.JSONRPCResponse):
                    message.result = kept.result
            case types.JSONRPCError():
                kept = self._kept.pop(message.error.message, None)
                if isinstance(kept, types.JSONRPCError):
                    message.error = kept.error
            case _:
                kept = self._kept.pop(str((message.params or {}).get(_KEY)), None)
                if isinstance(kept, types.JSONRPCRequest | types.JSONRPCNotification):
                    message.params = kept.params

    def _event(self, text: str) -> str:
        """`text`, which is one event or more, with short ones in place of the large."""
        parts: list[str] = []
        start = 0
        for match in _EVENT_END.finditer(text):
            event, start = text[start : match.end()], match.end()
            parts.append(self._short(event) if len(event) > _LARGE else event)
        return "".join(parts)

    def _short(self, event: str) -> str:
        lines = [line for line in _LINE_END.split(event) if line]
        data = "\n".join(line[5:].removeprefix(" ") for line in lines if line.startswith("data:"))
        try:
            message = types.jsonrpc_message_adapter.validate_json(data, by_name=False)
        except ValueError:  # the package says what is wrong with it
            return event
        key = secrets.token_hex()
        self._kept[key] = message
        short = _with_key(message, key).model_dump_json(by_alias=True, exclude_unset=True)
        return "\n".join([*(line for line in lines if not line.startswith("data:")), f"data: {short}", "", ""])


def _with_key(message: types.JSONRPCMessage, key: str) -> types.JSONRPCMessage:
    match message:
        case types.JSONRPCResponse():
            return message.model_copy(update={"result": {_KEY: key}})
        case types.JSONRPCError():
            return message.model_copy(update={"error": types.ErrorData(code=message.error.code, message=key)})
        case _:
            return message.model_copy(update={"params": {_KEY: key}})


class _Restored(FilteredStream):
    def __init__(self, inner: Any, events: LargeEvents) -> None:
        super().__init__(inner)
        self._events = events

    def _takes(self, message: types.JSONRPCMessage) -> bool:
        self._events.restore(message)
        return False

    async def _end(self) -> None:
        pass
