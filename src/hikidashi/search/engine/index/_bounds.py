"""Bit-sliced upper bounds on scores: which tools can be among the best, without scoring every tool.

A bitset is one long integer with a bit per tool. The bounds of all tools are kept as one bitset per binary digit, so
that one integer operation works on all tools at once.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from math import ceil

__all__ = ["Bounds", "bits_of", "docs_of", "flagged"]

_STEPS = 8  # resolution: units in the maximum score of an average term. More steps prune better and cost more
_DIGITS = b"01" + bytes(254)
_NOT_ZERO = re.compile(rb"[^\0]", re.DOTALL)
_BITS_OF: list[list[int]] = [[bit for bit in range(8) if octet >> bit & 1] for octet in range(256)]


class Bounds:
    """The upper bound on the score of each tool, rounded up to whole units, as bit slices."""

    def __init__(self, lists: list[tuple[float, int]]) -> None:
        """`lists` has the maximum score of each term, and the bitset of the tools that have it."""
        self._unit = sum(most for most, _ in lists) / (_STEPS * len(lists))
        self._digits: list[int] = []
        self._all = 0
        for most, docs in lists:
            self._all |= docs
            self._add(ceil(most / self._unit), docs)

    def _add(self, units: int, docs: int) -> None:
        """Add `units` to the bound of each tool in `docs`: a ripple-carry adder over the bit slices."""
        digits = self._digits
        carry = at = 0
        while units or carry:
            if at == len(digits):
                digits.append(0)
            digit = digits[at]
            if units & 1:
                digits[at] = digit ^ docs ^ carry
                carry |= digit & docs
            else:
                digits[at] = digit ^ carry
                carry &= digit
            units >>= 1
            at += 1

    def highest(self, count: int) -> int:
        """The bitset of the `count` tools with the highest bounds, and of those tied with the last of them."""
        above, level = 0, self._all
        for digit in reversed(self._digits):
            high = level & digit
            if (above | high).bit_count() >= count:
                level = high
            else:
                above |= high
                level ^= high
        return above | level

    def at_least(self, floor: float) -> int:
        """The bitset of the tools whose bound is at least `floor`."""
        units = ceil(floor / self._unit)
        if units >> len(self._digits):
            return 0
        above, level = 0, self._all
        for at in range(len(self._digits) - 1, -1, -1):
            high = level & self._digits[at]
            if units >> at & 1:
                level = high
            else:
                above |= high
                level ^= high
        return above | level


def bits_of(docs: Iterable[int], last: int) -> int:
    """The bitset of `docs`, of which `last` is the highest."""
    octets = bytearray((last >> 3) + 1)
    for doc in docs:
        octets[doc >> 3] |= 1 << (doc & 7)
    return int.from_bytes(octets, "little")


def docs_of(bits: int) -> set[int]:
    """The tools in a bitset."""
    octets = bits.to_bytes((bits.bit_length() + 7) >> 3, "little")
    places = [match.start() for match in _NOT_ZERO.finditer(octets)]
    return {(place << 3) + bit for place in places for bit in _BITS_OF[octets[place]]}


def flagged(flags: bytearray) -> int:
    """The bitset of the positions where `flags` has 1; faster than `bits_of` for many tools."""
    return int(flags[::-1].translate(_DIGITS), 2)
