"""A check that Claude Code offers every tool to the model that it was given."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from claude_agent_sdk import SystemMessage

from ...errors import ToolValidationError

_LONGEST_NAME = 128
_MOST_NAMED = 10


class ExpectedTools:
    """The names of the tools that the model of a session must see.

    Claude Code drops a tool that it cannot offer, silently. It lists the tools at the start of each turn, before it
    asks the model.
    """

    def __init__(self, names: Iterable[str]) -> None:
        self.names = frozenset(names)
        """All of them are read-only to Claude Code, which therefore runs their calls concurrently."""

    def check(self, message: object) -> None:
        """Raise if `message` is a list of tools in which one is missing.

        Raises:
            ToolValidationError: Claude Code does not offer a tool.
        """
        if not isinstance(message, SystemMessage) or message.subtype != "init":
            return
        missing = sorted(self.names.difference(message.data.get("tools") or ()))
        if missing:
            raise ToolValidationError(_explained(missing, message.data), missing[0])


def _explained(missing: list[str], init: dict[str, Any]) -> str:
    named = ", ".join(map(repr, missing[:_MOST_NAMED]))
    more = f" and {len(missing) - _MOST_NAMED} more" if len(missing) > _MOST_NAMED else ""
    servers: list[dict[str, Any]] = init.get("mcp_servers") or []
    down = {server["name"]: server["status"] for server in servers if server["status"] != "connected"}
    reasons = [f"the MCP server {name!r} is {status!r}" for name, status in down.items()]
    if (longest := max(map(len, missing))) > _LONGEST_NAME:
        reasons.append(f"a name has {longest} characters, and the limit is {_LONGEST_NAME}")
    reasons = reasons or [
        "an input schema with `anyOf`, `oneOf` or `allOf` at its root, or `disallowed_tools`, a hook or a settings "
        "file that denies the tool"
    ]
    return (
        f"Claude Code does not offer {len(missing)} of the tools that it was given: {named}{more}. "
        f"Likely reason: {'; '.join(reasons)}. Change the tool, or leave it out of the agent."
    )
