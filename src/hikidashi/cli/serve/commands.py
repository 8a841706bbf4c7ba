"""`hikidashi serve`: every tool of many MCP servers behind one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from .authorizing import Audience, Issuer, JwksUrl, Resource, Scopes, oauth_options
from .given import given_options, refuse_options_before, refuse_without_http
from .login import EXAMPLES as _LOGIN_EXAMPLES
from .login import login, logout

__all__ = ["serve"]

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

serve = typer.Typer(rich_markup_mode=None, invoke_without_command=True)

_Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@serve.callback(epilog=_EXAMPLES)
def _serve(  # pyright: ignore[reportUnusedFunction]
    context: typer.Context,
    *,
    config: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE",
            help="MCP servers: .mcp.json or config.yaml; repeatable.",
            show_default="`servers` of your config.yaml, or what `serve import` wrote",
        ),
    ] = None,
    http: Annotated[
        str | None,
        typer.Option(metavar="[HOST:]PORT", help="Serve HTTP instead of stdio, at /mcp.", show_default=False),
    ] = None,
    no_daemon: Annotated[
        bool, typer.Option("--no-daemon", help="Share no process with the other clients of this config.")
    ] = False,
    names: Annotated[
        Literal["prefixed", "plain"] | None,
        typer.Option(help="server__tool, or the tool's own name where it is unique.", show_default="prefixed"),
    ] = None,
    search: Annotated[
        Literal["auto", "on", "off"] | None,
        typer.Option(help="Search tools instead of listing them.", show_default="auto"),
    ] = None,
    promote: Annotated[
        bool, typer.Option("--promote", help="List a tool once it was found, for clients up to 2025-11-25.")
    ] = False,
    pin: Annotated[
        list[str] | None,
        typer.Option(
            metavar="GLOB", help="Tools that are always listed; most-used:5 is by --record.", show_default=False
        ),
    ] = None,
    record: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Record searches and calls, for tools report.", show_default=False),
    ] = None,
    client_name: Annotated[
        str,
        typer.Option(metavar="NAME", help="Our name in the client: names of tools leave room for it."),
    ] = "hikidashi",
    token_env: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Variable with the token that HTTP clients must send.", show_default=False),
    ] = None,
    oauth_issuer: Issuer = None,
    oauth_audience: Audience = None,
    oauth_jwks: JwksUrl = None,
    oauth_scope: Scopes = None,
    oauth_resource: Resource = None,
    yes: Annotated[bool, typer.Option("--yes", help="Run servers that are new in the config without asking.")] = False,
    as_daemon: Annotated[Path | None, typer.Option("--as-daemon", hidden=True)] = None,
) -> None:
    """Put every tool of your MCP servers behind one server.

    A client gets a search and two tools that call what it found, instead of hundreds of definitions; few tools are
    listed as they are. Servers are started when they are needed, and stopped when they are idle.
    """
    given = given_options(context)
    if context.invoked_subcommand is not None:
        refuse_options_before(context.invoked_subcommand, given)
        return
    if http is None:
        refuse_without_http(given)
    from .run import ServeArguments, run_serve

    args = ServeArguments(
        config=tuple(config or ()),
        http=http,
        daemon=not no_daemon,
        names=names,
        search=search,
        promote=promote,
        pin=tuple(pin or ()),
        record=record,
        client_name=client_name,
        token_env=token_env,
        yes=yes,
        as_daemon=as_daemon,
        oauth=None
        if http is None
        else oauth_options(oauth_issuer, oauth_audience, oauth_jwks, oauth_scope, oauth_resource),
    )
    if code := run_serve(args):
        raise typer.Exit(code)


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


serve.command(epilog=_LOGIN_EXAMPLES, short_help="Log in to a server that needs it.")(login)
serve.command(epilog=_LOGIN_EXAMPLES, short_help="Forget the login to a server.")(logout)


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
    import sys

    from hikidashi.gateway.clients.claude_code import answer

    output = answer(sys.stdin.buffer.read(), config=config, name=name)
    if output:
        typer.echo(output)
