"""The tables of README.md, the model card: the figures and the settings that they were measured with."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from .sets import ENGLISH

__all__ = ["with_tables"]

_RANKERS = {"lexical": "words", "static": "+ static vectors", "base": "+ untuned MiniLM", "tuned": "+ this encoder"}
_BELOW = {"lexical": "gain on words", "base": "on untuned"}


def with_tables(card: str, figures: Path) -> str:
    """The text of the card, with the tables of `figures` between its markers.

    Raises:
        SystemExit: There are no figures, or the card lacks a marker.
    """
    if not figures.exists():
        raise SystemExit(f"{figures} does not exist. Run: make encoder DO=measure")
    found = json.loads(figures.read_text(encoding="utf-8"))
    return _between(_between(card, "figures", _recall(found["sets"])), "settings", _settings(found["settings"]))


def _between(card: str, name: str, table: list[list[str]]) -> str:
    start, end = f"<!-- {name} -->", f"<!-- /{name} -->"
    if not re.search(f"{start}\n.*{end}", card, re.DOTALL):
        raise SystemExit(f"README.md has no lines {start} and {end}, between which the table goes.")
    header, *rows = table
    lines = [header, ["---"] * len(header), *rows]
    written = "".join(f"| {' | '.join(line)} |\n" for line in lines)
    before, rest = card.split(f"{start}\n", 1)
    return f"{before}{start}\n{written}{end}{rest.split(end, 1)[1]}"


def _recall(sets: dict[str, Any]) -> list[list[str]]:
    """Recall@5 on each set and its mean over sets, and what was gained, with the interval of that."""
    table = [["set", "tools", "questions", *_RANKERS.values(), *_BELOW.values()]]
    for name, one in sets.items():
        shares = [_share(one["recall"].get(ranker)) for ranker in _RANKERS]
        gains = [_interval(one["above"].get(ranker)) for ranker in _BELOW]
        table.append([name, f"{one['tools']:,}", f"{one['questions']:,}", *shares, *gains])
    english = [one for name, one in sets.items() if name in ENGLISH]
    table.append(_means("mean of the English sets", english))
    table.append(_means("mean of all sets", list(sets.values())))
    return table


def _means(title: str, sets: list[dict[str, Any]]) -> list[str]:
    shares = [_share(_mean(one["recall"].get(ranker) for one in sets)) for ranker in _RANKERS]
    gains = [_interval(_mean_gain([one["above"].get(ranker) for one in sets])) for ranker in _BELOW]
    return [title, "", "", *shares, *gains]


def _mean_gain(gains: list[list[float] | None]) -> list[float] | None:
    """The mean of gains with its interval, by the normal approximation: sets are independent of each other."""
    known = [gain for gain in gains if gain is not None]
    if not known or len(known) < len(gains):
        return None
    mean = sum(gain for gain, _, _ in known) / len(known)
    width = math.sqrt(sum((high - low) ** 2 for _, low, high in known)) / len(known)
    return [mean, mean - width / 2, mean + width / 2]


def _settings(settings: dict[str, Any]) -> list[list[str]]:
    return [["setting", "value"], *([f"`{name}`", f"{value:g}"] for name, value in settings.items())]


def _share(recall: float | None) -> str:
    return "–" if recall is None else f"{recall:.1f}"


def _interval(gain: list[float] | None) -> str:
    return "–" if gain is None else f"{gain[0]:+.1f} ({gain[1]:+.1f} to {gain[2]:+.1f})"


def _mean(values: Iterable[float | None]) -> float | None:
    """The mean; None if one is missing."""
    known = list(values)
    numbers = [value for value in known if value is not None]
    return sum(numbers) / len(numbers) if numbers and len(numbers) == len(known) else None
