"""`hikidashi serve`: every tool of many MCP servers behind one."""

from __future__ import annotations

import logging
import os
import sys
from dataclasses import replace
from inspect import Parameter, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hikidashi.common.files import cache_folder, state_folder

from .options import Option, options_of, serve_options

if TYPE_CHECKING:
    from hikidashi.gateway.auth.login_flow import KnownClient
    from hikidashi.gateway.auth.logins import Logins
    from hikidashi.gateway.options import GatewayServer

_EXAMPLES = """\b
Examples:
  hikidashi serve                               servers of your config.yaml
  hikidashi serve --config .mcp.json            for an MCP client, on stdio
  hikidashi serve --config .mcp.json --http 8000
  hikidashi serve status                        state of the servers
  hikidashi serve import                        the servers of your clients
  hikidashi serve install claude-code           our entry in a client

\b
In the configuration of a client:
  {"mcpServers": {"hikidashi": {"command": "hikidashi",
    "args": ["serve", "--config", "/path/to/.mcp.json"]}}}
"""

_IMPORT_EXAMPLES = """\b
Examples:
  hikidashi serve import                     show them, and ask which ones
  hikidashi serve import --all --yes         take all over, without asking
  hikidashi serve import github --from cursor
  hikidashi serve import --json | jq .servers
"""

_INSTALL_EXAMPLES = """\b
Examples:
  hikidashi serve install cursor --dry-run   show what would change
  hikidashi serve install claude-code        with permission rules
  hikidashi serve install cursor --move      and its servers out of it
  hikidashi serve install codex --config ~/team.json
  hikidashi serve uninstall codex            as it was before
"""

_LOGIN_EXAMPLES = """\b
Examples:
  hikidashi serve login issues                    opens your browser
  hikidashi serve login issues --config team.json
  hikidashi serve login issues --client-id abc --port 8123
  hikidashi serve logout issues
"""

serve = typer.Typer(rich_markup_mode=None, invoke_without_command=True)

_ONLY_HTTP = ("--token-env", "--oauth-")
_Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def _serve(context: typer.Context, **values: Any) -> None:
    """Put every tool of your MCP servers behind one server.

    A client gets a search and two tools that call what it found, instead of hundreds of definitions; few tools are
    listed as they are. Servers are started when they are needed, and stopped when they are idle.
    """
    given = _given(context)
    if context.invoked_subcommand is not None:
        if given:
            raise typer.BadParameter(
                f"has no effect before {context.invoked_subcommand!r}. Options of a command come after it; they are in "
                f"`hikidashi serve {context.invoked_subcommand} --help`.",
                param_hint=given[0],
            )
        return
    options = options_of(values)
    if options.http is None:
        if wrong := [flag for flag in given if flag.startswith(_ONLY_HTTP)]:
            raise typer.BadParameter(
                "is for clients over HTTP, and without --http there are none. Add --http PORT, or leave it out.",
                param_hint=wrong[0],
            )
        options = replace(options, oauth={})  # of the environment, which is for other starts too
    from .run import run_serve

    if code := run_serve(options):
        raise typer.Exit(code)


def _given(context: typer.Context) -> list[str]:
    """The options on the command line, by their names there; those of the environment do not count."""
    given: list[str] = []
    for parameter in context.command.params:
        source = context.get_parameter_source(str(parameter.name))
        if source is not None and source.name == "COMMANDLINE":
            given.append(parameter.opts[0])
    return given


def _parameter(option: Option) -> Parameter:
    """An option of `serve` as typer reads it from a signature."""
    shown = option.shown
    kind = list[option.kind] if option.many else option.kind
    declared = typer.Option(
        option.flag,
        metavar=shown.metavar,
        envvar=shown.variable,
        help=shown.help,
        show_default=shown.shown_default,
        hidden=shown.hidden,
    )
    default = None if option.many else option.default
    return Parameter(
        option.parameter,
        Parameter.KEYWORD_ONLY,
        default=default,
        annotation=Annotated[kind if default is not None else kind | None, declared],
    )


_signature = signature(_serve, eval_str=True)
_parameters = [_signature.parameters["context"], *map(_parameter, serve_options())]
vars(_serve)["__signature__"] = _signature.replace(parameters=_parameters)
_serve.__annotations__ = {one.name: one.annotation for one in _parameters}
serve.callback(epilog=_EXAMPLES)(_serve)


@serve.command(short_help="Show the servers, and what is wrong with them.")
def status(as_json: _Json = False) -> None:
    """Show the gateways that run here, their servers, and what is wrong with them."""
    from .status import print_status

    if code := print_status(as_json=as_json):
        raise typer.Exit(code)


@serve.command()
def stop() -> None:
    """Stop the gateways that run here, and their servers."""
    from .status import stop_all

    stop_all()


_Server = Annotated[str, typer.Argument(metavar="SERVER", help="Its name in the config.", show_default=False)]
_Config = Annotated[
    list[Path] | None,
    typer.Option(
        metavar="FILE",
        help="Where it is configured; repeatable.",
        show_default="as for `serve`, then .mcp.json",
    ),
]


@serve.command(epilog=_LOGIN_EXAMPLES, short_help="Log in to a server that needs it.")
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


@serve.command(epilog=_LOGIN_EXAMPLES, short_help="Forget the login to a server.")
def logout(server: _Server, *, config: _Config = None) -> None:
    """Forget the login to a server, and have its tokens revoked where the server offers that."""
    import anyio

    given = _server(server, config)
    logins = _kept_logins()
    kept = logins.read(given.server)
    logins.delete(given.server)
    _forget_listing(given)
    if kept is None:
        typer.echo(f"There was no login to {server}.")
        return
    from hikidashi.gateway.auth.logins import revoke

    revoked = anyio.run(revoke, kept)
    typer.echo(f"Logged out of {server}{', and its tokens are revoked' if revoked else ''}.")


_ClientArgument = Annotated[str, typer.Argument(metavar="CLIENT", help="One of those named above.", show_default=False)]
_DryRun = Annotated[bool, typer.Option("--dry-run", help="Show the difference, and write nothing.")]


@serve.command("import", epilog=_IMPORT_EXAMPLES, short_help="Take over the servers that your MCP clients have.")
def import_servers(
    *,
    names: Annotated[
        list[str] | None, typer.Argument(metavar="NAME", help="The servers to take over.", show_default=False)
    ] = None,
    clients: Annotated[
        list[str] | None,
        typer.Option("--from", metavar="CLIENT", help="Look only there; repeatable.", show_default=False),
    ] = None,
    to: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Where to.", show_default="hikidashi/mcp.json in your config folder"),
    ] = None,
    take_all: Annotated[bool, typer.Option("--all", help="Take over all of them.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Ask nothing; without a NAME, take over all.")] = False,
    as_json: _Json = False,
) -> None:
    """Find the servers of your MCP clients, show them, and take over those you choose.

    Looks into the files of Claude Desktop, Claude Code (user and project), Cursor, VS Code, Windsurf,
    Codex, Gemini CLI and Zed. Keys are never shown; they are kept in FILE, which only you can read.
    What you choose may run from then on. The clients keep what they have.
    Exit code 1 means that a file is invalid, or that a server you named cannot be taken over.
    """
    from .clients import run_import

    code = run_import(names or (), clients=clients or (), to=to, take_all=take_all, yes=yes, as_json=as_json)
    if code:
        raise typer.Exit(code)


@serve.command(epilog=_INSTALL_EXAMPLES, short_help="Put hikidashi into the configuration of a client.")
def install(
    client: _ClientArgument,
    *,
    config: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The servers.", show_default="as for `serve`"),
    ] = None,
    name: Annotated[str, typer.Option(metavar="NAME", help="Our name in the client.")] = "hikidashi",
    move: Annotated[
        bool, typer.Option("--move", help="Take the servers that hikidashi serves out of the client's file.")
    ] = False,
    dry_run: _DryRun = False,
    as_json: _Json = False,
) -> None:
    """Put hikidashi into the configuration of a client, with a backup beside it.

    CLIENT is claude-desktop, claude-code, claude-code-project, cursor, vscode, windsurf, codex,
    gemini or zed. Comments, order and what we do not know stay as they are. Claude Code also gets
    rules that allow searching and reading, and a hook that names the tool behind a call.
    The client keeps its own servers, so a model sees those that hikidashi serves too twice: they
    are named, and with --move taken out of the client's file until you uninstall hikidashi.
    """
    from .clients import run_install

    if code := run_install(client, config=config, name=name, move=move, dry_run=dry_run, as_json=as_json):
        raise typer.Exit(code)


@serve.command(epilog=_INSTALL_EXAMPLES, short_help="Take hikidashi out of the configuration of a client.")
def uninstall(
    client: _ClientArgument,
    *,
    name: Annotated[
        str | None, typer.Option(metavar="NAME", help="Our name in the client.", show_default="as it was installed")
    ] = None,
    dry_run: _DryRun = False,
    as_json: _Json = False,
) -> None:
    """Take hikidashi out of the configuration of a client.

    CLIENT is claude-desktop, claude-code, claude-code-project, cursor, vscode, windsurf, codex,
    gemini or zed. A file that is unchanged since is restored byte for byte; in another one,
    only our entry is removed, and servers that were moved are put back.
    """
    from .clients import run_uninstall

    if code := run_uninstall(client, name=name, dry_run=dry_run, as_json=as_json):
        raise typer.Exit(code)


@serve.command(hidden=True)
def hook(
    *,
    config: Annotated[Path | None, typer.Option(metavar="FILE", help="The servers.", show_default=False)] = None,
    name: Annotated[str, typer.Option(metavar="NAME", help="Our name in Claude Code.")] = "hikidashi",
) -> None:
    """Tell Claude Code which server and tool is behind a call: a PreToolUse hook, which `install` sets up."""
    from hikidashi.gateway.clients.claude_code import answer

    output = answer(sys.stdin.buffer.read(), config=config, name=name)
    if output:
        typer.echo(output)


def _kept_logins() -> Logins:
    """The logins of this user."""
    from hikidashi.gateway.auth.logins import Logins

    return Logins(state_folder() / "gateway" / "logins")


async def _log_in(given: GatewayServer, known: KnownClient, browser: bool) -> int:
    """Log in, keep the login, and return how many tools the server has for it."""
    from hikidashi.gateway.auth.login_flow import log_in, tools_with_login

    from ..output import clean

    def show(url: str) -> None:
        typer.echo(f"Log in to {given.name} on this page:\n{clean(url)}")
        sys.stdout.flush()
        if browser:
            import webbrowser

            webbrowser.open(url)

    kept = await log_in(given.server, show=show, client=known)
    logins = _kept_logins()
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
    from .options import config_files, default_files

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
