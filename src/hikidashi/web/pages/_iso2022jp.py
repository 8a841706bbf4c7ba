"""ISO-2022-JP with the Windows extensions used on the web (①, ㈱, ﾊﾝｶｸ), which Python's codec refuses."""

from __future__ import annotations

import re

__all__ = ["decode_iso2022jp", "is_iso2022jp"]

_ESCAPE = re.compile(rb"\x1b(\$[@B]|\$\(D|\([BJIH])")
_DOUBLE, _SUPPLEMENT, _KANA = {b"$@", b"$B"}, b"$(D", b"(I"


def is_iso2022jp(body: bytes) -> bool:
    """Whether `body` has escape sequences for Japanese character sets."""
    return re.search(rb"\x1b(?:\$[@B]|\$\(D|\(I)", body) is not None and body.isascii()


def decode_iso2022jp(body: bytes) -> str:
    """The text of `body`, with U+FFFD for invalid bytes."""
    start, *rest = _ESCAPE.split(body)
    pieces = [start.decode("ascii", "replace")]
    pieces += [_segment(mode, data) for mode, data in zip(rest[::2], rest[1::2], strict=True)]
    return "".join(pieces)


def _segment(mode: bytes, data: bytes) -> str:
    if mode in _DOUBLE or mode == _SUPPLEMENT:
        # Pages forget to switch back to ASCII at the end of a line; control characters are never part of a pair.
        return "".join(
            _double(run, mode) if run[0] > 0x20 else run.decode("ascii")
            for run in re.findall(rb"[\x00-\x20]+|[^\x00-\x20]+", data)
        )
    if mode == _KANA:
        return bytes(byte | 0x80 if 0x21 <= byte <= 0x5F else byte for byte in data).decode("cp932", "replace")
    return data.decode("ascii", "replace")


def _double(run: bytes, mode: bytes) -> str:
    pairs = [run[at : at + 2] for at in range(0, len(run) - 1, 2)]
    broken = "\ufffd" if len(run) % 2 else ""
    if mode == _SUPPLEMENT:
        return (
            b"".join(bytes((0x8F, row | 0x80, cell | 0x80)) for row, cell in pairs).decode("euc_jp", "replace") + broken
        )
    return b"".join(_to_shift_jis(row, cell) for row, cell in pairs).decode("cp932", "replace") + broken


def _to_shift_jis(row: int, cell: int) -> bytes:
    lead = (row + 1 >> 1) + (0x70 if row < 0x5F else 0xB0)
    if row % 2:
        return bytes((lead, cell + (0x20 if cell >= 0x60 else 0x1F)))
    return bytes((lead, cell + 0x7E))
