"""Training from the base model and the texts to the files in `model/`."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from hikidashi_encoder.network import Network
from hikidashi_encoder.tokenizer import Tokenizer
from numpy.typing import NDArray

from .base import base_weights, tower_weights, write_vocabulary
from .features import Features
from .places import DATA, MODEL, WORK, base_model
from .server_files import read_negatives, read_talk
from .texts import operations, own, parallel, with_foreign_words
from .towers import Examples, Rows, Settings, Tower, request_weights, train_towers

__all__ = ["train"]


def train(sets: Path, strings: Path, settings: Settings, into: Path = MODEL) -> None:
    """Train the towers and write the model."""
    base = base_model()
    arrays = base_weights(base) | write_vocabulary(base, into)
    pieces = (into / "pieces.txt").read_text(encoding="utf-8").split("\n")
    network = Network(np.load(into / "embeddings.npy", mmap_mode="r"), arrays)
    features = Features(network, Tokenizer(pieces, arrays["pieces.score"].tolist()), WORK)
    catalogue, singles = own()
    mixed = with_foreign_words(catalogue.questions[:singles], strings)
    asked = [text for text, _ in catalogue.questions]
    questions = features.of("questions", asked)
    talk = [*read_talk(DATA / "talk").values()]
    spoken = features.of("talk", [line for lines in talk for line in lines])
    negatives = features.of("negatives", read_negatives(DATA / "negatives.txt"))
    foreign = _foreign(catalogue.questions)
    repeated = [place for place in foreign for _ in range(settings.asked - 1)]
    pairs, described = parallel(strings), operations(sets)
    english = sorted({pair.english for pair in pairs})
    places = {text: place for place, text in enumerate(english)}
    examples = Examples(
        questions=np.concatenate([questions, features.of("mixed", [text for text, _ in mixed]), questions[repeated]]),
        gold=[gold for _, gold in [*catalogue.questions, *mixed, *(catalogue.questions[place] for place in repeated)]],
        tools=features.of("tools", catalogue.tools),
        short=features.of("short", catalogue.short),
        servers=catalogue.servers,
        english=features.of("english", english),
        foreign=features.of("foreign", [pair.foreign for pair in pairs]),
        english_of=np.array([places[pair.english] for pair in pairs]),
        summaries=features.of("summaries", [summary for summary, _ in described]),
        operations=features.of("operations", [tool for _, tool in described]),
    )
    question, tool = train_towers(examples, tower_weights(base), settings)
    requests = [_embedded(question, questions[:singles]), _embedded(question, questions[foreign])]
    arrays |= request_weights(requests, [_embedded(question, negatives), _embedded(question, spoken)])
    for name, tower in (("question", question), ("tool", tool)):
        for layer, weights in tower.layers.items():
            arrays |= _int8(f"{name}.{layer}", weights.detach().numpy())
    np.savez(into / "weights.npz", **arrays)
    print(f"Trained with {asdict(settings)}: {into}")


def _foreign(questions: list[tuple[str, list[int]]]) -> list[int]:
    """The places of the questions in other languages, which come last."""
    from .server_files import read_asked

    count = len(read_asked(DATA / "asked"))
    return list(range(len(questions) - count, len(questions)))


def _embedded(tower: Tower, rows: Rows) -> Rows:
    import torch

    with torch.no_grad():
        return tower(torch.from_numpy(rows)).numpy()


def _int8(name: str, weights: Rows) -> dict[str, NDArray[Any]]:
    scale = np.maximum(np.abs(weights).max(0) / 127, 1e-9).astype(np.float32)
    return {name: np.round(weights / scale).astype(np.int8), f"{name}.scale": scale}
