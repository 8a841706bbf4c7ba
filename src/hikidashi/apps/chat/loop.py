"""The chat: read a question or a command, and run it, until the user leaves."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import AsyncGenerator, Callable, Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import aclosing
from typing import Any, TypeVar

from rich.console import Console
from rich.text import Text

from ...common.terminal import clean_lines
from ...config import WebSearchConfig
from ...errors import HikidashiError
from ...texts import Language, texts
from ..responder import AnswerEvent, AnswerFailed, Message, Responder, TextDelta, ToolReturned
from .input import QuestionReader
from .screen import JsonScreen, PlainScreen, Screen, TerminalScreen, supports_hyperlinks
from .storage import ConversationSaver, SavedConversation

_Result = TypeVar("_Result")


class Chat:
    """A chat between a user and a responder; answers appear on stdout, as JSON if `as_json`."""

    def __init__(
        self,
        responder: Responder,
        *,
        search: WebSearchConfig | None,
        language: Language,
        console: Console,
        print_error: Callable[[HikidashiError], None],
        as_json: bool = False,
    ) -> None:
        self._responder = responder
        self._search = search
        self._language: Language = language
        self._words = texts("chat", language)
        self._console = console
        self._print_error = print_error
        self._as_json = as_json
        self._said: list[Message] = []
        self._saver: ConversationSaver | None = None
        self._all_answered = True

    def answer_once(self, runner: asyncio.Runner, question: str) -> bool:
        """Answer one question; True if it was answered.

        Raises:
            KeyboardInterrupt: Ctrl-C cancelled the answer.
        """
        asked = [Message(role="user", text=question)]
        return run_interruptible(runner, show_answer(self._responder, asked, self._screen()))

    def run(
        self,
        runner: asyncio.Runner,
        questions: QuestionReader,
        saver: ConversationSaver | None = None,
        *,
        resume: bool = False,
        continued: SavedConversation | None = None,
    ) -> bool:
        """Run until the user leaves; True if each question was answered.

        Ctrl-C cancels the current answer, never the chat.

        Args:
            runner: runs the answers.
            questions: where the questions come from.
            saver: saves the conversation; None does not.
            resume: whether the user wants to continue a conversation.
            continued: the one that is continued, if there is any.
        """
        self._saver = saver
        typed = sys.stdin.isatty()
        if typed:
            self._note("welcome")
        if continued is not None:
            self._said = continued.read()
            self._note("resumed", count=len(self._said), name=continued.name)
        elif resume:
            self._note("nothing_to_resume")
        while True:
            try:
                line = questions.read().strip()
            except EOFError:
                break
            except KeyboardInterrupt:
                self._console.print()
                self._note("leave")
                continue
            if not line:
                continue
            if line in {"/quit", "/exit"}:
                break
            try:
                self._do(line, runner)
            except KeyboardInterrupt:
                self._note("stopped")
        if typed:
            self._note("bye")
        return self._all_answered

    def _screen(self) -> Screen:
        if self._as_json:
            return JsonScreen()
        if not sys.stdout.isatty():
            return PlainScreen()
        return TerminalScreen(self._console, self._words, hyperlinks=supports_hyperlinks())

    def _do(self, line: str, runner: asyncio.Runner) -> None:
        command, _, rest = line.partition(" ")
        match command:
            case "/help":
                self._console.print(Text(self._words["help"]))
            case "/tools":
                with self._screen():
                    names = self._responder.tool_names
                self._console.print(Text("\n".join(names) if names else self._words["no_tools"]))
            case "/new":
                self._start_new()
            case "/clear":
                self._forget()
            case "/search":
                if rest.strip():
                    self._show_search(rest.strip(), runner)
                else:
                    self._note("what_to_search")
            case _ if command.startswith("/") and "/" not in command[1:] and "\n" not in line:
                self._note("unknown_command", command=command)
            case _:
                self._answer(line, runner)

    def _show_search(self, query: str, runner: asyncio.Runner) -> None:
        try:
            self._console.print(Text(clean_lines(run_interruptible(runner, self._found(query)))))
        except HikidashiError as error:
            self._print_error(error)

    async def _found(self, query: str) -> str:
        """The results of a search by the user, as the model would see them."""
        if isinstance(self._responder, BackgroundResponder):
            # Two threads that import modules which need each other may get a partly initialised module.
            await self._responder.wait_until_made()
        from ...web.answers import format_search
        from ...web.providers.choose import choose_provider, configured_provider

        asked = self._search or WebSearchConfig()
        if self._search is None:
            provider = choose_provider(language=self._language)
        else:
            provider = configured_provider(self._search, language=self._language)
        try:
            found = await provider.search(query, search_depth=asked.search_depth, max_results=asked.max_results)
        finally:
            await provider.aclose()
        return format_search(found, language=self._language)

    def _answer(self, question: str, runner: asyncio.Runner) -> None:
        asked = [*self._said, Message(role="user", text=question)]
        received: list[str] = []
        try:
            whole = run_interruptible(runner, show_answer(self._responder, asked, self._screen(), received))
            self._all_answered = self._all_answered and whole
        finally:
            # A question without any answer is dropped, so that it can be asked again.
            if answer := "".join(received).strip():
                self._said = [*asked, Message(role="assistant", text=answer)]
                self._save()

    def _save(self) -> None:
        if self._saver is None:
            return
        try:
            self._saver.write(self._said)
        except OSError as error:
            self._note("not_kept", reason=error)
            self._saver = None

    def _start_new(self) -> None:
        self._said.clear()
        name = self._saver.name if self._saver is not None else None
        if self._saver is not None:
            self._saver.start_new()
        if name:
            self._note("started_new", name=name)
        else:
            self._note("forgotten")

    def _forget(self) -> None:
        self._said.clear()
        if self._saver is not None:
            try:
                self._saver.forget()
            except OSError as error:
                self._note("not_forgotten", reason=error)
                return
        self._note("forgotten")

    def _note(self, key: str, **values: object) -> None:
        self._console.print(Text(self._words[key].format(**values), "dim"))


def run_interruptible(runner: asyncio.Runner, work: Coroutine[Any, Any, _Result]) -> _Result:
    """The result of `work`; the first Ctrl-C cancels it, further ones are ignored until it has ended.

    With asyncio's own handler, a second Ctrl-C would abandon the task while it still draws on the screen.

    Raises:
        KeyboardInterrupt: it was cancelled.
    """

    async def stoppable() -> _Result:
        loop, running = asyncio.get_running_loop(), asyncio.ensure_future(work)

        def stop(_number: int, _frame: object) -> None:
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            loop.call_soon_threadsafe(running.cancel)

        before = signal.signal(signal.SIGINT, stop)
        try:
            return await running
        finally:
            signal.signal(signal.SIGINT, before)

    try:
        return runner.run(stoppable())
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None


async def show_answer(
    responder: Responder, conversation: Sequence[Message], screen: Screen, received: list[str] | None = None
) -> bool:
    """Show the answer on `screen`; True if it is complete and no tool failed on every call.

    The text is also added to `received`, piece by piece.
    """
    whole = True
    worked: dict[str, bool] = {}
    with screen:
        async with aclosing(responder.stream(conversation)) as events:
            async for event in events:
                match event:
                    case TextDelta(text) if received is not None:
                        received.append(text)
                    case ToolReturned(name=name, ok=ok):
                        worked[name] = worked.get(name, False) or ok
                    case AnswerFailed():
                        whole = False
                    case _:
                        pass
                screen.show(event)
    return whole and all(worked.values())


class BackgroundResponder:
    """The responder that `make` returns. Every method waits until it is made, and raises what `make` raised.

    Ctrl-C cancels the wait, not the work: a later call gets the responder. An import cannot be cancelled, so
    `aclose()` waits for it too.
    """

    def __init__(self, make: Callable[[], Responder]) -> None:
        """Start to make the responder."""
        maker = ThreadPoolExecutor(1, thread_name_prefix="responder")
        self._making = maker.submit(make)
        maker.shutdown(wait=False)  # the thread ends with its only task

    async def wait_until_made(self) -> None:
        """Wait until `make` has returned or raised."""
        await asyncio.to_thread(wait, [self._making])

    @property
    def tool_names(self) -> list[str]:
        """The names of the tools the model may call."""
        return self._making.result().tool_names

    async def stream(self, conversation: Sequence[Message]) -> AsyncGenerator[AnswerEvent]:
        """The answer to the last message, piece by piece."""
        await self.wait_until_made()
        async with aclosing(self._making.result().stream(conversation)) as events:
            async for event in events:
                yield event

    async def respond(self, conversation: Sequence[Message]) -> str:
        """The whole answer to the last message."""
        await self.wait_until_made()
        return await self._making.result().respond(conversation)

    async def aclose(self) -> None:
        """Close the responder, if it was made; an error of `make` was raised by the call that needed it."""
        await self.wait_until_made()
        if self._making.exception() is None:
            await self._making.result().aclose()
