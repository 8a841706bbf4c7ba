"""Servers for the tests of the gateway, each a program of its own."""

from __future__ import annotations

import socket
import sys
from pathlib import Path

from hikidashi.servers.config import McpServer

MODERN = '''
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.resolve import Elicit, Resolve
from pydantic import BaseModel

server = MCPServer("modern", instructions="Sums and notes.")

@server.tool()
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b

@server.tool()
async def count(context: Context) -> str:
    """Count to three."""
    for done in (1, 2, 3):
        await context.report_progress(done, 3, f"at {done}")
    return "three"

@server.resource("note://first")
def note() -> str:
    """A note."""
    return "hello"

@server.prompt()
def greet(name: str) -> str:
    """Greet somebody."""
    return f"Hello {name}"

server.run()
'''

# A server as it was written by hand before 2026-07-28: it knows `initialize`, and asks in the middle of a call.
LEGACY = """
import json, os, sys

REVISION = "2025-06-18"
TOOLS = [
    {"name": "ask", "description": "Ask the person for a colour.", "inputSchema": {"type": "object"}},
    {"name": "read", "description": "Read a file.", "inputSchema": {"type": "object"},
     "annotations": {"readOnlyHint": True}, "_meta": {"example.com/kept": 1}},
    {"name": "die", "description": "End at once.", "inputSchema": {"type": "object"}},
    {"name": "long", "description": "Say a lot.", "inputSchema": {"type": "object"}},
]

def send(message):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\\n")
    sys.stdout.flush()

def text(said, **more):
    return {"content": [{"type": "text", "text": said}], **more}

waiting = {}
for line in sys.stdin:
    message = json.loads(line)
    method, asked = message.get("method"), message.get("id")
    params = message.get("params") or {}
    if method is None:
        answer = message.get("result") or {"action": message["error"]["message"]}
        send({"id": waiting.pop(asked), "result": text(f"chosen: {answer}")})
    elif method == "initialize":
        send({"id": asked, "result": {"protocolVersion": REVISION, "capabilities": {"tools": {"listChanged": True}},
              "serverInfo": {"name": "legacy", "version": "1"}}})
    elif method == "tools/list":
        send({"id": asked, "result": {"tools": TOOLS}})
    elif method == "tools/call" and params["name"] == "ask":
        waiting["q1"] = asked
        send({"id": "q1", "method": "elicitation/create", "params": {"message": "Which colour?",
              "requestedSchema": {"type": "object", "properties": {"colour": {"type": "string"}}}}})
    elif method == "tools/call" and params["name"] == "die":
        os._exit(3)
    elif method == "tools/call" and params["name"] == "long":
        send({"id": asked, "result": text("word " * 50000)})
    elif method == "tools/call" and params["name"] == "read":
        send({"id": asked, "result": text(json.dumps(params), structuredContent={"pid": os.getpid()},
              _meta={"example.com/result": 2})})
    elif asked is not None:
        send({"id": asked, "error": {"code": -32601, "message": "Method not found"}})
"""


def program(folder: Path, name: str, source: str) -> McpServer:
    """A server called `name` whose program is `source`."""
    path = folder / f"{name}_server.py"
    path.write_text(source)
    return McpServer(name=name, transport="stdio", command=sys.executable, args=(str(path),))


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]
