"""`hikidashi chat`: a model with the web tools, in the terminal."""

from __future__ import annotations

import asyncio
import io
import json
import os
import sys
from contextlib import nullcontext
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hikidashi.texts import Language

if TYPE_CHECKING:
    from hikidashi.apps.chat.storage import ConversationStore, SavedConversation

_STOPPED = 130
_MOST_NAMED = 5

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
        _manage(list_all=list_all, delete=delete, language=lang, as_json=as_json)
        return
    if once is not None and not once.strip():
        raise typer.BadParameter("is empty. Give a question.", param_hint="--once")
    from hikidashi.apps.chat.input import question_reader
    from hikidashi.apps.chat.loop import BackgroundResponder, Chat
    from hikidashi.apps.chat.storage import ConversationSaver, saved_conversations
    from hikidashi.apps.factory import anything_missing, first_problem, make_responder
    from hikidashi.common.files import state_folder

    from .log import logged_to_file, logged_to_stderr, warned_on_stderr
    from .output import print_error, stdout
    from .settings import config_for

    stdin = sys.stdin
    if isinstance(stdin, io.TextIOWrapper):
        stdin.reconfigure(errors="replace")  # invalid bytes become a replacement character, not an error
    os.environ.setdefault("PYDANTIC_AI_NO_BANNER", "1")  # its banner would appear in the chat
    read, console, folder = config_for(config), stdout(), state_folder()
    spoken: Language = lang or read.agent.language
    if problem := first_problem(read, language=spoken):
        raise problem
    log = logged_to_stderr if verbose else partial(logged_to_file, folder / "chat.log")
    with log(secrets=read.secrets), asyncio.Runner() as runner:
        if once is None and not as_json and sys.stdin.isatty() and not anything_missing(read):
            # The imports take seconds, and the prompt should not wait. What is missing was reported above.
            responder = BackgroundResponder(lambda: make_responder(read, audience="operator"))
        else:
            with nullcontext() if verbose else warned_on_stderr():
                responder = make_responder(read, audience="operator")
        chat = Chat(
            responder,
            search=read.tools.web_search,
            language=spoken,
            console=console,
            print_error=print_error,
            as_json=as_json,
        )
        try:
            if once is not None:
                try:
                    code = 0 if chat.answer_once(runner, once) else 1
                except KeyboardInterrupt:
                    code = _STOPPED
                raise typer.Exit(code)
            saved = saved_conversations()
            continued = None
            if resume:
                continued = next(iter(saved.all()), None) if name is None else _named(saved, name, "--continue")
            coloured = console.color_system is not None and not console.no_color
            questions = question_reader(runner, history=folder / "chat_input" if keep else None, coloured=coloured)
            saver = ConversationSaver(saved, continued) if keep else None
            all_answered = chat.run(runner, questions, saver, resume=resume, continued=continued)
            if not all_answered and not sys.stdin.isatty():
                raise typer.Exit(1)
        finally:
            runner.run(responder.aclose())


def _manage(*, list_all: bool, delete: str | None, language: Language | None, as_json: bool) -> None:
    """Delete a conversation; list all, newest first, as JSON one object a line."""
    from rich.text import Text

    from hikidashi.apps.chat.storage import saved_conversations
    from hikidashi.texts import texts

    from .output import cut, language_of_environment, stdout

    console, words, saved = stdout(), texts("chat", language or language_of_environment()), saved_conversations()
    if delete is not None:
        found = _named(saved, delete, "--delete")
        found.path.unlink(missing_ok=True)
        console.print(Text(words["deleted"].format(name=found.name)))
    if not list_all:
        return
    kept = saved.all()
    for one in kept:
        messages = one.read()
        used = datetime.fromtimestamp(one.used).astimezone()
        first = messages[0].text if messages else ""
        if as_json:
            about = {"name": one.name, "used": used.isoformat(timespec="seconds"), "messages": len(messages)}
            typer.echo(json.dumps(about | {"first": first}, ensure_ascii=False))
            continue
        line = Text.assemble((f"{used:%Y-%m-%d %H:%M}  ", "dim"), (one.name, "bold"), "  ")
        console.print(line + Text(cut(first, max(10, console.width - line.cell_len)), "dim"), no_wrap=True)
    if not kept and not as_json:
        console.print(Text(words["no_conversations"]))


def _named(saved: ConversationStore, name: str, option: str) -> SavedConversation:
    """The conversation whose name is, or starts with, `name`.

    Raises:
        typer.BadParameter: there is none, or more than one.
    """
    found = saved.matching(name)
    if len(found) == 1:
        return found[0]
    if not found:
        reason = f"there is no conversation {name!r}. `hikidashi chat --list` shows all."
    else:
        names = ", ".join(one.name for one in found[:_MOST_NAMED])
        reason = f"{name!r} may be any of {len(found)}: {names}. Write more of it."
    raise typer.BadParameter(reason, param_hint=option)
