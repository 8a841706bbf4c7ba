"""Streaming decompression with a size limit, against decompression bombs.

Only gzip and deflate are offered to servers: the decoders of brotli and zstd cannot be stopped within a chunk, and
64 KB of either may expand to gigabytes.
"""

from __future__ import annotations

import zlib
from typing import Protocol

__all__ = ["ACCEPTED", "Decompressor", "TooLarge", "Undecodable"]

ACCEPTED = "gzip, deflate"
_GZIP = 16 + zlib.MAX_WBITS
_RAW_DEFLATE = -zlib.MAX_WBITS


class TooLarge(Exception):  # noqa: N818 - reads as what it says
    """The body exceeds the limit, compressed or decompressed."""


class Undecodable(Exception):  # noqa: N818 - reads as what it says
    """The body does not match its `Content-Encoding`, or is truncated."""


class _Stream(Protocol):
    """The type of `zlib.decompressobj()`, which has no public name."""

    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, max_length: int, /) -> bytes: ...


class Decompressor:
    """Decompresses a body chunk by chunk, up to `limit` bytes before and after."""

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
        """Add one chunk as received."""
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
                    return  # padding after the stream, which browsers ignore
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
        # With "deflate", servers send raw deflate as often as the zlib format.
        has_header = data[0] & 0x0F == 8 and int.from_bytes(data[:2]) % 31 == 0
        return zlib.decompressobj(zlib.MAX_WBITS if has_header else _RAW_DEFLATE)
