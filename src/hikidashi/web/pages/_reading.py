"""Title and text of a document by its media type. Runs in the worker process."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ._html import html_text, title_of
from ._pdf import PdfText, pdf_text
from .encoding import decode_page

__all__ = ["TOO_MUCH", "Page", "read_page"]

TOO_MUCH = "too_much"
"""Returned for a page that exceeds the limits of the requested parser."""

_HTML = frozenset({"text/html", "application/xhtml+xml"})
_UNSAID = frozenset({"", "application/octet-stream", "binary/octet-stream", "unknown/unknown"})
_TEXTUAL = frozenset(
    {
        "application/json",
        "application/ld+json",
        "application/xml",
        "application/javascript",
        "application/x-yaml",
        "application/yaml",
        "application/toml",
        "application/x-sh",
    }
)
_MARKUP = re.compile(rb"<(?:!doctype|html|head|body|p|div|h1|title|meta|table)\b", re.IGNORECASE)
_HEADING = re.compile(r"^# +(.{1,300})$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Page:
    """The title and text of a document."""

    title: str | None
    text: str


def read_page(
    body: bytes, *, content_type: str = "", charset: str | None = None, parser: int = 0, pdf_seconds: float = 4.0
) -> Page | str:
    """The page, or the code of the reason why it has no text; `parser` as in `html_text`."""
    kind = _sniffed(body) if content_type in _UNSAID else content_type
    if kind == "application/pdf" or body.startswith(b"%PDF-"):
        page = pdf_text(body, seconds=pdf_seconds)
        return Page(page.title, page.text) if isinstance(page, PdfText) else page
    if not _is_text(kind):
        return "media"
    text = decode_page(body, charset).text
    if kind not in _HTML:
        page = _as_it_is(kind, text)
    elif (found := html_text(text, parser=parser)) is not None:
        page = Page(title_of(text), found)
    else:
        return TOO_MUCH
    return page if page.text else "empty"


def _as_it_is(kind: str, text: str) -> Page:
    heading = _HEADING.search(text[:20_000]) if kind in {"text/markdown", "text/x-markdown"} else None
    return Page(heading[1].strip() if heading else None, text.replace("\r\n", "\n").replace("\x00", "").strip())


def _is_text(kind: str) -> bool:
    return kind.startswith("text/") or kind in _HTML or kind in _TEXTUAL or kind.endswith(("+json", "+xml"))


def _sniffed(body: bytes) -> str:
    start = body[:2048]
    if start.startswith(b"%PDF-"):
        return "application/pdf"
    if _MARKUP.search(start) or b"<\x00" in start[:4]:
        return "text/html"
    return "application/octet-stream" if b"\x00" in start else "text/plain"
