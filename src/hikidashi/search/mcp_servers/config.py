"""MCP servers in a JSON file of the kind that MCP clients share, such as `.mcp.json`."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, cast
from urllib.parse import parse_qsl, quote

from ...errors import ToolSourceError
from ..json_files import no_such_file, parsed, text_of

__all__ = ["McpServer", "read_mcp_config"]

_SHORTEST_SECRET = 7  # shorter ones would mask ordinary words, such as "Bearer"
_VARIABLE = re.compile(r"\$\{(\w+)(?::-([^}]*))?\}")


_SECRET = re.compile(r"key|token|secret|pass|auth|credential", re.IGNORECASE)
_TRANSPORTS: dict[str, Literal["http", "sse"]] = {
    "http": "http",
    "streamable-http": "http",
    "streamable_http": "http",
    "streamablehttp": "http",
    "sse": "sse",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class McpServer:
    """How to reach one MCP server. Its `repr` leaves out the fields that may hold secrets."""

    name: str
    transport: Literal["stdio", "http", "sse"]
    command: str = ""
    args: tuple[str, ...] = field(default=(), repr=False)
    env: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    cwd: str | None = None
    url: str = field(default="", repr=False)
    headers: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)

    def without_secrets(self, text: str) -> str:
        """`text` with this server's secrets as `***`: headers, the query of its URL, variables with telling names."""
        secrets = [word for value in self.headers.values() for word in value.split()]
        secrets += [value for _, value in parse_qsl(self.url.partition("?")[2])]
        secrets += [value for name, value in self.env.items() if _SECRET.search(name)]
        for secret in sorted(secrets, key=len, reverse=True):
            if len(secret) >= _SHORTEST_SECRET:
                text = text.replace(secret, "***").replace(quote(secret, safe=""), "***")
        return text


def read_mcp_config(path: str | Path) -> list[McpServer]:
    """The servers in a file such as `.mcp.json`, with `${VARIABLE}` and `${VARIABLE:-default}` expanded.

    Servers that are `disabled` are left out.

    Raises:
        ToolSourceError: the file cannot be read, has no `mcpServers`, or has an invalid server.
    """
    source = str(path)
    if not Path(path).exists():
        raise no_such_file(source, "Name a file such as `.mcp.json`.")
    content = _object(parsed(text_of(Path(path)), source))
    servers = content.get("mcpServers", content.get("servers"))
    if not isinstance(servers, dict):
        remedy = 'Write {"mcpServers": {"name": {"command": "..."}}}; a file of tools does not list servers.'
        raise ToolSourceError(source, "has no `mcpServers`", remedy)
    return [
        _server(source, name, _object(_filled(source, name, given)))
        for name, given in cast("dict[str, Any]", servers).items()
        if not _object(given).get("disabled")
    ]


def _server(source: str, name: str, given: dict[str, Any]) -> McpServer:
    def wrong(what: str, remedy: str) -> ToolSourceError:
        return ToolSourceError(source, f"server {name!r} {what}", remedy)

    def texts(key: str) -> dict[str, str]:
        value = given.get(key, {})
        if not isinstance(value, dict) or not all(map(_is_plain, cast("dict[str, Any]", value).values())):
            raise wrong(f"has `{key}` that is not an object of strings", f'Write "{key}": {{"NAME": "value"}}.')
        return {str(key): _plain(item) for key, item in cast("dict[str, Any]", value).items()}

    command, url = given.get("command"), given.get("url")
    if isinstance(command, str) and command:
        args, cwd = given.get("args", []), given.get("cwd")
        if not isinstance(args, list) or not all(map(_is_plain, cast("list[Any]", args))):
            raise wrong("has `args` that is not a list of strings", 'Write "args": ["one", "two"].')
        if cwd is not None and not isinstance(cwd, str):
            raise wrong("has a `cwd` that is not a string", 'Write "cwd": "folder", or leave it out.')
        plain = tuple(map(_plain, cast("list[Any]", args)))
        return McpServer(name=name, transport="stdio", command=command, args=plain, env=texts("env"), cwd=cwd)
    if isinstance(url, str) and url:
        kind = given.get("type", given.get("transport", "http"))
        transport = _TRANSPORTS.get(str(kind).lower())
        if transport is None:
            raise wrong(f"has the unknown type {kind!r}", 'Use "http" or "sse".')
        return McpServer(name=name, transport=transport, url=url, headers=texts("headers"))
    remedy = "Give it a `command` with `args` and `env`, or a `url` with `headers`."
    raise wrong("has neither a `command` nor a `url`", remedy)


def _filled(source: str, server: str, value: Any) -> Any:
    """`value` with `${NAME}` replaced from the environment."""

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


def _is_plain(value: Any) -> bool:
    return isinstance(value, str | int | float)


def _plain(value: str | float) -> str:
    return value if isinstance(value, str) else json.dumps(value)
