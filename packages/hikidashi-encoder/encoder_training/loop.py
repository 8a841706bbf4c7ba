"""The training loop: contrastive, with in-batch and hard negatives; resumable, and repeatable by its seed."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import torch
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from torch import Tensor, nn

from .checkpoint import Checkpoint
from .mining import NearByMeaning, NearByWords
from .network import FrozenStates, Network
from .sets import TrainingSet

__all__ = ["Settings", "train"]


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The settings of a training run."""

    steps: int = 1000
    batch: int = 32
    talk: int = 4
    """Utterances without a tool in each batch."""
    temperature: float = 0.05
    nothing: float = 0.3
    """The similarity that "no tool" has for every question: answers learn to be above it, other talk to be below."""
    rate: float = 3e-5
    warm_up: int = 50
    renew: int = 300
    """After so many steps the hard negatives are mined again, by the network as it is then."""
    operations: float = 0.15
    """The share of batches that are of OpenAPI operations."""
    own: float = 0.45
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
    network = Network(frozen)
    trained = [parameter for parameter in network.parameters() if parameter.requires_grad]
    optimizer = torch.optim.AdamW(trained, lr=settings.rate, weight_decay=0.01)
    texts = {one.name: one.texts() for one in sets}
    by_meaning = NearByMeaning(texts)
    folder.mkdir(parents=True, exist_ok=True)
    checkpoint = Checkpoint(folder / "checkpoint.pt", network, optimizer, by_meaning)
    step = checkpoint.load()
    if step >= settings.steps:
        return network
    by_words = {one.name: NearByWords(one) for one in sets}
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, TextColumn("loss {task.fields[loss]:.3f}")) as progress:
        task = progress.add_task(title, total=settings.steps, completed=step, loss=float("nan"))
        average = float("nan")
        network.train()
        while step < settings.steps:
            if step % settings.renew == 0 or not by_meaning.vectors:
                progress.update(task, description=f"{title}: mining")
                by_meaning.renew(network)
                progress.update(task, description=title)
            # Seeded by the step: a run that was interrupted draws the same batches, and the same dropout.
            draw = random.Random(settings.seed * 1_000_003 + step)
            torch.manual_seed(settings.seed * 1_000_003 + step)
            one = _drawn(sets, settings, draw)
            near = _Near(texts[one.name], by_words[one.name], by_meaning)
            # Twice as fast as float32 where the processor has bfloat16; the optimizer's state stays float32.
            with torch.autocast("cpu", dtype=torch.bfloat16):
                loss = _loss(network, one, near, settings, draw=draw, talk=talk)
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
                checkpoint.save(step)
    return network


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


class _Near(NamedTuple):
    """The texts of a set's tools, and those that are near to a question."""

    texts: list[str]
    by_words: NearByWords
    by_meaning: NearByMeaning


def _loss(
    network: Network, one: TrainingSet, tools_near: _Near, settings: Settings, *, draw: random.Random, talk: list[str]
) -> Tensor:
    """Cross-entropy of the answers among the tools of a batch and "no tool".

    The tools are the answers to the questions of the batch, and a hard negative for each question: near by words or
    near by meaning.
    """
    places = draw.sample(range(len(one.questions)), min(settings.batch, len(one.questions)))
    spoken = draw.sample(talk, min(settings.talk, len(talk)))
    gold = [one.questions[place][1] for place in places] + [[] for _ in spoken]
    questions = network([one.questions[place][0] for place in places] + spoken)
    near = tools_near.by_meaning(one.name, questions, gold)
    hard = [
        tools_near.by_words(place) if row < len(places) and draw.random() < 0.5 else near[row]
        for row, place in enumerate(places)
    ]
    hard += near[len(places) :]
    tools = [draw.choice(answers) for answers in gold if answers] + [draw.choice(some[:6]) for some in hard if some]
    tools = list(dict.fromkeys(tools))
    similarities = questions @ network([tools_near.texts[place] for place in tools]).T
    nothing = torch.full((len(questions), 1), settings.nothing)
    scores = torch.cat([similarities, nothing], dim=1) / settings.temperature
    right = torch.zeros_like(scores, dtype=torch.bool)
    for row, answers in enumerate(gold):
        for column, place in enumerate(tools):
            right[row, column] = place in answers
        right[row, -1] = not answers
    # One answer at a time: with several in the batch, each has to beat what is wrong, not the other answers.
    wrong = torch.logsumexp(scores.masked_fill(right, -torch.inf), dim=1, keepdim=True)
    each = torch.where(right, nn.functional.softplus(wrong - scores), torch.zeros_like(scores))
    return (each.sum(1) / right.sum(1)).mean()


def _schedule(step: int, settings: Settings) -> float:
    if step < settings.warm_up:
        return (step + 1) / settings.warm_up
    return max(0.05, 1 - (step - settings.warm_up) / max(1, settings.steps - settings.warm_up))
