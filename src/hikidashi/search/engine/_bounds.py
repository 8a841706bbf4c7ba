"""Sets of tools as the bits of one long integer, and the most that terms could add to each tool.

An operation on such an integer is one on all tools, which is why thousands of tools cost hardly more than one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from math import ceil

__all__ = ["Bounds", "bits_of", "docs_of", "flagged"]

_STEPS = 8  # in which the most an average term adds is counted: more tell tools better apart, and cost more
_DIGITS = b"01" + bytes(254)
_NOT_ZERO = re.compile(rb"[^\0]", re.DOTALL)
_BITS_OF: list[list[int]] = [[bit for bit in range(8) if octet >> bit & 1] for octet in range(256)]


class Bounds:
    """The most that terms could add to each tool: whole numbers, kept as one long integer per binary digit."""

    def __init__(self, lists: list[tuple[float, int]]) -> None:
        """`lists` has the most that a term adds, and the bits of the tools that have it."""
        self._unit = sum(most for most, _ in lists) / (_STEPS * len(lists))
        self._digits: list[int] = []
        self._all = 0
        for most, docs in lists:
            self._all |= docs
            self._add(ceil(most / self._unit), docs)

    def _add(self, units: int, docs: int) -> None:
        """Add a number to that of each of `docs`."""
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
        """The bits of the `count` tools with the highest bounds, and those as high as the last of them."""
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
        """The bits of the tools whose bound is `floor` or more."""
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
    """One bit for each of `docs`, of which `last` is the highest."""
    octets = bytearray((last >> 3) + 1)
    for doc in docs:
        octets[doc >> 3] |= 1 << (doc & 7)
    return int.from_bytes(octets, "little")


def docs_of(bits: int) -> set[int]:
    """The tools of which `bits` has the bits."""
    octets = bits.to_bytes((bits.bit_length() + 7) >> 3, "little")
    places = [match.start() for match in _NOT_ZERO.finditer(octets)]
    return {(place << 3) + bit for place in places for bit in _BITS_OF[octets[place]]}


def flagged(flags: bytearray) -> int:
    """One bit for each place of `flags` that is 1 and not 0; of many places this is the faster way to `bits_of`."""
    return int(flags[::-1].translate(_DIGITS), 2)
