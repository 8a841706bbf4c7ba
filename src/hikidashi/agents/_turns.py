"""Conversations as models take them: turns of user and assistant in alternation, the user first and last."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from ..common.unicode import well_formed
from .conversation import Message

__all__ = ["Turn", "turns_of"]


@dataclass(frozen=True, slots=True)
class Turn:
    """Consecutive messages of one role, as one text."""

    role: Literal["user", "assistant"]
    text: str


def turns_of(conversation: Sequence[Message]) -> list[Turn]:
    """The turns of `conversation`; consecutive messages of one role are one turn, with their authors before the text.

    Raises:
        ValueError: there is no question: no message, or the last one is empty or the assistant's.
    """
    if not conversation or conversation[-1].role != "user" or not conversation[-1].text.strip():
        raise ValueError("There is nothing to answer: the conversation must end with a message of the user.")
    turns: list[Turn] = []
    for message in conversation:
        if not message.text.strip():
            continue
        text = f"{message.author}: {message.text}" if message.author and message.role == "user" else message.text
        if turns and turns[-1].role == message.role:
            turns[-1] = Turn(message.role, f"{turns[-1].text}\n\n{text}")
        else:
            turns.append(Turn(message.role, text))
    # A terminal that is not UTF-8 may give lone surrogates, which no API takes.
    turns = [Turn(turn.role, well_formed(turn.text)) for turn in turns]
    # The APIs require that the user comes first; a bot's own post may have opened the thread.
    return [Turn("user", "…"), *turns] if turns[0].role == "assistant" else turns
