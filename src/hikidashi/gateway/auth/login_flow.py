"""A person logs in to a server: the authorization-code flow with PKCE, by the provider of the `mcp` package."""

from __future__ import annotations

import hmac
import socketserver
import threading
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler
from typing import Any, Self
from urllib.parse import parse_qs, urljoin, urlsplit

import anyio
import httpx2
from mcp.client.auth import OAuthClientProvider, OAuthFlowError, OAuthRegistrationError
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientInformationFull, OAuthClientMetadata, OAuthToken
from mcp_types.version import LATEST_HANDSHAKE_VERSION

from ... import __version__
from ...common.unicode import well_formed
from ...common.urls import is_loopback
from ...errors import LoginError, ServerUnavailableError
from ...servers.config import McpServer
from ...servers.connection import Diagnostics, connected
from .logins import Login, Logins, ServerLogin, expiry_of, takes_login

_PATH = "/callback"
_POLL = 0.05  # seconds
_HEADERS = {
    "content-type": "text/plain; charset=utf-8",
    "cache-control": "no-store",
    "referrer-policy": "no-referrer",
    "connection": "close",
}


class CallbackPage:
    """Receives the response of an authorization server at 127.0.0.1; requests with another `state` are refused."""

    def __init__(self, port: int = 0) -> None:
        self.state: str | None = None
        """The `state` that the response must have; set before the browser is redirected."""
        self._answer: dict[str, str] | None = None
        self._listener = _RedirectListener(("127.0.0.1", port), _CallbackRequest)
        self._listener.page = self

    def __enter__(self) -> Self:
        threading.Thread(target=self._listener.serve_forever, args=(_POLL,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.shutdown()
        self._listener.server_close()

    @property
    def redirect_uri(self) -> str:
        """The URL of the page."""
        return f"http://127.0.0.1:{self._listener.server_address[1]}{_PATH}"

    async def answer(self) -> dict[str, str]:
        """Wait for the parameters of the authorization response."""
        while self._answer is None:  # noqa: ASYNC110 - a thread sets it
            await anyio.sleep(_POLL)
        return self._answer

    def receive(self, method: str, target: str) -> tuple[int, str]:
        """Accept the authorization response, or refuse the request: the status and text for the browser."""
        path, _, query = target.partition("?")
        parameters = {name: values[0] for name, values in parse_qs(query, max_num_fields=20).items()}
        is_ours = self.state is not None and hmac.compare_digest(
            well_formed(parameters.get("state", "")).encode(), self.state.encode()
        )
        if method != "GET" or path != _PATH or not is_ours or self._answer is not None:
            return 400, "No login is waiting for this."
        self._answer = parameters
        text = "The login was refused." if "error" in parameters else "You are logged in."
        return 200, f"{text} You can close this page."


class _RedirectListener(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True
    page: CallbackPage

    def handle_error(self, request: object, client_address: object) -> None:
        """Print nothing: stderr belongs to the program."""


class _CallbackRequest(BaseHTTPRequestHandler):
    server: _RedirectListener  # pyright: ignore[reportIncompatibleVariableOverride]
    timeout = 10  # seconds, for a client that connects and sends nothing

    def answer(self) -> None:
        status, text = self.server.page.receive(self.command, self.path)
        self.send_response(status)
        for name, value in _HEADERS.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(f"{text}\n".encode())

    do_GET = do_POST = answer  # noqa: N815 - the names under which the base class looks for a method

    def version_string(self) -> str:
        return "hikidashi"

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name of the overridden method
        """Log nothing: stderr belongs to the program."""


_SECONDS = 30.0  # for each request
_LONGEST_REASON = 300
_NO_REGISTRATION = (
    "Register an application there yourself, with the redirect URI http://127.0.0.1:PORT/callback, and give "
    "--client-id and --port."
)


@dataclass(frozen=True, kw_only=True, slots=True)
class KnownClient:
    """How the gateway is known to an authorization server; if all are empty, it registers itself.

    Args:
        id: The id of an application that was registered there before.
        secret: Its secret, if it has one.
        metadata_url: An https URL with the client's metadata, for servers that accept it as an id.
        port: The port of the redirect URI; 0 uses a free one.
    """

    id: str | None = None
    secret: str | None = None
    metadata_url: str | None = None
    port: int = 0


async def log_in(
    server: McpServer, *, show: Callable[[str], None], client: KnownClient | None = None, seconds: float = 600.0
) -> Login:
    """Have a person log in to `server`.

    Args:
        server: The server, reached over HTTP.
        show: Called with the URL of the authorization page.
        client: How the gateway is known to the authorization server.
        seconds: Timeout of the login.

    Raises:
        LoginError: the server does not accept logins, or it failed; the error says why.
    """
    if not takes_login(server):
        stdio = server.transport == "stdio"
        reason = "it is a process, not reached over HTTP" if stdio else "its config has an Authorization header"
        raise _failed(server, reason, "Give it its key in `env`." if stdio else "Remove the header to log in instead.")
    known = client or KnownClient()
    try:
        with CallbackPage(known.port) as page, anyio.fail_after(seconds):
            return await _flow(server, page, known, show)
    except TimeoutError as error:
        raise _failed(server, f"the login was not completed within {seconds:g} s") from error
    except OAuthRegistrationError as error:
        raise _failed(server, _one_line(error), _NO_REGISTRATION) from error
    except (OAuthFlowError, httpx2.HTTPError, httpx2.InvalidURL, ValueError, OSError) as error:
        raise _failed(server, _one_line(error)) from error


async def _flow(server: McpServer, page: CallbackPage, known: KnownClient, show: Callable[[str], None]) -> Login:
    async def redirect(url: str) -> None:
        for place in (url, _token_endpoint(provider)):
            parts = urlsplit(place)
            if parts.scheme != "https" and not is_loopback(parts.hostname or ""):
                raise OAuthFlowError(f"its authorization server is not https: {parts.scheme}://{parts.netloc}")
        page.state = parse_qs(urlsplit(url).query)["state"][0]
        show(url)

    async def callback() -> AuthorizationCodeResult:
        given = await page.answer()
        if "error" in given:
            message = " ".join(filter(None, (given["error"], given.get("error_description"))))
            raise OAuthFlowError(f"the login was refused: {message}")
        return AuthorizationCodeResult(code=given.get("code", ""), state=given.get("state"), iss=given.get("iss"))

    metadata = OAuthClientMetadata.model_validate(
        {
            "client_name": "hikidashi",
            "software_id": "hikidashi",
            "software_version": __version__,
            "redirect_uris": [page.redirect_uri],
            "grant_types": ["authorization_code", "refresh_token"],
            "response_types": ["code"],
            "token_endpoint_auth_method": "client_secret_post" if known.secret else "none",
        }
    )
    storage = _Memory(_registered(known, page.redirect_uri))
    provider = OAuthClientProvider(server.url, metadata, storage, redirect, callback, known.metadata_url)
    async with (
        httpx2.AsyncClient(
            headers=dict(server.headers), auth=_Demanded(provider), timeout=_SECONDS, follow_redirects=True
        ) as http,
        http.stream("POST", server.url, json=_HELLO, headers=_ACCEPT),
    ):
        pass  # the response does not matter: there are tokens, or the flow has failed
    context = provider.context
    if context.current_tokens is None or context.client_info is None:
        raise OAuthFlowError("its authorization server gave no token")
    tokens = context.current_tokens.model_dump(mode="json", exclude_none=True)
    expires_at, lifetime = expiry_of(tokens)
    described = context.oauth_metadata
    revocation = None if described is None else described.revocation_endpoint
    return Login(
        url=server.url,
        client=context.client_info.model_dump(mode="json", exclude_none=True),
        tokens=tokens,
        token_endpoint=_token_endpoint(provider),
        revocation_endpoint=None if revocation is None else str(revocation),
        resource=context.get_resource_url()
        if context.should_include_resource_param(context.protocol_version)
        else None,
        expires_at=expires_at,
        lifetime=lifetime,
    )


_HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": LATEST_HANDSHAKE_VERSION,
        "capabilities": {},
        "clientInfo": {"name": "hikidashi", "version": __version__},
    },
}
_ACCEPT = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": LATEST_HANDSHAKE_VERSION}


class _Demanded(httpx2.Auth):
    """Starts the provider's login even if the server does not require one for this request."""

    def __init__(self, provider: OAuthClientProvider) -> None:
        self._provider = provider

    async def async_auth_flow(self, request: httpx2.Request) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        flow = self._provider.async_auth_flow(request)
        try:
            response = yield await anext(flow)
            if response.status_code != 401:
                response = httpx2.Response(401, request=request)
            while True:
                try:
                    wanted = await flow.asend(response)
                except StopAsyncIteration:
                    return
                response = yield wanted
        finally:
            await flow.aclose()


class _Memory:
    """Keeps what the provider learns until the login is complete; a failed one leaves nothing behind."""

    def __init__(self, client: OAuthClientInformationFull | None) -> None:
        self._client = client
        self._tokens: OAuthToken | None = None

    async def get_tokens(self) -> OAuthToken | None:
        return self._tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self._tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self._client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self._client = client_info


def _registered(known: KnownClient, redirect_uri: str) -> OAuthClientInformationFull | None:
    if known.id is None:
        return None
    given: dict[str, Any] = {
        "client_id": known.id,
        "client_secret": known.secret,
        "redirect_uris": [redirect_uri],
        "token_endpoint_auth_method": "client_secret_post" if known.secret else "none",
    }
    return OAuthClientInformationFull.model_validate(given)


def _token_endpoint(provider: OAuthClientProvider) -> str:
    described = provider.context.oauth_metadata
    if described is not None:
        return str(described.token_endpoint)
    return urljoin(provider.context.get_authorization_base_url(provider.context.server_url), "/token")


def _failed(server: McpServer, reason: str, remedy: str = "") -> LoginError:
    return LoginError(server.name, server.without_secrets(reason), remedy)


def _one_line(error: Exception) -> str:
    message = " ".join(str(error).split())
    if "State parameter mismatch" in message:  # it would show the state
        message = "State parameter mismatch"
    return (message or type(error).__name__)[:_LONGEST_REASON]


async def tools_with_login(server: McpServer, logins: Logins, *, seconds: float) -> int:
    """How many tools `server` lists for the login that is kept.

    Raises:
        ServerUnavailableError: it does not list them.
    """
    login = ServerLogin(logins, server)
    await login.begin()
    with Diagnostics(server) as diagnostics:
        try:
            with anyio.fail_after(seconds):
                async with connected(server, diagnostics, seconds=seconds, grace=lambda: 0.0, auth=login) as client:
                    return len((await client.list_tools()).tools)
        except TimeoutError as error:
            raise ServerUnavailableError(server.name, f"no answer within {seconds:g} s") from error
        except Exception as error:
            raise ServerUnavailableError(server.name, diagnostics.explain(error)) from error
