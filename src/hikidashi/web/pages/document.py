"""Title and text of a document by its media type: HTML, PDF or text. Runs in the worker process."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass
from io import BytesIO
from typing import Literal

from ...errors import MissingExtra
from .decode import decode_page
from .html import html_text, title_of

try:
    import pypdf
    from pypdf.errors import DependencyError, FileNotDecryptedError, PyPdfError
except ImportError as error:
    raise MissingExtra("pypdf", "web") from error

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
        return pdf_text(body, seconds=pdf_seconds)
    if not _is_text(kind):
        return "media"
    text = decode_page(body, charset)
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


MAX_PAGES = 500
_MAX_CHARACTERS = 2_000_000

PdfProblem = Literal["pdf_encrypted", "pdf_broken", "pdf_no_text"]


def pdf_text(data: bytes, *, max_pages: int = MAX_PAGES, seconds: float = 60.0) -> Page | PdfProblem:
    """The text of the pages read within `seconds`, blank lines between them; or the problem.

    A note at the end says how many were left out.
    """
    end = time.monotonic() + seconds
    try:
        reader = pypdf.PdfReader(BytesIO(data))
        if reader.is_encrypted and not reader.decrypt(""):
            return "pdf_encrypted"
        count = len(reader.pages)
    except (FileNotDecryptedError, DependencyError):
        return "pdf_encrypted"
    except Exception:  # a damaged file makes pypdf raise any exception
        return "pdf_broken"
    pages: list[str] = []
    size = done = 0
    while done < min(count, max_pages) and size < _MAX_CHARACTERS and (done == 0 or time.monotonic() < end):
        pages.append(_page_text(reader, done))
        size += len(pages[-1])
        done += 1
    text = "\n\n".join(page for page in pages if page)
    if not text:
        return "pdf_no_text"
    left_out = count - done
    return Page(_title(reader), text + (f"\n\n[{left_out} more pages]" if left_out else ""))


def _page_text(reader: pypdf.PdfReader, number: int) -> str:
    try:
        text = reader.pages[number].extract_text()
    except Exception:  # one damaged page must not lose the others
        return ""
    return re.sub(r"\n{3,}", "\n\n", text.replace("\x00", "")).strip()


def _title(reader: pypdf.PdfReader) -> str | None:
    try:
        title = reader.metadata.title if reader.metadata is not None else None
    except (PyPdfError, ValueError, AttributeError, TypeError):
        return None
    return title.strip() or None if title else None
