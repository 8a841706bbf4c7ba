"""`python -m encoder_training`: train the encoder, measure it, export it, and write its card."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from hikidashi.cli.shared_options import with_shared_options

from .card import with_tables
from .check import check as check_files
from .places import CARD, FIGURES, PACKAGE, WORK
from .sets import FOLDS, TrainingSet, own_sets, public_sets
from .several import run_commands
from .sources import missing_sets, needed

if TYPE_CHECKING:
    from .loop import Settings

# PyTorch is imported where it is used: checking the data and writing the card need none.
_DATA = PACKAGE.parent.parent.parent / "shared" / "toolsearch"

Data = Annotated[Path, typer.Option("--data", envvar="DATA", help="The folder of the labelled sets.")]
OwnOnly = Annotated[bool, typer.Option("--own-only", help="Train on the data of this package alone.")]


@dataclass(frozen=True, kw_only=True)
class Training:
    """Options of the commands that train."""

    data: Data = _DATA
    own_only: OwnOnly = False
    steps: Annotated[int | None, typer.Option(help="Fewer steps than the recipe has, to try things out.", min=1)] = None
    seed: Annotated[int | None, typer.Option(help="Another seed than the recipe's.")] = None
    fresh: Annotated[bool, typer.Option("--fresh", help="Begin again, whatever checkpoint is there.")] = False
    adopt: Annotated[
        bool, typer.Option("--adopt", help="Take a checkpoint that does not say what it was trained with.")
    ] = False

    @property
    def settings(self) -> Settings:
        """The settings of the recipe, with the steps and the seed that were given."""
        from .loop import Settings

        recipe = Settings()
        return replace(recipe, steps=self.steps or recipe.steps, seed=recipe.seed if self.seed is None else self.seed)


def _folds(given: list[str] | None) -> list[str] | None:
    if unknown := [name for name in given or () if name not in FOLDS]:
        raise typer.BadParameter(f"{unknown[0]!r} is no fold. There are: {', '.join(FOLDS)}.")
    return given


app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    help="Train the encoder, measure it, export it, and write its card.",
)


@app.command()
@with_shared_options
def train(options: Training) -> None:
    """Train on all sets. An interrupted run goes on from its last checkpoint."""
    sets = None if options.own_only else _required(options.data)
    from .runs import Run
    from .states import KeptStates

    run = Run(WORK / ("own-only" if options.own_only else "train"), sets, options.settings)
    run.network(KeptStates(WORK), fresh=options.fresh, adopt=options.adopt)
    print(f"Trained: {run.folder / 'checkpoint.pt'}. Next: make encoder DO=export")


@app.command()
@with_shared_options
def measure(
    options: Training,
    *,
    again: Annotated[bool, typer.Option("--again", help="Measure again, without training again.")] = False,
    fold: Annotated[
        list[str] | None,
        typer.Option(callback=_folds, help=f"Only this fold of {', '.join(FOLDS)}; may be given again."),
    ] = None,
) -> None:
    """Leave-one-set-out: train without each set in turn, measure on it, and write figures.json."""
    if missing := missing_sets(options.data, labelled_only=options.own_only):
        _stop(
            needed(options.data, missing)
            + "\nThe sets are what is measured on, so there is nothing to measure without."
        )
    from .folds import leave_one_out
    from .states import KeptStates

    written = leave_one_out(
        options.data,
        options.settings,
        KeptStates(WORK),
        own_only=options.own_only,
        fresh=options.fresh,
        adopt=options.adopt,
        again=again,
        only=fold or (),
    )
    if written is None:
        print("Measured; other folds are not yet, so there is no table. Next: make encoder DO=measure")
    else:
        print(f"Measured: {written}. Next: make encoder DO=card")


@app.command()
def export(
    data: Data = _DATA,
    own_only: OwnOnly = False,
    checkpoint: Annotated[Path | None, typer.Option(help="Another checkpoint than that of `train`.")] = None,
) -> None:
    """Write the trained network as int8 ONNX into the package, if recall@5 stays that of float."""
    path = checkpoint or WORK / ("own-only" if own_only else "train") / "checkpoint.pt"
    if not path.exists():
        _stop(f"{path} does not exist. Run first: make encoder DO=train")
    from .finish import finish
    from .runs import trained
    from .states import KeptStates

    states = KeptStates(WORK)
    finish(trained(path, states), states, _to_compare(data))


@app.command()
def card() -> None:
    """Write the tables of README.md from figures.json."""
    CARD.write_text(with_tables(CARD.read_text(encoding="utf-8"), FIGURES), encoding="utf-8")


@app.command()
def check() -> None:
    """Check the files of data/ and count them."""
    raise typer.Exit(check_files())


@app.command()
def processors() -> None:
    """Compare the vectors with those of older processors, emulated by QEMU."""
    from .other_processors import compare

    raise typer.Exit(compare())


def _required(data: Path) -> Path:
    if missing := missing_sets(data):
        _stop(
            f"{needed(data, missing)}\n"
            "Without them: --own-only trains on the servers and questions in data/ alone. Such an encoder has seen no"
            " catalogue written by other people, so it ranks less well than the published figures say;"
            " `measure --own-only` tells by how much."
        )
    return data


def _to_compare(data: Path) -> list[TrainingSet]:
    """The labelled sets where they are there, else our own."""
    return [one for one in public_sets(data) if one.name != "openapi_ops"] or own_sets(7)


def _stop(message: str) -> NoReturn:
    raise SystemExit(message)


if __name__ == "__main__":
    run_commands(app, sys.argv[1:], name="python -m encoder_training")
