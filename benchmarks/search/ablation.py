"""What each part of the search brings: the shipped questions with all of it, and with one part left out at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import Any
from unittest.mock import patch

from hikidashi.search.engine import meaning, question, ranking

from .accuracy import scored
from .data import EVERYDAY, SHIPPED, Dataset, Question, load
from .ours import Hybrid, Lexical, embedder

_ENGLISH = ("en", "people")
_SHORTEST = 5  # letters of a word that is misspelled: shorter ones are not corrected


class _WithoutSynonyms(Hybrid):
    def _options(self) -> dict[str, Any]:
        return super()._options() | {"glossary": False}


class _WithoutRequest(Hybrid):
    def _options(self) -> dict[str, Any]:
        return super()._options() | {"embed": replace(embedder(), request=None)}


def _no_clauses(_: str) -> list[str]:
    return []


def _no_corrections(*_: object) -> bool:
    return False


_Part = tuple[Callable[[Sequence[dict[str, Any]]], Lexical], Callable[[], AbstractContextManager[object]]]
PARTS: dict[str, _Part] = {
    "": (Hybrid, nullcontext),
    "clauses": (Hybrid, lambda: patch.object(meaning, "clauses_of", _no_clauses)),
    "words": (Hybrid, lambda: patch.object(ranking, "_WORDS", 0.0)),
    "meaning": (Lexical, nullcontext),
    "synonyms": (_WithoutSynonyms, nullcontext),
    "corrections": (Hybrid, lambda: patch.object(question, "_add_corrections", _no_corrections)),
    "requests": (_WithoutRequest, nullcontext),
}
"""What can be left out; `requests` is the probability that a question asks for something."""


@dataclass(frozen=True, slots=True)
class Ablation:
    """What the search scores on one data set without a part of it."""

    dataset: str
    without: str
    """The part; empty for all of it."""
    shares: dict[str, float]
    """recall@5 by kind of question; for talk the share for which nothing is found, or only what is uncertain."""


def measure(progress: Callable[[str], None], at_most: int | None = None) -> Iterable[Ablation]:
    """The shipped sets, and their English questions misspelled, for each part."""
    for dataset in shipped():
        asked = dataset if at_most is None else dataset.thinned(at_most)
        for name, (build, without) in PARTS.items():
            progress(f"{dataset.name}, without {name}" if name else dataset.name)
            with without():
                searcher = build(dataset.tools)
                searcher.ready()
                row = scored(asked, name, searcher)
            talk = {} if row.rightly_empty is None else {"talk": row.rightly_empty}
            yield Ablation(dataset.name, name, (row.splits or {"all": row.recall[5]}) | talk)


def shipped() -> Iterable[Dataset]:
    """`drawer`, `errands`, and both with a letter missing in the longest word of each English question."""
    for folder in (SHIPPED, EVERYDAY):
        dataset = load(folder)
        yield dataset
        english = [one for one in dataset.questions if one.split in _ENGLISH]
        yield replace(dataset, name=f"{dataset.name}, misspelled", questions=[*map(_misspelled, english)])


def _misspelled(asked: Question) -> Question:
    words = asked.query.split()
    longest = max(words, key=lambda word: len(word) * word.isalpha())
    if len(longest) < _SHORTEST:
        return asked
    middle = len(longest) // 2
    words[words.index(longest)] = longest[:middle] + longest[middle + 1 :]
    return replace(asked, query=" ".join(words))
