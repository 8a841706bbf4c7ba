"""`hikidashi tools`: search a catalogue of tools, count its tokens, report on recorded searches, train on questions."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

__all__ = ["tools"]

_EXAMPLES = """\b
Examples:
  hikidashi tools search "send mail" --mcp .mcp.json   what a model would find
  hikidashi tools tokens --mcp .mcp.json               what the tools cost
  hikidashi tools report --log searches.db --catalog tools.json
  hikidashi tools tune questions.jsonl --mcp .mcp.json
"""

_SEARCH_EXAMPLES = """\b
Examples:
  hikidashi tools search "send a message" --catalog tools.json
  hikidashi tools search メールを送る --mcp .mcp.json
  hikidashi tools search "contact tanaka" --explain --catalog tools.json
  hikidashi tools search "get_.*_data" --regex --catalog my_app.tools:TOOLS
"""

_REPORT_EXAMPLES = """\b
Examples:
  hikidashi tools report --log searches.db --catalog tools.json
  hikidashi tools report --log searches.db --mcp .mcp.json --json
  hikidashi tools report --log searches.db --mcp .mcp.json --overlay my.yaml
"""

_TUNE_EXAMPLES = """\b
Examples:
  hikidashi tools tune questions.jsonl --catalog tools.json --dry-run
  hikidashi tools tune questions.jsonl --mcp .mcp.json
  hikidashi tools tune searches.db --mcp .mcp.json      recorded searches
  hikidashi tools tune --remove
"""

_TOKENS_EXAMPLES = """\b
Examples:
  hikidashi tools tokens --mcp .mcp.json
  hikidashi tools tokens --catalog my_app:agent --loaded 3
"""

_Catalog = Annotated[
    str | None,
    typer.Option(
        metavar="FILE",
        help="Tools: JSON or JSONL, MCP's tools/list, or Python as module:attribute.",
        show_default=False,
    ),
]
_Mcp = Annotated[
    Path | None, typer.Option(metavar="CONFIG", help="MCP servers, such as .mcp.json.", show_default=False)
]
_Timeout = Annotated[float, typer.Option(metavar="SECONDS", help="How long each MCP server may take.", min=0.1)]
_Overlay = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Aliases and descriptions for tools of others.", show_default=False),
]
_Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]

tools = typer.Typer(no_args_is_help=True, rich_markup_mode=None)


@tools.callback(epilog=_EXAMPLES, short_help="Search a catalogue, see what it costs, improve it.")
def _tools() -> None:  # pyright: ignore[reportUnusedFunction]
    """Search a catalogue of tools, see what it costs, and what to improve."""


@tools.command(epilog=_SEARCH_EXAMPLES, short_help="Show which tools a search finds, and why.")
def search(
    query: Annotated[
        str,
        typer.Argument(metavar="QUERY", help="Words, `select:a,b`, or a pattern with --regex."),
    ],
    *,
    catalog: _Catalog = None,
    mcp: _Mcp = None,
    regex: Annotated[bool, typer.Option("--regex", help="QUERY is a regular expression.")] = False,
    limit: Annotated[int, typer.Option(metavar="N", help="How many tools at most.", min=1, max=50)] = 5,
    ranker: Annotated[
        Literal["auto", "lexical", "hybrid"],
        typer.Option(help="By words, or by meaning too; auto: by meaning if the encoder can be loaded."),
    ] = "auto",
    explain: Annotated[
        bool,
        typer.Option(
            "--explain", help="Show how much of a score is from words and from meaning, and what was held back."
        ),
    ] = False,
    overlay: _Overlay = None,
    timeout: _Timeout = 30.0,
    as_json: _Json = False,
) -> None:
    """Show which tools a search finds, best first, and which of their words matched.

    An arrow is a translation or a corrected spelling: 送信→send. A question mark is a tool that the search is not
    confident of: the nearest there is. Exit code 1 means that nothing was found.
    """
    from hikidashi.search.engine.explain import Explanation
    from hikidashi.search.overlay import overlay_of

    from ..output import stdout
    from .load import load, make_ready
    from .search_view import print_matches

    loaded = load(catalog, mcp, seconds=timeout, ranker=ranker, overlay=overlay_of(overlay))
    if not regex and loaded.catalog.ranks_by_meaning(query):
        make_ready(loaded.catalog)
    if explain and not regex:
        found = loaded.catalog.explain(query, limit=limit)
    else:
        search_by = loaded.catalog.search_regex if regex else loaded.catalog.search
        found = Explanation(search_by(query, limit=limit))
    print_matches(stdout(), query, found, loaded, regex=regex, explain=explain, as_json=as_json)
    if not found.matches:
        raise typer.Exit(1)


@tools.command(epilog=_REPORT_EXAMPLES, short_help="Show what recorded searches say about the tools.")
def report(
    log: Annotated[Path, typer.Option(metavar="FILE", help="The searches that a SearchLog recorded.")],
    *,
    catalog: _Catalog = None,
    mcp: _Mcp = None,
    overlay: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Read this overlay, and write what searches agree on.", show_default=False),
    ] = None,
    timeout: _Timeout = 30.0,
    as_json: _Json = False,
) -> None:
    """Show what recorded searches say about a catalogue.

    Searches that found nothing, tools that are never found or called, tools that could stay loaded, and words that
    several searches used and descriptions lack. With --overlay these words become aliases in a file, which
    `tools search --overlay` and `ToolCatalog(overlay=...)` read.
    """
    from hikidashi.search.overlay import Overlay
    from hikidashi.search.records.log import SearchLog
    from hikidashi.search.records.report import report as report_on

    from ..output import stdout
    from .load import load
    from .report_view import print_report, write_overlay

    known = Overlay.read(overlay) if overlay is not None and overlay.exists() else Overlay()
    with SearchLog(log, must_exist=True) as records:
        found = report_on(records, load(catalog, mcp, seconds=timeout, overlay=known).catalog)
    print_report(stdout(), found, as_json=as_json)
    if overlay is not None:
        write_overlay(known, found, overlay)


@tools.command(epilog=_TOKENS_EXAMPLES, short_help="Show what the tools cost, with and without search.")
def tokens(
    *,
    catalog: _Catalog = None,
    mcp: _Mcp = None,
    loaded: Annotated[int, typer.Option(metavar="K", help="How many tools a search loads.", min=1)] = 5,
    overlay: _Overlay = None,
    timeout: _Timeout = 30.0,
    as_json: _Json = False,
) -> None:
    """Show how many tokens the tools cost in every request: all loaded, or one search tool and those it loads.

    The numbers are estimates, good enough to decide by.
    """
    from hikidashi.search.overlay import overlay_of

    from ..output import stdout
    from .budget import budget_of
    from .load import load
    from .tokens_view import print_budget

    source = load(catalog, mcp, seconds=timeout, overlay=overlay_of(overlay))
    print_budget(stdout(), budget_of(source.catalog, loaded=loaded), source, as_json=as_json)


@tools.command(epilog=_TUNE_EXAMPLES, short_help="Train the search by meaning on your own questions.")
def tune(
    questions: Annotated[
        Path | None,
        typer.Argument(
            metavar="QUESTIONS", help="Labelled questions (JSONL), or the file of a SearchLog.", show_default=False
        ),
    ] = None,
    *,
    catalog: _Catalog = None,
    mcp: _Mcp = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Measure, and install nothing.")] = False,
    remove: Annotated[
        bool, typer.Option("--remove", help="Remove the tune in use, and exit; one that it replaced is used again.")
    ] = False,
    overlay: _Overlay = None,
    timeout: _Timeout = 30.0,
    as_json: _Json = False,
) -> None:
    """Train the search by meaning on questions of your own, and install the result if it is better.

    A line of QUESTIONS is {"query": "zap the order", "tools": ["refund_payment"]}. Of a SearchLog, searches count
    after which a tool was called that they had found. Three tenths of the questions are held out, and searched before
    and after. Exit code 1 means that it is not better, and was not installed. --dry-run measures your tools.
    """
    from hikidashi.search.overlay import overlay_of

    from .tuning import remove_tuned, run_tune

    if remove:
        if questions is not None:
            raise typer.BadParameter("--remove takes no questions.", param_hint="QUESTIONS")
        if catalog is not None or mcp is not None or overlay is not None:
            raise typer.BadParameter("it removes what was installed for all tools: name none.", param_hint="--remove")
        remove_tuned(dry_run=dry_run, as_json=as_json)
        return
    if questions is None:
        raise typer.BadParameter("name a file of labelled questions, or use --remove.", param_hint="QUESTIONS")
    is_better = run_tune(
        questions,
        catalog,
        mcp,
        seconds=timeout,
        overlay=overlay_of(overlay),
        dry_run=dry_run,
        as_json=as_json,
    )
    if not is_better and not dry_run:
        raise typer.Exit(1)
