"""`hikidashi tools report`: what recorded searches say about the tools, for a person or as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from ..output import clean, counted, cut, more, print_json, print_wrapped, stderr, stdout, wrapped
from .catalog import CatalogOption, JsonOption, McpOption, TimeoutOption, load

if TYPE_CHECKING:
    from hikidashi.search.log_report import FoundByCounts, Missed, PreloadCounts, Proposal, Report
    from hikidashi.search.overlay import Overlay

EXAMPLES = """\b
Examples:
  hikidashi tools report --log searches.db --catalog tools.json
  hikidashi tools report --log searches.db --mcp .mcp.json --json
  hikidashi tools report --log searches.db --mcp .mcp.json --overlay my.yaml
"""

_SHOWN = 10
_WORDS_SHOWN = 8  # more than fit into one description


def report(
    log: Annotated[Path, typer.Option(metavar="FILE", help="The searches that a SearchLog recorded.")],
    *,
    catalog: CatalogOption = None,
    mcp: McpOption = None,
    overlay: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Read this overlay, and write what searches agree on.", show_default=False),
    ] = None,
    timeout: TimeoutOption = 30.0,
    as_json: JsonOption = False,
) -> None:
    """Show what recorded searches say about a catalogue.

    Searches that found nothing, tools that are never found or called, tools that could stay loaded, and words that
    several searches used and descriptions lack. With --overlay these words become aliases in a file, which
    `tools search --overlay` and `ToolCatalog(overlay=...)` read.
    """
    from hikidashi.search.log_report import report as report_on
    from hikidashi.search.log_sqlite import SearchLog
    from hikidashi.search.overlay import Overlay

    known = Overlay.read(overlay) if overlay is not None and overlay.exists() else Overlay()
    with SearchLog(log, must_exist=True) as records:
        found = report_on(records, load(catalog, mcp, seconds=timeout, overlay=known).catalog)
    _print_report(stdout(), found, as_json=as_json)
    if overlay is not None:
        _write_overlay(known, found, overlay)


def _print_report(console: Console, report: Report, *, as_json: bool) -> None:
    """Print `report` in sections, each with what to do, or as one JSON object."""
    if as_json:
        print_json(report.as_json())
        return
    console.print(
        Text(
            f"{counted(report.searches, 'search', 'searches')} and {counted(report.calls, 'call')}, "
            f"{counted(report.tools, 'tool')}."
        )
    )
    if not report.searches and not report.calls and not report.preloading.messages:
        console.print(Text("Nothing is recorded yet: pass a SearchLog as `record=` to your search."))
        return
    _print_found_by(console, report)
    _section(
        console,
        "Searches that found nothing",
        [(empty.count, _shown(empty.query)) for empty in report.found_nothing],
        "Add a tool, or these words to the tool that should answer.",
    )
    _section(
        console,
        "Tools that no search found",
        [(None, name) for name in report.never_found],
        "Say in their descriptions what people ask for, or remove them.",
    )
    _section(
        console,
        "Tools found and never called",
        [(tool.found, tool.name) for tool in report.never_called],
        "Narrow their descriptions: they displace other tools in the results.",
    )
    _print_preloading(console, report.preloading)
    _section(
        console,
        "Tools called a lot",
        [(tool.calls, f"{tool.name} ({_percent(tool.share)} of all calls)") for tool in report.often_called],
        "Keep them loaded: always_loaded=[...], or usage=SearchLog(...).usage().",
    )
    _section(
        console,
        "Recorded tools that are not in the catalogue",
        [(None, name) for name in report.gone],
        "They were renamed or removed, or the catalogue is another one.",
    )
    _print_proposals(console, report.proposals)


def _write_overlay(known: Overlay, report: Report, path: Path) -> None:
    """Add the words that searches agree on to an overlay, as aliases, and report it on standard error.

    Raises:
        ToolSourceError: the file cannot be written, or has comments.
    """
    words = {proposal.tool: proposal.words[:_WORDS_SHOWN] for proposal in report.proposals}
    if not words:
        stderr().print(Text(clean(f"No words that several searches agree on: {path} is as it was.")))
        return
    known.with_aliases(words).write(path)
    aliases = counted(sum(map(len, words.values())), "alias", "aliases")
    stderr().print(Text(clean(f"Wrote {aliases} of {counted(len(words), 'tool')} to {path}.")))


def _print_found_by(console: Console, report: Report) -> None:
    """How the called tools were found, and what preloading loaded: a sentence each."""
    conversations, calls, preloading = report.conversations_found_by, report.calls_found_by, report.preloading
    if not calls.total and not preloading.messages:
        return
    console.print()
    console.print(Text("How the called tools were found", "bold"))
    if calls.total:
        head = f"Of {counted(conversations.total, 'conversation')} in which a tool was called: "
        _print_sentence(console, head + _shares(conversations))
        _print_sentence(console, f"Of {counted(calls.total, 'call')}: {_shares(calls)}")
    if preloading.messages:
        loaded = f"Preloading loaded {counted(preloading.loaded, 'tool')} for {counted(preloading.messages, 'message')}"
        _print_sentence(console, f"{loaded}; {_called(preloading.called)} called in the same conversation.")


def _called(count: int) -> str:
    return f"{count:,} of them {'was' if count == 1 else 'were'}"


def _shares(counts: FoundByCounts) -> str:
    parts = (
        (counts.preload, "preloaded"),
        (counts.search, "by a search"),
        (counts.listed, "listed from the start"),
        (counts.nothing, "by nothing (a guessed name)"),
        (counts.not_recorded, "not recorded (by another version)"),
    )
    return ", ".join(f"{count:,} ({_percent(count / counts.total)}) {how}" for count, how in parts if count) + "."


def _print_preloading(console: Console, preloading: PreloadCounts) -> None:
    _section(
        console,
        "Tools preloaded and never called",
        [(tool.loaded, tool.name) for tool in preloading.never_called],
        "Narrow their descriptions, or preload fewer: preload=N.",
        total=preloading.never_called_count,
    )


def _section(
    console: Console, title: str, rows: Sequence[tuple[int | None, str]], remedy: str, *, total: int | None = None
) -> None:
    """Print the first rows; `total` is the number of rows in all, where `rows` has only the first."""
    if not rows:
        return
    total = len(rows) if total is None else total
    _print_head(console, title, total, remedy)
    for count, text in rows[:_SHOWN]:
        start = "       " if count is None else f"{count:>5}× "
        console.print(Text(start + cut(text, console.width - 7)))
    if total > _SHOWN:
        console.print(more(total, _SHOWN))


def _print_head(console: Console, title: str, count: int, remedy: str) -> None:
    console.print()
    console.print(Text.assemble((title, "bold"), (f"  {count:,}", "dim")))
    _print_sentence(console, remedy, "cyan")


def _print_sentence(console: Console, sentence: str, style: str = "") -> None:
    print_wrapped(console, Text(sentence, style), indent="  ")


def _print_proposals(console: Console, proposals: Sequence[Proposal]) -> None:
    if not proposals:
        return
    _print_head(
        console,
        "Words to add to descriptions",
        len(proposals),
        "Several searches used them and missed the tool that they found later. --overlay FILE makes them aliases.",
    )
    for proposal in proposals[:_SHOWN]:
        words = Text.assemble(
            (clean(proposal.tool), "bold green"), " + ", (", ".join(proposal.words[:_WORDS_SHOWN]), "bold")
        )
        if len(proposal.words) > _WORDS_SHOWN:
            words.append(f" and {len(proposal.words) - _WORDS_SHOWN} more", "dim")
        for number, line in enumerate(wrapped(words, console.width - 4)):
            console.print(Text("  " if not number else "    ") + line)
        for line in _because(proposal.because, console.width - 4):
            console.print(Text(f"    {line}", "dim"))
    if len(proposals) > _SHOWN:
        console.print(more(len(proposals), _SHOWN))


def _because(cases: Sequence[Missed], width: int) -> Iterable[str]:
    for case in cases[:3]:
        times = f"{case.count}× " if case.count > 1 else ""
        later = _quoted(case.later, width // 3) if case.later else "a pattern or names"
        end = f" missed it, then {later} {'led to a call' if case.called else 'found it'}"
        yield times + _quoted(case.query, width - cell_len(times + end)) + end
    if len(cases) > 3:
        yield f"and {len(cases) - 3} more"


def _percent(share: float) -> str:
    return f"{share:.0%}" if share >= 0.01 else "<1%"


def _shown(query: str | None) -> str:
    return "(queries are not kept)" if query is None else f"“{clean(query)}”"


def _quoted(query: str, width: int) -> str:
    return f"“{cut(query, max(width - 2, 8))}”"
