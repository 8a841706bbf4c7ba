"""`python -m benchmarks`: run suites, print a table, keep JSON and a plot in `benchmarks/results`."""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import cast

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

from . import report
from .machine import machine
from .registry import Case, Measurement, Plan, Suite
from .search.__main__ import main as search

RESULTS = Path(__file__).parent / "results"

SUITES = ("bridge", "preload", "gateway", "web")
"""Modules of this package that have a `SUITE`."""
SEARCH = "search"
"""The module that measures more than ratios, and has a command of its own."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what the command line names; the number is the exit code: 1 if a case failed."""
    asked = _parser().parse_args(arguments)
    console = Console()
    console.width = max(console.width, 120)
    suites: list[Suite] = [importlib.import_module(f".{name}", __package__).SUITE for name in SUITES]
    if asked.list:
        for suite in suites:
            console.print(f"[bold]{suite.name}[/]  {suite.title}", highlight=False)
            for group, meaning in suite.groups.items():
                console.print(f"  {suite.name}.{group}  {meaning}", highlight=False)
        console.print(
            f"[bold]{SEARCH}[/]  Tool search beside its peers: python -m benchmarks.search --list", highlight=False
        )
        return 0
    patterns: list[str] = asked.names or [*SUITES, SEARCH]
    chosen = [(suite, cases) for suite in suites if (cases := suite.only(patterns))]
    parts = [pattern.partition(".")[2] for pattern in patterns if pattern.partition(".")[0] == SEARCH]
    if not chosen and not parts:
        console.print(f"No benchmark is called {', '.join(patterns)}. See: python -m benchmarks --list")
        return 2
    failed = False
    for suite, cases in chosen:
        failed |= _run_suite(suite, cases, asked, console)
    if parts:  # `search` alone is all of it
        return search(_passed_on(asked, parts if all(parts) else [])) or int(failed)
    return int(failed)


def _passed_on(asked: argparse.Namespace, parts: Sequence[str]) -> list[str]:
    """The command line of the search benchmark that says the same."""
    flags = [flag for flag, given in (("--quick", asked.quick), ("--no-plot", asked.no_plot)) if given]
    folders = [word for folder in asked.data for word in ("--data", str(folder))]
    target = [] if asked.json is None else ["--json", str(asked.json.with_name("search.json"))]
    return [*parts, *flags, *folders, *target]


def _run_suite(suite: Suite, cases: Sequence[Case], asked: argparse.Namespace, console: Console) -> bool:
    where = machine(suite.packages)
    measurements, failures = run(cases, Plan(quick=asked.quick), console)
    console.print(f"[bold]{suite.title}[/]  Medians, taken in turns; a ratio below 1 is better than the peer.\n")
    for table in report.tables(suite, measurements):
        console.print(table)
    for case, error in failures:
        console.print(f"[red]{case.group}: {case.name} failed.[/] {escape(reasons(error))}", highlight=False)
    # What is committed comes from whole runs only.
    whole = len(cases) == len(suite.cases) and not asked.quick and not failures
    if asked.json is not None:
        report.write(asked.json, report.as_json(suite, measurements, where))
    elif whole:
        report.write(RESULTS / f"{suite.name}.json", report.as_json(suite, measurements, where))
    if measurements and not asked.no_plot and (whole or asked.json is not None):
        from . import plot

        target = RESULTS if asked.json is None else asked.json.parent
        plot.draw(suite, measurements, where, target / f"{suite.name}.png")
    return bool(failures)


def run(cases: Sequence[Case], plan: Plan, console: Console) -> tuple[list[Measurement], list[tuple[Case, Exception]]]:
    """What the cases measured, and those that failed; a bar shows how far it is."""
    measurements: list[Measurement] = []
    failures: list[tuple[Case, Exception]] = []
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        bar = progress.add_task("", total=len(cases))
        for done, case in enumerate(cases):
            progress.update(bar, description=f"{case.group}: {case.name}", completed=done)

            def show(share: float, done: int = done) -> None:
                progress.update(bar, completed=done + share)

            try:
                measurements.extend(case.run(replace(plan, progress=show)))
            except Exception as error:  # one broken case must not cost the figures of the others
                failures.append((case, error))
    return measurements, failures


def reasons(error: BaseException) -> str:
    """The errors inside nested groups, each with those that caused it; the same one is named once."""
    if isinstance(error, BaseExceptionGroup):
        inner = cast("BaseExceptionGroup[BaseException]", error).exceptions
        return "; ".join(dict.fromkeys(reason for one in inner for reason in reasons(one).split("; ")))
    said = f"{type(error).__name__}: {error}"
    cause = error.__cause__ or error.__context__
    return said if cause is None else f"{said}, caused by {reasons(cause)}"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", help="suites or groups, such as `bridge` or `bridge.runs`; all by default")
    parser.add_argument(
        "--data",
        type=Path,
        action="append",
        default=[],
        metavar="DIR",
        help="for `search`: one more data set, or a folder of them; may be given again",
    )
    parser.add_argument("--quick", action="store_true", help="few rounds, to see that everything runs")
    parser.add_argument("--json", type=Path, metavar="PATH", help="write here, and draw beside it")
    parser.add_argument("--no-plot", action="store_true", help="do not draw")
    parser.add_argument("--list", action="store_true", help="say what there is, and stop")
    return parser


if __name__ == "__main__":
    sys.exit(main())
