"""Options of `hikidashi serve` that would have no effect where they are given: refused by name, never ignored."""

from __future__ import annotations

from collections.abc import Sequence

import typer

__all__ = ["given_options", "refuse_options_before", "refuse_without_http"]

_ONLY_HTTP = ("--token-env", "--oauth-")


def given_options(context: typer.Context) -> list[str]:
    """The options on the command line, by their names there; those of the environment do not count."""
    given: list[str] = []
    for parameter in context.command.params:
        source = context.get_parameter_source(str(parameter.name))
        if source is not None and source.name == "COMMANDLINE":
            given.append(parameter.opts[0])
    return given


def refuse_options_before(command: str, given: Sequence[str]) -> None:
    """Raise if an option of `serve` itself comes before one of its commands.

    Raises:
        typer.BadParameter: it would be ignored.
    """
    if given:
        raise typer.BadParameter(
            f"has no effect before {command!r}. Options of a command come after it; they are in "
            f"`hikidashi serve {command} --help`.",
            param_hint=given[0],
        )


def refuse_without_http(given: Sequence[str]) -> None:
    """Raise if an option is given that concerns HTTP clients alone.

    Raises:
        typer.BadParameter: it would be ignored.
    """
    for option in given:
        if option.startswith(_ONLY_HTTP):
            raise typer.BadParameter(
                "is for clients over HTTP, and without --http there are none. Add --http PORT, or leave it out.",
                param_hint=option,
            )
