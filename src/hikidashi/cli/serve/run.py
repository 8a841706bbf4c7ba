"""`hikidashi serve` from its options to its exit."""

from __future__ import annotations

import os
import socket
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import typer

from hikidashi.common.folders import cache_folder, state_folder
from hikidashi.errors import ToolSourceError
from hikidashi.gateway.approval import Approvals, shown_command
from hikidashi.gateway.attach import relay, socket_path, start_daemon
from hikidashi.gateway.auth.options import OAuthOptions
from hikidashi.gateway.config import identity_of, read_servers
from hikidashi.gateway.options import GatewayOptions, GatewayServer

from .authorizing import shared_token
from .login import kept_logins

if TYPE_CHECKING:
    from hikidashi.gateway import Gateway

__all__ = ["Asked", "run_serve"]


@dataclass(frozen=True, kw_only=True)
class Asked:
    """The options of the command."""

    config: tuple[Path, ...]
    http: str | None
    daemon: bool
    names: Literal["prefixed", "plain"]
    search: Literal["auto", "on", "off"]
    promote: bool
    pin: tuple[str, ...]
    record: Path | None
    token_env: str | None
    yes: bool
    as_daemon: Path | None
    oauth: OAuthOptions | None = None

    @property
    def options(self) -> GatewayOptions:
        """How tools are shown."""
        return GatewayOptions(names=self.names, search=self.search, promote=self.promote, pin=self.pin)

    def arguments(self) -> list[str]:
        """The same options, for another process."""
        given = [part for path in self.config for part in ("--config", str(path.resolve()))]
        given += ["--names", self.names, "--search", self.search, *(["--promote"] if self.promote else [])]
        given += [part for glob in self.pin for part in ("--pin", glob)]
        return [*given, *(["--record", str(self.record.resolve())] if self.record else [])]


def run_serve(asked: Asked) -> int:
    """Serve until the client, or the person, ends it; return the exit code."""
    if not asked.config:
        found = Path(".mcp.json")
        if not found.exists():
            raise typer.BadParameter(
                "is missing: name a file with MCP servers, such as .mcp.json.", param_hint="--config"
            )
        asked = replace(asked, config=(found,))
    servers = read_servers(asked.config)
    if asked.as_daemon is None:
        _approve(servers, yes=asked.yes)
    if asked.as_daemon is not None:
        return _run_daemon(asked, servers)
    if asked.http is not None:
        return _run_http(asked, servers)
    if not asked.daemon or sys.platform == "win32":
        import anyio

        from hikidashi.gateway.transports import serve_stdio

        async def main() -> None:
            async with _gateway(asked, servers) as gateway:
                await serve_stdio(gateway)

        anyio.run(main)
        return 0
    path = socket_path(identity_of(servers, asked.options, str(asked.record), sys.executable))
    command = [sys.executable, "-m", "hikidashi", "serve", *asked.arguments(), "--as-daemon", str(path)]
    return relay(start_daemon(path, command, path.with_suffix(".log")))


def _gateway(asked: Asked, servers: list[GatewayServer]) -> Gateway:
    from hikidashi.gateway import Gateway
    from hikidashi.gateway.cache import ListingCache
    from hikidashi.search.records.log import SearchLog

    key = os.environ.get("HIKIDASHI_SEAL_KEY")
    return Gateway(
        servers,
        options=asked.options,
        cache=ListingCache(cache_folder() / "gateway"),
        record=None if asked.record is None else SearchLog(asked.record),
        keys=(key,) if key else (),
        logins=kept_logins(),
    )


def _run_daemon(asked: Asked, servers: list[GatewayServer]) -> int:
    import anyio

    from hikidashi.gateway.daemon import run_daemon

    assert asked.as_daemon is not None
    path = asked.as_daemon

    async def main() -> None:
        await run_daemon(_gateway(asked, servers), path)

    anyio.run(main)
    return 0


def _run_http(asked: Asked, servers: list[GatewayServer]) -> int:
    import anyio
    import uvicorn

    from hikidashi.gateway.transports import http_app

    host, port = _address(str(asked.http))
    token = shared_token(asked.token_env, host, asked.oauth)
    listening = _listening(host, port)

    async def main() -> None:
        async with _gateway(asked, servers) as gateway:
            app = http_app(gateway, host=host, token=token, oauth=asked.oauth)
            config = uvicorn.Config(app, host=host, port=port, log_level="warning", lifespan="on")
            server = uvicorn.Server(config)
            # Clients wait for this line, so whoever reads it can connect.
            sys.stderr.write(f"Serving MCP on http://{_shown(host)}:{port}/mcp\n")
            sys.stderr.flush()
            await server.serve(sockets=[listening])

    anyio.run(main)
    return 0


def _listening(host: str, port: int) -> socket.socket:
    try:
        return socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    except OSError as error:
        raise typer.BadParameter(
            f"{_shown(host)}:{port} cannot be listened on: {error.strerror or error}. Give another port.",
            param_hint="--http",
        ) from error


def _address(given: str) -> tuple[str, int]:
    host, _, port = given.rpartition(":")
    host = host.strip("[]") or "127.0.0.1"
    if not port.isdecimal() or not 0 < int(port) < 65_536:
        raise typer.BadParameter(f"is {given!r}: give a port, or HOST:PORT.", param_hint="--http")
    return host, int(port)


def _shown(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _approve(servers: list[GatewayServer], *, yes: bool) -> None:
    """Ask once before commands are run that were not in a config before."""
    approvals = Approvals(state_folder() / "gateway" / "approved.json")
    new = approvals.missing(one.server for one in servers)
    if not new:
        return
    listed = "\n".join(f"  {server.name}: {shown_command(server)}" for server in new)
    if not yes:
        if not sys.stdin.isatty():
            raise ToolSourceError(
                "the config",
                f"has commands that were never run from here:\n{listed}\n",
                "Read them, and run the command once in a terminal or with --yes.",
            )
        typer.echo(f"These commands are new in the config:\n{listed}", err=True)
        if not typer.confirm("Run them?", err=True):
            raise typer.Exit(1)
    approvals.add(new)
