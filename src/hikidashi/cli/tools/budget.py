"""What a catalogue costs in every request, with and without search."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from hikidashi.search import ToolCatalog
from hikidashi.search.engine.entry import entry_of
from hikidashi.search.wire import client_search_tool
from hikidashi.search.wire.definitions import FEWEST_TOKENS, FEWEST_TOOLS, verdict_on
from hikidashi.tokens import estimate_tokens

__all__ = ["Budget", "budget_of"]


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


def budget_of(catalog: ToolCatalog, *, loaded: int = 5) -> Budget:
    """What the tools of `catalog` cost, and whether searching them pays."""
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
    if tools < FEWEST_TOOLS:
        return f"with fewer than {FEWEST_TOOLS} tools the model chooses well among all of them."
    if tokens < FEWEST_TOKENS:
        return f"below {FEWEST_TOKENS:,} tokens, one more turn for each search costs more than it saves."
    return f"from {FEWEST_TOOLS} tools and {FEWEST_TOKENS:,} tokens on, it saves more than a search costs."


def _definition(tool: Any) -> dict[str, Any]:
    """The definition of a tool as the model reads it; unlike the API, it may have any name."""
    entry = entry_of(tool)
    return {"name": entry.name, "description": entry.description, "input_schema": entry.input_schema}
