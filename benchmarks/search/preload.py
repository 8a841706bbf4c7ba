"""Preloading: how often the tools that a question needs are loaded with it, so that no search is needed.

Measured through `Preloader`, which the integrations of all frameworks use. Every question is the first message of a
conversation of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from statistics import mean

from hikidashi.search import ToolCatalog
from hikidashi.search.preload import MessageSearch, Preloader

from . import confidence
from .accuracy import recall
from .data import EVERYDAY, Dataset, load
from .engines import OURS, WORDS, engines
from .ours import Lexical

COUNTS = (3, 5, 8)
"""Tools that one message may load."""


@dataclass(frozen=True, slots=True)
class Preloaded:
    """What the first messages of conversations load in one catalogue."""

    dataset: str
    tools: int
    engine: str
    count: int
    """The most tools that one message may load."""
    questions: int
    """That some tool serves."""
    any: float
    """The share of these with a right tool among those loaded."""
    all: float
    """The share with everything they need among those loaded."""
    loaded: float
    """How many tools a question loads, on average."""
    talk: int
    """Sentences of everyday talk that no tool serves."""
    talk_loads: float
    """The share of the talk that loads something, which it should not."""


def measure(
    datasets: Sequence[Dataset], progress: Callable[[str], None], at_most: int | None = None
) -> Iterable[Preloaded]:
    """Ours, words only and by default, on `datasets` and on the shipped set of everyday questions."""
    everyday = load(EVERYDAY)
    talk = [one.query for one in confidence.questions() if "talk" in one.split] + [one.query for one in everyday.talk]
    for dataset in (*datasets, everyday):
        few, said = (dataset, talk) if at_most is None else (dataset.thinned(at_most), talk[:: len(talk) // at_most])
        for name in (OURS, WORDS):
            engine = engines()[name]
            if engine.missing is None:
                progress(f"{dataset.name}, {name}")
                searcher = engine.searching(dataset.tools)
                assert isinstance(searcher, Lexical)
                yield from preloaded(few, name, searcher.catalog, said)


def preloaded(dataset: Dataset, engine: str, catalog: ToolCatalog, talk: Sequence[str]) -> Iterable[Preloaded]:
    """What the questions of `dataset` and the talk load from `catalog`."""
    search = MessageSearch(catalog)  # each message is searched for once, however many tools it may load
    asked = [question for question in dataset.questions if question.gold]
    rows = {count: [(one, Preloader(search, count).load(one.query)) for one in asked] for count in COUNTS}
    spoken = [bool(Preloader(search, COUNTS[-1]).load(sentence)) for sentence in dict.fromkeys(talk)]
    for count, answers in rows.items():
        shares = [recall(names, question, len(names)) for question, names in answers]
        yield Preloaded(
            dataset=dataset.name,
            tools=len(dataset.tools),
            engine=engine,
            count=count,
            questions=len(asked),
            any=mean(share > 0 for share in shares),
            all=mean(share == 1 for share in shares),
            loaded=mean(len(names) for _, names in answers),
            talk=len(spoken),
            talk_loads=mean(spoken),
        )
