"""A client's description of a server in the form of `.mcp.json`, and our own entry in the client's form.

What has no place in `.mcp.json` is named, never dropped in silence; what would change where or whether a server runs
makes it one that cannot be taken over.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any, cast

from ...servers.clients import Client, ClientName
from ...servers.config import common_form
from ...servers.references import EntryError, escaped
from ..settings.config import options_of_entry

__all__ = ["Taken", "is_ours", "our_entry", "taken"]

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


class _UnusableError(Exception):
    """A server that cannot be taken over."""


def our_entry(client: Client, command: str, args: list[str]) -> dict[str, Any]:
    """Our entry in the form of `client`."""
    entry: dict[str, Any] = {"command": command, "args": args}
    if client.name in {"vscode", "claude-code", "claude-code-project"}:
        return {"type": "stdio", **entry}
    return {"source": "custom", **entry} if client.name == "zed" else entry


def is_ours(entry: Any) -> bool:
    """Whether a client's entry starts `hikidashi serve`."""
    if not isinstance(entry, dict):
        return False
    given = cast("dict[str, Any]", entry)
    command, args = given.get("command"), given.get("args")
    if isinstance(command, dict):
        nested = cast("dict[str, Any]", command)
        command, args = nested.get("path"), nested.get("args")
    words = [str(arg) for arg in cast("list[Any]", args)] if isinstance(args, list) else []
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
    if not isinstance(given, dict):
        return Taken({}, problem="it is not an object")
    entry = dict(cast("dict[str, Any]", given))
    if client in _NO_VARIABLES:
        entry = _escaped(entry)
    try:
        entry = _known_form(client, entry)
        _check(entry)
        options = {**_limits(client, entry), **_own_options(cast("dict[str, Any]", given))}
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
    except _UnusableError as error:
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
    if isinstance(entry.get("command"), dict):  # the older format of Zed
        nested = cast("dict[str, Any]", entry.pop("command"))
        entry.update({"command": nested.get("path"), **{key: nested[key] for key in ("args", "env") if key in nested}})
    if "command" not in entry and "url" not in entry:
        raise _UnusableError("it belongs to an extension of Zed, which alone can start it")
    for key in ("args", "env"):
        if entry.get(key) is None:
            entry.pop(key, None)


def _from_codex(entry: dict[str, Any]) -> None:
    headers = dict(_object(entry.pop("http_headers", None)))
    for name, variable in _object(entry.pop("env_http_headers", None)).items():
        headers[name] = f"${{{variable}:-}}"
    if isinstance(bearer := entry.pop("bearer_token_env_var", None), str):
        headers["Authorization"] = f"Bearer ${{{bearer}:-}}"
    if headers:
        entry["headers"] = headers
    names = entry.pop("env_vars", None)
    if isinstance(names, list):
        listed = [_object(one).get("name", one) for one in cast("list[Any]", names)]
        entry["env"] = {**{str(name): f"${{{name}:-}}" for name in listed}, **_object(entry.get("env"))}


def _check(entry: dict[str, Any]) -> None:
    """Raise unless it is a server that the gateway can read: one that it cannot would keep all others from starting."""
    for key in ("command", "url"):
        if not (isinstance(entry.get(key), str) and entry[key]):
            entry.pop(key, None)
    if "command" not in entry and "url" not in entry:
        raise _UnusableError("it has neither a `command` nor a `url`")
    args: Any = entry.get("args", [])
    if not isinstance(args, list) or not all(map(_is_plain, cast("list[Any]", args))):
        raise _UnusableError("its `args` is not a list of strings")
    for key in ("env", "headers"):
        value: Any = entry.get(key, {})
        if not isinstance(value, dict) or not all(map(_is_plain, cast("dict[str, Any]", value).values())):
            raise _UnusableError(f"its `{key}` is not an object of strings")
    if not isinstance(entry.get("cwd", ""), str):
        raise _UnusableError("its `cwd` is not a string")
    if "command" not in entry and entry.get("type", "http") not in {"http", "sse"}:
        raise _UnusableError(f"its `type` is {entry['type']!r}: only stdio, http and sse can be reached")
    if "envFile" in entry and not (isinstance(entry["envFile"], str) and "command" in entry):
        raise _UnusableError("its `envFile` is not a string, or it has no `command`")


def _whole_path(path: str, project: str | None) -> str:
    """The `envFile` of an entry by a path that is the same from our file: that is in another folder."""
    if PurePath(path).is_absolute() or path.startswith(("~", "${")):
        return path
    if project is None:
        raise _UnusableError(f"its `envFile` is {path!r}: write the whole path, or the variables into `env`")
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
        raise _UnusableError(f"it {error.reason}. {error.remedy}") from error
    return _object(given.get("hikidashi"))


def _variables(value: Any, client: ClientName, home: str, project: str | None) -> Any:
    """`value` with the client's variables in the form `${NAME}`."""
    if isinstance(value, dict):
        items = cast("dict[str, Any]", value).items()
        return {key: _variables(item, client, home, project) for key, item in items}
    if isinstance(value, list):
        return [_variables(item, client, home, project) for item in cast("list[Any]", value)]
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
            raise _UnusableError(f"it asks for `${{{name}}}`: write `${{NAME}}` and set that environment variable")
        if not _PLAIN_VARIABLE.fullmatch(name) or name.startswith("workspaceFolder"):
            raise _UnusableError(f"it uses `${{{name}}}`, which only {client} fills in: write the value")
        return f"${{{name}}}"

    value = _VARIABLE.sub(variable, value)
    return _BARE_VARIABLE.sub(r"\1\1${\2:-}", value) if client == "gemini" else value


def _escaped(value: Any) -> Any:
    """`value` with its texts escaped, so that nothing in them is expanded."""
    if isinstance(value, dict):
        return {key: _escaped(item) for key, item in cast("dict[str, Any]", value).items()}
    if isinstance(value, list):
        return [_escaped(item) for item in cast("list[Any]", value)]
    return escaped(value) if isinstance(value, str) else value


def _object(value: Any) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}
