"""Labelled questions about tools: a folder with `tools.jsonl` and `queries.jsonl`, such as `benchmarks/data/drawer`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

SHIPPED = Path(__file__).parent.parent / "data" / "drawer"

Definition = dict[str, Any]
"""A tool as the Anthropic API takes it: name, description, input_schema."""


@dataclass(frozen=True, slots=True)
class Question:
    """What somebody asks for, and the tools that would do it."""

    query: str
    gold: frozenset[str]
    alternatives: frozenset[str] = frozenset()
    """Tools that are as good as one of the gold."""
    split: str = ""


@dataclass(frozen=True, slots=True)
class Dataset:
    """A catalogue and the questions asked of it."""

    name: str
    tools: Sequence[Definition]
    questions: Sequence[Question]

    def thinned(self, at_most: int) -> Dataset:
        """The same catalogue with at most so many questions, spread evenly over all of them."""
        step = -(-len(self.questions) // at_most)
        return replace(self, questions=self.questions[::step])


def load(folder: Path) -> Dataset:
    """The data set in `folder`, named after it."""
    questions = [
        Question(
            row["query"],
            frozenset(row["gold"]),
            frozenset(row.get("alt", ())),
            row.get("split", ""),
        )
        for row in _rows(folder / "queries.jsonl")
    ]
    return Dataset(folder.name, list(_rows(folder / "tools.jsonl")), questions)


def found_in(folder: Path) -> list[Path]:
    """The data sets at `folder`: itself, or the folders in it that are one.

    Raises:
        FileNotFoundError: there is none.
    """
    sets = [path for path in (folder, *sorted(folder.glob("*/"))) if (path / "queries.jsonl").is_file()]
    if not sets:
        raise FileNotFoundError(
            f"No data set in {str(folder)!r}: expected `tools.jsonl` and `queries.jsonl` there or in folders below."
        )
    return sets


def _rows(path: Path) -> Iterable[dict[str, Any]]:
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)


def searchable_text(tool: Definition) -> str:
    """Everything the API searches, in one line: name, description, argument names and their descriptions.

    Peers that take plain text get this, which is more than their own examples would give them.
    """
    parts: list[str] = [tool["name"], tool.get("description") or ""]
    arguments: dict[str, Any] = tool["input_schema"].get("properties") or {}
    for name, schema in arguments.items():
        parts += (name, schema.get("description") or "")
    return " ".join(part for part in parts if part)
