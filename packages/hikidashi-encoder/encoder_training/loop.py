"""The training loop: contrastive, with in-batch and hard negatives; resumable, and repeatable by its seed."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from torch import Tensor, nn

from .mining import by_meaning, by_words
from .network import FrozenStates, Network
from .sets import TrainingSet

__all__ = ["Settings", "train"]


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The settings of a training run."""

    steps: int = 900
    batch: int = 24
    talk: int = 4
    """Utterances without a tool in each batch."""
    temperature: float = 0.05
    nothing: float = 0.3
    """The similarity that "no tool" has for every question: answers learn to be above it, other talk to be below."""
    rate: float = 3e-5
    warm_up: int = 50
    renew: int = 300
    """After so many steps the hard negatives are mined again, by the network as it is then."""
    operations: float = 0.2
    """The share of batches that are of OpenAPI operations."""
    own: float = 0.4
    """The share of batches that are of the servers written for this encoder."""
    save: int = 100
    seed: int = 7


def train(
    sets: list[TrainingSet],
    talk: list[str],
    settings: Settings,
    folder: Path,
    frozen: FrozenStates,
    *,
    title: str = "training",
) -> Network:
    """A trained network; the run goes on from the last checkpoint in `folder`, and leaves its result there."""
    torch.manual_seed(settings.seed)
    network = Network(frozen)
    trained = [parameter for parameter in network.parameters() if parameter.requires_grad]
    optimizer = torch.optim.AdamW(trained, lr=settings.rate, weight_decay=0.01)
    folder.mkdir(parents=True, exist_ok=True)
    checkpoint = folder / "checkpoint.pt"
    step = _resume(checkpoint, network, optimizer)
    if step >= settings.steps:
        return network
    texts = {one.name: one.texts() for one in sets}
    words = {one.name: by_words(one) for one in sets}
    meanings: dict[str, list[list[int]]] = {}
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, TextColumn("loss {task.fields[loss]:.3f}")) as progress:
        task = progress.add_task(title, total=settings.steps, completed=step, loss=float("nan"))
        average = float("nan")
        network.train()
        while step < settings.steps:
            if step % settings.renew == 0 or not meanings:
                progress.update(task, description=f"{title}: mining")
                meanings = {one.name: by_meaning(one, network) for one in sets}
                progress.update(task, description=title)
            # Seeded by the step: a run that was interrupted draws the same batches.
            draw = random.Random(settings.seed * 1_000_003 + step)
            one = _drawn(sets, settings, draw)
            batch = _batch(one, words[one.name], meanings[one.name], talk, settings, draw)
            # Twice as fast as float32 where the processor has bfloat16, and as good: the optimizer's state stays float32.
            with torch.autocast("cpu", dtype=torch.bfloat16):
                loss = _loss(network, batch, texts, settings)
            for group in optimizer.param_groups:
                group["lr"] = settings.rate * _schedule(step, settings)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(trained, 1.0)
            optimizer.step()
            step += 1
            average = float(loss.detach()) if math.isnan(average) else 0.95 * average + 0.05 * float(loss.detach())
            progress.update(task, advance=1, loss=average)
            if step % settings.save == 0 or step == settings.steps:
                _save(checkpoint, network, optimizer, step)
    return network


@dataclass
class _Batch:
    name: str
    questions: list[str]
    gold: list[list[int]]
    tools: list[int]
    """The answer of each question, then the hard negatives."""


def _drawn(sets: list[TrainingSet], settings: Settings, draw: random.Random) -> TrainingSet:
    """A set: OpenAPI operations and our own by their shares, the others by the square root of their size."""
    own = [one for one in sets if one.name.startswith("own_")]
    operations = [one for one in sets if one.name == "openapi_ops"]
    others = [one for one in sets if one not in own and one not in operations]
    dice = draw.random()
    if operations and dice < settings.operations:
        return operations[0]
    pool = own if own and (dice < settings.operations + settings.own or not others) else others or operations
    return draw.choices(pool, [math.sqrt(len(one.questions)) for one in pool])[0]


def _batch(
    one: TrainingSet,
    words: list[list[int]],
    meanings: list[list[int]],
    talk: list[str],
    settings: Settings,
    draw: random.Random,
) -> _Batch:
    places = draw.sample(range(len(one.questions)), min(settings.batch, len(one.questions)))
    answers = [draw.choice(one.questions[place][1]) for place in places]
    hard = [draw.choice(near) for place in places if (near := draw.choice([words[place][:6], meanings[place][:6]]))]
    questions = [one.questions[place][0] for place in places]
    gold = [one.questions[place][1] for place in places]
    spoken = draw.sample(talk, min(settings.talk, len(talk)))
    return _Batch(one.name, questions + spoken, gold + [[] for _ in spoken], list(dict.fromkeys(answers + hard)))


def _loss(network: Network, batch: _Batch, texts: dict[str, list[str]], settings: Settings) -> Tensor:
    """Cross-entropy of the answers among all tools of the batch and "no tool"; several answers share the mass."""
    tools = network([texts[batch.name][place] for place in batch.tools])
    questions = network(batch.questions)
    similarities = questions @ tools.T
    nothing = torch.full((len(questions), 1), settings.nothing)
    scores = torch.cat([similarities, nothing], dim=1) / settings.temperature
    right = torch.zeros_like(scores, dtype=torch.bool)
    for row, gold in enumerate(batch.gold):
        known = set(gold)
        for column, place in enumerate(batch.tools):
            right[row, column] = place in known
        right[row, -1] = not gold
    # One answer at a time: with several in the batch, each has to beat what is wrong, not the other answers.
    wrong = torch.logsumexp(scores.masked_fill(right, -torch.inf), dim=1, keepdim=True)
    each = torch.where(right, nn.functional.softplus(wrong - scores), torch.zeros_like(scores))
    return (each.sum(1) / right.sum(1)).mean()


def _schedule(step: int, settings: Settings) -> float:
    if step < settings.warm_up:
        return (step + 1) / settings.warm_up
    return max(0.05, 1 - (step - settings.warm_up) / max(1, settings.steps - settings.warm_up))


def _save(path: Path, network: Network, optimizer: torch.optim.Optimizer, step: int) -> None:
    state: dict[str, Any] = {"network": network.state_dict(), "optimizer": optimizer.state_dict(), "step": step}
    part = path.with_suffix(".part")
    torch.save(state, part)
    part.replace(path)


def _resume(path: Path, network: Network, optimizer: torch.optim.Optimizer) -> int:
    if not path.exists():
        return 0
    state: dict[str, Any] = torch.load(path, weights_only=True)
    network.load_state_dict(state["network"])
    optimizer.load_state_dict(state["optimizer"])
    return int(state["step"])
