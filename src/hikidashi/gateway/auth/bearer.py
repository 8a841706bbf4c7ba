"""Requests need a bearer token (RFC 6750): one shared by all clients, or an access token of an issuer."""

from __future__ import annotations

import hashlib
import hmac
import re
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from mcp.server.auth.middleware.auth_context import AuthContextMiddleware
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from starlette.authentication import AuthCredentials
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from ._keys import KeysUnavailableError
from ._verifier import InvalidTokenError, JwtVerifier
from .options import OAuthOptions

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

__all__ = ["RequireAccessToken", "RequireSharedToken", "metadata_routes"]

_WELL_KNOWN = "/.well-known/oauth-protected-resource"
_PATH = "/mcp"
_HOST = re.compile(r"[A-Za-z0-9.:\[\]-]+")
_ANY_PAGE = {"Access-Control-Allow-Origin": "*", "Access-Control-Allow-Headers": "*", "Cache-Control": "no-store"}


class _RequireToken(ABC):
    """Passes requests on whose token `_admit` accepts."""

    _scope = ""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or self._is_public(scope["path"]):
            await self._app(scope, receive, send)
            return
        given = [value for name, value in scope["headers"] if name == b"authorization"]
        if len(given) > 1:
            refused = self._refusal(scope, 400, "invalid_request", "Send one Authorization header")
        else:
            kind, _, token = (given or [b""])[0].partition(b" ")
            sent = token.strip() if kind.lower() == b"bearer" else b""
            refused = await self._admit(scope, sent) if sent else self._refusal(scope, 401, scope=self._scope)
        if isinstance(refused, Response):
            await refused(scope, receive, send)
        else:
            await self._app(refused, receive, send)

    def _is_public(self, path: str) -> bool:
        return False

    @abstractmethod
    async def _admit(self, scope: Scope, token: bytes) -> Scope | Response:
        """The scope of the accepted request, or the response that refuses it."""

    def _challenge(self, scope: Scope) -> dict[str, str]:
        """Further parameters of the challenge."""
        return {}

    def _refusal(
        self, request: Scope, status: int, error: str = "", description: str = "", scope: str = ""
    ) -> Response:
        # RFC 6750: the challenge to a request without a token has no error.
        parameters = {"error": error, "error_description": description, **self._challenge(request), "scope": scope}
        shown = ", ".join(f'{name}="{value}"' for name, value in parameters.items() if value)
        body = {"error": error or "unauthorized", "error_description": description or "Send a bearer token"}
        return JSONResponse(body, status, {"WWW-Authenticate": f"Bearer {shown}".strip(), "Cache-Control": "no-store"})


class RequireSharedToken(_RequireToken):
    """Refuses requests without the one token that all clients share."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        super().__init__(app)
        self._expected = hashlib.sha256(token.encode()).digest()

    async def _admit(self, scope: Scope, token: bytes) -> Scope | Response:
        # Digests are equally long, so that the time taken does not reveal the length either.
        if hmac.compare_digest(hashlib.sha256(token).digest(), self._expected):
            return scope
        return self._refusal(scope, 401, "invalid_token", "The token is wrong")


class RequireAccessToken(_RequireToken):
    """Refuses requests without an access token that an issuer made for this gateway.

    The application gets the principal: sessions, sealed states and kept results are bound to it.
    """

    def __init__(self, app: ASGIApp, options: OAuthOptions, verifier: JwtVerifier | None = None) -> None:
        super().__init__(AuthContextMiddleware(app))
        self._options = options
        self._verifier = verifier or JwtVerifier(options)
        self._public = _metadata_paths(options)
        self._scope = " ".join(options.scopes)

    def _is_public(self, path: str) -> bool:
        return path in self._public

    def _challenge(self, scope: Scope) -> dict[str, str]:
        resource = _resource(self._options, scope)
        if resource is None:
            return {}
        parts = urlsplit(resource)
        return {"resource_metadata": f"{parts.scheme}://{parts.netloc}{_WELL_KNOWN}{parts.path.rstrip('/')}"}

    async def _admit(self, scope: Scope, token: bytes) -> Scope | Response:
        needed = self._scope
        try:
            access = await self._verifier.verify(token.decode("latin-1"))
        except InvalidTokenError as error:
            return self._refusal(scope, 401, "invalid_token", str(error), scope=needed)
        except KeysUnavailableError:
            body = {"error": "temporarily_unavailable", "error_description": "The issuer's keys cannot be fetched"}
            return JSONResponse(body, 503, {"Retry-After": "5", "Cache-Control": "no-store"})
        if not set(self._options.scopes) <= set(access.scopes):
            return self._refusal(scope, 403, "insufficient_scope", f"Required scope: {needed}", scope=needed)
        return {**scope, "user": AuthenticatedUser(access), "auth": AuthCredentials(access.scopes)}


def metadata_routes(options: OAuthOptions) -> list[Route]:
    """The protected resource metadata (RFC 9728), which names the issuer."""

    async def metadata(request: Request) -> Response:
        if request.method == "OPTIONS":
            return Response(status_code=204, headers=_ANY_PAGE)
        resource = _resource(options, request.scope)
        if resource is None:
            return JSONResponse({"error": "invalid_request", "error_description": "Send a Host header"}, 400)
        described = {
            "resource": resource,
            "authorization_servers": [options.issuer],
            "bearer_methods_supported": ["header"],
            "resource_name": "hikidashi",
            **({"scopes_supported": list(options.scopes)} if options.scopes else {}),
        }
        return JSONResponse(described, headers=_ANY_PAGE)

    return [Route(path, metadata, methods=["GET", "OPTIONS"]) for path in sorted(_metadata_paths(options))]


def _metadata_paths(options: OAuthOptions) -> frozenset[str]:
    public = urlsplit(options.resource_url or "").path.rstrip("/")
    return frozenset({_WELL_KNOWN + _PATH, _WELL_KNOWN + public})


def _resource(options: OAuthOptions, scope: Scope) -> str | None:
    """The URL of the gateway as its clients know it; by default, the URL of the request."""
    if options.resource_url is not None:
        return options.resource_url
    host = next((value.decode("latin-1") for name, value in scope["headers"] if name == b"host"), "")
    return f"{scope['scheme']}://{host}{_PATH}" if _HOST.fullmatch(host) else None
