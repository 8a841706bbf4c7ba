"""What no process can be started with, and no request sent to: found before a server is used."""

from __future__ import annotations

import os
import re
from urllib.parse import urlsplit

from ._server import McpServer
from .references import EntryError

__all__ = ["check_server"]

_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_HEADER_VALUE = re.compile(r"[\t\x20-\x7e]*")


def check_server(server: McpServer) -> None:
    """Raise unless a process can be started, or a request be sent, with these values.

    Raises:
        EntryError: one of them cannot be used; the error names it, and not its value, which may be a secret.
    """
    if not server.name.strip():
        raise EntryError("has an empty name", "Give it one.")
    if server.transport == "stdio":
        _check_process(server)
    else:
        _check_address(server)


def _check_process(server: McpServer) -> None:
    texts = [("command", server.command), ("cwd", server.cwd or "")]
    texts += [("args", arg) for arg in server.args]
    texts += [("env", text) for pair in server.env.items() for text in pair]
    for key, text in texts:
        try:
            unusable = b"\0" in os.fsencode(text)
        except UnicodeEncodeError:
            unusable = True
        if unusable:
            raise EntryError(f"has `{key}` with a character that no process can be given", "Take it out.")
    if wrong := [name for name in server.env if not name or "=" in name]:
        raise EntryError(f"has `env` with {wrong[0]!r}, which cannot be the name of a variable", "Rename it.")


def _check_address(server: McpServer) -> None:
    for name, value in server.headers.items():
        if not _HEADER_NAME.fullmatch(name):
            raise EntryError(f"has `headers` with {name!r}, which cannot be the name of a header", "Rename it.")
        if not _HEADER_VALUE.fullmatch(value):
            reason = f"has a header {name!r} with a line break, or a character outside of ASCII"
            raise EntryError(reason, "Take it out.")
    if "${keyring:" in server.url:  # not expanded yet
        return
    try:
        address = urlsplit(server.url)
        scheme, host, _ = address.scheme, address.hostname, address.port
    except ValueError as error:
        raise EntryError("has a `url` whose host or port is invalid", "Correct it.") from error
    if scheme not in {"http", "https"}:
        raise EntryError("has a `url` that does not begin with http:// or https://", "Write the whole address.")
    if not host or re.search(r"[\x00-\x20\x7f]", server.url):
        raise EntryError("has a `url` without a host, or with a space", "Write the whole address.")
