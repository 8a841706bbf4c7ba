"""The web tools as an MCP server, for Claude Code, Claude Desktop and every other MCP client."""

from __future__ import annotations

import logging
from collections.abc import Generator
from contextlib import aclosing, contextmanager
from typing import Any

from mcp.server.mcpserver import MCPServer

from ..convert.mcp import to_mcp
from ..texts import Language
from .answers import Untrusted
from .provider import SearchProvider
from .tools import web_tools

_NAME = "hikidashi-web"


def web_mcp_server(
    provider: SearchProvider, *, language: Language = "ja", untrusted: Untrusted = "fence"
) -> MCPServer[Any]:
    """An MCP server with `tavily_search`, `tavily_extract` and `tavily_context`.

    A failed call is an `isError` answer with the error text of spec 000; `_meta` says which provider answered,
    whether from its cache, and what it cost. The caller closes the provider.
    """
    return to_mcp(web_tools(provider, language=language, untrusted=untrusted), name=_NAME)


async def serve_stdio(provider: SearchProvider, *, language: Language = "ja", untrusted: Untrusted = "fence") -> None:
    """Serve the tools on stdin and stdout until stdin ends, then close `provider`.

    Queries are logged to stderr only after `logging.getLogger("hikidashi").setLevel("INFO")`.
    """
    async with aclosing(provider):
        server = web_mcp_server(provider, language=language, untrusted=untrusted)
        with _queries_unlogged():
            await server.run_stdio_async()


@contextmanager
def _queries_unlogged() -> Generator[None]:
    """Suppress INFO records, which the logging set-up of the MCP server would write to stderr."""
    logger = logging.getLogger("hikidashi")
    before = logger.level
    if before == logging.NOTSET:
        logger.setLevel(logging.WARNING)
    try:
        yield
    finally:
        logger.setLevel(before)
