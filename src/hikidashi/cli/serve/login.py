"""`hikidashi serve login` and `logout`: the person's login to a server behind the gateway."""

from __future__ import annotations

import logging
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hikidashi.common.files import cache_folder, state_folder

if TYPE_CHECKING:
    from hikidashi.gateway.auth.logins import Logins
    from hikidashi.gateway.options import GatewayServer

__all__ = ["EXAMPLES", "kept_logins", "login", "logout"]

EXAMPLES = """\b
Examples:
  hikidashi serve login issues                    opens your browser
  hikidashi serve login issues --config team.json
  hikidashi serve login issues --client-id abc --port 8123
  hikidashi serve logout issues
"""

_Server = Annotated[str, typer.Argument(metavar="SERVER", help="Its name in the config.", show_default=False)]
_Config = Annotated[
    list[Path] | None,
    typer.Option(
        metavar="FILE",
        help="Where it is configured; repeatable.",
        show_default="as for `serve`, then .mcp.json",
    ),
]


def login(
    server: _Server,
    *,
    config: _Config = None,
    no_browser: Annotated[
        bool, typer.Option("--no-browser", help="Only show the URL of the page, open nothing.")
    ] = False,
    client_id: Annotated[
        str | None,
        typer.Option(metavar="ID", help="An application that you registered there.", show_default=False),
    ] = None,
    client_secret_env: Annotated[
        str | None, typer.Option(metavar="NAME", help="Variable with its secret.", show_default=False)
    ] = None,
    client_metadata: Annotated[
        str | None,
        typer.Option(
            metavar="URL", help="Client ID metadata document, for servers that accept it.", show_default=False
        ),
    ] = None,
    port: Annotated[
        int,
        typer.Option(min=0, max=65_535, help="Port of the redirect URI.", show_default="a free one"),
    ] = 0,
) -> None:
    """Log in to a server that needs it, in your browser (OAuth).

    The tokens are kept in the keyring of your system, if the package keyring is installed, or else in a file that only
    you can read. Gateways that run use them at once, and renew them.
    """
    import anyio

    from hikidashi.gateway.auth.login_flow import KnownClient

    from ..output import counted

    secret = None if client_secret_env is None else os.environ.get(client_secret_env, "")
    if secret == "":
        raise typer.BadParameter(f"names {client_secret_env}, which is not set.", param_hint="--client-secret-env")
    if secret is not None and client_id is None:
        raise typer.BadParameter("needs --client-id.", param_hint="--client-secret-env")
    if client_metadata is not None and not client_metadata.startswith("https://"):
        raise typer.BadParameter("is not an https:// URL.", param_hint="--client-metadata")
    known = KnownClient(id=client_id, secret=secret, metadata_url=client_metadata, port=port)
    given = _server(server, config)
    logging.getLogger("mcp.client.auth").setLevel(logging.CRITICAL)  # failures are reported below, without a traceback
    tools = anyio.run(_log_in, given, known, not no_browser)
    typer.echo(f"Logged in to {server}: {counted(tools, 'tool')}.")


def logout(server: _Server, *, config: _Config = None) -> None:
    """Forget the login to a server, and have its tokens revoked where the server offers that."""
    import anyio

    given = _server(server, config)
    logins = kept_logins()
    kept = logins.read(given.server)
    logins.delete(given.server)
    _forget_listing(given)
    if kept is None:
        typer.echo(f"There was no login to {server}.")
        return
    from hikidashi.gateway.auth.logins import revoke

    revoked = anyio.run(revoke, kept)
    typer.echo(f"Logged out of {server}{', and its tokens are revoked' if revoked else ''}.")


def kept_logins() -> Logins:
    """The logins of this user."""
    from hikidashi.gateway.auth.logins import Logins

    return Logins(state_folder() / "gateway" / "logins")


async def _log_in(given: GatewayServer, known: object, browser: bool) -> int:
    """Log in, keep the login, and return how many tools the server has for it."""
    from hikidashi.gateway.auth.login_flow import KnownClient, log_in, tools_with_login

    from ..output import clean

    def show(url: str) -> None:
        typer.echo(f"Log in to {given.name} on this page:\n{clean(url)}")
        sys.stdout.flush()
        if browser:
            import webbrowser

            webbrowser.open(url)

    assert isinstance(known, KnownClient)
    kept = await log_in(given.server, show=show, client=known)
    logins = kept_logins()
    async with logins.lock(given.server):
        logins.write(given.server, kept)
    _forget_listing(given)
    return await tools_with_login(given.server, logins, seconds=given.options.start_seconds)


def _forget_listing(given: GatewayServer) -> None:
    """Delete the cached listing: another person may have other tools."""
    from hikidashi.gateway.first_lists import ListingCache

    ListingCache(cache_folder() / "gateway").forget(given.server)


def _server(name: str, config: list[Path] | None) -> GatewayServer:
    from hikidashi.gateway.config import read_servers

    from ..output import clean
    from .files import config_files, default_files

    # The person's own files first: a project could name another server alike.
    groups = [tuple(config)] if config else [default_files(), tuple(filter(Path.exists, [Path(".mcp.json")]))]
    files = [file for group in groups for file in group] or config_files(())
    known: dict[str, None] = {}
    for group in groups:
        servers = {one.name: one for one in read_servers(group)}
        if name in servers:
            return servers[name]
        known |= dict.fromkeys(servers)
    there = ", ".join(map(clean, known)) or "none"
    named = ", ".join(clean(str(file)) for file in files)
    raise typer.BadParameter(f"{name!r} is not in {named}. There are: {there}.", param_hint="SERVER")
