"""From a trained network to the model of the package: exported, compared with the network, then installed."""

from __future__ import annotations

from pathlib import Path
from shutil import rmtree

from hikidashi_encoder import Encoder

from hikidashi.search import Embedder

from .baselines import of_network
from .export import MODEL, export
from .measure import recall
from .network import Network
from .places import WORK
from .runs import all_texts
from .sets import TrainingSet
from .states import KeptStates

__all__ = ["finish"]

_MOST_LOST = 0.5  # points of recall@5, over all questions


def finish(network: Network, states: KeptStates, sets: list[TrainingSet], *, folder: Path = MODEL) -> None:
    """Export `network` as int8 into `folder`, unless recall@5 on `sets` differs from that of the network.

    Raises:
        SystemExit: Half a point or more was lost; `folder` is as it was.
    """
    made = WORK / "exported"
    rmtree(made, ignore_errors=True)
    size = export(network, made).stat().st_size
    print(f"{size / 1e6:.1f} MB. Recall@5 in percent, int8 beside float:", flush=True)
    whole: list[float] = []
    small: list[float] = []
    for one in sets:
        states.fill(all_texts(one))
        of_float = recall(one, of_network(network))
        of_int8 = recall(one, Embedder(embed=Encoder(folder=made).embed))
        print(f"  {one.name:16} {of_int8.mean:6.2f} {of_float.mean:6.2f}", flush=True)
        whole += of_float.shares
        small += of_int8.shares
    lost = 100 * (sum(whole) - sum(small)) / len(whole)
    if lost >= _MOST_LOST:
        raise SystemExit(f"int8 loses {lost:.2f} points, and {_MOST_LOST} are too many: {folder} is left as it was.")
    folder.mkdir(parents=True, exist_ok=True)
    for file in made.iterdir():
        file.replace(folder / file.name)
    print(f"int8 is {-lost:+.2f} points from float. Written to {folder}")
