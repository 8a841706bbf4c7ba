"""Messages, the events of an answer, and `Responder`: the interface of the terminal chat and the Slack bot."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

__all__ = ["AnswerEvent", "AnswerFailed", "Message", "Responder", "TextDelta", "ToolCalled", "ToolReturned"]


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

    async def aclose(self) -> None:
        """Close clients and end processes; may be called twice."""
        ...
