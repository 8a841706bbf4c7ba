"""Replies of a scripted model, and functions that make them.

turn(think("Two sums."), "I add both.", call("add", {"a": 1, "b": 2}), call("add", {"a": 3, "b": 4}))
"""

from __future__ import annotations

import json
import math
import uuid
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypedDict, Unpack

from .fault import Fault
from .recorded import RecordedRequest

__all__ = ["Answer", "Reply", "ReplyOptions", "Script", "Step", "Usage", "call", "say", "think", "turn"]


class Usage(TypedDict, total=False):
    """Tokens a reply reports; omitted fields are estimated from the sizes of prompt and reply."""

    input_tokens: int
    output_tokens: int
    cache_read_input_tokens: int
    cache_creation_input_tokens: int


class ReplyOptions(TypedDict, total=False):
    """What `say`, `think`, `call` and `turn` take beside the content; see `Reply`."""

    stop_reason: str
    usage: Usage
    delay: float
    chunk: int
    pause: float


@dataclass(frozen=True, kw_only=True)
class Reply:
    """One assistant turn: content blocks in the API's wire form, and how they are sent."""

    content: tuple[dict[str, Any], ...] = ()
    stop_reason: str | None = None
    """`None` means `tool_use` if a tool is called, else `end_turn`."""
    usage: Usage | None = None
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
        estimate: Usage = {
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
