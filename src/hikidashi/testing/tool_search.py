"""The server side of tool search: a scripted model searches, and the server finds the deferred tools of the request.

    [turn(search_regex("weather"), call("get_weather", {"city": "Tokyo"})), say("Rain.")]

The search is a real one, over the deferred tools of the request; its blocks join the turn as the API writes them.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Literal, Unpack

from ..common.json import as_list, as_object
from ..errors import ToolSearchError
from ..search.anthropic_blocks import (
    NAME_OF,
    ServerVariant,
    ToolSearchCall,
    ToolSearchFailure,
    referenced_tools,
)
from ..search.catalog import MAX_TOOLS, ToolCatalog
from .fault import Cut, Slow
from .script import Answer, RecordedRequest, Reply, ReplyOptions, TokenUsage

Dialect = Literal["2026", "2025"]
"""Spelling of error codes: "2026" is the current one, "2025" has `invalid_pattern` and `pattern_too_long`."""

_VARIANT_OF: dict[str, ServerVariant] = {name: variant for variant, name in NAME_OF.items()}
_LIMIT = 5


def search_regex(
    pattern: str, *, limit: int | None = None, fails: str | None = None, **options: Unpack[ReplyOptions]
) -> Reply:
    """A reply that searches tools by pattern; continue it with `turn`.

    Args:
        pattern: The regular expression.
        limit: Maximum number of tools, if the model sets one.
        fails: An error code, such as `unavailable`, to answer with instead of searching.
    """
    return _search("regex", {"pattern": pattern}, limit, fails, options)


def search_words(
    query: str, *, limit: int | None = None, fails: str | None = None, **options: Unpack[ReplyOptions]
) -> Reply:
    """A reply that searches tools by words; see `search_regex`."""
    return _search("bm25", {"query": query}, limit, fails, options)


def with_searches_done(answer: Answer, request: RecordedRequest, *, dialect: Dialect = "2026") -> Answer:
    """`answer` with the result behind each search in it that has none yet, and the searches counted in its usage.

    Raises:
        LookupError: it searches with a tool that `request` does not offer.
    """
    match answer:
        case Reply():
            return _reply_with_searches_done(answer, request, dialect)
        case Slow():
            return replace(answer, then=with_searches_done(answer.then, request, dialect=dialect))
        case Cut(reply=Reply() as reply):
            return replace(answer, reply=_reply_with_searches_done(reply, request, dialect))
        case _:
            return answer


def refused_tools(body: Mapping[str, Any]) -> str | None:
    """The API's error for the deferred tools or tool references of a request; None if it has none."""
    tools = as_list(body.get("tools"))
    for tool in tools:
        if tool.get("defer_loading") and tool.get("cache_control"):
            return (
                f"Tool '{tool.get('name')}' cannot have both defer_loading=true and cache_control set. "
                "Tools with defer_loading cannot use prompt caching."
            )
    if tools and all(map(_is_deferred, tools)):
        return "All tools have defer_loading set. At least one tool must be non-deferred."
    searched = sum(bool(tool.get("defer_loading")) for tool in tools)
    if searched > MAX_TOOLS:
        return f"tools: at most {MAX_TOOLS} tools can have defer_loading set, got {searched}"
    if any(tool.get("type") == "mcp_toolset" for tool in tools):
        return None  # only its server knows its tools
    known = {tool.get("name") for tool in tools}
    lost = next((name for name in referenced_tools(body["messages"]) if name not in known), None)
    return None if lost is None else f"Tool reference '{lost}' not found in available tools"


def _search(
    variant: ServerVariant, asked: dict[str, Any], limit: int | None, fails: str | None, options: ReplyOptions
) -> Reply:
    call = {
        "type": "server_tool_use",
        "name": NAME_OF[variant],
        "input": asked if limit is None else {**asked, "limit": limit},
    }
    return Reply(content=(call if fails is None else {**call, _FAILS: fails},), **options)


_FAILS = "fails"  # never on the wire: it becomes the error block


def _is_deferred(tool: Mapping[str, Any]) -> bool:
    if tool.get("type") != "mcp_toolset":
        return bool(tool.get("defer_loading"))
    configs = as_object(tool.get("configs"))
    every = bool(tool.get("default_config", {}).get("defer_loading"))
    return every and all(config.get("defer_loading", True) for config in configs.values())


def _reply_with_searches_done(reply: Reply, request: RecordedRequest, dialect: Dialect) -> Reply:
    answered = {block["tool_use_id"] for block in reply.content if block["type"] == "tool_search_tool_result"}
    searches = [block for block in reply.content if _is_search(block)]
    if not searches:
        return reply
    content = tuple(
        part
        for block in reply.content
        for part in (
            _searched(block, request, dialect) if _is_search(block) and block.get("id") not in answered else (block,)
        )
    )
    counted = {"web_search_requests": 0, "web_fetch_requests": 0, "tool_search_requests": len(searches)}
    usage: _SearchUsage = {"server_tool_use": counted, **(reply.usage or {})}
    return replace(reply, content=content, usage=usage)


class _SearchUsage(TokenUsage, total=False):
    """What the API counts beside tokens, which are all that a script can set."""

    server_tool_use: dict[str, int]


def _is_search(block: Mapping[str, Any]) -> bool:
    return block["type"] == "server_tool_use" and block.get("name") in _VARIANT_OF


def _searched(block: dict[str, Any], request: RecordedRequest, dialect: Dialect) -> Iterator[dict[str, Any]]:
    name = block["name"]
    if not any(tool.get("name") == name and tool.get("type", "").startswith(name) for tool in request.tools):
        raise LookupError(
            f"The script searches with `{name}`, but the request offers no such tool. Offer it in `tools`."
        )
    asked = block["input"]
    call = ToolSearchCall(
        id=block.get("id") or f"srvtoolu_{uuid.uuid4().hex[:24]}",
        variant=_VARIANT_OF[name],
        query=asked.get("query"),
        pattern=asked.get("pattern"),
        limit=asked.get("limit"),
    )
    if _FAILS in block:
        outcome = replace(call, failure=ToolSearchFailure(code=block[_FAILS]))
    else:
        try:
            outcome = replace(call, references=tuple(_found(call, request)))
        except ToolSearchError as error:
            outcome = replace(call, failure=ToolSearchFailure(code=error.wire_code(dialect), message=str(error)))
    yield from outcome.to_blocks()


def _found(call: ToolSearchCall, request: RecordedRequest) -> list[str]:
    asked, limit = call.asked, _LIMIT if call.limit is None else call.limit
    if type(asked) is not str or type(limit) is not int:  # a script may write anything
        raise ToolSearchError("invalid_tool_input", f"A search takes text and a whole number, got {call.input!r}.")
    deferred = [tool for tool in request.tools if tool.get("defer_loading")]
    if not deferred:
        return []
    catalog = ToolCatalog(deferred, ranker="lexical")  # BM25 is by words
    if call.variant == "regex":
        return [match.name for match in catalog.search_regex(asked, limit=limit)]
    words = asked.replace("select:", "select ")  # names by `select:` are ours; to the API these are words
    return [match.name for match in catalog.search(words, limit=limit)]
