"""Short questions with a topic and a value, and everyday talk, as the catalogue grows: what is found, and how surely.

A tool is right for `contact tanaka` when it has the topic in its name. Only ours says how sure it is; an engine that
does not is taken to mean what it shows.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from hikidashi.search.engine.analyzer import Analyzer

from .catalogue import catalogue
from .data import SHIPPED, Dataset, Definition, load
from .engines import Engine, Judging, Searcher

FOLDER = SHIPPED.parent / "values"
SIZES = (200, 2_000, 10_000)
QUICK_SIZES = (200,)
_SHOWN = 5
_THIRD = 3  # every third question is asked of an engine that is slow


@dataclass(frozen=True, slots=True)
class Asked:
    """A question, and the word that a right tool has in its name; none where no tool is right."""

    query: str
    split: str
    topic: str = ""


@dataclass(frozen=True, slots=True)
class Confidence:
    """How one engine answered one kind of question in one catalogue."""

    catalogue: str
    size: int
    engine: str
    split: str
    questions: int
    found: float | None
    """The share with a right tool among the first five; `None` for talk, which has none."""
    confident: float | None
    """The share of these of which the engine is sure; `None` for talk."""
    held_back: float
    """The share for which nothing was shown, or only what is marked as uncertain."""
    nothing: float
    """The share for which nothing was shown."""


def questions() -> list[Asked]:
    """The topics with values, then the talk: short sentences, and those of the shipped data set."""
    values = [Asked(row["query"], row["split"], row["topic"]) for row in _rows("queries.jsonl")]
    talk = [Asked(row["query"], row["split"]) for row in _rows("talk.jsonl")]
    return values + talk + [Asked(question.query, question.split) for question in load(SHIPPED).talk]


def measure(
    datasets: Sequence[Dataset], engines: Sequence[Engine], sizes: Sequence[int], progress: Callable[[str], None]
) -> Iterable[Confidence]:
    """Every engine that is installed, over made-up tools of each size and over the tools of all `datasets`."""
    asked = questions()
    catalogues = [("made up", catalogue(size)) for size in sizes]
    if datasets:
        named = {tool["name"]: tool for dataset in datasets for tool in dataset.tools}
        catalogues.append(("data sets", list(named.values())[: sizes[-1]]))
    for name, tools in catalogues:
        for engine in engines:
            if engine.missing is None:
                progress(f"{len(tools):,} tools, {name}, {engine.name}")
                few = asked[::_THIRD] if engine.is_slow else asked
                yield from judged(name, tools, engine.name, engine.searching(tools), few)


def judged(
    catalogue: str, tools: Sequence[Definition], engine: str, searcher: Searcher, asked: Sequence[Asked]
) -> Iterable[Confidence]:
    """What `searcher` makes of `asked`, apart for each split; topics that no name has are left out."""
    terms = Analyzer().terms
    words = {tool["name"]: frozenset(terms(tool["name"])) for tool in tools}
    known = frozenset[str]().union(*words.values())
    splits: dict[str, list[tuple[bool, bool, bool, bool]]] = {}
    for one in asked:
        topic = terms(one.topic)[:1]
        if topic and topic[0] not in known:
            continue
        shown = searcher.search(one.query, _SHOWN)
        sure = bool(shown) and (not isinstance(searcher, Judging) or searcher.is_confident(one.query))
        right = bool(topic) and any(topic[0] in words[name] for name in shown)
        splits.setdefault(one.split, []).append((right, right and sure, not sure, not shown))
    for split, answers in splits.items():
        found, confident, held_back, nothing = (sum(column) / len(answers) for column in zip(*answers, strict=True))
        is_talk = "talk" in split
        yield Confidence(
            catalogue,
            len(tools),
            engine,
            split,
            len(answers),
            None if is_talk else found,
            None if is_talk else confident,
            held_back,
            nothing,
        )


def _rows(file: str, folder: Path = FOLDER) -> list[dict[str, str]]:
    return [json.loads(line) for line in (folder / file).read_text(encoding="utf-8").splitlines()]
