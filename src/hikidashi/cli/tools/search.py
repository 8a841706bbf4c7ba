"""`hikidashi tools search`: what a search finds, for a person or as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from itertools import groupby
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from ..output import clean, counted, cut, is_bounded, print_json, print_row, print_wrapped, stdout, wrapped
from .catalog import CatalogOption, JsonOption, Loaded, McpOption, OverlayOption, TimeoutOption, load, make_ready

if TYPE_CHECKING:
    from hikidashi.search import ToolMatch
    from hikidashi.search.engine.match import Explanation

EXAMPLES = """\b
Examples:
  hikidashi tools search "send a message" --catalog tools.json
  hikidashi tools search メールを送る --mcp .mcp.json
  hikidashi tools search "contact tanaka" --explain --catalog tools.json
  hikidashi tools search "get_.*_data" --regex --catalog my_app.tools:TOOLS
"""

_FIELDS = {
    "name": "name",
    "aliases": "alias",
    "description": "description",
    "tags": "tag",
    "argument_names": "argument",
    "argument_descriptions": "argument text",
    "argument_values": "argument value",
}

_ALL_IN_ONE = "Tool and score, what it does, and why it matched"
_NARROWEST = 10  # columns for what a tool does
_NARROW = 40  # columns: in fewer, no line is cut
_SELECT = "select:"
_NAMED = "These tools were named: nothing was ranked."


def search(
    query: Annotated[
        str,
        typer.Argument(metavar="QUERY", help="Words, `select:a,b`, or a pattern with --regex."),
    ],
    *,
    catalog: CatalogOption = None,
    mcp: McpOption = None,
    regex: Annotated[bool, typer.Option("--regex", help="QUERY is a regular expression.")] = False,
    limit: Annotated[int, typer.Option(metavar="N", help="How many tools at most.", min=1, max=50)] = 5,
    ranker: Annotated[
        Literal["auto", "lexical", "hybrid"],
        typer.Option(help="By words, or by meaning too; auto: by meaning if the encoder can be loaded."),
    ] = "auto",
    explain: Annotated[
        bool,
        typer.Option(
            "--explain", help="Show how a score was made, how likely the first tool is right, and what was held back."
        ),
    ] = False,
    overlay: OverlayOption = None,
    timeout: TimeoutOption = 30.0,
    as_json: JsonOption = False,
) -> None:
    """Show which tools a search finds, best first, and which of their words matched.

    An arrow is a corrected spelling or another word for the same: mial→mail, bill→invoice. A question mark is a tool
    that the search is not confident of: the nearest there is. Exit code 1 means that nothing was found.
    """
    from hikidashi.search.engine.match import Explanation
    from hikidashi.search.overlay import overlay_of

    loaded = load(catalog, mcp, seconds=timeout, ranker=ranker, overlay=overlay_of(overlay))
    if not regex and loaded.catalog.ranks_by_meaning(query):
        make_ready(loaded.catalog)
    if explain and not regex:
        found = loaded.catalog.explain(query, limit=limit)
    else:
        search_by = loaded.catalog.search_regex if regex else loaded.catalog.search
        found = Explanation(search_by(query, limit=limit))
    _print_matches(stdout(), query, found, loaded, regex=regex, explain=explain, as_json=as_json)
    if not found.matches:
        raise typer.Exit(1)


def _print_matches(
    console: Console,
    query: str,
    found: Explanation,
    loaded: Loaded,
    *,
    regex: bool,
    explain: bool,
    as_json: bool,
) -> None:
    """Print a table of the matches and why each matched, or one JSON object; with `explain` also what was held back."""
    unknown = _unknown(query, loaded) if found.matches and not regex else []
    if as_json:
        answer: dict[str, object] = {
            "query": query,
            "regex": regex,
            "tools": len(loaded.catalog),
            "matches": _as_json(found.matches),
            "failed": loaded.failed,
        }
        if unknown:
            answer["unknown"] = unknown
        if explain:
            answer |= {"held_back": _as_json(found.held_back), "words": found.words, "read": found.read}
            if found.matches and not regex:
                answer["probability"] = round(found.matches[0].probability, 4)
            if found.nearest is not None:
                answer["nearest"] = {"name": found.nearest[0], "nearness": round(found.nearest[1], 4)}
        print_json(answer)
        return
    shares = explain and not regex and loaded.catalog.ranks_by_meaning(query)
    if found.matches:
        _print_table(console, found.matches, shares=shares)
    else:
        _print_nothing(console, query, loaded, regex=regex)
    if unknown:
        print_wrapped(console, Text(f"No tool is named {', '.join(map(repr, map(clean, unknown)))}."))
    if explain and query.strip().startswith(_SELECT):
        print_wrapped(console, Text(_NAMED))
    elif explain:
        print_wrapped(console, *_of_confidence(found, regex=regex), *_of_meaning(query, found))
        _print_explanation(console, found, shares=shares, regex=regex)


def _unknown(query: str, loaded: Loaded) -> list[str]:
    """The names in `select:a,b` that no tool has."""
    query = query.strip()
    if not query.startswith(_SELECT):
        return []
    from hikidashi.search.engine.rows import names_listed

    names = names_listed(query.removeprefix(_SELECT), loaded.catalog)
    return [name for name in names if name not in loaded.catalog]


def _as_json(matches: Sequence[ToolMatch]) -> list[dict[str, object]]:
    found: list[dict[str, object]] = []
    for rank, match in enumerate(matches, 1):
        one: dict[str, object] = {
            "rank": rank,
            "name": match.name,
            "score": round(match.score, 4),
            "by_words": round(match.by_words, 4),
            "by_meaning": round(match.by_meaning, 4),
            "description": match.entry.description,
            "why": match.why,
            "confident": match.confident,
        }
        found.append(one if match.confident else one | {"doubt": match.doubt})
    return found


def _print_table(console: Console, matches: Sequence[ToolMatch], *, shares: bool) -> None:
    longest = max(cell_len(clean(match.name)) for match in matches)
    in_columns = longest <= max(12, console.width // 3)  # longer names stand above what the tools do
    widths = (2, max(len("Tool"), longest), 6) if in_columns else (2,)
    rest = console.width - sum(widths) - 2 * len(widths)
    if rest < _NARROWEST or console.width < _NARROW:
        _print_list(console, matches, shares=shares)
        return
    *header, last = (" #", "Tool", " Score", "What it does, and why it matched") if in_columns else (" #", _ALL_IN_ONE)
    print_row(console, [Text(title, "bold") for title in header], widths, [Text(cut(last, rest), "bold")])
    for rank, match in enumerate(matches, 1):
        lines = [Text(cut(match.entry.description or "(no description)", rest))]
        if shares:
            lines += wrapped(Text.assemble(("score: ", "dim"), _shares(match)), rest)
        for name, words in match.why.items():
            label = f"{_FIELDS.get(name, name)}: "
            lines.append(Text.assemble((label, "dim"), (cut(", ".join(words), rest - len(label)), "cyan")))
        number = Text(f"{rank:>2}") if match.confident else Text(" ?", "yellow")
        name, score = Text(clean(match.name), "bold green"), Text(f"{match.score:6.2f}")
        if in_columns:
            print_row(console, [number, name, score], widths, lines)
        else:
            above = name + score
            print_row(console, [number], widths, [*(wrapped(above, rest) if is_bounded(console) else [above]), *lines])
    _print_doubt(console, matches)


def _print_list(console: Console, matches: Sequence[ToolMatch], *, shares: bool) -> None:
    """The matches one below the other, where a table would have no room for what they do."""
    for rank, match in enumerate(matches, 1):
        number = f"{rank:>2}" if match.confident else " ?"
        texts = [Text.assemble(f"{number} ", (clean(match.name), "bold green"), f" {match.score:.2f}")]
        texts.append(Text(clean(match.entry.description) or "(no description)"))
        texts += [_shares(match)] if shares else []
        texts += [
            Text(f"{_FIELDS.get(name, name)}: {', '.join(map(clean, words))}") for name, words in match.why.items()
        ]
        print_wrapped(console, *texts)
    _print_doubt(console, matches)


def _print_doubt(console: Console, matches: Sequence[ToolMatch]) -> None:
    if not matches[0].confident:
        print_wrapped(console, Text(f"The nearest match, perhaps not the right one. {matches[0].doubt}"))


def _shares(match: ToolMatch) -> Text:
    """The parts of a score: their sum is the score."""
    score, words = round(match.score, 2), round(match.score * match.by_words, 2)
    return Text.assemble((f"{words:.2f}", "cyan"), " by words + ", (f"{score - words:.2f}", "magenta"), " by meaning")


def _of_confidence(found: Explanation, *, regex: bool) -> list[Text]:
    """How likely the first match is right."""
    if regex or not found.matches:
        return []
    return [
        Text("Confidence", "bold"),
        Text(f"The first tool is right with a probability of {_sure(found.matches[0])}."),
    ]


def _sure(match: ToolMatch) -> str:
    """A probability that is never rounded to certainty."""
    return f"{min(max(match.probability, 0.01), 0.99):.0%}"


def _of_meaning(query: str, found: Explanation) -> list[Text]:
    """What the encoder has read, if that is not the question itself, and how near the nearest tool is if in doubt."""
    lines: list[Text] = []
    if found.read and found.read.split() != query.split():
        lines.append(Text.assemble("The encoder read: ", (clean(found.read), "magenta")))
    if found.nearest is not None and not found.matches[0].confident:
        name, nearness = found.nearest
        share = f", at {max(nearness, 0.0):.0%} of the similarity that is usually enough."
        lines.append(Text.assemble("Nearest in meaning: ", (clean(name), "green"), share))
    return [Text("Meaning", "bold"), *lines] if lines else []


def _print_explanation(console: Console, found: Explanation, *, shares: bool, regex: bool) -> None:
    if regex:
        print_wrapped(console, Text("Only searches by words have an explanation."))
        return
    texts = [Text.assemble((clean(word), "cyan"), f" is {state}.") for word, state in found.words.items()]
    if texts:
        print_wrapped(console, Text("Words", "bold"), *texts)
    print_wrapped(console, Text("Held back", "bold"))
    if not found.held_back:
        print_wrapped(console, Text("No other tool matches."))
    for why, matches in groupby(found.held_back, key=lambda match: match.doubt):
        print_wrapped(console, Text(why))
        for match in matches:
            line = Text.assemble("  ", (clean(match.name), "green"), f" {match.score:.2f}")
            print_wrapped(console, Text.assemble(line, ": ", _shares(match)) if shares else line)


def _print_nothing(console: Console, query: str, loaded: Loaded, *, regex: bool) -> None:
    texts = [Text(f"Nothing found for {clean(query)!r} among {counted(len(loaded.catalog), 'tool')}.", "bold")]
    near = get_close_matches(query, loaded.catalog.names, n=3)
    if near:
        texts.append(Text(f"Names that look like it: {', '.join(map(clean, near))}"))
    if regex:
        texts.append(Text("Try a shorter pattern, or words without --regex."))
    else:
        texts.append(Text("Try other or fewer words, or a part of a name with --regex."))
        texts.append(Text("If a tool should have been found, add the words people use to its description."))
    print_wrapped(console, *texts)
