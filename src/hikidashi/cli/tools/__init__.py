"""`hikidashi tools`: search a catalogue of tools, count its tokens, report on recorded searches, train on questions."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .catalog import CatalogOption, JsonOption, McpOption, OverlayOption, TimeoutOption
from .report import EXAMPLES as REPORT_EXAMPLES
from .report import report
from .search import EXAMPLES as SEARCH_EXAMPLES
from .search import search
from .tokens import EXAMPLES as TOKENS_EXAMPLES
from .tokens import tokens

_EXAMPLES = """\b
Examples:
  hikidashi tools search "send mail" --mcp .mcp.json   what a model would find
  hikidashi tools tokens --mcp .mcp.json               what the tools cost
  hikidashi tools report --log searches.db --catalog tools.json
  hikidashi tools tune questions.jsonl --mcp .mcp.json
"""

_TUNE_EXAMPLES = """\b
Examples:
  hikidashi tools tune questions.jsonl --catalog tools.json --dry-run
  hikidashi tools tune questions.jsonl --mcp .mcp.json
  hikidashi tools tune searches.db --mcp .mcp.json      recorded searches
  hikidashi tools tune --remove
"""

tools = typer.Typer(no_args_is_help=True, rich_markup_mode=None)


@tools.callback(epilog=_EXAMPLES)
def _tools() -> None:  # pyright: ignore[reportUnusedFunction]
    """Search a catalogue of tools, see what it costs, and what to improve."""


tools.command(epilog=SEARCH_EXAMPLES, short_help="Show which tools a search finds, and why.")(search)
tools.command(epilog=REPORT_EXAMPLES, short_help="Show what recorded searches say about the tools.")(report)
tools.command(epilog=TOKENS_EXAMPLES, short_help="Show what the tools cost, with and without search.")(tokens)


@tools.command(epilog=_TUNE_EXAMPLES, short_help="Train the search by meaning on your own questions.")
def tune(
    questions: Annotated[
        Path | None,
        typer.Argument(
            metavar="QUESTIONS", help="Labelled questions (JSONL), or the file of a SearchLog.", show_default=False
        ),
    ] = None,
    *,
    catalog: CatalogOption = None,
    mcp: McpOption = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Measure, and install nothing.")] = False,
    remove: Annotated[
        bool, typer.Option("--remove", help="Remove the tune in use, and exit; one that it replaced is used again.")
    ] = False,
    overlay: OverlayOption = None,
    timeout: TimeoutOption = 30.0,
    as_json: JsonOption = False,
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
