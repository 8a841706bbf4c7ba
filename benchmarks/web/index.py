"""The embedded index beside SQLite's own tokenizers and tantivy: how long to build, how long to ask, what is found.

Half of the passages are English, half Japanese, and every question was made from one of them (`index_texts`):
hit@10 is the share of questions whose passage is among the first ten answers. Everybody gives ten hits with their
texts, and takes any of the words of a question.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import perf_counter

from ..registry import Case, Measurement, Plan, Sample
from ..timing import seconds
from .index_peers import OURS, Engine, engines
from .index_texts import Corpus, Question, corpus

GROUP = "index"
MEANING = "seconds to build and to ask the embedded index ÷ those of other full-text indexes"

_AIM_SECONDS = {100_000: 0.0034}


@contextmanager
def built(passages: Sequence[tuple[str, str]], make: Callable[[Path], Engine]) -> Generator[tuple[Engine, float]]:
    """An index of `passages`, and the seconds it took."""
    with tempfile.TemporaryDirectory() as folder:
        engine = make(Path(folder))
        took = seconds(lambda: engine.build(passages))()
        try:
            yield engine, took
        finally:
            engine.close()


def hit_rate(engine: Engine, questions: Sequence[Question]) -> float:
    """The share of `questions` whose passage is among the answers."""
    return sum(question.answer in engine.search(question.text) for question in questions) / len(questions)


def _timed(engine: Engine, questions: Sequence[Question]) -> list[float]:
    times: list[float] = []
    for question in questions:
        start = perf_counter()
        engine.search(question.text)
        times.append(perf_counter() - start)
    return sorted(times)


def _measure(plan: Plan, size: int) -> Iterable[Measurement]:
    texts = corpus(500 if plan.quick else size, questions=20 if plan.quick else 300)
    figures: dict[str, dict[str, tuple[Sample, Found | None]]] = {}
    contestants = engines()
    for done, (name, make) in enumerate(contestants.items()):
        plan.progress((done + 0.5) / len(contestants))
        with built(texts.passages, make) as (engine, took):
            figures[name] = {"build": (Sample((took,)), None), **_asked(plan, engine, texts)}
    for what in figures[OURS]:
        ours, we_found = figures[OURS][what]
        for name, measured in figures.items():
            if name == OURS:
                continue
            peer, found = measured[what]
            yield Measurement(
                group=GROUP,
                name=f"{len(texts.passages):,} passages, {what}",
                unit="s",
                ours=ours,
                # Finding nothing is quick: no ratio to that.
                peer=None if found and not found.hit_rate else peer,
                peer_name=name,
                aim=_AIM_SECONDS.get(size) if we_found else None,
                note=_compared(we_found, found) if we_found and found else "one build each",
            )


@dataclass(frozen=True)
class Found:
    """What an engine found, and how long the slower questions took it."""

    hit_rate: float
    p95: float


def _compared(ours: Found, peer: Found) -> str:
    hits = f"hit@10 ours {ours.hit_rate:.3f}, peer {peer.hit_rate:.3f}"
    return f"{hits}; p95 {ours.p95 * 1e3:.1f}, {peer.p95 * 1e3:.1f} ms"


def _asked(plan: Plan, engine: Engine, texts: Corpus) -> dict[str, tuple[Sample, Found | None]]:
    """The median time of a question in each round, by language, with what was found."""
    asked: dict[str, tuple[Sample, Found | None]] = {}
    for language, questions in (("English", texts.english), ("Japanese", texts.japanese)):
        found = hit_rate(engine, questions)
        rounds = [_timed(engine, questions) for _ in range(plan.rounds(3))]
        slowest = Sample(tuple(times[int(len(times) * 0.95)] for times in rounds)).median
        medians = Sample(tuple(times[len(times) // 2] for times in rounds))
        asked[f"{language} question"] = medians, Found(found, slowest)
    return asked


CASES = tuple(Case(GROUP, f"{size:,} passages", partial(_measure, size=size)) for size in (10_000, 100_000))
