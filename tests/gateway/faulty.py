"""Servers that misbehave, each a program of its own; they speak the protocol of before 2026-07-28."""

from __future__ import annotations

STDIO = r"""
import json, os, sys

TOOLS = ["grow", "wait", "flood", "chatter", "ask_for_ever", "heard", "garble", "die"]
MANY = 0
heard, asking = [], None

def send(message):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()

def answer(asked, said):
    send({"id": asked, "result": {"content": [{"type": "text", "text": said}]}})

def question(number):
    send({"id": f"q{number}", "method": "elicitation/create", "params": {"message": f"Question {number}?",
          "requestedSchema": {"type": "object", "properties": {}}}})

for line in sys.stdin:
    message = json.loads(line)
    method, asked, params = message.get("method"), message.get("id"), message.get("params") or {}
    name = params.get("name")
    if method is None:
        asking += 1
        question(asking)
    elif method == "initialize":
        send({"id": asked, "result": {"protocolVersion": "2025-06-18", "serverInfo": {"name": "faulty", "version": "1"},
              "capabilities": {"tools": {"listChanged": True}, "resources": {"subscribe": True}, "logging": {}}}})
    elif method == "tools/list":
        listed = TOOLS + [f"tool_{n}" for n in range(MANY)] + TOOLS[:2] * bool(MANY)
        tools = [{"name": one, "description": f"Do {one.replace('_', ' ')}.", "inputSchema": {"type": "object"}}
                 for one in listed]
        send({"id": asked, "result": {"tools": tools}})
    elif method == "resources/list":
        send({"id": asked, "result": {"resources": [{"uri": "note://one", "name": "One"}]}})
    elif method == "resources/read":
        send({"id": asked, "result": {"contents": [{"uri": params["uri"], "text": " ".join(heard)}]}})
    elif method in ("resources/subscribe", "resources/unsubscribe", "logging/setLevel"):
        heard.append(method + " " + str(params.get("uri", params.get("level"))))
        send({"id": asked, "result": {}})
        if method == "resources/subscribe":
            send({"method": "notifications/message", "params": {"level": "critical", "data": "outside of calls"}})
            send({"method": "notifications/resources/updated", "params": {"uri": params["uri"]}})
    elif method == "notifications/cancelled":
        heard.append("cancelled")
    elif name == "grow":
        TOOLS.append("grown")
        send({"method": "notifications/tools/list_changed"})
        answer(asked, "grown")
    elif name == "heard":
        answer(asked, " ".join(heard))
    elif name == "die":
        os._exit(3)
    elif name == "garble":
        for line in params["arguments"]["lines"]:
            sys.stdout.buffer.write(line.replace("ID", json.dumps(asked)).encode("latin-1") + b"\n")
        sys.stdout.flush()
    elif name == "flood":
        answer(asked, "x" * 100_000_000)
    elif name == "chatter":
        for at in range(200):
            for level in ("debug", "error"):
                send({"method": "notifications/message", "params": {"level": level, "data": f"{level} {at}"}})
        answer(asked, "said enough")
    elif name == "ask_for_ever":
        asking = 1
        question(asking)
    elif name == "wait":
        heard.append("wait")
    elif method == "tools/call":
        answer(asked, f"did {name}")
    elif asked is not None:
        send({"id": asked, "error": {"code": -32601, "message": "Method not found"}})
"""

FORGETFUL_HTTP = r"""
import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

session, opened = "", 0

class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def reply(self, status, body=b"", **headers):
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", "Content-Length": str(len(body)), **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        self.reply(405)

    do_DELETE = do_GET

    def do_POST(self):
        global session, opened
        message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        method, params = message.get("method"), message.get("params") or {}
        headers = {}
        if method == "server/discover":
            return self.reply(400, b"{}")
        if method == "initialize":
            opened += 1
            session = headers["Mcp_Session_Id"] = f"session-{opened}"
            result = {"protocolVersion": "2025-06-18", "serverInfo": {"name": "forgetful", "version": "1"},
                      "capabilities": {"tools": {}}}
        elif self.headers.get("Mcp-Session-Id") != session:
            return self.reply(404, b"{}")
        elif method == "tools/list":
            hints = {"read": {"readOnlyHint": True}}
            result = {"tools": [{"name": one, "inputSchema": {"type": "object"}, "annotations": hints.get(one, {})}
                                for one in ("read", "write", "forget")]}
        elif method == "tools/call":
            result = {"content": [{"type": "text", "text": f"{params['name']} in {session}"}]}
            session = "" if params["name"] == "forget" else session
        elif message.get("id") is None:
            return self.reply(202)
        else:
            result = {}
        body = {"jsonrpc": "2.0", "id": message.get("id"), "result": result}
        return self.reply(200, json.dumps(body).encode(), **headers)

    def log_message(self, *_):
        pass

server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(server.server_address[1], flush=True)
server.serve_forever()
"""
