"""Which tools Claude Code is to offer to the model, and a check that it does."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from claude_agent_sdk import SystemMessage

from ...errors import ToolValidationError

_LONGEST_NAME = 128
_MOST_NAMED = 10


class Offer:
    """The tools of one session, by the names the model knows them by.

    Claude Code leaves out a tool that it cannot offer and does not say so; a model would then never use it. It lists
    what it offers at the start of each turn, before it asks the model.
    """

    def __init__(self, names: Iterable[str]) -> None:
        self.names = frozenset(names)
        """All of them are read-only to Claude Code, which therefore runs their calls beside others."""

    def check(self, message: object) -> None:
        """Raise if `message` lists the tools on offer, and one that was sent is missing.

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
