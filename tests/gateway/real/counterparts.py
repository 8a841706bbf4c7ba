"""Where the counterparts are, and the gateway that stands in front of all servers among them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import venv
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.gateway.real.old import OLD_SERVER
from tests.gateway.servers import MODERN, free_port, program
from tests.npm import COUNTERPARTS, ROOT, node

HIKIDASHI = str(Path(sys.executable).with_name("hikidashi"))
OLD_FOLDER = COUNTERPARTS.folder / "old"
OLD_PYTHON = OLD_FOLDER / "bin" / "python"
"""An environment of its own with `mcp` before 2, and servers that are written for it."""


def install_old_python() -> None:
    """Install the second environment, unless it is there."""
    pins, installed = ROOT / "requirements/old-mcp.txt", OLD_FOLDER / "installed.txt"
    if installed.exists() and installed.read_bytes() == pins.read_bytes():
        return
    venv.create(OLD_FOLDER, with_pip=True, clear=True)
    pip = [str(OLD_PYTHON), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]
    subprocess.run([*pip, "-r", str(pins)], check=True)
    shutil.copy(pins, installed)


@dataclass(frozen=True)
class Place:
    """A gateway and what it stands in front of."""

    url: str
    """Where it listens on HTTP."""
    config: Path
    folder: Path
    """What the file server may read: `note.txt`; beside it `repo`, a repository with one commit."""
    environment: dict[str, str]


def npm_server(name: str, *arguments: str, **environment: str) -> dict[str, Any]:
    program = COUNTERPARTS.program(f"@modelcontextprotocol/server-{name}/dist/index.js")
    return {"command": node(), "args": [program, *arguments], "env": environment}


@contextmanager
def everything_behind_one_gateway() -> Generator[Place]:
    """A gateway in front of five servers of other people, and of a server on `mcp` before 2 in three transports."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="hk-"))).resolve()
        home, files, repo = (folder / name for name in ("home", "files", "repo"))
        for made in (home, files, repo):
            made.mkdir()
        (files / "note.txt").write_text("引き出し\n", encoding="utf-8")
        git = ["git", "-C", str(repo), "-c", "user.name=Bo", "-c", "user.email=bo@example.com"]
        subprocess.run([*git, "init", "--quiet"], check=True)
        subprocess.run([*git, "commit", "--quiet", "--allow-empty", "-m", "The first drawer"], check=True)
        old_server = folder / "old_server.py"
        old_server.write_text(OLD_SERVER, encoding="utf-8")
        modern = program(folder, "modern", MODERN)
        servers: dict[str, Any] = {
            "everything": npm_server("everything"),
            "filesystem": npm_server("filesystem", str(files)),
            "memory": npm_server("memory", MEMORY_FILE_PATH=str(folder / "memory.jsonl")),
            "git": {"command": str(OLD_FOLDER / "bin/mcp-server-git"), "args": ["--repository", str(repo)]},
            "time": {"command": str(OLD_FOLDER / "bin/mcp-server-time"), "args": ["--local-timezone", "UTC"]},
            "old": {"command": str(OLD_PYTHON), "args": [str(old_server)]},
            "modern": {"command": modern.command, "args": list(modern.args)},
        }
        for kind, path in (("http", "mcp"), ("sse", "sse")):
            port = free_port()
            process = subprocess.Popen(
                [str(OLD_PYTHON), str(old_server), kind, str(port)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
            )
            stack.callback(_end, process)
            _wait_for(process, b"running on")
            servers[f"old-{kind}"] = {"type": kind, "url": f"http://127.0.0.1:{port}/{path}"}
        config = folder / "mcp.json"
        config.write_text(json.dumps({"mcpServers": servers}), encoding="utf-8")
        environment = {
            **os.environ,
            "HOME": str(home),
            "XDG_RUNTIME_DIR": str(folder),
            "XDG_STATE_HOME": str(home / "state"),
            "XDG_CACHE_HOME": str(home / "cache"),
        }
        port = free_port()
        command = [HIKIDASHI, "serve", "--config", str(config), "--yes", "--search", "off", "--http", str(port)]
        process = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE)
        stack.callback(_end, process)
        _wait_for(process, b"Serving MCP")
        yield Place(f"http://127.0.0.1:{port}/mcp", config, files, environment)
        subprocess.run([HIKIDASHI, "serve", "stop"], env=environment, check=True, capture_output=True)


def _wait_for(process: subprocess.Popen[bytes], said: bytes) -> None:
    assert process.stderr is not None
    for line in process.stderr:
        if said in line:
            return
    raise AssertionError(f"{process.args!r} ended with {process.wait()}")


def _end(process: subprocess.Popen[bytes]) -> None:
    assert process.stderr is not None
    process.terminate()
    process.wait()
    process.stderr.close()
