"""Which tools are read-only, and which calls need a confirmation."""

from __future__ import annotations

from fnmatch import fnmatchcase

import mcp_types as types

from ..settings.options import ServerOptions

__all__ = ["is_read_only", "is_repeatable", "matches", "needs_confirmation"]


def is_read_only(tool: types.Tool, options: ServerOptions) -> bool:
    """Whether a tool is read-only, by the `read_only` option or by its annotations."""
    if matches(tool.name, options.read_only):
        return True
    return tool.annotations is not None and tool.annotations.read_only_hint is True


def is_repeatable(tool: types.Tool, options: ServerOptions) -> bool:
    """Whether a call may be repeated: the tool is read-only or idempotent."""
    return is_read_only(tool, options) or (tool.annotations is not None and tool.annotations.idempotent_hint is True)


def needs_confirmation(tool: types.Tool, options: ServerOptions) -> bool:
    """Whether a person must confirm a call of the tool."""
    if isinstance(options.confirm, tuple):
        return matches(tool.name, options.confirm)
    if options.confirm == "never" or is_read_only(tool, options):
        return False
    return tool.annotations is None or tool.annotations.destructive_hint is not False


def matches(name: str, patterns: tuple[str, ...]) -> bool:
    """Whether `name` matches one of the glob `patterns` (`*`, `?`, `[…]`)."""
    return any(fnmatchcase(name, pattern) for pattern in patterns)
