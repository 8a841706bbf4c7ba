"""Servers of clients taken over into our own file."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, cast

from ...common.folders import config_folder
from ...errors import ToolSourceError
from ..settings.config import server_of_entry
from ..settings.options import GatewayServer
from ._files import write_file
from ._json_edit import EditError, put
from .finding import Found, content_of, fingerprint, read_bytes, source_error

__all__ = ["Choice", "default_config", "name_all", "servers_of", "take_over"]

Status = Literal["new", "there", "unusable"]


@dataclass(frozen=True, kw_only=True)
class Choice:
    """A server that could be taken over, under the name that it gets."""

    found: Found
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


def name_all(found: Iterable[Found], to: Path) -> list[Choice]:
    """Each server with a name that no other one has, in `to` or among the found ones.

    Raises:
        ToolSourceError: `to` is invalid.
    """
    _, servers = _own_file(to)[1:]
    known = {name: fingerprint(cast("dict[str, Any]", entry)) for name, entry in servers.items()}
    choices: list[Choice] = []
    for one in found:
        if one.taken.problem:
            choices.append(Choice(found=one, name=one.name, status="unusable"))
            continue
        digest = fingerprint(one.entry)
        names = [one.name, f"{one.name}-{one.client.name}"]
        names += [f"{names[1]}-{number}" for number in range(2, len(known) + 4)]
        name = next(name for name in names if known.get(name, digest) == digest)
        choices.append(Choice(found=one, name=name, status="there" if name in known else "new"))
        known[name] = digest
    return choices


def take_over(choices: Iterable[Choice], to: Path) -> None:
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


def servers_of(choices: Iterable[Choice], to: Path) -> tuple[list[GatewayServer], list[ToolSourceError]]:
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
    held = cast("dict[str, Any]", content) if isinstance(content, dict) else None
    key = "servers" if held is not None and "servers" in held and "mcpServers" not in held else "mcpServers"
    servers = None if held is None else held.get(key, {})
    if not isinstance(servers, dict):
        reason = f"has no object `{key}`"
        raise ToolSourceError(str(to), reason, 'Write {"mcpServers": {}}, or name another file with --to.')
    return data, key, cast("dict[str, Any]", servers)
