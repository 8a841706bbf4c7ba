"""The entries of a catalogue by number and by name: `select:a,b`, a name in a question, a part of a name."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from itertools import count
from operator import eq
from pathlib import Path

from ...errors import ToolSearchError, ToolValidationError
from .analyzer import FUNCTION, name_key
from .entry import Entry, entry_of
from .match import ToolMatch
from .patterns import searchable_text
from .question import MAX_LIMIT, literals
from .ranking import Hit, Ranking

_BATCH = 256  # texts per batch: most patterns match enough tools in the first
_MIN_PART = 3  # letters: shorter parts are in too many names
_SURE_PART = 5  # letters: a shorter part inside a word (`und` of `refund`) may match by chance
# No part of these can match in two ways, so that they take linear time.
_TOKEN = re.compile(r"\w+(?:[.:/-]\w+)*")
_SEPARATOR = re.compile(r"[.:/-]")
_CAMEL = re.compile(r"[a-z][A-Z]")


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The tools of a catalogue at one moment, unaffected by later changes."""

    numbers: list[int]
    """The numbers of the tools, in catalogue order."""
    entries: list[Entry | bytes | None]
    texts: list[str | bytes | None]
    """The searchable text of each tool, made when first needed; shared with the catalogue and other snapshots."""
    _batches: dict[int, list[str]] = field(default_factory=dict[int, list[str]])

    def batches(self) -> Iterator[list[str]]:
        """The searchable texts of the tools, in catalogue order; a batch is made when first needed.

        No object is made per tool that the garbage collector must traverse: as many as there are tools would make it
        traverse all of the program's, which takes longer than the search.
        """
        for start in range(0, len(self.numbers), _BATCH):
            if start not in self._batches:
                self._batches[start] = list(map(self._text, self.numbers[start : start + _BATCH]))
            yield self._batches[start]

    def _text(self, number: int) -> str:
        text = self.texts[number]
        if not isinstance(text, str):
            text = searchable_text(self.entry(number)) if text is None else text.decode("utf-8", "surrogatepass")
            self.texts[number] = text
        return text

    def entry(self, number: int) -> Entry:
        """The tool with this number."""
        return _decoded(self.entries[number])


def _decoded(row: Entry | bytes | None) -> Entry:
    if isinstance(row, Entry):
        return row
    assert row is not None
    return entry_of(json.loads(row))


def is_identifier(text: str) -> bool:
    """Whether `text` is an identifier with several words: `send_mail`, `sendMail`."""
    return _TOKEN.fullmatch(text) is not None and _identifiers(text) == [text]


def _identifiers(token: str) -> list[str]:
    """The identifiers with several words that a token is, or has between separators."""
    if "_" in token[1:-1]:
        return [token]
    return [part for part in _SEPARATOR.split(token) if _CAMEL.search(part)]


def _names_in(token: str) -> list[str]:
    """What may be the name of a tool: identifiers, and parts joined by `.`, `/`, `:` or more than one `-`."""
    joined = _SEPARATOR.findall(token)
    return [*_identifiers(token), *([token] if joined and joined != ["-"] else [])]  # not `e-mail`


class Rows:
    """The entries of a catalogue; those read from a file stay JSON until they are needed."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}
        """The number of each tool by name, in the order they were added."""
        self.entries: list[Entry | bytes | None] = []
        self.texts: list[str | bytes | None] = []
        self._by_key: dict[str, list[str]] | None = None

    def add(self, entry: Entry) -> None:
        """Add a tool under the next number.

        Raises:
            ToolValidationError: another tool has this name.
        """
        known = self.numbers.get(entry.name)
        if known is not None:
            raise ToolValidationError(
                f"Two tools are named {entry.name!r}: number {known} is {self.entry(known).origin}, "
                f"number {len(self.entries)} is {entry.origin}. "
                "Rename one, for example with a prefix of its server.",
                entry.name,
            )
        self.numbers[entry.name] = len(self.entries)
        self.entries.append(entry)
        self.texts.append(None)
        if self._by_key is not None:
            self._by_key.setdefault(name_key(entry.name), []).append(entry.name)

    def remove(self, name: str) -> tuple[int, Entry]:
        """Remove a tool; its number is not used again.

        Raises:
            ToolSearchError: no tool has this name.
        """
        if not isinstance(name, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ToolSearchError("invalid_tool_input", f"`name` is {name!r:.100}: it must be the name of a tool.")
        if name not in self.numbers:
            raise self.no_such_tool([name])
        number = self.numbers.pop(name)
        entry = self.entry(number)
        self.entries[number] = self.texts[number] = None
        if self._by_key is not None:
            self._by_key[name_key(name)].remove(name)
        return number, entry

    def bind(self, entry: Entry) -> None:
        """Replace the tool of the same name, which has the same searchable text."""
        self.entries[self.numbers[entry.name]] = entry

    @property
    def is_in_order(self) -> bool:
        """Whether the tools are numbered from 0 in catalogue order, without gaps."""
        return len(self.entries) == len(self.numbers) and all(map(eq, self.numbers.values(), count()))

    def reorder(self, names: Iterable[str]) -> None:
        """Put the tools in the order of `names`, which has all of them."""
        self.numbers = {name: self.numbers[name] for name in names}

    def entry(self, number: int) -> Entry:
        """The tool with this number, which must be in use."""
        self.entries[number] = entry = _decoded(self.entries[number])
        return entry

    def snapshot(self) -> Snapshot:
        """The tools as they are now."""
        return Snapshot(list(self.numbers.values()), list(self.entries), self.texts)

    def _keys(self) -> dict[str, list[str]]:
        """The names by `name_key`."""
        if self._by_key is None:
            self._by_key = {}
            for known in self.numbers:
                self._by_key.setdefault(name_key(known), []).append(known)
        return self._by_key

    def spelled_like(self, name: str) -> list[int]:
        """The tools whose name is `name` in some spelling, the very same spelling first."""
        key = name_key(name)
        alike = self._keys().get(key, ()) if key else ()
        return [self.numbers[known] for known in sorted(alike, key=lambda known: known != name)]

    def named_by(self, text: str) -> list[int]:
        """The tools that `text` names: all of it in some spelling, an identifier in it, or a name in quotes."""
        whole = self.spelled_like(text)
        if whole or len(text) < _MIN_PART:
            return whole
        names = [name for token in _TOKEN.findall(text) for name in _names_in(token)]
        found = {number: None for name in names for number in self.spelled_like(name)}
        found.update((self.numbers[name], None) for name in literals(text) if name in self.numbers)
        return list(found)

    def named_with(self, part: str) -> tuple[list[int], bool]:
        """The tools whose name contains `part`, one word, in some spelling; the shortest name first.

        Also whether that is hardly by chance: `part` is long, an identifier, or begins a word of each name. If it
        begins a word of some names, the others are left out.
        """
        key = name_key(part)
        if len(key) < _MIN_PART or len(part.split()) != 1:
            return [], True
        names = sorted(
            (name for known, names in self._keys().items() if key in known for name in names),
            key=lambda name: (len(name), self.numbers[name]),
        )
        is_sure = len(key) >= _SURE_PART or not key.isascii() or is_identifier(part)
        if not is_sure:
            letters = r"[\W_]*".join(key)
            begins = re.compile(rf"(?:^|[\W_]|(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z]))(?i:{letters})")
            beginning = [name for name in names if begins.search(name)]
            names, is_sure = beginning or names, bool(beginning)
        return [self.numbers[name] for name in names], is_sure

    def no_such_tool(self, names: list[str]) -> ToolSearchError:
        """The error for names that no tool has, with names that are close."""
        close = [self.entry(number).name for name in names for number in self.spelled_like(name)]
        if not close:  # comparing with 10,000 names takes 80 ms: not for each of a long list
            close = [match for name in names[:2] for match in get_close_matches(name, self.numbers, n=2)]
        hint = f" Did you mean {' or '.join(map(repr, close[:5]))}?" if close else " Search for it by words."
        return ToolSearchError("invalid_tool_input", f"No tool is named {' or '.join(map(repr, names))}.{hint}")


logger = logging.getLogger("hikidashi")

_NAMED = 5  # unknown names in an error
_WARNED_OF = 20  # tools named in a warning
_NOT_NAME = re.compile(r"^(?:\(\?[aimsux]+\))?\^?|\$$|\\(?=\W)")  # flags, anchors and escapes around a name


def names_listed(listed: str, known: Container[str]) -> list[str]:
    """The names in a list with commas between; a name among `known` may contain a comma itself."""
    whole = listed.strip()
    parts = [whole] if whole in known else listed.split(",")
    return list(dict.fromkeys(name.strip() for name in parts if name.strip()))


def selected(rows: Rows, listed: str) -> list[ToolMatch]:
    """The tools whose names are listed, with commas between, in that order.

    Raises:
        ToolSearchError: no tool has any of the names.
    """
    names = names_listed(listed, rows.numbers)
    known = [name for name in names if name in rows.numbers]
    if not known:
        raise rows.no_such_tool(names[:_NAMED] or [""])
    entries = [rows.entry(rows.numbers[name]) for name in known[:MAX_LIMIT]]
    return [ToolMatch(entry.name, 1.0, entry, _by_name) for entry in entries]


def name_in_pattern(pattern: str) -> str:
    """The name that a pattern is, without anchors and escapes, in lower case."""
    return _NOT_NAME.sub("", pattern).casefold()


def warn_of_missing(names: Sequence[str], path: str | Path) -> None:
    """Warn that a saved catalogue has tools that were not given."""
    if names:
        named = ", ".join(map(repr, names[:_WARNED_OF])) + (" …" if len(names) > _WARNED_OF else "")
        message = "The catalogue %s has tools that were not given, which are left out (%d): %s."
        logger.warning(message, path, len(names), named)


def preferring_named(rows: Rows, query: str, ranking: Ranking, limit: int) -> Ranking:
    """`ranking` with the tools that `query` names first; where it names none, perhaps a part of a name."""
    named = rows.named_by(query)
    is_certain = ranking.hits and not ranking.doubt and not ranking.is_by_meaning
    if not named and (is_identifier(query) or not is_certain) and query.casefold() not in FUNCTION:
        return _with_part_of_name(rows, query, ranking, limit)
    return ranking.preferring(named)


def _with_part_of_name(rows: Rows, query: str, ranking: Ranking, limit: int) -> Ranking:
    """`ranking` with the tools whose name contains `query` first."""
    named, is_sure = rows.named_with(query)
    if is_sure:
        return ranking.preferring(named[:limit])
    # The encoder reads a piece of a name as near to that name: such nearness is spelling, not meaning.
    is_spelling = ranking.is_by_meaning and ranking.hits[0].number in named
    if ranking.hits and not (named and (ranking.doubt or is_spelling)):
        return ranking
    return Ranking([Hit(number, 1.0) for number in named[:limit]], f"Only a piece of a word in its name is {query!r}.")


def _by_name(entry: Entry) -> dict[str, tuple[str, ...]]:
    return {"name": (entry.name,)}
