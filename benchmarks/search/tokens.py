"""What a catalogue costs a model in tokens: every definition loaded, or deferred behind a search."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import mean

from hikidashi.search import ToolCatalog, to_anthropic_search
from hikidashi.tokens import definition_tokens, estimate_tokens

from .catalogue import catalogue, questions

SIZES = (50, 500, 5_000)


@dataclass(frozen=True, slots=True)
class Tokens:
    """About how many tokens one catalogue is, four ways."""

    size: int
    all_loaded: int
    """Without deferral: every definition in every request."""
    deferred: int
    """With deferral, before anything was searched: the search tool and the tools that stay loaded."""
    one_search: int
    """After one search: five more definitions, a mean over questions."""
    three_searches: int
    names_listed: int
    """`deferred` and the name of every tool, for a search that shows the model what there is."""

    @property
    def saved(self) -> float:
        """The share of the tokens that search saves, with three searches made."""
        return 1 - self.three_searches / self.all_loaded


def measure(sizes: Sequence[int] = SIZES) -> Iterable[Tokens]:
    """The tokens of made-up catalogues of these sizes."""
    for size in sizes:
        tools = catalogue(size)
        request = to_anthropic_search(tools, variant="client", force=True)
        deferred = definition_tokens(tool for tool in request["tools"] if not tool.get("defer_loading"))
        catalog = ToolCatalog(tools, limit_tools=size)
        found = round(
            mean(
                definition_tokens(match.tool for match in catalog.search(question, limit=5))
                for question in questions(size, 50)
            )
        )
        yield Tokens(
            size=size,
            all_loaded=definition_tokens(tools),
            deferred=deferred,
            one_search=deferred + found,
            three_searches=deferred + 3 * found,
            names_listed=deferred + sum(estimate_tokens(tool["name"]) for tool in tools),
        )
