"""`hikidashi tools tune`: train on questions of one's own, and install what is better."""

from __future__ import annotations

import json
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.progress import BarColumn, Progress, TextColumn
from rich.text import Text

from hikidashi.search.engine.adapter import (
    Tune,
    adapter_path,
    installed_adapters,
    load_adapter,
    previous_path,
    remove_adapter,
    save_adapter,
    tune_at,
)
from hikidashi.search.engine.embeddings import default_embedder
from hikidashi.search.overlay import Overlay

from ..output import clean, counted, stderr, stdout, wrapped
from .catalog import load

if TYPE_CHECKING:
    from hikidashi.search.tuning.tune import Progress as Report

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
    installed = load_adapter(embedder.id)
    in_use = None if installed is None else tune_at(adapter_path(embedder.id))
    if in_use is not None and not as_json:
        back = "hikidashi tools tune --remove then brings it back."
        _print(f"In use is {_named(in_use)}. A better one replaces it for all catalogues; {back}")
    with _progress() as progress:
        outcome = tune(
            loaded.catalog, labelled, embedder=embedder, installed=installed, overlay=overlay, progress=progress
        )
    outcome = replace(outcome, in_use=in_use)
    is_better = outcome.adapter is not None and not outcome.refusal
    path = None
    if outcome.adapter is not None and is_better and not dry_run:
        path = save_adapter(embedder.id, outcome.adapter, questions=len(outcome.selection.questions))
    # Where nothing was trained, there is nothing that is not better.
    is_dry = dry_run and (as_json or outcome.adapter is not None)
    print_outcome(stdout(), outcome, loaded, path=path, dry_run=is_dry, as_json=as_json)
    return is_better


def _named(tune: Tune) -> str:
    """`the tune of 2026-11-18 06:10 (68 questions)`."""
    questions = "" if tune.questions is None else f" ({counted(tune.questions, 'question')})"
    return f"the tune of {tune.made:%Y-%m-%d %H:%M}{questions}"


def _print(text: str) -> None:
    console = stdout()
    for line in wrapped(Text(clean(text)), console.width):
        console.print(line, no_wrap=True, crop=False)


def remove_tuned(*, dry_run: bool, as_json: bool) -> None:
    """Remove the adapters of all encoders, use again those that they replaced, and print which.

    Raises:
        ToolSearchError: one cannot be removed.
    """
    paths = installed_adapters()
    again = {path: tune_at(previous_path(path)) if dry_run else remove_adapter(path) for path in paths}
    if as_json:
        answer = {
            "removed": [str(path) for path in paths],
            "in_use_again": {str(path): tune.as_json() for path, tune in again.items() if tune},
            "dry_run": dry_run,
        }
        print(json.dumps(answer, ensure_ascii=False, indent=2))  # noqa: T201 - this is the output
        return
    if not paths:
        stdout().print(Text("No tune is installed."))
    for path, tune in again.items():
        stdout().print(Text(clean(f"{'Would remove' if dry_run else 'Removed'} {path}")), soft_wrap=True)
        if tune is not None:
            verb = "would be" if dry_run else "is"
            _print(f"What it had replaced {verb} in use again: {_named(tune)}. --remove once more removes that, too.")


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
