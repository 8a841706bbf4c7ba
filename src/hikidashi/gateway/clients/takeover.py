"""Servers of clients: taken over into our own file, and those that a model would then see twice."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from ...common.files import config_folder
from ...common.json import is_object
from ...errors import ToolSourceError
from ...servers.clients import Client, ClientName, Machine, client_named
from ..config import server_of_entry
from ..options import GatewayServer, ServerProblem
from .edits import EditError, content_of, put, read_bytes, source_error, write_file
from .install import table_of
from .servers import ClientServer, find_servers, fingerprint, taken

Status = Literal["new", "there", "unusable"]


@dataclass(frozen=True, kw_only=True)
class ImportChoice:
    """A server that could be taken over, under the name that it gets."""

    found: ClientServer
    name: str
    status: Status
    """`there`: it is in our file already, or the same server was found in another client."""

    @property
    def renamed(self) -> bool:
        """Whether another server has its name already."""
        return self.name != self.found.name


def default_config() -> Path:
    """Our own file of servers: `hikidashi/mcp.json` in the user's config folder."""
    return config_folder() / "mcp.json"


def name_all(found: Iterable[ClientServer], to: Path) -> list[ImportChoice]:
    """Each server with a name that no other one has, in `to` or among the found ones.

    Raises:
        ToolSourceError: `to` is invalid.
    """
    _, servers = _own_file(to)[1:]
    known = {name: fingerprint(entry) for name, entry in servers.items()}
    choices: list[ImportChoice] = []
    for one in found:
        if one.taken.problem:
            choices.append(ImportChoice(found=one, name=one.name, status="unusable"))
            continue
        digest = fingerprint(one.entry)
        names = [one.name, f"{one.name}-{one.client.name}"]
        names += [f"{names[1]}-{number}" for number in range(2, len(known) + 4)]
        name = next(name for name in names if known.get(name, digest) == digest)
        choices.append(ImportChoice(found=one, name=name, status="there" if name in known else "new"))
        known[name] = digest
    return choices


def take_over(choices: Iterable[ImportChoice], to: Path) -> None:
    """Write the servers into `to`, which only its owner may read from then on.

    Raises:
        ToolSourceError: `to` is invalid, or cannot be written.
    """
    before, key, _ = _own_file(to)
    text = "" if before is None else before.decode("utf-8")
    try:
        for choice in choices:
            if choice.status == "new":
                text = put(text, (key, choice.name), choice.found.entry, comments=False)
    except EditError as error:
        raise source_error(to, "json", error) from error
    write_file(to, text.encode("utf-8", "surrogatepass"), before=before, private=True)


def servers_of(choices: Iterable[ImportChoice], to: Path) -> tuple[list[GatewayServer], list[ToolSourceError]]:
    """The servers as the gateway will start them from `to`, and why some cannot be started yet."""
    servers: list[GatewayServer] = []
    problems: list[ToolSourceError] = []
    for choice in choices:
        if choice.found.entry.get("disabled"):
            continue
        server = server_of_entry(choice.name, choice.found.entry, str(to))
        if server.problem is None:
            servers.append(server)
        else:
            reason = f"server {choice.name!r}: {server.problem.reason}"
            problems.append(ToolSourceError(str(choice.found.file), reason, server.problem.remedy))
    return servers, problems


def _own_file(to: Path) -> tuple[bytes | None, str, dict[str, Any]]:
    """The bytes of our file, the key of its servers, and the servers."""
    data = read_bytes(to)
    empty: dict[str, Any] = {}
    content: Any = empty if data is None else content_of(to, data, "json")
    held = content if is_object(content) else None
    key = "servers" if held is not None and "servers" in held and "mcpServers" not in held else "mcpServers"
    servers = None if held is None else held.get(key, {})
    if not is_object(servers):
        reason = f"has no object `{key}`"
        raise ToolSourceError(str(to), reason, 'Write {"mcpServers": {}}, or name another file with --to.')
    return data, key, servers


_READ_TOO: dict[ClientName, ClientName] = {
    "claude-code": "claude-code-project",
    "claude-code-project": "claude-code",
}
"""Claude Code reads the files of the user and of the project."""


@dataclass(frozen=True, kw_only=True)
class SharedServer:
    """A server that the client and the gateway have."""

    found: ClientServer
    """The server of the client."""
    movable: bool
    """Whether it can be taken out of the file that gets our entry, since the gateway serves it."""
    reason: str = ""
    """Why one that is not movable stays, and what to do."""
    command: str = ""
    """The command that does it, if there is one."""


def shared_servers(
    client: Client, servers: Iterable[GatewayServer], *, sources: Sequence[Path] = (), machine: Machine | None = None
) -> list[SharedServer]:
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
    shared: list[SharedServer] = []
    for one in found:
        digest = fingerprint(one.entry)
        if one.taken.problem or one.entry.get("disabled") or digest not in problems:
            continue
        if (problem := problems[digest]) is not None:
            reason = f"hikidashi cannot start it: {problem.reason}. {problem.remedy}".strip()
            shared.append(SharedServer(found=one, movable=False, reason=reason))
        elif (one.client, one.file, one.project) == own:
            shared.append(SharedServer(found=one, movable=True))
        elif os.path.realpath(one.file) in gateway:
            reason = "hikidashi reads this file too. Take its servers over, and give `serve install` that file:"
            shared.append(SharedServer(found=one, movable=False, reason=reason, command="hikidashi serve import"))
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
    table, project = table_of(client, place), str(machine.project) if place.of_project else None
    entries = {
        name: taken(client.name, table.server_in(source, name), home=str(machine.home), project=project).entry
        for name, source in moved.items()
    }
    return [name for name, entry in entries.items() if fingerprint(entry) not in served]


def _elsewhere(one: ClientServer) -> SharedServer:
    """A server in a file, or a part of it, that we do not edit."""
    if one.client.name not in _READ_TOO:
        return SharedServer(
            found=one, movable=False, reason="`serve install` does not change this file. Remove it there."
        )
    remove = f"claude mcp remove {shlex.quote(one.name)} --scope"
    if one.client.name == "claude-code-project":
        reason, command = "It belongs to the project. Remove it with:", f"{remove} project"
    elif one.project is None:
        reason, command = "It belongs to all of your projects. Remove it with:", f"{remove} user"
    else:
        reason = f"It belongs to the project {one.project}. Remove it with:"
        command = f"cd {shlex.quote(one.project)} && {remove} local"
    return SharedServer(found=one, movable=False, reason=reason, command=command)
