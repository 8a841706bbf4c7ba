"""Commands that a person has agreed to run: a config file is code."""

from __future__ import annotations

import hashlib
import json
import shlex
from collections.abc import Iterable
from pathlib import Path

from ..common.atomic import replace_file
from ..common.private import private_folder
from ..search.mcp_servers import McpServer

__all__ = ["Approvals", "shown_command"]


class Approvals:
    """The commands in the file `path` that were agreed to."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def missing(self, servers: Iterable[McpServer]) -> list[McpServer]:
        """The servers whose commands nobody has agreed to yet."""
        known = self._read()
        return [server for server in servers if server.transport == "stdio" and _digest(server) not in known]

    def add(self, servers: Iterable[McpServer]) -> None:
        """Remember that these commands may run.

        Raises:
            OSError: it cannot be written.
        """
        private_folder(self._path.parent)
        digests = sorted(self._read() | {_digest(server) for server in servers})
        replace_file(self._path, json.dumps(digests, indent=1).encode(), private=True)

    def _read(self) -> set[str]:
        try:
            return set(json.loads(self._path.read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError):
            return set()


def shown_command(server: McpServer) -> str:
    """The command as a shell would take it, without its keys."""
    return server.without_secrets(shlex.join([server.command, *server.args]))


def _digest(server: McpServer) -> str:
    told = json.dumps([server.command, server.args, server.cwd, sorted(server.env)])
    return hashlib.sha256(told.encode("utf-8", "surrogatepass")).hexdigest()
