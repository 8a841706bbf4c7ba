"""What a request of spec 003 holds: variants, deferral, headers, MCP, limits, and when search pays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from anthropic import BadRequestError

from hikidashi import Unsupported
from hikidashi.errors import ToolSearchError
from hikidashi.search import to_anthropic_search
from hikidashi.search.anthropic_request import Provider, worth_it
from hikidashi.testing import MessagesServer
from hikidashi.tokens import definition_tokens

Start = Callable[..., tuple[MessagesServer, Any]]

QUESTION = [{"role": "user", "content": "What is the weather in Tokyo?"}]
HEAD: dict[str, Any] = {"model": "claude-opus-5-5", "max_tokens": 2048, "messages": QUESTION}


def tool(name: str, words: int = 8, **more: Any) -> dict[str, Any]:
    return {"name": name, "description": "word " * words, "input_schema": {"type": "object"}, **more}


def tools(count: int, words: int = 8) -> list[dict[str, Any]]:
    return [tool(f"tool_{number}", words) for number in range(count)]


def deferred(request: dict[str, Any]) -> list[str]:
    return [tool["name"] for tool in request["tools"] if tool.get("defer_loading")]


def test_goal_1_fifty_tools_cost_the_model_one_search_tool() -> None:
    fifty = tools(50, words=250)
    request = to_anthropic_search(fifty, model="claude-opus-5-5")
    loaded = [tool for tool in request["tools"] if not tool.get("defer_loading")]
    assert definition_tokens(fifty) > 10_000
    assert loaded == [{"type": "tool_search_tool_regex_20251119", "name": "tool_search_tool_regex"}]
    assert definition_tokens(loaded) < 50


def test_defer_2_the_search_tool_is_never_deferred() -> None:
    given = [
        {"type": "tool_search_tool_bm25_20251119", "name": "tool_search_tool_bm25", "defer_loading": True},
        tool("a"),
    ]
    for variant in ("regex", "bm25", "client"):
        search, *others = to_anthropic_search(given, variant=variant, force=True)["tools"]
        assert "defer_loading" not in search
        assert others == [{**tool("a"), "defer_loading": True}]


def test_defer_3_the_most_used_tools_are_not_deferred() -> None:
    twenty = tools(20)
    usage = {f"tool_{number}": number for number in range(20)}
    kept = {tool["name"] for tool in twenty} - set(deferred(to_anthropic_search(twenty, usage=usage, force=True)))
    assert kept == {"tool_15", "tool_16", "tool_17", "tool_18", "tool_19"}
    given = to_anthropic_search(twenty, always_loaded=["tool_3", "tool_4", "tool_5"], force=True)
    assert len(deferred(given)) == 17


def test_defer_4_all_tools_deferred_is_refused(api: Start) -> None:
    server, client = api("fine")
    with pytest.raises(BadRequestError, match="All tools have defer_loading set"):
        client.beta.messages.create(**HEAD, tools=[tool("a", defer_loading=True)])
    client.beta.messages.create(**HEAD, **to_anthropic_search([tool("a")], force=True))
    assert server.remaining == 0


@pytest.mark.parametrize("provider", ["anthropic", "foundry"])
def test_beta_1_claude_api_and_foundry(api: Start, provider: Provider) -> None:
    server, client = api("fine", "fine")
    for model in ("claude-opus-4-5-20251101", "claude-sonnet-4-5-20250929"):
        request = to_anthropic_search([tool("a")], provider=provider, model=model, force=True)
        client.beta.messages.create(**HEAD, **request)
    assert {request.headers["anthropic-beta"] for request in server.requests} == {"advanced-tool-use-2025-11-20"}


def test_beta_2_vertex() -> None:
    for model in ("claude-opus-4-5@20251101", "claude-sonnet-4-5@20250929"):
        request = to_anthropic_search([tool("a")], provider="vertex", model=model, force=True)
        assert request["betas"] == ["tool-search-tool-2025-10-19"]


def test_beta_3_bedrock() -> None:
    opus, sonnet = "anthropic.claude-opus-4-5-20251101-v1:0", "anthropic.claude-sonnet-4-5-20250929-v1:0"
    request = to_anthropic_search([tool("a")], provider="bedrock", model=opus, force=True)
    assert request["betas"] == ["tool-search-tool-2025-10-19"]
    with pytest.raises(Unsupported, match="on 'bedrock'"):
        to_anthropic_search([tool("a")], provider="bedrock", model=sonnet, force=True)


def test_mcp_1_the_example_is_built_and_taken(api: Start) -> None:
    server, client = api("fine")
    toolset: dict[str, Any] = {
        "name": "db-server",
        "url": "https://mcp-db.example.com",
        "configs": {"search_events": {"defer_loading": False}},
    }
    client.beta.messages.create(**HEAD, **to_anthropic_search([], mcp_toolsets=[toolset]))
    [request] = server.requests
    assert request.headers["anthropic-beta"] == "advanced-tool-use-2025-11-20,mcp-client-2025-11-20"
    assert request.body["mcp_servers"] == [{"type": "url", "name": "db-server", "url": "https://mcp-db.example.com"}]
    assert request.tools == [
        {"type": "tool_search_tool_regex_20251119", "name": "tool_search_tool_regex"},
        {
            "type": "mcp_toolset",
            "mcp_server_name": "db-server",
            "default_config": {"defer_loading": True},
            "configs": {"search_events": {"defer_loading": False}},
        },
    ]


def test_limit_1_more_than_ten_thousand_tools_are_refused() -> None:
    with pytest.raises(ToolSearchError, match="takes 10,000 tools, and these are 10,001"):
        to_anthropic_search(tools(10_001))


def test_limit_4_models_that_cannot_are_refused() -> None:
    for model in ("claude-3-7-sonnet-20250219", "claude-3-opus-20240229", "claude-3-5-haiku-20241022"):
        with pytest.raises(Unsupported, match=r"`variant=.client.`"):
            to_anthropic_search([tool("a")], model=model, force=True)
    for model in ("claude-sonnet-4-0", "claude-opus-4-0", "claude-haiku-4-5"):
        assert deferred(to_anthropic_search([tool("a")], model=model, force=True)) == ["a"]


def test_fit_1_and_2_ten_tools_of_ten_thousand_tokens_are_searched() -> None:
    ten = tools(10, words=1000)
    assert worth_it(ten)
    assert len(deferred(to_anthropic_search(ten))) == 10


def test_fit_3_and_5_search_can_be_forced() -> None:
    assert deferred(to_anthropic_search(tools(3), force=True)) == ["tool_0", "tool_1", "tool_2"]


def test_fit_4_mcp_toolsets_are_searched() -> None:
    search, toolset = to_anthropic_search([], mcp_toolsets=[{"name": "large"}])["tools"]
    assert search["name"] == "tool_search_tool_regex"
    assert toolset["default_config"] == {"defer_loading": True}


def test_plain_1_fewer_than_ten_tools_come_plain() -> None:
    nine = tools(9, words=2000)
    assert not worth_it(nine)
    assert to_anthropic_search(nine) == {"tools": nine}


def test_plain_2_tools_that_are_all_kept_come_plain() -> None:
    ten = tools(10, words=1000)
    assert to_anthropic_search(ten, always_loaded=[tool["name"] for tool in ten]) == {"tools": ten}


def test_plain_3_small_definitions_come_plain() -> None:
    small = tools(12, words=1)
    assert worth_it(small).tokens < 500
    assert to_anthropic_search(small) == {"tools": small}
