"""The revisions of MCP, and what differs between them: nothing else names one.

"Modern" is 2026-07-28 and later: no session, each request carries an envelope with the client's capabilities and log
level, a server asks by an answer of the type `input_required`, and a client listens for changes. "Older" are 2024-11-05
(SSE), 2025-03-26 (streamable HTTP), 2025-06-18 and 2025-11-25: a session, opened by `initialize`, in which a server
sends requests too.
"""

from __future__ import annotations

from mcp.client import Client
from mcp.server import ServerRequestContext
from mcp_types.version import MODERN_PROTOCOL_VERSIONS


def is_modern_client(ctx: ServerRequestContext[object, object]) -> bool:
    """Whether the client of a request speaks a modern revision: it is sent no requests."""
    return ctx.protocol_version in MODERN_PROTOCOL_VERSIONS


def is_modern_server(client: Client) -> bool:
    """Whether the server that `client` is connected to speaks a modern revision."""
    return client.session.discover_result is not None
