"""The commands, their options and their help."""

from __future__ import annotations

import errno
import io
import shutil
import sys
import textwrap
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from hikidashi import __version__
from hikidashi.errors import HikidashiError
from hikidashi.texts import Language

from .config import config
from .serve.commands import serve
from .slack import EXAMPLES as SLACK_EXAMPLES
from .slack import slack
from .tools import tools
from .web import web

__all__ = ["app", "run"]

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

_TOUR_EXAMPLES = """\b
Examples:
  hikidashi tour                         five acts, less than a minute
  hikidashi tour --lang ja               in Japanese
  hikidashi tour --no-pause > tour.txt   all at once
  hikidashi tour --json | jq .event      each step as one JSON object
"""

_DOCTOR_EXAMPLES = """\b
Examples:
  hikidashi doctor                    what is there, and what to do
  hikidashi doctor --json | jq .ok    for programs
"""

_CHAT_EXAMPLES = """\b
Examples:
  hikidashi chat                      chat, with config.yaml of this folder
  hikidashi chat --continue           continue the last conversation
  hikidashi chat --list               the saved conversations
  hikidashi chat --continue NAME      continue one of them
  hikidashi chat --once "What is new in Python?" | tee answer.md
"""


class _Commands(TyperGroup):
    """The commands; wrong values are reported without the words that pydantic puts in front of each message."""

    def list_commands(self, ctx: Any) -> list[str]:
        """The commands in the order of the help: what a new user needs first."""
        first = ["tour", "doctor", "serve", "tools", "web"]
        return first + [name for name in super().list_commands(ctx) if name not in first]

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except typer.BadParameter as error:
            error.message = error.message.removeprefix("Value error, ")
            if sys.stderr.isatty():
                error.message = _in_lines(error.message, after=f"Error: {error.format_message()}")
            raise


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
app.add_typer(serve, name="serve", short_help="Put every tool of your MCP servers behind one server.")
app.add_typer(tools, name="tools")
app.add_typer(web, name="web")
app.add_typer(config, name="config")


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


@app.command(epilog=_TOUR_EXAMPLES, short_help="See the gateway and tools on the real Claude Code CLI, step by step.")
def tour(
    lang: Annotated[Language | None, typer.Option(help="Language of the tour.", show_default="from LANG")] = None,
    pause: Annotated[
        bool, typer.Option("--pause/--no-pause", help="Short pauses to read along, on a terminal only.")
    ] = True,
    as_json: Annotated[bool, typer.Option("--json", help="Print each step as a line of JSON.")] = False,
    cli_path: Annotated[
        Path | None,
        typer.Option(help="Another Claude Code CLI than the SDK's own.", show_default=False),
    ] = None,
    docs: Annotated[
        list[Path] | None,
        typer.Option(metavar="PATH", help="Documents to search in the last act.", show_default="hikidashi's README"),
    ] = None,
) -> None:
    """See a thousand tools behind one MCP server, and your own in the real Claude Code CLI.

    The model behind it is scripted and listens on 127.0.0.1: no network, no account, no key.
    Its gateway and servers run in a temporary folder, and end with it.
    Exit code 1 means that the CLI does not run here, and the last line says why.
    """
    from .output import language_of_environment
    from .tour import run_tour

    run_tour(
        language=lang or language_of_environment(),
        pause=pause,
        as_json=as_json,
        cli_path=cli_path,
        documents=docs or (),
    )


@app.command(epilog=_DOCTOR_EXAMPLES, short_help="Show what is installed here, and whether it works.")
def doctor(
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
) -> None:
    """Show what is installed, which Claude Code CLI runs, and which keys are set.

    Keys are named, their values are never shown. Exit code 1 means that something that is set up
    cannot work; each such line says what to do.
    """
    from .doctor import examine, print_report
    from .output import stdout

    report = examine()
    print_report(report, stdout(), as_json=as_json)
    if not report.ok:
        raise typer.Exit(1)


@app.command(epilog=_CHAT_EXAMPLES, short_help="Chat with a model that has the web tools.")
def chat(
    *,
    name: Annotated[
        str | None,
        typer.Argument(metavar="NAME", help="With --continue: the conversation, or the start of its name."),
    ] = None,
    config: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Model and tools.", show_default="config.yaml, if it is there")
    ] = None,
    once: Annotated[
        str | None, typer.Option(metavar="QUESTION", help="Answer this question, and exit.", show_default=False)
    ] = None,
    resume: Annotated[bool, typer.Option("--continue", help="Continue the last conversation, or NAME.")] = False,
    list_all: Annotated[bool, typer.Option("--list", help="List the saved conversations, and exit.")] = False,
    delete: Annotated[
        str | None, typer.Option(metavar="NAME", help="Delete a conversation, and exit.", show_default=False)
    ] = None,
    keep: Annotated[
        bool, typer.Option("--keep/--no-keep", help="Save the conversation and the input history in your state folder.")
    ] = True,
    lang: Annotated[Language | None, typer.Option(help="Language of the chat.", show_default="from the config")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print each event as a line of JSON.")] = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Write the log to stderr instead of a file.")
    ] = False,
) -> None:
    """Chat with a model in the terminal, and see each tool that it calls.

    Ctrl-C stops an answer, Ctrl-D leaves; /help lists the commands. In a pipe only the answer is printed.
    The newest 200 conversations are saved, each for 90 days after its last message.
    Exit code 1 means that the question of --once, or one from a pipe, got no answer, or that a tool
    failed each time it was called; 130 that it was stopped.
    """
    if name is not None and not resume:
        raise typer.BadParameter("goes with --continue. A question goes with --once.", param_hint="NAME")
    if list_all or delete is not None:
        from .chat.manage import delete_conversation, list_conversations
        from .output import language_of_environment

        spoken = lang or language_of_environment()
        if delete is not None:
            delete_conversation(delete, spoken)
        if list_all:
            list_conversations(spoken, as_json=as_json)
        return
    from .chat.run import run_chat

    code = run_chat(
        config_path=config,
        once=once,
        language=lang,
        resume=resume,
        name=name,
        keep=keep,
        as_json=as_json,
        verbose=verbose,
    )
    if code:
        raise typer.Exit(code)


app.command(epilog=SLACK_EXAMPLES, short_help="Answer in Slack, with the web tools.")(slack)


def _replace_unencodable() -> None:
    """Print a question mark for a character that the output's encoding lacks, instead of failing."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
