"""Response bodies in tiny chunks: joined without blocking the event loop, and refused if there are far too many.

One read of 64 KB can hold ten thousand chunks of one byte. Iterating over them awaits nothing, so it blocks the event
loop for a second or two, and with it every timeout.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterable

__all__ = ["TooManyChunks", "in_larger_chunks"]

_LONGEST_TURN = 0.005
"""Seconds for which the event loop may be blocked."""
_LOOK_EVERY = 16
_LARGE = 64 * 1024
_MOST_TINY = 200_000
_TINY = 16


class TooManyChunks(Exception):  # noqa: N818 - reads as what it says
    """A body in so many tiny chunks that it must be an attack."""


async def in_larger_chunks(chunks: AsyncIterable[bytes]) -> AsyncGenerator[bytes]:
    """The same bytes in larger chunks, yielding to other tasks in between.

    Raises:
        TooManyChunks: there are more than 200,000, of less than 16 bytes on average.
    """
    held = bytearray()
    count = size = 0
    turn_began = time.monotonic()
    async for chunk in chunks:
        count += 1
        size += len(chunk)
        held += chunk
        if len(held) >= _LARGE:
            yield bytes(held)
            held.clear()
        if count % _LOOK_EVERY == 0 and time.monotonic() - turn_began > _LONGEST_TURN:
            if count > _MOST_TINY and size < count * _TINY:
                raise TooManyChunks
            if held:
                yield bytes(held)
                held.clear()
            await asyncio.sleep(0)
            turn_began = time.monotonic()
    if held:
        yield bytes(held)
