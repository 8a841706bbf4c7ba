"""`hikidashi serve`: every tool of many MCP servers behind one.

Offers `Gateway`, its options, and nothing of its inside.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..common.lazy import attach

if TYPE_CHECKING:
    from ..config.gateway import GatewayOptions as GatewayOptions
    from ..config.gateway import ServerOptions as ServerOptions
    from .gateway import Gateway as Gateway
    from .http_server import http_app as http_app
    from .options import GatewayServer as GatewayServer
    from .options import OAuthOptions as OAuthOptions
    from .server import GatewayMCPServer as GatewayMCPServer
    from .server import serve_stdio as serve_stdio
    from .upstream.state import ServerState as ServerState
else:
    __getattr__, __dir__, __all__ = attach(__name__)
