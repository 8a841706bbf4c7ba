"""What a server sends wrongly is not a traceback on the standard error of `hikidashi serve`."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.gateway.servers import program

NOISY = """
import json, sys
def send(message):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\\n")
    sys.stdout.flush()
for line in sys.stdin:
    message = json.loads(line)
    method, asked = message.get("method"), message.get("id")
    if asked is None:
        continue
    if method == "initialize":
        send({"id": asked, "result": {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
                                      "serverInfo": {"name": "noisy", "version": "1"}}})
    elif method == "tools/list":
        send({"id": asked, "result": {"tools": [{"name": "go", "inputSchema": {"type": "object"}}]}})
    elif method == "tools/call":
        send({"method": "notifications/message", "params": {"level": "bogus", "data": "sk-test-of-the-server"}})
        send({"method": "notifications/progress", "params": {"progressToken": "x", "progress": "y"}})
        send({"method": "notifications/unheard/of"})
        send({"id": asked, "result": {"content": [{"type": "text", "text": "went"}]}})
    else:
        send({"id": asked, "error": {"code": -32601, "message": "no"}})
"""


def test_invalid_notifications_of_a_server_are_passed_over_in_silence(tmp_path: Path, home: dict[str, str]) -> None:
    server = program(tmp_path, "noisy", NOISY)
    entry = {"command": server.command, "args": list(server.args)}
    (tmp_path / "mcp.json").write_text(json.dumps({"mcpServers": {"noisy": entry}}))
    client = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}}
    requests: list[dict[str, Any]] = [
        {"id": 1, "method": "initialize", "params": client},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/call", "params": {"name": "noisy__go", "arguments": {}}},
    ]
    with subprocess.Popen(
        [sys.executable, "-m", "hikidashi", "serve", "--config", "mcp.json", "--yes", "--no-daemon"],
        cwd=tmp_path,
        env=home,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        for request in requests:
            process.stdin.write(json.dumps({"jsonrpc": "2.0", **request}) + "\n")
        process.stdin.flush()
        answers = (json.loads(line) for line in process.stdout)
        result = next(answer["result"] for answer in answers if answer.get("id") == 2)
        process.stdin.close()
        said = process.stderr.read()
    assert result["content"] == [{"type": "text", "text": "went"}]
    assert said == ""
