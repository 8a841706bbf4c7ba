"""Messages, the events of an answer, and `Responder`, which the chat and the Slack bot talk to; the base of ours."""

from __future__ import annotations

import asyncio
import logging
from abc import abstractmethod
from collections.abc import AsyncGenerator, Collection, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, Protocol

from ..common.unicode import well_formed
from ..texts import TABLES, Language, texts
from .failures import Audience, UnansweredError, cause_of, kind_of, sentence, short_cause


@dataclass(frozen=True, kw_only=True, slots=True)
class Message:
    """A message of a conversation."""

    role: Literal["user", "assistant"]
    text: str
    author: str | None = None
    """Name of the author in a conversation of several people; prefixed to the text for the model."""


@dataclass(frozen=True, slots=True)
class TextDelta:
    """A piece of the answer."""

    text: str


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolCalled:
    """The model called a tool."""

    call_id: str
    name: str
    arguments: dict[str, Any]


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolReturned:
    """The result of a tool call."""

    call_id: str
    name: str
    ok: bool
    text: str
    """The whole text that the model gets."""
    reason: str = ""
    """Why the call failed, if `text` does not say it."""


@dataclass(frozen=True, slots=True)
class AnswerFailed:
    """The answer failed, or failed halfway. `message` is for the user; the log has the cause."""

    message: str


AnswerEvent = TextDelta | ToolCalled | ToolReturned | AnswerFailed


class Responder(Protocol):
    """Answers conversations, any number of them concurrently."""

    @property
    @abstractmethod
    def tool_names(self) -> list[str]:
        """The names of the tools the model may call."""
        ...

    def stream(self, conversation: Sequence[Message]) -> AsyncGenerator[AnswerEvent]:
        """The answer to the last message, piece by piece; closing the generator cancels the run.

        A failure of the model or a tool is not raised: the last event is then an `AnswerFailed`.
        """
        ...

    async def respond(self, conversation: Sequence[Message]) -> str:
        """The whole answer to the last message, or the message of its `AnswerFailed`."""
        ...

    @abstractmethod
    async def aclose(self) -> None:
        """Close clients and end processes; may be called twice."""
        ...


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


class BaseResponder(Responder):
    """A `Responder` whose subclass runs the model in `_answer`."""

    def __init__(self, *, language: Language, secrets: Sequence[str | None] = (), audience: Audience = "user") -> None:
        self.language: Language = language
        self._secrets = tuple(secrets)
        self._audience: Audience = audience

    @abstractmethod
    async def _answer(self, turns: list[Message], events: EventQueue) -> None:
        """Run the model on `turns` and add what happens to `events`; errors are raised."""

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

    async def _events(self, turns: list[Message]) -> AsyncGenerator[AnswerEvent]:
        queue = EventQueue()
        run = asyncio.create_task(self._run(turns, queue))
        try:
            while (event := await queue.events.get()) is not None:
                yield event
        finally:
            run.cancel()
            await asyncio.wait([run])

    async def _run(self, turns: list[Message], queue: EventQueue) -> None:
        try:
            await self._answer(turns, queue)
            if not queue.has_text:
                raise UnansweredError("empty", "the model ended without text")
        except Exception as error:
            logger.error("No answer: %s", cause_of(error, self._secrets))
            cause = short_cause(error, self._secrets)
            message = sentence(kind_of(error), self.language, self._audience, cause=cause)
            queue.events.put_nowait(AnswerFailed(message))
        finally:
            queue.events.put_nowait(None)


def turns_of(conversation: Sequence[Message]) -> list[Message]:
    """The turns of `conversation`; consecutive messages of one role are one turn, with their authors before the text.

    Raises:
        ValueError: there is no question: no message, or the last one is empty or the assistant's.
    """
    if not conversation or conversation[-1].role != "user" or not conversation[-1].text.strip():
        raise ValueError("There is nothing to answer: the conversation must end with a message of the user.")
    turns: list[Message] = []
    for message in conversation:
        if not message.text.strip():
            continue
        text = f"{message.author}: {message.text}" if message.author and message.role == "user" else message.text
        if turns and turns[-1].role == message.role:
            text = f"{turns.pop().text}\n\n{text}"
        # A terminal that is not UTF-8 may give lone surrogates, which no API takes.
        turns.append(Message(role=message.role, text=well_formed(text)))
    # The APIs require that the user comes first; a bot's own post may have opened the thread.
    return [Message(role="user", text="…"), *turns] if turns[0].role == "assistant" else turns


now = datetime.now

SEARCH_PROMPT: dict[Language, str] = {language: table["agents"]["prompt.search"] for language, table in TABLES.items()}
"""The system prompt of the search agents."""


def default_prompt(language: Language, tool_names: Collection[str]) -> str:
    """A prompt with today's date and, if the model has the web tools, how to use them; to be built for each answer."""
    table = texts("agents", language)
    base = table["prompt.base"].format(today=now().astimezone().date().isoformat())
    search = [name for name in tool_names if name in ("web_search", "tavily_search")]
    return "\n".join([base, *(table["prompt.web"].format(search=f"`{name}`") for name in search)])
