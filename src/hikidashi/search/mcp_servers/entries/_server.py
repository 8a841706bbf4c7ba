"""How to reach an MCP server, and which of its values are secrets."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal
from urllib.parse import parse_qsl, quote, urlsplit

__all__ = ["McpServer", "Transport", "is_secret_name"]

Transport = Literal["stdio", "http", "sse"]

_SHORTEST_SECRET = 7  # shorter ones would mask ordinary words, such as "Bearer"
_SHORTEST_REFERENCE = 4  # of a value that came from a variable or the keyring
_SECRET = re.compile(
    r"key|token|secret|pass|pwd|auth|credential|bearer|cookie|(?:^|_)(?:pat|dsn)(?:_|$)", re.IGNORECASE
)


@dataclass(frozen=True, kw_only=True, slots=True)
class McpServer:
    """How to reach one MCP server. Its `repr` leaves out the fields that may hold secrets."""

    name: str
    transport: Literal["stdio", "http", "sse"]
    command: str = ""
    args: tuple[str, ...] = field(default=(), repr=False)
    env: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    cwd: str | None = None
    url: str = field(default="", repr=False)
    headers: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    secrets: frozenset[str] = field(default=frozenset(), repr=False)
    """Further values that must not be shown: those of variables and of the keyring."""

    def without_secrets(self, text: str) -> str:
        """`text` with this server's secrets as `***`.

        They are its headers, the query and password of its URL, variables named like a secret, and values from the
        environment or the keyring.
        """
        secrets = [word for value in self.headers.values() for word in value.split()]
        secrets += [value for _, value in parse_qsl(self.url.partition("?")[2])]
        secrets += [value for name, value in self.env.items() if is_secret_name(name)]
        secrets += [_password_in(self.url)]
        hidden = {secret for secret in secrets if len(secret) >= _SHORTEST_SECRET}
        hidden |= {secret for secret in self.secrets if len(secret) >= _SHORTEST_REFERENCE}
        for secret in sorted(hidden, key=len, reverse=True):
            for form in {secret, quote(secret, safe=""), quote(secret), json.dumps(secret)[1:-1]}:
                text = text.replace(form, "***")
        return text


def is_secret_name(name: str) -> bool:
    """Whether a variable of this name probably holds a secret."""
    return _SECRET.search(name) is not None


def _password_in(url: str) -> str:
    try:
        return urlsplit(url).password or ""
    except ValueError:  # such as `http://[`
        return ""
