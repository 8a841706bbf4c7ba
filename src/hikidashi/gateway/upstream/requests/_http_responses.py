"""Parsing of HTTP/1.1 responses: the head, and what frames the body.

h11 does the same with a general state machine, which took a sixth of the processor time of a call. What is ambiguous,
and could be read in two ways by two programs, is refused.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

__all__ = ["ChunkedBody", "Head", "MalformedResponseError", "ResponseTooLargeError", "parse_head"]

_STATUS_LINE = re.compile(rb"HTTP/1\.([01]) ([1-9][0-9]{2})(?: ([\t\x20-\x7e\x80-\xff]*))?")
_HEADER = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([\t\x20-\x7e\x80-\xff]*?)[ \t]*")
_LENGTH = re.compile(rb"[0-9]{1,20}")
_CHUNK = re.compile(rb"([0-9A-Fa-f]{1,16})(?:;[\t\x20-\x7e\x80-\xff]*)?[ \t]*")
_LONGEST_CHUNK_LINE = 4_096
_LONGEST_TRAILERS = 16_384


class MalformedResponseError(ConnectionError):
    """What the server sent is not a response of HTTP/1.1."""


class ResponseTooLargeError(Exception):
    """A response is larger than allowed."""


@dataclass(frozen=True, slots=True)
class Head:
    """The status and the headers of a response."""

    status: int
    reason: str
    headers: dict[bytes, list[bytes]]
    """By their names in lower case."""
    length: int | None
    """Bytes of the body; None if it is chunked, or ends with the connection."""
    is_chunked: bool
    may_stay_open: bool
    """Whether the connection can be used for another request after the body."""

    def header(self, name: bytes) -> str:
        """The values of a header, joined by commas; empty if there is none."""
        return b", ".join(self.headers.get(name, ())).decode("latin-1")


def parse_head(data: bytes | bytearray) -> Head:
    """The head of a response, without the empty line that ends it.

    Raises:
        MalformedResponseError: it is not one, or the length of its body is ambiguous.
    """
    first, *lines = [line[:-1] if line.endswith(b"\r") else line for line in bytes(data).split(b"\n")]
    match = _STATUS_LINE.fullmatch(first)
    if match is None:
        raise MalformedResponseError("it is not HTTP/1.1")
    headers: dict[bytes, list[bytes]] = {}
    for line in lines:
        found = _HEADER.fullmatch(line)
        if found is None:
            raise MalformedResponseError("a header is malformed")
        headers.setdefault(found[1].lower(), []).append(found[2])
    status = int(match[2])
    length, is_chunked = _framing(status, headers)
    tokens = {token.strip().lower() for value in headers.get(b"connection", ()) for token in value.split(b",")}
    is_framed_once = not (is_chunked and b"content-length" in headers)
    may_stay_open = match[1] == b"1" and b"close" not in tokens and (is_chunked or length is not None)
    reason = (match[3] or b"").decode("latin-1")
    return Head(status, reason, headers, length, is_chunked, may_stay_open and is_framed_once)


def _framing(status: int, headers: dict[bytes, list[bytes]]) -> tuple[int | None, bool]:
    """The length of the body, and whether it is chunked (RFC 9112, section 6.3)."""
    codings = headers.get(b"transfer-encoding")
    if codings is not None and [coding.lower() for coding in codings] != [b"chunked"]:
        raise MalformedResponseError("its transfer encoding is not chunked")
    lengths = {length.strip() for value in headers.get(b"content-length", ()) for length in value.split(b",")}
    if len(lengths) > 1 or not all(map(_LENGTH.fullmatch, lengths)):
        raise MalformedResponseError("its Content-Length is invalid")
    if status < 200 or status in (204, 304):
        return 0, False
    return (None, True) if codings is not None else (int(lengths.pop()) if lengths else None, False)


class ChunkedBody:
    """Takes the data out of a chunked body."""

    def __init__(self) -> None:
        self._left = 0
        self._state = "size"
        self._trailers = 0
        self.ended = False

    def take(self, buffer: bytearray) -> bytes:
        """Remove what can be parsed from `buffer`, and return the data in it.

        Raises:
            MalformedResponseError: it is not a chunked body.
        """
        data = bytearray()
        at = 0  # removed at the end: a buffer of small chunks would be moved for each of them
        while not self.ended:
            if self._state == "data":
                piece = buffer[at : at + self._left]
                data += piece
                at += len(piece)
                self._left -= len(piece)
                if self._left:
                    break
                self._state = "end of data"
            if self._state == "end of data":
                end = bytes(buffer[at : at + 2])
                if len(end) < 2 and b"\r\n".startswith(end):
                    break
                if end != b"\r\n":
                    raise MalformedResponseError("a chunk has no end")
                at += 2
                self._state = "size"
            line = self._line(buffer, at)
            if line is None:
                break
            at += len(line) + 2
            if self._state == "trailers":
                self._trailers += len(line) + 2
                if self._trailers > _LONGEST_TRAILERS or (line and _HEADER.fullmatch(line) is None):
                    raise MalformedResponseError("its trailers are malformed")
                self.ended = not line
                continue
            size = _CHUNK.fullmatch(line)
            if size is None:
                raise MalformedResponseError("a chunk has no size")
            self._left = int(size[1], 16)
            self._state = "data" if self._left else "trailers"
        del buffer[:at]
        return bytes(data)

    @staticmethod
    def _line(buffer: bytearray, at: int) -> bytes | None:
        end = buffer.find(b"\r\n", at)
        if (end if end >= 0 else len(buffer)) - at > _LONGEST_CHUNK_LINE:
            raise MalformedResponseError("a line of its chunks is too long")
        return None if end < 0 else bytes(buffer[at:end])
