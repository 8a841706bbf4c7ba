"""Authorization of HTTP clients: the options of the command, and how they combine."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from hikidashi.common.urls import is_loopback
from hikidashi.gateway.options import OAuthOptions

__all__ = [
    "Audience",
    "Issuer",
    "JwksUrl",
    "Resource",
    "Scopes",
    "oauth_options",
    "shared_token",
]

Issuer = Annotated[
    str | None,
    typer.Option(
        "--oauth-issuer",
        metavar="URL",
        envvar="HIKIDASHI_OAUTH_ISSUER",
        help="Authorization server whose access tokens (JWT) HTTP clients must send.",
        show_default=False,
    ),
]
Audience = Annotated[
    str | None,
    typer.Option(
        "--oauth-audience",
        metavar="AUD",
        envvar="HIKIDASHI_OAUTH_AUDIENCE",
        help="What these tokens must be for, such as the public URL of the gateway.",
        show_default=False,
    ),
]
JwksUrl = Annotated[
    str | None,
    typer.Option(
        "--oauth-jwks",
        metavar="URL",
        envvar="HIKIDASHI_OAUTH_JWKS",
        help="The keys of the issuer.",
        show_default="as its metadata says",
    ),
]
Scopes = Annotated[
    list[str] | None,
    typer.Option(
        "--oauth-scope",
        metavar="SCOPE",
        envvar="HIKIDASHI_OAUTH_SCOPE",
        help="A scope that tokens must have; repeatable.",
        show_default=False,
    ),
]
Resource = Annotated[
    str | None,
    typer.Option(
        "--oauth-resource",
        metavar="URL",
        envvar="HIKIDASHI_OAUTH_RESOURCE",
        help="The public URL of the gateway.",
        show_default="the audience, if it is a URL",
    ),
]


def oauth_options(
    issuer: str | None, audience: str | None, jwks_url: str | None, scopes: list[str] | None, resource: str | None
) -> OAuthOptions | None:
    """The `OAuthOptions` of these options; None if none of them is given.

    Raises:
        typer.BadParameter: one is missing or cannot be used.
    """
    if issuer is None and audience is None:
        if jwks_url or scopes or resource:
            raise typer.BadParameter("is missing: the other --oauth options need it.", param_hint="--oauth-issuer")
        return None
    if issuer is None or audience is None:
        missing = "--oauth-issuer" if issuer is None else "--oauth-audience"
        raise typer.BadParameter(
            "is missing: a token is checked by both its issuer and its audience.", param_hint=missing
        )
    try:
        return OAuthOptions(
            issuer=issuer, audience=audience, jwks_url=jwks_url, scopes=tuple(scopes or ()), resource=resource
        )
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--oauth-…") from error


def shared_token(name: str | None, host: str, oauth: OAuthOptions | None) -> str | None:
    """The token in the environment variable `name`, which all clients share; None if none is needed.

    Raises:
        typer.BadParameter: `host` needs a token and none is given, or two ways to check one are.
    """
    if name is None:
        if oauth is None and not is_loopback(host):
            raise typer.BadParameter(
                f"{host} lets other machines in: give --token-env NAME, a variable with the token they must send, "
                "or --oauth-issuer and --oauth-audience, whose access tokens they must send.",
                param_hint="--http",
            )
        return None
    if oauth is not None:
        raise typer.BadParameter("and --oauth-issuer are both given: use one of them.", param_hint="--token-env")
    token = os.environ.get(name, "")
    if not token.strip():
        raise typer.BadParameter(f"names {name}, which is not set.", param_hint="--token-env")
    return token
