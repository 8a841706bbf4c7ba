"""Access tokens of clients: JWTs of one issuer, for this gateway, valid now (RFC 9068)."""

from __future__ import annotations

import logging
from typing import Any, cast

import jwt
from mcp.server.auth.provider import AccessToken

from ._keys import ALGORITHMS, SigningKeys
from .options import OAuthOptions

__all__ = ["InvalidTokenError", "JwtVerifier"]

logger = logging.getLogger("hikidashi.gateway")

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
    return [scope for scope in cast("list[Any]", listed) if isinstance(scope, str)] if isinstance(listed, list) else []
