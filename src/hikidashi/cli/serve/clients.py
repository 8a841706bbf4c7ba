"""`hikidashi serve import`, `install` and `uninstall`: servers of the clients, and our entry in them."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer
from rich.text import Text

from hikidashi.common.files import state_folder
from hikidashi.errors import ToolSourceError
from hikidashi.gateway.clients.edits import content_of, read_bytes
from hikidashi.gateway.clients.install import FileChange, Line, Records, apply, diff_of, plan_install, plan_uninstall
from hikidashi.gateway.clients.servers import FoundServers, find_servers
from hikidashi.gateway.clients.takeover import (
    ImportChoice,
    SharedServer,
    default_config,
    name_all,
    not_served,
    servers_of,
    shared_servers,
    take_over,
)
from hikidashi.gateway.config import is_own_format, read_servers
from hikidashi.gateway.names import LONGEST_CLIENT_NAME, OUR_NAME
from hikidashi.gateway.options import GatewayServer
from hikidashi.servers.clients import CLIENTS, Client, Machine, client_named

from ..output import clean, clean_lines, counted, print_error, print_json, print_text, stderr, stdout, wrapped
from .options import approvals, config_files

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
    written: list[ImportChoice] = []
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
        print_json(_as_json(search, choices, written, to))
    elif chosen is not None:
        _report_taken(written, to)
    elif choices:
        stdout().print(Text(f"Nothing was written. {_HOW}"))
    for error in search.problems:
        print_error(error)
    named = [choice for choice in unusable if choice.found.name in names or choice.name in names]
    return int(bool(search.problems) or bool(named))


def client_for(name: str, hint: str) -> Client:
    """The client `name`, which the parameter `hint` gave.

    Raises:
        typer.BadParameter: there is no such client.
    """
    known = [client.name for client in CLIENTS]
    if name not in known:
        raise typer.BadParameter(f"there is no client {name!r}. Use one of {', '.join(known)}.", param_hint=hint)
    return client_named(name)


def _chosen(choices: list[ImportChoice], names: Sequence[str], *, take_all: bool) -> list[ImportChoice] | None:
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


def _ask(choices: list[ImportChoice]) -> list[ImportChoice] | None:
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


def _show(search: FoundServers, choices: list[ImportChoice]) -> None:
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


def _line(choice: ImportChoice) -> str:
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


def _report_taken(written: list[ImportChoice], to: Path) -> None:
    console = stdout()
    new = [choice for choice in written if choice.status == "new"]
    print_text(console, Text(f"{counted(len(new), 'server')} written to {to}, which only you can read.", "green"))
    own = "" if to == default_config() else f" --config {shlex.quote(str(to))}"
    print_text(console, Text(f"Next: hikidashi serve install CLIENT{own}"))


def _as_json(
    search: FoundServers, choices: list[ImportChoice], written: list[ImportChoice], to: Path
) -> dict[str, Any]:
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


@dataclass(frozen=True, kw_only=True)
class Overlap:
    """The servers that the client and the gateway have."""

    moved: Sequence[SharedServer] = ()
    """Those that are taken out of the client now."""
    left: Sequence[SharedServer] = ()
    """Those that the client keeps."""
    not_served: Sequence[str] = ()
    """Those that were taken out, now or before, and that the gateway does not serve."""


def print_moved(change: FileChange, *, dry_run: bool) -> None:
    """Name the servers that a change takes out of a file or puts back into it, and those that stay as they are."""
    console = stdout()
    would = "would be " if dry_run else ""
    if change.taken_out:
        how = f"`hikidashi serve uninstall {change.client.name}` puts back what was moved"
        print_text(console, Text("  " + clean(f"{would}moved out of it: {', '.join(change.taken_out)} ({how})")))
    if change.put_back:
        print_text(console, Text("  " + clean(f"{would}put back: {', '.join(change.put_back)}")))
    for name, reason in change.left.items():
        print_text(console, Text("  " + clean(f"stays as it is: {name}, since {reason}"), "yellow"))


def note_overlap(client: Client, overlap: Overlap, change: FileChange, command: str) -> None:
    """Name the servers that the model would see twice, and say what to do about each.

    Args:
        client: The client.
        overlap: Its servers that the gateway serves too.
        change: The change of the file that gets our entry.
        command: The command that was run, without its other options.
    """
    for one in overlap.moved:
        if keys := one.found.taken.ignored:
            _warn(f"hikidashi does not use these keys of {one.found.name}: {', '.join(keys)}.")
    if overlap.not_served:
        names = ", ".join(overlap.not_served)
        _warn(f"Moved before, and not served by hikidashi now: {names}. Add them to its servers, or put them back:")
        _command(f"hikidashi serve uninstall {client.name}")
    for one in overlap.left:
        if not one.movable:
            _warn(f"{client.title} also has {one.found.name}, in {one.found.file}. {one.reason}")
            _command(one.command)
    if twice := [one.found.name for one in overlap.left if one.movable and one.found.name not in change.left]:
        message = f"{client.title} itself also has {', '.join(twice)}. The model sees these tools twice, and all of "
        _warn(f"{message}them in every request. Move them out of it, until you uninstall hikidashi:")
        _command(f"{command} --move")


def overlap_as_json(changes: Sequence[FileChange], overlap: Overlap) -> dict[str, Any]:
    """What `--json` says about these servers."""
    return {
        "also_in_client": [one.found.name for one in overlap.left],
        "moved": [name for change in changes for name in change.moved],
        "moved_but_not_served": list(overlap.not_served),
        "not_carried_over": {
            one.found.name: list(one.found.taken.ignored) for one in overlap.moved if one.found.taken.ignored
        },
        "put_back": [name for change in changes for name in change.put_back],
        "not_moved": [
            {
                "name": one.found.name,
                "file": str(one.found.file),
                "reason": one.reason,
                "command": one.command or None,
            }
            for one in overlap.left
            if not one.movable
        ]
        + [
            {"name": name, "file": str(change.file), "reason": reason, "command": None}
            for change in changes
            for name, reason in change.left.items()
        ],
    }


def _warn(message: str) -> None:
    print_text(stdout(), Text(clean(message), "yellow"))


def _command(command: str) -> None:
    """Print a command on a line of its own, so that it can be copied."""
    if command:
        stdout().print(Text(clean_lines(f"  {command}")), soft_wrap=True)


_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_. -]{0,63}")


def run_install(client_name: str, *, config: Path | None, name: str, move: bool, dry_run: bool, as_json: bool) -> int:
    """Put our entry into the configuration of a client; return the exit code."""
    if not _NAME.fullmatch(name) or "__" in name:
        raise typer.BadParameter(
            f"is {name!r}: use letters, digits, `-`, `_` and `.`, and no `__`.", param_hint="--name"
        )
    if len(name) > LONGEST_CLIENT_NAME:
        raise typer.BadParameter(
            f"has {len(name)} characters: use at most {LONGEST_CLIENT_NAME}, since names of tools have 64 with it.",
            param_hint="--name",
        )
    client, machine, records = client_for(client_name, "CLIENT"), Machine(), _records()
    # Absolute paths: a client starts us in any folder, where another `config.yaml` may be.
    files = [Path(os.path.abspath(file)) for file in config_files([config] if config else [])]  # noqa: PTH100
    for file in files:
        _check_config(file, client, machine)
    named = [part for file in files for part in ("--config", str(file))]
    command, start = _executable()
    line = Line(
        name=name,
        command=command,
        # Only a name that takes more room: clients with the same command share one gateway.
        args=[*start, "serve", *named, *(["--client-name", name] if len(name) > len(OUR_NAME) else [])],
        hook=[*start, "serve", "hook", *named[-2:], *_named(name)],
    )
    servers = _servers(files, needed=move)
    shared = shared_servers(client, servers or (), sources=files, machine=machine)
    wanted = [one.found.name for one in shared if one.movable] if move else []
    changes = plan_install(client, line, records, move=wanted, machine=machine)
    backups = {} if dry_run else apply(changes, records)
    taken = {name for change in changes for name in change.taken_out}
    overlap = Overlap(
        moved=[one for one in shared if one.movable and one.found.name in taken],
        left=[one for one in shared if not (one.movable and one.found.name in taken)],
        not_served=[] if servers is None else not_served(client, changes[0].moved, servers, machine=machine),
    )
    _report(client, changes, backups, dry_run=dry_run, as_json=as_json, overlap=overlap)
    if not as_json:
        options = [*(["--config", str(files[0])] if config else []), *_named(name)]
        note_overlap(client, overlap, changes[0], shlex.join(["hikidashi", "serve", "install", client.name, *options]))
    # A client could not start them: it cannot ask.
    if not dry_run and not as_json and (new := [server.name for server in approvals().missing(servers or ())]):
        message = f"Not approved yet: {', '.join(new)}. Read the file, then run: "
        print_text(stdout(), Text(clean_lines(f"{message}hikidashi serve {shlex.join(named)}")))
    return 0


def run_uninstall(client_name: str, *, name: str | None, dry_run: bool, as_json: bool) -> int:
    """Take our entry out of the configuration of a client; return the exit code."""
    client, machine, records = client_for(client_name, "CLIENT"), Machine(), _records()
    changes = plan_uninstall(client, records, name=name, machine=machine)
    if not any(change.changes for change in changes):
        if changes and not dry_run:
            apply(changes, records)  # forgets what is gone already
        file = client.main(machine).file(machine)
        reason = f"has no server {name or 'hikidashi'!r} that hikidashi put there"
        raise ToolSourceError(str(file), reason, f"Put it there with: hikidashi serve install {client.name}")
    backups = {} if dry_run else apply(changes, records)
    _report(client, changes, backups, dry_run=dry_run, as_json=as_json)
    return 0


def _check_config(file: Path, client: Client, machine: Machine) -> None:
    data = read_bytes(file)
    if data is None:
        remedy = "Make it with `hikidashi serve import`, or name another file with --config."
        raise ToolSourceError(str(file), "there is no such file", remedy)
    if is_own_format(file):
        read_servers([file])
    else:
        content_of(file, data, "json")
    target = client.main(machine).file(machine)
    if os.path.realpath(target) == os.path.realpath(file):
        reason = f"is the file of {client.title} itself, so hikidashi would start itself endlessly"
        remedy = "Take its servers over with `hikidashi serve import`, and give that file."
        raise ToolSourceError(str(file), reason, remedy)


def _servers(files: Sequence[Path], *, needed: bool) -> list[GatewayServer] | None:
    """The servers of the gateway; None if they cannot be read, unless they are needed."""
    try:
        return read_servers(files)
    except ToolSourceError:  # the gateway reports it
        if needed:
            raise
        return None


def _named(name: str) -> list[str]:
    return [] if name == "hikidashi" else ["--name", name]


def _executable() -> tuple[str, list[str]]:
    """The command that runs now, by its absolute path, and its first arguments."""
    ending = ".exe" if sys.platform == "win32" else ""
    given = Path(sys.argv[0])
    beside = Path(sys.executable).with_name(f"hikidashi{ending}")
    for path in (given if given.stem == "hikidashi" and given.is_file() else None, beside):
        if path is not None and path.is_file():
            return os.path.abspath(path), []  # noqa: PTH100 - a link stays a link
    found = shutil.which("hikidashi")
    return (os.path.abspath(found), []) if found else (sys.executable, ["-m", "hikidashi"])  # noqa: PTH100


def _records() -> Records:
    return Records(state_folder() / "gateway" / "installed.json")


def _report(
    client: Client,
    changes: Sequence[FileChange],
    backups: dict[Path, Path],
    *,
    dry_run: bool,
    as_json: bool,
    overlap: Overlap | None = None,
) -> None:
    if as_json:
        report = {
            "client": client.name,
            "dry_run": dry_run,
            **overlap_as_json(changes, overlap or Overlap()),
            "files": [
                {
                    "file": str(change.file),
                    "action": change.how if change.changes else "none",
                    "backup": str(backups[change.file]) if change.file in backups else None,
                    "diff": diff_of(change),
                }
                for change in changes
            ],
        }
        print_json(report)
        return
    console = stdout()
    for change in changes:
        if dry_run:
            for line in diff_of(change).splitlines():
                style = {"+": "green", "-": "red", "@": "cyan"}.get(line[:1], "")
                console.print(Text(clean_lines(line), style), soft_wrap=True)
        print_text(console, Text(clean_lines(_described(change, dry_run=dry_run))))
        print_moved(change, dry_run=dry_run)
        if change.file in backups and change.changes:
            console.print(Text(clean_lines(f"  backup: {backups[change.file]}"), "dim"), soft_wrap=True)
    if not dry_run and any(change.changes and change.how == "install" for change in changes):
        console.print(Text(client.after))


def _described(change: FileChange, *, dry_run: bool) -> str:
    would = "would be" if dry_run else "is"
    if not change.changes:
        return f"{change.file}: nothing to change."
    match change.how:
        case "install" if change.before is None:
            return f"{change.file}: {would} made, with hikidashi in it."
        case "install":
            return f"{change.file}: hikidashi {would} in it."
        case "restore" if change.after is None:
            return f"{change.file}: {would} removed; it was not there before."
        case "restore":
            return f"{change.file}: {would} as it was before, byte for byte."
        case "remove" if change.before is None:
            return f"{change.file}: it was removed since, so it {would} made again, without our entry."
        case "remove":
            why = "changed since" if change.record is not None else "not written by `serve install`"
            return f"{change.file}: it was {why}, so only our entry {would} removed."
