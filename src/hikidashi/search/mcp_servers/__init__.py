"""MCP servers as sources of tools: read from a config file, started, listed once or followed live.

`read_mcp_config`, `tools_of_servers`, `LiveServers`; error results for calls to lost servers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...common.lazy import lazy

if TYPE_CHECKING:
    from .entries.config import McpServer, read_mcp_config
    from .listing import Answer, ServerTools, tools_of_servers
    from .live import LiveServers
    from .state import ServerState

__all__ = ["Answer", "LiveServers", "McpServer", "ServerState", "ServerTools", "read_mcp_config", "tools_of_servers"]

_HOME_OF = {
    "Answer": ".listing",
    "LiveServers": ".live",
    "McpServer": ".entries.config",
    "ServerState": ".state",
    "ServerTools": ".listing",
    "read_mcp_config": ".entries.config",
    "tools_of_servers": ".listing",
}

__getattr__, __dir__ = lazy(__name__, _HOME_OF, __all__)
