"""The pages of the documentation with measured figures: the runs they show, and the tables between their marks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Literal

__all__ = ["PAGES", "Language", "last_run", "with_table"]

_ROOT = Path(__file__).parent.parent
Language = Literal["en", "ja"]
PAGES: dict[Language, Path] = {"en": _ROOT / "docs" / "en" / "figures.md", "ja": _ROOT / "docs" / "ja" / "figures.md"}


def last_run(name: str) -> dict[str, Any]:
    """The last whole run of a suite; empty before the first."""
    path = _ROOT / "benchmarks" / "results" / f"{name}.json"
    return json.loads(path.read_text("utf-8")) if path.exists() else {}


def with_table(page: str, name: str, table: str) -> str:
    """`page` with `table` between the marks of the suite `name`.

    Raises:
        ValueError: the page does not have both marks.
    """
    before, begin, rest = page.partition(f"<!-- {name}.json: begin -->\n")
    _, end, after = rest.partition(f"<!-- {name}.json: end -->\n")
    if not end:
        raise ValueError(f"The page has no <!-- {name}.json: begin --> with an end.")
    return f"{before}{begin}\n{table}\n{end}{after}" if table else f"{before}{begin}{end}{after}"
