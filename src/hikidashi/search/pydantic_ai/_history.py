"""Found tools in a pydantic-ai history, and how they stay found when it is shortened.

For pydantic-ai, a tool is found as long as the search is in the history that the model sees. Compaction and history
processors remove it; a `ToolAvailabilityDeltaPart` at the end adds the tools again, once.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile

from ...errors import MissingExtra

try:
    from pydantic_ai.messages import (
        ModelMessage,
        ModelRequest,
        ModelRequestPart,
        ModelResponse,
        NativeToolSearchReturnPart,
        ToolAvailabilityDeltaPart,
        ToolReturnPart,
        ToolSearchReturnPart,
        UserPromptPart,
        post_compaction_window,
    )
except ImportError as error:
    raise MissingExtra("pydantic-ai-slim", "pydantic-ai") from error

__all__ = ["Happened", "found_or_called", "happened_in", "shown_again", "without_additions"]


@dataclass(frozen=True, slots=True)
class Happened:
    """What a part of a history says about tools: that a search found some, or what the user wrote."""

    found: Sequence[str] = ()
    """The names of the tools that a search found."""
    message: object = None
    """The content of a user's message."""
    added: Sequence[str] = ()
    """The names of the tools that were added between the message and the answer of the model."""
    is_first: bool = False
    """Whether it was before the first answer of a model."""
    is_new: bool = False
    """Whether it was after the last answer of a model."""


def happened_in(history: Sequence[ModelMessage]) -> Iterator[Happened]:
    """Searches and messages of the user, in the order of the conversation."""
    answers = [place for place, message in enumerate(history) if isinstance(message, ModelResponse)]
    first, last = (answers[0], answers[-1]) if answers else (len(history), -1)
    for place, message in enumerate(history):
        # Beside the results of tools, user prompts are what the tools returned.
        has_results = any(isinstance(part, ToolReturnPart) for part in message.parts)
        for part in message.parts:
            if isinstance(part, ToolSearchReturnPart | NativeToolSearchReturnPart):
                yield Happened(found=list(_found_in(part)))
            elif isinstance(part, UserPromptPart) and not has_results:
                added = [] if place > last else list(_added_before_answer(history, place))
                yield Happened(message=part.content, added=added, is_first=place < first, is_new=place > last)


def found_or_called(messages: Iterable[ModelMessage]) -> Iterator[str]:
    """The names of tools that were found in `messages`, or called with success."""
    for message in messages:
        for part in message.parts:
            if isinstance(part, ToolReturnPart) and part.outcome == "success":
                yield part.tool_name
            yield from _found_in(part)


def shown_again(messages: Sequence[ModelMessage], found: Iterable[str]) -> ModelRequest | None:
    """The message to append so that the model sees all tools in `found`; None if it sees them already."""
    parts = (part for message in post_compaction_window(messages) for part in message.parts)
    seen = {name for part in parts for name in _found_in(part)}
    lost = [name for name in found if name not in seen]
    return ModelRequest(parts=[ToolAvailabilityDeltaPart(tools_added=lost)]) if lost else None


def without_additions(messages: Sequence[ModelMessage], names: Container[str]) -> list[ModelMessage]:
    """`messages` that do not say of tools in `names` that they were added; a request that says no more is left out."""
    kept: list[ModelMessage] = []
    for message in messages:
        if not any(name in names for part in message.parts for name in _added_in(part)):
            kept.append(message)
        elif isinstance(message, ModelRequest):
            parts = [rest for part in message.parts if (rest := _without(part, names)) is not None]
            kept += [replace(message, parts=parts)] if parts else []
    return kept


def _added_before_answer(history: Sequence[ModelMessage], place: int) -> Iterator[str]:
    for message in takewhile(lambda message: not isinstance(message, ModelResponse), history[place:]):
        for part in message.parts:
            yield from _added_in(part)


def _without(part: ModelRequestPart, names: Container[str]) -> ModelRequestPart | None:
    if not isinstance(part, ToolAvailabilityDeltaPart):
        return part
    added = [name for name in part.tools_added if name not in names]
    return replace(part, tools_added=added) if added else None


def _added_in(part: object) -> Iterable[str]:
    return part.tools_added if isinstance(part, ToolAvailabilityDeltaPart) else ()


def _found_in(part: object) -> Iterable[str]:
    match part:
        case ToolSearchReturnPart() | NativeToolSearchReturnPart():
            return [match["name"] for match in part.discovered_tools]
        case ToolAvailabilityDeltaPart():
            return part.tools_added
        case _:
            return ()
