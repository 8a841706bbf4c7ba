"""Labelled questions about tools: a folder with `tools.jsonl` and `queries.jsonl`, such as `benchmarks/data/drawer`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

SHIPPED = Path(__file__).parent.parent / "data" / "drawer"
EVERYDAY = SHIPPED.with_name("errands")
"""Questions in words that the tools do not have, and in other languages."""

_TALK = "talk-"

Definition = dict[str, Any]
"""A tool as the Anthropic API takes it: name, description, input_schema."""


@dataclass(frozen=True, slots=True)
class Question:
    """What somebody asks for, and the tools that would do it."""

    query: str
    gold: frozenset[str]
    """Empty where no tool of the catalogue would: the right answer is to find nothing."""
    alternatives: frozenset[str] = frozenset()
    """Tools that are as good as one of the gold."""
    split: str = ""


@dataclass(frozen=True, slots=True)
class Dataset:
    """A catalogue and the questions asked of it."""

    name: str
    tools: Sequence[Definition]
    questions: Sequence[Question]
    folder: Path | None = None
    """Where it was read from."""

    @property
    def talk(self) -> list[Question]:
        """What no tool of any catalogue serves, so that it may be asked of all of them."""
        return [question for question in self.questions if not question.gold and question.split.startswith(_TALK)]

    def thinned(self, at_most: int) -> Dataset:
        """The same catalogue with at most so many questions, spread evenly over all of them."""
        step = -(-len(self.questions) // at_most)
        return replace(self, questions=self.questions[::step])


def load(folder: Path) -> Dataset:
    """The data set in `folder`, named after it.

    Raises:
        ValueError: a line is no JSON object, lacks a field, or names a tool that is not there.
        OSError: a file cannot be read.
    """
    tools = [tool for _, tool in _rows(folder / "tools.jsonl", "name", "input_schema")]
    names = {tool["name"] for tool in tools}
    questions: list[Question] = []
    for place, row in _rows(folder / "queries.jsonl", "query", "gold"):
        question = Question(row["query"], frozenset(row["gold"]), frozenset(row.get("alt", ())), row.get("split") or "")
        if unknown := (question.gold | question.alternatives) - names:
            raise ValueError(f"{place}: no tool is called {min(unknown)!r}. Correct it, or add it to `tools.jsonl`.")
        questions.append(question)
    if not questions:
        raise ValueError(f"{folder / 'queries.jsonl'}: there is no question. Write one JSON object per line.")
    return Dataset(folder.name, tools, questions, folder)


def found_in(folder: Path) -> list[Path]:
    """The data sets at `folder`: itself, or the folders in it that are one.

    Raises:
        FileNotFoundError: there is none.
    """
    files = ("tools.jsonl", "queries.jsonl")
    sets = [path for path in (folder, *sorted(folder.glob("*/"))) if all((path / file).is_file() for file in files)]
    if not sets:
        raise FileNotFoundError(
            f"No data set in {str(folder)!r}: expected `tools.jsonl` and `queries.jsonl` there or in folders below."
        )
    return sets


def _rows(path: Path, *needed: str) -> Iterable[tuple[str, dict[str, Any]]]:
    """The objects of a JSONL file that have what is `needed`, each with its place for messages."""
    with path.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            place = f"{path}, line {number}"
            try:
                row = json.loads(line)
            except ValueError as error:
                raise ValueError(f"{place}: is not JSON ({error}). Write one object per line.") from error
            missing = [field for field in needed if not isinstance(row, dict) or field not in row]
            if missing:
                raise ValueError(f"{place}: lacks {missing[0]!r}. Each line needs {', '.join(needed)}.")
            yield place, row


def searchable_text(tool: Definition) -> str:
    """Everything the API searches, in one line: name, description, argument names and their descriptions.

    Peers that take plain text get this, which is more than their own examples would give them.
    """
    parts: list[str] = [tool["name"], tool.get("description") or ""]
    arguments: dict[str, Any] = tool["input_schema"].get("properties") or {}
    for name, schema in arguments.items():
        parts += (name, schema.get("description") or "")
    return " ".join(part for part in parts if part)
