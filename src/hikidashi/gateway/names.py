"""Unique names for the tools and prompts of many servers, valid in every client, and which are always listed."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Protocol, runtime_checkable

from ..config.gateway import LONGEST_NAME, SHORTEST_LIMIT, GatewayOptions, NameStyle

SEPARATOR = "__"
OUR_NAME = "hikidashi"
"""Our usual name in the configuration of a client."""
_IN_MODEL_APIS = 64
_PREFIX = "mcp__{}__"  # of Claude Code; those of other clients are not longer
LONGEST_CLIENT_NAME = _IN_MODEL_APIS - len(_PREFIX.format("")) - SHORTEST_LIMIT
"""Most characters of our name in a client."""

_DIGEST = 8
_SHORT_DIGEST = 6
_NOT_ALLOWED = re.compile(r"[^A-Za-z0-9_-]")


def exposed_names(
    servers: Mapping[str, Iterable[str]],
    style: NameStyle = "prefixed",
    *,
    longest: int = LONGEST_NAME,
    reserved: Iterable[str] = (),
) -> dict[tuple[str, str], str]:
    """A unique name for each (server, name), the same for the same input.

    Args:
        servers: The names that each server has.
        style: "prefixed" is `server__name` for all; "plain" keeps a name that only one server has.
        longest: Most characters of a name; a longer one is cut, and ends with a digest.
        reserved: Names that must not be used.
    """
    listed = [(server, name) for server, names in servers.items() for name in dict.fromkeys(names)]
    taken = Counter(name for _, name in listed)
    used = set(reserved)
    exposed: dict[tuple[str, str], str] = {}
    for server, name in listed:
        shown = _short(name, (server, name), longest) if style == "plain" and taken[name] == 1 else ""
        if not shown or shown in used:
            shown = _short(server_prefix(server) + _in_ascii(name, "tool"), (server, name), longest)
            if shown in used:  # two servers whose names differ in characters that the APIs do not take
                shown = _short(shown, (server, name), longest, always=True)
        used.add(shown)
        exposed[server, name] = shown
    return exposed


def server_prefix(server: str) -> str:
    """The prefix of the names of `server`."""
    return _in_ascii(server, "server") + SEPARATOR


def _in_ascii(text: str, kind: str) -> str:
    """`text` in characters that the model APIs take.

    A text of another script gets a digest: only the number of underscores would tell 天気 from 株価, and a model does
    not count them reliably.
    """
    if text.isascii():
        return _NOT_ALLOWED.sub("_", text)
    rest = re.sub(r"[^A-Za-z0-9-]+", "_", text).strip("_") or kind
    return f"{rest}_{hashlib.sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()[:_SHORT_DIGEST]}"


def longest_name_with(client_name: str) -> int:
    """Most characters of a name for a client in which we are called `client_name`."""
    return min(LONGEST_NAME, _IN_MODEL_APIS - len(_PREFIX.format(client_name)))


def _short(name: str, identity: tuple[str, str], longest: int, *, always: bool = False) -> str:
    if len(name) <= longest and not always:
        return name
    digest = hashlib.sha256("\0".join(identity).encode("utf-8", "surrogatepass")).hexdigest()[:_DIGEST]
    return f"{name[: longest - _DIGEST - 1]}_{digest}"


DEFAULT_MOST_USED = 5
_MOST_USED = re.compile(r"most-used(?::([1-9][0-9]{0,3}))?")
_SPECIAL = re.compile(r"([*?[])")


def asks_for_records(pin: Sequence[str]) -> bool:
    """Whether a pattern is `most-used` or `most-used:COUNT`, which needs records."""
    return any(_MOST_USED.fullmatch(pattern) for pattern in pin)


@runtime_checkable
class _Records(Protocol):
    def usage(self) -> dict[str, int]: ...


def pins_at_start(options: GatewayOptions, record: object, servers: Collection[str]) -> tuple[str, ...]:
    """The patterns of the pinned tools; records are read once, so that `tools/list` stays the same.

    Raises:
        ValueError: the most used tools are asked for, and nothing is recorded.
        SearchLogError: the records cannot be read.
    """
    if not asks_for_records(options.pin):
        return options.pin
    if not isinstance(record, _Records):
        raise ValueError("`pin` has `most-used`, and nothing is recorded: give `record`, or `--record FILE`.")
    return pinned_patterns(options.pin, record.usage(), servers=servers, names=options.names)


def pinned_patterns(
    pin: Sequence[str], usage: Mapping[str, int], *, servers: Collection[str], names: NameStyle
) -> tuple[str, ...]:
    """The patterns of `pin`, with `most-used` replaced by the names of the most used tools.

    Args:
        pin: Patterns of tools, `most-used` (which is five) or `most-used:COUNT`.
        usage: Calls of each tool by the name under which it is offered.
        servers: The names of the configured servers; tools of others are skipped.
        names: With "prefixed", names contain the server.
    """
    prefixes = tuple(map(server_prefix, servers))
    known = [name for name in usage if names == "plain" or name.startswith(prefixes)]
    ranked = sorted(known, key=lambda name: (-usage[name], name))
    patterns: list[str] = []
    for pattern in pin:
        if found := _MOST_USED.fullmatch(pattern):
            most = int(found[1] or DEFAULT_MOST_USED)
            patterns += [_SPECIAL.sub(r"[\1]", name) for name in ranked[:most]]
        else:
            patterns.append(pattern)
    return tuple(dict.fromkeys(patterns))
