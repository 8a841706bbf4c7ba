"""The base of all responders: each answer runs in its own task, which is cancelled when its events are not read."""

from __future__ import annotations

import asyncio
import logging
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import Any

from ..texts import Language
from ._turns import Turn, turns_of
from .conversation import AnswerEvent, AnswerFailed, Message, TextDelta, ToolCalled, ToolReturned
from .failures import Audience, NoAnswerError, cause_of, kind_of, sentence, short_cause

__all__ = ["BaseResponder", "EventQueue"]

logger = logging.getLogger("hikidashi.agents")


class EventQueue:
    """The events of one answer, written by the task that runs the model."""

    def __init__(self) -> None:
        self.events: asyncio.Queue[AnswerEvent | None] = asyncio.Queue()
        """The events that were not read yet; None is the end."""
        self.has_text = False
        self._new_paragraph = False

    def text(self, text: str) -> None:
        """Add a piece of the answer; text after a tool call begins a new paragraph."""
        if text:
            self.events.put_nowait(TextDelta(f"\n\n{text}" if self._new_paragraph else text))
            self.has_text, self._new_paragraph = True, False

    def called(self, call_id: str, name: str, arguments: dict[str, Any]) -> None:
        """Add a tool call by the model."""
        self.events.put_nowait(ToolCalled(call_id=call_id, name=name, arguments=arguments))
        self._new_paragraph = self.has_text

    def returned(self, call_id: str, name: str, text: str, *, ok: bool, reason: str = "") -> None:
        """Add the result of a tool call."""
        self.events.put_nowait(ToolReturned(call_id=call_id, name=name, ok=ok, text=text, reason=reason))


class BaseResponder(ABC):
    """A `Responder` whose subclass runs the model in `_answer`."""

    def __init__(self, *, language: Language, secrets: Sequence[str | None] = (), audience: Audience = "user") -> None:
        self.language: Language = language
        self._secrets = tuple(secrets)
        self._audience: Audience = audience

    @property
    @abstractmethod
    def tool_names(self) -> list[str]:
        """The names of the tools the model may call."""

    @abstractmethod
    async def _answer(self, turns: list[Turn], events: EventQueue) -> None:
        """Run the model on `turns` and add what happens to `events`; errors are raised."""

    @abstractmethod
    async def aclose(self) -> None:
        """Close clients and end processes; may be called twice."""

    def stream(self, conversation: Sequence[Message]) -> AsyncGenerator[AnswerEvent]:
        """The answer to the last message, piece by piece; closing the generator cancels the run.

        Raises:
            ValueError: the conversation does not end with a message of the user.
        """
        return self._events(turns_of(conversation))

    async def respond(self, conversation: Sequence[Message]) -> str:
        """The whole answer to the last message, or the message of its `AnswerFailed`."""
        parts: list[str] = []
        async with aclosing(self.stream(conversation)) as events:
            async for event in events:
                if isinstance(event, TextDelta):
                    parts.append(event.text)
                elif isinstance(event, AnswerFailed):
                    parts.append(f"\n\n{event.message}" if parts else event.message)
        return "".join(parts)

    async def _events(self, turns: list[Turn]) -> AsyncGenerator[AnswerEvent]:
        queue = EventQueue()
        run = asyncio.create_task(self._run(turns, queue))
        try:
            while (event := await queue.events.get()) is not None:
                yield event
        finally:
            run.cancel()
            await asyncio.wait([run])

    async def _run(self, turns: list[Turn], queue: EventQueue) -> None:
        try:
            await self._answer(turns, queue)
            if not queue.has_text:
                raise NoAnswerError("empty", "the model ended without text")
        except Exception as error:
            logger.error("No answer: %s", cause_of(error, self._secrets))
            cause = short_cause(error, self._secrets)
            message = sentence(kind_of(error), self.language, self._audience, cause=cause)
            queue.events.put_nowait(AnswerFailed(message))
        finally:
            queue.events.put_nowait(None)
