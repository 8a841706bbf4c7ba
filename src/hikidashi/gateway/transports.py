"""The gateway over stdio and over streamable HTTP."""

from __future__ import annotations

from typing import Any

from mcp.server.stdio import stdio_server
from mcp.server.transport_security import TransportSecuritySettings

from ._door import MOST_BYTES, Door
from .auth.bearer import RequireAccessToken, RequireSharedToken, metadata_routes
from .direct.answering import CallAnswers
from .direct.over_http import HttpCalls
from .gateway import Gateway
from .options import OAuthOptions
from .server import GatewayMCPServer

__all__ = ["http_app", "serve_stdio"]


async def serve_stdio(gateway: Gateway) -> None:
    """Speak MCP on standard input and output until the client closes them."""
    server = GatewayMCPServer(gateway)
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


def http_app(
    gateway: Gateway, *, host: str = "127.0.0.1", token: str | None = None, oauth: OAuthOptions | None = None
) -> Any:
    """An ASGI application with the gateway at `/mcp`.

    Args:
        gateway: An entered gateway.
        host: Its address; on a loopback address, requests for another host or from another origin are refused.
        token: The token that clients must send as `Authorization: Bearer ...`.
        oauth: Whose access tokens clients must send instead, and for which audience.

    Raises:
        ValueError: both a token and `oauth` are given, or the token is empty.
    """
    if token is not None and oauth is not None:
        raise ValueError("`token` and `oauth` are both given: use one of them.")
    if token is not None and not token.strip():
        raise ValueError("`token` is empty.")
    server = GatewayMCPServer(gateway)
    app = server.streamable_http_app(
        host=host,
        max_request_body_size=MOST_BYTES,
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),  # `Door` is stricter
        custom_starlette_routes=[] if oauth is None else metadata_routes(oauth),
    )
    app.add_middleware(HttpCalls, answers=CallAnswers(server, gateway, {}))
    if token is not None:
        app.add_middleware(RequireSharedToken, token=token.strip())
    if oauth is not None:
        app.add_middleware(RequireAccessToken, options=oauth)
    app.add_middleware(Door, host=host)  # the last one added runs first
    return app
