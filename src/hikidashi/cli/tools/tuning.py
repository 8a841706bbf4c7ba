"""`hikidashi tools tune`: train on questions of one's own, and install what is better."""

from __future__ import annotations

import json
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.progress import BarColumn, Progress, TextColumn
from rich.text import Text

from hikidashi.search.engine.embeddings import default_embedder
from hikidashi.search.engine.meaning.adapter import installed_adapters, load_adapter, remove_adapter, save_adapter
from hikidashi.search.overlay import Overlay

from ..output import stderr, stdout
from ..wrap import wrapped
from .load import load
from .text import clean

if TYPE_CHECKING:
    from hikidashi.search.tuning.tune import Outcome
    from hikidashi.search.tuning.tune import Progress as Report

__all__ = ["remove_tuned", "run_tune"]

_STAGES = {
    "tools": "Embedding tools",
    "measuring": "Searching without a tune",
    "everyday": "Embedding everyday sentences",
    "training": "Training",
    "held out": "Searching the held-out questions",
    "other sentences": "Searching sentences that ask for other things",
}


def run_tune(
    questions: Path,
    catalog: str | None,
    mcp: Path | None,
    *,
    seconds: float,
    overlay: Overlay | None,
    dry_run: bool,
    as_json: bool,
) -> bool:
    """Train, print what was measured, and install the adapter if it is better; False if it was refused.

    Raises:
        MissingExtra: the encoder is not installed.
        ToolSourceError: the questions or the tools cannot be read.
        SearchLogError: the questions are a search log that cannot be read.
        ToolSearchError: the adapter cannot be written.
    """
    embedder = default_embedder()
    # These need numpy, which comes with the encoder.
    from hikidashi.search.tuning.questions import read_questions
    from hikidashi.search.tuning.tune import tune

    from .tune_view import print_outcome

    labelled = read_questions(questions)
    loaded = load(catalog, mcp, seconds=seconds, ranker="lexical", overlay=overlay)
    with _progress() as progress:
        outcome = tune(
            loaded.catalog,
            labelled,
            embedder=embedder,
            installed=load_adapter(embedder.id),
            overlay=overlay,
            progress=progress,
        )
    is_better = outcome.adapter is not None and not outcome.refusal
    path = None
    if outcome.adapter is not None and is_better and not dry_run:
        path = save_adapter(embedder.id, outcome.adapter)
    print_outcome(stdout(), outcome, loaded, path=path, dry_run=dry_run, as_json=as_json)
    if not as_json:
        for line in _others(outcome):
            _print(line)
    return is_better


def _others(outcome: Outcome) -> Iterator[str]:
    """How many sentences that ask for something else find a tool."""
    for found, what in (
        (outcome.everyday, "Everyday sentences that find a tool with confidence"),
        (outcome.unanswered, "Questions that no tool answers and that find one with confidence"),
    ):
        if found is not None:
            numbers = f"{found.before.sum():.0f} of {len(found.before)}"
            yield f"{what}: {numbers}" + ("." if found.after is None else f" before, {found.after.sum():.0f} after.")


def _print(text: str) -> None:
    console = stdout()
    for line in wrapped(Text(clean(text)), console.width):
        console.print(line, no_wrap=True, crop=False)


def remove_tuned(*, dry_run: bool, as_json: bool) -> None:
    """Remove the adapters of all encoders, and print which.

    Raises:
        ToolSearchError: one cannot be removed.
    """
    paths = installed_adapters()
    for path in [] if dry_run else paths:
        remove_adapter(path)
    if as_json:
        print(json.dumps({"removed": [str(path) for path in paths], "dry_run": dry_run}, ensure_ascii=False, indent=2))  # noqa: T201 - this is the output
        return
    if not paths:
        stdout().print(Text("No tune is installed."))
    for path in paths:
        stdout().print(Text(clean(f"{'Would remove' if dry_run else 'Removed'} {path}")), soft_wrap=True)


@contextmanager
def _progress() -> Generator[Report]:
    """A progress bar on a terminal's standard error."""
    console = stderr()
    bar = Progress(
        BarColumn(bar_width=20),
        TextColumn("{task.description}", markup=False),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )
    with bar:
        task = bar.add_task("Reading", total=None)

        def report(stage: Any, done: int, total: int) -> None:
            bar.update(task, description=f"{_STAGES[stage]}  {done:,}/{total:,}", completed=done, total=total)

        yield report
