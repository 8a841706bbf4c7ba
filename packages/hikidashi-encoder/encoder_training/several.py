"""Several commands in one call, as in `train export --steps 20`: each gets those of the options that it has."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import typer

__all__ = ["run_commands"]


def run_commands(app: typer.Typer, words: Sequence[str], *, name: str) -> None:
    """Run the commands that come first in `words`, one after the other, with the options that follow them.

    Raises:
        SystemExit: A command failed, the last ended, or no command that was named has an option.
    """
    group: Any = typer.main.get_command(app)
    count = next((place for place, word in enumerate(words) if word not in group.commands), len(words))
    commands, options = list(dict.fromkeys(words[:count])), list(words[count:])
    if len(commands) < 2:
        app(list(words), prog_name=name)
    takers = {command: _options_of(group.commands[command]) for command in group.commands}
    given: dict[str, list[str]] = {command: [] for command in commands}
    place = 0
    while place < len(options):
        option = options[place].partition("=")[0]
        having = [command for command in commands if option in takers[command]]
        if not having:
            raise SystemExit(_unknown(option, commands, [one for one, known in takers.items() if option in known]))
        takes_next = takers[having[0]][option] and "=" not in options[place]
        for command in having:
            given[command] += options[place : place + 1 + takes_next]
        place += 1 + takes_next
    for command in commands:
        try:
            app([command, *given[command]], prog_name=name)
        except SystemExit as ended:
            if ended.code:
                raise


def _options_of(command: Any) -> dict[str, bool]:
    """The options of a command, and whether each has a value."""
    found = {name: not one.is_flag for one in command.params for name in one.opts if name.startswith("--")}
    return found | {"--help": False}


def _unknown(option: str, commands: list[str], having: list[str]) -> str:
    if not having:
        return f"There is no command or option {option!r}. Run: make encoder ARGS=--help"
    return (
        f"{option!r} is an option of {' and of '.join(having)}, not of {' or '.join(commands)}."
        f" Run: make encoder DO={having[0]}"
    )
