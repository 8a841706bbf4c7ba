"""The texts of training and of measuring.

Trained on: the servers with their questions, the tasks and the questions in other languages in `data/`, which were
written for this encoder; English questions of these with words replaced by foreign ones; the operations of public
OpenAPI descriptions; and strings of user interfaces in English and thirteen other languages. The labelled public sets
are for measuring alone.
"""

from __future__ import annotations

import gzip
import json
import random
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hikidashi_encoder import text_of_tool

from .places import DATA
from .server_files import read_asked, read_servers
from .task_files import ACROSS, read_tasks

__all__ = [
    "LABELLED",
    "Catalogue",
    "Pair",
    "labelled",
    "operations",
    "own",
    "parallel",
    "read_lines",
    "with_foreign_words",
]

LABELLED = ("bfcl", "sealtools", "stabletoolbench", "metatool", "restbench", "acebench_zh")
_LANGUAGES = ["ja", "zh", "ko", "de", "fr", "es", "pt", "it", "ru", "nl", "pl", "tr", "ar"]
_MANY = frozenset(_LANGUAGES[:6])
_SHORTEST_SUMMARY = 3  # words: a shorter summary is no question
_LONGEST = 120  # characters of a string of a user interface
_MIXED = 12_000
_WORD = re.compile(r"([^A-Za-z]*)([A-Za-z]+)([^A-Za-z]*)")


@dataclass
class Catalogue:
    """Tools, and questions with the places of the tools that answer them."""

    name: str
    tools: list[str] = field(default_factory=list[str])
    """The text of each tool."""
    short: list[str] = field(default_factory=list[str])
    """The same without the server before the name, as a client shows them that has one server."""
    servers: list[str] = field(default_factory=list[str])
    questions: list[tuple[str, list[int]]] = field(default_factory=list[tuple[str, list[int]]])
    splits: list[str] = field(default_factory=list[str])
    """What kind each question is of; empty where the set has one kind."""
    places: dict[str, int] = field(default_factory=dict[str, int])
    """The place of each tool; of our own, as ``<server>/<tool>``."""


@dataclass(frozen=True)
class Pair:
    """A string of a user interface in English and in another language."""

    english: str
    foreign: str


def own() -> tuple[Catalogue, int]:
    """All servers in one catalogue, and how many of its questions are single and English: these come first."""
    found = Catalogue("own")
    places, servers = found.places, read_servers(DATA / "servers")
    for server in servers:
        for tool in server.tools:
            places[f"{server.name}/{tool.name}"] = len(found.tools)
            found.tools.append(text_of_tool(f"{server.name}__{tool.name}", tool.description, tool.arguments))
            found.short.append(text_of_tool(tool.name, tool.description, tool.arguments))
            found.servers.append(server.name)
    for server in servers:
        for tool in server.tools:
            for asked in tool.questions:
                names = (tool.name, *asked.also)
                found.questions.append((asked.text, [places[f"{server.name}/{name}"] for name in names]))
    singles = len(found.questions)
    for name, tasks in read_tasks(DATA / "tasks").items():
        before = "" if name == ACROSS else f"{name}/"
        found.questions += [(task.text, [places[before + tool] for tool in task.tools]) for task in tasks]
    for asked in read_asked(DATA / "asked"):
        found.questions.append((asked.text, [places[f"{asked.server}/{asked.tool}"]]))
    return found, singles


def with_foreign_words(questions: list[tuple[str, list[int]]], folder: Path) -> list[tuple[str, list[int]]]:
    """Questions in which words are replaced by foreign ones, from one-word strings of user interfaces."""
    draw, found = random.Random(5), list[tuple[str, list[int]]]()
    words = {language: _words(folder / f"{language}.tsv.gz") for language in _LANGUAGES}
    languages = [*_LANGUAGES[:6], *_LANGUAGES]
    for text, gold in draw.sample(questions, min(_MIXED, len(questions))):
        language, share = draw.choice(languages), draw.choice([0.5, 0.8, 1.0])
        mixed = [_replaced(word, words[language], share, draw) for word in text.split(" ")]
        if mixed != text.split(" "):
            joint = "" if language in {"ja", "zh"} and draw.random() < 0.5 else " "
            found.append((joint.join(mixed), gold))
    return found


def operations(folder: Path) -> list[tuple[str, str]]:
    """The summary of each OpenAPI operation, and its text as a tool without that summary."""
    found: list[tuple[str, str]] = []
    for line in read_lines(folder / "openapi_ops" / "ops.jsonl"):
        summary: str = line["s"]
        if len(summary.split()) >= _SHORTEST_SUMMARY:
            described = (line["d"] or "").replace(summary, "").strip() or f"{line['m']} {line['path']}"
            name = line["op"] or line["path"]
            found.append((summary, text_of_tool(name, f"{line['api']}. {described}", line["args"])))
    return found


def parallel(folder: Path) -> list[Pair]:
    """Strings of user interfaces in two languages, of at least two English words; more of the first six languages."""
    draw, found = random.Random(1), list[Pair]()
    for language in _LANGUAGES:
        rows = [
            row for row in _rows(folder / f"{language}.tsv.gz") if len(row[0].split()) >= 2 and len(row[0]) < _LONGEST
        ]
        draw.shuffle(rows)
        found += [Pair(row[0], row[1]) for row in rows[: 14_000 if language in _MANY else 7_000]]
    return found


def labelled(folder: Path) -> Catalogue:
    """A labelled set: `tools.jsonl` and `queries.jsonl`; questions that no tool answers are left out."""
    found = Catalogue(folder.name)
    places = found.places
    for tool in read_lines(folder / "tools.jsonl"):
        places[tool["name"]] = len(found.tools)
        names = _names(tool.get("input_schema") or {})
        found.tools.append(text_of_tool(tool["name"], tool["description"] or "", names))
    for line in read_lines(folder / "queries.jsonl"):
        if gold := [places[name] for name in line["gold"] if name in places]:
            found.questions.append((line["query"], gold))
            found.splits.append(line.get("split", ""))
    return found


def read_lines(path: Path) -> Iterator[dict[str, Any]]:
    """The lines of a JSONL file."""
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)


def _names(schema: dict[str, Any]) -> list[str]:
    """The names of the arguments, each with those within it."""
    found: list[str] = []
    for name, inner in (schema.get("properties") or {}).items():
        found.append(name)
        for one in (inner, inner.get("items")) if isinstance(inner, dict) else ():
            found += _names(one) if isinstance(one, dict) else []
    return list(dict.fromkeys(found))


def _rows(path: Path) -> Iterator[list[str]]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            if len(row := line.rstrip("\n").split("\t")) >= 2:
                yield row


def _words(path: Path) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for english, foreign, *_ in _rows(path):
        is_word = re.fullmatch("[A-Za-z]{3,}", english) and len(foreign.split()) == 1
        if is_word and foreign.lower() != english.lower():
            found.setdefault(english.lower(), []).append(foreign.lower())
    return found


def _replaced(word: str, words: dict[str, list[str]], share: float, draw: random.Random) -> str:
    match = _WORD.fullmatch(word)
    if match is None or draw.random() >= share:
        return word
    before, middle, after = match.groups()
    known = words.get(middle.lower()) or words.get(middle.lower().rstrip("s"))
    return before + draw.choice(known) + after if known else word
