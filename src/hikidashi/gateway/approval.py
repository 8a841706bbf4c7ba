"""Servers that a person has agreed to start or to connect to: a config file is code.

An approval covers what the file says: the command, its arguments and working folder, the names of its variables and
the values of those that hold no secret; or the address and the names of its headers. References such as `${NAME}`
count as they are written, so a new value of a secret is not asked for again, and another reference is.

It covers two options as well, by which a file decides what happens without a person: tools that `read_only` takes as
reading are called without asking, and so are those that `confirm` leaves out. Options that ask for more confirmation
or take fewer tools as reading are not asked for, nor are limits.
"""

from __future__ import annotations

import hashlib
import json
import re
import shlex
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal
from urllib.parse import parse_qsl, urlsplit, urlunsplit

from ..common.files import private_folder, replace_file
from ..common.json import as_list
from ..common.unicode import visible
from ..servers.config import is_secret_name
from ..servers.references import references_in
from .options import GatewayServer

_HIDDEN = "***"
_RUNS_A_PROGRAM = re.compile(r"askpass|command|cmd|exec|file|helper|lib|path|plugin|prog|script", re.IGNORECASE)
_SECRET_OPTION = re.compile(r"--?[\w-]*(?:key|token|secret|password|passwd|pwd|credential)", re.IGNORECASE)
_PLAIN_KEY = re.compile(r"[A-Za-z0-9_+=-]{6,}")  # nothing that a shell or a path would need
_KNOWN_KEY = re.compile(r"(?:sk|pk|rk|tvly|xox[a-z]|xapp|gh[pousr]|github_pat|glpat|hf)[-_][A-Za-z0-9_-]{3,}")


class Approvals:
    """The approved servers, as digests in the file `path`."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def missing(self, servers: Iterable[GatewayServer]) -> list[GatewayServer]:
        """The servers that are not approved yet; one that has a problem cannot start, so it is left out."""
        known = self._read()
        return [
            server
            for server in servers
            if server.problem is None and not {_digest(server), _digest(server, confirm="never")} & known
        ]

    def add(self, servers: Iterable[GatewayServer]) -> None:
        """Record that these servers are approved.

        Raises:
            OSError: it cannot be written.
        """
        private_folder(self._path.parent)
        digests = self._read()
        for server in servers:
            digests |= {_digest(server), _digest(server, read_only=()), _digest_of_start(server)}
        replace_file(self._path, json.dumps(sorted(digests), indent=1).encode(), private=True)

    def shown(self, given: GatewayServer) -> str:
        """As `shown_server`, and that calls are not confirmed any more where that is what changed."""
        is_known = _digest_of_start(given) in self._read()
        return shown_server(given) + ("; confirm: never, unlike before" if is_known and not _confirmed(given) else "")

    def _read(self) -> set[str]:
        try:
            content: Any = json.loads(self._path.read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError):
            return set()
        digests = as_list(content)
        return {one for one in digests if isinstance(one, str)}


def shown_server(given: GatewayServer) -> str:
    """What would be started or connected to, as the file says it: in one line, with only secrets masked."""
    entry, server = _entry_of(given), given.server
    if server.transport == "stdio":
        command = str(entry["command"])
        parts = [shlex.join([command, *_shown_args([_text(arg) for arg in entry.get("args") or ()])])]
        parts += [f"which starts {shlex.quote(server.command)}"] if command != server.command else []
        parts += [f"env {name}={_shown_value(name, value)}" for name, value in _pairs(entry, "env")]
        parts += [f"in {server.cwd}"] if server.cwd else []
    else:
        parts = [_shown_url(str(entry["url"]))]
        parts += [f"header {name}={_references(value) or _HIDDEN}" for name, value in _pairs(entry, "headers")]
    parts += [f"read_only: {', '.join(given.options.read_only)}"] if given.options.read_only else []
    parts += [f"confirm: {', '.join(confirmed)}"] if (confirmed := _confirmed(given)) else []
    return "; ".join(map(visible, parts))


def _digest(
    given: GatewayServer, *, read_only: tuple[str, ...] | None = None, confirm: Literal["never"] | None = None
) -> str:
    """The digest of a server with its options, or with others in their place."""
    asked = given.options.confirm if confirm is None else confirm
    reading = sorted(given.options.read_only if read_only is None else read_only)
    has_default = asked == "never" and not reading
    return _digest_of([*_start(given), *([] if has_default else [[reading, asked]])])


def _digest_of_start(given: GatewayServer) -> str:
    """The digest of what is started or reached, whatever the options: it approves nothing."""
    return _digest_of(["with any options", *_start(given)])


def _confirmed(given: GatewayServer) -> tuple[str, ...]:
    """Which calls are confirmed: patterns, or `destructive`."""
    confirm = given.options.confirm
    return confirm if isinstance(confirm, tuple) else () if confirm == "never" else (confirm,)


def _start(given: GatewayServer) -> list[Any]:
    entry, server = _entry_of(given), given.server
    if server.transport == "stdio":
        env = [(name, _agreed_value(name, value)) for name, value in sorted(_pairs(entry, "env"))]
        # A relative path means another program in another folder.
        folder = server.cwd if given.entry is None else str(Path(given.entry.source).absolute().parent)
        return [entry["command"], list(entry.get("args") or ()), entry.get("cwd"), folder, env]
    headers = [(name, _references(value)) for name, value in sorted(_pairs(entry, "headers"))]
    return [server.transport, _shown_url(str(entry["url"])), headers, references_in(str(entry["url"]))]


def _digest_of(agreed: list[Any]) -> str:
    return hashlib.sha256(json.dumps(agreed).encode("utf-8", "surrogatepass")).hexdigest()


def _entry_of(given: GatewayServer) -> Mapping[str, Any]:
    if given.entry is not None:
        return given.entry.given
    server = given.server
    return {
        "command": server.command,
        "args": server.args,
        "env": server.env,
        "url": server.url,
        "headers": server.headers,
    }


def _pairs(entry: Mapping[str, Any], key: str) -> list[tuple[str, str]]:
    pairs: Mapping[str, Any] = entry.get(key) or {}  # any mapping, where a server is made in code
    return [(name, _text(value)) for name, value in pairs.items()]


def _agreed_value(name: str, value: str) -> str:
    """A variable's value without what is secret in it, but with its references."""
    # `SSH_ASKPASS` and the like name programs, which a person must see.
    is_secret = is_secret_name(name) and not _RUNS_A_PROGRAM.search(name)
    if is_secret or _KNOWN_KEY.fullmatch(value):
        return _references(value)
    return _shown_url(value) if "://" in value else value


def _shown_value(name: str, value: str) -> str:
    agreed = _agreed_value(name, value)
    return shlex.quote(agreed) if agreed else _HIDDEN if value else "''"


def _references(value: str) -> str:
    return " ".join(references_in(value))


def _shown_args(args: list[str]) -> list[str]:
    """Arguments without keys: only what is a bare key is hidden, so that no part of a script can be."""
    shown: list[str] = []
    for number, arg in enumerate(args):
        follows = number > 0 and _SECRET_OPTION.fullmatch(args[number - 1])
        option, equals, value = arg.partition("=")
        if _KNOWN_KEY.fullmatch(arg) or (follows and _PLAIN_KEY.fullmatch(arg)):
            shown.append(_HIDDEN)
        elif equals and _SECRET_OPTION.fullmatch(option) and _PLAIN_KEY.fullmatch(value):
            shown.append(f"{option}={_HIDDEN}")
        else:
            shown.append(arg)
    return shown


def _shown_url(url: str) -> str:
    """An address without its password and the secret values of its query."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return url
    user, at, host = parts.netloc.rpartition("@")
    name, colon, _ = user.partition(":")
    query = [
        (key, _HIDDEN if is_secret_name(key) and not references_in(value) else value)
        for key, value in parse_qsl(parts.query, keep_blank_values=True)
    ]
    netloc = f"{name}{colon}{_HIDDEN if colon else ''}{at}{host}"
    return urlunsplit((parts.scheme, netloc, parts.path, "&".join(map("=".join, query)), parts.fragment))


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)
