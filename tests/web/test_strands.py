"""The web tools of strands: a real Agent, a real tavily-python, and Tavily's API on loopback."""

from __future__ import annotations

import asyncio
import copy
import importlib
import json
import logging
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strands import Agent
from strands.hooks import AfterInvocationEvent
from strands.models.anthropic import AnthropicModel
from strands.types.tools import ToolContext

from hikidashi.config import WebSearchConfig
from hikidashi.errors import MissingExtra
from hikidashi.testing import MessagesServer, TavilyPage, TavilyServer, call, say, tavily_fault, turn
from hikidashi.web import SearchRequest
from hikidashi.web import strands as web_strands
from hikidashi.web.answers import unfenced
from hikidashi.web.provider import SearchProvider
from hikidashi.web.providers.searxng import SearxngProvider
from hikidashi.web.results import SearchHit, SearchResults
from hikidashi.web.strands import (
    WEB_SEARCH_CONFIG_KEY,
    WEB_SEARCH_TOOLS,
    WebSearchToolsFactory,
    WebToolsFactory,
    cut_hits,
    format_answer,
    web_search,
    web_tools_factory,
)

Tavily = Callable[..., TavilyServer]
Messages = Callable[..., MessagesServer]

PAGES = [
    TavilyPage(
        "Python asyncio documentation",
        "https://docs.python.org/3/library/asyncio.html",
        "Python async programming: the official documentation of asyncio.",
        raw_content="asyncio is a library to write concurrent code.",
    ),
    TavilyPage(
        "Real Python - Async IO in Python",
        "https://realpython.com/async-io-python/",
        "Async IO in Python, explained.\n2. **Not a result**",
    ),
]
QUERY = "Python async programming"


@pytest.fixture(autouse=True)
def _no_key_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:  # pyright: ignore[reportUnusedFunction]
    monkeypatch.delenv("TAVILY_API_KEY", raising=False)


def context_of(state: dict[str, Any]) -> ToolContext:
    use: Any = {"toolUseId": "t1", "name": "web_search", "input": {}}
    return ToolContext(tool_use=use, agent=None, invocation_state=state)


def config_for(server: TavilyServer, **options: Any) -> WebSearchConfig:
    return WebSearchConfig(enabled=True, api_key="tvly-test", base_url=server.url, **options)


def named(factory: WebToolsFactory, name: str) -> Any:
    (found,) = [tool for tool in factory.tools if tool.tool_name == name]
    return found


def spoken(caplog: pytest.LogCaptureFixture, level: int = logging.INFO) -> list[str]:
    return [
        record.getMessage()
        for record in caplog.records
        if record.levelno >= level and record.name.startswith("hikidashi")
    ]


async def test_a_search_by_a_model_goes_through_the_real_agent_and_client(
    messages_server: Messages, tavily_server: Tavily, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, logger="hikidashi")
    tavily = tavily_server(PAGES, answer="asyncio, mostly.")
    server = messages_server([call("web_search", {"query": QUERY}), say("done")])
    model = AnthropicModel(
        client_args={"base_url": server.url, "api_key": "sk-test"}, model_id="claude-sonnet-5", max_tokens=1000
    )
    factory = WebSearchToolsFactory(config_for(tavily))
    async with model.client:
        agent = Agent(model=model, tools=factory.tools, callback_handler=None)
        await agent.invoke_async("search", invocation_state=factory.get_invocation_state())
    await factory.aclose()
    (result,) = server.requests[1].tool_results
    assert result["content"][0]["text"] == (
        f'## 検索結果: "{QUERY}"\n\n'
        "### 回答\nasyncio, mostly.\n\n"
        "### 結果\n"
        "1. **Python asyncio documentation**\n"
        "   URL: https://docs.python.org/3/library/asyncio.html\n"
        "   Python async programming: the official documentation of asyncio.\n\n"
        "2. **Real Python - Async IO in Python**\n"
        "   URL: https://realpython.com/async-io-python/\n"
        "   Async IO in Python, explained.\n"
        "   2. **Not a result**"
    )
    (request,) = tavily.requests
    assert request.api_key == "tvly-test"
    sent = {key: request.body[key] for key in ("query", "search_depth", "max_results", "include_answer")}
    assert sent == {"query": QUERY, "search_depth": "basic", "max_results": 5, "include_answer": True}
    assert f"web_search {QUERY!r}: success: 2 results" in spoken(caplog)


async def test_depth_and_number_of_results_are_the_configs(tavily_server: Tavily) -> None:
    tavily = tavily_server(PAGES)
    factory = WebSearchToolsFactory(config_for(tavily, search_depth="advanced", max_results=1))
    said = await web_search(QUERY, context_of(factory.get_invocation_state()))
    await factory.aclose()
    assert "\n2. **" not in said
    assert tavily.requests[0].body["search_depth"] == "advanced"


@pytest.mark.parametrize("query", ["", "  ", "\n\t"])
async def test_an_empty_query_is_not_sent(tavily_server: Tavily, query: str) -> None:
    tavily = tavily_server(PAGES)
    factory = WebToolsFactory(config_for(tavily))
    state = factory.get_invocation_state()
    assert await web_search(query, context_of(state)) == "検索クエリを入力してください"
    assert await named(factory, "web_context")(query, context_of(state)) == "検索クエリを入力してください"
    assert await named(factory, "web_extract")([query], context_of(state)) == "URLを入力してください"
    assert await named(factory, "web_extract")([], context_of(state)) == "URLを入力してください"
    assert tavily.requests == []


@pytest.mark.parametrize("nothing", [None, [], [None, " "], " "])
async def test_a_caller_that_passes_nothing_is_told_what_is_missing(tavily_server: Tavily, nothing: Any) -> None:
    tavily = tavily_server([])
    factory = WebToolsFactory(config_for(tavily))
    state = factory.get_invocation_state()
    no_query: Any = None
    a_number: Any = 3
    assert await named(factory, "web_extract")(nothing, context_of(state)) == "URLを入力してください"
    assert await web_search(no_query, context_of(state)) == "検索クエリを入力してください"
    assert await web_search(a_number, context_of(state)) == (
        "検索クエリは文字列で指定してください（受け取った値: 3）。"
    )
    assert tavily.requests == []


async def test_nothing_found_is_a_sentence(tavily_server: Tavily) -> None:
    factory = WebToolsFactory(config_for(tavily_server([])))
    context = context_of(factory.get_invocation_state())
    assert await web_search(QUERY, context) == "検索結果が見つかりませんでした"
    assert await named(factory, "web_context")(QUERY, context) == "検索結果が見つかりませんでした"
    await factory.aclose()


async def test_an_answer_without_results_is_still_shown(tavily_server: Tavily) -> None:
    factory = WebSearchToolsFactory(config_for(tavily_server([], answer="42.")))
    said = await web_search("meaning", context_of(factory.get_invocation_state()))
    await factory.aclose()
    assert said == '## 検索結果: "meaning"\n\n### 回答\n42.'


@pytest.mark.parametrize("options", [{"api_keys": {"another"}}, {"faults": [tavily_fault.out_of_credits()]}])
async def test_an_error_of_the_api_is_the_specs_sentence_and_the_log_has_the_cause(
    tavily_server: Tavily, caplog: pytest.LogCaptureFixture, options: dict[str, Any]
) -> None:
    caplog.set_level(logging.INFO, logger="hikidashi")
    factory = WebSearchToolsFactory(config_for(tavily_server(PAGES, **options)))
    said = await web_search(QUERY, context_of(factory.get_invocation_state()))
    await factory.aclose()
    assert said == "検索できませんでした"
    (line,) = [line for line in spoken(caplog) if line.startswith("web_search")]
    assert line.startswith(f"web_search {QUERY!r}: failed: ")
    assert len(line) > len(f"web_search {QUERY!r}: failed: ")
    assert "tvly-test" not in caplog.text


async def test_every_tool_has_a_sentence_for_a_failure(tavily_server: Tavily) -> None:
    factory = WebToolsFactory(config_for(tavily_server(PAGES, api_keys={"another"})))
    context = context_of(factory.get_invocation_state())
    assert await web_search(QUERY, context) == "検索できませんでした"
    assert await named(factory, "web_context")(QUERY, context) == "検索できませんでした"
    assert await named(factory, "web_extract")(["https://example.com/"], context) == "抽出できませんでした"
    await factory.aclose()


async def test_what_nobody_foresaw_is_the_same_sentence_and_the_log_says_where(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, logger="hikidashi")

    class Broken(SearchProvider):
        name = "broken"

        async def _search(self, request: SearchRequest) -> SearchResults:
            raise ZeroDivisionError("tvly-test divided by zero")

    monkeypatch.setattr(web_strands, "configured_provider", lambda *_, **__: Broken())  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType]
    factory = WebSearchToolsFactory(WebSearchConfig(enabled=True, api_key="tvly-test"))
    assert await web_search(QUERY, context_of(factory.get_invocation_state())) == "検索できませんでした"
    unforeseen, outcome = spoken(caplog)
    assert "unexpected ZeroDivisionError" in unforeseen
    assert outcome == f"web_search {QUERY!r}: failed: ZeroDivisionError"
    assert "tvly-test" not in caplog.text


@pytest.mark.parametrize("module", ["web.strands", "apps.strands"])
def test_without_strands_the_extra_is_named(monkeypatch: pytest.MonkeyPatch, module: str) -> None:
    for missing in ("strands", "strands.models", "strands.hooks"):
        monkeypatch.setitem(sys.modules, missing, None)
    for loaded in [name for name in sys.modules if name.startswith(f"hikidashi.{module}")]:
        monkeypatch.delitem(sys.modules, loaded)
    with pytest.raises(MissingExtra, match=r"pip install 'hikidashi\[strands\]'"):
        importlib.import_module(f"hikidashi.{module}")


async def test_a_long_query_is_shortened_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, logger="hikidashi")
    factory = WebSearchToolsFactory(WebSearchConfig(enabled=True))
    await web_search("long " * 500, context_of(factory.get_invocation_state()))
    assert spoken(caplog)[0].startswith("web_search 'long long ")
    assert "…: failed: " in spoken(caplog)[0]
    assert len(spoken(caplog)[0]) < 500


async def test_a_search_that_is_cancelled_is_in_the_log_too(
    tavily_server: Tavily, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, logger="hikidashi")
    server = tavily_server(PAGES, faults=[tavily_fault.hang()])
    factory = WebSearchToolsFactory(config_for(server))
    search = asyncio.create_task(web_search(QUERY, context_of(factory.get_invocation_state())))
    while not server.requests:
        await asyncio.sleep(0.01)
    search.cancel()
    with pytest.raises(asyncio.CancelledError):
        await search
    await factory.aclose()
    assert spoken(caplog) == [f"web_search {QUERY!r}: cancelled"]


async def test_without_a_key_nothing_is_sent(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, logger="hikidashi")
    factory = WebSearchToolsFactory(WebSearchConfig(enabled=True))
    assert await web_search(QUERY, context_of(factory.get_invocation_state())) == "検索できませんでした"
    assert "TAVILY_API_KEY" in spoken(caplog)[0]


async def test_without_a_config_the_agent_was_called_wrongly() -> None:
    with pytest.raises(RuntimeError, match=r"^WebSearchConfig not found in invocation_state$"):
        await web_search(QUERY, context_of({}))


async def test_pages_and_contexts_come_in_the_same_manner(
    tavily_server: Tavily, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, logger="hikidashi")
    factory = WebToolsFactory(config_for(tavily_server(PAGES)), untrusted=None)
    context = context_of(factory.get_invocation_state())
    page = await named(factory, "web_extract")([PAGES[0].url, "https://example.com/none?key=1"], context)
    passages = await named(factory, "web_context")(QUERY, context)
    await factory.aclose()
    assert page.startswith(f"## コンテンツ抽出結果\n\n### URL: {PAGES[0].url}\nasyncio is a library")
    assert "## 失敗したURL\n- https://example.com/none?key=1: " in page
    assert passages.startswith(f"## RAG用検索コンテキスト: {QUERY}\n\n")
    assert PAGES[1].url in passages
    log = [line for line in spoken(caplog) if line.startswith("web_")]
    assert log[0] == f"web_extract ['{PAGES[0].url}', 'https://example.com/none']: success: 1 pages, 1 failed"
    assert log[1].startswith(f"web_context {QUERY!r}: success: 2 sources, about ")


async def test_filters_of_a_model_reach_the_api_and_wrong_ones_are_explained_to_it(
    messages_server: Messages, tavily_server: Tavily
) -> None:
    api = tavily_server(PAGES)
    wanted = {"topic": "news", "time_range": "week", "include_domains": ["python.org"], "country": "japan"}
    server = messages_server(
        [
            call("web_search", {"query": QUERY, **wanted}),
            call("web_search", {"query": QUERY, "start_date": "yesterday"}),
            call("web_extract", {"urls": [PAGES[0].url], "query": "concurrent"}),
            say("done"),
        ]
    )
    factory = WebToolsFactory(config_for(api), language="en", untrusted=None)
    model = AnthropicModel(
        client_args={"base_url": server.url, "api_key": "sk-test"}, model_id="claude-test", max_tokens=100
    )
    agent = Agent(model=model, tools=factory.tools, callback_handler=None)
    await agent.invoke_async("?", invocation_state=factory.get_invocation_state())
    await model.client.close()
    await factory.aclose()
    searched, extracted = api.requests
    assert {name: searched.body[name] for name in wanted} == wanted
    assert extracted.body["query"] == "concurrent"
    assert "It must be a date such as 2026-11-16" in json.dumps(server.requests[2].body["messages"][-1])


async def test_a_filter_that_the_provider_lacks_is_named() -> None:
    assert "country" not in SearxngProvider.supported_filters
    config = WebSearchConfig(enabled=True, provider="searxng", base_url="http://127.0.0.1:9")
    factory = WebToolsFactory(config, language="en")
    [search, *_] = factory.tools
    assert "country" not in search.tool_spec["inputSchema"]["json"]["properties"]
    filtered: Any = search
    said = await filtered(QUERY, context_of(factory.get_invocation_state()), country="japan")
    assert said.startswith("SearXNG cannot do `country` ('japan').")
    await factory.aclose()


async def test_english_tools_speak_english_and_mark_the_web_as_data(tavily_server: Tavily) -> None:
    factory = WebToolsFactory(config_for(tavily_server(PAGES)), language="en")
    context = context_of(factory.get_invocation_state())
    said = await web_search(QUERY, context)
    nothing = await web_search(" ", context)
    await factory.aclose()
    assert said.startswith("Everything between <web-data-")
    assert f'\n## Search results: "{QUERY}"\n\n### Answer\n' in said
    assert nothing == "Please enter a search query"
    assert [tool.tool_spec["description"] for tool in factory.tools] == [
        "Search the web.",
        "Read the text of web pages.",
        "Collect passages about a question from the web.",
    ]
    assert [tool.tool_name for tool in factory.tools] == ["web_search", "web_extract", "web_context"]
    schemas: list[Any] = [tool.tool_spec["inputSchema"]["json"] for tool in factory.tools]
    assert [list(schema["properties"])[:3] for schema in schemas] == [
        ["query", "topic", "time_range"],
        ["urls", "query", "offset"],
        ["query", "topic", "time_range"],
    ]


def test_the_japanese_tools_describe_themselves_as_the_spec_does() -> None:
    assert web_search.tool_spec == {
        "name": "web_search",
        "description": (
            "ウェブ検索を実行する。\n\nReturns:\n    検索結果（タイトル、URL、要約を含む）またはエラーメッセージ"
        ),
        "inputSchema": {
            "json": {
                "type": "object",
                "properties": {"query": {"type": "string", "description": "検索クエリ"}},
                "required": ["query"],
            }
        },
    }


def test_the_factory_is_the_specs() -> None:
    config = WebSearchConfig(enabled=True, api_key="tvly-test")
    factory = WebSearchToolsFactory(config)
    assert factory.get_invocation_state() == {WEB_SEARCH_CONFIG_KEY: config}
    assert factory.get_invocation_state() is not factory.get_invocation_state()
    assert factory.tools == WEB_SEARCH_TOOLS == [web_search]
    assert WEB_SEARCH_CONFIG_KEY == "web_search_config"


def test_tools_that_are_on_but_lack_their_key_are_not_offered_and_the_log_warns(
    caplog: pytest.LogCaptureFixture,
) -> None:
    assert web_tools_factory(None) is None
    assert web_tools_factory(WebSearchConfig(api_key="tvly-test")) is None
    assert spoken(caplog) == []
    assert web_tools_factory(WebSearchConfig(enabled=True)) is None
    assert spoken(caplog, logging.WARNING) == [
        "tools.web_search is enabled but has no api_key: the web tools are not offered. "
        "Set the key (api_key: ${TAVILY_API_KEY}), or choose provider: local."
    ]
    assert web_tools_factory(WebSearchConfig(enabled=True, api_key="tvly-test")) is not None


def test_the_clients_of_one_config_are_one_from_any_thread_and_loop(tavily_server: Tavily) -> None:
    tavily = tavily_server(PAGES)
    factory = WebSearchToolsFactory(config_for(tavily))
    state = factory.get_invocation_state()

    def search(number: int) -> str:
        return asyncio.run(web_search(f"{QUERY} {number}", context_of(state)))  # pyright: ignore[reportArgumentType]

    with ThreadPoolExecutor(8) as threads:
        said = list(threads.map(search, range(16)))
    assert all(text.startswith("## 検索結果") for text in said)
    assert len(tavily.requests) == 16


async def _close_client(event: Any) -> None:
    await event.agent.model.client.close()


def test_the_sync_agent_may_search_again_and_again(messages_server: Messages, tavily_server: Tavily) -> None:
    tavily = tavily_server(PAGES)
    factory = WebSearchToolsFactory(config_for(tavily))
    both = turn(call("web_search", {"query": "Python"}), call("web_search", {"query": "async"}))
    for _ in range(2):  # strands runs each call of an agent in an event loop and a thread of its own
        server = messages_server([both, say("done")])
        args = {"base_url": server.url, "api_key": "sk-test"}
        model = AnthropicModel(client_args=args, model_id="claude-sonnet-5", max_tokens=1000)
        agent = Agent(model=model, tools=factory.tools, callback_handler=None)
        agent.add_hook(_close_client, AfterInvocationEvent)
        agent("search", invocation_state=factory.get_invocation_state())
        assert all("## 検索結果" in result["content"][0]["text"] for result in server.requests[1].tool_results)
    assert sorted(tavily.searches) == ["Python", "Python", "async", "async"]


class Watched:
    """Makes the providers, and remembers which ones there are and which were closed."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.made: list[SearchProvider] = []
        self.closed: list[SearchProvider] = []
        make = web_strands.configured_provider

        def configured_provider(config: WebSearchConfig, **options: Any) -> SearchProvider:
            provider: Any = make(config, **options)
            close = provider.aclose

            async def aclose() -> None:
                self.closed.append(provider)
                await close()

            provider.aclose = aclose
            self.made.append(provider)
            return provider

        monkeypatch.setattr(web_strands, "configured_provider", configured_provider)


async def test_with_the_config_alone_each_call_has_a_client_and_closes_it(
    tavily_server: Tavily, monkeypatch: pytest.MonkeyPatch
) -> None:
    watched = Watched(monkeypatch)
    factory = WebSearchToolsFactory(config_for(tavily_server(PAGES)))
    for _ in range(2):
        assert "## 検索結果" in await web_search(QUERY, context_of(factory.get_invocation_state()))
    assert len(watched.made) == 2
    assert watched.closed == watched.made
    await factory.aclose()


async def test_the_calls_of_a_factory_share_its_provider_which_comes_back_after_closing(
    tavily_server: Tavily, monkeypatch: pytest.MonkeyPatch
) -> None:
    watched = Watched(monkeypatch)
    factory = WebToolsFactory(config_for(tavily_server(PAGES)))
    other = WebToolsFactory(config_for(tavily_server(PAGES)))
    await other.aclose()
    assert watched.made == []
    for _ in range(2):
        for _ in range(2):
            assert "## 検索結果" in await web_search(QUERY, context_of(factory.get_invocation_state()))
        await factory.aclose()
        await factory.aclose()
    assert watched.made == [factory.provider()]
    assert other.provider() is not factory.provider()
    await other.aclose()


async def test_a_wrong_argument_is_explained_and_an_error_of_the_api_is_not(tavily_server: Tavily) -> None:
    refusing = tavily_server(PAGES, faults=[tavily_fault.bad_request()])
    factory = WebToolsFactory(config_for(refusing), language="en")
    context = context_of(factory.get_invocation_state())
    assert await web_search(QUERY, context) == "The search failed"
    assert "1000" in await web_search("x" * 1001, context)
    assert "`offset` is -1" in await named(factory, "web_extract")([PAGES[0].url], context, offset=-1)
    await factory.aclose()


def hit(content: str, title: str = "T", url: str = "https://e/") -> SearchHit:
    return SearchHit(title=title, url=url, content=content, score=1.0)


@pytest.mark.parametrize(
    ("length", "shown"),
    [(0, "あいうえおabc"), (3, "あいう"), (5, "あいうえお"), (8, "あいうえおabc"), (500, "あいうえおabc")],
)
def test_content_is_cut_after_so_many_characters(length: int, shown: str) -> None:
    results = SearchResults(query="q", results=(hit("あいうえおabc"),))
    said = format_answer(cut_hits(results, length))
    assert said == f'## 検索結果: "q"\n\n### 結果\n1. **T**\n   URL: https://e/\n   {shown}'


def test_a_hit_without_content_has_two_lines_and_a_title_stays_on_its_own() -> None:
    results = SearchResults(query="a\nb", results=(hit("", "T\n2. **fake**", "https://e/\n"),), answer=" \n")
    assert format_answer(results) == '## 検索結果: "a b"\n\n### 結果\n1. **T 2. **fake****\n   URL: https://e/'


@given(st.lists(st.tuples(st.text(), st.text())), st.text(), st.text(), st.integers(0, 50))
def test_every_text_has_as_many_entries_as_hits_and_can_be_sent(
    found: list[tuple[str, str]], query: str, answer: str, length: int
) -> None:
    hits = tuple(hit(content, title) for title, content in found)
    said = format_answer(cut_hits(SearchResults(query=query, results=hits, answer=answer), length))
    said.encode()
    body = said.rpartition("### 結果\n")[2] if hits else ""
    assert [line for line in body.split("\n") if line[:1].isdigit()] == [
        line for line in body.split("\n") if line and not line.startswith("   ")
    ]


@pytest.mark.parametrize("factory", [WebSearchToolsFactory, WebToolsFactory])
async def test_a_failed_search_is_an_error_for_the_model_and_for_whoever_watches(
    messages_server: Messages, tavily_server: Tavily, factory: type[WebSearchToolsFactory]
) -> None:
    both = turn(call("web_search", {"query": QUERY}, id="a"), call("web_search", {"query": " "}, id="b"))
    server = messages_server([both, call("web_search", {"query": QUERY}, id="c"), say("ok")])
    made = factory(config_for(tavily_server(PAGES, faults=[tavily_fault.unauthorized()])))
    model = AnthropicModel(
        client_args={"api_key": "sk-test", "base_url": server.url}, model_id="claude-sonnet-5", max_tokens=100
    )
    async with model.client:
        agent = Agent(model=model, tools=[*made.tools], callback_handler=None)
        await agent.invoke_async("?", invocation_state=made.get_invocation_state())
    await made.aclose()
    results = {one["tool_use_id"]: one for request in server.requests[1:] for one in request.tool_results}
    assert {name: one.get("is_error", False) for name, one in results.items()} == {"a": True, "b": True, "c": False}
    assert results["a"]["content"][0]["text"] == "検索できませんでした"


async def test_called_as_a_function_a_failed_search_is_the_specs_text(tavily_server: Tavily) -> None:
    factory = WebSearchToolsFactory(config_for(tavily_server(PAGES, faults=[tavily_fault.unauthorized()])))
    said = await web_search(QUERY, context_of(factory.get_invocation_state()))
    await factory.aclose()
    assert (said, copy.deepcopy(said)) == ("検索できませんでした", "検索できませんでした")


async def test_an_extraction_that_read_no_page_is_an_error_with_the_reasons(tavily_server: Tavily) -> None:
    factory = WebToolsFactory(config_for(tavily_server(PAGES)), language="en")
    use: Any = {"toolUseId": "t1", "name": "web_extract", "input": {"urls": ["https://nowhere.example/x"]}}
    events = [event async for event in factory.tools[1].stream(use, {"agent": None, **factory.get_invocation_state()})]
    await factory.aclose()
    (result,) = [event.tool_result for event in events]
    assert result["status"] == "error"
    assert "https://nowhere.example/x" in result["content"][0]["text"]


async def test_every_tool_that_searches_takes_the_filters_of_the_provider(
    messages_server: Messages, tavily_server: Tavily
) -> None:
    tavily = tavily_server(PAGES)
    wanted = {"topic": "news", "include_domains": ["docs.python.org"], "start_date": "2026-01-01"}
    server = messages_server(
        [turn(*(call(name, {"query": QUERY, **wanted}) for name in ("web_search", "web_context"))), say("done")]
    )
    model = AnthropicModel(
        client_args={"base_url": server.url, "api_key": "sk-test"}, model_id="claude-sonnet-5", max_tokens=1000
    )
    factory = WebToolsFactory(config_for(tavily), language="en")
    async with model.client:
        agent = Agent(model=model, tools=factory.tools, callback_handler=None)
        await agent.invoke_async("search", invocation_state=factory.get_invocation_state())
    await factory.aclose()
    assert [{name: request.body[name] for name in wanted} for request in tavily.requests] == [wanted, wanted]


async def test_a_filter_that_the_provider_cannot_do_is_refused_by_name_in_a_context_too(tmp_path: Path) -> None:
    config = WebSearchConfig(enabled=True, provider="local", index=str(tmp_path / "web.db"))
    factory = WebToolsFactory(config, language="en")
    context: Any = factory.tools[2]
    assert "country" not in context.tool_spec["inputSchema"]["json"]["properties"]
    said = await context(query="x", country="japan", tool_context=context_of(factory.get_invocation_state()))
    assert "cannot do `country` ('japan')" in said


async def test_an_offset_below_zero_is_refused(tavily_server: Tavily) -> None:
    tavily = tavily_server(PAGES)
    factory = WebToolsFactory(config_for(tavily), language="en")
    said = await named(factory, "web_extract")([PAGES[0].url], context_of(factory.get_invocation_state()), offset=-3)
    assert said == "`offset` is -3. It must be an integer of 0 or more."
    assert tavily.requests == []


async def test_answers_titles_and_addresses_of_any_length_do_not_reach_a_model(tavily_server: Tavily) -> None:
    endless = "word " * 600_000
    hit = {"title": endless, "url": f"https://example.com/{'x' * 3_000_000}", "content": endless, "score": 0.5}
    answer = tavily_fault.raw(200, json.dumps({"results": [hit], "answer": endless}))
    factory = WebToolsFactory(config_for(tavily_server(faults=[answer] * 2)))
    state = context_of(factory.get_invocation_state())
    search, context = await web_search(QUERY, state), await named(factory, "web_context")(QUERY, state)
    await factory.aclose()
    assert len(search) < 30_000
    assert len(context) < 60_000


@pytest.mark.parametrize("text", ["x" * 60_000, "字" * 60_000, "word " * 12_000], ids=["one word", "kanji", "words"])
@pytest.mark.parametrize(("length", "shown"), [(500, 500), (0, 60_000), (59_999, 59_999)])
async def test_the_limit_of_the_config_is_the_limit_and_0_is_none(
    tavily_server: Tavily, text: str, length: int, shown: int
) -> None:
    hit = {"title": "T", "url": "https://example.com/", "content": text, "score": 0.5}
    answer = tavily_fault.raw(200, json.dumps({"results": [hit]}))
    for factory in (WebSearchToolsFactory, WebToolsFactory):
        offered = factory(config_for(tavily_server(faults=[answer]), max_content_length=length))
        said = unfenced(await web_search(QUERY, context_of(offered.get_invocation_state())))
        await offered.aclose()
        assert said == f'## 検索結果: "{QUERY}"\n\n### 結果\n1. **T**\n   URL: https://example.com/\n   {text[:shown]}'


async def test_what_the_config_asks_for_is_given_whole(tavily_server: Tavily) -> None:
    pages = [TavilyPage(f"{QUERY} {n}", f"https://example.com/{n}", f"{QUERY} " + "字" * 700) for n in range(20)]
    factory = WebToolsFactory(config_for(tavily_server(pages), max_results=20, max_content_length=600))
    said = await web_search(QUERY, context_of(factory.get_invocation_state()))
    await factory.aclose()
    hits = said.partition("### 結果")[2]
    assert hits.count("字") == 20 * (600 - len(QUERY) - 1)
    assert "…" not in hits
