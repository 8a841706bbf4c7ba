"""The web tools in pydantic-ai: what a model is told, what it reads, and what happens when something fails."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest
from pydantic_ai import Agent, ModelMessage, ModelResponse, RunContext, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.models.test import TestModel
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.toolsets import FunctionToolset
from pydantic_ai.usage import RunUsage
from tests.support import SEARCH_SCHEMA

from hikidashi import from_pydantic_ai
from hikidashi.testing.tavily import TavilyPage, TavilyServer
from hikidashi.testing.tavily_fault import unauthorized
from hikidashi.web import (
    ExtractOptions,
    ExtractResults,
    SearchHit,
    SearchProvider,
    SearchRequest,
    SearchResults,
    TavilyAPIClient,
    TavilySearchDeps,
    TavilyToolsRepositoryMixin,
    tavily_context,
    tavily_extract,
    tavily_search,
    web_toolset,
)

NAMES = ["tavily_search", "tavily_extract", "tavily_context"]

PAGES = [
    TavilyPage(title="桜", url="https://example.com/sakura", content="桜は春の花です。", score=0.91),
    TavilyPage(title="梅", url="https://example.com/ume", content="梅は二月に咲く花です。", score=0.5),
]


@pytest.fixture
async def client() -> AsyncIterator[TavilyAPIClient]:
    with TavilyServer(PAGES) as server:
        client = TavilyAPIClient("tvly-test", base_url=server.url)
        yield client
        await client.aclose()


class Broken(SearchProvider):
    """A provider that fails in ways nobody foresaw."""

    name = "broken"

    def __init__(self, failure: BaseException) -> None:
        self.failure = failure

    async def _search(self, request: SearchRequest) -> SearchResults:
        raise self.failure

    async def _extract(self, urls: Sequence[str], options: ExtractOptions) -> ExtractResults:
        raise self.failure


class Cached(Broken):
    """A provider that has everything in its cache already."""

    name = "cached"

    async def _search(self, request: SearchRequest) -> SearchResults:
        return SearchResults(
            query=request.query,
            results=(SearchHit(title="t", url="https://example.com", content="c", score=1.0),),
            provider="cached",
            cached=True,
        )


def context_of(client: SearchProvider, **options: Any) -> RunContext[TavilySearchDeps]:
    return RunContext(deps=TavilySearchDeps(client=client, **options), model=TestModel(), usage=RunUsage())


def calling(*calls: ToolCallPart) -> FunctionModel:
    """A model that calls these tools, then stops."""

    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        return ModelResponse(parts=list(calls) if len(messages) == 1 else [TextPart("done")])

    return FunctionModel(answer)


def returns(messages: list[ModelMessage]) -> list[str]:
    return [str(part.content) for message in messages for part in message.parts if isinstance(part, ToolReturnPart)]


async def told(agent: Agent[Any, Any], deps: Any = None) -> dict[str, ToolDefinition]:
    """What a model is told about the tools of `agent`."""
    model = TestModel(call_tools=[])
    await agent.run("Hi", model=model, deps=deps)
    assert model.last_model_request_parameters is not None
    return {tool.name: tool for tool in model.last_model_request_parameters.function_tools}


@pytest.mark.parametrize(
    ("function", "parameters"),
    [
        (tavily_search, {"query": inspect.Parameter.empty, "search_depth": "basic", "max_results": 5}),
        (tavily_extract, {"urls": inspect.Parameter.empty}),
        (tavily_context, {"query": inspect.Parameter.empty, "max_tokens": None}),
    ],
)
def test_the_functions_take_what_the_contract_says(function: Any, parameters: dict[str, Any]) -> None:
    signature = inspect.signature(function)

    ctx, *others = signature.parameters.values()
    assert ctx.name == "ctx"
    assert ctx.annotation == "RunContext[TavilySearchDeps]"
    assert {parameter.name: parameter.default for parameter in others} == parameters
    assert signature.return_annotation == "str"
    assert inspect.iscoroutinefunction(function)


async def test_the_model_is_told_exactly_what_the_contract_shows(client: TavilyAPIClient) -> None:
    class Tools(TavilyToolsRepositoryMixin): ...

    given = Agent(tools=Tools().tavily_tools, deps_type=TavilySearchDeps)
    registered = Agent(deps_type=TavilySearchDeps)
    Tools().register_tavily_tools(registered)
    free = Agent(toolsets=[web_toolset(client)])

    for agent in (given, registered, free):
        tools = await told(agent, TavilySearchDeps(client=client))
        assert list(tools) == NAMES
        assert tools["tavily_search"].description == "Web検索を実行する"
        shown = tools["tavily_search"].parameters_json_schema
        contract = {name: shown["properties"][name] for name in SEARCH_SCHEMA["properties"]}
        assert {**shown, "properties": contract} == SEARCH_SCHEMA
        assert ("country" in shown["properties"]) == (agent is free)
        assert tools["tavily_extract"].parameters_json_schema["properties"]["urls"] == {
            "type": "array",
            "items": {"type": "string"},
            "minItems": 1,
            "maxItems": 20,
            "description": "抽出対象URL群",
        }
        assert tools["tavily_context"].parameters_json_schema["properties"]["max_tokens"] == {
            "anyOf": [{"type": "integer", "minimum": 1}, {"type": "null"}],
            "default": None,
            "description": "最大トークン数",
        }
        assert tools["tavily_context"].parameters_json_schema["required"] == ["query"]


async def test_a_bare_function_carries_the_ranges_and_its_own_docstring(client: TavilyAPIClient) -> None:
    agent = Agent(tools=[tavily_search, tavily_extract, tavily_context], deps_type=TavilySearchDeps)

    tools = await told(agent, TavilySearchDeps(client=client))

    properties = tools["tavily_search"].parameters_json_schema["properties"]
    assert "Web検索を実行する。" in (tools["tavily_search"].description or "")
    assert properties["query"]["description"] == "検索クエリ（必須、空文字禁止、最大1000文字）"
    assert properties["search_depth"]["enum"] == ["basic", "advanced"]
    assert (properties["max_results"]["minimum"], properties["max_results"]["maximum"]) == (1, 20)
    assert properties["max_results"]["default"] == 5


async def test_the_mixin_speaks_the_language_of_its_class() -> None:
    class Tools(TavilyToolsRepositoryMixin):
        tavily_language = "en"

    toolset = FunctionToolset[TavilySearchDeps]()
    Tools().register_tavily_tools(toolset)

    assert [tool.description for tool in toolset.tools.values()] == [
        "Search the web",
        "Extract the content of URLs",
        "Get search context for RAG",
    ]


async def test_a_tool_converted_by_the_bridge_keeps_the_exact_schema(client: TavilyAPIClient) -> None:
    tools = from_pydantic_ai(TavilyToolsRepositoryMixin().tavily_tools, deps=TavilySearchDeps(client=client))

    assert [tool.name for tool in tools] == NAMES
    assert tools[0].input_schema == SEARCH_SCHEMA
    assert tools[0].description == "Web検索を実行する"
    assert (await tools[0].call({"query": "花"})).text.startswith("## 検索結果: 花\n\n### 1. 桜\n")


async def test_an_agent_reads_the_formats_of_the_contract(client: TavilyAPIClient) -> None:
    model = calling(
        ToolCallPart("tavily_search", {"query": "花", "max_results": 1}),
        ToolCallPart("tavily_extract", {"urls": ["https://example.com/ume", "ftp://example.com"]}),
        ToolCallPart("tavily_context", {"query": "花"}),
    )
    agent = Agent(model, deps_type=TavilySearchDeps, tools=TavilyToolsRepositoryMixin().tavily_tools)

    run = await agent.run("花は？", deps=TavilySearchDeps(client=client))

    search, extract, context = returns(run.all_messages())
    assert search == ("## 検索結果: 花\n\n### 1. 桜\nURL: https://example.com/sakura\nスコア: 0.91\n桜は春の花です。")
    assert extract.startswith(
        "## コンテンツ抽出結果\n\n### URL: https://example.com/ume\n梅は二月に咲く花です。\n\n---\n\n## 失敗したURL\n"
        "- ftp://example.com: "
    )
    assert context.startswith("## RAG用検索コンテキスト: 花\n\n")
    assert "桜は春の花です。" in context


async def test_english_is_english_throughout(client: TavilyAPIClient) -> None:
    ctx = context_of(client, language="en")

    assert (await tavily_search(ctx, "花", max_results=1)).startswith("## Search results: 花\n\n### 1. 桜\n")
    assert await tavily_search(ctx, "") == (
        "Tavily API error: The query is empty: ''. Give 1 to 1000 characters.\nError type: VALIDATION_ERROR"
    )


async def test_a_value_out_of_range_is_answered_and_uses_up_no_retry(client: TavilyAPIClient) -> None:
    model = calling(*(ToolCallPart("tavily_search", {"query": "花", "max_results": many}) for many in (0, 21, 50)))
    agent = Agent(model, deps_type=TavilySearchDeps, tools=TavilyToolsRepositoryMixin().tavily_tools, retries=0)

    run = await agent.run("花は？", deps=TavilySearchDeps(client=client))

    assert len(returns(run.all_messages())) == 3
    assert all(text.endswith("エラータイプ: VALIDATION_ERROR") for text in returns(run.all_messages()))


@pytest.mark.parametrize(
    "arguments",
    [
        {"query": ""},
        {"query": " \n"},
        {"query": "x" * 1001},
        {"query": None},
        {"query": "x", "search_depth": "deep"},
        {"query": "x", "max_results": 0},
        {"query": "x", "max_results": 21},
        {"query": "x", "max_results": "many"},
    ],
)
async def test_called_directly_with_bad_values_the_search_returns_a_text(
    client: TavilyAPIClient, arguments: dict[str, Any]
) -> None:
    text = await tavily_search(context_of(client), **arguments)

    assert text.startswith("Tavily API エラー: ")
    assert text.endswith("\nエラータイプ: VALIDATION_ERROR")


async def test_called_directly_with_bad_values_the_others_return_a_text(client: TavilyAPIClient) -> None:
    ctx = context_of(client)
    nothing: Any = None

    for text in (
        await tavily_extract(ctx, []),
        await tavily_extract(ctx, nothing),
        await tavily_context(ctx, ""),
        await tavily_context(ctx, "x", max_tokens=0),
    ):
        assert text.startswith("Tavily API エラー: ")
        assert text.endswith("\nエラータイプ: VALIDATION_ERROR")


async def test_what_nobody_foresaw_is_an_api_error_without_its_text(caplog: pytest.LogCaptureFixture) -> None:
    ctx = context_of(Broken(LookupError("Bearer tvly-test")))

    texts = [
        await tavily_search(ctx, "x"),
        await tavily_extract(ctx, ["https://example.com"]),
        await tavily_context(ctx, "x"),
    ]

    assert set(texts) == {
        "Tavily API エラー: 予期しないエラーが発生しました（LookupError）。発生箇所はログに記録されています。\n"
        "エラータイプ: API_ERROR"
    }
    assert "tvly-test" not in caplog.text
    assert "unexpected LookupError" in caplog.text


async def test_a_cancelled_tool_is_cancelled() -> None:
    ctx = context_of(Broken(asyncio.CancelledError()))

    with pytest.raises(asyncio.CancelledError):
        await tavily_search(ctx, "x")


async def test_fenced_answers_are_between_marks_and_errors_are_not(client: TavilyAPIClient) -> None:
    ctx = context_of(client, untrusted="fence")

    fenced = await tavily_search(ctx, "花", max_results=1)
    bare = await tavily_search(context_of(client), "花", max_results=1)

    notice, opening, *body, closing = fenced.split("\n")
    assert "信頼できないデータ" in notice
    assert "\n".join(body) == bare
    assert closing == f"</{opening[1:]}"
    assert (await tavily_search(ctx, "")).startswith("Tavily API エラー: ")


async def test_a_toolset_of_its_own_client_serves_agents_with_any_deps(client: TavilyAPIClient) -> None:
    model = calling(
        ToolCallPart("tavily_search", {"query": "花"}),
        ToolCallPart("tavily_extract", {"urls": ["https://example.com/ume"]}),
        ToolCallPart("tavily_context", {"query": "花", "max_tokens": 100}),
    )
    agent = Agent(model, deps_type=int, toolsets=[web_toolset(client, language="en", untrusted=None)])

    run = await agent.run("花は？", deps=3)

    search, extract, context = returns(run.all_messages())
    assert search.startswith("## Search results: 花\n\n### 1. 桜\n")
    assert extract.startswith("## Extracted content\n\n### URL: https://example.com/ume\n")
    assert context.startswith("## Search context for RAG: 花\n\n")


async def test_a_toolset_fences_unless_told_otherwise(client: TavilyAPIClient) -> None:
    [search, *_] = from_pydantic_ai(web_toolset(client))

    assert "<web-data-" in (await search.call({"query": "花"})).text


def test_without_a_key_the_deps_find_the_local_index(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TAVILY_API_KEY", raising=False)

    assert TavilySearchDeps().client.name == "local"


def test_with_a_key_the_deps_find_tavily(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TAVILY_API_KEY", "tvly-test")

    assert TavilySearchDeps().client.name == "tavily"
    assert "tvly-test" not in repr(TavilySearchDeps())


async def test_calls_are_logged_without_keys_and_texts(
    client: TavilyAPIClient, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    with TavilyServer(PAGES, faults=lambda _: unauthorized()) as refusing:
        refused = TavilyAPIClient("tvly-test", base_url=refusing.url)
        for ctx in (context_of(client), context_of(refused)):
            await tavily_search(ctx, "花")
            await tavily_extract(ctx, ["https://example.com/ume?token=sk-test"])
            await tavily_context(ctx, "花")
        await refused.aclose()

    ours = [record.getMessage() for record in caplog.records if record.name == "hikidashi.web"]
    starts = [line for line in ours if " start: " in line]
    ends = [line.partition(":")[0] for line in ours if line.endswith(" ms") or " ms provider=" in line]
    assert (
        starts
        == [
            "tavily_search start: {'query': '花'}",
            "tavily_extract start: {'urls': ['https://example.com/ume']}",
            "tavily_context start: {'query': '花'}",
        ]
        * 2
    )
    assert ends == [f"{name} success" for name in NAMES] + [f"{name} failed" for name in NAMES]
    assert "sk-test" not in caplog.text
    assert "tvly-test" not in caplog.text
    assert "桜は春の花です" not in caplog.text


async def test_an_answer_from_the_cache_is_exact_and_said_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)

    text = await tavily_search(context_of(Cached(LookupError())), "花")

    assert text == "## 検索結果: 花\n\n### 1. t\nURL: https://example.com\nスコア: 1.00\nc"
    assert caplog.messages[-1].endswith(" provider=cached cached")


async def test_a_failed_call_of_the_toolset_is_a_failure_with_the_same_text() -> None:
    with TavilyServer(PAGES, faults=[unauthorized()]) as server:
        client = TavilyAPIClient("tvly-test", base_url=server.url)
        model = TestModel(call_tools=["tavily_search"])
        result = await Agent(model, toolsets=[web_toolset(client, language="en")]).run("?")
        await client.aclose()
    (part,) = [part for message in result.all_messages() for part in message.parts if isinstance(part, ToolReturnPart)]
    assert part.outcome == "failed"
    assert part.model_response_str(wrap_if_error=False).endswith("Error type: AUTH_ERROR")
