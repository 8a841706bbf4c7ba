"""A disk cache of what each server lists, so that a gateway answers at once when it starts."""

from __future__ import annotations

import hashlib
import json
import logging
from contextlib import suppress
from pathlib import Path

from ...common.atomic import replace_file
from ...common.private import private_folder
from ...servers.config import McpServer
from ..upstream.listing import Listing

__all__ = ["ListingCache"]

logger = logging.getLogger("hikidashi.gateway")

_VERSION = 1


class ListingCache:
    """Cached listings in a folder that only its owner can read; one file per server configuration."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def read(self, server: McpServer) -> Listing | None:
        """The cached listing of `server`; None if there is none, or it cannot be read."""
        try:
            kept = json.loads(self._path(server).read_text(encoding="utf-8"))
            return Listing.from_json(kept["listing"]) if kept["version"] == _VERSION else None
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            return None

    def write(self, server: McpServer, listing: Listing) -> None:
        """Cache the listing of `server`; if that fails, only the next start is slower."""
        text = json.dumps({"version": _VERSION, "listing": listing.to_json()}, ensure_ascii=True)
        try:
            private_folder(self._folder)
            replace_file(self._path(server), text.encode(), private=True)
        except OSError as error:
            logger.warning("the tools of MCP server %r are not kept for the next start: %s", server.name, error)

    def forget(self, server: McpServer) -> None:
        """Delete the cached listing of `server`."""
        with suppress(OSError):
            self._path(server).unlink()

    def _path(self, server: McpServer) -> Path:
        # A digest, since the configuration may hold secrets; another key may mean other tools.
        identity = json.dumps(
            [
                server.transport,
                server.command,
                server.args,
                sorted(server.env.items()),
                server.cwd,
                server.url,
                sorted(server.headers.items()),
            ]
        )
        return self._folder / f"{hashlib.sha256(identity.encode('utf-8', 'surrogatepass')).hexdigest()[:32]}.json"
