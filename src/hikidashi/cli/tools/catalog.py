"""The catalogue that the options of a command name: read from a file, or asked of MCP servers."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.progress import Progress
from rich.text import Text

from hikidashi.errors import ToolSourceError

from ..output import clean, counted, print_text, stderr

if TYPE_CHECKING:
    from hikidashi.search import ToolCatalog
    from hikidashi.search.catalog import Ranker
    from hikidashi.search.overlay import Overlay
    from hikidashi.servers.listing import ServerTools
    from hikidashi.tool import Tool

CatalogOption = Annotated[
    str | None,
    typer.Option(
        metavar="FILE",
        help="Tools: JSON or JSONL, MCP's tools/list, or Python as module:attribute.",
        show_default=False,
    ),
]
McpOption = Annotated[
    Path | None, typer.Option(metavar="CONFIG", help="MCP servers, such as .mcp.json.", show_default=False)
]
TimeoutOption = Annotated[float, typer.Option(metavar="SECONDS", help="How long each MCP server may take.", min=0.1)]
OverlayOption = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Aliases and descriptions for tools of others.", show_default=False),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]

_NAMED = 5


@dataclass(frozen=True)
class Loaded:
    """A catalogue, where it comes from, and which servers did not answer."""

    catalog: ToolCatalog
    source: str
    failed: dict[str, str] = field(default_factory=dict[str, str])
    """Why each of these servers gave no tools."""


def load(
    catalog: str | None,
    mcp: Path | None,
    *,
    seconds: float,
    ranker: Ranker = "auto",
    overlay: Overlay | None = None,
) -> Loaded:
    """The catalogue of a file or of MCP servers, with progress on standard error.

    Raises:
        ToolSourceError: the tools cannot be read, or no server answered.
        MissingExtra: a package is not installed that the servers or the ranker need.
    """
    from hikidashi.search.sources import catalog_from, checked_catalog

    if mcp is not None and catalog is None:
        tools, failed = _of_servers(mcp, seconds)
        loaded = Loaded(checked_catalog(tools, str(mcp), ranker=ranker, overlay=overlay), str(mcp), failed)
    elif catalog is not None and mcp is None:
        loaded = Loaded(catalog_from(catalog, ranker=ranker, overlay=overlay), catalog)
    else:
        raise typer.BadParameter("give either --catalog FILE or --mcp CONFIG.")
    if overlay is not None and (unknown := overlay.unknown(loaded.catalog.names)):
        names = ", ".join(map(clean, unknown[:_NAMED])) + (" …" if len(unknown) > _NAMED else "")
        message = f"The overlay names {counted(len(unknown), 'tool')} that the catalogue does not have: {names}"
        print_text(stderr(), Text(message, "dim"))
    return loaded


def make_ready(catalog: ToolCatalog) -> None:
    """Wait until the tools are found by meaning, with a progress bar on standard error if that is a terminal.

    Vectors are kept on disk, so that this takes long once only.
    """
    console = stderr()
    if catalog.ranker == "lexical" or not len(catalog):
        return
    with Progress(console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("Embedding the tools, once", total=None)
        catalog.ready(progress=lambda done, total: bar.update(task, completed=done, total=total))


def _of_servers(config: Path, seconds: float) -> tuple[list[Tool], dict[str, str]]:
    from hikidashi.servers.config import read_mcp_config
    from hikidashi.servers.listing import tools_of_servers

    servers = read_mcp_config(config)
    if not servers:
        raise ToolSourceError(str(config), "has no enabled server", "Add one under `mcpServers`.")
    console = stderr()

    def report(answer: ServerTools) -> None:
        if answer.failure is None:
            mark, message = ("✓ ", "green"), f"{answer.server}: {counted(len(answer.tools), 'tool')}"
        else:
            mark, message = ("✗ ", "bold red"), f"{answer.server}: {answer.failure}"
        print_text(console, Text.assemble(mark, clean(message)))
        for note in answer.notes:
            print_text(console, Text.assemble(("! ", "yellow"), clean(f"{answer.server}: {note}")))

    names = ", ".join(server.name for server in servers)
    print_text(console, Text(clean(f"Asking {counted(len(servers), 'MCP server')}: {names}"), "dim"))
    # An error of a server is printed above; the client would log it with a traceback.
    logging.getLogger("mcp").setLevel(logging.CRITICAL)
    answers = asyncio.run(tools_of_servers(servers, seconds=seconds, on_answer=report))
    failed = {answer.server: answer.failure for answer in answers if answer.failure is not None}
    if len(failed) == len(servers):
        raise ToolSourceError(
            str(config), "no MCP server answered", "The reasons are above; try each command yourself."
        )
    return [tool for answer in answers for tool in answer.tools], failed
