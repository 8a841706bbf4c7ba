"""`hikidashi serve import`: what the clients of this machine have, and what is taken over."""

from __future__ import annotations

import json
import re
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import typer
from rich.text import Text

from hikidashi.common.folders import state_folder
from hikidashi.errors import ToolSourceError
from hikidashi.gateway.clients.finding import Search, find_servers
from hikidashi.gateway.clients.taking import Choice, default_config, name_all, servers_of, take_over
from hikidashi.gateway.settings.approval import Approvals
from hikidashi.servers.clients import CLIENTS, Client, client_named

from ..output import print_error, print_text, stderr, stdout
from ..tools.text import clean, counted
from ..wrap import wrapped

__all__ = ["approvals", "client_for", "run_import"]

_HOW = "Choose servers by name, or all of them with --all."


def run_import(
    names: Sequence[str], *, clients: Sequence[str], to: Path | None, take_all: bool, yes: bool, as_json: bool
) -> int:
    """Show the servers of the clients, and take over those that are chosen; return the exit code."""
    to = to or default_config()
    search = find_servers([client_for(name, "--from") for name in dict.fromkeys(clients)] or CLIENTS)
    for client, file in search.files:
        if file.resolve() == to.resolve():
            raise typer.BadParameter(f"is the file of {client.title}: name one of your own.", param_hint="--to")
    choices = name_all(search.found, to)
    asks = sys.stdin.isatty() and not as_json and not yes
    if not as_json:
        _show(search, choices)
    chosen = _chosen(choices, names, take_all=take_all or (yes and not names))
    if chosen is None and asks:
        chosen = _ask(choices)
    elif (
        chosen
        and asks
        and not typer.confirm(f"Take over {counted(len(chosen), 'server')}, and let their commands run?", err=True)
    ):
        raise typer.Exit(1)
    written: list[Choice] = []
    if chosen:
        written = [choice for choice in chosen if choice.status != "unusable"]
        take_over(written, to)
        servers, waiting = servers_of(written, to)
        # Shown and chosen means approved: `hikidashi serve` does not ask again.
        try:
            approvals().add(servers)
        except OSError as error:
            reason = f"cannot be written ({error.strerror or error})"
            raise ToolSourceError(
                str(error.filename or state_folder()), reason, "Check the permissions there."
            ) from error
        for error in waiting:
            print_error(error)
    unusable = [choice for choice in chosen or () if choice.status == "unusable"]
    if as_json:
        print(json.dumps(_as_json(search, choices, written, to), ensure_ascii=False, indent=2))  # noqa: T201
    elif chosen is not None:
        _report(written, to)
    elif choices:
        stdout().print(Text(f"Nothing was written. {_HOW}"))
    for error in search.problems:
        print_error(error)
    named = [choice for choice in unusable if choice.found.name in names or choice.name in names]
    return int(bool(search.problems) or bool(named))


def approvals() -> Approvals:
    """The approvals that `hikidashi serve` asks for."""
    return Approvals(state_folder() / "gateway" / "approved.json")


def client_for(name: str, hint: str) -> Client:
    """The client `name`, which the parameter `hint` gave.

    Raises:
        typer.BadParameter: there is no such client.
    """
    known = [client.name for client in CLIENTS]
    if name not in known:
        raise typer.BadParameter(f"there is no client {name!r}. Use one of {', '.join(known)}.", param_hint=hint)
    return client_named(name)


def _chosen(choices: list[Choice], names: Sequence[str], *, take_all: bool) -> list[Choice] | None:
    """The servers that are named; None if none are."""
    if take_all:
        return choices
    if not names:
        return None
    known = {name for choice in choices for name in (choice.name, choice.found.name)}
    if unknown := [name for name in names if name not in known]:
        there = ", ".join(dict.fromkeys(clean(choice.name) for choice in choices)) or "none"
        raise typer.BadParameter(f"there is no server {unknown[0]!r}. There are: {there}.", param_hint="NAME")
    return [choice for choice in choices if choice.name in names or choice.found.name in names]


def _ask(choices: list[Choice]) -> list[Choice] | None:
    """The servers that a person chooses by their numbers."""
    if not choices:
        return None
    while True:
        text = typer.prompt(
            "Which ones? Numbers such as 1,3-5, all, or nothing", default="", show_default=False, err=True
        ).strip()
        if text.lower() == "all":
            return choices
        numbers = _numbers(text, len(choices))
        if numbers is not None:
            return [choices[number - 1] for number in numbers] or None
        stderr().print(Text(f"{text!r} is not a list of numbers from 1 to {len(choices)}.", "red"))


def _numbers(text: str, most: int) -> list[int] | None:
    numbers: set[int] = set()
    for part in re.split(r"[\s,]+", text):
        if not part:
            continue
        found = re.fullmatch(r"(\d{1,6})(?:-(\d{1,6}))?", part)
        if found is None:
            return None
        numbers.update(range(int(found[1]), int(found[2] or found[1]) + 1))
    return sorted(numbers) if all(1 <= number <= most for number in numbers) else None


def _show(search: Search, choices: list[Choice]) -> None:
    console = stdout()
    if not choices:
        looked = ", ".join(clean(str(file)) for _, file in search.files)
        console.print(Text("No MCP servers were found" + (f" in {looked}." if looked else ": no client has a file.")))
        console.print(Text("Write your own into a file such as .mcp.json: hikidashi serve --config .mcp.json"))
    heading = ""
    for number, choice in enumerate(choices, 1):
        found = choice.found
        place = f"{found.client.title}  {clean(str(found.file))}"
        if found.project is not None and found.client.name == "claude-code":
            place += f", project {clean(found.project)}"
        if place != heading:
            console.print(Text(place, "bold"), soft_wrap=True)
            heading = place
        start = Text.assemble(f"  {number:>2} ", (clean(found.name), "cyan"), "  ")
        for count, line in enumerate(wrapped(Text(_line(choice)), max(20, console.width - len(start)))):
            console.print((Text(" " * len(start)) if count else start) + line)
    for client, file, name in search.own:
        console.print(Text(f"  {clean(name)} in {clean(str(file))} is hikidashi itself ({client.title}).", "dim"))


def _line(choice: Choice) -> str:
    found = choice.found
    if choice.status == "unusable":
        return clean(f"cannot be taken over: {found.taken.problem}")
    shown = found.shown()
    words = [shown["url"]] if "url" in shown and "command" not in shown else [shown["command"], *shown.get("args", [])]
    parts = [words[0] if len(words) == 1 else shlex.join(words).replace("'***'", "***")]
    parts += [f"{key} {name}=***" for key in ("env", "headers") for name in shown.get(key, {})]
    parts += [f"{name} {json.dumps(value, ensure_ascii=False)}" for name, value in shown.get("hikidashi", {}).items()]
    if shown.get("disabled"):
        parts.append("disabled")
    if choice.renamed:
        parts.append(f"becomes {choice.name}, since its name is taken")
    if choice.status == "there":
        parts.append("already there")
    if found.taken.ignored:
        parts.append(f"not carried over: {', '.join(found.taken.ignored)}")
    return clean("; ".join(parts))


def _report(written: list[Choice], to: Path) -> None:
    console = stdout()
    new = [choice for choice in written if choice.status == "new"]
    print_text(console, Text(f"{counted(len(new), 'server')} written to {to}, which only you can read.", "green"))
    own = "" if to == default_config() else f" --config {shlex.quote(str(to))}"
    print_text(console, Text(f"Next: hikidashi serve install CLIENT{own}"))


def _as_json(search: Search, choices: list[Choice], written: list[Choice], to: Path) -> dict[str, Any]:
    return {
        "to": str(to),
        "servers": [
            {
                "client": choice.found.client.name,
                "file": str(choice.found.file),
                "project": choice.found.project,
                "name": choice.found.name,
                "as": choice.name,
                "status": choice.status,
                "problem": choice.found.taken.problem or None,
                "not_carried_over": list(choice.found.taken.ignored),
                "entry": choice.found.shown(),
                "taken": choice in written,
            }
            for choice in choices
        ],
        "own": [{"client": client.name, "file": str(file), "name": name} for client, file, name in search.own],
        "problems": [str(error) for error in search.problems],
    }
