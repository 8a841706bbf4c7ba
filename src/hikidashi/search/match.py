"""ToolMatch: a tool that a search found, and why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .entry import Entry
from .query import QueryTerm
from .text import spelled_terms

__all__ = ["ToolMatch", "field_texts"]


@dataclass(frozen=True, slots=True)
class ToolMatch:
    """A tool that a search found."""

    name: str
    score: float
    """How well it fits: comparable within one search, not between searches."""
    entry: Entry = field(repr=False)
    terms: Sequence[QueryTerm] = field(default=(), repr=False)
    reason: Mapping[str, tuple[str, ...]] | None = field(default=None, repr=False)

    @property
    def tool(self) -> Any:
        """The tool as the catalogue was given it; after `ToolCatalog.load`, an Anthropic tool dict."""
        return self.entry.tool

    @property
    def why(self) -> dict[str, tuple[str, ...]]:
        """The words that matched, per field: `{"name": ("send",), "description": ("メール→mail",)}`."""
        if self.reason is not None:
            return dict(self.reason)
        reasons: dict[str, tuple[str, ...]] = {}
        for name, texts in field_texts(self.entry):
            there = {term for text in texts for _, term in spelled_terms(text)}
            words = tuple(dict.fromkeys(term.shown for term in self.terms if term.term in there))
            if words:
                reasons[name] = words
        return reasons


def field_texts(entry: Entry) -> list[tuple[str, tuple[str, ...]]]:
    """The searched fields of a tool, by name."""
    return [
        ("name", (entry.name,)),
        ("aliases", entry.aliases),
        ("description", (entry.description,)),
        ("tags", entry.tags),
        ("argument_names", entry.argument_names),
        ("argument_descriptions", entry.argument_descriptions),
    ]
