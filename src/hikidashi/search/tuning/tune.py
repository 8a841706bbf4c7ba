"""`tune`: train an adapter on labelled questions, measure it on some that it has not seen, and judge it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..catalog import MAX_QUERY, ToolCatalog
from ..engine.adapter import Adapter, Tune
from ..engine.embeddings import Embedder, text_of
from ..engine.meaning import Vectorizer
from ..overlay import Overlay, entry_with
from ._training import examples, train
from .measuring import Change, Confident, Measured, change_of, measured, scored, with_confidence
from .questions import Labelled, Selection, select

Matrix = NDArray[np.float32]
Stage = Literal["tools", "measuring", "everyday", "training", "held out", "other sentences"]
Progress = Callable[[Stage, int, int], None]

FEWEST = 50
"""Questions that are needed: with fewer, the held-out part cannot tell an improvement from chance."""
_FEWEST_HELD_OUT = 10
_WORST_FALL = -0.01  # of one of the figures, if the other rises
_KEPT = 0.75  # of the nearest tools: good adapters keep .81 to .89, those of questions with wrong tools .64 to .73
_RISE = 0.01  # of everyday sentences that find a tool: with good adapters .00 to .02, with wrong tools .04 to .16
_TESTED = 300  # everyday sentences that are not trained on
_NEAREST = 5
_BATCH = 64


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What a tune was trained on, what it found before and after, and whether it is better."""

    tools: int
    selection: Selection
    today: Measured
    """All questions, without any adapter."""
    held_out: int = 0
    """How many of the questions were held out of training."""
    before: Measured | None = None
    """The held-out questions without an adapter; None if nothing was trained."""
    after: Measured | None = None
    installed: Measured | None = None
    """The held-out questions with the adapter that is installed; None if there is none."""
    today_installed: Measured | None = None
    """All questions with the adapter that is installed; None if there is none, or if one was trained."""
    in_use: Tune | None = None
    """The tune that is installed, which a better one replaces."""
    kept: float | None = None
    """The share of the nearest tools of everyday sentences, by meaning, that stay the same.

    The nearest are chosen among the tools of the catalogue and those of `tools.txt`: a tune applies to every catalogue,
    and of a small one, the nearest five are always the same.
    """
    everyday: Confident | None = None
    """The everyday sentences that are not trained on; None if nothing was trained."""
    unanswered: Confident | None = None
    """The held-out questions that no tool answers, before and after; None if there are none.

    If nothing was trained, all of them, without an adapter and with the one that is installed.
    """
    adapter: Adapter | None = None
    refusal: str = ""
    """Why the adapter must not be installed; empty if it is better."""

    @property
    def change(self) -> Change | None:
        """The differences between before and after."""
        return None if self.before is None or self.after is None else change_of(self.before, self.after)

    def as_json(self) -> dict[str, Any]:
        """The outcome as a JSON object, without the adapter."""
        chosen, change = self.selection, self.change
        return {
            "tools": self.tools,
            "questions": len(chosen.questions),
            "trained_on": len(chosen.questions) - self.held_out if change else 0,
            "held_out": self.held_out,
            "unanswered": len(chosen.unanswered),
            "unknown_tools": chosen.unknown,
            "left_out": {
                "without_tool": chosen.without_tool,
                "repeated": chosen.repeated,
                "beyond_limit": chosen.beyond,
            },
            "in_use": self.in_use and self.in_use.as_json(),
            "all_questions": self.today.as_json() if chosen.questions else None,
            "all_questions_installed": self.today_installed and self.today_installed.as_json(),
            "before": self.before.as_json() if self.before else None,
            "installed": self.installed.as_json() if self.installed else None,
            "after": self.after.as_json() if self.after else None,
            "change": change.as_json() if change else None,
            "everyday_found": self.everyday and self.everyday.as_json(),
            "unanswered_found": self.unanswered and self.unanswered.as_json(),
            "everyday_kept": None if self.kept is None else round(self.kept, 4),
            "better": not self.refusal,
            "refusal": self.refusal or None,
        }


def tune(
    tools: Iterable[Any],
    questions: Iterable[Labelled],
    *,
    embedder: Embedder,
    installed: Adapter | None = None,
    overlay: Overlay | None = None,
    seed: int = 0,
    progress: Progress = lambda stage, done, total: None,
) -> Outcome:
    """An adapter for `questions`, measured and judged; the same arguments give the same one.

    About three tenths of the questions are held out, chosen by their text alone: the same question is held out in every
    run, also of a file that has grown. The adapter that is returned is the one that was measured.

    Args:
        tools: The catalogue.
        questions: The labelled questions.
        embedder: The encoder.
        installed: The adapter that is installed: a new one must not be worse.
        overlay: That of the catalogue.
        seed: Of the training.
        progress: Called with a stage, how much of it is done, and its size.
    """
    bench = _Bench(list(tools), replace(embedder, question=None), overlay, progress)
    selection = select(questions, bench.numbers)
    chosen = selection.questions
    today, vectors = bench.today(chosen) if chosen else (scored([], []), [])
    outcome = Outcome(tools=len(bench.tools), selection=selection, today=today)
    held_out = selection.held_out
    trained = [(vector, chosen[place].tools) for place, vector in vectors if place >= held_out]
    if lack := _lack(len(chosen), held_out, len(trained)):
        return replace(
            outcome,
            today_installed=bench.measured_with(installed, chosen) if installed is not None and chosen else None,
            unanswered=bench.confident(selection.unanswered, installed),
            refusal=lack,
        )
    adapter, kept = bench.trained(trained, selection.unanswered[selection.unanswered_held_out :], seed)
    outcome = replace(
        outcome,
        held_out=held_out,
        before=today.at(slice(held_out)),
        after=bench.measured_with(adapter, chosen[:held_out]),
        installed=None if installed is None else bench.measured_with(installed, chosen[:held_out]),
        kept=kept,
        everyday=bench.confident(_everyday()[:_TESTED], adapter),
        unanswered=bench.confident(selection.unanswered[: selection.unanswered_held_out], adapter),
        adapter=adapter,
    )
    return replace(outcome, refusal=_refusal(outcome))


def _lack(questions: int, held_out: int, trained: int) -> str:
    """Why nothing can be trained; empty if it can."""
    if questions < FEWEST:
        there = "There is 1 question" if questions == 1 else f"There are {questions} questions"
        return (
            f"{there} about tools of the catalogue, and {FEWEST} are needed: with fewer, what looks better may be "
            "chance."
        )
    if held_out < _FEWEST_HELD_OUT:
        return (
            f"Which questions are held out depends on their texts: of these it is {held_out}, and {_FEWEST_HELD_OUT} "
            "are needed. Add some questions."
        )
    if trained < FEWEST // 2:
        return (
            f"The encoder reads {trained} of the questions to train on: the others are searched by words alone, since "
            "they have no words that it knows."
        )
    return ""


def _refusal(outcome: Outcome) -> str:
    """Why an adapter is not better; empty if it is."""
    change = outcome.change
    assert change is not None
    assert outcome.after is not None
    assert outcome.kept is not None
    if change.beyond_chance.low <= 0:
        return "On the held-out questions it is not better than before by more than chance."
    for name, figure in (("recall@5", change.recall), ("first hit", change.first)):
        if figure.mean < _WORST_FALL:
            return f"On the held-out questions, {name} is worse than before."
    if outcome.installed is not None and outcome.after.beyond_chance.mean() < outcome.installed.beyond_chance.mean():
        return "On the held-out questions it is worse than the one that is installed."
    return _harm(outcome.everyday, outcome.unanswered, outcome.kept)


def _harm(everyday: Confident | None, unanswered: Confident | None, kept: float) -> str:
    """Why an adapter harms other questions; empty if it does not."""
    # Some everyday sentences ask for a tool of the catalogue, and may rightly find it.
    if everyday is not None and (rise := everyday.rise) and rise.low > _RISE:
        return (
            f"Sentences that ask for something else find your tools: {_found(everyday)} everyday sentences find one "
            "with confidence. A rise of more than one in a hundred beyond chance is refused."
        )
    # Of a few, all may find something by chance.
    if unanswered is not None and len(unanswered.before) >= _FEWEST_HELD_OUT:
        rise = unanswered.rise
        if rise and rise.low > 0:
            return (
                f"Questions that no tool answers find one: {_found(unanswered)} that were held out find one with "
                "confidence, and that is more than chance."
            )
    if kept < _KEPT:
        return (
            f"It changes what other questions find: only {kept:.0%} of the nearest tools of everyday sentences "
            f"stay the same, and {_KEPT:.0%} must."
        )
    return ""


def _found(sentences: Confident) -> str:
    """`before 17, after 44 of 300`."""
    assert sentences.after is not None
    return f"before {sentences.before.sum():.0f}, after {sentences.after.sum():.0f} of {len(sentences.before)}"


class _Bench:
    """A catalogue to train on: its tools, the encoder, and what was embedded."""

    def __init__(self, tools: list[Any], base: Embedder, overlay: Overlay | None, progress: Progress) -> None:
        self.tools = tools
        self._base, self._overlay, self._progress = base, overlay, progress
        self._entries = [entry_with(overlay, tool, place) for place, tool in enumerate(tools)]
        self.numbers = {entry.name: number for number, entry in enumerate(self._entries)}

    def today(self, questions: Sequence[Labelled]) -> tuple[Measured, list[tuple[int, Matrix]]]:
        """What is found without an adapter, and the vectors of the questions, each with the place of its question.

        A question that the encoder does not read has none. The vectors are those that the search itself asks for: of
        a translated question, those of its English terms.
        """
        asked: list[tuple[int, Matrix]] = []
        current = 0

        def question(texts: list[str]) -> Any:
            vectors = self._base.embed(texts)
            asked.extend((current, vector) for vector in _normalised(vectors))
            return vectors

        def begin(place: int) -> None:
            nonlocal current
            current = place
            self._progress("measuring", place, len(questions))

        catalog = self._catalog(question, [one.text for one in questions])
        asked.clear()
        return measured(catalog, questions, before_each=begin), asked

    def measured_with(self, adapter: Adapter, questions: Sequence[Labelled]) -> Measured:
        """What is found with an adapter."""
        catalog = self._catalog(lambda texts: adapter(self._base.embed(texts)), [one.text for one in questions])
        return measured(catalog, questions, before_each=lambda place: self._progress("held out", place, len(questions)))

    def confident(self, sentences: Sequence[str], adapter: Adapter | None = None) -> Confident | None:
        """Which sentences find a tool with confidence without an adapter, and with one; None if there are none."""
        if not sentences:
            return None

        def found(question: Callable[[list[str]], Any]) -> NDArray[np.float64]:
            return with_confidence(
                self._catalog(question, sentences),
                sentences,
                before_each=lambda place: self._progress("other sentences", place, len(sentences)),
            )

        before = found(self._base.embed)
        return Confident(before, None if adapter is None else found(lambda texts: adapter(self._base.embed(texts))))

    def trained(
        self, known: Sequence[tuple[Matrix, Sequence[str]]], unanswered: list[str], seed: int
    ) -> tuple[Adapter, float]:
        """An adapter, and the share of the nearest tools of everyday sentences that stay the same."""
        tools = self._vectors([text_of(entry) for entry in self._entries], "tools")
        everyday = self._vectors(_everyday(), "everyday")
        stays = [everyday[_TESTED:], tools] + ([self._vectors(unanswered, "everyday")] if unanswered else [])
        adapter = train(
            examples([vector for vector, _ in known], [self._places(names) for _, names in known], len(tools)),
            tools,
            np.concatenate(stays),
            floor=self._base.floor,
            seed=seed,
            progress=lambda done, total: self._progress("training", done, total),
        )
        common = self._vectors(
            [text_of(entry_with(None, tool, place)) for place, tool in enumerate(_common())], "tools"
        )
        every = np.concatenate([tools, common])
        before, after = _nearest(everyday[:_TESTED], every), _nearest(adapter(everyday[:_TESTED]), every)
        shared = [len(set(one) & set(other)) / len(one) for one, other in zip(before, after, strict=True)]
        return adapter, sum(shared) / len(shared)

    def _places(self, names: Iterable[str]) -> list[int]:
        return [self.numbers[name] for name in names]

    def _catalog(self, question: Callable[[list[str]], Any], texts: Sequence[str]) -> ToolCatalog:
        catalog = ToolCatalog(
            self.tools,
            ranker="hybrid",
            embed=replace(self._base, question=question),
            limit_tools=len(self.tools),
            limit_query=max([MAX_QUERY, *map(len, texts)]),
            overlay=self._overlay,
        )
        catalog.ready(progress=lambda done, total: self._progress("tools", done, total))
        return catalog

    def _vectors(self, texts: Sequence[str], stage: Stage) -> Matrix:
        vectorizer = Vectorizer(self._base)
        found: list[Matrix] = []
        for start in range(0, len(texts), _BATCH):
            self._progress(stage, start, len(texts))
            found.append(vectorizer.vectors(texts[start : start + _BATCH]))
        return np.concatenate(found)


def _normalised(vectors: Any) -> Matrix:
    rows = np.asarray(vectors, np.float32)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return (rows / np.where(lengths > 0, lengths, 1)).astype(np.float32)


def _nearest(vectors: Matrix, tools: Matrix) -> list[list[int]]:
    """The numbers of the nearest tools of each vector."""
    order = np.argsort(-(vectors @ tools.T), axis=1, kind="stable")
    return order[:, :_NEAREST].tolist()


def _everyday() -> list[str]:
    """Sentences of everyday life: requests for tools of many kinds, and talk."""
    return _lines("everyday.txt")


def _common() -> list[dict[str, Any]]:
    """Tools of many kinds, as other catalogues have them."""
    named = (line.split(": ", 1) for line in _lines("tools.txt"))
    return [{"name": name, "description": text, "input_schema": {"type": "object"}} for name, text in named]


def _lines(name: str) -> list[str]:
    return Path(__file__).with_name(name).read_text(encoding="utf-8").splitlines()
