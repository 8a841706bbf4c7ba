"""`hikidashi chat`: set up the responder, run the chat, return the exit code."""

from __future__ import annotations

import asyncio
import io
import os
import sys
from collections.abc import Awaitable, Callable
from contextlib import ExitStack, nullcontext
from functools import partial
from pathlib import Path

import typer
from rich.text import Text

from hikidashi.apps.factory import make_responder
from hikidashi.apps.responder import Message, Responder
from hikidashi.common.files import state_folder
from hikidashi.config import Config, WebSearchConfig

from ..log import logged_to_file, logged_to_stderr, warned_on_stderr
from ..output import Language, stdout
from ..settings import config_for
from .background import BackgroundResponder
from .conversations import ConversationSaver, ConversationStore, SavedConversation
from .hyperlinks import supports_hyperlinks
from .loop import ChatLoop, run_interruptible, show_answer
from .manage import find_conversation, saved_conversations
from .missing import anything_missing, first_problem
from .questions import question_reader
from .screen import JsonScreen, PlainScreen, Screen, TerminalScreen
from .words import WORDS

__all__ = ["run_chat"]

_STOPPED = 130


def run_chat(
    *,
    config_path: Path | None,
    once: str | None,
    language: Language | None,
    resume: bool,
    name: str | None,
    keep: bool,
    as_json: bool,
    verbose: bool,
) -> int:
    """Run a chat; the exit code: 0, 1 if a question from a pipe or `once` got no answer, 130 if it was cancelled.

    Raises:
        typer.BadParameter: `once` is empty, or there is no conversation `name`.
        HikidashiError: the config cannot be used, or something that it needs is missing.
    """
    if once is not None and not once.strip():
        raise typer.BadParameter("is empty. Give a question.", param_hint="--once")
    stdin = sys.stdin
    if isinstance(stdin, io.TextIOWrapper):
        stdin.reconfigure(errors="replace")  # invalid bytes become a replacement character, not an error
    os.environ.setdefault("PYDANTIC_AI_NO_BANNER", "1")  # its banner would appear in the chat
    config = config_for(config_path)
    spoken: Language = language or config.agent.language
    if problem := first_problem(config, language=spoken):
        raise problem
    folder = state_folder()
    with ExitStack() as stack:
        log = logged_to_stderr if verbose else partial(logged_to_file, folder / "chat.log")
        stack.enter_context(log(secrets=config.secrets))
        runner = stack.enter_context(asyncio.Runner())
        if once is None and not as_json and sys.stdin.isatty() and not anything_missing(config):
            # The imports take seconds, and the prompt should not wait. What is missing was reported above.
            responder = BackgroundResponder(lambda: make_responder(config, audience="operator"))
        else:
            with nullcontext() if verbose else warned_on_stderr():
                responder = make_responder(config, audience="operator")
        stack.callback(lambda: runner.run(responder.aclose()))
        screens = _screens(spoken, as_json=as_json)
        if once is not None:
            return _answer_once(runner, responder, once, screens())
        history = folder / "chat_input" if keep else None
        return _talk(
            runner, responder, config, spoken, screens=screens, resume=resume, name=name, keep=keep, history=history
        )


def _answer_once(runner: asyncio.Runner, responder: Responder, question: str, screen: Screen) -> int:
    try:
        whole = run_interruptible(runner, show_answer(responder, [Message(role="user", text=question)], screen))
    except KeyboardInterrupt:
        return _STOPPED
    return 0 if whole else 1


def _talk(
    runner: asyncio.Runner,
    responder: Responder,
    config: Config,
    language: Language,
    *,
    screens: Callable[[], Screen],
    resume: bool,
    name: str | None,
    keep: bool,
    history: Path | None,
) -> int:
    console, words = stdout(), WORDS[language]
    conversations = saved_conversations()
    continued = _continued(conversations, resume=resume, name=name)
    earlier = continued.read() if continued is not None else []
    typed = sys.stdin.isatty()
    if typed:
        console.print(Text(words.welcome, "dim"))
    if continued is not None:
        console.print(Text(words.resumed.format(count=len(earlier), name=continued.name), "dim"))
    elif resume:
        console.print(Text(words.nothing_to_resume, "dim"))
    chat = ChatLoop(
        responder,
        console=console,
        words=words,
        screen=screens,
        search=_web_search(config.tools.web_search, language, responder),
        questions=question_reader(
            runner, history=history, coloured=console.color_system is not None and not console.no_color
        ),
        saver=ConversationSaver(conversations, continued) if keep else None,
        conversation=earlier,
        typed=typed,
    )
    all_answered = chat.run(runner)
    return 0 if all_answered or typed else 1


def _continued(conversations: ConversationStore, *, resume: bool, name: str | None) -> SavedConversation | None:
    if not resume:
        return None
    if name is not None:
        return find_conversation(conversations, name, hint="--continue")
    return next(iter(conversations.all()), None)


def _screens(language: Language, *, as_json: bool) -> Callable[[], Screen]:
    if as_json:
        return JsonScreen
    if not sys.stdout.isatty():
        return PlainScreen
    console = stdout()
    return lambda: TerminalScreen(console, WORDS[language], hyperlinks=supports_hyperlinks())


def _web_search(
    config: WebSearchConfig | None, language: Language, responder: Responder
) -> Callable[[str], Awaitable[str]]:
    async def search(query: str) -> str:
        if isinstance(responder, BackgroundResponder):
            # Two threads that import modules which need each other may get a partly initialised module.
            await responder.wait_until_made()
        from hikidashi.web.answers.format import format_search
        from hikidashi.web.providers.choose import choose_provider, configured_provider

        asked = config or WebSearchConfig()
        provider = (
            configured_provider(config, language=language) if config is not None else choose_provider(language=language)
        )
        try:
            found = await provider.search(query, search_depth=asked.search_depth, max_results=asked.max_results)
        finally:
            await provider.aclose()
        return format_search(found, language=language)

    return search
