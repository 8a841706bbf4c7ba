"""The servers that the clients of this machine have, each as `.mcp.json` would have it."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from ...common.jsonc import TextError, parse
from ...errors import ToolSourceError
from ...servers.clients import CLIENTS, Client, Format, Machine
from ._entries import Taken, is_ours, taken
from ._json_edit import EditError
from ._masking import HIDDEN, masked_args, masked_text, masked_url
from ._toml_edit import parse_toml

__all__ = ["Found", "Search", "content_of", "find_servers", "fingerprint", "read_bytes", "source_error"]


@dataclass(frozen=True, kw_only=True)
class Found:
    """A server of a client."""

    client: Client
    file: Path
    name: str
    taken: Taken = field(repr=False)
    project: str | None = None

    @property
    def entry(self) -> dict[str, Any]:
        """The server as `.mcp.json` has it, with its keys."""
        return self.taken.entry

    def shown(self) -> dict[str, Any]:
        """The server without its keys."""
        return _masked_entry(self.entry)


@dataclass(frozen=True, kw_only=True)
class Search:
    """What was found, and which files could not be read."""

    found: tuple[Found, ...]
    files: tuple[tuple[Client, Path], ...]
    """The files that were read."""
    problems: tuple[ToolSourceError, ...]
    own: tuple[tuple[Client, Path, str], ...]
    """Our own entries, which are left out."""


def find_servers(clients: Iterable[Client] = CLIENTS, *, machine: Machine | None = None) -> Search:
    """The servers in the files of `clients`; a file that cannot be read is reported, and the others are still read."""
    machine = machine or Machine()
    found: list[Found] = []
    files: list[tuple[Client, Path]] = []
    problems: list[ToolSourceError] = []
    own: list[tuple[Client, Path, str]] = []
    for client in clients:
        for place in client.on(machine):
            file = place.file(machine)
            if (client, file) in files:  # the project folder is the home folder
                continue
            try:
                data = read_bytes(file)
                if data is None:
                    continue
                content = content_of(
                    file, data, client.format, remedy="Its servers were not read: fix it, and try again."
                )
            except ToolSourceError as error:
                problems.append(error)
                continue
            files.append((client, file))
            project = str(machine.project) if place.of_project else None
            for where, servers in _server_tables(client, place.key, content, project):
                for name, given in servers.items():
                    if is_ours(given):
                        own.append((client, file, name))
                        continue
                    one = taken(client.name, given, home=str(machine.home), project=where)
                    found.append(Found(client=client, file=file, name=name, taken=one, project=where))
    return Search(found=tuple(found), files=tuple(files), problems=tuple(problems), own=tuple(own))


def _masked_entry(entry: dict[str, Any]) -> dict[str, Any]:
    """A server as it may be shown: variables and headers by name, addresses without queries, arguments without keys."""
    shown = dict(entry)
    if isinstance(entry.get("command"), str):
        shown["command"] = masked_text(entry["command"])
    if "args" in entry:
        shown["args"] = _without(masked_args([str(arg) for arg in entry["args"]]), entry)
    for key in ("env", "headers"):
        if key in entry:
            shown[key] = dict.fromkeys(entry[key], HIDDEN)
    if isinstance(entry.get("url"), str):
        shown["url"] = masked_url(entry["url"])
    return shown


def _without(args: list[str], entry: dict[str, Any]) -> list[str]:
    """Arguments that repeat the value of a variable or header, without it."""
    secrets = [str(value) for key in ("env", "headers") for value in entry.get(key, {}).values()]
    for secret in sorted((one for one in secrets if len(one) >= 6), key=len, reverse=True):
        args = [arg.replace(secret, HIDDEN) for arg in args]
    return args


def _server_tables(
    client: Client, key: tuple[str, ...], content: Any, project: str | None
) -> Iterable[tuple[str | None, dict[str, Any]]]:
    """The tables of servers in a file, each with the folder of the project that it is for."""
    if isinstance(servers := _at(content, key), dict):
        yield project, cast("dict[str, Any]", servers)
    if client.name == "claude-code":
        projects = _at(content, ("projects",))
        for folder, kept in cast("dict[str, Any]", projects).items() if isinstance(projects, dict) else ():
            if isinstance(servers := _at(kept, key), dict):
                yield folder, cast("dict[str, Any]", servers)


def _at(content: Any, key: tuple[str, ...]) -> Any:
    for name in key:
        content = cast("dict[str, Any]", content).get(name) if isinstance(content, dict) else None
    return content


def read_bytes(file: Path) -> bytes | None:
    """The content of `file`; None if it does not exist.

    Raises:
        ToolSourceError: it cannot be read.
    """
    try:
        return file.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        reason = f"cannot be read ({error.strerror or error})"
        raise ToolSourceError(str(file), reason, "Check its permissions.") from error


def content_of(
    file: Path, data: bytes, kind: Format, *, remedy: str = "Nothing was written; fix it, and try again."
) -> Any:
    """The value in `data`, which `file` has; an empty file has an empty one.

    Args:
        file: The file, for errors.
        data: Its bytes.
        kind: Its format.
        remedy: What the error for an invalid file says to do.

    Raises:
        ToolSourceError: it is invalid; the error names line and column.
    """
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        column = error.start - (data.rfind(b"\n", 0, error.start) + 1) + 1
        reason = f"is not text in UTF-8 (column {column})"
        raise ToolSourceError(str(file), reason, remedy, line) from error
    try:
        if kind == "toml":
            return parse_toml(text)
        node = parse(text, comments=kind == "jsonc")
    except TextError as error:
        raise source_error(file, kind, error, remedy) from error
    return {} if node is None else node.value


def source_error(
    file: Path, kind: Format, error: TextError, remedy: str = "Nothing was written; fix it, and try again."
) -> ToolSourceError:
    """The error for a file that is invalid, or cannot be edited as requested."""
    what = {"toml": "TOML", "json": "JSON", "jsonc": "JSON with comments"}[kind]
    problem = error.reason if isinstance(error, EditError) else f"is not {what}: {error.reason}"
    reason = re.sub(r"\s+", " ", f"{problem} (column {error.column})")
    return ToolSourceError(str(file), reason, remedy, error.line)


def fingerprint(entry: dict[str, Any]) -> str:
    """A digest that is equal for equal servers."""
    return hashlib.sha256(json.dumps(entry, sort_keys=True).encode("utf-8", "surrogatepass")).hexdigest()
