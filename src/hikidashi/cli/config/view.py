"""Print the report on a config, for people or as JSON."""

from __future__ import annotations

import json

from rich.console import Console
from rich.text import Text

from ..output import wrapped
from .report import Part, Report

__all__ = ["print_report"]

_MARKS = {"on": ("✓", "green"), "off": ("·", "dim"), "incomplete": ("!", "bold yellow")}


def print_report(report: Report, console: Console, *, as_json: bool) -> None:
    """Print `report`: each section, or each problem with its line; or one JSON object."""
    if as_json:
        print(json.dumps(report.as_json(), ensure_ascii=False, indent=2))  # noqa: T201 - this is the output
        return
    _print_lines(console, Text(), Text(report.path, "bold"))
    for part in report.parts:
        _print_part(console, part)
    if report.parts and report.problems:
        console.print()
    for problem in report.problems:
        where = f"line {problem['line']}: " if problem["line"] is not None else ""
        key = f"{problem['key']}: " if problem["key"] else ""
        content = Text.assemble((where, "dim"), (key, "bold"), problem["reason"])
        _print_lines(console, Text.assemble("  ", ("✗", "bold red"), " "), content)
    console.print()
    console.print(_verdict(report))


def _print_part(console: Console, part: Part) -> None:
    mark, style = _MARKS[part.status]
    start = Text.assemble("\n  ", (mark, style), " ")
    _print_lines(console, start, Text.assemble((part.name, "bold"), f" is {part.status}: {part.why}"))
    widest = max(map(len, part.settings), default=0)
    for name, value in part.settings.items():
        shown = "-" if value is None else json.dumps(value, ensure_ascii=False).strip('"')
        _print_lines(console, Text(f"      {name.ljust(widest)}  ", "dim"), Text(shown))


def _print_lines(console: Console, start: Text, content: Text) -> None:
    indent = len(start.plain.lstrip("\n"))
    for number, line in enumerate(wrapped(content, console.width - indent)):
        console.print((Text(" " * indent) if number else start) + line)


def _verdict(report: Report) -> Text:
    if report.ok:
        return Text("The file can be used.", "green")
    count = len(report.problems)
    return Text(f"{count} problem{'s' if count > 1 else ''}: the file cannot be used.", "bold red")
