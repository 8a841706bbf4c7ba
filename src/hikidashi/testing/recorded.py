"""A request to `POST /v1/messages`, with properties for assertions."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, cast

__all__ = ["RecordedRequest", "blocks_of"]


@dataclass(frozen=True, kw_only=True)
class RecordedRequest:
    """One request to the Messages API, as received."""

    path: str
    """The path with its query, such as `/v1/messages?beta=true`."""
    headers: dict[str, str]
    """Header names are lower case."""
    body: dict[str, Any]
    size: int
    """Bytes of the body on the wire."""

    @property
    def model(self) -> str:
        """The model that was asked for."""
        return self.body.get("model", "")

    @property
    def stream(self) -> bool:
        """Whether server-sent events were asked for."""
        return bool(self.body.get("stream"))

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The conversation so far."""
        return self.body.get("messages", [])

    @property
    def system_text(self) -> str:
        """The system prompt; several blocks are joined by newlines."""
        return _text(self.body.get("system"))

    @property
    def tools(self) -> list[dict[str, Any]]:
        """The tools offered to the model, as sent."""
        return self.body.get("tools") or []

    @property
    def tool_names(self) -> list[str]:
        """The names of the tools offered to the model."""
        return [tool["name"] for tool in self.tools if "name" in tool]

    @property
    def loaded_tools(self) -> list[str]:
        """The names of the tools that the model can see: those not deferred, then those that were loaded."""
        from ..search.wire.blocks import referenced_tools

        visible = [tool["name"] for tool in self.tools if "name" in tool and not tool.get("defer_loading")]
        return list(dict.fromkeys([*visible, *referenced_tools(self.messages)]))

    @property
    def prompt_size(self) -> int:
        """About how many bytes of the body the model reads: all but the deferred tools that no search has loaded."""
        deferred = [tool for tool in self.tools if tool.get("defer_loading")]
        if not deferred:
            return self.size
        loaded = set(self.loaded_tools)
        unseen = [tool for tool in deferred if tool.get("name") not in loaded]
        written = json.dumps(unseen, ensure_ascii=False, separators=(",", ":"))
        return max(0, self.size - len(written.encode(errors="surrogatepass")))

    @property
    def text(self) -> str:
        """The text of the last user message; several blocks are joined by newlines."""
        return _text(self._last_user_content)

    @property
    def tool_results(self) -> list[dict[str, Any]]:
        """The `tool_result` blocks of the last user message."""
        return [block for block in blocks_of(self._last_user_content) if block.get("type") == "tool_result"]

    @property
    def tool_result_texts(self) -> list[str]:
        """The text of each of these, whether it was sent as a string or as blocks."""
        return [_text(block.get("content")) for block in self.tool_results]

    @property
    def _last_user_content(self) -> object:
        return next((turn.get("content") for turn in reversed(self.messages) if turn.get("role") == "user"), None)


def blocks_of(content: object) -> list[dict[str, Any]]:
    """The content of a message as blocks: a string is one text block."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return cast("list[dict[str, Any]]", content) if isinstance(content, list) else []


def _text(content: object) -> str:
    return "\n".join(block["text"] for block in blocks_of(content) if block.get("type") == "text")
