"""From a file or a page to a document for the index, or to the reason why there is none."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

from ....common.unicode import well_formed
from ....errors import FetchRefused, MissingExtra, PageError
from ...pages.encoding import decode_page
from ...pages.reasons import reason
from ...text.split import Markup, split, title_of
from ._dates import published_day
from ._front_matter import front_matter
from ._walk import FileFound, Kind
from ._writer import Known, NewDocument

if TYPE_CHECKING:
    from ...pages.extract import Extractor
    from ...pages.fetch import Fetched, Fetcher

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
"""The largest file that is read, unless the caller says otherwise."""

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
    """The file has a new date, and says the same."""

    size: int
    mtime_ns: int


@dataclass(frozen=True, slots=True)
class Skipped:
    """The document is not one for the index, and why."""

    reason: str


@dataclass(frozen=True, slots=True)
class Failed:
    """The document could not be read this time, and why."""

    reason: str


@dataclass(frozen=True, kw_only=True, slots=True)
class PageText:
    """What a page or file says, before it is cut into passages."""

    title: str
    text: str
    published: str | None = None
    about: str = ""
    front: str = ""


Outcome = NewDocument | Same | Touched | Skipped | Failed


async def read_file(file: FileFound, known: Known | None, *, max_bytes: int) -> Outcome:
    """What `file` says now, beside what the index knows of it; a file of the same date and size is not opened."""
    if known and (known.mtime_ns, known.size) == (file.mtime_ns, file.size):
        return Same()
    if file.size > max_bytes:
        return Skipped(f"it is larger than {max_bytes / 1024 / 1024:g} MB")
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
        return Skipped(str(error))
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
    """What the page at `url` says now, beside what the index knows of it; fetched, and read, unless it is given."""
    from ...pages.fetch import Fetcher

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
    """What a page that was fetched says.

    Raises:
        PageError: it holds no text, or none that could be found in time.
    """
    page = await _extractor().extract(fetched)
    published = await asyncio.to_thread(published_day, fetched.body)
    return PageText(title=page.title or "", text=page.raw_content, published=published)


def has_no_text(reason: str) -> bool:
    """Whether `reason` says that there is no text, so that reading again would not help."""
    return reason in _NO_TEXT


class _NotText(Exception):  # noqa: N818 - never leaves this module
    """The file is not one for the index."""


async def _text(file: FileFound, body: bytes) -> PageText:
    """The text, and what the file says about itself."""
    if media_type := _MEDIA_TYPES.get(file.kind):
        page = await _extractor().read(body, content_type=media_type, url=file.path.as_uri())
        published = await asyncio.to_thread(published_day, body) if file.kind == "html" else None
        return PageText(title=page.title or "", text=page.raw_content, published=published)
    if b"\0" in body[:_BEGINNING] and not body.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise _NotText("it is not text")
    text = await asyncio.to_thread(lambda: decode_page(body).text)
    if not text.strip():
        raise _NotText("it is empty")
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
    from ...pages.extract import shared_extractor

    return shared_extractor()
