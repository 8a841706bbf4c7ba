"""Logins to servers, kept for the next start: secrets in the keyring of the system, or in a file for its owner only."""

from __future__ import annotations

import hashlib
import json
import logging
import secrets
import time
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, cast

from ...common.atomic import replace_file
from ...servers.config import McpServer
from ._lock import file_lock

__all__ = ["Login", "Logins", "expiry_of", "takes_login"]

logger = logging.getLogger("hikidashi.gateway")

_SERVICE = "hikidashi"
_VERSION = 1
_MARGIN = 30.0  # seconds before the end of a token in which it is not used any more, if it lives longer than that


def takes_login(server: McpServer) -> bool:
    """Whether a login is of use for `server`: it is reached over HTTP, and its config has no key for it."""
    return server.transport != "stdio" and "authorization" not in {name.lower() for name in server.headers}


@dataclass(frozen=True, kw_only=True, slots=True)
class Login:
    """A person's authorization at an authorization server. Its `repr` leaves out the secrets.

    Args:
        url: The server that the tokens are for; they are sent nowhere else.
        client: How the gateway is registered at the authorization server (RFC 7591).
        tokens: The answer of its token endpoint (RFC 6749).
        token_endpoint: Where tokens are renewed.
        revocation_endpoint: Where they are revoked.
        resource: What they are for, as renewals have to say (RFC 8707).
        expires_at: When the access token ends; None if that is not known.
        lifetime: For how many seconds it lives.
        ended: Why it cannot be renewed any more; the person has to log in again.
        id: Identifies the login: renewing keeps it, logging in again does not.
    """

    url: str
    client: dict[str, Any] = field(repr=False)
    tokens: dict[str, Any] = field(repr=False)
    token_endpoint: str
    revocation_endpoint: str | None = None
    resource: str | None = None
    expires_at: float | None = None
    lifetime: float | None = None
    ended: str = ""
    id: str = field(default_factory=lambda: secrets.token_hex(8))

    @property
    def access_token(self) -> str:
        """The bearer token that is sent to the server."""
        return str(self.tokens["access_token"])

    @property
    def refresh_token(self) -> str | None:
        """The token that renews the access token."""
        return self.tokens.get("refresh_token")

    @property
    def has_expired(self) -> bool:
        """Whether the access token should not be used any more."""
        if self.expires_at is None:
            return False
        return time.time() > self.expires_at - min(_MARGIN, (self.lifetime or 0.0) / 10)

    def check(self, url: str) -> None:
        """Raise unless it is a login to the server at `url`, with a token that can be sent.

        Raises:
            ValueError: it is not; the file was changed.
        """
        texts = (self.token_endpoint, self.ended, self.id, self.tokens.get("access_token"))
        optional = (self.revocation_endpoint, self.resource, self.tokens.get("refresh_token"))
        if (
            self.url != url
            or not all(map(_is_number_or_none, (self.expires_at, self.lifetime)))
            or not all(isinstance(text, str) for text in texts)
            or not all(text is None or isinstance(text, str) for text in optional)
            or not str(self.tokens["access_token"]).isascii()
        ):
            raise ValueError("it is not a login")

    def renewed(self, tokens: dict[str, Any]) -> Login:
        """The same login with the tokens of a renewal; what it leaves out stays (RFC 6749, section 6)."""
        kept = {name: self.tokens[name] for name in ("refresh_token", "scope") if self.tokens.get(name)}
        given = {name: value for name, value in tokens.items() if value is not None}
        expires_at, lifetime = expiry_of(tokens)
        return replace(self, tokens={**kept, **given}, expires_at=expires_at, lifetime=lifetime)


def _is_number_or_none(value: object) -> bool:
    return value is None or isinstance(value, int | float)


def expiry_of(tokens: dict[str, Any]) -> tuple[float | None, float | None]:
    """When the access token of an answer ends, and for how many seconds it lives."""
    seconds = tokens.get("expires_in")
    if not isinstance(seconds, int | float) or isinstance(seconds, bool):
        return None, None
    return time.time() + seconds, float(seconds)


class Logins:
    """Logins in a folder that only its owner may read, one file for each name and URL of a server."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def read(self, server: McpServer) -> Login | None:
        """The login to `server`; None where there is none that can be read."""
        record = self._record(server)
        if record is None:
            return None
        hidden = record.pop("secrets", None)
        kept = hidden if record.pop("kept") == "file" else _from_keyring(self._key(server))
        try:
            login = Login(**record, **json.loads(kept) if isinstance(kept, str) else cast("dict[str, Any]", kept))
            login.check(server.url)
        except (TypeError, ValueError):
            logger.warning("the login to MCP server %r cannot be read: log in again", server.name)
            return None
        return login

    def write(self, server: McpServer, login: Login) -> None:
        """Store `login`.

        Raises:
            OSError: it cannot be written.
        """
        record = asdict(login)
        hidden = {"client": record.pop("client"), "tokens": record.pop("tokens")}
        in_keyring = _to_keyring(self._key(server), json.dumps(hidden))
        kept = {"kept": "keyring"} if in_keyring else {"kept": "file", "secrets": hidden}
        text = json.dumps({"version": _VERSION, "name": server.name, **record, **kept}, indent=1)
        replace_file(self._path(server), text.encode(), private=True)

    def delete(self, server: McpServer) -> None:
        """Delete the login to `server`."""
        with suppress(OSError):
            self._path(server).unlink()
        _from_keyring(self._key(server), delete=True)

    def id_of(self, server: McpServer) -> str | None:
        """The id of the stored login to `server`."""
        record = self._record(server)
        return None if record is None else str(record.get("id"))

    def lock(self, server: McpServer) -> AbstractAsyncContextManager[None]:
        """Lock that keeps other processes from renewing the login to `server`."""
        return file_lock(self._path(server).with_suffix(".lock"))

    def _record(self, server: McpServer) -> dict[str, Any] | None:
        try:
            record = json.loads(self._path(server).read_text(encoding="utf-8"))
            if record.pop("version") != _VERSION or "kept" not in record:
                return None
            record.pop("name", None)  # for the person who looks into the file
        except (OSError, ValueError, KeyError, AttributeError, TypeError):
            return None
        return record

    def _key(self, server: McpServer) -> str:
        # By name and URL: one may log in to a server twice under two names, and another server gets nothing.
        identity = json.dumps([server.name, server.url])
        return hashlib.sha256(identity.encode("utf-8", "surrogatepass")).hexdigest()[:32]

    def _path(self, server: McpServer) -> Path:
        return self._folder / f"{self._key(server)}.json"


def _keyring() -> Any | None:
    """The `keyring` package, if it is installed and has a usable backend."""
    try:
        import keyring
    except ImportError:
        return None
    try:
        return keyring if keyring.get_keyring().priority >= 1 else None
    except Exception:  # backends fail in their own ways
        return None


def _to_keyring(key: str, text: str) -> bool:
    if (keyring := _keyring()) is None:
        return False
    try:
        keyring.set_password(_SERVICE, key, text)
    except Exception as error:  # locked, refused, or too long: the limit of Windows is 2,560 bytes
        logger.info("the keyring refuses the login, so it is stored in a file: %s", type(error).__name__)
        return False
    return True


def _from_keyring(key: str, *, delete: bool = False) -> str | None:
    if (keyring := _keyring()) is None:
        return None
    try:
        if delete:
            keyring.delete_password(_SERVICE, key)
            return None
        return keyring.get_password(_SERVICE, key)
    except Exception as error:
        logger.debug("the keyring has no login: %s", type(error).__name__)
        return None
