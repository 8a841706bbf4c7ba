"""Which MCP servers there are: the JSON file that MCP clients share, such as `.mcp.json`."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, cast

from ..errors import ToolSourceError
from .sources import no_such_file, parsed, text_of

__all__ = ["McpServer", "read_mcp_config"]

_VARIABLE = re.compile(r"\$\{(\w+)(?::-([^}]*))?\}")


@dataclass(frozen=True, kw_only=True, slots=True)
class McpServer:
    """How to reach one MCP server."""

    name: str
    transport: Literal["stdio", "http", "sse"]
    command: str = ""
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    cwd: str | None = None
    url: str = ""
    headers: Mapping[str, str] = field(default_factory=dict[str, str])


def read_mcp_config(path: str | Path) -> list[McpServer]:
    """The servers in a file such as `.mcp.json`, with `${VARIABLE}` and `${VARIABLE:-default}` filled in.

    Servers that are `disabled` are left out.

    Raises:
        ToolSourceError: the file cannot be read, has no `mcpServers`, or describes a server that nobody can reach.
    """
    source = str(path)
    if not Path(path).exists():
        raise no_such_file(source, "Name a file such as `.mcp.json`.")
    content = _object(parsed(text_of(Path(path)), source))
    servers = content.get("mcpServers", content.get("servers"))
    if not isinstance(servers, dict):
        remedy = 'Write {"mcpServers": {"name": {"command": "..."}}}; a file of tools is no list of servers.'
        raise ToolSourceError(source, "has no `mcpServers`", remedy)
    return [
        _server(source, name, _object(_filled(source, name, given)))
        for name, given in cast("dict[str, Any]", servers).items()
        if not _object(given).get("disabled")
    ]


def _server(source: str, name: str, given: dict[str, Any]) -> McpServer:
    command, url = given.get("command"), given.get("url")
    if isinstance(command, str) and command:
        args = given.get("args")
        return McpServer(
            name=name,
            transport="stdio",
            command=command,
            args=tuple(map(str, cast("list[Any]", args) if isinstance(args, list) else ())),
            env=_texts(given.get("env")),
            cwd=given.get("cwd"),
        )
    if isinstance(url, str) and url:
        kind = str(given.get("type", given.get("transport", "http"))).lower()
        headers = _texts(given.get("headers"))
        return McpServer(name=name, transport="sse" if kind == "sse" else "http", url=url, headers=headers)
    remedy = "Give it a `command` with `args` and `env`, or a `url` with `headers`."
    raise ToolSourceError(source, f"server {name!r} has neither a command nor an address", remedy)


def _filled(source: str, server: str, value: Any) -> Any:
    """`value` with the environment's values in the place of `${NAME}`."""

    def variable(match: re.Match[str]) -> str:
        name, default = match.groups()
        if name not in os.environ and default is None:
            remedy = f"Set {name}, or write ${{{name}:-default}}."
            raise ToolSourceError(source, f"server {server!r} needs the environment variable {name}", remedy)
        return os.environ.get(name, default or "")

    if isinstance(value, str):
        return _VARIABLE.sub(variable, value)
    if isinstance(value, list):
        return [_filled(source, server, item) for item in cast("list[Any]", value)]
    return {key: _filled(source, server, item) for key, item in _object(value).items()} or value


def _object(value: Any) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _texts(value: Any) -> dict[str, str]:
    return {key: str(item) for key, item in _object(value).items()}
