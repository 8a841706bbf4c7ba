"""Leave-one-set-out: for each labelled set, an encoder trained without it is measured on it."""

from __future__ import annotations

import json
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
from .sets import PUBLIC, TrainingSet, public_sets
from .states import KeptStates

__all__ = ["leave_one_out", "measured"]


def leave_one_out(
    data: Path,
    settings: Settings,
    states: KeptStates,
    *,
    own_only: bool = False,
    fresh: bool = False,
    adopt: bool = False,
    again: bool = False,
) -> dict[str, Any]:
    """The figures of every set, which are also written to `figures.json`; sets that are done are not done again.

    With `own_only`, one encoder, which was trained on none of the sets, is measured on all of them.
    """
    sets = {one.name: one for one in public_sets(data)}
    figures: dict[str, Any] = {}
    for name in PUBLIC:
        folder = WORK / "own-only" if own_only else WORK / "folds" / name
        run = Run(folder, None if own_only else data, settings, without=None if own_only else name)
        network = run.network(states, fresh=fresh and (not own_only or name == PUBLIC[0]), adopt=adopt)
        path = folder / f"figures-{name}.json"
        if path.exists() and not again:
            figures[name] = json.loads(path.read_text(encoding="utf-8"))
        else:
            print(f"measuring on {name} ...", flush=True)
            figures[name] = measured(sets[name], network, states, folder / "model")
            path.write_text(json.dumps(figures[name], indent=2) + "\n", encoding="utf-8")
        print(name, figures[name]["recall"], flush=True)
    found = {"own_only": own_only, "settings": asdict(settings), "sets": figures}
    path = WORK / "own-only" / "figures.json" if own_only else FIGURES
    path.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
    return found


def measured(one: TrainingSet, network: Network, states: KeptStates, folder: Path) -> dict[str, Any]:
    """Recall@5 on a set: of words alone, and of words with each kind of vectors; `folder` gets the int8 model."""
    export(network, folder)
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
