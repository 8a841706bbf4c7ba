"""What every responder shares: a run in a task of its own, its events and failures, its end when nobody listens."""

from __future__ import annotations

import asyncio
import logging
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import Any

from ..common.language import Language
from ._turns import Turn, turns_of
from .conversation import AnswerEvent, AnswerFailed, Message, TextDelta, ToolCalled, ToolReturned
from .failures import Audience, NoAnswerError, cause_of, kind_of, sentence, told_cause

__all__ = ["RunningResponder", "Teller"]

logger = logging.getLogger("hikidashi.agents")


class Teller:
    """Where a run tells what happens."""

    def __init__(self) -> None:
        self.heard: asyncio.Queue[AnswerEvent | None] = asyncio.Queue()
        """The events so far; None is the end."""
        self.said_something = False
        self._apart = False

    def text(self, text: str) -> None:
        """A further piece of the answer; what is said after a tool call is a new paragraph."""
        if text:
            self.heard.put_nowait(TextDelta(f"\n\n{text}" if self._apart else text))
            self.said_something, self._apart = True, False

    def called(self, call_id: str, name: str, arguments: dict[str, Any]) -> None:
        """The model called a tool."""
        self.heard.put_nowait(ToolCalled(call_id=call_id, name=name, arguments=arguments))
        self._apart = self.said_something

    def returned(self, call_id: str, name: str, text: str, *, ok: bool, reason: str = "") -> None:
        """A tool came back."""
        self.heard.put_nowait(ToolReturned(call_id=call_id, name=name, ok=ok, text=text, reason=reason))


class RunningResponder(ABC):
    """A `Responder` on top of one method: `answer`."""

    def __init__(self, *, language: Language, secrets: Sequence[str | None] = (), audience: Audience = "user") -> None:
        self.language: Language = language
        self._secrets = tuple(secrets)
        self._audience: Audience = audience

    @property
    @abstractmethod
    def tool_names(self) -> list[str]:
        """The names of the tools the model may call."""

    @abstractmethod
    async def answer(self, turns: list[Turn], tell: Teller) -> None:
        """Runs the model on `turns` and tells what happens; raises what goes wrong."""

    @abstractmethod
    async def aclose(self) -> None:
        """Gives clients and processes back; may be called twice."""

    def stream(self, conversation: Sequence[Message]) -> AsyncGenerator[AnswerEvent]:
        """The answer to the last message, piece by piece; closing the generator ends the run behind it.

        Raises:
            ValueError: the conversation does not end with a question of the user.
        """
        return self._events(turns_of(conversation))

    async def respond(self, conversation: Sequence[Message]) -> str:
        """The whole answer to the last message, or the sentence of its `AnswerFailed`."""
        said: list[str] = []
        async with aclosing(self.stream(conversation)) as events:
            async for event in events:
                if isinstance(event, TextDelta):
                    said.append(event.text)
                elif isinstance(event, AnswerFailed):
                    said.append(f"\n\n{event.message}" if said else event.message)
        return "".join(said)

    async def _events(self, turns: list[Turn]) -> AsyncGenerator[AnswerEvent]:
        tell = Teller()
        run = asyncio.create_task(self._run(turns, tell))
        try:
            while (event := await tell.heard.get()) is not None:
                yield event
        finally:
            run.cancel()
            await asyncio.wait([run])

    async def _run(self, turns: list[Turn], tell: Teller) -> None:
        try:
            await self.answer(turns, tell)
            if not tell.said_something:
                raise NoAnswerError("empty", "the model ended without a word")
        except Exception as error:
            logger.error("No answer: %s", cause_of(error, self._secrets))
            cause = told_cause(error, self._secrets)
            told = sentence(kind_of(error), self.language, self._audience, cause=cause)
            tell.heard.put_nowait(AnswerFailed(told))
        finally:
            tell.heard.put_nowait(None)
