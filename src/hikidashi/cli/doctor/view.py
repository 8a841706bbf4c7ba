"""Print the report, for people or as JSON."""

from __future__ import annotations

import json

from rich.console import Console
from rich.text import Text

from ..output import wrapped
from .report import Check, Report

__all__ = ["print_report"]

_MARKS = {"ok": ("✓", "green"), "absent": ("·", "dim"), "problem": ("✗", "bold red")}
_HEADINGS = {
    "base": "Base",
    "extra": "Extras",
    "claude": "Claude Code",
    "provider": "Providers",
    "key": "Environment variables",
}


def print_report(report: Report, console: Console, *, as_json: bool) -> None:
    """Print `report`: a table with a verdict below, or one JSON object."""
    if as_json:
        print(json.dumps(report.as_json(), ensure_ascii=False, indent=2))  # noqa: T201 - this is the output
        return
    names = max(len(check.name) for check in report.checks)
    for area, heading in _HEADINGS.items():
        console.print(Text(f"\n{heading}", "bold"))
        for check in report.checks:
            if check.area == area:
                _print_check(console, check, names)
    console.print()
    console.print(_verdict(report))


def _print_check(console: Console, check: Check, names: int) -> None:
    mark, style = _MARKS[check.status]
    start = Text.assemble("  ", (mark, style), " ", (check.name.ljust(names), "" if check.status == "ok" else style))
    lines = wrapped(Text(check.found, "" if check.status == "ok" else style), console.width - names - 6)
    if check.remedy:
        lines += wrapped(Text(check.remedy, "cyan"), console.width - names - 6)
    for number, line in enumerate(lines):
        console.print((Text(" " * (names + 4)) if number else start) + Text("  ") + line)


def _verdict(report: Report) -> Text:
    if report.ok:
        return Text("Everything that is set up can work.", "green")
    count = len(report.problems)
    return Text(f"{count} problem{'s' if count > 1 else ''}: see what is marked ✗.", "bold red")
