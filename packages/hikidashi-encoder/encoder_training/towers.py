"""Training of the two towers, and of what tells requests from talk."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

__all__ = ["Examples", "Settings", "Tower", "request_weights", "train_towers"]

Rows = NDArray[np.float32]
_SCALE = 16.0  # of what goes into the last layer, so that its weights are of the size of the others


@dataclass(frozen=True)
class Settings:
    """How the towers are trained."""

    steps: int = 1_000
    rate: float = 2e-4
    batch: int = 256
    servers: int = 16
    """Of each step: all their tools are candidates, so that neighbours of the right one are among them."""
    temperature: float = 0.05
    drop: float = 0.1
    pairs: int = 192
    """Strings of user interfaces, and operations, of each step."""
    weight_of_strings: float = 0.5
    weight_of_operations: float = 0.5
    share: float = 0.8
    """Of what the towers learnt, how much is kept. The rest of each weight is the base model's, which loses some points
    on tools that were trained with, and wins as many on catalogues of another kind."""
    asked: int = 4
    """How often each question in another language counts."""
    seed: int = 1


@dataclass(frozen=True)
class Examples:
    """What is trained on, as the rows that towers read."""

    questions: Rows
    gold: Sequence[Sequence[int]]
    tools: Rows
    short: Rows
    servers: Sequence[str]
    english: Rows
    """Of the English strings, each once."""
    foreign: Rows
    english_of: NDArray[np.int64]
    """For each foreign string, the place of its English one."""
    summaries: Rows
    operations: Rows


class Tower(nn.Module):
    """The upper layers of the base model, trained further, and a linear layer that begins as the identity."""

    def __init__(self, weights: Mapping[str, Rows], drop: float) -> None:
        super().__init__()
        self.layers = nn.ParameterDict({name: nn.Parameter(torch.tensor(one)) for name, one in weights.items()})
        self.layers["out"] = nn.Parameter(torch.eye(weights["d"].shape[1]) / _SCALE)
        self._drop = nn.Dropout(drop)

    def forward(self, rows: Tensor) -> Tensor:
        """Normalised vectors."""
        own, rows = self.layers, self._drop(rows)
        half = self._drop(functional.relu(functional.relu(rows @ own["a"]) @ own["b"] + rows @ own["skip1"]))
        whole = torch.tanh(functional.relu(half @ own["c"]) @ own["d"] + half @ own["skip2"])
        return functional.normalize(self._drop(functional.normalize(whole, dim=-1) * _SCALE) @ own["out"], dim=-1)

    def keep(self, share: float, start: Mapping[str, Rows]) -> None:
        """Go back from the weights a part of the way to those of the `start`."""
        with torch.no_grad():
            for name, weights in self.layers.items():
                first = torch.from_numpy(start[name]) if name in start else torch.eye(len(weights)) / _SCALE
                weights.mul_(share).add_(first, alpha=1 - share)


def train_towers(given: Examples, start: Mapping[str, Rows], settings: Settings) -> tuple[Tower, Tower]:
    """The towers of questions and of tools: a question is to be nearest to its tool among those of some servers.

    Besides, a string of a user interface is to be nearest to its translation, and the summary of an operation to the
    operation.
    """
    torch.manual_seed(settings.seed)
    torch.set_num_threads(1)  # on a machine with other work, two are slower
    draw = np.random.default_rng(settings.seed)
    question, tool = Tower(start, settings.drop), Tower(start, settings.drop)
    optimizer = torch.optim.AdamW([*question.parameters(), *tool.parameters()], settings.rate)
    slope = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min(1, (step + 1) / 30) * max(0.02, 1 - step / settings.steps)
    )
    names = sorted(set(given.servers))
    of_tool = np.array([names.index(server) for server in given.servers])
    of_question = np.array([of_tool[gold[0]] for gold in given.gold])
    rows = {name: torch.from_numpy(getattr(given, name)) for name in ("questions", "tools", "short")}
    others = {
        name: torch.from_numpy(getattr(given, name)) for name in ("english", "foreign", "summaries", "operations")
    }
    for step in range(settings.steps):
        some = draw.choice(len(names), settings.servers, replace=False)
        asked = np.flatnonzero(np.isin(of_question, some))
        asked = draw.choice(asked, min(settings.batch, len(asked)), replace=False)
        needed = {place for one in asked for place in given.gold[one]}
        tools = np.array(sorted({*np.flatnonzero(np.isin(of_tool, some)).tolist(), *needed}))
        is_long = torch.from_numpy(draw.random(len(names))[of_tool[tools]] < 0.5)[:, None]
        embedded = tool(torch.where(is_long, rows["tools"][tools], rows["short"][tools]))
        similar = question(rows["questions"][asked]) @ embedded.T / settings.temperature
        loss = _among(
            similar, [[int(np.searchsorted(tools, one)) for one in given.gold[place]] for place in asked], draw
        )
        chosen = draw.choice(len(given.english_of), settings.pairs, replace=False)
        english = given.english_of[chosen]
        here, there = others["foreign"][chosen], others["english"][english]
        twins = torch.from_numpy(english[:, None] == english[None])
        both = _nearest(question(here), tool(there), settings, twins) + _nearest(
            question(there), tool(here), settings, twins
        )
        loss = loss + settings.weight_of_strings / 2 * both
        if step % 2 == 0:
            chosen = draw.choice(len(given.summaries), settings.pairs, replace=False)
            near = _nearest(question(others["summaries"][chosen]), tool(others["operations"][chosen]), settings)
            loss = loss + settings.weight_of_operations * near
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        slope.step()
        if step % 100 == 99:
            print(f"step {step + 1:,}: loss {loss.item():.2f}", flush=True)
    for tower in (question.eval(), tool.eval()):
        tower.keep(settings.share, start)
    return question, tool


def _among(similar: Tensor, gold: list[list[int]], draw: np.random.Generator) -> Tensor:
    """Cross-entropy of one right tool of each question; its other right ones are no wrong ones."""
    rights = torch.tensor([one[draw.integers(len(one))] for one in gold])
    hidden = torch.zeros_like(similar, dtype=torch.bool)
    for row, one in enumerate(gold):
        hidden[row, one] = True
    hidden[torch.arange(len(gold)), rights] = False
    return functional.cross_entropy(similar.masked_fill(hidden, -1e4), rights)


def _nearest(one: Tensor, other: Tensor, settings: Settings, twins: Tensor | None = None) -> Tensor:
    """Cross-entropy of the row in the same place; `twins` are equal to it, and are not counted."""
    similar = one @ other.T / settings.temperature
    if twins is not None:
        similar = similar.masked_fill(twins & ~torch.eye(len(one), dtype=torch.bool), -1e4)
    return functional.cross_entropy(similar, torch.arange(len(one)))


def request_weights(requests: Sequence[Rows], talk: Sequence[Rows]) -> dict[str, NDArray[Any]]:
    """Logistic regression on the vectors of questions; each list counts as much as every other of its kind."""
    torch.set_num_threads(1)
    lists = [*requests, *talk]
    rows = torch.from_numpy(np.concatenate(lists))
    asks = torch.cat([torch.full((len(one),), float(place < len(requests))) for place, one in enumerate(lists)])
    kinds = [len(requests) if place < len(requests) else len(talk) for place in range(len(lists))]
    counts = torch.cat([torch.full((len(one),), 0.5 / kind / len(one)) for kind, one in zip(kinds, lists, strict=True)])
    weights, bias = torch.zeros(rows.shape[1], requires_grad=True), torch.zeros((), requires_grad=True)
    optimizer = torch.optim.LBFGS([weights, bias], max_iter=60, line_search_fn="strong_wolfe")

    def closure() -> Tensor:
        optimizer.zero_grad()
        each = functional.binary_cross_entropy_with_logits(rows @ weights + bias, asks, reduction="none")
        loss = (each * counts).sum() + 1e-4 * weights.square().sum()
        loss.backward()
        return loss

    optimizer.step(closure)
    return {"request": weights.detach().numpy(), "request.bias": bias.detach().numpy()}
