"""Everything one run found out, as values and as JSON."""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import asdict, dataclass, field
from typing import Any, cast

from ..machine import Machine
from .ablation import Ablation
from .accuracy import Accuracy
from .confidence import Confidence
from .first import First
from .patterns import Searched
from .preload import Preloaded
from .speed import Speed
from .tokens import Tokens
from .vectors import Vectors

PARTS = {
    "accuracy": "recall and nDCG on the shipped data set and those of --data; questions that no tool serves",
    "confidence": "a topic with a value, and everyday talk, at 200 to 10,000 tools: what is found, and how surely",
    "languages": "recall for questions in six languages about tools described in English",
    "preload": "how often the tools for a question are loaded with it, at 3, 5 and 8 tools; how often talk loads any",
    "first": "the build and the first question of each kind, beside FastMCP",
    "ablation": "what each part of the engine brings on the shipped sets: clauses, words, synonyms, corrections, …",
    "speed": "build, add, save, load, p50, p99 and memory at 100 to 100,000 tools",
    "vectors": "embedding 1,000 and 10,000 tools once: time, processor time, size",
    "regex": "hostile and ordinary patterns over 10,000 tools",
    "tokens": "what a catalogue costs a model, loaded or deferred",
}
"""What is measured, in this order."""


@dataclass(slots=True)
class Run:
    """What was measured so far."""

    machine: Machine
    missing: dict[str, str]
    """Engines that are not installed, and how to get them."""
    accuracy: list[Accuracy] = field(default_factory=list[Accuracy])
    confidence: list[Confidence] = field(default_factory=list[Confidence])
    languages: list[Accuracy] = field(default_factory=list[Accuracy])
    preload: list[Preloaded] = field(default_factory=list[Preloaded])
    first: list[First] = field(default_factory=list[First])
    ablation: list[Ablation] = field(default_factory=list[Ablation])
    speed: list[Speed] = field(default_factory=list[Speed])
    vectors: list[Vectors] = field(default_factory=list[Vectors])
    regex: list[Searched] = field(default_factory=list[Searched])
    tokens: list[Tokens] = field(default_factory=list[Tokens])


def as_json(run: Run) -> str:
    """The run as JSON text with four digits, so that two runs can be compared line by line."""
    rows = {part: [_rounded(asdict(row)) for row in getattr(run, part)] for part in PARTS}
    document = {"suite": "search", "machine": run.machine, "missing": run.missing, **rows}
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def updated(before: str, now: str, parts: Collection[str]) -> str:
    """The JSON text of a run with those `parts` of it that were measured, and the others of the run `before` it."""
    older, document = json.loads(before), json.loads(now)
    kept = {part: older[part] for part in PARTS if part not in parts and part in older}
    return json.dumps(document | kept, indent=2, ensure_ascii=False) + "\n"


def _rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _rounded(one) for key, one in cast("dict[Any, Any]", value).items()}
    return float(f"{value:.4g}") if isinstance(value, float) else value
