"""The servers that a client has itself and that the gateway serves too, so that a model sees their tools twice."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ...servers.clients import Client, ClientName, Machine, client_named
from ..settings.options import GatewayServer, ServerProblem
from ._entries import taken
from ._moving import server_in
from .finding import Found, find_servers, fingerprint

__all__ = ["Shared", "not_served", "shared_servers"]

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
    reason: str = ""
    """Why one that is not movable stays, and what to do."""
    command: str = ""
    """The command that does it, if there is one."""


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
            reason = f"hikidashi cannot start it: {problem.reason}. {problem.remedy}".strip()
            shared.append(Shared(found=one, movable=False, reason=reason))
        elif (one.client, one.file, one.project) == own:
            shared.append(Shared(found=one, movable=True))
        elif os.path.realpath(one.file) in gateway:
            reason = "hikidashi reads this file too. Take its servers over, and give `serve install` that file:"
            shared.append(Shared(found=one, movable=False, reason=reason, command="hikidashi serve import"))
        else:
            shared.append(_elsewhere(one))
    return shared


def not_served(
    client: Client, moved: Mapping[str, str], servers: Iterable[GatewayServer], *, machine: Machine | None = None
) -> list[str]:
    """Those of the servers that were moved out of the file of `client` that the gateway does not serve."""
    machine = machine or Machine()
    served = {fingerprint(dict(one.entry.given)) for one in servers if one.entry is not None and one.problem is None}
    place = client.main(machine)
    project = str(machine.project) if place.of_project else None
    entries = {
        name: taken(client.name, server_in(client, place, name, source), home=str(machine.home), project=project).entry
        for name, source in moved.items()
    }
    return [name for name, entry in entries.items() if fingerprint(entry) not in served]


def _elsewhere(one: Found) -> Shared:
    """A server in a file, or a part of it, that we do not edit."""
    if one.client.name not in _READ_TOO:
        return Shared(found=one, movable=False, reason="`serve install` does not change this file. Remove it there.")
    remove = f"claude mcp remove {shlex.quote(one.name)} --scope"
    if one.client.name == "claude-code-project":
        reason, command = "It belongs to the project. Remove it with:", f"{remove} project"
    elif one.project is None:
        reason, command = "It belongs to all of your projects. Remove it with:", f"{remove} user"
    else:
        reason = f"It belongs to the project {one.project}. Remove it with:"
        command = f"cd {shlex.quote(one.project)} && {remove} local"
    return Shared(found=one, movable=False, reason=reason, command=command)
