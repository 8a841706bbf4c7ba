"""The `hikidashi` command: its commands, loaded when they are used, and what becomes of their errors."""

from __future__ import annotations

import errno
import io
import shutil
import sys
import textwrap
from contextlib import suppress
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from hikidashi import __version__
from hikidashi.errors import HikidashiError

# "\b" keeps the lines of a paragraph as they are written.
_EXAMPLES = """\b
Examples:
  hikidashi tour                       your first minute, without an account
  hikidashi doctor                     what is installed, and whether it works
  hikidashi serve import               the servers that your clients have
  hikidashi serve install claude-code  all of them behind one, in a client
  hikidashi web search QUERY           the web, or documents of your own
  hikidashi chat                       a model that has the web tools
"""

# Each command in the order of the help, what a new user needs first: its module, and its line in the help. The module
# has it under its own name: a group of commands, or a function with EXAMPLES for the end of its help.
_COMMANDS = {
    "tour": (".tour", "See the gateway and tools on the real Claude Code CLI, step by step."),
    "doctor": (".doctor", "Show what is installed here, and whether it works."),
    "serve": (".serve.commands", "Put every tool of your MCP servers behind one server."),
    "tools": (".tools", "Search a catalogue, see what it costs, improve it."),
    "web": (".web", "Search the web, or an index of your own documents."),
    "chat": (".chat", "Chat with a model that has the web tools."),
    "slack": (".slack", "Answer in Slack, with the web tools."),
    "config": (".config", "Print an example of the config file, or check yours."),
}


class _Commands(TyperGroup):
    """The commands, each loaded when it is used: `--help` needs typer alone."""

    def list_commands(self, ctx: Any) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        for name in [cmd_name] if cmd_name in _COMMANDS else _COMMANDS:  # an unknown name is compared with all
            if name not in self.commands:
                self.commands[name] = _loaded(name)
        return self.commands.get(cmd_name)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in _COMMANDS.items()])

    def invoke(self, ctx: Any) -> Any:
        """Run a command; wrong values are reported without the words that pydantic puts in front of each message."""
        try:
            return super().invoke(ctx)
        except typer.BadParameter as error:
            error.message = error.message.removeprefix("Value error, ")
            if sys.stderr.isatty():
                error.message = _in_lines(error.message, after=f"Error: {error.format_message()}")
            raise


def _loaded(name: str) -> Any:
    module, line = _COMMANDS[name]
    home = import_module(module, __package__)
    held = getattr(home, name)
    if not isinstance(held, typer.Typer):
        function, held = held, typer.Typer(add_completion=False, rich_markup_mode=None)
        held.command(name, epilog=home.EXAMPLES)(function)
        command: Any = typer.main.get_command(held)
    else:
        command = typer.main.get_group(held)
    command.name, command.short_help = name, line
    return command


def _in_lines(message: str, *, after: str) -> str:
    """`message` in lines that end at a space and fit the terminal; `after` is the text that ends with it."""
    start = after.removesuffix(message)
    width = shutil.get_terminal_size().columns
    text = textwrap.fill(message, width, initial_indent=start, break_long_words=False, break_on_hyphens=False)
    return text.removeprefix(start)


app = typer.Typer(
    name="hikidashi",
    cls=_Commands,
    no_args_is_help=True,
    rich_markup_mode=None,  # with typer's rich help, `--help` takes 100 ms longer
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def run() -> None:
    """Run the command line and end the process."""
    _replace_unencodable()
    try:
        try:
            app()
        finally:
            with suppress(BrokenPipeError):
                if sys.stdout is not None:  # pyright: ignore[reportUnnecessaryComparison]
                    sys.stdout.flush()
    except HikidashiError as error:
        from .output import exit_code_of, print_error

        print_error(error)
        sys.exit(exit_code_of(error))
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        from .output import print_error

        sys.stdout = None  # what is buffered cannot be written either
        print_error(OSError(f"the output cannot be written: {error.strerror}. Free some space, or use another file"))
        sys.exit(1)


def _show_version(asked: bool) -> None:
    if asked:
        typer.echo(f"hikidashi {__version__}")
        raise typer.Exit


@app.callback(epilog=_EXAMPLES)
def _hikidashi(  # pyright: ignore[reportUnusedFunction]
    version: Annotated[
        bool, typer.Option("--version", "-V", help="Show the version.", callback=_show_version, is_eager=True)
    ] = False,
) -> None:
    """One drawer for every tool an agent has.

    All your MCP servers behind one, with tool search; your own tools in pydantic-ai, Claude Code, strands, the
    Anthropic API and MCP; web tools, a chat and a Slack bot.
    """


def _replace_unencodable() -> None:
    """Print a question mark for a character that the output's encoding lacks, instead of failing."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
