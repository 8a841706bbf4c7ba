"""Requests that offer tool search: what is deferred, what is kept, and what is refused."""

from __future__ import annotations

import json
import logging
import re
from copy import deepcopy
from pathlib import Path
from typing import Any, cast

import httpx2
import mcp
import pydantic_ai
import pytest
import strands
from anthropic import Anthropic, AnthropicFoundry
from anthropic.lib.bedrock import AnthropicBedrock
from anthropic.lib.vertex import AnthropicVertex
from hypothesis import given
from hypothesis import strategies as st

from hikidashi import Tool, ToolResult, ToolValidationError, Unsupported
from hikidashi.errors import ToolSearchError
from hikidashi.search import ToolCatalog, to_anthropic_search
from hikidashi.search.anthropic_blocks import Variant
from hikidashi.search.anthropic_request import Provider, client_search_tool, worth_it
from hikidashi.testing.messages import refusal

MODEL = "claude-opus-5-5"
REGEX = {"type": "tool_search_tool_regex_20251119", "name": "tool_search_tool_regex"}
BM25 = {"type": "tool_search_tool_bm25_20251119", "name": "tool_search_tool_bm25"}
CACHE = {"type": "ephemeral"}


def definition(name: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "description": f"Does {name}.", "input_schema": {"type": "object"}, **more}


def large(count: int) -> list[dict[str, Any]]:
    """Tools of more than 1,000 tokens each."""
    return [definition(f"tool_{number}", description="word " * 1100) for number in range(count)]


async def nothing(_: dict[str, Any]) -> ToolResult:
    return ToolResult()


def deferred(request: dict[str, Any]) -> list[str]:
    return [tool["name"] for tool in request["tools"] if tool.get("defer_loading")]


def loaded(request: dict[str, Any]) -> list[str]:
    return [tool["name"] for tool in request["tools"] if not tool.get("defer_loading")]


A, B, C = definition("a"), definition("b"), definition("c")


@pytest.mark.parametrize(("variant", "search"), [("regex", REGEX), ("bm25", BM25), ("client", client_search_tool())])
def test_the_search_tool_comes_first_and_the_others_deferred_in_their_order(
    variant: Variant, search: dict[str, Any]
) -> None:
    request = to_anthropic_search([C, A, B], variant=variant, model=MODEL, force=True)
    assert request == {
        "tools": [search, *({**tool, "defer_loading": True} for tool in (C, A, B))],
        "betas": ["advanced-tool-use-2025-11-20"],
    }


@pytest.mark.parametrize(
    ("provider", "header"),
    [
        ("anthropic", "advanced-tool-use-2025-11-20"),
        ("foundry", "advanced-tool-use-2025-11-20"),
        ("vertex", "tool-search-tool-2025-10-19"),
        ("bedrock", "tool-search-tool-2025-10-19"),
    ],
)
def test_each_provider_has_its_header(provider: Provider, header: str) -> None:
    assert to_anthropic_search([A], provider=provider, model=MODEL, force=True)["betas"] == [header]


def test_headers_can_be_left_out_or_given() -> None:
    assert "betas" not in to_anthropic_search([A], betas="off", force=True)
    assert to_anthropic_search([A], betas=["my-beta"], force=True)["betas"] == ["my-beta"]
    assert to_anthropic_search([A], betas=["my-beta"]) == {"tools": [A], "betas": ["my-beta"]}


def test_tools_named_as_always_loaded_are_not_deferred() -> None:
    request = to_anthropic_search([A, B, C], always_loaded=["b"], force=True)
    assert (loaded(request), deferred(request)) == (["tool_search_tool_regex", "b"], ["a", "c"])


def test_the_five_most_used_tools_are_kept_loaded() -> None:
    tools = [definition(f"t{number}") for number in range(9)]
    usage = {"t8": 50, "t1": 7, "t2": 7, "t3": 7, "t4": 7, "t5": 7, "t0": 0, "gone": 99}
    assert loaded(to_anthropic_search(tools, usage=usage, force=True))[1:] == ["t1", "t2", "t3", "t4", "t8"]


def test_usage_fills_up_what_is_always_loaded() -> None:
    tools = [definition(f"t{number}") for number in range(9)]
    request = to_anthropic_search(tools, always_loaded=["t0", "t1", "t2", "t3"], usage={"t7": 2, "t8": 1}, force=True)
    assert loaded(request)[1:] == ["t0", "t1", "t2", "t3", "t7"]


def test_a_tool_that_says_it_is_not_deferred_is_kept() -> None:
    request = to_anthropic_search([{**A, "defer_loading": False}, B], force=True)
    assert request["tools"] == [REGEX, A, {**B, "defer_loading": True}]


def test_an_unknown_name_to_keep_is_refused() -> None:
    with pytest.raises(ToolValidationError, match="`always_loaded` names 'x', but there is no such tool"):
        to_anthropic_search([A], always_loaded=["x"], force=True)


def test_a_cache_breakpoint_moves_from_a_deferred_tool_to_the_last_loaded_one() -> None:
    request = to_anthropic_search([A, B, {**C, "cache_control": CACHE}], always_loaded=["a"], force=True)
    assert request["tools"] == [
        REGEX,
        {**A, "cache_control": CACHE},
        {**B, "defer_loading": True},
        {**C, "defer_loading": True},
    ]


def test_a_cache_breakpoint_moves_to_the_search_tool_where_no_other_is_loaded() -> None:
    request = to_anthropic_search([{**A, "cache_control": CACHE}], force=True)
    assert request["tools"] == [{**REGEX, "cache_control": CACHE}, {**A, "defer_loading": True}]


def test_a_cache_breakpoint_on_a_loaded_tool_stays_as_it_is() -> None:
    mine = {"type": "ephemeral", "ttl": "1h"}
    tools = [{**A, "cache_control": mine}, {**B, "cache_control": CACHE}]
    assert to_anthropic_search(tools, always_loaded=["a"], force=True)["tools"][1:] == [
        {**A, "cache_control": mine},
        {**B, "defer_loading": True},
    ]


def test_the_same_tools_give_the_same_bytes_and_are_left_untouched() -> None:
    tools = [{**A, "cache_control": CACHE}, B, {**C, "defer_loading": True}]
    before = deepcopy(tools)
    first, second = (json.dumps(to_anthropic_search(tools, usage={"b": 1}, force=True)) for _ in range(2))
    assert first == second
    assert tools == before


@pytest.mark.parametrize("variant", ["regex", "bm25"])
def test_a_model_that_cannot_search_is_refused_with_the_way_out(variant: Variant) -> None:
    with pytest.raises(Unsupported, match=r"'claude-3-5-haiku-latest' on 'anthropic' .*`variant=.client.`"):
        to_anthropic_search([A], variant=variant, model="claude-3-5-haiku-latest", force=True)


def test_a_model_that_cannot_search_gets_the_loaded_tools_of_the_client_variant() -> None:
    old = "claude-3-5-haiku-latest"
    request = to_anthropic_search([A, B], variant="client", model=old, always_loaded=["b"], force=True)
    assert request == {"tools": [client_search_tool(), B]}


def test_an_unknown_model_passes_only_by_force() -> None:
    with pytest.raises(Unsupported, match=r"not known from its name.*or pass `force=True`"):
        to_anthropic_search(large(12), model="claude-test")
    assert len(deferred(to_anthropic_search(large(12), model="claude-test", force=True))) == 12


@pytest.mark.parametrize(
    ("tools", "reason"),
    [
        (large(9), "There are 9 tools, fewer than 10: the model chooses well among all of them."),
        ([definition(f"t{number}") for number in range(12)], "12 tools cost about "),
    ],
)
def test_few_or_small_tools_come_plain_and_the_reason_is_told(
    tools: list[dict[str, Any]], reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    verdict = worth_it(tools)
    assert (bool(verdict), verdict.tools) == (False, len(tools))
    assert verdict.reason.startswith(reason)
    with caplog.at_level(logging.INFO, "hikidashi"):
        request = to_anthropic_search([{**tool, "defer_loading": True} for tool in tools], model="claude-test")
    assert request == {"tools": tools}
    assert verdict.reason in caplog.text


def test_ten_large_tools_are_worth_a_search() -> None:
    verdict = worth_it(large(10))
    assert verdict.worth_it
    assert verdict.tokens >= 10_000
    assert len(deferred(to_anthropic_search(large(10), model=MODEL))) == 10


def test_ten_thousand_tools_are_taken_and_one_more_is_refused() -> None:
    tools = [definition(f"t{number}") for number in range(10_001)]
    assert len(deferred(to_anthropic_search(tools[:-1], model=MODEL))) == 10_000
    with pytest.raises(ToolSearchError, match="takes 10,000 tools, and these are 10,001"):
        to_anthropic_search(tools, model=MODEL)


def test_tools_of_every_kind_become_definitions() -> None:
    schema = {"type": "object", "properties": {"q": {"type": "string"}}}
    tools: list[Any] = [
        Tool(name="own", description="Own.", input_schema=schema, call=nothing).deferred(),
        {"type": "function", "function": {"name": "openai", "description": "OpenAI.", "parameters": schema}},
        {"name": "mcp", "description": "MCP.", "inputSchema": schema},
        {"name": "silent", "parameters": {"properties": {}}},
        {"type": "web_search_20250305", "name": "web_search"},
        REGEX,
    ]
    expected: list[dict[str, Any]] = [
        {"name": "own", "input_schema": schema, "description": "Own."},
        {"name": "openai", "description": "OpenAI.", "input_schema": schema},
        {"name": "mcp", "description": "MCP.", "input_schema": schema},
        {"name": "silent", "input_schema": {"type": "object", "properties": {}}},
        {"type": "web_search_20250305", "name": "web_search"},
    ]
    assert to_anthropic_search(tools) == {"tools": expected}
    assert loaded(to_anthropic_search(tools, force=True)) == ["tool_search_tool_regex", "web_search"]


def test_a_catalogue_is_taken_as_it_is() -> None:
    assert deferred(to_anthropic_search(ToolCatalog([B, A]), force=True)) == ["b", "a"]


@pytest.mark.parametrize(
    ("tools", "said"),
    [
        ([A, A], "Two tools are called 'a': a dict and a dict at position 1"),
        ([A, Tool(name="a", description="", input_schema={"type": "object"}, call=nothing)], "and a hikidashi Tool"),
        ([{"name": "fs.read", "inputSchema": {"type": "object"}}], "refuses the tool name 'fs.read'"),
        ([definition("fs.read")], "refuses the tool name 'fs.read'"),
        ([definition("天気")], "refuses the tool name '天気'"),
        ([definition("x" * 129)], "it takes 1 to 128 ASCII letters"),
        ([definition("")], "The tool at position 0 .* has no name"),
        ([{**A, "name": None}], "has no name"),
        ([{"description": "Nameless."}], "has no name"),
        ([{"type": "web_search_20250305"}], "has no name"),
        ([{"type": "object", "required": ["city"]}], "has no name"),
        ([{**A, "input_schema": {"type": "string"}}], "of tool 'a' at position 0 has type 'string', not 'object'"),
        ([{**A, "input_schema": ["city"]}], "of tool 'a' at position 0 is list, not an object"),
        ([definition("tool_search_tool_regex")], "as the search tool is"),
    ],
)
def test_tools_that_the_api_would_refuse_are_refused_here(tools: list[Any], said: str) -> None:
    with pytest.raises(ToolValidationError, match=said):
        to_anthropic_search(tools, force=True)


def test_schemas_are_sent_with_one_object_at_the_root_or_refused() -> None:
    node = {"type": "object", "properties": {"next": {"$ref": "#/$defs/N"}}}
    rooted = {**A, "input_schema": {"$ref": "#/$defs/N", "$defs": {"N": node}}}
    assert to_anthropic_search([rooted])["tools"] == [{**A, "input_schema": {**node, "$defs": {"N": node}}}]
    refused: list[dict[str, Any]] = [{**node, "oneOf": [node, node]}, {**node, "properties": {"$top": {}}}]
    for schema in refused:
        with pytest.raises(Unsupported, match="The Anthropic API cannot express the input schema of tool 'a'"):
            to_anthropic_search([{**A, "input_schema": schema}])


def test_a_definition_that_is_no_json_is_refused_by_name() -> None:
    tools = [{**A, "cache_control": {1, 2}}]
    with pytest.raises(ToolValidationError, match="The definition of tool 'a' is not JSON"):
        worth_it(tools)


def test_what_only_the_catalogue_searches_is_not_sent(tmp_path: Path) -> None:
    told = {**A, "aliases": ["alpha"], "tags": ["letters"], "title": "A", "_meta": {"tags": ["x"]}, "type": None}
    assert to_anthropic_search([told]) == {"tools": [A]}
    ToolCatalog([told]).save(tmp_path / "tools")
    assert to_anthropic_search(ToolCatalog.load(tmp_path / "tools"), force=True)["tools"][1:] == [
        {**A, "defer_loading": True}
    ]


def test_what_only_the_api_knows_is_sent_untouched() -> None:
    told = {**A, "strict": True, "input_examples": [{"q": "x"}], "allowed_callers": ["direct"]}
    assert json.dumps(to_anthropic_search([told])["tools"]) == json.dumps([told])


def test_tool_objects_of_each_framework_become_definitions() -> None:
    def weather(city: str) -> str:
        """Current weather."""
        return city

    schema = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
    strands_tool = cast("Any", strands).tool
    made: list[Any] = [
        pydantic_ai.Tool(weather, name="from_pydantic_ai"),
        strands_tool(name="from_strands")(weather),
        mcp.types.Tool(name="from_mcp", title="Weather", description="Current weather.", input_schema=schema),
    ]
    search, *sent = to_anthropic_search(made, force=True)["tools"]
    assert search == REGEX
    assert [tool["name"] for tool in sent] == ["from_pydantic_ai", "from_strands", "from_mcp"]
    for tool in sent:
        assert set(tool) == {"name", "description", "input_schema", "defer_loading"}
        assert tool["input_schema"]["type"] == "object"
        assert list(tool["input_schema"]["properties"]) == ["city"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"variant": "bm52"}, "`variant` is 'bm52': use one of 'regex', 'bm25', 'client'."),
        ({"provider": "azure"}, "`provider` is 'azure': use one of 'anthropic', 'foundry', 'vertex', 'bedrock'."),
        ({"betas": "my-beta"}, "`betas` is 'my-beta': use one of 'auto', 'off' or a list of headers."),
    ],
)
def test_a_word_that_no_option_knows_is_refused(options: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=re.escape(said)):
        to_anthropic_search([A], **options)


def client_of(provider: Provider, seen: list[httpx2.Request]) -> Any:
    """A real client of `provider`, whose requests arrive in `seen`."""

    def answer(request: httpx2.Request) -> httpx2.Response:
        seen.append(request)
        said: dict[str, Any] = {
            "content": [],
            "stop_reason": "end_turn",
            "stop_sequence": None,
            "usage": {"input_tokens": 1},
        }
        return httpx2.Response(200, json={"id": "msg_1", "type": "message", "role": "assistant", "model": "m", **said})

    http = httpx2.Client(transport=httpx2.MockTransport(answer))
    match provider:
        case "anthropic":
            return Anthropic(api_key="sk-test", http_client=http)
        case "foundry":
            return AnthropicFoundry(api_key="sk-test", resource="mine", http_client=http)
        case "vertex":
            return AnthropicVertex(region="us-east5", project_id="p", access_token="t", http_client=http)
        case "bedrock":
            return AnthropicBedrock(aws_region="us-east-1", api_key="sk-test", http_client=http)


@pytest.mark.parametrize(
    ("provider", "model", "header"),
    [
        ("anthropic", "claude-opus-5-5", "advanced-tool-use-2025-11-20"),
        ("foundry", "claude-sonnet-5", "advanced-tool-use-2025-11-20"),
        ("vertex", "claude-sonnet-5@20260901", "tool-search-tool-2025-10-19"),
        ("bedrock", "anthropic.claude-opus-5-5-v1:0", "tool-search-tool-2025-10-19"),
    ],
)
def test_the_client_of_each_provider_takes_the_request(provider: Provider, model: str, header: str) -> None:
    seen: list[httpx2.Request] = []
    request = to_anthropic_search([A], provider=provider, model=model, force=True)
    with client_of(provider, seen) as client:
        client.beta.messages.create(
            model=model, max_tokens=9, messages=[{"role": "user", "content": "Hello?"}], **request
        )
    [sent] = seen
    assert sent.headers["anthropic-beta"] == header
    assert json.loads(sent.content)["tools"] == request["tools"]


@given(
    st.lists(
        st.fixed_dictionaries(
            {
                "name": st.from_regex(r"[a-zA-Z0-9_-]{1,64}", fullmatch=True),
                "input_schema": st.just({"type": "object"}),
            },
            optional={
                "description": st.text(),
                "cache_control": st.just(CACHE),
                "defer_loading": st.booleans(),
                "aliases": st.lists(st.text()),
            },
        ),
        unique_by=lambda tool: tool["name"],
        max_size=12,
    ),
    st.sampled_from(["regex", "bm25", "client"]),
    st.data(),
)
def test_no_request_is_one_that_the_api_refuses(
    tools: list[dict[str, Any]], variant: Variant, data: st.DataObject
) -> None:
    names = [tool["name"] for tool in tools]
    kept = data.draw(st.lists(st.sampled_from(names), unique=True)) if names else []
    before = deepcopy(tools)
    request = to_anthropic_search(tools, variant=variant, always_loaded=kept, force=True)
    body = {"model": MODEL, "max_tokens": 9, "messages": [{"role": "user", "content": "Hello?"}], **request}
    assert refusal({"x-api-key": "sk-test"}, body) is None
    assert loaded(request)[0] == request["tools"][0]["name"]
    assert set(kept) <= set(loaded(request))
    assert [tool["name"] for tool in request["tools"][1:]] == names
    assert json.dumps(to_anthropic_search(tools, variant=variant, always_loaded=kept, force=True)) == json.dumps(
        request
    )
    assert tools == before
