"""Pinned tools: by patterns, and those that the records say are most used."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Protocol, runtime_checkable

from ..settings.options import GatewayOptions
from .names import NameStyle, server_prefix

__all__ = ["DEFAULT_MOST_USED", "asks_for_records", "pinned_patterns", "pins_at_start"]

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
