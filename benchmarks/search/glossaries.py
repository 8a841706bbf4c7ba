"""What the glossaries add: every question with them and without, and how much junk they find for talk."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from .accuracy import Accuracy, scored
from .data import EVERYDAY, Dataset, load
from .ours import Lexical, Unaided

WITH = "with glossaries"
WITHOUT = "without"


def measure(datasets: Sequence[Dataset], progress: Callable[[str], None]) -> Iterable[Accuracy]:
    """Ours with and without glossaries on the shipped set for them and on `datasets`; each is asked all the talk."""
    everyday = load(EVERYDAY)
    others = datasets[0].talk if datasets else []
    yield from _both(replace(everyday, questions=[*everyday.questions, *others]), progress)
    for dataset in datasets:
        yield from _both(replace(dataset, questions=[*dataset.questions, *everyday.talk]), progress)


def _both(dataset: Dataset, progress: Callable[[str], None]) -> Iterable[Accuracy]:
    for name, build in ((WITH, Lexical), (WITHOUT, Unaided)):
        progress(f"{dataset.name}, {name}")
        yield scored(dataset, name, build(dataset.tools))
