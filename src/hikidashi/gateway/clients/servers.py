"""The servers that the clients of this machine have, each as `.mcp.json` would have it, and shown without keys."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path, PurePath
from typing import Any

from ...common.json import as_object, is_list, is_object
from ...errors import ToolSourceError
from ...servers.clients import CLIENTS, Client, ClientName, Machine
from ...servers.config import common_form
from ...servers.references import EntryError, escaped
from ..config import options_of_entry
from .edits import content_of, read_bytes, value_at

HIDDEN = "***"

_NAME = r"[A-Za-z0-9_.-]*(?:key|token|secret|passw|pwd|auth|credential|bearer|cookie|session|dsn)[A-Za-z0-9_.-]*"
_SECRET_NAME = re.compile(_NAME, re.IGNORECASE)
_SECRET_OPTION = re.compile(rf"--?{_NAME}", re.IGNORECASE)
_PAIR_OPTION = re.compile(r"-e|-H|-u|--env|--headers?|--user", re.IGNORECASE)
_PAIR = re.compile(r"^([^=:]*[=:]\s*).+$", re.DOTALL)
_PAIR_IN_ONE = re.compile(r"^(--(?:env|headers?)=[^=:]*[=:]\s*).+$", re.DOTALL | re.IGNORECASE)
_ASSIGNED = re.compile(r"(^|[\s'\"])([A-Z_][A-Z0-9_]*=)(?!\*\*\*)([^\s'\"]+)")  # such as `docker run -e NAME=value`
_NAMED = re.compile(rf"(\b{_NAME}\s*[=:]\s*)(?:(Bearer|Basic|Token)\s+)?([^\s'\"&,]+)", re.IGNORECASE)
_LOGIN = re.compile(r"(\s(?:-u\s*|--user[\s=]+)[^\s'\":]+:)[^\s'\"]+")  # such as `curl -u NAME:password`
_SCHEME = re.compile(r"\b(Bearer|Basic|Token)\s+[^\s'\"]+", re.IGNORECASE)
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://[^\s'\"]+")
_PREFIX = re.compile(
    r"(?<![A-Za-z0-9_./@-])(?:(?:sk|pk|rk|tvly|xox[a-z]|xapp|gh[pousr]|github_pat|glpat|hf|npm|pypi|shpat|dop_v1|lin_api|"
    r"ntn|figd|sbp|whsec)[-_][A-Za-z0-9_.-]{3,}|(?:AKIA|ASIA|AIza|eyJ|ya29)[A-Za-z0-9_.-]{8,})"
)
_RANDOM = re.compile(r"(?<![A-Za-z0-9_./@+-])[A-Za-z0-9_+=-]{20,}(?![A-Za-z0-9_./@-])")
_HIDDEN_BELOW = frozenset({"env", "headers", "http_headers", "requestinit", "environment", "oauth", "auth"})
_SHORTEST = 4
_SHORTEST_ANYWHERE = 8  # shorter ones would mask words that are not keys


def masked_text(text: str) -> str:
    """`text` with `***` for whatever looks like a key."""
    text = _URL.sub(lambda found: masked_url(found[0]), text)
    text = _NAMED.sub(lambda found: f"{found[1]}{HIDDEN}", text)
    text = _ASSIGNED.sub(lambda found: f"{found[1]}{found[2]}{HIDDEN}", text)
    text = _LOGIN.sub(lambda found: f"{found[1]}{HIDDEN}", text)
    text = _SCHEME.sub(lambda found: f"{found[1]} {HIDDEN}", text)
    text = _PREFIX.sub(HIDDEN, text)
    return _RANDOM.sub(lambda found: HIDDEN if _looks_random(found[0]) else found[0], text)


def masked_args(args: list[str]) -> list[str]:
    """Arguments of a command; what follows an option such as `--api-key` is hidden whatever it looks like."""
    shown: list[str] = []
    for number, arg in enumerate(args):
        option = args[number - 1] if number else ""
        if _SECRET_OPTION.fullmatch(option) and not arg.startswith("-"):
            shown.append(HIDDEN)
        elif _PAIR_OPTION.fullmatch(option):  # `--header NAME: value`, `--env NAME=value`
            shown.append(_PAIR.sub(rf"\1{HIDDEN}", masked_text(arg)))
        else:
            shown.append(_PAIR_IN_ONE.sub(rf"\1{HIDDEN}", masked_text(arg)))
    return shown


def masked_url(url: str) -> str:
    """A URL without its user, the values of its query and parts of its path that look like keys."""
    address, mark, fragment = url.partition("#")
    address, question, query = address.partition("?")
    scheme, slashes, rest = address.partition("://")
    host, slash, path = rest.partition("/")
    if "@" in host:
        host = f"{HIDDEN}@{host.rpartition('@')[2]}"
    parts = [HIDDEN if _PREFIX.fullmatch(part) or _looks_random(part) else part for part in path.split("/")]
    pairs = [pair.partition("=") for pair in query.split("&")]
    query = "&".join(f"{name}={HIDDEN}" if equals else HIDDEN for name, equals, _ in pairs) if question else ""
    return f"{scheme}{slashes}{host}{slash}{'/'.join(parts)}{question}{query}{mark}{HIDDEN if fragment else ''}"


def masked_file_text(text: str, content: Any) -> str:
    """The text of a configuration, or a part of it, without the keys that the parsed `content` has."""
    secrets = {secret for secret in _secrets(content, hidden=False) if len(secret) >= _SHORTEST}
    for secret in sorted(secrets, key=len, reverse=True):
        for form in {secret, json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1]}:
            for quote in ('"', "'"):
                text = text.replace(f"{quote}{form}{quote}", f"{quote}{HIDDEN}{quote}")
            if len(form) >= _SHORTEST_ANYWHERE:
                text = text.replace(form, HIDDEN)
    return text


def _secrets(value: Any, *, hidden: bool) -> Iterator[str]:
    """Each text that is masked."""
    if is_object(value):
        for key, item in value.items():
            below = hidden or key.lower() in _HIDDEN_BELOW
            named = _SECRET_NAME.fullmatch(key) is not None and isinstance(item, str)
            yield from _secrets(item, hidden=below or named)
    elif is_list(value):
        texts = [item if isinstance(item, str) else "" for item in value]
        for item, text, shown in zip(value, texts, masked_args(texts), strict=True):
            if text and (hidden or shown != text):
                yield text
            elif not text:
                yield from _secrets(item, hidden=hidden)
    elif isinstance(value, str) and (hidden or masked_text(value) != value):
        yield value


def _looks_random(text: str) -> bool:
    """Whether a long word has letters and digits mixed as no name has them."""
    if len(text) < 20 or not re.fullmatch(r"[A-Za-z0-9_+=-]+", text):
        return False
    changes = sum(a.isdigit() != b.isdigit() for a, b in pairwise(text))
    return changes >= 4


_CARRIED = frozenset({"command", "args", "env", "envFile", "cwd", "url", "headers", "type", "disabled"})
_HARMLESS = frozenset({"source", "enabled", "transport", "hikidashi", "serverUrl", "httpUrl"})
_VARIABLE = re.compile(r"(\$*)\$\{([^}]*)\}")
_BARE_VARIABLE = re.compile(r"(\$*)\$(\w+)")
_PLAIN_VARIABLE = re.compile(r"\w+(?::-.*)?", re.DOTALL)
_TRANSPORTS = {"http": "http", "streamable-http": "http", "streamable_http": "http", "streamablehttp": "http"}
_TIMEOUT_UNIT: dict[ClientName, float] = {
    "claude-code": 0.001,
    "claude-code-project": 0.001,
    "gemini": 0.001,
    "zed": 1.0,
}
"""The unit of a client's `timeout`, in seconds."""
_NO_VARIABLES: frozenset[ClientName] = frozenset({"claude-desktop", "codex", "zed"})
"""Clients that do not expand `${NAME}`."""


@dataclass(frozen=True)
class Taken:
    """A server in the form of `.mcp.json`."""

    entry: dict[str, Any]
    ignored: tuple[str, ...] = ()
    """Keys that have no meaning here."""
    problem: str = ""
    """Why it cannot be taken over."""


class NotImportableError(Exception):
    """A server that cannot be taken over."""


def our_entry(client: Client, command: str, args: list[str]) -> dict[str, Any]:
    """Our entry in the form of `client`."""
    entry: dict[str, Any] = {"command": command, "args": args}
    if client.name in {"vscode", "claude-code", "claude-code-project"}:
        return {"type": "stdio", **entry}
    return {"source": "custom", **entry} if client.name == "zed" else entry


def is_ours(entry: Any) -> bool:
    """Whether a client's entry starts `hikidashi serve`."""
    if not is_object(entry):
        return False
    given = entry
    command, args = given.get("command"), given.get("args")
    if is_object(command):
        nested = command
        command, args = nested.get("path"), nested.get("args")
    words = [str(arg) for arg in args] if is_list(args) else []
    if not isinstance(command, str) or "serve" not in words:
        return False
    before = words[: words.index("serve")]
    program = PurePath(command.replace("\\", "/")).name.lower().removesuffix(".exe")
    return (program == "hikidashi" and not before) or "hikidashi" in before[-1:]


def taken(client: ClientName, given: Any, *, home: str, project: str | None) -> Taken:
    """A server of `client`, in the form of `.mcp.json`.

    Args:
        client: The client whose file it is from.
        given: The server in that file.
        home: The folder of the user, for `${userHome}`.
        project: The folder that the server belongs to; None if it belongs to the user.
    """
    if not is_object(given):
        return Taken({}, problem="it is not an object")
    entry = dict(given)
    if client in _NO_VARIABLES:
        entry = _escaped(entry)
    try:
        entry = _known_form(client, entry)
        _check(entry)
        options = {**_limits(client, entry), **_own_options(given)}
        carried = {key: value for key, value in entry.items() if key in _CARRIED}
        ignored = tuple(sorted(key for key in entry if key not in _CARRIED | _HARMLESS))
        if client not in _NO_VARIABLES:
            carried = _variables(carried, client, home, project)
        if "envFile" in carried:
            carried["envFile"] = _whole_path(carried["envFile"], project)
        if project is not None and "command" in carried:
            carried.setdefault("cwd", project)
        if options:
            carried["hikidashi"] = options
    except NotImportableError as error:
        return Taken({}, problem=str(error))
    return Taken(carried, ignored)


def _known_form(client: ClientName, entry: dict[str, Any]) -> dict[str, Any]:
    if client == "gemini" and "url" in entry and "httpUrl" not in entry and "transport" not in entry:
        entry.setdefault("type", "sse")
    entry = common_form(entry)
    if client == "zed":
        _from_zed(entry)
    if client == "codex":
        _from_codex(entry)
    if isinstance(entry.get("command"), str) and entry["command"]:
        entry.pop("type", None)
    elif "type" in entry:
        kind = str(entry["type"]).lower()
        entry["type"] = _TRANSPORTS.get(kind, kind)
    if entry.get("disabled") is not True:
        entry.pop("disabled", None)
    return entry


def _from_zed(entry: dict[str, Any]) -> None:
    if is_object(nested := entry.get("command")):  # the older format of Zed
        entry.update({"command": nested.get("path"), **{key: nested[key] for key in ("args", "env") if key in nested}})
    if "command" not in entry and "url" not in entry:
        raise NotImportableError("it belongs to an extension of Zed, which alone can start it")
    for key in ("args", "env"):
        if entry.get(key) is None:
            entry.pop(key, None)


def _from_codex(entry: dict[str, Any]) -> None:
    headers = dict(as_object(entry.pop("http_headers", None)))
    for name, variable in as_object(entry.pop("env_http_headers", None)).items():
        headers[name] = f"${{{variable}:-}}"
    if isinstance(bearer := entry.pop("bearer_token_env_var", None), str):
        headers["Authorization"] = f"Bearer ${{{bearer}:-}}"
    if headers:
        entry["headers"] = headers
    names = entry.pop("env_vars", None)
    if is_list(names):
        listed = [as_object(one).get("name", one) for one in names]
        entry["env"] = {**{str(name): f"${{{name}:-}}" for name in listed}, **as_object(entry.get("env"))}


def _check(entry: dict[str, Any]) -> None:
    """Raise unless it is a server that the gateway can read: one that it cannot would keep all others from starting."""
    for key in ("command", "url"):
        if not (isinstance(entry.get(key), str) and entry[key]):
            entry.pop(key, None)
    if "command" not in entry and "url" not in entry:
        raise NotImportableError("it has neither a `command` nor a `url`")
    args: Any = entry.get("args", [])
    if not is_list(args) or not all(map(_is_plain, args)):
        raise NotImportableError("its `args` is not a list of strings")
    for key in ("env", "headers"):
        value: Any = entry.get(key, {})
        if not is_object(value) or not all(map(_is_plain, value.values())):
            raise NotImportableError(f"its `{key}` is not an object of strings")
    if not isinstance(entry.get("cwd", ""), str):
        raise NotImportableError("its `cwd` is not a string")
    if "command" not in entry and entry.get("type", "http") not in {"http", "sse"}:
        raise NotImportableError(f"its `type` is {entry['type']!r}: only stdio, http and sse can be reached")
    if "envFile" in entry and not (isinstance(entry["envFile"], str) and "command" in entry):
        raise NotImportableError("its `envFile` is not a string, or it has no `command`")


def _whole_path(path: str, project: str | None) -> str:
    """The `envFile` of an entry by a path that is the same from our file: that is in another folder."""
    if PurePath(path).is_absolute() or path.startswith(("~", "${")):
        return path
    if project is None:
        raise NotImportableError(f"its `envFile` is {path!r}: write the whole path, or the variables into `env`")
    return str(PurePath(project) / path)


def _is_plain(value: Any) -> bool:
    return isinstance(value, str | int | float)


def _limits(client: ClientName, entry: dict[str, Any]) -> dict[str, float]:
    """Time limits under the names that the gateway has for them."""
    options: dict[str, float] = {}
    known = {
        "startup_timeout_sec": ("start_seconds", 1.0),
        "startup_timeout_ms": ("start_seconds", 0.001),
        "tool_timeout_sec": ("call_seconds", 1.0),
    }
    if client in _TIMEOUT_UNIT:
        known["timeout"] = ("call_seconds", _TIMEOUT_UNIT[client])
    for name, (option, factor) in known.items():
        value = entry.get(name)
        if isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < math.inf:
            options[option] = max(round(value * factor, 3), 0.001)
            del entry[name]
    return options


def _own_options(given: dict[str, Any]) -> dict[str, Any]:
    """The options for the gateway in an entry, unchanged."""
    try:
        options_of_entry(given.get("hikidashi"))
    except EntryError as error:
        raise NotImportableError(f"it {error.reason}. {error.remedy}") from error
    return as_object(given.get("hikidashi"))


def _variables(value: Any, client: ClientName, home: str, project: str | None) -> Any:
    """`value` with the client's variables in the form `${NAME}`."""
    if is_object(value):
        items = value.items()
        return {key: _variables(item, client, home, project) for key, item in items}
    if is_list(value):
        return [_variables(item, client, home, project) for item in value]
    if not isinstance(value, str):
        return value

    def variable(found: re.Match[str]) -> str:
        meant = filled_in(found[2])
        # Dollars in front of a reference are doubled: in our file `$${NAME}` is not a reference.
        return (found[1] * 2 if meant.startswith("${") else found[1]) + meant

    def filled_in(name: str) -> str:
        if name.startswith("env:"):
            return f"${{{name[4:]}:-}}"
        if name == "userHome":
            return home
        if name.startswith(("workspaceFolder", "workspaceRoot")) and project is not None and ":" not in name:
            return project
        if name in {"pathSeparator", "/"}:
            return "/"
        if name.startswith("input:"):
            raise NotImportableError(f"it asks for `${{{name}}}`: write `${{NAME}}` and set that environment variable")
        if not _PLAIN_VARIABLE.fullmatch(name) or name.startswith("workspaceFolder"):
            raise NotImportableError(f"it uses `${{{name}}}`, which only {client} fills in: write the value")
        return f"${{{name}}}"

    value = _VARIABLE.sub(variable, value)
    return _BARE_VARIABLE.sub(r"\1\1${\2:-}", value) if client == "gemini" else value


def _escaped(value: Any) -> Any:
    """`value` with its texts escaped, so that nothing in them is expanded."""
    if is_object(value):
        return {key: _escaped(item) for key, item in value.items()}
    if is_list(value):
        return [_escaped(item) for item in value]
    return escaped(value) if isinstance(value, str) else value


@dataclass(frozen=True, kw_only=True)
class ClientServer:
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
class FoundServers:
    """What was found, and which files could not be read."""

    found: tuple[ClientServer, ...]
    files: tuple[tuple[Client, Path], ...]
    """The files that were read."""
    problems: tuple[ToolSourceError, ...]
    own: tuple[tuple[Client, Path, str], ...]
    """Our own entries, which are left out."""


def find_servers(clients: Iterable[Client] = CLIENTS, *, machine: Machine | None = None) -> FoundServers:
    """The servers in the files of `clients`; a file that cannot be read is reported, and the others are still read."""
    machine = machine or Machine()
    found: list[ClientServer] = []
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
                    found.append(ClientServer(client=client, file=file, name=name, taken=one, project=where))
    return FoundServers(found=tuple(found), files=tuple(files), problems=tuple(problems), own=tuple(own))


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
    if isinstance(servers := value_at(content, key), dict):
        yield project, servers
    if client.name == "claude-code":
        projects = value_at(content, ("projects",))
        for folder, kept in projects.items() if is_object(projects) else ():
            if isinstance(servers := value_at(kept, key), dict):
                yield folder, servers


def fingerprint(entry: dict[str, Any]) -> str:
    """A digest that is equal for equal servers."""
    return hashlib.sha256(json.dumps(entry, sort_keys=True).encode("utf-8", "surrogatepass")).hexdigest()
