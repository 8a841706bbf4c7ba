"""Tokens that an answer used, in pydantic-ai's terms, as `AnthropicModel` counts them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from pydantic_ai.usage import RequestUsage

_TOKENS = ("input_tokens", "output_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")

# A part of the tokens above, and where the API reports it. An hour in the cache has another price than five minutes.
_PARTS = {
    "ephemeral_1h_input_tokens": "cache_creation",
    "thinking_tokens": "output_tokens_details",
    "web_search_requests": "server_tool_use",
}


class UsageCount:
    """The usage of all messages of one answer. Each report replaces the one before for the same message."""

    def __init__(self) -> None:
        self._earlier: dict[str, int] = {}
        self._message: dict[str, int] = {}

    def begin_message(self) -> None:
        """Count what follows for another message."""
        self._earlier = self._details()
        self._message = {}

    def report(self, usage: Mapping[str, Any]) -> None:
        """Count what the API reports for the message."""
        found = {name: usage.get(name) for name in _TOKENS}
        for name, place in _PARTS.items():
            inside: object = usage.get(place)
            if isinstance(inside, Mapping):
                found[name] = cast("Mapping[str, Any]", inside).get(name) or None
        self._message |= {name: value for name, value in found.items() if isinstance(value, int)}

    def total(self) -> RequestUsage:
        """The sum of all messages."""
        details = self._details()
        read, written = details.get("cache_read_input_tokens", 0), details.get("cache_creation_input_tokens", 0)
        return RequestUsage(
            input_tokens=details.get("input_tokens", 0) + read + written,
            output_tokens=details.get("output_tokens", 0),
            output_reasoning_tokens=details.get("thinking_tokens", 0),
            cache_read_tokens=read,
            cache_write_tokens=written,
            cache_write_1h_tokens=min(details.get("ephemeral_1h_input_tokens", 0), written),
            details=details,
        )

    def _details(self) -> dict[str, int]:
        names = [*self._earlier, *(name for name in self._message if name not in self._earlier)]
        return {name: self._earlier.get(name, 0) + self._message.get(name, 0) for name in names}
