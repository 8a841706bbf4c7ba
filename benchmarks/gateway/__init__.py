"""`hikidashi serve` compared with a direct connection and with FastMCP's proxy with its BM25 search."""

from __future__ import annotations

from ..registry import Suite
from . import bad_servers, calls, listings, memory, searches, startup, throughput

_PARTS = (calls, searches, listings, startup, bad_servers, memory, throughput)

SUITE = Suite(
    name="gateway",
    title="The gateway: every MCP server behind one",
    groups={part.GROUP: part.MEANING for part in _PARTS},
    cases=[case for part in _PARTS for case in part.CASES],
    packages=("fastmcp", "hikidashi", "httptools", "mcp", "pydantic", "uvicorn"),
)
