"""The gateway over stdio and over streamable HTTP."""

from __future__ import annotations

import hmac
from typing import TYPE_CHECKING, Any

from ..common.urls import is_loopback
from ..errors import MissingExtra
from .gateway import Gateway
from .server import GatewayMCPServer

try:
    from mcp.server.stdio import stdio_server
    from mcp.server.transport_security import TransportSecuritySettings
    from starlette.responses import JSONResponse
except ImportError as error:
    raise MissingExtra("mcp", "mcp") from error

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

__all__ = ["http_app", "serve_stdio"]


async def serve_stdio(gateway: Gateway) -> None:
    """Speak MCP on standard input and output until the client closes them."""
    server = GatewayMCPServer(gateway)
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


def http_app(gateway: Gateway, *, host: str = "127.0.0.1", token: str | None = None) -> Any:
    """An ASGI application with the gateway at `/mcp`.

    Args:
        gateway: An entered gateway.
        host: Where it will listen; on a loopback address, requests for another host or from another origin are refused.
        token: What clients must send as `Authorization: Bearer ...`.
    """
    app = GatewayMCPServer(gateway).streamable_http_app(host=host, transport_security=_security(host))
    return app if token is None else _Bearer(app, token)


def _security(host: str) -> TransportSecuritySettings | None:
    """Against pages that reach this machine under a name of their own: who is asked for, and by whom, must be here."""
    if not is_loopback(host):
        return None  # behind a token, and under names that only its owner knows
    names = dict.fromkeys(("127.0.0.1", "localhost", "[::1]", f"[{host}]" if ":" in host else host))
    hosts = [shown for name in names for shown in (name, f"{name}:*")]
    return TransportSecuritySettings(
        enable_dns_rebinding_protection=True,
        allowed_hosts=hosts,
        allowed_origins=[f"{scheme}://{shown}" for scheme in ("http", "https") for shown in hosts],
    )


class _Bearer:
    """Refuses requests without the right token."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app = app
        self._expected = f"Bearer {token}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            given = dict(scope["headers"]).get(b"authorization", b"")
            if not hmac.compare_digest(given, self._expected):
                refused = JSONResponse({"error": "invalid_token"}, 401, {"WWW-Authenticate": "Bearer"})
                await refused(scope, receive, send)
                return
        await self._app(scope, receive, send)
