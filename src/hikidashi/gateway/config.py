"""The configuration of a gateway: files of MCP clients (JSON), and `config.yaml` or `.toml`."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..common.json import is_object
from ..config.gateway import GatewayConfig, GatewayOptions, ServerOptions
from ..config.section import rules_of
from ..errors import ConfigError, ToolSourceError
from ..servers.config import McpServer, project_folder, server_entries, server_from, working_folder
from ..servers.references import EntryError, References, Syntax
from .options import ConfigEntry, GatewayServer, ServerProblem

if TYPE_CHECKING:
    from ..config import Config

_OPTIONS = "hikidashi"
_OWN_FORMATS = frozenset({".yaml", ".yml", ".toml"})


@dataclass(frozen=True)
class GatewaySetup:
    """The servers of all files, and the section `gateway` of the one that has it."""

    servers: list[GatewayServer] = field(default_factory=list[GatewayServer])
    gateway: GatewayConfig | None = None
    folder: Path = field(default_factory=Path)
    """The folder of the file with the section `gateway`, which paths in it are relative to."""


def read_servers(paths: Iterable[Path]) -> list[GatewayServer]:
    """The servers of all files, each with its options.

    Processes run in the folder of their file, or in their `cwd`, which may be relative to it.

    Raises:
        ToolSourceError: a file cannot be used, or two files have different servers of one name.
        ConfigError: a `config.yaml` cannot be used.
    """
    return read_setup(paths).servers


def read_setup(paths: Iterable[Path]) -> GatewaySetup:
    """The servers and settings in files such as `.mcp.json` and `config.yaml`.

    A server whose entry cannot be used (a variable that is not set, no `command`) is returned with its problem.

    Raises:
        ToolSourceError: a file cannot be used, has wrong options, or has another server of the same name.
        ConfigError: a `config.yaml` cannot be used.
    """
    setup = GatewaySetup()
    found: dict[str, GatewayServer] = {}
    for path in paths:
        if is_own_format(path):
            from ..config import load_config  # YAML is not needed for the files of clients

            config = load_config(path)
            servers = _servers_of(config, path)
            if config.gateway is not None:
                if setup.gateway is not None:
                    raise ToolSourceError(str(path), "is the second file with `gateway`", "Keep one of them.")
                setup = replace(setup, gateway=config.gateway, folder=path.absolute().parent)
        else:
            servers = [server_of_entry(name, given, str(path)) for name, given in server_entries(path).items()]
        for one in servers:
            if not _is_same(found.setdefault(one.name, one), one):
                raise ToolSourceError(
                    str(path),
                    f"server {one.name!r} differs from the one in an earlier file",
                    "Rename one of them, or leave a file out.",
                )
    servers = list(found.values())
    if setup.gateway is not None:
        servers = [
            one
            if one.entry is not None and "confirm" in one.entry.options
            else replace(one, options=replace(one.options, confirm=setup.gateway.confirm))
            for one in servers
        ]
    return replace(setup, servers=servers)


def is_own_format(path: Path) -> bool:
    """Whether a file is a `config.yaml` or `.toml`, and not a file of an MCP client."""
    return path.suffix.lower() in _OWN_FORMATS


def server_of_entry(name: str, given: Mapping[str, Any], source: str) -> GatewayServer:
    """The server of an entry in the form of `.mcp.json`, which may have a problem.

    Raises:
        ToolSourceError: its options cannot be used.
    """
    try:
        options = options_of_entry(given.get(_OPTIONS))
    except EntryError as error:
        raise ToolSourceError(source, f"server {name!r} {error.reason}", error.remedy) from error
    named = frozenset(given.get(_OPTIONS) or ())
    return _server(ConfigEntry(source=source, given=given, options=named), name, options)


def identity_of(servers: Iterable[GatewayServer], options: GatewayOptions, *more: str) -> str:
    """A digest of the whole configuration: gateways with the same one can share a process."""
    described = [
        [
            (one.server.transport, one.server.name, one.server.command, one.server.args, one.server.cwd),
            (sorted(one.server.env.items()), one.server.url, sorted(one.server.headers.items())),
            repr((one.options, one.problem)),
        ]
        for one in servers
    ]
    text = json.dumps([described, repr(options), more])
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _servers_of(config: Config, path: Path) -> list[GatewayServer]:
    return [
        _server(
            ConfigEntry(
                source=str(path),
                given=server.entry,
                syntax=Syntax(strict=True),
                options=frozenset() if server.confirm is None else frozenset({"confirm"}),
            ),
            name,
            server.options,
        )
        for name, server in (config.servers or {}).items()
        if not server.disabled
    ]


def _server(entry: ConfigEntry, name: str, options: ServerOptions) -> GatewayServer:
    references = References(syntax=entry.syntax, folder=project_folder(Path(entry.source)))
    try:
        server = server_from(name, entry.given, references)
    except EntryError as error:
        transport = "http" if entry.given.get("url") and not entry.given.get("command") else "stdio"
        problem = ServerProblem(f"it {error.reason}", error.remedy)
        return GatewayServer(McpServer(name=name, transport=transport), options, entry, problem)
    entry = replace(entry, needs_keyring=references.waits_for_keyring)
    # Absolute: the gateway itself may run in any folder.
    cwd = working_folder(server.cwd, Path(entry.source)) if server.transport == "stdio" else None
    return GatewayServer(replace(server, cwd=cwd), options, entry)


def _is_same(one: GatewayServer, other: GatewayServer) -> bool:
    """Whether two files have the same server; its default working folder is the folder of its file."""
    if one.entry is not None and other.entry is not None and not one.entry.given.get("cwd"):
        other = replace(other, server=replace(other.server, cwd=one.server.cwd))
    return one == other


def options_of_entry(given: Any) -> ServerOptions:
    """The options under the key `hikidashi` of an entry.

    Raises:
        EntryError: they cannot be used.
    """
    if given is None:
        return ServerOptions()
    wrong = f"has `{_OPTIONS}` options that cannot be used"
    if not is_object(given):
        raise EntryError(wrong, f'Write "{_OPTIONS}": {{"call_seconds": 60}}.')
    known = rules_of(ServerOptions)
    if unknown := sorted(given.keys() - known):
        raise EntryError(f"{wrong}: there is no {', '.join(unknown)}", f"There are {', '.join(sorted(known))}.")
    try:
        return ServerOptions(**given)
    except ConfigError as error:
        raise EntryError(wrong, f"`{error.key}`: {error.reason}") from error
