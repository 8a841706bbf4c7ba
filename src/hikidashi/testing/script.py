"""Replies of a scripted model, functions that make them, and the requests that they answer.

turn(think("Two sums."), "I add both.", call("add", {"a": 1, "b": 2}), call("add", {"a": 3, "b": 4}))
"""

from __future__ import annotations

import json
import math
import uuid
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypedDict, Unpack

from ..common.json import as_list
from .fault import Fault


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
        from ..search.anthropic_blocks import referenced_tools

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
    return as_list(content)


def _text(content: object) -> str:
    return "\n".join(block["text"] for block in blocks_of(content) if block.get("type") == "text")


class TokenUsage(TypedDict, total=False):
    """Tokens a reply reports; omitted fields are estimated from the sizes of prompt and reply."""

    input_tokens: int
    output_tokens: int
    cache_read_input_tokens: int
    cache_creation_input_tokens: int


class ReplyOptions(TypedDict, total=False):
    """What `say`, `think`, `call` and `turn` take beside the content; see `Reply`."""

    stop_reason: str
    usage: TokenUsage
    delay: float
    chunk: int
    pause: float


@dataclass(frozen=True, kw_only=True)
class Reply:
    """One assistant turn: content blocks in the API's wire form, and how they are sent."""

    content: tuple[dict[str, Any], ...] = ()
    stop_reason: str | None = None
    """`None` means `tool_use` if a tool is called, else `end_turn`."""
    usage: TokenUsage | None = None
    delay: float = 0.0
    """Seconds before the answer begins."""
    chunk: int | None = None
    """Characters per delta of a stream; `None` sends each block in at most 32 deltas."""
    pause: float = 0.0
    """Seconds between the events of a stream."""

    def __post_init__(self) -> None:
        if self.chunk is not None and self.chunk < 1:
            raise ValueError(f"`chunk` is the number of characters per delta and must be at least 1, got {self.chunk}.")

    def addressed_to(self, request: RecordedRequest) -> Reply:
        """The reply as it goes out: tools by the names `request` offers, ids, stop reason and usage filled in."""
        content = tuple(_filled(block, request.tool_names) for block in self.content)
        calls_tool = any(block["type"] == "tool_use" for block in content)
        estimate: TokenUsage = {
            "input_tokens": math.ceil(request.prompt_size / 4),
            "output_tokens": math.ceil(len(json.dumps(content)) / 4),
            "cache_read_input_tokens": 0,
            "cache_creation_input_tokens": 0,
        }
        return replace(
            self,
            content=content,
            stop_reason=self.stop_reason or ("tool_use" if calls_tool else "end_turn"),
            usage={**estimate, **(self.usage or {})},
        )


Answer = Reply | Fault | str
"""The answer to one request; a string is `say(string)`."""

Step = Answer | Callable[[RecordedRequest], Answer]
"""An answer, or a function that finds it; the function runs in the server's thread and may block."""

Script = Step | Iterable[Step]
"""Steps taken one per request, in order; a single function answers every request."""


def say(text: str, **options: Unpack[ReplyOptions]) -> Reply:
    """A reply of text."""
    return Reply(content=({"type": "text", "text": text},), **options)


def think(thinking: str, *, signature: str = "c2lnbmF0dXJl", **options: Unpack[ReplyOptions]) -> Reply:
    """A reply of thinking; put it before others with `turn`."""
    return Reply(content=({"type": "thinking", "thinking": thinking, "signature": signature},), **options)


def call(
    name: str,
    input: Mapping[str, Any] | None = None,  # noqa: A002 - the API's word
    *,
    id: str | None = None,  # noqa: A002 - the API's word
    **options: Unpack[ReplyOptions],
) -> Reply:
    """A reply that calls a tool.

    Args:
        name: A tool of the request, or the end of its name if only one matches: `add` calls `mcp__server__add`. A name
            that matches no tool is sent as it is.
        input: The arguments, a JSON object.
        id: The tool_use id; by default a new one each time the reply is sent.
    """
    try:
        arguments = json.loads(json.dumps(input or {}, allow_nan=False))
    except (TypeError, ValueError) as error:
        raise ValueError(f"The input of a call to {name!r} is not JSON: {error}. Use plain JSON values.") from error
    block = {"type": "tool_use", "name": name, "input": arguments}
    return Reply(content=(block if id is None else {**block, "id": id},), **options)


def turn(*replies: Reply | str, **options: Unpack[ReplyOptions]) -> Reply:
    """One assistant turn with the content of several replies; their own options are ignored in favour of `options`."""
    parts = [say(reply) if isinstance(reply, str) else reply for reply in replies]
    return Reply(content=tuple(block for part in parts for block in part.content), **options)


def _filled(block: dict[str, Any], offered: list[str]) -> dict[str, Any]:
    if block["type"] != "tool_use":
        return block
    return {"id": f"toolu_{uuid.uuid4().hex[:24]}", **block, "name": _resolved(block["name"], offered)}


def _resolved(name: str, offered: list[str]) -> str:
    if name in offered:
        return name
    ending = [candidate for candidate in offered if candidate.endswith(f"__{name}")]
    return ending[0] if len(ending) == 1 else name
