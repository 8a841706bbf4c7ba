"""Bodies that come in tiny pieces: joined, with the event loop free in between, and refused beyond all measure.

One read of 64 KB can hold ten thousand chunks of one byte. Whoever takes them one by one keeps the event loop for a
second or two, since nothing is waited for, and with it every deadline that should end this.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterable

__all__ = ["TooManyPieces", "in_larger_pieces"]

_LONGEST_TURN = 0.005
"""Seconds for which other tasks wait, at most, while pieces are taken."""
_LOOK_EVERY = 16
_LARGE = 64 * 1024
_MOST_TINY = 200_000
_TINY = 16


class TooManyPieces(Exception):  # noqa: N818 - reads as what it says
    """So many pieces, so small, that no server sends them by accident."""


async def in_larger_pieces(pieces: AsyncIterable[bytes]) -> AsyncGenerator[bytes]:
    """The same bytes in larger pieces; other tasks run meanwhile.

    Raises:
        TooManyPieces: there are more than 200,000, of less than 16 bytes on average.
    """
    held = bytearray()
    count = size = 0
    turn_began = time.monotonic()
    async for piece in pieces:
        count += 1
        size += len(piece)
        held += piece
        if len(held) >= _LARGE:
            yield bytes(held)
            held.clear()
        if count % _LOOK_EVERY == 0 and time.monotonic() - turn_began > _LONGEST_TURN:
            if count > _MOST_TINY and size < count * _TINY:
                raise TooManyPieces
            if held:
                yield bytes(held)
                held.clear()
            await asyncio.sleep(0)
            turn_began = time.monotonic()
    if held:
        yield bytes(held)
