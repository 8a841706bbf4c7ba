"""The public keys of an issuer (JWKS): fetched when they are needed, cached, and fetched again when they change."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Any, cast

import anyio
import jwt
from mcp.client.auth.utils import build_oauth_authorization_server_metadata_discovery_urls

from ...common.urls import is_loopback_url
from ._fetch import FetchError, fetch_object
from .options import OAuthOptions

__all__ = ["ALGORITHMS", "KeysUnavailableError", "SigningKeys"]

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
        if not isinstance(listed, list):
            raise FetchError(f"{url} has no `keys`")
        keys = [cast("dict[str, Any]", key) for key in cast("list[Any]", listed) if isinstance(key, dict)]
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
