"""What Claude Code accepts in a list of tools, and what it would drop silently.

Measured on the CLI 2.1.325: it drops a tool whose full name is longer than 128 characters or the same as another's, so
names are mapped to others that fit, and every tool of a server called `ide`; it cuts a description at 4,096
characters. Schemas are handled by `root_schema`.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from ..errors import ToolValidationError
from .shared.root_schema import root_schema
from .shared.wire_names import WireNames, plain_name

__all__ = [
    "MAX_RESULT_CHARS",
    "check_server_name",
    "listed_schema",
    "names_in_claude",
    "shown_name",
    "wire_name",
]

logger = logging.getLogger("hikidashi")

MAX_RESULT_CHARS = 500_000
"""The largest limit that Claude Code accepts; the default moves results over about 50,000 characters to a file."""

_LONGEST_NAME = 128
_LONGEST_DESCRIPTION = 4_096
_RESERVED_SERVERS = frozenset({"ide"})


def shown_name(name: str) -> str:
    """The name of a server in Claude Code: each UTF-16 code unit that the API does not allow becomes `_`."""
    return plain_name("".join(letter if letter <= "\uffff" else "__" for letter in name))


def names_in_claude(server_name: str, names: Iterable[str]) -> WireNames:
    """The names of the tools of a server in Claude Code, without the prefix `mcp__<server>__`.

    Raises:
        ToolValidationError: the name of the server is too long.
    """
    room = _LONGEST_NAME - len(wire_name(server_name, ""))
    try:
        return WireNames(names, longest=room)
    except ValueError as error:
        raise ToolValidationError(
            f"The name {server_name!r} of the server has {len(server_name)} characters, which leaves {max(room, 0)} of "
            f"the {_LONGEST_NAME} that Claude Code allows for the whole name of a tool. Give the server a shorter name."
        ) from error


def wire_name(server_name: str, name: str) -> str:
    """The full name of a tool, as the model sees it; `name` is its name in `names_in_claude`."""
    return f"mcp__{shown_name(server_name)}__{name}"


def check_server_name(name: object) -> None:
    """Raise unless Claude Code offers the tools of a server of this name.

    Raises:
        ToolValidationError: it is not text, empty, or reserved by Claude Code.
    """
    if not isinstance(name, str):
        raise ToolValidationError(f"The name of a server must be text, got {name!r:.100}. Use a name such as 'tools'.")
    if not name.strip() or name in _RESERVED_SERVERS:
        raise ToolValidationError(
            f"Claude Code offers no tools of a server called {name!r}. Give the server another name."
        )


def listed_schema(tool_name: str, description: str, schema: object) -> dict[str, Any]:
    """The input schema under which Claude Code lists the tool; a description that it cuts is logged once.

    Raises:
        ToolValidationError: the tool has no name.
        Unsupported: the schema cannot be written with one object at its root; see `root_schema`.
    """
    if not tool_name.strip():
        raise ToolValidationError(f"A tool needs a name, got {tool_name!r}.", tool_name)
    if len(description) > _LONGEST_DESCRIPTION:
        _warn_about_cut(tool_name, len(description))
    return root_schema(schema, tool_name=tool_name, target="Claude Code")


@lru_cache(maxsize=1024)
def _warn_about_cut(tool_name: str, length: int) -> None:
    logger.warning(
        "Claude Code shows the model only the first %s of the %s characters that describe tool %r. Shorten the "
        "description, or move parts of it to the descriptions of the arguments.",
        f"{_LONGEST_DESCRIPTION:,}",
        f"{length:,}",
        tool_name,
    )
