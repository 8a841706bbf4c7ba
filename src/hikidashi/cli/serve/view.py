"""Servers of a gateway as lines for people: a mark and a colour for each state, and what is wrong."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rich.text import Text

from ..tools.text import clean, counted
from ..wrap import wrapped

__all__ = ["marked", "problem_lines", "state_of", "summary"]

_MARKS = {"ready": ("✓", "green"), "failed": ("✗", "bold red"), "starting": ("…", "yellow"), "stopped": ("·", "dim")}


def marked(server: dict[str, Any]) -> Text:
    """The mark of a server's state."""
    mark, style = _MARKS.get(server["status"], ("·", "dim"))
    return Text(mark, style)


def state_of(server: dict[str, Any]) -> Text:
    """A server's state in one word."""
    style = _MARKS.get(server["status"], ("", "dim"))[1].removeprefix("bold ")
    return Text(server["status"], style)


def summary(server: dict[str, Any]) -> Text:
    """The summary of a server while the gateway starts."""
    match server["status"]:
        case "ready":
            return Text(counted(server["tools"], "tool"))
        case "failed":
            return Text(clean(server["reason"]), "red")
        case "waiting" if server["listed"]:
            return Text(f"{counted(server['tools'], 'tool')}, starts when it is needed", "dim")
        case _:
            return Text(server["status"], "dim")


def problem_lines(server: dict[str, Any], width: int, *, indent: int) -> Iterator[Text]:
    """Why a server failed and what to do, below its name."""
    before = Text(" " * indent)
    for text, style in ((server["reason"], "red"), (server["remedy"], "")):
        cleaned = clean(text)
        if cleaned:
            start = "" if style else "→ "
            for number, line in enumerate(wrapped(Text(cleaned, style), max(20, width - indent - len(start)))):
                yield before + Text(start if not number else " " * len(start), "bold") + line
