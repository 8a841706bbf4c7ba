"""Tools found by their names: `select:a,b`, and a part of a name."""

from __future__ import annotations

from collections.abc import Container

from .entry import Entry
from .gate import Judgement
from .glossary import is_grammar
from .limits import MAX_LIMIT
from .match import ToolMatch
from .rows import Rows

__all__ = ["names_listed", "selected", "with_part_of_name"]

_NAMED = 5  # unknown names in an error


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


def with_part_of_name(rows: Rows, query: str, judgement: Judgement, limit: int, *, bundled: bool) -> Judgement:
    """`judgement` with the tools whose name contains `query` first.

    Args:
        rows: The tools.
        query: A question.
        judgement: What it found by words and meaning.
        limit: The maximum number of tools.
        bundled: Whether the glossaries that come with hikidashi say what is a word of grammar.
    """
    if bundled and is_grammar(query):
        return judgement
    named, is_sure = rows.named_with(query)
    if is_sure:
        return judgement.preferring(named[:limit])
    if judgement.hits:
        return judgement
    return Judgement([(number, 1.0) for number in named[:limit]], f"Only a piece of a word in its name is {query!r}.")


def _by_name(entry: Entry) -> dict[str, tuple[str, ...]]:
    return {"name": (entry.name,)}
