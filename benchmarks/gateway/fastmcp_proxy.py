"""The peer: FastMCP's proxy, with its BM25 search or without.

A program: `python fastmcp_proxy.py CONFIG.json plain|search [PORT]`; on stdio, or over HTTP at `/mcp` of the port.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from fastmcp import FastMCP
from fastmcp.server import create_proxy
from fastmcp.server.transforms.search import BM25SearchTransform


def proxy_of(servers: dict[str, Any]) -> FastMCP[Any]:
    """One server in front of all. A proxy of a whole config would start every server again for each request."""
    if len(servers) == 1:
        return create_proxy({"mcpServers": servers}, name="peer")
    together: FastMCP[Any] = FastMCP("peer")
    for name, server in servers.items():
        together.mount(create_proxy({"mcpServers": {name: server}}, name=name), namespace=name)
    return together


if __name__ == "__main__":
    path, how, *port = sys.argv[1:]
    proxy = proxy_of(json.loads(Path(path).read_text("utf-8"))["mcpServers"])
    if how == "search":
        proxy.add_transform(BM25SearchTransform())
    if port:
        # As for the server behind it: see there.
        proxy.run(
            "http",
            show_banner=False,
            port=int(port[0]),
            log_level="error",
            uvicorn_config={"timeout_keep_alive": 75},
        )
    else:
        proxy.run("stdio", show_banner=False, log_level="error")
