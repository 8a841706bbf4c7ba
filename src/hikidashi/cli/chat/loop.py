"""The chat loop: read a question or a command, and run it, until the user leaves."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextlib import aclosing
from typing import Any, TypeVar

from rich.console import Console
from rich.text import Text

from hikidashi.apps.responder import AnswerFailed, Message, Responder, TextDelta, ToolReturned
from hikidashi.errors import HikidashiError

from ..output import clean_lines, print_error
from .conversations import ConversationSaver
from .questions import QuestionReader
from .screen import Screen
from .words import Words

__all__ = ["ChatLoop", "run_interruptible", "show_answer"]

_Result = TypeVar("_Result")


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


class ChatLoop:
    """A chat between a user and a responder."""

    def __init__(
        self,
        responder: Responder,
        *,
        console: Console,
        words: Words,
        screen: Callable[[], Screen],
        search: Callable[[str], Awaitable[str]],
        questions: QuestionReader,
        saver: ConversationSaver | None,
        conversation: Sequence[Message] = (),
        typed: bool = True,
    ) -> None:
        """Without `typed`, only answers are printed."""
        self._responder = responder
        self._console = console
        self._words = words
        self._screen = screen
        self._search = search
        self._questions = questions
        self._saver = saver
        self._said = list(conversation)
        self._typed = typed
        self._all_answered = True

    def run(self, runner: asyncio.Runner) -> bool:
        """Run until the user leaves; True if each question was answered.

        Ctrl-C cancels the current answer, never the chat.
        """
        while True:
            try:
                line = self._questions.read().strip()
            except EOFError:
                break
            except KeyboardInterrupt:
                self._console.print()
                self._note(self._words.leave)
                continue
            if not line:
                continue
            if line in {"/quit", "/exit"}:
                break
            try:
                self._do(line, runner)
            except KeyboardInterrupt:
                self._note(self._words.stopped)
        if self._typed:
            self._note(self._words.bye)
        return self._all_answered

    def _do(self, line: str, runner: asyncio.Runner) -> None:
        command, _, rest = line.partition(" ")
        match command:
            case "/help":
                self._console.print(Text(self._words.help))
            case "/tools":
                with self._screen():
                    names = self._responder.tool_names
                self._console.print(Text("\n".join(names) if names else self._words.no_tools))
            case "/new":
                self._start_new()
            case "/clear":
                self._forget()
            case "/search":
                if rest.strip():
                    self._show_search(rest.strip(), runner)
                else:
                    self._note(self._words.what_to_search)
            case _ if command.startswith("/") and "/" not in command[1:] and "\n" not in line:
                self._note(self._words.unknown_command.format(command=command))
            case _:
                self._answer(line, runner)

    def _show_search(self, query: str, runner: asyncio.Runner) -> None:
        async def found() -> str:
            return await self._search(query)

        try:
            self._console.print(Text(clean_lines(run_interruptible(runner, found()))))
        except HikidashiError as error:
            print_error(error)

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
            self._note(self._words.not_kept.format(reason=error))
            self._saver = None

    def _start_new(self) -> None:
        self._said.clear()
        name = self._saver.name if self._saver is not None else None
        if self._saver is not None:
            self._saver.start_new()
        self._note(self._words.started_new.format(name=name) if name else self._words.forgotten)

    def _forget(self) -> None:
        self._said.clear()
        if self._saver is not None:
            try:
                self._saver.forget()
            except OSError as error:
                self._note(self._words.not_forgotten.format(reason=error))
                return
        self._note(self._words.forgotten)

    def _note(self, sentence: str) -> None:
        self._console.print(Text(sentence, "dim"))
