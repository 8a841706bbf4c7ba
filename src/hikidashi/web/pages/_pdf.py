"""The text of a PDF. Runs in the worker process, because a hostile PDF can exhaust CPU time or memory."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass
from io import BytesIO
from typing import Literal

from ...errors import MissingExtra

try:
    import pypdf
    from pypdf.errors import DependencyError, FileNotDecryptedError, PyPdfError
except ImportError as error:
    raise MissingExtra("pypdf", "web") from error

__all__ = ["MAX_PAGES", "PdfProblem", "PdfText", "pdf_text"]

MAX_PAGES = 500
_MAX_CHARACTERS = 2_000_000

PdfProblem = Literal["pdf_encrypted", "pdf_broken", "pdf_no_text"]


@dataclass(frozen=True, slots=True)
class PdfText:
    """The text of a PDF, with blank lines between pages."""

    text: str
    title: str | None


def pdf_text(data: bytes, *, max_pages: int = MAX_PAGES, seconds: float = 60.0) -> PdfText | PdfProblem:
    """The text of the pages read within `seconds`, with a note of how many were left out; or the problem."""
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
    return PdfText(text + (f"\n\n[{left_out} more pages]" if left_out else ""), _title(reader))


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
