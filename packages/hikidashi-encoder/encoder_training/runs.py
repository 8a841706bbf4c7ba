"""Training runs: which data, into which folder, and whether the checkpoint there is of the same run."""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import asdict, replace
from hashlib import blake2b
from pathlib import Path
from shutil import rmtree
from typing import Any

import torch

from .checkpoint import steps_done
from .loop import Settings, train
from .network import Network
from .questions import as_read
from .sets import TrainingSet, own_sets, public_sets, questions_without_tool
from .states import KeptStates

__all__ = ["Run", "all_texts", "trained"]


class Run:
    """A training run with its data: of everything, without some sets, or of our own data alone.

    Args:
        folder: Where its checkpoint is.
        data: The folder of the public sets; None for our own data alone.
        settings: The settings, with the seed.
        without: The sets that are left out.
    """

    def __init__(self, folder: Path, data: Path | None, settings: Settings, *, without: Collection[str] = ()) -> None:
        self.folder = folder
        self.settings = settings
        # The encoder reads English: training on Chinese tools would only spend steps.
        public = public_sets(data, without={*without, "acebench_zh"}) if data else []
        self.sets = [_as_read(one) for one in own_sets(settings.seed) + public]
        self.talk = questions_without_tool()
        self._title = f"training without {' and '.join(without)}" if without else "training"

    def texts(self) -> list[str]:
        """All texts that pass through the network."""
        return [*self.talk, *(text for one in self.sets for text in all_texts(one))]

    def network(self, states: KeptStates, *, fresh: bool = False, adopt: bool = False) -> Network:
        """The trained network; goes on from the checkpoint, if it is of the same settings and data.

        Args:
            states: The states of the frozen layers.
            fresh: Begin again, whatever is there.
            adopt: Take a checkpoint that does not say what it was trained with as one of this run.

        Raises:
            SystemExit: The checkpoint is of another run.
        """
        if fresh:
            rmtree(self.folder, ignore_errors=True)
        self._check(adopt=adopt)
        if steps_done(self.folder / "checkpoint.pt") < self.settings.steps:
            states.fill(self.texts())
        return train(self.sets, self.talk, self.settings, self.folder, states, title=self._title)

    def _check(self, *, adopt: bool) -> None:
        described = json.dumps(self._description(), indent=2) + "\n"
        path = self.folder / "run.json"
        known = path.read_text(encoding="utf-8") if path.exists() else None
        checkpoint = self.folder / "checkpoint.pt"
        if checkpoint.exists() and known != described and not (known is None and adopt):
            reason = "does not say what it was trained with" if known is None else "is of other settings or data"
            remedy = " To take it as it is: --adopt." if known is None else ""
            raise SystemExit(f"The checkpoint in {self.folder} {reason}. To begin again: --fresh.{remedy}")
        self.folder.mkdir(parents=True, exist_ok=True)
        path.write_text(described, encoding="utf-8")

    def _description(self) -> dict[str, Any]:
        sets = {one.name: _digest([*all_texts(one), *(str(gold) for _, gold in one.questions)]) for one in self.sets}
        return {"settings": asdict(self.settings), "sets": sets, "talk": _digest(self.talk)}


def _as_read(one: TrainingSet) -> TrainingSet:
    return replace(one, questions=[(as_read(question), gold) for question, gold in one.questions])


def all_texts(one: TrainingSet) -> list[str]:
    """The texts of the tools and of the questions."""
    return one.texts() + [question for question, _ in one.questions]


def _digest(texts: list[str]) -> str:
    digest = blake2b(digest_size=8)
    for text in texts:
        digest.update(text.encode("utf-8", "surrogatepass") + b"\0")
    return digest.hexdigest()


def trained(checkpoint: Path, states: KeptStates) -> Network:
    """The network of a checkpoint."""
    network = Network(states)
    network.load_state_dict(torch.load(checkpoint, weights_only=True)["network"])
    return network
