"""The tokens of a catalogue, for a person or as JSON."""

from __future__ import annotations

import json

from rich.console import Console
from rich.text import Text

from ..output import clean, counted, cut, wrapped
from .budget import Budget
from .load import Loaded

__all__ = ["print_budget"]


def print_budget(console: Console, budget: Budget, loaded: Loaded, *, as_json: bool) -> None:
    """Print what the tools cost, the advice, and the most expensive ones; or one JSON object."""
    if as_json:
        print(json.dumps({**budget.as_json(), "failed": loaded.failed}, ensure_ascii=False, indent=2))  # noqa: T201 - this is the output
        return
    title = f"{counted(budget.tools, 'tool')} in {loaded.source}, estimated tokens per request:"
    for line in wrapped(Text(clean(title)), console.width):
        console.print(line)
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
    for line in wrapped(Text.assemble(verdict, budget.reason), console.width):
        console.print(line)
    if budget.largest:
        console.print()
        console.print(Text("Largest definitions", "bold"))
        for name, tokens in budget.largest:
            console.print(Text(f"  {tokens:>7,}  {cut(name, console.width - 11)}"))


def _percent(change: float) -> str:
    """`−96%`, `+12%`; never `−100%`, since something is left."""
    return f"{change:+.{1 if change < -0.99 else 0}%}".replace("-", "−")
