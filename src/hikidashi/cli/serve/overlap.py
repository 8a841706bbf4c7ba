"""What `hikidashi serve install` says about servers that the client has too, and about those that were moved."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rich.text import Text

from hikidashi.gateway.clients.installing import Change
from hikidashi.gateway.clients.shared import Shared
from hikidashi.servers.clients import Client

from ..output import print_text, stdout
from ..tools.text import clean, clean_lines

__all__ = ["Overlap", "note_overlap", "overlap_as_json", "print_moved"]


@dataclass(frozen=True, kw_only=True)
class Overlap:
    """The servers that the client and the gateway have."""

    moved: Sequence[Shared] = ()
    """Those that are taken out of the client now."""
    left: Sequence[Shared] = ()
    """Those that the client keeps."""
    not_served: Sequence[str] = ()
    """Those that were taken out, now or before, and that the gateway does not serve."""


def print_moved(change: Change, *, dry_run: bool) -> None:
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


def note_overlap(client: Client, overlap: Overlap, change: Change, command: str) -> None:
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


def overlap_as_json(changes: Sequence[Change], overlap: Overlap) -> dict[str, Any]:
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
