"""What Claude Code takes in a list of tools, and what it would drop without a word.

Measured on the CLI 2.1.325: it drops a tool whose full name is longer than 128 characters or the same as another's,
and every tool of a server called `ide`; it cuts a description at 4,096 characters. Schemas are `root_schema`'s part.
"""

from __future__ import annotations

import logging
import re
from functools import lru_cache
from typing import Any

from ..errors import ToolValidationError
from .root_schema import root_schema

__all__ = ["MAX_RESULT_CHARS", "check_server_name", "listed_schema", "shown_name", "wire_name"]

logger = logging.getLogger("hikidashi")

MAX_RESULT_CHARS = 500_000
"""The most that Claude Code takes; without it a result over about 50,000 characters is moved to a file."""

_LONGEST_NAME = 128
_LONGEST_DESCRIPTION = 4_096
_RESERVED_SERVERS = frozenset({"ide"})


def shown_name(name: str) -> str:
    """`name` as Claude Code shows it: what the API does not allow in a tool name becomes `_`."""
    return re.sub(r"[^a-zA-Z0-9_-]", "_", name)


def wire_name(server_name: str, tool_name: str) -> str:
    """The name by which the model knows a tool of a server."""
    return f"mcp__{shown_name(server_name)}__{shown_name(tool_name)}"


def check_server_name(name: str) -> None:
    """Raise unless Claude Code offers the tools of a server of this name.

    Raises:
        ToolValidationError: it is empty, or one whose tools Claude Code keeps to itself.
    """
    if not name.strip() or name in _RESERVED_SERVERS:
        raise ToolValidationError(
            f"Claude Code offers no tools of a server called {name!r}. Give the server another name."
        )


def listed_schema(server_name: str, tool_name: str, description: str, schema: object) -> dict[str, Any]:
    """The input schema under which Claude Code lists the tool; a description that it cuts is logged once.

    Raises:
        ToolValidationError: the tool has no name, or one that is too long with `mcp__<server>__` in front.
        Unsupported: the schema cannot be written with one object at its root; see `root_schema`.
    """
    if not tool_name.strip():
        raise ToolValidationError(f"A tool needs a name, got {tool_name!r}.", tool_name)
    shown = wire_name(server_name, tool_name)
    if len(shown) > _LONGEST_NAME:
        raise ToolValidationError(
            f"Claude Code would leave out tool {tool_name!r}: {shown!r} has {len(shown)} characters and the limit is "
            f"{_LONGEST_NAME}. Shorten it with `tool.renamed(...)`, or the name of the server.",
            tool_name,
        )
    if len(description) > _LONGEST_DESCRIPTION:
        _warn_of_cut(tool_name, len(description))
    return root_schema(schema, tool_name=tool_name, target="Claude Code")


@lru_cache(maxsize=1024)
def _warn_of_cut(tool_name: str, length: int) -> None:
    logger.warning(
        "Claude Code shows the model only the first %s of the %s characters that describe tool %r. Shorten the "
        "description, or move parts of it to the descriptions of the arguments.",
        f"{_LONGEST_DESCRIPTION:,}",
        f"{length:,}",
        tool_name,
    )
