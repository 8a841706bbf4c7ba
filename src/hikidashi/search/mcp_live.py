"""Alias of `hikidashi.search.mcp_servers.live`, where these names live now."""

from .mcp_servers.live import LiveServers
from .mcp_servers.state import ServerState

__all__ = ["LiveServers", "ServerState"]
