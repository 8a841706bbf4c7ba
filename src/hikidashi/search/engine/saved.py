"""A catalogue in a file: written atomically, checked when read, and nothing in it is executed.

A header line with the versions of the format and of the indexing rules, a checksum, then sections of plain arrays and
JSON. Tools stay JSON until a search finds them, which is why a file opens faster than a catalogue is built.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
import zlib
from array import array
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from ...common.files import replace_file
from ...errors import ToolSearchError
from .entry import Entry
from .index import Index, Postings
from .meaning import StoredVectors
from .rows import Rows

NAME = b"hikidashi catalogue "  # the first bytes of a file of any version
FORMAT_VERSION = 6
"""Raise it when the layout of the file changes."""
RULES_VERSION = 3
"""Raise it when the indexing rules change: terms, fields, weights, searchable text or the text that is embedded.

A query that is analysed by other rules would miss the terms in the file. `tests/search/engine/test_rules.py` fails when
the rules change and this number does not.
"""
_MAGIC = NAME + f"{FORMAT_VERSION} {RULES_VERSION}\n".encode()
_VERSIONS = re.compile(re.escape(NAME) + rb"(\d{1,9})(?: (\d{1,9})\n)?")
_DIGEST = 8  # bytes: enough to tell two versions of one tool apart
_SECTIONS = (
    "names",
    "rows",
    "row_ends",
    "texts",
    "text_ends",
    "terms",
    "term_ends",
    "packed",
    "lengths",
    "digests",
    "vectors",
)


def write(path: Path, rows: Rows, index: Index, vectors: StoredVectors | None = None) -> None:
    """Write a catalogue to a file, atomically.

    The tools of `rows` and `index` must be numbered without gaps.

    Raises:
        ToolSearchError: a tool's schema is not JSON, or the file cannot be written.
    """
    entries = [rows.entry(number) for number in rows.numbers.values()]
    saved = [_saved(entry) for entry in entries]
    texts = [text.encode("utf-8", "surrogatepass") for batch in rows.snapshot().batches() for text in batch]
    postings = [known for term in index.terms if (known := index.postings(term))]
    packed: array[int] = array("Q")
    for term in postings:
        packed += term.packed
    body = {
        "names": _json(list(rows.numbers)),
        "rows": b"".join(saved),
        "row_ends": _ends(saved),
        "texts": b"".join(texts),
        "text_ends": _ends(texts),
        "terms": "\n".join(index.terms).encode("utf-8", "surrogatepass"),
        "term_ends": _ends([term.packed for term in postings]),
        "packed": _bytes(packed),
        "lengths": _bytes(array("Q", index.lengths)),
        "digests": b"".join(map(digest_of, entries)),
        "vectors": b"" if vectors is None else vectors.to_bytes(),
    }
    sizes = _bytes(array("Q", (len(body[name]) for name in _SECTIONS)))
    content = sizes + b"".join(body[name] for name in _SECTIONS)
    _replace(path, _MAGIC + zlib.crc32(content).to_bytes(8, "little") + content)


def digest_of(entry: Entry) -> bytes:
    """A digest of what is indexed of a tool."""
    return hashlib.blake2b(repr(entry.texts()).encode(), digest_size=_DIGEST).digest()


@dataclass(frozen=True, slots=True)
class Saved:
    """What is in a file."""

    rows: Rows
    index: Index
    digests: dict[str, bytes]
    """The digest of each tool by name."""
    vectors: StoredVectors | None


def read(path: Path) -> Saved:
    """The catalogue in a file.

    Raises:
        ToolSearchError: the file is missing, damaged, of another version, or not a catalogue.
    """
    try:
        content = path.read_bytes()
    except (OSError, ValueError) as error:  # ValueError: a path with a NUL character
        raise ToolSearchError(
            "unavailable", f"The catalogue {str(path)!r} cannot be read: {_reason(error)}. Check the path."
        ) from error
    head = len(_MAGIC) + 8
    if not content.startswith(_MAGIC):
        raise ToolSearchError("unavailable", f"The file {str(path)!r} {_why_unreadable(content)}")
    checksum = int.from_bytes(content[len(_MAGIC) : head], "little")
    if len(content) < head + 8 * len(_SECTIONS) or zlib.crc32(memoryview(content)[head:]) != checksum:
        raise _damaged(path)
    try:
        return _parse(content, head)
    except (LookupError, TypeError, ValueError, RecursionError) as error:  # the checksum is right, the content not
        raise _damaged(path) from error


def _damaged(path: Path) -> ToolSearchError:
    return ToolSearchError("unavailable", f"The catalogue {str(path)!r} is damaged. Build it again and save it.")


def _why_unreadable(content: bytes) -> str:
    """Why this version cannot read a file, and what to do."""
    again = "build the catalogue from its tools again and save it: `ToolCatalog(tools).save(path)`."
    if not content.startswith(NAME):
        return f"is not a saved catalogue. Check the path, or {again}"
    found = _VERSIONS.match(content)
    versions = [int(number or 0) for number in found.groups()] if found else []
    if versions > [FORMAT_VERSION, RULES_VERSION]:
        return f"was saved by a newer version of hikidashi. Upgrade hikidashi, or {again}"
    return f"was saved by an older version of hikidashi, with other indexing rules. {again[0].upper()}{again[1:]}"


def _parse(content: bytes, head: int) -> Saved:
    start = head + 8 * len(_SECTIONS)
    part: dict[str, bytes] = {}
    for name, size in zip(_SECTIONS, _array(content[head:start]), strict=True):
        part[name] = content[start : start + size]
        start += size
    rows, index = Rows(), Index()
    rows.numbers = {name: number for number, name in enumerate(json.loads(part["names"]))}
    rows.entries = _pieces(part["rows"], _array(part["row_ends"]))
    rows.texts = _pieces(part["texts"], _array(part["text_ends"]))
    index.lengths = array("I", _array(part["lengths"]))
    index.count = len(index.lengths)
    index.numbers = list(range(index.count))
    index.total = sum(index.lengths)
    terms = part["terms"].decode("utf-8", "surrogatepass").split("\n") if part["terms"] else []
    stored = _Stored(_array(part["packed"]), _array(part["term_ends"]))
    index.terms = dict(zip(terms, range(-1, -1 - len(terms), -1), strict=True))
    index.terms_added = len(terms)
    index.stored = stored.postings
    digests = part["digests"]
    digest_of_name = {name: digests[at * _DIGEST : (at + 1) * _DIGEST] for name, at in rows.numbers.items()}
    vectors = StoredVectors.from_bytes(part["vectors"]) if part["vectors"] else None
    return Saved(rows, index, digest_of_name, vectors)


@dataclass(frozen=True, slots=True)
class _Stored:
    """All posting lists of a file."""

    packed: array[int]
    ends: array[int]

    def postings(self, place: int) -> Postings:
        """The posting list of the term at `place`."""
        start = self.ends[place - 1] if place else 0
        return Postings(self.packed[start : self.ends[place]])


def _saved(entry: Entry) -> bytes:
    """A tool as JSON: as it is if it is a JSON object, else as an Anthropic tool dict."""
    tool = cast("object", entry.tool)
    if isinstance(tool, Mapping):
        with suppress(TypeError, ValueError, RecursionError):
            return _json(dict(cast("Mapping[str, Any]", tool)))
    plain: dict[str, Any] = {
        "name": entry.name,
        "description": entry.description,
        "input_schema": entry.input_schema or {"type": "object", "properties": {}},
    }
    plain |= {key: list(words) for key, words in (("aliases", entry.aliases), ("tags", entry.tags)) if words}
    try:
        return _json(plain)
    except (TypeError, ValueError, RecursionError) as error:
        raise ToolSearchError(
            "invalid_tool_input",
            f"Tool {entry.name!r} cannot be saved: its schema is not JSON ({error}). "
            "Use only dicts, lists, text, numbers, true, false and null.",
        ) from error


def _json(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")


def _ends(pieces: list[bytes] | list[array[int]]) -> bytes:
    ends: array[int] = array("Q")
    end = 0
    for piece in pieces:
        end += len(piece)
        ends.append(end)
    return _bytes(ends)


def _pieces(content: bytes, ends: array[int]) -> list[Any]:
    pieces: list[bytes] = []
    start = 0
    for end in ends:
        pieces.append(content[start:end])
        start = end
    return pieces


def _bytes(values: array[int]) -> bytes:
    if sys.byteorder == "big":
        values = array(values.typecode, values)
        values.byteswap()
    return values.tobytes()


def _array(content: bytes) -> array[int]:
    values: array[int] = array("Q")
    values.frombytes(content)
    if sys.byteorder == "big":
        values.byteswap()
    return values


def _replace(path: Path, content: bytes) -> None:
    try:
        replace_file(path, content)
    except (OSError, ValueError) as error:
        raise ToolSearchError(
            "unavailable",
            f"The catalogue cannot be saved to {str(path)!r}: {_reason(error)}. "
            "Choose a file in a folder that exists, can be written to and has room.",
        ) from error


def _reason(error: OSError | ValueError) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)
