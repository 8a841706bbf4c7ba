"""The tools of a connected server: invalid ones are left out, so that one of them does not cost the others."""

from __future__ import annotations

from ...convert.mcp import from_mcp
from ...errors import MissingExtra, ToolValidationError
from ...tool import Tool
from .messages.list_repairs import ListRepairs

try:
    from mcp.client import Client
    from pydantic import ValidationError
except ImportError as error:
    raise MissingExtra("mcp", "mcp") from error

__all__ = ["listed_tools"]


async def listed_tools(client: Client, repairs: ListRepairs) -> tuple[dict[str, Tool], tuple[str, ...]]:
    """The tools of a server by name, and what was left out, with the reason.

    Args:
        client: Connected through `repairs.wrap`.
        repairs: Takes invalid tools out of the list.

    Raises:
        Exception: as `from_mcp`.
    """
    notes: list[str] = []
    try:
        listed = await from_mcp(client)
    except (ValidationError, ToolValidationError):
        with repairs.on(client.protocol_version, notes):
            listed = await from_mcp(client)
    tools: dict[str, Tool] = {}
    twice = [tool.name for tool in listed if tools.setdefault(tool.name, tool) is not tool]
    return tools, (*notes, *(f"two tools are named {name!r}; the first is used" for name in twice))
