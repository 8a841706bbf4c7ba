"""What a search found, for a person or for a program."""

from __future__ import annotations

import json
from collections.abc import Sequence
from difflib import get_close_matches

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from hikidashi.search import ToolMatch

from ..wrap import wrapped
from .load import Loaded
from .text import clean, counted, cut, print_row

__all__ = ["print_matches"]

_FIELDS = {
    "name": "name",
    "aliases": "alias",
    "description": "description",
    "tags": "tag",
    "argument_names": "argument",
    "argument_descriptions": "argument text",
    "argument_values": "argument value",
}


def print_matches(
    console: Console, query: str, matches: Sequence[ToolMatch], loaded: Loaded, *, regex: bool, as_json: bool
) -> None:
    """Print a table of `matches` and why each matched, or one JSON object."""
    if as_json:
        found = [_as_json(rank, match) for rank, match in enumerate(matches, 1)]
        answer = {
            "query": query,
            "regex": regex,
            "tools": len(loaded.catalog),
            "matches": found,
            "failed": loaded.failed,
        }
        print(json.dumps(answer, ensure_ascii=False, indent=2))  # noqa: T201 - this is the output
    elif matches:
        _print_table(console, matches)
    else:
        _print_nothing(console, query, loaded, regex=regex)


def _as_json(rank: int, match: ToolMatch) -> dict[str, object]:
    return {
        "rank": rank,
        "name": match.name,
        "score": round(match.score, 4),
        "description": match.entry.description,
        "why": match.why,
    }


def _print_table(console: Console, matches: Sequence[ToolMatch]) -> None:
    longest = max(cell_len(clean(match.name)) for match in matches)
    widths = (2, max(len("Tool"), min(longest, max(12, console.width // 3))), 6)
    rest = console.width - sum(widths) - 2 * len(widths)
    header = [Text(title, "bold") for title in (" #", "Tool", " Score")]
    print_row(console, header, widths, [Text(cut("What it does, and why it matched", rest), "bold")])
    for rank, match in enumerate(matches, 1):
        lines = [Text(cut(match.entry.description or "(no description)", rest))]
        for name, words in match.why.items():
            label = f"{_FIELDS.get(name, name)}: "
            lines.append(Text.assemble((label, "dim"), (cut(", ".join(words), rest - len(label)), "cyan")))
        cells = [Text(f"{rank:>2}"), Text(clean(match.name), "bold green"), Text(f"{match.score:6.2f}")]
        print_row(console, cells, widths, lines)


def _print_nothing(console: Console, query: str, loaded: Loaded, *, regex: bool) -> None:
    said = [Text(f"Nothing found for {clean(query)!r} among {counted(len(loaded.catalog), 'tool')}.", "bold")]
    near = get_close_matches(query, loaded.catalog.names, n=3)
    if near:
        said.append(Text(f"Names that look like it: {', '.join(map(clean, near))}"))
    if regex:
        said.append(Text("Try a shorter pattern, or words without --regex."))
    else:
        said.append(Text("Try other or fewer words, or a part of a name with --regex."))
        said.append(Text("If a tool should have been found, add the words people use to its description."))
    for line in (line for text in said for line in wrapped(text, console.width)):
        console.print(line)
