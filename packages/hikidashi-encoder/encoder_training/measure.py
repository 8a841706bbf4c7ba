"""Recall@5 by vectors alone, and how well requests are told from talk, with the model of the package."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from hikidashi_encoder import Encoder
from numpy.typing import NDArray

from .places import DATA, FIGURES, PACKAGE
from .server_files import read_foreign
from .texts import LABELLED, Catalogue, labelled, own, read_lines

__all__ = ["measure"]

_BENCHMARKS = PACKAGE.parent.parent / "benchmarks" / "data"
_SHOWN = 5


def measure(sets: Path) -> None:
    """Measure on sets that training never saw, and write figures.json."""
    encoder, rows = Encoder(), list[dict[str, Any]]()
    for name in LABELLED:
        whole = labelled(sets / name)
        whole.splits = [""] * len(whole.questions)
        rows += _rows(encoder, whole)
    for one in (labelled(_BENCHMARKS / "drawer"), labelled(_BENCHMARKS / "errands"), _foreign()):
        rows += _rows(encoder, one)
    figures = {"sets": rows, "requests": _requests(encoder)}
    print(figures["requests"])
    FIGURES.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")


def _rows(encoder: Encoder, catalogue: Catalogue) -> list[dict[str, Any]]:
    """A row for each split."""
    rows, found = list[dict[str, Any]](), _recalls(encoder, catalogue)
    for split in dict.fromkeys(catalogue.splits):
        some = [recall for recall, kind in zip(found, catalogue.splits, strict=True) if kind == split]
        title = f"{catalogue.name} {split}".strip()
        print(f"{title}: {100 * _mean(some):.1f}", flush=True)
        rows.append({"set": title, "tools": len(catalogue.tools), "questions": len(some), "recall": 100 * _mean(some)})
    return rows


def _recalls(encoder: Encoder, catalogue: Catalogue) -> list[float]:
    """For each question, the share of its tools among the first five."""
    tools, recalls = encoder.tools(catalogue.tools).T, list[float]()
    for vector, (_, gold) in zip(
        encoder.questions([text for text, _ in catalogue.questions]), catalogue.questions, strict=True
    ):
        first = np.argsort(-(vector @ tools), kind="stable")[:_SHOWN].tolist()
        recalls.append(len({*gold} & {*first}) / len({*gold}))
    return recalls


def _foreign() -> Catalogue:
    """The questions in other languages, over all tools that were trained with."""
    catalogue, _ = own()
    asked = read_foreign(DATA / "asked_in_other_languages.txt")
    questions = [(one.text, [catalogue.places[f"{one.server}/{one.tool}"]]) for one in asked]
    return Catalogue("asked in", catalogue.tools, questions=questions, splits=[one.language for one in asked])


def _requests(encoder: Encoder) -> dict[str, float]:
    """Of all talk and all requests of the benchmarks: the area under the curve, and shares at two thresholds."""
    talk, requests = list[str](), list[str]()
    for path in (_BENCHMARKS / "drawer", _BENCHMARKS / "errands", _BENCHMARKS / "values"):
        for line in read_lines(path / "queries.jsonl"):
            kind = line.get("split", "")
            if "wish" not in kind:  # what no tool of that catalogue does is a request all the same
                (talk if "talk" in kind else requests).append(line["query"])
    talk += [line["query"] for line in read_lines(_BENCHMARKS / "values" / "talk.jsonl")]
    requests += [one.text for one in read_foreign(DATA / "asked_in_other_languages.txt")]
    held, kept = (encoder.is_request(encoder.questions(texts)) for texts in (talk, requests))
    found = {"talk": float(len(talk)), "requests": float(len(requests)), "auc": _auc(kept, held)}
    for threshold in (0.5, 0.7):
        found[f"talk below {threshold}"] = 100 * float((held < threshold).mean())
        found[f"requests from {threshold}"] = 100 * float((kept >= threshold).mean())
    return found


def _auc(higher: NDArray[np.float32], lower: NDArray[np.float32]) -> float:
    return float((higher[:, None] > lower[None]).mean() + (higher[:, None] == lower[None]).mean() / 2)


def _mean(numbers: Sequence[float]) -> float:
    return sum(numbers) / len(numbers)
