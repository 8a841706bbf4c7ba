"""`hikidashi serve`: every tool of many MCP servers behind one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

__all__ = ["serve"]

_EXAMPLES = """\b
Examples:
  hikidashi serve --config .mcp.json            for an MCP client, on stdio
  hikidashi serve --config .mcp.json --http 8000
  hikidashi serve status                        how the servers are

\b
In the configuration of a client:
  {"mcpServers": {"hikidashi": {"command": "hikidashi",
    "args": ["serve", "--config", "/path/to/.mcp.json"]}}}
"""

serve = typer.Typer(rich_markup_mode=None, invoke_without_command=True)

_Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@serve.callback(epilog=_EXAMPLES)
def _serve(  # pyright: ignore[reportUnusedFunction]
    context: typer.Context,
    *,
    config: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="MCP servers, such as .mcp.json; repeatable.", show_default=False),
    ] = None,
    http: Annotated[
        str | None,
        typer.Option(metavar="[HOST:]PORT", help="Serve HTTP instead of stdio, at /mcp.", show_default=False),
    ] = None,
    no_daemon: Annotated[
        bool, typer.Option("--no-daemon", help="Share no process with the other clients of this config.")
    ] = False,
    names: Annotated[
        Literal["prefixed", "plain"], typer.Option(help="server__tool, or the tool's own name where it is unique.")
    ] = "prefixed",
    search: Annotated[
        Literal["auto", "on", "off"], typer.Option(help="Search tools instead of listing them.")
    ] = "auto",
    promote: Annotated[
        bool, typer.Option("--promote", help="List a tool once it was found, for clients up to 2025-11-25.")
    ] = False,
    pin: Annotated[
        list[str] | None, typer.Option(metavar="GLOB", help="Tools that are always listed.", show_default=False)
    ] = None,
    record: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Keep searches and calls, for tools report.", show_default=False)
    ] = None,
    token_env: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Variable with the token that HTTP clients must send.", show_default=False),
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Run commands that are new in the config without asking.")] = False,
    as_daemon: Annotated[Path | None, typer.Option("--as-daemon", hidden=True)] = None,
) -> None:
    """Put every tool of your MCP servers behind one server.

    A client gets a search and two tools that call what it found, instead of hundreds of definitions; few tools are
    listed as they are. Servers are started when they are needed, and stopped when they are idle.
    """
    if context.invoked_subcommand is not None:
        return
    from .run import Asked, run_serve

    asked = Asked(
        config=tuple(config or ()),
        http=http,
        daemon=not no_daemon,
        names=names,
        search=search,
        promote=promote,
        pin=tuple(pin or ()),
        record=record,
        token_env=token_env,
        yes=yes,
        as_daemon=as_daemon,
    )
    if code := run_serve(asked):
        raise typer.Exit(code)


@serve.command()
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
