"""Leave-one-set-out: each labelled set is measured with an encoder that was trained without it."""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import asdict
from pathlib import Path
from typing import Any

from hikidashi_encoder import Encoder

from hikidashi.search import Embedder

from .baselines import of_network, static_vectors
from .export import export
from .loop import Settings
from .measure import Recall, difference, recall
from .network import Network
from .places import FIGURES, WORK
from .runs import Run, all_texts
from .sets import FOLDS, PUBLIC, TrainingSet, public_sets
from .states import KeptStates

__all__ = ["leave_one_out", "measured"]

_OWN_ONLY = "own-only"


def leave_one_out(
    data: Path,
    settings: Settings,
    states: KeptStates,
    *,
    own_only: bool = False,
    fresh: bool = False,
    adopt: bool = False,
    again: bool = False,
    only: Collection[str] = (),
) -> Path | None:
    """Measure every set and write the figures; sets that are done are not done again.

    With `own_only`, one encoder, which was trained on none of the sets, is measured on all of them.

    Args:
        data: The folder of the public sets.
        settings: The settings of the runs.
        states: The states of the frozen layers.
        own_only: Train on our own data alone.
        fresh: Begin the runs again, whatever is there.
        adopt: Take checkpoints that do not say what they were trained with.
        again: Measure sets again that are done.
        only: The names of the folds that are trained and measured; all if empty.

    Returns:
        The file of the figures; None if some sets are not measured yet.
    """
    sets = {one.name: one for one in public_sets(data)}
    every = {_OWN_ONLY: tuple(set_ for fold in FOLDS.values() for set_ in fold)} if own_only else FOLDS
    paths: dict[str, Path] = {}
    for fold, names in every.items():
        folder = WORK / _OWN_ONLY if own_only else WORK / "folds" / fold
        paths |= {name: folder / f"figures-{name}.json" for name in names}
        if only and fold not in only:
            continue
        run = Run(folder, None if own_only else data, settings, without=() if own_only else names)
        network = run.network(states, fresh=fresh, adopt=adopt)
        missing = [name for name in names if again or not paths[name].exists()]
        if missing:
            export(network, folder / "model")
        for name in missing:
            print(f"measuring on {name} ...", flush=True)
            found = measured(sets[name], network, states, folder / "model")
            paths[name].write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
            print(name, found["recall"], flush=True)
    if not all(path.exists() for path in paths.values()):
        return None
    figures = {
        "own_only": own_only,
        "settings": asdict(settings),
        "folds": list(every.values()),
        "sets": {name: json.loads(paths[name].read_text(encoding="utf-8")) for name in PUBLIC},
    }
    path = WORK / _OWN_ONLY / "figures.json" if own_only else FIGURES
    path.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")
    return path


def measured(one: TrainingSet, network: Network, states: KeptStates, folder: Path) -> dict[str, Any]:
    """Recall@5 on a set: of words alone, and of words with each kind of vectors; `folder` has the int8 model."""
    states.fill(all_texts(one))
    embedders: dict[str, Embedder | None] = {
        "lexical": None,
        "base": of_network(Network(states)),
        "tuned": Embedder(embed=Encoder(folder=folder).embed),
        "tuned_float": of_network(network),
    }
    if static := static_vectors():
        embedders["static"] = static
    found: dict[str, Recall] = {name: recall(one, embedder) for name, embedder in embedders.items()}
    return {
        "tools": len(one.tools),
        "questions": len(one.questions),
        "recall": {name: round(each.mean, 2) for name, each in found.items()},
        "above": {
            name: [round(number, 2) for number in difference(found["tuned"], each)]
            for name, each in found.items()
            if name != "tuned"
        },
    }
