"""The embedded index beside SQLite's own tokenizers and tantivy: how long to build, how long to ask, what is found.

Half of the passages are English, half Japanese, and every question was made from one of them (`index_texts`):
hit@10 is the share of questions whose passage is among the first ten answers. Everybody gives ten hits with their
texts, and takes any of the words of a question.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
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
    figures: dict[str, dict[str, tuple[Sample, str]]] = {}
    contestants = engines()
    for done, (name, make) in enumerate(contestants.items()):
        plan.progress((done + 0.5) / len(contestants))
        with built(texts.passages, make) as (engine, took):
            figures[name] = {"build": (Sample((took,)), ""), **_asked(plan, engine, texts)}
    for what in figures[OURS]:
        ours, ours_note = figures[OURS][what]
        for name, measured in figures.items():
            if name == OURS:
                continue
            peer, note = measured[what]
            asked = what != "build"
            yield Measurement(
                group=GROUP,
                name=f"{len(texts.passages):,} passages, {what}",
                unit="s",
                ours=ours,
                peer=peer,
                peer_name=name,
                aim=_AIM_SECONDS.get(size) if asked else None,
                note=f"ours {ours_note}; peer {note}" if asked else "one build each",
            )


def _asked(plan: Plan, engine: Engine, texts: Corpus) -> dict[str, tuple[Sample, str]]:
    """The median time of a question in each round, by language, with what was found."""
    asked: dict[str, tuple[Sample, str]] = {}
    for language, questions in (("English", texts.english), ("Japanese", texts.japanese)):
        found = hit_rate(engine, questions)
        rounds = [_timed(engine, questions) for _ in range(plan.rounds(3))]
        slowest = Sample(tuple(times[int(len(times) * 0.95)] for times in rounds)).median
        medians = Sample(tuple(times[len(times) // 2] for times in rounds))
        asked[f"{language} question"] = medians, f"hit@10 {found:.3f}, p95 {slowest * 1e3:.1f} ms"
    return asked


CASES = tuple(Case(GROUP, f"{size:,} passages", partial(_measure, size=size)) for size in (10_000, 100_000))
