"""The publication date of a document."""

from __future__ import annotations

import re
from datetime import date
from email.utils import parsedate_to_datetime
from html import unescape

__all__ = ["day_of", "published_day"]

_DAY = re.compile(r"(?<!\d)(\d{4})(?:[-/.](\d{1,2})[-/.](\d{1,2})|年(\d{1,2})月(\d{1,2})日|(\d{2})(\d{2}))(?!\d)")
_HEAD = 400_000

# Each stops at the next bracket, so matching takes linear time on any page.
_META = re.compile(rb"<meta\b([^<>]{1,2000})>", re.IGNORECASE)
_NAME = re.compile(rb"\b(?:property|name|itemprop)\s*=\s*[\"']?([\w:.-]{1,60})", re.IGNORECASE)
_CONTENT = re.compile(rb"\bcontent\s*=\s*(?:\"([^\"]{1,100})\"|'([^']{1,100})'|([^\s\"']{1,100}))", re.IGNORECASE)
_JSON = re.compile(rb"\"(datePublished|dateCreated)\"\s*:\s*\"([^\"]{1,100})\"")
_TIME = re.compile(rb"<time\b([^<>]{1,1000})>", re.IGNORECASE)
_DATETIME = re.compile(rb"\bdatetime\s*=\s*[\"']?([^\"'<>]{1,100})", re.IGNORECASE)
_MARKED = re.compile(rb"\bpubdate\b|\bdatePublished\b|\b(?:dt-)?published\b", re.IGNORECASE)
_NAMES = (
    "article:published_time",
    "og:published_time",
    "datepublished",
    "citation_publication_date",
    "dc.date.issued",
    "dcterms.issued",
    "dc.date",
    "dcterms.created",
    "publishdate",
    "publish_date",
    "pubdate",
    "date",
)


def day_of(text: str) -> str | None:
    """The date in `text` as YYYY-MM-DD: from ISO 8601, 2026/11/16, 2026年11月16日 or RFC 2822."""
    if found := _DAY.search(text[:100]):
        year, *rest = found.groups()
        month, day = (value for value in rest if value is not None)
        try:
            return date(int(year), int(month), int(day)).isoformat()
        except ValueError:
            return None
    try:
        return parsedate_to_datetime(text[:100]).date().isoformat()
    except (ValueError, TypeError, IndexError, OverflowError):
        return None


def published_day(html: bytes) -> str | None:
    """The publication date of an HTML page from its metadata; None if it has none."""
    head = html[:_HEAD]
    metadata: dict[str, str] = {}
    for attributes in _META.findall(head):
        name, content = _NAME.search(attributes), _CONTENT.search(attributes)
        if name and content:
            metadata.setdefault(_text(name[1]).lower(), _text(content[1] or content[2] or content[3]))
    values = [metadata[name] for name in _NAMES if name in metadata]
    values += [_text(value) for _, value in sorted(_JSON.findall(head), key=lambda one: one[0] != b"datePublished")]
    times = [(one, moment) for one in _TIME.findall(head) if (moment := _DATETIME.search(one))]
    values += [_text(moment[1]) for attributes, moment in times if _MARKED.search(attributes)]
    return next(filter(None, map(day_of, values)), None)


def _text(value: bytes) -> str:
    return unescape(value.decode("utf-8", "replace")).strip()
