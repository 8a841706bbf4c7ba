"""The part of the model behind examples that searches for tools: it asks, and calls the first tool it finds."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from hikidashi.testing import RecordedRequest, Reply, call

__all__ = ["searching"]

Arguments = Callable[[dict[str, Any]], dict[str, Any]]


def searching(request: RecordedRequest, arguments: Arguments) -> Reply | None:
    """A search with the words of the question, then a call of what it found; None where neither is due.

    Args:
        request: What the model is asked.
        arguments: Example arguments for an input schema.
    """
    tools = {tool["name"]: tool for tool in request.tools if "name" in tool}
    if request.tool_results:
        return _found(request, tools, arguments) if _is_search(_last_call(request)) else None
    search = next((name for name in tools if _is_search(name)), None)
    if search is None:
        return None
    question = _question(request)
    asked = {
        name: question if schema.get("type") == "string" else [question]
        for name, schema in tools[search]["input_schema"]["properties"].items()
        if name in ("query", "queries")
    }
    return call(search, asked)


def _found(request: RecordedRequest, tools: dict[str, Any], arguments: Arguments) -> Reply | None:
    for line in "\n".join(request.tool_result_texts).splitlines():
        if line.startswith('{"name":') and '"input_schema"' in line:  # a definition, to be called with `call_tool`
            shown = json.loads(line)
            call_tool = next(name for name in tools if name.endswith("call_tool"))
            return call(call_tool, {"name": shown["name"], "arguments": arguments(shown["input_schema"])})
    written = json.dumps(request.tool_results, ensure_ascii=False).replace("\\", "")
    found = (name for name in tools if not _is_search(name) and f'"{name}' in written)
    first = next(found, None)
    return None if first is None else call(first, arguments(tools[first]["input_schema"]))


def _is_search(name: str) -> bool:
    return name.endswith("search_tools") or name.startswith("tool_search")


def _last_call(request: RecordedRequest) -> str:
    said = [block for turn in request.messages if turn["role"] == "assistant" for block in turn["content"]]
    return next((block["name"] for block in reversed(said) if block.get("type") == "tool_use"), "")


def _question(request: RecordedRequest) -> str:
    first = request.messages[0]["content"]
    texts = [first] if isinstance(first, str) else [block.get("text", "") for block in first]
    return next(text for text in reversed(texts) if text.strip() and not text.startswith("<"))[:200]
