"""How the gateway checks the access tokens of its clients."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import SplitResult

from ...common.urls import is_loopback, split_base_url

__all__ = ["OAuthOptions"]

_SCOPE = re.compile(r"[\x21\x23-\x5B\x5D-\x7E]+")  # scope-token of RFC 6749


@dataclass(frozen=True, kw_only=True, slots=True)
class OAuthOptions:
    """The gateway as an OAuth 2.1 resource server: clients send JWT access tokens of one issuer.

    Args:
        issuer: URL of the authorization server; `iss` of a token must be exactly this.
        audience: What tokens must be meant for (`aud`); by RFC 8707 the public URL of the gateway.
        jwks_url: Where the issuer publishes its keys; by default its metadata says so (RFC 8414, OpenID Connect).
        scopes: Scopes that a token must have.
        resource: The public URL of the gateway, for the protected resource metadata (RFC 9728); by default the
            audience, if it is a URL, or else the URL that a client asked for.

    Raises:
        ValueError: a URL is not https (http is for loopback addresses), or a value is invalid.
    """

    issuer: str
    audience: str
    jwks_url: str | None = None
    scopes: tuple[str, ...] = ()
    resource: str | None = None

    def __post_init__(self) -> None:
        _check_url("issuer", self.issuer, query=False)
        if not self.audience or self.audience != self.audience.strip():
            raise ValueError(f"`audience` is {self.audience!r}: use the value that tokens have in `aud`.")
        if self.jwks_url is not None:
            _check_url("jwks_url", self.jwks_url)
        if self.resource is not None:
            _check_url("resource", self.resource)
        for scope in self.scopes:
            if not _SCOPE.fullmatch(scope):
                raise ValueError(f"`scopes` has {scope!r}: use one word for each scope.")

    @property
    def resource_url(self) -> str | None:
        """The public URL of the gateway, where it is known."""
        if self.resource is not None:
            return self.resource
        try:
            split_base_url(self.audience)
        except ValueError:
            return None
        return self.audience


def _check_url(name: str, url: str, *, query: bool = True) -> None:
    try:
        parts = split_base_url(url)
    except ValueError as error:
        raise ValueError(f"`{name}` {error}.") from error
    if problem := _problem(parts, query=query):
        raise ValueError(f"`{name}` {problem}.")


def _problem(parts: SplitResult, *, query: bool) -> str | None:
    if parts.scheme != "https" and not is_loopback(parts.hostname or ""):
        return f"is {parts.geturl()!r}: use https, as others could read and change what http carries"
    if parts.username is not None or parts.password is not None:
        return "has a name or a password in it: leave them out"
    if parts.fragment or (parts.query and not query):
        return f"is {parts.geturl()!r}: leave out what follows the path"
    return None
