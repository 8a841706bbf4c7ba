"""The servers that a client has itself and that the gateway serves too, so that a model sees their tools twice."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..settings.options import GatewayServer, ServerProblem
from .finding import Found, find_servers, fingerprint
from .table import Client, ClientName, Machine, client_named

__all__ = ["Shared", "shared_servers"]

_READ_TOO: dict[ClientName, ClientName] = {
    "claude-code": "claude-code-project",
    "claude-code-project": "claude-code",
}
"""Claude Code reads the files of the user and of the project."""


@dataclass(frozen=True, kw_only=True)
class Shared:
    """A server that the client and the gateway have."""

    found: Found
    """The server of the client."""
    movable: bool
    """Whether it can be taken out of the file that gets our entry, since the gateway serves it."""
    remedy: str = ""
    """What to do about one that is not movable."""


def shared_servers(
    client: Client, servers: Iterable[GatewayServer], *, sources: Sequence[Path] = (), machine: Machine | None = None
) -> list[Shared]:
    """The servers of `client` that are the same as one of `servers`, without those that are disabled there.

    Args:
        client: The client, whose other files are searched too.
        servers: The servers of the gateway.
        sources: The files that the gateway has them from.
        machine: Where files are.
    """
    machine = machine or Machine()
    served = [(fingerprint(dict(one.entry.given)), one.problem) for one in servers if one.entry is not None]
    problems: dict[str, ServerProblem | None] = dict(served)
    problems.update((digest, None) for digest, problem in served if problem is None)
    too = _READ_TOO.get(client.name)
    found = find_servers([client, *([client_named(too)] if too else [])], machine=machine).found
    place = client.main(machine)
    own = (client, place.file(machine), str(machine.project) if place.of_project else None)
    gateway = {os.path.realpath(file) for file in sources}
    shared: list[Shared] = []
    for one in found:
        digest = fingerprint(one.entry)
        if one.taken.problem or one.entry.get("disabled") or digest not in problems:
            continue
        if (problem := problems[digest]) is not None:
            remedy = f"stays, since hikidashi cannot start it: {problem.reason}. {problem.remedy}".strip()
        elif (one.client, one.file, one.project) == own:
            shared.append(Shared(found=one, movable=True))
            continue
        elif os.path.realpath(one.file) in gateway:
            remedy = "is in a file that both read. Take it over with: hikidashi serve import"
        else:
            remedy = _remedy(one)
        shared.append(Shared(found=one, movable=False, remedy=remedy))
    return shared


def _remedy(one: Found) -> str:
    """How to take a server out of a file that we do not edit."""
    if one.client.name == "claude-code-project":
        return f"is for a project. Remove it with: claude mcp remove {shlex.quote(one.name)} --scope project"
    if one.client.name != "claude-code":
        return "is in a file that install does not change. Remove it there."
    remove = f"claude mcp remove {shlex.quote(one.name)} --scope"
    if one.project is None:
        return f"is for all your projects. Remove it with: {remove} user"
    return f"is for the project {one.project}. Remove it with: cd {shlex.quote(one.project)} && {remove} local"
