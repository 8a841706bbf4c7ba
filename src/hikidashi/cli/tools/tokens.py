"""`hikidashi tools tokens`: what a catalogue costs in every request, with and without search."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.text import Text

from hikidashi.tokens import estimate_tokens

from ..output import clean, counted, cut, print_json, print_wrapped, stdout
from .catalog import CatalogOption, JsonOption, Loaded, McpOption, OverlayOption, TimeoutOption, load

if TYPE_CHECKING:
    from hikidashi.search import ToolCatalog

__all__ = ["EXAMPLES", "tokens"]

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
    _print_budget(stdout(), _budget_of(source.catalog, loaded=loaded), source, as_json=as_json)


@dataclass(frozen=True, kw_only=True)
class Budget:
    """Estimated tokens of tool definitions."""

    tools: int
    all_loaded: int
    loaded: int
    """How many tools a search loads."""
    with_search: int
    """One search tool and `loaded` tools of average size."""
    at_most: int
    """One search tool and the `loaded` largest tools."""
    worth_it: bool
    reason: str
    largest: tuple[tuple[str, int], ...]
    """The tools with the largest definitions, and their tokens."""

    @property
    def change(self) -> float:
        """Change of the tokens by search, as a share of all loaded; negative if it saves."""
        return self.with_search / self.all_loaded - 1 if self.all_loaded else 0.0

    def as_json(self) -> dict[str, Any]:
        """The budget as a JSON object."""
        largest = [{"name": name, "tokens": tokens} for name, tokens in self.largest]
        return {**asdict(self), "change": round(self.change, 4), "largest": largest}


def _budget_of(catalog: ToolCatalog, *, loaded: int = 5) -> Budget:
    """What the tools of `catalog` cost, and whether searching them pays."""
    from hikidashi.search.wire import client_search_tool
    from hikidashi.search.wire.definitions import verdict_on

    definitions = [_definition(tool) for tool in catalog]
    costs = sorted(
        ((estimate_tokens(item), item["name"]) for item in definitions), key=lambda cost: (-cost[0], cost[1])
    )
    total = sum(cost for cost, _ in costs)
    search = estimate_tokens(client_search_tool())
    loaded = min(loaded, len(costs))
    return Budget(
        tools=len(costs),
        all_loaded=total,
        loaded=loaded,
        with_search=search + (round(total / len(costs) * loaded) if costs else 0),
        at_most=search + sum(cost for cost, _ in costs[:loaded]),
        worth_it=verdict_on(definitions).worth_it,
        reason=_reason(len(costs), total),
        largest=tuple((name, cost) for cost, name in costs[:5]),
    )


def _reason(tools: int, tokens: int) -> str:
    from hikidashi.search.wire.definitions import FEWEST_TOKENS, FEWEST_TOOLS

    if tools < FEWEST_TOOLS:
        return f"with fewer than {FEWEST_TOOLS} tools the model chooses well among all of them."
    if tokens < FEWEST_TOKENS:
        return f"below {FEWEST_TOKENS:,} tokens, one more turn for each search costs more than it saves."
    return f"from {FEWEST_TOOLS} tools and {FEWEST_TOKENS:,} tokens on, it saves more than a search costs."


def _definition(tool: Any) -> dict[str, Any]:
    """The definition of a tool as the model reads it; unlike the API, it may have any name."""
    from hikidashi.search.engine.entry import entry_of

    entry = entry_of(tool)
    return {"name": entry.name, "description": entry.description, "input_schema": entry.input_schema}


def _print_budget(console: Console, budget: Budget, loaded: Loaded, *, as_json: bool) -> None:
    """Print what the tools cost, the advice, and the most expensive ones; or one JSON object."""
    if as_json:
        print_json({**budget.as_json(), "failed": loaded.failed})
        return
    title = f"{counted(budget.tools, 'tool')} in {loaded.source}, estimated tokens per request:"
    print_wrapped(console, Text(clean(title)))
    console.print()
    rows = [
        ("all tools loaded", budget.all_loaded, ""),
        (f"search tool + {budget.loaded} loaded", budget.with_search, _percent(budget.change)),
        (f"search tool + the {budget.loaded} largest", budget.at_most, ""),
    ]
    for label, tokens, note in rows:
        console.print(Text.assemble(f"  {label:<30}", (f"{tokens:>10,}", "bold"), (f"  {note}".rstrip(), "green")))
    console.print()
    verdict = ("Search pays: ", "bold green") if budget.worth_it else ("Search does not pay: ", "bold yellow")
    print_wrapped(console, Text.assemble(verdict, budget.reason))
    if budget.largest:
        console.print()
        console.print(Text("Largest definitions", "bold"))
        for name, tokens in budget.largest:
            console.print(Text(f"  {tokens:>7,}  {cut(name, console.width - 11)}"))


def _percent(change: float) -> str:
    """`−96%`, `+12%`; never `−100%`, since something is left."""
    return f"{change:+.{1 if change < -0.99 else 0}%}".replace("-", "−")
