"""`python -m benchmarks.search`: measure tool search beside its peers, print tables, keep JSON and pictures."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from rich.console import Console

from .. import report
from ..machine import machine
from . import ablation, accuracy, confidence, data, first, languages, patterns, preload, speed, tokens, vectors
from .engines import all_engines, engines
from .ours import VECTORS
from .regex_engines import REGEX_ENGINES
from .run import PARTS, Run, as_json, updated
from .tables import tables

RESULTS = Path(__file__).parent.parent / "results"

PACKAGES = (
    "bm25s",
    "fastmcp",
    "google-re2",
    "hikidashi",
    "hikidashi-encoder",
    "numba",
    "pydantic-ai-slim",
    "pystemmer",
    "rank-bm25",
    "tantivy",
    "wordllama",
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure what the command line names; the number is the exit code: 1 if a part failed, 2 for a wrong command."""
    options = _parser().parse_args(arguments)
    console = Console()
    console.width = max(console.width, 130)
    if options.list:
        for part, meaning in PARTS.items():
            console.print(f"[bold]{part}[/]  {meaning}", highlight=False)
        for engine in all_engines().values():
            console.print(f"  {engine.name}: {engine.missing or engine.how}", highlight=False, markup=False)
        return 0
    parts = [part for part in options.parts or PARTS if part not in options.without]
    if unknown := [part for part in (*parts, *options.without) if part not in PARTS]:
        console.print(f"No part is called {unknown[0]!r}. There are: {', '.join(PARTS)}.", highlight=False)
        return 2
    try:
        needed = not {"accuracy", "confidence", "first", "preload"}.isdisjoint(parts)
        datasets = _datasets(options.data, quick=options.quick) if needed else []
    except (OSError, ValueError) as error:  # before anything is measured for minutes
        console.print(str(error), highlight=False, markup=False, soft_wrap=True)
        return 2
    run = Run(machine(PACKAGES), _missing())
    failed = False
    with _vectors(options.vectors):
        for part in parts:
            failed |= not _measured(run, part, datasets, console, quick=options.quick)
            for table in tables(run, [part]):
                console.print(table)
    whole = set(parts) == set(PARTS) and not options.quick and not failed
    if options.json is not None or whole or (options.update and not failed):
        target: Path = options.json or RESULTS / "search.json"
        before = target.read_text("utf-8") if options.update and target.exists() else "{}"
        report.write(target, updated(before, as_json(run), parts) if options.update else as_json(run))
        if not options.no_plot:
            from .pictures import draw

            draw(run, target.parent)
    return int(failed)


@contextmanager
def _vectors(path: Path | None) -> Generator[None]:
    """Keep the vectors of tools in `path`, or until the end of the run: several parts need the same."""
    before = os.environ.get(VECTORS)
    with TemporaryDirectory() as folder:
        os.environ[VECTORS] = str(path.resolve() if path else Path(folder) / "vectors")
        try:
            yield
        finally:
            del os.environ[VECTORS]
            if before is not None:
                os.environ[VECTORS] = before


def _datasets(given: Sequence[Path], *, quick: bool) -> list[data.Dataset]:
    """The shipped data set and those in the folders that were `given`, which are also asked what no tool serves."""
    folders = dict.fromkeys(folder.resolve() for place in (data.SHIPPED, *given) for folder in data.found_in(place))
    shipped, *others = map(data.load, folders)
    datasets = [shipped, *(replace(other, questions=[*other.questions, *shipped.talk]) for other in others)]
    return [dataset.thinned(60) if quick else dataset for dataset in datasets]


def _measured(run: Run, part: str, datasets: Sequence[data.Dataset], console: Console, *, quick: bool) -> bool:
    """Whether `part` could be measured; what it found is in `run`."""
    rows: list[Any] = getattr(run, part)
    with console.status(part) as status:
        try:
            rows.extend(_figures(part, datasets, lambda words: status.update(f"{part}: {words}"), quick=quick))
        except Exception as error:  # one broken part must not cost the figures of the others
            console.print(f"[red]{part} failed.[/] {type(error).__name__}: {error}", highlight=False)
            return False
    return True


def _figures(
    part: str, datasets: Sequence[data.Dataset], progress: Callable[[str], None], *, quick: bool
) -> Iterable[Any]:
    if part == "accuracy":
        return accuracy.measure(datasets, list(engines().values()), progress)
    if part == "confidence":
        sizes = confidence.QUICK_SIZES if quick else confidence.SIZES
        return confidence.measure(datasets[1:], list(engines().values()), sizes, progress)
    if part == "first":
        folders = [dataset.folder for dataset in datasets[1:] if dataset.folder is not None]
        return first.measure(folders, first.QUICK_SIZE if quick else first.SIZE, 1 if quick else 3, progress)
    if part == "languages":
        return languages.measure(progress, 30 if quick else None)
    if part == "preload":
        return preload.measure(datasets, progress, 30 if quick else None)
    if part == "vectors":
        return vectors.measure(vectors.QUICK_SIZES if quick else vectors.SIZES, progress)
    if part == "ablation":
        return ablation.measure(progress, 60 if quick else None)
    if part == "speed":
        sizes, rounds, seconds = (speed.QUICK_SIZES, 1, 0.2) if quick else (speed.SIZES, 3, 1.0)
        return speed.measure(list(all_engines().values()), sizes, rounds, seconds, progress)
    if part == "regex":
        return patterns.measure(1_000 if quick else patterns.SIZE, 1 if quick else 5, progress)
    return tokens.measure(tokens.SIZES)


def _missing() -> dict[str, str]:
    every = (*all_engines().values(), *REGEX_ENGINES.values())
    return {engine.name: engine.missing for engine in every if engine.missing is not None}


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.search", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"{', '.join(PARTS)}; all by default")
    parser.add_argument(
        "--data",
        type=Path,
        action="append",
        default=[],
        metavar="DIR",
        help="one more data set, or a folder of them; may be given again",
    )
    parser.add_argument("--quick", action="store_true", help="few questions and small catalogues: does it all run?")
    parser.add_argument("--json", type=Path, metavar="PATH", help="write here, and draw beside it")
    parser.add_argument("--vectors", type=Path, metavar="PATH", help="keep vectors here, for another run with the same")
    parser.add_argument(
        "--update", action="store_true", help="keep the parts of the last run that are not measured now"
    )
    parser.add_argument("--without", action="append", default=[], metavar="PART", help="leave a part out")
    parser.add_argument("--no-plot", action="store_true", help="do not draw")
    parser.add_argument("--list", action="store_true", help="say what is measured, with which engines, and stop")
    return parser


if __name__ == "__main__":
    sys.exit(main())
