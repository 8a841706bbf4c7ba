"""A reply as the Messages API writes it: one JSON object, or a stream of server-sent events.

The replies here are complete: names, ids, stop reason and usage are filled in.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from typing import Any

from .script import Reply

__all__ = ["encode", "event", "events", "message", "wire"]

_MOST_DELTAS = 32


def message(reply: Reply, *, message_id: str, model: str) -> dict[str, Any]:
    """The whole message, as a plain request gets it."""
    return {
        "id": message_id,
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": list(reply.content),
        "stop_reason": reply.stop_reason,
        "stop_sequence": None,
        "usage": dict(reply.usage or {}),
    }


def events(reply: Reply, *, message_id: str, model: str) -> Iterator[dict[str, Any]]:
    """The events that build the same message piece by piece."""
    whole = message(reply, message_id=message_id, model=model)
    begun: dict[str, Any] = {
        **whole,
        "content": [],
        "stop_reason": None,
        "usage": {**whole["usage"], "output_tokens": 1},
    }
    yield {"type": "message_start", "message": begun}
    yield {"type": "ping"}
    for index, block in enumerate(reply.content):
        empty, deltas = _opened(block, reply.chunk)
        yield {"type": "content_block_start", "index": index, "content_block": empty}
        for delta in deltas:
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    ending = {"stop_reason": reply.stop_reason, "stop_sequence": None}
    yield {"type": "message_delta", "delta": ending, "usage": whole["usage"]}
    yield {"type": "message_stop"}


def event(data: Mapping[str, Any]) -> bytes:
    """One server-sent event, named after its type."""
    return encode(data["type"], wire(data))


def encode(name: str, data: bytes) -> bytes:
    """One server-sent event of raw data."""
    return b"event: %b\ndata: %b\n\n" % (name.encode(), data)


def wire(value: object) -> bytes:
    """`value` as JSON in UTF-8, as the API writes it."""
    try:
        return json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:  # a lone surrogate has no UTF-8, only an escape
        return json.dumps(value).encode()


def _opened(block: dict[str, Any], chunk: int | None) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The block as it starts, and the deltas that fill it."""
    match block["type"]:
        case "text":
            return {**block, "text": ""}, [
                {"type": "text_delta", "text": piece} for piece in _pieces(block["text"], chunk)
            ]
        case "thinking":
            return {**block, "thinking": "", "signature": ""}, [
                *({"type": "thinking_delta", "thinking": piece} for piece in _pieces(block["thinking"], chunk)),
                {"type": "signature_delta", "signature": block["signature"]},
            ]
        case "tool_use" | "server_tool_use":
            written = json.dumps(block["input"], ensure_ascii=False)
            return {**block, "input": {}}, [
                {"type": "input_json_delta", "partial_json": piece} for piece in _pieces(written, chunk)
            ]
        case _:  # such as redacted_thinking: these arrive whole
            return block, []


def _pieces(text: str, chunk: int | None) -> list[str]:
    size = chunk or max(8, math.ceil(len(text) / _MOST_DELTAS))
    return [text[start : start + size] for start in range(0, len(text), size)]
