"""The addresses in a sitemap, found with a regular expression: an XML parser would expand its entities."""

from __future__ import annotations

import re
import zlib
from html import unescape

__all__ = ["is_sitemap", "is_sitemap_index", "locations"]

_LOCATION = re.compile(rb"<loc>\s*(?:<!\[CDATA\[)?\s*([^<\]]{1,8192}?)\s*(?:\]\]>)?\s*</loc>", re.IGNORECASE)
_SITEMAP = re.compile(rb"<(?:\w+:)?urlset\b", re.IGNORECASE)
_INDEX = re.compile(rb"<(?:\w+:)?sitemapindex\b", re.IGNORECASE)
_HEAD = 4096
_GZIP = b"\x1f\x8b"
_MAX_BYTES = 50 * 1024 * 1024  # the limit of the sitemap protocol


def is_sitemap(body: bytes) -> bool:
    """Whether `body` is a list of pages, or of other sitemaps."""
    head = _unpacked(body)[:_HEAD]
    return bool(_SITEMAP.search(head) or _INDEX.search(head))


def is_sitemap_index(body: bytes) -> bool:
    """Whether `body` is a list of sitemaps."""
    return bool(_INDEX.search(_unpacked(body)[:_HEAD]))


def locations(body: bytes) -> list[str]:
    """The addresses in order, without duplicates."""
    found = (unescape(match.decode("utf-8", "replace")) for match in _LOCATION.findall(_unpacked(body)))
    return list(dict.fromkeys(found))


def _unpacked(body: bytes) -> bytes:
    if not body.startswith(_GZIP):
        return body
    try:
        return zlib.decompressobj(wbits=31).decompress(body, _MAX_BYTES)
    except zlib.error:
        return b""
