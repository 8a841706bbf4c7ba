"""Documents for the index: found in folders, and parsed from files and pages."""

from __future__ import annotations

import asyncio
import os
import re
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date, datetime
from email.utils import parsedate_to_datetime
from hashlib import blake2b
from html import unescape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import unquote

from ...common.json import is_list
from ...common.unicode import well_formed
from ...errors import FetchRefused, MissingExtra, PageError
from ..messages import reason
from ..pages.decode import decode_page
from ..passages import Markup, split, title_of
from .database import NewDocument, StoredState

if TYPE_CHECKING:
    from ..pages.extract import Extractor
    from ..pages.fetch import Fetched, Fetcher

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


async def read_file(file: FileFound, known: StoredState | None, *, max_bytes: int) -> Outcome:
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
    known: StoredState | None,
    *,
    fetcher: Fetcher | None = None,
    fetched: Fetched | None = None,
    page: PageText | None = None,
) -> Outcome:
    """The document at `url`, compared with the index; fetched and parsed unless it is given."""
    from ..pages.fetch import Fetcher

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
    text = await asyncio.to_thread(decode_page, body)
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
    from ..pages.extract import shared_extractor

    return shared_extractor()


Kind = Literal["markdown", "rst", "html", "pdf", "text"]

_KINDS: dict[str, Kind] = {
    ".md": "markdown",
    ".markdown": "markdown",
    ".mdx": "markdown",
    ".rst": "rst",
    ".rest": "rst",
    ".html": "html",
    ".htm": "html",
    ".xhtml": "html",
    ".pdf": "pdf",
    ".txt": "text",
    ".text": "text",
    ".adoc": "text",
    ".asciidoc": "text",
    ".org": "text",
}
_BARE_NAMES = frozenset({"authors", "changelog", "changes", "contributing", "copying", "license", "news", "readme"})
_NOT_ENTERED = frozenset({"node_modules", "__pycache__", "site-packages"})


@dataclass(frozen=True, slots=True)
class FileFound:
    """A file to read."""

    path: Path
    kind: Kind
    size: int
    mtime_ns: int


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A folder or file that could not be accessed."""

    path: Path
    reason: str


def kind_of(path: Path) -> Kind | None:
    """The kind of document by file name; None if it is not a document."""
    if kind := _KINDS.get(path.suffix.lower()):
        return kind
    return "text" if path.name.lower() in _BARE_NAMES else None


def walk(folder: Path) -> Iterator[FileFound | Unreadable]:
    """The documents below `folder`, in order; a file reached by several links is given once.

    Hidden files and folders are skipped, and folders of installed packages.
    """
    yield from _walk(folder, set())


def _walk(folder: Path, seen: set[tuple[int, int]]) -> Iterator[FileFound | Unreadable]:
    try:
        status = folder.stat()
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError as error:
        yield Unreadable(folder, error.strerror or str(error))
        return
    if (status.st_dev, status.st_ino) in seen:  # a link to a parent folder
        return
    seen.add((status.st_dev, status.st_ino))
    for entry in entries:
        if entry.name.startswith("."):
            continue
        path = folder / entry.name
        try:
            if entry.is_dir():
                if entry.name not in _NOT_ENTERED:
                    yield from _walk(path, seen)
            elif (kind := kind_of(path)) and entry.is_file():
                status = entry.stat()
                if (status.st_dev, status.st_ino) not in seen:
                    seen.add((status.st_dev, status.st_ino))
                    yield FileFound(path, kind, status.st_size, status.st_mtime_ns)
        except OSError as error:
            yield Unreadable(path, error.strerror or str(error))


_LONGEST = 16 * 1024
_YAML = re.compile(r"\A\ufeff?---[ \t]*\r?\n(.*?)^(?:---|\.\.\.)[ \t]*(?:\r?\n|\Z)", re.DOTALL | re.MULTILINE)
_TOML = re.compile(r"\A\ufeff?\+\+\+[ \t]*\r?\n(.*?)^\+\+\+[ \t]*(?:\r?\n|\Z)", re.DOTALL | re.MULTILINE)
_FIELD = re.compile(r"^([A-Za-z_][\w-]*)[ \t]*:[ \t]+(.*\S)[ \t]*$", re.MULTILINE)

_TITLES = ("title", "name")
_DATES = ("date", "published", "published_at", "publishdate", "pubdate", "created", "created_at", "updated", "lastmod")
_TEXTS = ("description", "summary", "abstract", "subtitle")
_TAGS = ("tags", "keywords", "categories", "category", "topics", "aliases")


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """The metadata of a document."""

    title: str
    published: str | None
    """YYYY-MM-DD."""
    about: str
    """Description and tags."""
    length: int
    """Its length in characters."""


def front_matter(text: str) -> FrontMatter | None:
    """The front matter at the start of `text`, if any."""
    head = text[:_LONGEST]
    if block := _YAML.match(head):
        fields = _yaml(block[1])
        if not fields:  # two horizontal rules
            return None
    elif block := _TOML.match(head):
        fields = _toml(block[1])
    else:
        return None
    lowered = {name.lower(): value for name, value in fields.items()}
    return FrontMatter(
        title=" ".join(next(iter(_texts(lowered, _TITLES)), "").split()),
        published=next(filter(None, (day_of(value) for value in _texts(lowered, _DATES))), None),
        about="\n".join([*_texts(lowered, _TEXTS), *_texts(lowered, _TAGS)]),
        length=block.end(),
    )


def _texts(fields: dict[str, Any], names: Iterable[str]) -> list[str]:
    """The values of the fields `names`, in that order."""
    values = (fields.get(name) for name in names)
    each = (one for value in values for one in (value if is_list(value) else [value]))
    known = (str(one) for one in each if isinstance(one, str | int | float | date | datetime))
    return [text.strip() for text in known if text.strip()]


def _yaml(block: str) -> dict[str, Any]:
    """The top-level fields, each a string or a list of strings; of invalid YAML, the lines `name: value`."""
    import yaml

    try:
        parser: Any = yaml
        root: Any = parser.compose(block, Loader=yaml.BaseLoader)
    except (yaml.YAMLError, RecursionError, ValueError):
        return {name: value.strip("\"'") for name, value in _FIELD.findall(block)}
    if not isinstance(root, yaml.MappingNode):
        return {}
    fields: list[tuple[yaml.Node, yaml.Node]] = root.value
    return {name.value: _value(value) for name, value in fields if isinstance(name, yaml.ScalarNode)}


def _value(node: Any) -> str | list[str]:
    import yaml

    if isinstance(node, yaml.SequenceNode):
        items: list[yaml.Node] = node.value
        return [item.value for item in items if isinstance(item, yaml.ScalarNode)]
    return node.value if isinstance(node, yaml.ScalarNode) else ""


def _toml(block: str) -> dict[str, Any]:
    try:
        return tomllib.loads(block.replace("\r\n", "\n"))
    except (tomllib.TOMLDecodeError, RecursionError, ValueError):
        return {}


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
            metadata.setdefault(_decoded(name[1]).lower(), _decoded(content[1] or content[2] or content[3]))
    values = [metadata[name] for name in _NAMES if name in metadata]
    values += [_decoded(value) for _, value in sorted(_JSON.findall(head), key=lambda one: one[0] != b"datePublished")]
    times = [(one, moment) for one in _TIME.findall(head) if (moment := _DATETIME.search(one))]
    values += [_decoded(moment[1]) for attributes, moment in times if _MARKED.search(attributes)]
    return next(filter(None, map(day_of, values)), None)


def _decoded(value: bytes) -> str:
    return unescape(value.decode("utf-8", "replace")).strip()
