"""Found tools in a pydantic-ai history, and how they stay found when it is shortened.

For pydantic-ai, a tool is found as long as the search is in the history that the model sees. Compaction and history
processors remove it; a `ToolAvailabilityDeltaPart` at the end adds the tools again, once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from ...errors import MissingExtra

try:
    from pydantic_ai.messages import (
        ModelMessage,
        ModelRequest,
        NativeToolSearchReturnPart,
        ToolAvailabilityDeltaPart,
        ToolReturnPart,
        ToolSearchReturnPart,
        post_compaction_window,
    )
except ImportError as error:
    raise MissingExtra("pydantic-ai-slim", "pydantic-ai") from error

__all__ = ["found_or_called", "shown_again"]


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


def _found_in(part: object) -> Iterable[str]:
    match part:
        case ToolSearchReturnPart() | NativeToolSearchReturnPart():
            return [match["name"] for match in part.discovered_tools]
        case ToolAvailabilityDeltaPart():
            return part.tools_added
        case _:
            return ()
