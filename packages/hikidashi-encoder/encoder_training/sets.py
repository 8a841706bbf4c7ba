"""The training sets: tools, and questions with the tools that answer them.

Three sources: the labelled public sets (`../shared/toolsearch`, or `--data DIR`), the operations of public OpenAPI
descriptions there, and the servers, questions and tasks in `data/`, which were written for this encoder.
"""

from __future__ import annotations

import json
import random
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hikidashi.search.engine.embeddings import text_of
from hikidashi.search.engine.entry import entry_of

from .questions import as_keywords
from .server_files import Server, read_negatives, read_servers
from .task_files import ACROSS, Task, read_tasks

__all__ = ["ENGLISH", "FOLDS", "PUBLIC", "TrainingSet", "own_sets", "public_sets", "questions_without_tool"]

PUBLIC = ("bfcl", "sealtools", "stabletoolbench", "metatool", "restbench", "acebench_zh")
ENGLISH = tuple(name for name in PUBLIC if name != "acebench_zh")
FOLDS = {
    "bfcl": ("bfcl", "stabletoolbench"),
    "metatool": ("metatool", "restbench"),
    "sealtools": ("sealtools", "acebench_zh"),
}
"""By name, the sets that its encoder is trained without and measured on.

Sets share folds, which saves time: an encoder trained without several has seen less than one trained without one.
"""
_OWN = Path(__file__).parent.parent / "data"
_SHORTEST_SUMMARY = 3  # words: a shorter summary is no question
_PREFIXED = 0.5  # the share of servers whose tools are named `server__tool`, as gateways name them
_CATALOGUE = 12  # servers in each catalogue made of our own
_KEYWORDS = 0.15  # the share of our own questions that are also there as keywords, as glossaries translate others


@dataclass
class TrainingSet:
    """A catalogue, and questions with the tools that answer them."""

    name: str
    tools: list[dict[str, Any]]
    questions: list[tuple[str, list[int]]] = field(default_factory=list[tuple[str, list[int]]])
    """Each with the places of its tools."""

    def texts(self) -> list[str]:
        """The text of each tool that is embedded."""
        return [text_of(entry_of(tool)) for tool in self.tools]


def public_sets(folder: Path, *, without: Collection[str] = ()) -> list[TrainingSet]:
    """The labelled sets and the OpenAPI operations in `folder`, without those that are left out."""
    sets = [_labelled(folder / name) for name in PUBLIC if name not in without and (folder / name).is_dir()]
    operations = folder / "openapi_ops" / "ops.jsonl"
    return [*sets, _operations(operations)] if operations.exists() else sets


def own_sets(seed: int) -> list[TrainingSet]:
    """The servers written for this encoder, a few joined into each catalogue, as a person has them; and all in one.

    The catalogue of all is for the tasks that take tools of several servers.
    """
    draw = random.Random(seed)
    servers, tasks = read_servers(_OWN / "servers"), read_tasks(_OWN / "tasks")
    draw.shuffle(servers)
    joined = [
        _joined(f"own_{start // _CATALOGUE}", servers[start : start + _CATALOGUE], draw, tasks)
        for start in range(0, len(servers), _CATALOGUE)
    ]
    return [*joined, _across(servers, tasks[ACROSS])]


def questions_without_tool() -> list[str]:
    """Utterances that no tool serves."""
    return read_negatives(_OWN / "negatives.txt")


def _labelled(folder: Path) -> TrainingSet:
    tools = list(_lines(folder / "tools.jsonl"))
    places = {tool["name"]: place for place, tool in enumerate(tools)}
    questions: list[tuple[str, list[int]]] = []
    for line in _lines(folder / "queries.jsonl"):
        gold = [places[name] for name in [*line["gold"], *_flat(line.get("alt", []))] if name in places]
        if gold:
            questions.append((line["query"], gold))
    return TrainingSet(folder.name, tools, questions)


def _operations(path: Path) -> TrainingSet:
    found = TrainingSet("openapi_ops", [])
    for line in _lines(path):
        summary: str = line["s"]
        if len(summary.split()) < _SHORTEST_SUMMARY:
            continue
        described: str = line["d"] or ""
        # The summary is the question: what is left has to be found without it.
        described = described.replace(summary, "").strip() or f"{line['m']} {line['path']}"
        found.questions.append((summary, [len(found.tools)]))
        found.tools.append(
            {
                "name": line["op"] or line["path"],
                "description": f"{line['api']}. {described}",
                "input_schema": {"type": "object", "properties": {name: {} for name in line["args"]}},
            }
        )
    return found


def _joined(name: str, servers: list[Server], draw: random.Random, tasks: dict[str, list[Task]]) -> TrainingSet:
    found = TrainingSet(name, [])
    for server in servers:
        places = _add(found, server, prefix=f"{server.name}__" if draw.random() < _PREFIXED else "")
        for tool in server.tools:
            found.questions += [
                (asked.text, [places[tool.name], *(places[other] for other in asked.also)]) for asked in tool.questions
            ]
        found.questions += [(task.text, [places[one] for one in task.tools]) for task in tasks.get(server.name, ())]
    drawn = draw.sample(found.questions, int(_KEYWORDS * len(found.questions)))
    keywords = [(as_keywords(text, is_verb_last=draw.random() < 0.5), gold) for text, gold in drawn]
    found.questions += [one for one in keywords if one[0]]
    return found


def _across(servers: list[Server], tasks: list[Task]) -> TrainingSet:
    found = TrainingSet(f"own_{ACROSS}", [])
    places: dict[str, int] = {}
    for server in servers:
        there = _add(found, server, prefix=f"{server.name}__")
        places |= {f"{server.name}/{tool}": place for tool, place in there.items()}
    found.questions = [(task.text, [places[one] for one in task.tools]) for task in tasks]
    return found


def _add(found: TrainingSet, server: Server, *, prefix: str) -> dict[str, int]:
    """Add the tools of a server; their places, by name."""
    places = {tool.name: len(found.tools) + place for place, tool in enumerate(server.tools)}
    found.tools += [
        {
            "name": prefix + tool.name,
            "description": tool.description,
            "input_schema": {"type": "object", "properties": {name: {} for name in tool.arguments}},
        }
        for tool in server.tools
    ]
    return places


def _flat(given: list[Any]) -> Iterator[str]:
    for item in given:
        if isinstance(item, list):
            yield from item
        else:
            yield item


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)
