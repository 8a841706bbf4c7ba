"""`hikidashi serve`: its options and config, the approval of new servers, and the transport."""

from __future__ import annotations

import logging
import os
import signal
import socket
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager, nullcontext
from dataclasses import replace
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from hikidashi.common.files import cache_folder, state_folder
from hikidashi.common.unicode import visible
from hikidashi.common.urls import is_loopback
from hikidashi.errors import ToolSourceError
from hikidashi.gateway.config import read_setup
from hikidashi.gateway.options import GatewayServer, OAuthOptions

from ...gateway.shim import Shim, ask_daemon, socket_path, start_daemon
from .options import ServeOptions, ServeSettings, WrongOptionError, approvals, config_files

if TYPE_CHECKING:
    from hikidashi.gateway import Gateway

_LARGEST_LOG = 1_000_000  # bytes
_LOGGERS_OF_MCP = ("client", "mcp", "server")
_SEAL_KEY = "HIKIDASHI_SEAL_KEY"
_SHORTEST_KEY = 32  # bytes


def run_serve(args: ServeOptions) -> int:
    """Serve until the client, or the person, ends it; return the exit code."""
    if args.http is not None:
        _address(args.http)  # before a person is asked about servers
    _seal_keys()
    args = replace(args, config=config_files(args.config))
    run = _settings(args)
    # The daemon asks again: the file may have changed since the process that started it read it.
    is_kept = _approve(run.servers, args.config, yes=args.yes, can_ask=args.as_daemon is None)
    args = replace(args, yes=args.yes or not is_kept)
    if args.as_daemon is not None:
        return _run_daemon(args.as_daemon, run)
    if args.http is not None:
        return _run_http(args, run)
    if args.no_daemon or sys.platform == "win32":
        import anyio

        from ...gateway.daemon import progress_of
        from ...gateway.server import serve_stdio

        async def main() -> None:
            gateway = _gateway(run)
            async with _controlled(gateway), gateway:
                with _progress(lambda: progress_of(gateway)):
                    await serve_stdio(gateway)

        anyio.run(main)
        return 0
    path, connection = _daemon(args, run)
    if sys.stdin.isatty():
        typer.echo("Speaking MCP on standard input and output, for a client. Ctrl-C ends it.", err=True)
    with _progress(lambda: ask_daemon(path, "progress")):
        return Shim(connection, lambda: attached_again(args)).run()


def attached_again(args: ServeOptions) -> socket.socket:
    """A connection to the daemon by the current config, which may have changed since this process started."""
    run = _settings(args)
    _approve(run.servers, args.config, yes=args.yes, can_ask=False)
    return _daemon(args, run)[1]


def _settings(args: ServeOptions) -> ServeSettings:
    try:
        return ServeSettings.of(args, read_setup(args.config))
    except WrongOptionError as error:
        raise typer.BadParameter(error.problem, param_hint=error.option) from error


def _daemon(args: ServeOptions, run: ServeSettings) -> tuple[Path, socket.socket]:
    """The socket of the daemon of this configuration, and a connection to it."""
    path = run.socket()
    command = [sys.executable, "-m", "hikidashi", "serve", *args.to_argv(), "--as-daemon", str(path)]
    return path, start_daemon(path, command, path.with_suffix(".log"))


def _progress(status: Callable[[], dict[str, Any] | None]) -> AbstractContextManager[None]:
    """Progress of the servers for a person; clients have no terminal, and wait for each import."""
    if not sys.stderr.isatty():
        return nullcontext()
    from .status import showing_progress

    return showing_progress(status)


def _gateway(run: ServeSettings) -> Gateway:
    from hikidashi.gateway import Gateway
    from hikidashi.gateway.auth.logins import Logins
    from hikidashi.gateway.first_lists import ListingCache
    from hikidashi.gateway.telemetry import configure_tracing
    from hikidashi.search.log_sqlite import SearchLog

    configure_tracing()
    for name in _LOGGERS_OF_MCP:  # its warnings are tracebacks, with what a server sent in them
        logging.getLogger(name).setLevel(logging.ERROR)
    return Gateway(
        run.servers,
        options=run.options,
        cache=ListingCache(cache_folder() / "gateway"),
        record=None if run.record is None else SearchLog(run.record),
        keys=_seal_keys(),
        logins=Logins(state_folder() / "gateway" / "logins"),
    )


def _seal_keys() -> tuple[str, ...]:
    """The key, shared by all replicas, that seals the states of waiting calls; without one, a random key is used."""
    key = os.environ.get(_SEAL_KEY)
    if key and (size := len(key.encode())) < _SHORTEST_KEY:
        raise typer.BadParameter(
            f"has {size} bytes: give it at least {_SHORTEST_KEY} random ones, such as those of `openssl rand -hex 32`.",
            param_hint=_SEAL_KEY,
        )
    return (key,) if key else ()


def _controlled(gateway: Gateway, address: str | None = None) -> AbstractAsyncContextManager[None]:
    """Answer `serve status` and `serve stop` while the gateway runs in this process."""
    if sys.platform == "win32":
        return nullcontext()
    from ...gateway.daemon import control_socket, process_socket_name

    return control_socket(gateway, socket_path(process_socket_name()), address=address)


def _run_daemon(path: Path, run: ServeSettings) -> int:
    import anyio

    from ...gateway.daemon import run_daemon

    # Bounded, unlike standard error: a daemon may run for months.
    log = RotatingFileHandler(path.with_suffix(".log"), maxBytes=_LARGEST_LOG, backupCount=1, encoding="utf-8")
    logging.basicConfig(handlers=[log], level=logging.WARNING, format="%(asctime)s %(levelname)s %(name)s: %(message)s")

    async def main() -> None:
        await run_daemon(_gateway(run), path)

    anyio.run(main)
    return 0


def _run_http(args: ServeOptions, run: ServeSettings) -> int:
    import anyio

    from ...gateway.daemon import progress_of
    from ...gateway.http_server import http_app, http_server

    host, port = _address(str(args.http))
    oauth = _oauth(args.oauth)
    token = _shared_token(args.token_env, host, oauth)
    listening = _listening(host, port)

    async def main() -> None:
        gateway, url = _gateway(run), f"http://{_shown(host)}:{port}/mcp"
        async with _controlled(gateway, url), gateway:
            app = http_app(gateway, host=host, token=token, oauth=oauth)
            server = http_server(app, host, port)
            # Clients wait for this line: once it is written, they can connect.
            sys.stderr.write(f"Serving MCP on {url}\n")
            sys.stderr.flush()
            # uvicorn raises the signal again when it has ended; the default action would skip the rest of this block.
            signal.signal(signal.SIGTERM, _ignore)
            with _progress(lambda: progress_of(gateway)):
                await server.serve(sockets=[listening])

    anyio.run(main)
    return 0


def _ignore(_: int, __: object) -> None:
    """A signal handler that child processes do not inherit, unlike SIG_IGN."""


def _listening(host: str, port: int) -> socket.socket:
    try:
        made = socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    except OSError as error:
        raise typer.BadParameter(
            f"{_shown(host)}:{port} cannot be listened on: {error.strerror or error}. Give another port.",
            param_hint="--http",
        ) from error
    # With its protocol named, since asyncio turns Nagle's algorithm off only then: with it, an answer in two parts
    # waits 40 ms for the client's delayed acknowledgement.
    return socket.socket(made.family, made.type, socket.IPPROTO_TCP, fileno=made.detach())


def _address(given: str) -> tuple[str, int]:
    host, _, port = given.rpartition(":")
    host = host.strip("[]") or "127.0.0.1"
    if not port.isdecimal() or not 0 < int(port) < 65_536:
        raise typer.BadParameter(f"is {given!r}: give a port, or HOST:PORT.", param_hint="--http")
    return host, int(port)


def _shown(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _approve(servers: list[GatewayServer], files: Sequence[Path], *, yes: bool, can_ask: bool) -> bool:
    """Ask once before servers are started or connected to that were not in a config before.

    Returns:
        Whether the approval is saved for the next start.
    """
    known = approvals()
    new = known.missing(servers)
    if not new or (yes and not can_ask):
        return True
    listed = "\n".join(f"  {visible(server.name)}: {known.shown(server)}" for server in new)
    named = visible(", ".join(map(str, files)))
    if not yes:
        if not can_ask or not sys.stdin.isatty():
            raise ToolSourceError(
                named,
                f"has {_kinds(new)} that were never run from here:\n{listed}\n",
                "Read them, and run the command once in a terminal or with --yes.",
            )
        typer.echo(f"These {_kinds(new)} are new in {named}:\n{listed}", err=True)
        if not typer.confirm("Run them?", err=True):
            raise typer.Exit(1)
    try:
        known.add(new)
    except OSError as error:  # such as a read-only file system: the next start asks again
        typer.echo(f"warning: the approval cannot be saved ({error.strerror or error})", err=True)
        return False
    return True


def _kinds(servers: Sequence[GatewayServer]) -> str:
    kinds = {"commands" if server.server.transport == "stdio" else "addresses" for server in servers}
    return " and ".join(sorted(kinds, reverse=True))


def _oauth(given: Mapping[str, Any]) -> OAuthOptions | None:
    """The `OAuthOptions` of what is given; None if nothing is.

    Raises:
        typer.BadParameter: one is missing or cannot be used.
    """
    if not given:
        return None
    missing = [name for name in ("issuer", "audience") if name not in given]
    if len(missing) == 2:
        raise typer.BadParameter("is missing: the other --oauth options need it.", param_hint="--oauth-issuer")
    if missing:
        reason = "is missing: a token is checked by both its issuer and its audience."
        raise typer.BadParameter(reason, param_hint=f"--oauth-{missing[0]}")
    try:
        return OAuthOptions(**given)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--oauth-…") from error


def _shared_token(name: str | None, host: str, oauth: OAuthOptions | None) -> str | None:
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
