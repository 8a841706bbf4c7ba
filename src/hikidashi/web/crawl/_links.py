"""The links of a page, found with regular expressions: a hostile page can keep a parser busy for minutes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from itertools import islice
from urllib.parse import urldefrag, urljoin

from ..pages.encoding import decode_page

__all__ = ["is_page", "links_of"]

# Each stops at the next bracket, so matching takes linear time on any page.
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
    """The web addresses that the HTML page at `url` links to, without fragments or duplicates, in order.

    At most the first 10,000 links are read.
    """
    text = "".join(_outside_comments(decode_page(body, charset).text))
    base = _BASE.search(text)
    start = _joined(url, _href(base[1])) if base else url
    anchors = islice(_ANCHOR.finditer(text), _MOST_ANCHORS)
    found = (_joined(start or url, _href(anchor[1])) for anchor in anchors)
    return list(dict.fromkeys(link for link in found if link))


def is_page(path: str) -> bool:
    """Whether `path` may be a page rather than an image, a style sheet or an archive."""
    return not _NO_PAGES.search(path)


def _outside_comments(text: str) -> Iterator[str]:
    at = 0
    while (begin := text.find("<!--", at)) >= 0:
        yield text[at:begin]
        end = text.find("-->", begin)
        if end < 0:  # browsers treat the rest as a comment, too
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
