"""The token budget of the answer to one search: which tools it shows in full, in one line, or only counts."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ...tokens import estimate_tokens
from ...tool import json_text
from ..engine.entry import Entry
from ._schema_cut import compact_schema, shallow_schema, smaller_schemas

__all__ = ["DEFAULT_BUDGET", "AnswerBudget", "Shown", "budget_of", "definition_line", "short_line", "tokens_of"]

_DEFAULT = 5_000
_FEWEST = 200
_CHARACTERS_PER_TOKEN = 6  # of text without spaces, which the estimate takes for a few words
_ABOUT = 120  # characters of a description in a one-line summary
_FRAME = 150  # tokens reserved for the sentences around the tools
_LEAST_DESCRIPTION = 60  # tokens of a description that are kept while the schema is shortened
_CUT = " […cut: {shown:,} of {total:,} characters]"
_SHORT_SCHEMA = " […the arguments are shown in short]"


@dataclass(frozen=True, slots=True)
class AnswerBudget:
    """Maximum number of tokens (estimated) in the answer to one search.

    The best tools are shown in full as far as they fit, the next ones by name and one line, and the rest is counted. If
    the best tool alone is too long, its description is cut, then the descriptions in its schema, then the schema.

    Raises:
        ValueError: `tokens` is less than 200, too few to show a tool.
    """

    tokens: int = _DEFAULT

    def __post_init__(self) -> None:
        if type(self.tokens) is not int or self.tokens < _FEWEST:
            raise ValueError(f"`tokens` of a budget is {self.tokens!r}: use a whole number from {_FEWEST} on.")

    def shown(self, entries: Sequence[Entry], cost: Callable[[Entry], int] | None = None) -> Shown:
        """Which of `entries`, best first, are shown in full, and which in one line.

        `cost` gives the tokens of a tool in full, if not those of its line of JSON.
        """
        of_whole = _cost_of_line if cost is None else cost
        left = self.tokens - _FRAME
        lines: list[int] = []
        for entry in entries:
            line = tokens_of(short_line(entry))
            if lines and line > left:
                break
            lines.append(line)
            left -= line
        whole: list[Entry] = []
        short: list[Entry] = []
        for place, (entry, line) in enumerate(zip(entries, lines, strict=False)):
            needed = of_whole(entry)
            if needed <= left + line:
                left -= needed - line
                whole.append(entry)
            elif place == 0:
                left = 0
                whole.append(self.cut(entry, self.tokens - _FRAME - sum(lines[1:])))
            else:
                short.append(entry)
        return Shown(tuple(whole), tuple(short), len(entries) - len(lines))

    def cut(self, entry: Entry, tokens: int | None = None) -> Entry:
        """`entry` with a definition of at most `tokens`, by default the whole budget; `entry` itself if it fits.

        Levels of a schema below the sixtieth are left out in any case: some frameworks refuse them.
        """
        room = max(_FEWEST // 2, self.tokens - _FRAME if tokens is None else tokens)
        if _cost_of_line(entry) <= room:
            schema = shallow_schema(entry.input_schema)
            return entry if schema is entry.input_schema else replace(entry, input_schema=schema)
        bare = replace(entry, description="")
        least = min(_LEAST_DESCRIPTION, tokens_of(entry.description))
        note = ""
        for schema in smaller_schemas(entry.input_schema):
            bare = replace(bare, input_schema=schema)
            if _cost_of_line(bare) + tokens_of(note) + least <= room:
                break
            note = _SHORT_SCHEMA
        return replace(
            bare, description=_cut_text(entry.description, room - _cost_of_line(bare) - tokens_of(note)) + note
        )


@dataclass(frozen=True, slots=True)
class Shown:
    """The tools in the answer to a search."""

    whole: tuple[Entry, ...]
    """Shown in full: name, description and input schema."""
    short: tuple[Entry, ...] = ()
    """Shown by name and one line."""
    further: int = 0
    """Number of tools that are only counted."""


DEFAULT_BUDGET = AnswerBudget()


def budget_of(given: AnswerBudget | int) -> AnswerBudget:
    """The value of a `budget` option as an `AnswerBudget`.

    Raises:
        ValueError: it is not a whole number, or too small.
    """
    return given if isinstance(given, AnswerBudget) else AnswerBudget(given)


def tokens_of(text: str) -> int:
    """Estimated tokens of `text`; at least one for every six characters."""
    return max(estimate_tokens(text), -(-len(text) // _CHARACTERS_PER_TOKEN))


def definition_line(entry: Entry) -> str:
    """A tool in full, as one line of JSON: name, description and input schema."""
    return _one_line(
        {
            "name": entry.name,
            "description": entry.description,
            "input_schema": compact_schema(entry.input_schema),
        }
    )


def short_line(entry: Entry) -> str:
    """A tool by name and short description; the first key differs from that of a definition."""
    summary = " ".join(entry.description[: 4 * _ABOUT].split())
    return _one_line({"tool": entry.name, "about": summary if len(summary) <= _ABOUT else summary[: _ABOUT - 1] + "…"})


def _cost_of_line(entry: Entry) -> int:
    return tokens_of(definition_line(entry))


def _cut_text(description: str, room: int) -> str:
    """`description` cut to `room` tokens, with a note of how much is missing."""
    if tokens_of(description) <= room:
        return description
    note = _CUT.format(shown=len(description), total=len(description))
    low, high = 0, min(len(description), max(room, 0) * _CHARACTERS_PER_TOKEN)
    while low < high:
        middle = (low + high + 1) // 2
        if tokens_of(json.dumps(description[:middle], ensure_ascii=False) + note) <= room:
            low = middle
        else:
            high = middle - 1
    return description[:low].rstrip() + _CUT.format(shown=low, total=len(description))


def _one_line(shown: dict[str, Any]) -> str:
    try:
        line = json.dumps(shown, ensure_ascii=False, separators=(",", ":"))
        line.encode()
    except (TypeError, ValueError):  # not a JSON value, or a lone surrogate
        return json.dumps(json.loads(json_text(shown)), ensure_ascii=False, separators=(",", ":"))
    return line
