"""Logins to the servers behind the gateway: kept, sent with each request, and renewed when they expire."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import secrets
import sys
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from threading import Thread
from typing import Any, Generic, TypeVar
from urllib.parse import urlsplit

import anyio
import httpx2
from mcp.client.auth import OAuthClientProvider
from mcp.shared.auth import OAuthClientInformationFull, OAuthClientMetadata, OAuthToken

from ...common.files import private_folder, replace_file
from ...common.json import as_object
from ...servers.config import McpServer

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

_T = TypeVar("_T")
_POLL = 0.02  # seconds between two looks at a thread or a lock of another process


class WaitingCall(Generic[_T]):
    """Calls a function without blocking the event loop; waiting for it can be cancelled.

    In a thread of its own kind: one of the event loop would keep the process from ending as long as it waits. A call
    that still waits is joined, so that attempts do not pile up.
    """

    def __init__(self, function: Callable[[], _T]) -> None:
        self._function = function
        self._thread: Thread | None = None
        self._result: list[_T] = []
        self._error: Exception | None = None

    @property
    def waits(self) -> bool:
        """Whether the function has not returned yet."""
        return self._thread is not None and self._thread.is_alive()

    async def __call__(self) -> _T:
        """What the function returns; raises what it raises."""
        if not self.waits:
            self._thread = Thread(target=self._run, daemon=True)
            self._thread.start()
        while self.waits:  # noqa: ASYNC110 - it is a thread's end that is waited for
            await anyio.sleep(_POLL)
        if self._error is not None:
            raise self._error
        return self._result[0]

    def _run(self) -> None:
        self._error = None
        try:
            self._result = [self._function()]
        except Exception as error:
            self._error = error


@asynccontextmanager
async def file_lock(path: Path) -> AsyncGenerator[None]:
    """Hold the lock of the file `path`, which is created if missing."""
    private_folder(path.parent)
    lock = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        while not _taken(lock):  # noqa: ASYNC110 - other processes set no events
            await anyio.sleep(_POLL)
        yield
    finally:
        os.close(lock)


def _taken(lock: int) -> bool:
    try:
        if sys.platform == "win32":
            msvcrt.locking(lock, msvcrt.LK_NBLCK, 1)
        else:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


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
        numbers: list[object] = [self.expires_at, self.lifetime]
        texts = (self.token_endpoint, self.ended, self.id, self.tokens.get("access_token"))
        optional = (self.revocation_endpoint, self.resource, self.tokens.get("refresh_token"))
        if (
            self.url != url
            or not all(isinstance(number, int | float | None) for number in numbers)
            or not all(isinstance(text, str) for text in texts)
            or not all(isinstance(text, str | None) for text in optional)
            or not str(self.tokens["access_token"]).isascii()
        ):
            raise ValueError("it is not a login")

    def renewed(self, tokens: dict[str, Any]) -> Login:
        """The same login with the tokens of a renewal; what it leaves out stays (RFC 6749, section 6)."""
        kept = {name: self.tokens[name] for name in ("refresh_token", "scope") if self.tokens.get(name)}
        given = {name: value for name, value in tokens.items() if value is not None}
        expires_at, lifetime = expiry_of(tokens)
        return replace(self, tokens={**kept, **given}, expires_at=expires_at, lifetime=lifetime)


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
            login = Login(**record, **json.loads(kept) if isinstance(kept, str) else as_object(kept))
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


_SECONDS = 15.0


async def renewed(logins: Logins, server: McpServer, stale: str) -> Login | None:
    """The login to `server` with another access token than `stale`; unchanged if it cannot be renewed now.

    A new token is kept before it is used: the old refresh token may work no more, and another process needs the new.
    """
    with anyio.CancelScope(shield=True), anyio.move_on_after(2 * _SECONDS):
        async with logins.lock(server):
            login = await WaitingCall(lambda: logins.read(server))()
            if login is None or login.ended or login.access_token != stale:
                return login
            after = await _ask(login)
            if after is not login:
                await WaitingCall(lambda: logins.write(server, after))()
            return after
    return None


async def _ask(login: Login) -> Login:
    """`login` after a renewal at its authorization server; unchanged if that cannot be reached."""
    if login.refresh_token is None:
        return replace(login, ended="the login has expired")
    data = {"grant_type": "refresh_token", "refresh_token": login.refresh_token}
    answer = await _post(login, login.token_endpoint, data)
    if answer is None or answer.status_code >= 500 or answer.status_code == 429:
        return login
    try:
        body = json.loads(answer.content)
        if answer.status_code == 200:
            return login.renewed(OAuthToken.model_validate(body).model_dump(mode="json", exclude_none=True))
        reason = str(body.get("error", answer.status_code))[:60]
    except (ValueError, AttributeError):
        reason = f"answer {answer.status_code}"
    return replace(login, ended=f"the login could not be renewed ({reason})")


async def revoke(login: Login) -> bool:
    """Revoke the tokens of `login` at its authorization server, if it supports that (RFC 7009)."""
    if login.revocation_endpoint is None:
        return False
    token = {"token": login.refresh_token or login.access_token}
    answer = await _post(login, login.revocation_endpoint, token)
    return answer is not None and answer.status_code == 200


async def _post(login: Login, url: str, data: dict[str, str]) -> httpx2.Response | None:
    data, headers = token_request(login, data)
    try:
        with anyio.fail_after(_SECONDS):
            async with httpx2.AsyncClient(follow_redirects=False, timeout=_SECONDS) as http:
                return await http.post(url, data=data, headers=headers)
    except (httpx2.HTTPError, httpx2.InvalidURL, TimeoutError):
        return None


def token_request(login: Login, data: dict[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """The fields and headers of a request that the client of `login` makes at its authorization server."""
    client = OAuthClientInformationFull.model_validate(login.client)
    metadata = OAuthClientMetadata.model_validate({"redirect_uris": ["http://127.0.0.1/callback"]})
    no_storage: Any = None
    provider = OAuthClientProvider(login.url, metadata, no_storage)
    provider.context.client_info = client
    fields = {**data, "client_id": client.client_id, **({"resource": login.resource} if login.resource else {})}
    return provider.context.prepare_token_auth(fields, {"Accept": "application/json"})


_LOOK_EVERY = 0.5  # seconds


class ServerLogin(httpx2.Auth):
    """Authorizes requests to one server. If that fails, requests are sent as they are, and the server refuses them.

    The provider of the `mcp` package is for the login itself: it holds a lock until the server answers, so that one
    slow call would delay all others, forgets after a restart when a token ends and where it is renewed, and begins a
    login, with a registration, wherever a token is refused.
    """

    def __init__(self, logins: Logins, server: McpServer) -> None:
        self._logins = logins
        self._server = server
        self._origin = _origin(server.url)
        self._look_up = WaitingCall(lambda: logins.read(server))
        self._login: Login | None = None
        self._id: str | None = None
        self._needed = anyio.Event()
        self.problem = ""
        """Why the person has to log in; empty while they need not."""

    async def begin(self) -> None:
        """Clear the problem, and use the login that is stored now."""
        self._needed, self.problem = anyio.Event(), ""
        self._id = self._logins.id_of(self._server)
        self._login = await self._look_up()

    @property
    def waits_for_keyring(self) -> bool:
        """Whether the keyring has not answered yet; it may wait for a person to unlock it."""
        return self._look_up.waits

    def is_another(self) -> bool:
        """Whether the person has logged in or out since `begin`."""
        return self._logins.id_of(self._server) != self._id

    def authorization(self) -> str | None:
        """The header that authorizes a request now, empty without a login; None if it has to be renewed first."""
        if self._login is None:
            return ""
        return None if self._login.has_expired else f"Bearer {self._login.access_token}"

    async def until_another(self) -> None:
        """Wait until the person logs in or out."""
        while not self.is_another():  # noqa: ASYNC110 - another process does that
            await anyio.sleep(_LOOK_EVERY)

    async def until_needed(self) -> None:
        """Wait until the server refuses the login."""
        await self._needed.wait()

    async def async_auth_flow(self, request: httpx2.Request) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        """Send `request` with a valid token, and once more with a new one if the server refuses it."""
        if _origin(str(request.url)) != self._origin:
            yield request
            return
        login = self._login
        if login is not None and login.has_expired and not login.ended:
            login = await self._renew(login)
        response = yield _authorized(request, login)
        if response.status_code != 401:
            return
        if login is not None and not login.ended:
            again = await self._renew(login)
            if again is not None and again.access_token != login.access_token:
                response = yield _authorized(request, again)
                if response.status_code != 401:
                    return
        ended = self._login.ended if self._login is not None else "it needs a login"
        self.problem = f"401 Unauthorized: {ended or 'its server refuses the login, which cannot be renewed now'}"
        self._needed.set()

    async def _renew(self, login: Login) -> Login | None:
        self._login = await renewed(self._logins, self._server, login.access_token) or login
        return self._login


def _authorized(request: httpx2.Request, login: Login | None) -> httpx2.Request:
    if login is not None:
        request.headers["Authorization"] = f"Bearer {login.access_token}"
    return request


def _origin(url: str) -> tuple[Any, ...]:
    parts = urlsplit(url)
    return parts.scheme, parts.hostname, parts.port or {"http": 80, "https": 443}.get(parts.scheme)
