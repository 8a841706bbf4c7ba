"""The table of figures in README.md, the model card, made from `figures.json`."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

__all__ = ["render", "with_table"]

_BETWEEN = re.compile(r"(?<=<!-- figures -->\n).*?(?=<!-- /figures -->)", re.DOTALL)
_HEADER = (
    "| set | tools | questions | words | + static vectors | + MiniLM, untuned | + this encoder "
    "| above words | above untuned |",
    "|---|---|---|---|---|---|---|---|---|",
)


def with_table(card: str, figures: Path) -> str:
    """The text of the card with the table of `figures` between its markers.

    Raises:
        SystemExit: There are no figures, or the card has no markers.
    """
    if not figures.exists():
        raise SystemExit(f"{figures} does not exist. Run: make encoder DO=measure")
    if not _BETWEEN.search(card):
        raise SystemExit("README.md has no lines <!-- figures --> and <!-- /figures -->, between which the table goes.")
    table = render(json.loads(figures.read_text(encoding="utf-8")))
    return _BETWEEN.sub(lambda _: table, card, count=1)


def render(figures: dict[str, Any]) -> str:
    """The figures as a Markdown table: one row per set, and the mean over the sets."""
    sets: dict[str, Any] = figures["sets"]
    rows = [*_HEADER, *(_row(name, one) for name, one in sets.items())]
    means = [_mean(one["recall"].get(ranker) for one in sets.values()) for ranker in _RANKERS]
    gains = [_mean(one["above"].get(ranker, [None])[0] for one in sets.values()) for ranker in ("lexical", "base")]
    rows.append(
        f"| mean of the sets | | | {' | '.join(map(_share, means))} | "
        + " | ".join("–" if gain is None else f"{gain:+.1f}" for gain in gains)
        + " |"
    )
    return "\n".join(rows) + "\n"


_RANKERS = ("lexical", "static", "base", "tuned")


def _row(name: str, one: dict[str, Any]) -> str:
    shares = " | ".join(_share(one["recall"].get(ranker)) for ranker in _RANKERS)
    gains = " | ".join(_interval(one["above"].get(ranker)) for ranker in ("lexical", "base"))
    return f"| {name} | {one['tools']:,} | {one['questions']:,} | {shares} | {gains} |"


def _share(recall: float | None) -> str:
    return "–" if recall is None else f"{recall:.1f}"


def _interval(gain: list[float] | None) -> str:
    return "–" if gain is None else f"{gain[0]:+.1f} ({gain[1]:+.1f} to {gain[2]:+.1f})"


def _mean(values: Any) -> float | None:
    known = list(values)
    return None if None in known else sum(known) / len(known)
