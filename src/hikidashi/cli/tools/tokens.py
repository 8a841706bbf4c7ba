"""`hikidashi tools tokens`: what a catalogue costs in every request, with and without search."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, TypedDict

import typer
from rich.console import Console
from rich.text import Text

from hikidashi.tokens import estimate_tokens

from ..output import clean, counted, cut, print_json, print_wrapped, stdout
from .catalog import CatalogOption, JsonOption, McpOption, OverlayOption, TimeoutOption, load

if TYPE_CHECKING:
    from hikidashi.search import ToolCatalog

EXAMPLES = """\b
Examples:
  hikidashi tools tokens --mcp .mcp.json
  hikidashi tools tokens --catalog my_app:agent --loaded 3
"""


def tokens(
    *,
    catalog: CatalogOption = None,
    mcp: McpOption = None,
    loaded: Annotated[int, typer.Option(metavar="K", help="How many tools a search loads.", min=1)] = 5,
    overlay: OverlayOption = None,
    timeout: TimeoutOption = 30.0,
    as_json: JsonOption = False,
) -> None:
    """Show how many tokens the tools cost in every request: all loaded, or one search tool and those it loads.

    The numbers are estimates, good enough to decide by.
    """
    from hikidashi.search.overlay import overlay_of

    source = load(catalog, mcp, seconds=timeout, overlay=overlay_of(overlay))
    budget = _budget_of(source.catalog, loaded)
    if as_json:
        print_json({**budget, "change": round(budget["change"], 4), "failed": source.failed})
    else:
        _print_budget(stdout(), budget, source.source)


class Budget(TypedDict):
    """Estimated tokens of tool definitions in every request."""

    tools: int
    all_loaded: int
    loaded: int  # how many tools a search loads
    with_search: int  # one search tool, and as many tools of average size
    at_most: int  # one search tool, and as many of the largest tools
    worth_it: bool
    reason: str
    largest: list[dict[str, Any]]
    change: float  # by search, as a share of all loaded; negative if it saves


def _budget_of(catalog: ToolCatalog, loaded: int) -> Budget:
    """What the tools of `catalog` cost, and whether searching them pays."""
    from hikidashi.search.anthropic_request import FEWEST_TOKENS, FEWEST_TOOLS, client_search_tool, verdict_on
    from hikidashi.search.engine.entry import entry_of

    entries = map(entry_of, catalog)  # as the model reads them; unlike in the API, they may have any name
    definitions = [
        {"name": one.name, "description": one.description, "input_schema": one.input_schema} for one in entries
    ]
    costs = sorted(
        ((estimate_tokens(one), str(one["name"])) for one in definitions), key=lambda cost: (-cost[0], cost[1])
    )
    count, total, search = len(costs), sum(cost for cost, _ in costs), estimate_tokens(client_search_tool())
    loaded = min(loaded, count)
    with_search = search + (round(total / count * loaded) if costs else 0)
    if count < FEWEST_TOOLS:
        reason = f"with fewer than {FEWEST_TOOLS} tools the model chooses well among all of them."
    elif total < FEWEST_TOKENS:
        reason = f"below {FEWEST_TOKENS:,} tokens, one more turn for each search costs more than it saves."
    else:
        reason = f"from {FEWEST_TOOLS} tools and {FEWEST_TOKENS:,} tokens on, it saves more than a search costs."
    return Budget(
        tools=count,
        all_loaded=total,
        loaded=loaded,
        with_search=with_search,
        at_most=search + sum(cost for cost, _ in costs[:loaded]),
        worth_it=verdict_on(definitions).worth_it,
        reason=reason,
        largest=[{"name": name, "tokens": cost} for cost, name in costs[:5]],
        change=with_search / total - 1 if total else 0.0,
    )


def _print_budget(console: Console, budget: Budget, source: str) -> None:
    """Print what the tools cost, the advice, and the most expensive ones."""
    print_wrapped(
        console, Text(clean(f"{counted(budget['tools'], 'tool')} in {source}, estimated tokens per request:"))
    )
    console.print()
    rows = [
        ("all tools loaded", budget["all_loaded"], ""),
        (f"search tool + {budget['loaded']} loaded", budget["with_search"], _percent(budget["change"])),
        (f"search tool + the {budget['loaded']} largest", budget["at_most"], ""),
    ]
    for label, cost, note in rows:
        console.print(Text.assemble(f"  {label:<30}", (f"{cost:>10,}", "bold"), (f"  {note}".rstrip(), "green")))
    console.print()
    verdict = ("Search pays: ", "bold green") if budget["worth_it"] else ("Search does not pay: ", "bold yellow")
    print_wrapped(console, Text.assemble(verdict, budget["reason"]))
    if budget["largest"]:
        console.print()
        console.print(Text("Largest definitions", "bold"))
        for one in budget["largest"]:
            console.print(Text(f"  {one['tokens']:>7,}  {cut(one['name'], console.width - 11)}"))


def _percent(change: float) -> str:
    """`−96%`, `+12%`; never `−100%`, since something is left."""
    return f"{change:+.{1 if change < -0.99 else 0}%}".replace("-", "−")
