"""The table of README.md, the model card, from figures.json."""

from __future__ import annotations

import json
import re
from pathlib import Path

__all__ = ["with_table"]

_START, _END = "<!-- figures -->", "<!-- /figures -->"


def with_table(card: str, figures: Path) -> str:
    """The text of the card, with the table of `figures` between its markers.

    Raises:
        SystemExit: There are no figures, or the card lacks a marker.
    """
    if not figures.exists():
        raise SystemExit(f"{figures} does not exist. Run: make encoder DO=measure")
    if not re.search(f"{_START}\n.*{_END}", card, re.DOTALL):
        raise SystemExit(f"README.md has no lines {_START} and {_END}, between which the table goes.")
    found = json.loads(figures.read_text(encoding="utf-8"))
    lines = ["| set | tools | questions | recall@5 |", "| --- | --- | --- | --- |"]
    lines += [
        f"| {one['set']} | {one['tools']:,} | {one['questions']:,} | {one['recall']:.1f} |" for one in found["sets"]
    ]
    before, rest = card.split(f"{_START}\n", 1)
    return f"{before}{_START}\n" + "\n".join(lines) + f"\n{_END}{rest.split(_END, 1)[1]}"
