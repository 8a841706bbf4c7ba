"""What a conversation is, and what answers one: the interface the terminal chat and the Slack bot know."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

__all__ = ["AnswerEvent", "AnswerFailed", "Message", "Responder", "TextDelta", "ToolCalled", "ToolReturned"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Message:
    """One thing that was said."""

    role: Literal["user", "assistant"]
    text: str
    author: str | None = None
    """Who said it, where several people talk; shown to the model before the text."""


@dataclass(frozen=True, slots=True)
class TextDelta:
    """A further piece of the answer."""

    text: str


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolCalled:
    """The model called a tool."""

    call_id: str
    name: str
    arguments: dict[str, Any]


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolReturned:
    """A tool came back."""

    call_id: str
    name: str
    ok: bool
    text: str
    """What the tool gave the model, whole."""
    reason: str = ""
    """Why it failed, where `text` does not say it."""


@dataclass(frozen=True, slots=True)
class AnswerFailed:
    """No answer, or no further one: `message` is a sentence for the person who asked; the log has the cause."""

    message: str


AnswerEvent = TextDelta | ToolCalled | ToolReturned | AnswerFailed


class Responder(Protocol):
    """Answers conversations; several at once, none waiting for another."""

    @property
    def tool_names(self) -> list[str]:
        """The names of the tools the model may call."""
        ...

    def stream(self, conversation: Sequence[Message]) -> AsyncGenerator[AnswerEvent]:
        """The answer to the last message, piece by piece; closing the generator ends the run behind it.

        Never raises for a failing model or tool: the last event is then an `AnswerFailed`.
        """
        ...

    async def respond(self, conversation: Sequence[Message]) -> str:
        """The whole answer to the last message, or the sentence of its `AnswerFailed`."""
        ...

    async def aclose(self) -> None:
        """Gives clients and processes back; may be called twice."""
        ...
