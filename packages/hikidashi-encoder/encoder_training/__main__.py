"""`python -m encoder_training`: train the encoder, measure it, and write its card."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from .card import with_table
from .check import check as check_files
from .places import CARD, FIGURES, PARALLEL, SETS
from .several import run_commands
from .sources import missing_sets, needed

# PyTorch is imported where it is used: checking the data, measuring and writing the card need none.
Data = Annotated[Path, typer.Option("--data", envvar="DATA", help="The folder of the public sets.")]

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    help="Train the encoder, measure it, and write its card.",
)


@app.command()
def train(
    data: Data = SETS,
    strings: Annotated[Path, typer.Option(help="The folder of strings of user interfaces.")] = PARALLEL,
    steps: Annotated[int | None, typer.Option(help="Another number of steps than the recipe has.", min=1)] = None,
    seed: Annotated[int | None, typer.Option(help="Another seed than the recipe's.")] = None,
) -> None:
    """Train the towers, and write the model into the package."""
    if missing := missing_sets(data, ["openapi_ops"]):
        raise SystemExit(needed(data, missing))
    if not strings.is_dir():
        raise SystemExit(
            f"{strings} does not exist. It is a folder of <language>.tsv.gz: an English and a foreign string of a user"
            " interface on each line, with a tab between. Give it as: make encoder ARGS='--strings DIR'"
        )
    from .towers import Settings
    from .train import train as train_model

    recipe = Settings()
    settings = Settings(steps=steps or recipe.steps, seed=recipe.seed if seed is None else seed)
    train_model(data, strings, settings)


@app.command()
def measure(data: Data = SETS) -> None:
    """Measure on sets that training never saw, and write figures.json."""
    if missing := missing_sets(data):
        raise SystemExit(needed(data, missing))
    from .measure import measure as measure_model

    measure_model(data)
    print(f"Measured: {FIGURES}. Next: make encoder DO=card")


@app.command()
def card() -> None:
    """Write the table of README.md from figures.json."""
    CARD.write_text(with_table(CARD.read_text(encoding="utf-8"), FIGURES), encoding="utf-8")


@app.command()
def check() -> None:
    """Check the files of data/ and count them."""
    raise typer.Exit(check_files())


if __name__ == "__main__":
    run_commands(app, sys.argv[1:], name="python -m encoder_training")
