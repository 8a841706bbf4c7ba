"""The reference of the command line: every command with its arguments, options and examples, from the app itself."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import typer

from .markdown import heading, paragraphs, source, table

__all__ = ["commands", "reference"]


def commands() -> dict[str, Any]:
    """Each command by its full name, such as `web search`, in the order of the help."""
    from hikidashi.cli.app import app

    return dict(_leaves("", typer.main.get_command(app)))


def reference() -> str:
    """The whole page, below its introduction."""
    all_commands = commands()
    overview = table(
        ["command", "what it does"],
        (
            [f"[`hikidashi {name}`](#{_anchor(name)})", command.get_short_help_str(200)]
            for name, command in all_commands.items()
        ),
    )
    return paragraphs([overview, *(part for name, command in all_commands.items() for part in _command(name, command))])


def _leaves(name: str, command: Any) -> Iterator[tuple[str, Any]]:
    if not hasattr(command, "commands"):
        yield name, command
        return
    context = typer.Context(command)
    for inner in command.list_commands(context):
        yield from _leaves(f"{name} {inner}".strip(), command.get_command(context, inner))


def _anchor(name: str) -> str:
    return "hikidashi-" + name.replace(" ", "-")


def _command(name: str, command: Any) -> Iterator[str]:
    yield heading(2, f"`hikidashi {name}`", _anchor(name))
    context = typer.Context(command, info_name=f"hikidashi {name}")
    yield source(" ".join([f"hikidashi {name}", *command.collect_usage_pieces(context)]), "text")
    yield (command.help or "").replace("\b\n", "")
    for kind in ("argument", "option"):
        shown = (item for item in command.params if item.param_type_name == kind and not getattr(item, "hidden", False))
        yield table([kind, "meaning"], (_row(item, context) for item in shown))
    if command.epilog:
        yield source(command.epilog.replace("\b\n", "").strip(), "text")


def _row(parameter: Any, context: Any) -> tuple[str, str]:
    """The name and meaning of an argument or option, as the help prints them."""
    name, said = parameter.get_help_record(context)
    meaning, _, notes = said.partition("  [")
    for note in notes.removesuffix("]").split("; "):
        if note.startswith("default: "):
            meaning += f" Default: {note.removeprefix('default: ').removeprefix('(').removesuffix(')')}."
    return f"`{name}`", meaning
