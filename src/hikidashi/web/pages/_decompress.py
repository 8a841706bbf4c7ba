"""Undoing a page's compression in pieces, so that no more than the caller's limit is ever held.

Only gzip and deflate are offered to servers: the decoders of brotli and zstd cannot be stopped in the middle of a
piece, and 64 KB of either may hold gigabytes.
"""

from __future__ import annotations

import zlib
from typing import Protocol

__all__ = ["ACCEPTED", "Decompressor", "TooLarge", "Undecodable"]

ACCEPTED = "gzip, deflate"
_GZIP = 16 + zlib.MAX_WBITS
_RAW_DEFLATE = -zlib.MAX_WBITS


class TooLarge(Exception):  # noqa: N818 - reads as what it says
    """More bytes came, or came out, than the limit."""


class Undecodable(Exception):  # noqa: N818 - reads as what it says
    """The bytes are not what `Content-Encoding` says, or end too early."""


class _Stream(Protocol):
    """What `zlib.decompressobj` gives; the type itself has no public name."""

    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, max_length: int, /) -> bytes: ...


class Decompressor:
    """Collects a body piece by piece, undoing `encoding`, up to `limit` bytes before and after."""

    def __init__(self, encoding: str, limit: int) -> None:
        self._encoding = encoding.strip().lower().removeprefix("x-")
        if self._encoding not in {"", "identity", "gzip", "deflate"}:
            raise Undecodable(encoding)
        self._limit = limit
        self._received = 0
        self._body = bytearray()
        self._stream: _Stream | None = None
        self._streams_ended = 0
        self._pending = b""

    def feed(self, data: bytes) -> None:
        """Takes one piece as it came over the wire."""
        self._received += len(data)
        if self._received > self._limit:
            raise TooLarge
        if self._encoding in {"", "identity"}:
            self._body += data
        else:
            self._inflate(self._pending + data)

    def finish(self) -> bytes:
        """The whole body."""
        if self._stream is not None or (self._pending and not self._streams_ended):
            raise Undecodable("the compressed stream ends too early")
        return bytes(self._body)

    def _inflate(self, data: bytes) -> None:
        self._pending = b""
        while data:
            if self._stream is None:
                if len(data) < 2:
                    self._pending = data
                    return
                self._stream = self._begin(data)
                if self._stream is None:
                    return  # padding after the stream, which every browser ignores
            try:
                self._body += self._stream.decompress(data, self._limit - len(self._body) + 1)
            except zlib.error as error:
                raise Undecodable(str(error)) from error
            if len(self._body) > self._limit:
                raise TooLarge
            data = self._stream.unused_data
            if self._stream.eof:
                self._stream = None
                self._streams_ended += 1

    def _begin(self, data: bytes) -> _Stream | None:
        if self._encoding == "gzip":
            if data.startswith(b"\x1f\x8b"):
                return zlib.decompressobj(_GZIP)
            if not self._streams_ended:
                raise Undecodable("not gzip")
        if self._streams_ended:
            return None
        # Servers that say "deflate" send the bare stream as often as the one with a zlib header.
        has_header = data[0] & 0x0F == 8 and int.from_bytes(data[:2]) % 31 == 0
        return zlib.decompressobj(zlib.MAX_WBITS if has_header else _RAW_DEFLATE)
