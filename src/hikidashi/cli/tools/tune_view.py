"""What a tune measured, for a person or as JSON. Needs numpy."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from rich.console import Console
from rich.text import Text

from hikidashi.search.tuning.measuring import Figure, Measured, figure
from hikidashi.search.tuning.questions import Selection
from hikidashi.search.tuning.tune import Outcome

from ..output import clean, counted, wrapped
from .catalog import Loaded

_NAMED = 10
_LEGEND = (
    "recall@5 is the share of the right tools among the first five results, first hit how often a right tool comes "
    "first; in brackets the 95% bootstrap interval."
)


def print_outcome(
    console: Console, outcome: Outcome, loaded: Loaded, *, path: Path | None, dry_run: bool, as_json: bool
) -> None:
    """Print what was trained on, what was found before and after, and the verdict; or one JSON object."""
    if as_json:
        answer = {
            **outcome.as_json(),
            "dry_run": dry_run,
            "installed_as": None if path is None else str(path),
            "failed": loaded.failed,
        }
        print(json.dumps(answer, ensure_ascii=False, indent=2))  # noqa: T201 - this is the output
        return
    for line in _about(outcome):
        _print(console, line)
    if outcome.selection.questions:
        console.print()
        _print_table(console, outcome)
        _print(console, Text(_LEGEND, "dim"))
    if outcome.kept is not None:
        kept = f"Other questions: {outcome.kept:.0%} of the tools nearest to everyday sentences stay the same."
        _print(console, Text(kept))
    for line in _others(outcome):
        _print(console, Text(line))
    console.print()
    _print(console, _verdict(outcome, dry_run=dry_run))
    if path is not None:  # on a line of its own, to copy
        console.print(Text(clean(str(path))), soft_wrap=True)


def _others(outcome: Outcome) -> Iterator[str]:
    """What the tune in use finds if none was trained, and how many sentences find a tool that they do not ask for."""
    if outcome.today_installed is not None:
        found = outcome.today_installed
        yield f"With the tune in use: recall@5 {found.recall.mean():.0%}, first hit {found.first.mean():.0%}."
    for found, what in (
        (outcome.everyday, "Everyday sentences that find a tool with confidence"),
        (outcome.unanswered, "Questions that no tool answers and that find one with confidence"),
    ):
        if found is None:
            continue
        text = f"{what}: {found.before.sum():.0f} of {len(found.before)}"
        if found.after is not None:
            before, after = ("before", "after") if outcome.adapter else ("untuned", "with the tune in use")
            text += f" {before}, {found.after.sum():.0f} {after}"
        yield text + "."


def _about(outcome: Outcome) -> list[Text]:
    chosen: Selection = outcome.selection
    asked_for = {name for question in chosen.questions for name in question.tools}
    text = f"{counted(len(chosen.questions), 'question')} about {len(asked_for):,} of {counted(outcome.tools, 'tool')}"
    if outcome.held_out:
        text += f": {len(chosen.questions) - outcome.held_out:,} to train on, {outcome.held_out:,} held out"
    lines = [Text(text + ".")]
    if chosen.unanswered:
        stay = "stays as it is" if len(chosen.unanswered) == 1 else "stay as they are"
        lines.append(Text(f"{counted(len(chosen.unanswered), 'question')} that no tool answers {stay}."))
    if chosen.unknown:
        names = ", ".join(map(clean, chosen.unknown[:_NAMED])) + (" …" if len(chosen.unknown) > _NAMED else "")
        text = f"The catalogue does not have {counted(len(chosen.unknown), 'tool')} that the questions name: {names}."
        if chosen.without_tool:
            text += f" {counted(chosen.without_tool, 'question')} left out."
        lines.append(Text(text, "yellow"))
    if chosen.repeated:
        ask = "asks" if chosen.repeated == 1 else "ask"
        again = counted(chosen.repeated, "further question")
        lines.append(Text(f"{again} {ask} the same as another: each counts once."))
    if chosen.beyond:
        lines.append(Text(f"{counted(chosen.beyond, 'more question')} left out: so many are not needed.", "yellow"))
    return lines


def _print_table(console: Console, outcome: Outcome) -> None:
    columns: list[tuple[str, Measured]] = [("all, untuned", outcome.today)]
    if outcome.before is not None and outcome.after is not None:
        columns = [("before", outcome.before), ("after", outcome.after)]
        if outcome.installed is not None:
            columns = [("untuned", outcome.before), ("in use", outcome.installed), ("after", outcome.after)]
    heads = [name for name, _ in columns] + (["change in points"] if outcome.change else [])
    change = outcome.change
    rows = [
        ("recall@5", [figure(found.recall) for _, found in columns], change and change.recall),
        ("first hit", [figure(found.first) for _, found in columns], change and change.first),
    ]
    widest = max(len(_signed(difference)) if difference else 0 for _, _, difference in rows)
    if console.width < 11 + 15 * len(columns) + max(widest, len(heads[-1]) if change else 0):
        _print_narrow(console, heads, rows)
        return
    console.print(Text(" " * 11 + "".join(f"{head:<15}" for head in heads).rstrip(), "bold"))
    for label, figures, difference in rows:
        line = Text(f"{label:<11}" + "".join(f"{_shown(one):<15}" for one in figures))
        if difference:
            line.append(_signed(difference), "green" if difference.low > 0 else "")
        line.rstrip()
        console.print(line, no_wrap=True, crop=False)


def _print_narrow(console: Console, heads: list[str], rows: list[tuple[str, list[Figure], Figure | None]]) -> None:
    """The columns of the table below each other."""
    for place, head in enumerate(heads):
        _print(console, Text(head, "bold"))
        for label, figures, difference in rows:
            shown = _shown(figures[place]) if place < len(figures) else _signed(difference) if difference else ""
            _print(console, Text(f"{label:<11}{shown}"))


def _shown(one: Figure) -> str:
    return f"{one.mean:.0%} ({100 * one.low:.0f}–{100 * one.high:.0f})"


def _signed(one: Figure) -> str:
    rounded = (round(100 * value) for value in (one.mean, one.low, one.high))
    points = [f"{value:+d}".replace("-", "−") if value else "0" for value in rounded]
    return f"{points[0]} ({points[1]} to {points[2]})"


def _verdict(outcome: Outcome, *, dry_run: bool) -> Text:
    if outcome.refusal:
        return Text.assemble(("Not better. " if dry_run else "Not installed. ", "bold yellow"), outcome.refusal)
    if dry_run:
        return Text.assemble(("Better. ", "bold green"), "Nothing was installed; without --dry-run it would be.")
    used = "Programs that start from now on use it; hikidashi tools tune --remove removes it."
    return Text.assemble(("Better: installed. ", "bold green"), used)


def _print(console: Console, text: Text) -> None:
    for line in wrapped(text, console.width):
        console.print(line, no_wrap=True, crop=False)
