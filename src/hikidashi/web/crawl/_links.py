"""The links of a page. Read with patterns: a parser can be kept busy by a page that was made for it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from itertools import islice
from urllib.parse import urldefrag, urljoin

from ..pages.encoding import decode_page

__all__ = ["is_page", "links_of"]

# Each stops at the next bracket, so a page is read once whatever it is made of.
_ANCHOR = re.compile(r"<a\b([^<>]*)>", re.IGNORECASE)
_BASE = re.compile(r"<base\b([^<>]*)>", re.IGNORECASE)
_HREF = re.compile(r"(?<![\w-])href\s*=\s*(?:\"([^\"<>]*)\"|'([^'<>]*)'|([^\s\"'<>]+))", re.IGNORECASE)
_MOST_ANCHORS = 10_000
_WEB = re.compile(r"https?://", re.IGNORECASE)
_LONGEST = 8192
_NO_PAGES = re.compile(
    r"\.(?:png|jpe?g|gif|webp|avif|svg|ico|bmp|tiff?|css|js|mjs|map|json|woff2?|ttf|otf|eot|mp[34]|m4[av]|webm|ogg|wav|"
    r"avi|mov|zip|gz|bz2|xz|zst|7z|rar|tar|tgz|whl|jar|exe|msi|dmg|pkg|deb|rpm|apk|iso|bin)$",
    re.IGNORECASE,
)


def links_of(body: bytes, url: str, *, charset: str | None = None) -> list[str]:
    """The web addresses that a page of HTML at `url` links to, without fragments, each once and in order.

    Of more than 10,000 links the first are given.
    """
    text = "".join(_outside_comments(decode_page(body, charset).text))
    base = _BASE.search(text)
    start = _joined(url, _href(base[1])) if base else url
    anchors = islice(_ANCHOR.finditer(text), _MOST_ANCHORS)
    found = (_joined(start or url, _href(anchor[1])) for anchor in anchors)
    return list(dict.fromkeys(link for link in found if link))


def is_page(path: str) -> bool:
    """Whether a page may be at `path`: not an image, a style sheet, an archive."""
    return not _NO_PAGES.search(path)


def _outside_comments(text: str) -> Iterator[str]:
    at = 0
    while (begin := text.find("<!--", at)) >= 0:
        yield text[at:begin]
        end = text.find("-->", begin)
        if end < 0:  # a browser takes the rest for a comment, too
            return
        at = end + len("-->")
    yield text[at:]


def _href(attributes: str) -> str:
    found = _HREF.search(attributes)
    return unescape(found[1] or found[2] or found[3] or "").strip() if found else ""


def _joined(base: str, href: str) -> str:
    if not href or len(href) > _LONGEST:
        return ""
    try:
        link = urldefrag(urljoin(base, href)).url
    except ValueError:  # such as `http://[`
        return ""
    return link if _WEB.match(link) else ""
