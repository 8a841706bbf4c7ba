"""Unique names for the tools and prompts of many servers, valid in every client."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Literal

__all__ = ["LONGEST_NAME", "SEPARATOR", "NameStyle", "exposed_names", "server_prefix"]

NameStyle = Literal["prefixed", "plain"]

SEPARATOR = "__"
LONGEST_NAME = 64 - len("mcp__hikidashi__")
"""Most characters of a name: the model APIs allow 64, and Claude Code adds its own prefix."""

_DIGEST = 8
_NOT_ALLOWED = re.compile(r"[^A-Za-z0-9_-]")


def exposed_names(
    servers: Mapping[str, Iterable[str]], style: NameStyle = "prefixed", *, reserved: Iterable[str] = ()
) -> dict[tuple[str, str], str]:
    """A unique name for each (server, name), the same for the same input.

    Args:
        servers: The names that each server has.
        style: "prefixed" is `server__name` for all; "plain" keeps a name that only one server has.
        reserved: Names that must not be used.
    """
    listed = [(server, name) for server, names in servers.items() for name in dict.fromkeys(names)]
    taken = Counter(name for _, name in listed)
    used = set(reserved)
    exposed: dict[tuple[str, str], str] = {}
    for server, name in listed:
        shown = _short(name, (server, name)) if style == "plain" and taken[name] == 1 else ""
        if not shown or shown in used:
            shown = _short(_NOT_ALLOWED.sub("_", server_prefix(server) + name), (server, name))
            if shown in used:  # two servers whose names differ in characters that the APIs do not take
                shown = _short(shown, (server, name), always=True)
        used.add(shown)
        exposed[server, name] = shown
    return exposed


def server_prefix(server: str) -> str:
    """The prefix of the names of `server`."""
    return _NOT_ALLOWED.sub("_", server) + SEPARATOR


def _short(name: str, identity: tuple[str, str], *, always: bool = False) -> str:
    if len(name) <= LONGEST_NAME and not always:
        return name
    digest = hashlib.sha256("\0".join(identity).encode("utf-8", "surrogatepass")).hexdigest()[:_DIGEST]
    return f"{name[: LONGEST_NAME - _DIGEST - 1]}_{digest}"
