"""Parsing of files and pages into documents for the index."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

from .....common.unicode import well_formed
from .....errors import FetchRefused, MissingExtra, PageError
from ....messages import reason
from ....pages.encoding import decode_page
from ....text.split import Markup, split, title_of
from .._writer import Known, NewDocument
from ._dates import published_day
from ._front_matter import front_matter
from .walk import FileFound, Kind

if TYPE_CHECKING:
    from ....pages.extract import Extractor
    from ....pages.fetch import Fetched, Fetcher

__all__ = [
    "MAX_BYTES",
    "Failed",
    "Outcome",
    "PageText",
    "Same",
    "Skipped",
    "Touched",
    "has_no_text",
    "page_text",
    "read_file",
    "read_page",
]

MAX_BYTES = 20 * 1024 * 1024
"""Default limit of a file's size."""

_MARKUP: dict[Kind, Markup] = {"markdown": "markdown", "html": "markdown", "rst": "rst"}
_MEDIA_TYPES: dict[Kind, str] = {"html": "text/html", "pdf": "application/pdf"}
_HAS_FRONT_MATTER: frozenset[Kind] = frozenset({"markdown", "text"})
_BEGINNING = 8192
_NO_TEXT = frozenset({reason("pdf_no_text"), reason("empty")})


@dataclass(frozen=True, slots=True)
class Same:
    """The document has not changed."""


@dataclass(frozen=True, slots=True)
class Touched:
    """The file has a new modification time and the same content."""

    size: int
    mtime_ns: int


@dataclass(frozen=True, slots=True)
class Skipped:
    """The document does not belong in the index."""

    reason: str


@dataclass(frozen=True, slots=True)
class Failed:
    """The document could not be read this time."""

    reason: str


@dataclass(frozen=True, kw_only=True, slots=True)
class PageText:
    """Title, text and metadata of a page or file, before it is split into passages."""

    title: str
    text: str
    published: str | None = None
    about: str = ""
    front: str = ""


Outcome = NewDocument | Same | Touched | Skipped | Failed


async def read_file(file: FileFound, known: Known | None, *, max_bytes: int) -> Outcome:
    """The document in `file`, compared with the index; a file with the same time and size is not opened."""
    if known and (known.mtime_ns, known.size) == (file.mtime_ns, file.size):
        return Same()
    if file.size > max_bytes:
        return Skipped(reason("too_large", limit=f"{max_bytes / 1024 / 1024:g} MB"))
    try:
        body = await asyncio.to_thread(file.path.read_bytes)
    except OSError as error:
        return Failed(error.strerror or str(error))
    digest = _digest(body)
    if known and known.hash == digest:
        return Touched(file.size, file.mtime_ns)
    try:
        page = await _text(file, body)
    except _NotText as error:
        return Skipped(error.reason)
    except PageError as error:
        return Skipped(error.reason) if has_no_text(error.reason) else Failed(error.reason)
    except MissingExtra as error:
        return Failed(str(error))
    return await asyncio.to_thread(
        _document,
        page,
        url=file.path.as_uri(),
        kind=file.kind,
        size=file.size,
        mtime_ns=file.mtime_ns,
        digest=digest,
    )


async def read_page(
    url: str,
    known: Known | None,
    *,
    fetcher: Fetcher | None = None,
    fetched: Fetched | None = None,
    page: PageText | None = None,
) -> Outcome:
    """The document at `url`, compared with the index; fetched and parsed unless it is given."""
    from ....pages.fetch import Fetcher

    try:
        page = page or await page_text(fetched or await (fetcher or Fetcher()).fetch(url))
    except (FetchRefused, PageError) as error:
        return Skipped(error.reason) if has_no_text(error.reason) else Failed(error.reason)
    digest = _digest(well_formed(page.text).encode())
    if known and known.hash == digest:
        return Same()
    return await asyncio.to_thread(
        _document, page, url=url, kind="html", size=len(page.text), mtime_ns=None, digest=digest
    )


async def page_text(fetched: Fetched) -> PageText:
    """Title, text and date of a fetched page.

    Raises:
        PageError: it has no text, or could not be parsed in time.
    """
    page = await _extractor().extract(fetched)
    published = await asyncio.to_thread(published_day, fetched.body)
    return PageText(title=page.title or "", text=page.raw_content, published=published)


def has_no_text(reason: str) -> bool:
    """Whether `reason` is that there is no text, so that a retry would not help."""
    return reason in _NO_TEXT


class _NotText(Exception):  # noqa: N818 - never leaves this module
    """The file is empty or not text."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


async def _text(file: FileFound, body: bytes) -> PageText:
    """The text of the file and its metadata."""
    if media_type := _MEDIA_TYPES.get(file.kind):
        page = await _extractor().read(body, content_type=media_type, url=file.path.as_uri())
        published = await asyncio.to_thread(published_day, body) if file.kind == "html" else None
        return PageText(title=page.title or "", text=page.raw_content, published=published)
    if b"\0" in body[:_BEGINNING] and not body.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise _NotText(reason("not_text"))
    text = await asyncio.to_thread(lambda: decode_page(body).text)
    if not text.strip():
        raise _NotText(reason("empty_file"))
    if file.kind in _HAS_FRONT_MATTER and (front := await asyncio.to_thread(front_matter, text)):
        text, before = text[front.length :], text[: front.length]
        return PageText(title=front.title, text=text, published=front.published, about=front.about, front=before)
    return PageText(title="", text=text)


def _document(page: PageText, *, url: str, kind: Kind, size: int, mtime_ns: int | None, digest: bytes) -> NewDocument:
    markup = _MARKUP.get(kind, "plain")
    return NewDocument(
        url=url,
        title=" ".join((page.title or title_of(page.text, markup) or unquote(Path(url).name)).split()),
        kind=kind,
        size=size,
        mtime_ns=mtime_ns,
        hash=digest,
        passages=split(page.text, markup),
        published=page.published,
        about=page.about,
        front=page.front,
    )


def _digest(body: bytes) -> bytes:
    return blake2b(body, digest_size=16).digest()


def _extractor() -> Extractor:
    from ....pages.extract import shared_extractor

    return shared_extractor()
