"""An MCP server that needs a login, and its authorization server, from the parts that the `mcp` package has for both.

Refresh tokens are rotated; one that is used twice ends the login, as RFC 9700 has it.
"""

from __future__ import annotations

import secrets
import socket
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any, Literal

import httpx2
from mcp.server.auth.provider import (
    AccessToken,
    AuthorizationCode,
    AuthorizationParams,
    RefreshToken,
    TokenError,
    construct_redirect_uri,
)
from mcp.server.auth.settings import AuthSettings, ClientRegistrationOptions, RevocationOptions
from mcp.server.mcpserver import MCPServer
from mcp.shared.auth import OAuthClientInformationFull, OAuthToken
from pydantic import AnyHttpUrl
from starlette.responses import JSONResponse
from tests.mcp_support import served

from hikidashi.servers.config import McpServer

__all__ = ["Authorization", "browse", "server_with_login"]


class Authorization:
    """The authorization server: who agreed to what."""

    def __init__(self) -> None:
        self.url = ""
        self.issuer_said: str | None = None
        """The `iss` that it sends back with the code; none unless set."""
        self.refuses = ""
        self.lifetime = 3_600
        self.clients: dict[str, OAuthClientInformationFull] = {}
        self.codes: dict[str, AuthorizationCode] = {}
        self.access: dict[str, AccessToken] = {}
        self.refresh: dict[str, RefreshToken] = {}
        self.used: set[str] = set()
        self.renewals = 0
        self.reuse = 0
        self.metadata: dict[str, Any] = {}
        """What its metadata says beside, or instead of, what the package has it say."""

    async def get_client(self, client_id: str) -> OAuthClientInformationFull | None:
        return self.clients.get(client_id)

    def describing(self, app: Any) -> Any:
        """`app` with the changed metadata."""

        async def described(scope: Any, receive: Any, send: Any) -> None:
            if scope["type"] != "http" or "oauth-authorization-server" not in scope["path"]:
                await app(scope, receive, send)
                return
            async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app)) as http:
                said = (await http.get(self.url + scope["path"])).json()
            await JSONResponse({**said, **self.metadata})(scope, receive, send)

        return described

    async def register_client(self, client_info: OAuthClientInformationFull) -> None:
        self.clients[client_info.client_id] = client_info

    async def authorize(self, client: OAuthClientInformationFull, params: AuthorizationParams) -> str:
        back = str(params.redirect_uri)
        if self.refuses:
            return construct_redirect_uri(back, error=self.refuses, state=params.state)
        code = secrets.token_hex(20)
        self.codes[code] = AuthorizationCode(
            code=code,
            scopes=params.scopes or [],
            expires_at=time.time() + 60,
            client_id=client.client_id,
            code_challenge=params.code_challenge,
            redirect_uri=params.redirect_uri,
            redirect_uri_provided_explicitly=params.redirect_uri_provided_explicitly,
            resource=params.resource,
            subject="ann",
        )
        return construct_redirect_uri(back, code=code, state=params.state, iss=self.issuer_said)

    async def load_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: str
    ) -> AuthorizationCode | None:
        return self.codes.get(authorization_code)

    async def exchange_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: AuthorizationCode
    ) -> OAuthToken:
        del self.codes[authorization_code.code]
        return self._tokens(client, authorization_code.scopes)

    async def load_refresh_token(self, client: OAuthClientInformationFull, refresh_token: str) -> RefreshToken | None:
        if refresh_token in self.used:
            self.reuse += 1
            self.refresh.clear()
        return self.refresh.get(refresh_token)

    async def exchange_refresh_token(
        self, client: OAuthClientInformationFull, refresh_token: RefreshToken, scopes: list[str]
    ) -> OAuthToken:
        if self.refresh.pop(refresh_token.token, None) is None:
            raise TokenError("invalid_grant")
        self.used.add(refresh_token.token)
        self.renewals += 1
        return self._tokens(client, scopes)

    async def load_access_token(self, token: str) -> AccessToken | None:
        return self.access.get(token)

    async def revoke_token(self, token: AccessToken | RefreshToken) -> None:
        self.access.clear()
        self.refresh.clear()

    async def exchange_identity_assertion(self, client: Any, params: Any) -> OAuthToken:
        raise TokenError("unsupported_grant_type")

    def _tokens(self, client: OAuthClientInformationFull, scopes: list[str]) -> OAuthToken:
        access, refresh = f"access-{secrets.token_hex(20)}", f"refresh-{secrets.token_hex(20)}"
        self.access[access] = AccessToken(token=access, client_id=client.client_id, scopes=scopes, subject="ann")
        self.refresh[refresh] = RefreshToken(token=refresh, client_id=client.client_id, scopes=scopes)
        return OAuthToken(access_token=access, expires_in=self.lifetime, scope=" ".join(scopes), refresh_token=refresh)


@asynccontextmanager
async def server_with_login(
    *, name: str = "behind", registers: bool = True, transport: Literal["http", "sse"] = "http"
) -> AsyncGenerator[tuple[McpServer, Authorization]]:
    """A server with one tool, and where one logs in to it."""
    authorization = Authorization()
    listening = socket.create_server(("127.0.0.1", 0))
    base = f"http://127.0.0.1:{listening.getsockname()[1]}"
    path = "/mcp" if transport == "http" else "/sse"
    authorization.url = base
    server = MCPServer(
        name,
        auth_server_provider=authorization,
        auth=AuthSettings(
            issuer_url=AnyHttpUrl(base),
            resource_server_url=AnyHttpUrl(base + path),
            required_scopes=["tools"],
            client_registration_options=ClientRegistrationOptions(
                enabled=registers, valid_scopes=["tools"], default_scopes=["tools"]
            ),
            revocation_options=RevocationOptions(enabled=True),
        ),
    )

    @server.tool()
    def secret_number() -> int:  # pyright: ignore[reportUnusedFunction]
        """The number that only those know who have logged in."""
        return 42

    app = server.streamable_http_app() if transport == "http" else server.sse_app()
    async with served(authorization.describing(app), listening) as url:
        yield McpServer(name=name, transport=transport, url=url + path), authorization


async def browse(url: str) -> httpx2.Response:
    """What a person's browser does with the page of a login: it is sent on until it comes back."""
    async with httpx2.AsyncClient(follow_redirects=True) as browser:
        return await browser.get(url)
