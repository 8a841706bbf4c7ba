"""Tools found by their names: `select:a,b`, a name in a question, a part of a name."""

from __future__ import annotations

import logging
import re
from collections.abc import Container, Sequence
from pathlib import Path

from .entry import Entry
from .gate import Judgement
from .glossary import is_grammar
from .limits import MAX_LIMIT
from .match import ToolMatch
from .rows import Rows, is_identifier

__all__ = ["name_in_pattern", "names_listed", "preferring_named", "selected", "warn_of_missing"]

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


def preferring_named(rows: Rows, query: str, judgement: Judgement, limit: int, *, bundled: bool) -> Judgement:
    """`judgement` with the tools that `query` names first; where it names none, perhaps a part of a name.

    Args:
        rows: The tools.
        query: A question.
        judgement: What it found by words and meaning.
        limit: The maximum number of tools.
        bundled: Whether the glossaries that come with hikidashi say what is a word of grammar.
    """
    named = rows.named_by(query)
    is_certain = judgement.hits and not judgement.doubt and not judgement.is_by_meaning
    if not named and (is_identifier(query) or not is_certain):
        judgement = _with_part_of_name(rows, query, judgement, limit, bundled=bundled)
    return judgement.preferring(named)


def _with_part_of_name(rows: Rows, query: str, judgement: Judgement, limit: int, *, bundled: bool) -> Judgement:
    """`judgement` with the tools whose name contains `query` first."""
    if bundled and is_grammar(query):
        return judgement
    named, is_sure = rows.named_with(query)
    if is_sure:
        return judgement.preferring(named[:limit])
    # The encoder reads a piece of a name as near to that name: such nearness is spelling, not meaning.
    is_spelling = judgement.is_by_meaning and judgement.hits[0][0] in named
    if judgement.hits and not is_spelling:
        return judgement
    return Judgement([(number, 1.0) for number in named[:limit]], f"Only a piece of a word in its name is {query!r}.")


def _by_name(entry: Entry) -> dict[str, tuple[str, ...]]:
    return {"name": (entry.name,)}
