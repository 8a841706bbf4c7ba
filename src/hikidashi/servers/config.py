"""MCP servers in a JSON file of the kind that MCP clients share, such as `.mcp.json`: read, expanded and checked."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal
from urllib.parse import parse_qsl, quote, urlsplit

from ..common.files import config_folder
from ..common.json import RepeatedKeys, as_object, is_list, is_object, no_such_file, parsed, text_of
from ..errors import ToolSourceError
from .references import EntryError, References, password, variables_of_file

Transport = Literal["stdio", "http", "sse"]

_SHORTEST_SECRET = 7  # shorter ones would mask ordinary words, such as "Bearer"
_SHORTEST_REFERENCE = 4  # of a value that came from a variable or the keyring
_SECRET = re.compile(
    r"key|token|secret|pass|pwd|auth|credential|bearer|cookie|(?:^|_)(?:pat|dsn)(?:_|$)", re.IGNORECASE
)


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


def _password_in(url: str) -> str:
    try:
        return urlsplit(url).password or ""
    except ValueError:  # such as `http://[`
        return ""


_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_HEADER_VALUE = re.compile(r"[\t\x20-\x7e]*")


def check_server(server: McpServer) -> None:
    """Raise unless a process can be started, or a request be sent, with these values.

    Raises:
        EntryError: one of them cannot be used; the error names it, and not its value, which may be a secret.
    """
    if not server.name.strip():
        raise EntryError("has an empty name", "Give it one.")
    if server.transport == "stdio":
        _check_process(server)
    else:
        _check_address(server)


def _check_process(server: McpServer) -> None:
    texts = [("command", server.command), ("cwd", server.cwd or "")]
    texts += [("args", arg) for arg in server.args]
    texts += [("env", text) for pair in server.env.items() for text in pair]
    for key, text in texts:
        try:
            unusable = b"\0" in os.fsencode(text)
        except UnicodeEncodeError:
            unusable = True
        if unusable:
            raise EntryError(f"has `{key}` with a character that no process can be given", "Take it out.")
    if wrong := [name for name in server.env if not name or "=" in name]:
        raise EntryError(f"has `env` with {wrong[0]!r}, which cannot be the name of a variable", "Rename it.")


def _check_address(server: McpServer) -> None:
    for name, value in server.headers.items():
        if not _HEADER_NAME.fullmatch(name):
            raise EntryError(f"has `headers` with {name!r}, which cannot be the name of a header", "Rename it.")
        if not _HEADER_VALUE.fullmatch(value):
            reason = f"has a header {name!r} with a line break, or a character outside of ASCII"
            raise EntryError(reason, "Take it out.")
    if "${keyring:" in server.url:  # not expanded yet
        return
    try:
        address = urlsplit(server.url)
        scheme, host, _ = address.scheme, address.hostname, address.port
    except ValueError as error:
        raise EntryError("has a `url` whose host or port is invalid", "Correct it.") from error
    if scheme not in {"http", "https"}:
        raise EntryError("has a `url` that does not begin with http:// or https://", "Write the whole address.")
    if not host or re.search(r"[\x00-\x20\x7f]", server.url):
        raise EntryError("has a `url` without a host, or with a space", "Write the whole address.")


_FOLDERS_OF_CLIENTS = frozenset({".codex", ".cursor", ".gemini", ".vscode", ".zed"})


def common_form(given: Mapping[str, Any]) -> dict[str, Any]:
    """An entry with the keys of `.mcp.json`: `url` for Windsurf's `serverUrl` and Gemini CLI's `httpUrl`.

    `type` stands for `transport`, and `disabled` for an `enabled` that is false.
    """
    entry = dict(given)
    for key in ("serverUrl", "httpUrl"):
        if isinstance(entry.get(key), str) and "url" not in entry:
            entry["url"] = entry[key]
            if key == "httpUrl":
                entry["type"] = "http"
        elif key in entry and entry.get("url") != entry[key]:
            entry["url"], entry["type"] = entry[key], "http"
    if "transport" in entry and "type" not in entry:
        entry["type"] = entry["transport"]
    if entry.get("enabled") is False:
        entry["disabled"] = True
    return entry


def project_folder(file: Path) -> Path:
    """The folder that a file of servers is for: its own, or the one above where that is a client's, as `.vscode` is."""
    folder = file.absolute().parent
    return folder.parent if folder.name in _FOLDERS_OF_CLIENTS else folder


def working_folder(cwd: str | None, file: Path) -> str | None:
    """The absolute path of the folder that a process in `file` runs in: its `cwd`, or that of the project.

    A `cwd` may be relative to the folder of the project. A file among the user's settings has the home folder.
    """
    folder = project_folder(file)
    try:
        if cwd:
            return str(folder / Path(cwd).expanduser())
        return str(Path.home() if folder == config_folder().absolute() else folder)
    except RuntimeError:  # no home folder, or an unknown user: starting it reports that
        return cwd


_TABLES = (("mcpServers",), ("servers",), ("mcp", "servers"), ("mcp.servers",))
"""Where files have their servers: the last two are those of VS Code's `settings.json`."""
_MOST_FOLDERS = 3
_SHAPE = 'Write {"mcpServers": {"name": {"command": "..."}}}'
_TRANSPORTS: dict[str, Literal["http", "sse"]] = {
    "http": "http",
    "streamable-http": "http",
    "streamable_http": "http",
    "streamablehttp": "http",
    "sse": "sse",
}


def read_mcp_config(path: str | Path) -> list[McpServer]:
    """The servers in a file such as `.mcp.json`, with its references expanded.

    These are `${VARIABLE}`, `${VARIABLE:-default}` and, in `env`, `headers` and `url`, `${keyring:SERVICE/NAME}`.
    Servers that are `disabled` are left out. Processes run in the folder of the file, or in their `cwd`, which may be
    relative to it, as with `hikidashi serve`.

    Raises:
        ToolSourceError: the file cannot be read, has no `mcpServers`, or has an invalid server.
    """
    servers: list[McpServer] = []
    for name, given in server_entries(path).items():
        references = References(keyring=password, folder=project_folder(Path(path)))
        try:
            server = server_from(name, given, references)
        except EntryError as error:
            raise ToolSourceError(str(path), f"server {name!r} {error.reason}", error.remedy) from error
        if server.transport == "stdio":
            server = replace(server, cwd=working_folder(server.cwd, Path(path)))
        servers.append(server)
    return servers


def server_entries(path: str | Path) -> dict[str, dict[str, Any]]:
    """The entry of each server in a file such as `.mcp.json`, as it is written; without those that are `disabled`.

    Raises:
        ToolSourceError: the file cannot be read, is not JSON, or has no `mcpServers`.
    """
    source = str(path)
    if not Path(path).exists():
        raise no_such_file(source, "Name a file such as `.mcp.json`.")
    content = as_object(parsed(text_of(Path(path), ""), source, comments=True))
    entries: dict[str, dict[str, Any]] = {}
    place = ""
    for keys in _TABLES:
        servers = _at(content, keys, source)
        if servers is None:
            continue
        for name, given in servers.items():
            if entries.setdefault(name, entry := common_form(as_object(given))) != entry:
                reason = f"has another server {name!r} under `{'.'.join(keys)}` than under `{place}`"
                raise ToolSourceError(source, reason, "Rename one of them, or take it out.")
        place = place or ".".join(keys)
    if not place:
        raise _without_servers(content, source)
    return {name: entry for name, entry in entries.items() if entry.get("disabled") not in (True, "true")}


def _at(content: dict[str, Any], keys: tuple[str, ...], source: str) -> dict[str, Any] | None:
    """The object under `keys`; None if there is none.

    Raises:
        ToolSourceError: a key on the way, or in the object, is there more than once.
    """
    found = content
    for key in keys:
        _refuse_repeated(found, (key,), source)
        below = found.get(key)
        if not is_object(below):
            return None
        found = below
    _refuse_repeated(found, found, source)
    return found


def _refuse_repeated(table: dict[str, Any], keys: Iterable[str], source: str) -> None:
    if isinstance(table, RepeatedKeys) and (twice := [key for key in keys if key in table.repeated]):
        named = ", ".join(map(repr, twice))
        raise ToolSourceError(source, f"has {named} more than once", "Rename one of them, or take it out.")


def _without_servers(content: dict[str, Any], source: str) -> ToolSourceError:
    """The error for a file without servers, or with those of single folders alone, as Claude Code keeps them."""
    projects = as_object(content.get("projects"))
    folders = [folder for folder, kept in projects.items() if as_object(as_object(kept).get("mcpServers"))]
    if not folders:
        return ToolSourceError(source, "has no `mcpServers`", f"{_SHAPE}; a file of tools does not list servers.")
    shown = ", ".join(folders[:_MOST_FOLDERS]) + (", …" if len(folders) > _MOST_FOLDERS else "")
    return ToolSourceError(
        source,
        f"has servers under `projects` alone, each for one folder: {shown}",
        "Choose some with `hikidashi serve import`, which writes a file for the gateway.",
    )


def server_from(name: str, given: Mapping[str, Any], references: References) -> McpServer:
    """The server that an entry describes, with its references expanded.

    Raises:
        EntryError: the entry cannot be used.
    """

    def texts(key: str) -> dict[str, str]:
        value: Any = {} if given.get(key) is None else given[key]
        if not is_object(value) or not all(map(_is_plain, value.values())):
            raise EntryError(f"has `{key}` that is not an object of strings", f'Write "{key}": {{"NAME": "value"}}.')
        return {str(key): references.expand(_plain(item)) for key, item in value.items()}

    def checked(server: McpServer) -> McpServer:
        check_server(server)
        return server

    def shown(text: str) -> str:
        return references.expand(text, keyring_allowed=False)

    given = common_form(given)
    command, url = given.get("command"), given.get("url")
    if isinstance(command, str) and command and isinstance(url, str) and url:
        raise EntryError("has both a `command` and a `url`", "Keep one of them.")
    if isinstance(command, str) and command:
        args: Any = [] if given.get("args") is None else given["args"]
        cwd = given.get("cwd")
        if not is_list(args) or not all(map(_is_plain, args)):
            raise EntryError("has `args` that is not a list of strings", 'Write "args": ["one", "two"].')
        if cwd is not None and not isinstance(cwd, str):
            raise EntryError("has a `cwd` that is not a string", 'Write "cwd": "folder", or leave it out.')
        program = _expanded(shown(command))
        if not program:
            raise EntryError("has a `command` that is empty once its variables are filled in", "Set them.")
        # As in VS Code, `env` prevails.
        env = (
            {**variables_of_file(given["envFile"], references), **texts("env")} if "envFile" in given else texts("env")
        )
        return checked(
            McpServer(
                name=name,
                transport="stdio",
                command=program,
                args=tuple(shown(_plain(arg)) for arg in args),
                env=env,
                cwd=None if cwd is None else shown(cwd),
                secrets=frozenset(references.secrets),
            )
        )
    if isinstance(url, str) and url:
        kind = given.get("type", "http")
        transport = _TRANSPORTS.get(str(kind).lower())
        if transport is None:
            raise EntryError(f"has the unknown type {kind!r}", 'Use "http" or "sse".')
        address, headers = references.expand(url).strip(), texts("headers")
        secrets = frozenset(references.secrets)
        return checked(McpServer(name=name, transport=transport, url=address, headers=headers, secrets=secrets))
    if command and not isinstance(command, str):
        remedy = 'Write "command": "program", and its arguments as "args": ["one", "two"].'
        raise EntryError("has a `command` that is not a string", remedy)
    remedy = "Give it a `command` with `args` and `env`, or a `url` with `headers`."
    raise EntryError("has neither a `command` nor a `url`", remedy)


def _expanded(program: str) -> str:
    """`program` with the folder of the user for a `~`, which without a shell nothing else expands."""
    try:
        return str(Path(program).expanduser()) if program.startswith("~") else program
    except RuntimeError:  # no home folder, or an unknown user: starting it reports that
        return program


def _is_plain(value: Any) -> bool:
    return isinstance(value, str | int | float)


def _plain(value: str | float) -> str:
    return value if isinstance(value, str) else json.dumps(value)
