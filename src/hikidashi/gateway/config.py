"""The servers of a gateway: from the files that MCP clients already have."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from ..errors import ToolSourceError
from ..search.mcp_servers import McpServer, read_mcp_config
from .options import GatewayOptions, GatewayServer, ServerOptions

__all__ = ["identity_of", "in_folder_of", "read_servers"]

_OPTIONS = "hikidashi"


def read_servers(paths: Iterable[Path]) -> list[GatewayServer]:
    """The servers in files such as `.mcp.json`, each with the options under its key `hikidashi`.

    Processes run in the folder of their file, or in their `cwd`, which may be relative to it.

    Raises:
        ToolSourceError: a file cannot be used, or two files name a server differently.
    """
    seen: dict[str, GatewayServer] = {}
    found: list[GatewayServer] = []
    for path in paths:
        given = _options_in(path)
        for server in read_mcp_config(path):
            one = GatewayServer(server, _options(path, server.name, given.get(server.name)))
            if server.name not in seen:
                found.append(replace(one, server=in_folder_of(path, server)))
            if seen.setdefault(server.name, one) != one:
                raise ToolSourceError(
                    str(path),
                    f"server {server.name!r} is another one than in a file before",
                    "Rename one of them, or leave a file out.",
                )
    return found


def in_folder_of(path: Path, server: McpServer) -> McpServer:
    """`server` as it runs from the file `path`: in its folder, since a daemon has no folder of its own."""
    if server.transport != "stdio":
        return server
    return replace(server, cwd=str(path.resolve().parent / Path(server.cwd or "").expanduser()))


def identity_of(servers: Iterable[GatewayServer], options: GatewayOptions, *more: str) -> str:
    """What two gateways share that could be one: a digest of all they are told."""
    told = [
        [
            (one.server.transport, one.server.name, one.server.command, one.server.args, one.server.cwd),
            (sorted(one.server.env.items()), one.server.url, sorted(one.server.headers.items())),
            repr(one.options),
        ]
        for one in servers
    ]
    text = json.dumps([told, repr(options), more])
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _options_in(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8-sig"))
        servers = content.get("mcpServers", content.get("servers"))
        return {name: given.get(_OPTIONS) for name, given in servers.items()}
    except (OSError, ValueError, AttributeError):
        return {}  # `read_mcp_config` says what is wrong


def _options(path: Path, server: str, given: Any) -> ServerOptions:
    if given is None:
        return ServerOptions()
    wrong = f"server {server!r} has `{_OPTIONS}` options that cannot be used"
    if not isinstance(given, dict):
        raise ToolSourceError(str(path), wrong, f'Write "{_OPTIONS}": {{"call_seconds": 60}}.')
    options = cast("dict[str, Any]", given)
    known = ServerOptions.names()
    if unknown := sorted(set(options) - known):
        raise ToolSourceError(
            str(path), f"{wrong}: there is no {', '.join(unknown)}", f"There are {', '.join(sorted(known))}."
        )
    try:
        return ServerOptions(**{key: _plain(value) for key, value in options.items()})
    except ValueError as error:
        raise ToolSourceError(str(path), wrong, str(error)) from error


def _plain(value: Any) -> Any:
    return tuple(cast("list[Any]", value)) if isinstance(value, list) else value
