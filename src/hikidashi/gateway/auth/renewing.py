"""Access tokens that have expired are renewed: once, however many processes and calls need that at the same time."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any, cast

import anyio
import httpx2
from mcp.client.auth import OAuthClientProvider
from mcp.shared.auth import OAuthClientInformationFull, OAuthClientMetadata, OAuthToken

from ...servers.config import McpServer
from .logins import Login, Logins
from .waiting import WaitingCall

__all__ = ["renewed", "revoke", "token_request"]

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
        body = cast("dict[str, Any]", json.loads(answer.content))
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
    provider = OAuthClientProvider(login.url, metadata, cast("Any", None))
    provider.context.client_info = client
    fields = {**data, "client_id": client.client_id, **({"resource": login.resource} if login.resource else {})}
    return provider.context.prepare_token_auth(fields, {"Accept": "application/json"})
