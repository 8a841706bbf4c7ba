"""MCP servers in a JSON file of the kind that MCP clients share, such as `.mcp.json`."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, cast
from urllib.parse import parse_qsl, quote, urlsplit

from ...errors import ToolSourceError
from ..json_files import no_such_file, parsed, text_of
from .keyring import password
from .references import EntryError, References

__all__ = ["McpServer", "is_secret_name", "read_mcp_config", "server_entries", "server_from"]

_SHORTEST_SECRET = 7  # shorter ones would mask ordinary words, such as "Bearer"
_SHORTEST_REFERENCE = 4  # of a value that came from a variable or the keyring
_SECRET = re.compile(
    r"key|token|secret|pass|pwd|auth|credential|bearer|cookie|(?:^|_)(?:pat|dsn)(?:_|$)", re.IGNORECASE
)
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
    secrets: frozenset[str] = field(default=frozenset(), repr=False)
    """Further values that must not be shown: those of variables and of the keyring."""

    def without_secrets(self, text: str) -> str:
        """`text` with this server's secrets as `***`.

        They are its headers, the query and password of its URL, variables named like a secret, and values from the
        environment or the keyring.
        """
        secrets = [word for value in self.headers.values() for word in value.split()]
        secrets += [value for _, value in parse_qsl(self.url.partition("?")[2])]
        secrets += [value for name, value in self.env.items() if is_secret_name(name)]
        secrets += [_password_in(self.url)]
        hidden = {secret for secret in secrets if len(secret) >= _SHORTEST_SECRET}
        hidden |= {secret for secret in self.secrets if len(secret) >= _SHORTEST_REFERENCE}
        for secret in sorted(hidden, key=len, reverse=True):
            for form in {secret, quote(secret, safe=""), quote(secret), json.dumps(secret)[1:-1]}:
                text = text.replace(form, "***")
        return text


def is_secret_name(name: str) -> bool:
    """Whether a variable of this name probably holds a secret."""
    return _SECRET.search(name) is not None


def read_mcp_config(path: str | Path) -> list[McpServer]:
    """The servers in a file such as `.mcp.json`, with its references expanded.

    These are `${VARIABLE}`, `${VARIABLE:-default}` and, in `env`, `headers` and `url`, `${keyring:SERVICE/NAME}`.
    Servers that are `disabled` are left out.

    Raises:
        ToolSourceError: the file cannot be read, has no `mcpServers`, or has an invalid server.
    """
    servers: list[McpServer] = []
    for name, given in server_entries(path).items():
        try:
            servers.append(server_from(name, given, References(keyring=password)))
        except EntryError as error:
            raise ToolSourceError(str(path), f"server {name!r} {error.reason}", error.remedy) from error
    return servers


def server_entries(path: str | Path) -> dict[str, dict[str, Any]]:
    """The entry of each server in a file such as `.mcp.json`, as it is written; without those that are `disabled`.

    Raises:
        ToolSourceError: the file cannot be read, is not JSON, or has no `mcpServers`.
    """
    source = str(path)
    if not Path(path).exists():
        raise no_such_file(source, "Name a file such as `.mcp.json`.")
    content = _object(parsed(text_of(Path(path)), source))
    servers = content.get("mcpServers", content.get("servers"))
    if not isinstance(servers, dict):
        remedy = 'Write {"mcpServers": {"name": {"command": "..."}}}; a file of tools does not list servers.'
        raise ToolSourceError(source, "has no `mcpServers`", remedy)
    entries = {name: _object(given) for name, given in cast("dict[str, Any]", servers).items()}
    return {name: entry for name, entry in entries.items() if not entry.get("disabled")}


def server_from(name: str, given: Mapping[str, Any], references: References) -> McpServer:
    """The server that an entry describes, with its references expanded.

    Raises:
        EntryError: the entry cannot be used.
    """

    def texts(key: str) -> dict[str, str]:
        value: Any = _or(given.get(key), {})
        if not isinstance(value, dict) or not all(map(_is_plain, cast("dict[str, Any]", value).values())):
            raise EntryError(f"has `{key}` that is not an object of strings", f'Write "{key}": {{"NAME": "value"}}.')
        return {str(key): references.expand(_plain(item)) for key, item in cast("dict[str, Any]", value).items()}

    def shown(text: str) -> str:
        return references.expand(text, keyring_allowed=False)

    command, url = given.get("command"), given.get("url")
    if isinstance(command, str) and command and isinstance(url, str) and url:
        raise EntryError("has both a `command` and a `url`", "Keep one of them.")
    if isinstance(command, str) and command:
        args: Any = _or(given.get("args"), [])
        cwd = given.get("cwd")
        if not isinstance(args, list) or not all(map(_is_plain, cast("list[Any]", args))):
            raise EntryError("has `args` that is not a list of strings", 'Write "args": ["one", "two"].')
        if cwd is not None and not isinstance(cwd, str):
            raise EntryError("has a `cwd` that is not a string", 'Write "cwd": "folder", or leave it out.')
        program = shown(command)
        if not program:
            raise EntryError("has a `command` that is empty once its variables are filled in", "Set them.")
        return McpServer(
            name=name,
            transport="stdio",
            command=program,
            args=tuple(shown(_plain(arg)) for arg in cast("list[Any]", args)),
            env=texts("env"),
            cwd=None if cwd is None else shown(cwd),
            secrets=frozenset(references.secrets),
        )
    if isinstance(url, str) and url:
        kind = given.get("type", given.get("transport", "http"))
        transport = _TRANSPORTS.get(str(kind).lower())
        if transport is None:
            raise EntryError(f"has the unknown type {kind!r}", 'Use "http" or "sse".')
        address, headers = references.expand(url), texts("headers")
        return McpServer(
            name=name, transport=transport, url=address, headers=headers, secrets=frozenset(references.secrets)
        )
    remedy = "Give it a `command` with `args` and `env`, or a `url` with `headers`."
    raise EntryError("has neither a `command` nor a `url`", remedy)


def _password_in(url: str) -> str:
    try:
        return urlsplit(url).password or ""
    except ValueError:  # such as `http://[`
        return ""


def _or(value: Any, default: Any) -> Any:
    return default if value is None else value


def _object(value: Any) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _is_plain(value: Any) -> bool:
    return isinstance(value, str | int | float)


def _plain(value: str | float) -> str:
    return value if isinstance(value, str) else json.dumps(value)
