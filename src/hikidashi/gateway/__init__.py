"""`hikidashi serve`: every tool of many MCP servers behind one.

Offers `Gateway`, its options, and nothing of its inside.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..common.lazy import lazy

if TYPE_CHECKING:
    from .auth.options import OAuthOptions
    from .gateway import Gateway
    from .server import GatewayMCPServer
    from .settings.options import GatewayOptions, GatewayServer, ServerOptions
    from .transports import http_app, serve_stdio
    from .upstream.state import ServerState

_HOME_OF = {
    "Gateway": ".gateway",
    "GatewayMCPServer": ".server",
    "GatewayOptions": ".settings.options",
    "GatewayServer": ".settings.options",
    "OAuthOptions": ".auth.options",
    "ServerOptions": ".settings.options",
    "ServerState": ".upstream.state",
    "http_app": ".transports",
    "serve_stdio": ".transports",
}

__all__ = [
    "Gateway",
    "GatewayMCPServer",
    "GatewayOptions",
    "GatewayServer",
    "OAuthOptions",
    "ServerOptions",
    "ServerState",
    "http_app",
    "serve_stdio",
]

__getattr__, __dir__ = lazy(__name__, _HOME_OF, __all__)
