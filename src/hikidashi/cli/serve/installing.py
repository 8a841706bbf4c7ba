"""`hikidashi serve install` and `uninstall`: our entry in a client's configuration."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

import typer
from rich.text import Text

from hikidashi.common.folders import state_folder
from hikidashi.errors import ToolSourceError
from hikidashi.gateway.clients.finding import content_of, read_bytes
from hikidashi.gateway.clients.installing import Change, Line, apply, diff_of, plan_install, plan_uninstall
from hikidashi.gateway.clients.records import Records
from hikidashi.gateway.clients.shared import not_served, shared_servers
from hikidashi.gateway.offer.names import LONGEST_CLIENT_NAME, OUR_NAME
from hikidashi.gateway.settings.config import is_own_format, read_servers
from hikidashi.gateway.settings.options import GatewayServer
from hikidashi.servers.clients import Client, Machine

from ..output import print_text, stdout
from ..tools.text import clean_lines
from .files import config_files
from .importing import approvals, client_for
from .overlap import Overlap, note_overlap, overlap_as_json, print_moved

__all__ = ["run_install", "run_uninstall"]

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
    if not dry_run and not as_json and (new := _not_agreed(files)):
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


def _not_agreed(files: Sequence[Path]) -> list[str]:
    """The servers without approval: the client could not start them, since it cannot ask."""
    try:
        return [server.name for server in approvals().missing(read_servers(files))]
    except ToolSourceError:  # the gateway reports it
        return []


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
    changes: Sequence[Change],
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
        print(json.dumps(report, ensure_ascii=False, indent=2))  # noqa: T201
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


def _described(change: Change, *, dry_run: bool) -> str:
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
