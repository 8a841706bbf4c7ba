"""`hikidashi chat`: a model with the web tools, in the terminal."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hikidashi.texts import Language

__all__ = ["EXAMPLES", "chat"]

EXAMPLES = """\b
Examples:
  hikidashi chat                      chat, with config.yaml of this folder
  hikidashi chat --continue           continue the last conversation
  hikidashi chat --list               the saved conversations
  hikidashi chat --continue NAME      continue one of them
  hikidashi chat --once "What is new in Python?" | tee answer.md
"""


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
        from ..output import language_of_environment
        from .manage import delete_conversation, list_conversations

        spoken = lang or language_of_environment()
        if delete is not None:
            delete_conversation(delete, spoken)
        if list_all:
            list_conversations(spoken, as_json=as_json)
        return
    from .run import run_chat

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
