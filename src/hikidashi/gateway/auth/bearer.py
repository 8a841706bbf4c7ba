"""Requests need a bearer token (RFC 6750): one shared by all clients, or an access token of an issuer (RFC 9068)."""

from __future__ import annotations

import hashlib
import hmac
import json
import logging
import re
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import anyio
import httpx2
import jwt
from mcp.client.auth.utils import build_oauth_authorization_server_metadata_discovery_urls
from mcp.server.auth.middleware.auth_context import AuthContextMiddleware
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from starlette.authentication import AuthCredentials
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from ...common.json import is_list, is_object
from ...common.urls import is_loopback_url
from ..options import OAuthOptions

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

_SECONDS = 10.0
_MOST_BYTES = 512 * 1024


class FetchError(Exception):
    """It could not be fetched; the text says why, in one line."""


async def fetch_object(url: str) -> dict[str, Any]:
    """The JSON object at `url`; redirects are not followed.

    Raises:
        FetchError: there is none, it is too large, or it takes too long.
    """
    content = bytearray()
    try:
        with anyio.fail_after(_SECONDS):
            async with (
                httpx2.AsyncClient(follow_redirects=False, timeout=_SECONDS) as http,
                http.stream("GET", url, headers={"Accept": "application/json"}) as response,
            ):
                if response.status_code != 200:
                    raise FetchError(f"{url} answered {response.status_code}")
                async for piece in response.aiter_bytes():
                    content += piece
                    if len(content) > _MOST_BYTES:
                        raise FetchError(f"{url} sent more than {_MOST_BYTES:,} bytes")
    except TimeoutError as error:
        raise FetchError(f"{url} did not answer within {_SECONDS:g} s") from error
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        raise FetchError(f"{url} cannot be reached: {type(error).__name__}") from error
    try:
        value = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise FetchError(f"{url} sent no JSON") from error
    if not is_object(value):
        raise FetchError(f"{url} sent no JSON object")
    return value


logger = logging.getLogger("hikidashi.gateway")

ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
"""Asymmetric algorithms only: with `HS256` the public key would be the secret, and `none` has no signature at all."""

_FRESH_SECONDS = 3_600.0  # after which keys are fetched again, so that a revoked one is not used forever
_USABLE_SECONDS = 86_400.0  # for which they are used while the issuer cannot be reached
_PAUSE_SECONDS = 30.0  # between two fetches, whatever tokens are sent
_RETRY_SECONDS = 5.0  # until the first fetch is tried again
_MOST_KEYS = 100
_SMALLEST_RSA = 2_048  # bits
_CURVES = {"ES256": "P-256", "ES384": "P-384", "ES512": "P-521", "EdDSA": "Ed25519"}
_KEY_TYPES = {"RS": "RSA", "PS": "RSA", "ES": "EC", "Ed": "OKP"}


class KeysUnavailableError(Exception):
    """The issuer's keys could not be fetched, so no token can be checked."""


class SigningKeys:
    """The keys that an issuer signs with."""

    def __init__(self, options: OAuthOptions, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._options = options
        self._clock = clock
        self._keys: list[dict[str, Any]] | None = None
        self._parsed: dict[tuple[int, str], jwt.PyJWK | None] = {}
        self._fetched_at = 0.0
        self._next_fetch = 0.0
        self._lock = anyio.Lock()

    async def matching(self, key_id: str | None, algorithm: str) -> list[jwt.PyJWK]:
        """The keys that may have signed a token with this header.

        Raises:
            KeysUnavailableError: the issuer cannot be reached, and no keys are known from before.
        """
        if self._keys is None or self._clock() - self._fetched_at > _FRESH_SECONDS:
            await self._fetch(wait=self._keys is None)
        found = self._find(key_id, algorithm)
        if not found:
            await self._fetch(wait=True)
            found = self._find(key_id, algorithm)
        return found

    def _find(self, key_id: str | None, algorithm: str) -> list[jwt.PyJWK]:
        if self._keys is None or self._clock() - self._fetched_at > _USABLE_SECONDS:
            raise KeysUnavailableError
        found = (
            self._parse(place, algorithm)
            for place, key in enumerate(self._keys)
            if (key_id is None or key.get("kid") == key_id) and _is_for(key, algorithm)
        )
        return [key for key in found if key is not None]

    def _parse(self, place: int, algorithm: str) -> jwt.PyJWK | None:
        if (place, algorithm) not in self._parsed:
            assert self._keys is not None
            try:
                key = jwt.PyJWK(self._keys[place], algorithm)
                is_usable = getattr(key.key, "key_size", _SMALLEST_RSA) >= _SMALLEST_RSA or algorithm[0] == "E"
            except Exception as error:  # a key set may hold anything
                logger.warning("a key of %s cannot be used: %s", self._options.issuer, type(error).__name__)
                key, is_usable = None, False
            self._parsed[place, algorithm] = key if is_usable else None
        return self._parsed[place, algorithm]

    async def _fetch(self, *, wait: bool) -> None:
        """Fetch the keys, unless that was done recently; known keys stay if it fails."""
        if self._lock.locked() and not wait:
            return
        async with self._lock:
            if self._clock() < self._next_fetch:
                return
            self._next_fetch = self._clock() + _PAUSE_SECONDS
            try:
                keys = await self._fetch_keys()
            except FetchError as error:
                logger.warning("the keys of %s cannot be fetched: %s", self._options.issuer, error)
                if self._keys is None:
                    self._next_fetch = self._clock() + _RETRY_SECONDS
                return
            self._keys, self._parsed, self._fetched_at = keys, {}, self._clock()

    async def _fetch_keys(self) -> list[dict[str, Any]]:
        url = self._options.jwks_url or await self._discover()
        listed = (await fetch_object(url)).get("keys")
        if not is_list(listed):
            raise FetchError(f"{url} has no `keys`")
        keys = [key for key in listed if is_object(key)]
        if len(keys) > _MOST_KEYS:
            raise FetchError(f"{url} has more than {_MOST_KEYS} keys")
        return keys

    async def _discover(self) -> str:
        """Where the issuer publishes its keys, as its metadata says."""
        issuer = self._options.issuer
        failures: list[str] = []
        for url in build_oauth_authorization_server_metadata_discovery_urls(issuer, issuer):
            try:
                metadata = await fetch_object(url)
            except FetchError as error:
                failures.append(str(error))
                continue
            jwks_url = metadata.get("jwks_uri")
            if metadata.get("issuer") != issuer:
                failures.append(f"{url} is of another issuer")
            elif not isinstance(jwks_url, str):
                failures.append(f"{url} has no `jwks_uri`")
            elif not jwks_url.startswith("https://") and not (is_loopback_url(issuer) and is_loopback_url(jwks_url)):
                failures.append(f"{url} has a `jwks_uri` that is not https")
            else:
                return jwks_url
        raise FetchError("; ".join(failures))


def _is_for(key: dict[str, Any], algorithm: str) -> bool:
    """Whether a JWK may verify signatures of `algorithm`; a private or symmetric one never does."""
    operations = key.get("key_ops")
    return (
        key.get("kty") == _KEY_TYPES[algorithm[:2]]
        and key.get("use", "sig") == "sig"
        and (operations is None or (isinstance(operations, list) and "verify" in operations))
        and key.get("alg", algorithm) == algorithm
        and (algorithm not in _CURVES or key.get("crv") == _CURVES[algorithm])
        and "d" not in key
    )


_LONGEST_TOKEN = 16_384  # characters
_LEEWAY = 30.0  # seconds by which clocks may differ
_TYPES = ("jwt", "at+jwt", "application/at+jwt")  # not those of logout, introspection or proof tokens

_REASONS: tuple[tuple[type[Exception], str], ...] = (
    (jwt.ExpiredSignatureError, "The token has expired"),
    (jwt.ImmatureSignatureError, "The token is not valid yet"),
    (jwt.InvalidAudienceError, "The token is for another audience"),
    (jwt.InvalidIssuerError, "The token is of another issuer"),
    (jwt.MissingRequiredClaimError, "The token lacks one of the claims exp, iss, aud and sub"),
    (jwt.InvalidSignatureError, "The signature is wrong"),
)


class InvalidTokenError(Exception):
    """A token is refused; the message says why, without any part of the token."""


class JwtVerifier:
    """Checks access tokens by the keys of their issuer."""

    def __init__(self, options: OAuthOptions, keys: SigningKeys | None = None) -> None:
        self._options = options
        self._keys = keys or SigningKeys(options)

    async def verify(self, token: str) -> AccessToken:
        """Who sent this token, and which scopes they have.

        Raises:
            InvalidTokenError: it is not a valid token for this gateway.
            KeysUnavailableError: it cannot be checked, as the issuer's keys are not known.
        """
        key_id, algorithm = _header(token)
        reason = "The token is signed with an unknown key"
        for key in await self._keys.matching(key_id, algorithm):
            try:
                return self._access(token, jwt.decode(token, key, **self._demands(algorithm)))
            except InvalidTokenError:
                raise
            except Exception as error:  # no claim of a token may fail the gateway
                reason = next((text for kind, text in _REASONS if isinstance(error, kind)), "The token is malformed")
                if not isinstance(error, jwt.InvalidSignatureError):
                    break
        raise InvalidTokenError(reason)

    def _demands(self, algorithm: str) -> dict[str, Any]:
        return {
            "algorithms": [algorithm],
            "audience": self._options.audience,
            "issuer": self._options.issuer,
            "leeway": _LEEWAY,
            "options": {"require": ["exp", "iss", "aud", "sub"]},
        }

    def _access(self, token: str, claims: dict[str, Any]) -> AccessToken:
        subject = claims["sub"]
        if not isinstance(subject, str) or not subject:
            raise InvalidTokenError("The token has no subject")
        if claims.get("cnf") is not None:  # a stolen one must not work here, and the proof cannot be checked
            raise InvalidTokenError("The token is bound to a key (cnf), which is not supported")
        client = next((claims[key] for key in ("client_id", "azp") if isinstance(claims.get(key), str)), subject)
        return AccessToken(
            token=token,
            client_id=client,
            scopes=_scopes(claims),
            expires_at=int(claims["exp"]),
            resource=self._options.audience,
            subject=subject,
            claims={"iss": claims["iss"]},
        )


def _header(token: str) -> tuple[str | None, str]:
    """The key id and the algorithm that a token names."""
    if len(token) > _LONGEST_TOKEN:
        raise InvalidTokenError(f"The token has more than {_LONGEST_TOKEN:,} characters")
    if not token.isascii() or token.count(".") != 2:
        raise InvalidTokenError("The token is not a signed JWT")
    try:
        header = jwt.get_unverified_header(token)
    except Exception as error:
        raise InvalidTokenError("The token is malformed") from error
    key_id, algorithm = header.get("kid"), header.get("alg")
    if algorithm not in ALGORITHMS:
        raise InvalidTokenError(f"The token's algorithm is none of {', '.join(ALGORITHMS)}")
    if "crit" in header or str(header.get("typ", "JWT")).lower() not in _TYPES:
        raise InvalidTokenError("The token is of a kind that is not supported")
    if key_id is not None and not isinstance(key_id, str):
        raise InvalidTokenError("The token is malformed")
    return key_id, algorithm


def _scopes(claims: dict[str, Any]) -> list[str]:
    """The scopes in `scope` (RFC 9068) or `scp`, which some issuers use instead."""
    given = claims.get("scope", claims.get("scp"))
    listed = given.split() if isinstance(given, str) else given
    return [scope for scope in listed if isinstance(scope, str)] if is_list(listed) else []


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
