"""Spec 001, clause by clause; README.md has the table."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from strands.types.tools import AgentTool, ToolContext

from hikidashi.apps.factory import make_responder
from hikidashi.apps.responder import Message, ToolReturned
from hikidashi.apps.strands import StrandsResponder
from hikidashi.config import AgentConfig, Config, ToolsConfig, WebSearchConfig, load_config
from hikidashi.testing import MessagesServer, TavilyPage, TavilyServer, call, say, tavily_fault
from hikidashi.web.strands import (
    WEB_SEARCH_CONFIG_KEY,
    WEB_SEARCH_TOOLS,
    WebSearchToolsFactory,
    get_web_search_config,
    web_search,
)

Search = Callable[..., Coroutine[Any, Any, str]]

QUERY = "Python async programming"
ANSWER = "Pythonの非同期プログラミングは..."
ASYNCIO = TavilyPage(
    "Python asyncio documentation",
    "https://docs.python.org/3/library/asyncio.html",
    "Pythonの公式asyncioドキュメント...",
    raw_content="the whole page",
    score=0.95,
)
REAL_PYTHON = TavilyPage(
    "Real Python - Async IO in Python",
    "https://realpython.com/async-io-python/",
    "非同期プログラミングの詳細な解説...",
    score=0.9,
)
ASKED = [Message(role="user", text="Pythonの非同期プログラミングについて検索して")]

EXAMPLE = """\
# config.yaml
tools:
  web_search:
    enabled: true
    api_key: ${TAVILY_API_KEY}
    search_depth: basic        # basic or advanced
    max_results: 5             # 検索結果の最大件数
    max_content_length: 500    # 各結果のcontent最大文字数（0で無制限）
"""

FORMAT = """\
## 検索結果: "Python async programming"

### 回答
Pythonの非同期プログラミングは...

### 結果
1. **Python asyncio documentation**
   URL: https://docs.python.org/3/library/asyncio.html
   Pythonの公式asyncioドキュメント...

2. **Real Python - Async IO in Python**
   URL: https://realpython.com/async-io-python/
   非同期プログラミングの詳細な解説..."""


def written(folder: Path, text: str) -> Path:
    file = folder / "config.yaml"
    file.write_text(text, encoding="utf-8")
    return file


def on(tavily: TavilyServer, model: MessagesServer) -> Config:
    search = WebSearchConfig(enabled=True, api_key="tvly-test", base_url=tavily.url)
    agent = AgentConfig(api_key="sk-test", base_url=model.url, untrusted="off")
    return Config(tools=ToolsConfig(web_search=search), agent=agent)


def context_of(state: dict[str, Any]) -> ToolContext:
    use: Any = {"toolUseId": "t1", "name": "web_search", "input": {}}
    return ToolContext(tool_use=use, agent=None, invocation_state=state)


async def test_dec_1_a_response_is_generated_with_the_tool() -> None:
    script = [call("web_search", {"query": QUERY}), say("asyncio を使います。")]
    with TavilyServer([ASYNCIO, REAL_PYTHON], answer=ANSWER) as tavily, MessagesServer(script) as model:
        responder = make_responder(on(tavily, model))
        events = [event async for event in responder.stream(ASKED)]
        await responder.aclose()
    assert [event.text for event in events if isinstance(event, ToolReturned)] == [FORMAT]


async def test_dec_2_a_slow_search_does_not_block_the_event_loop(search: Search) -> None:
    with TavilyServer([ASYNCIO], faults=[tavily_fault.hang()]) as tavily:
        slow = asyncio.create_task(search(tavily, QUERY))
        while not tavily.requests:
            await asyncio.sleep(0.01)
        assert "## 検索結果" in await search(tavily, "Python documentation")
        assert not slow.done()
        slow.cancel()


async def test_dec_3_factories_are_merged_by_the_response_generator() -> None:
    with TavilyServer([ASYNCIO]) as tavily, MessagesServer([call("web_search", {"query": QUERY}), say("ok")]) as model:
        config = on(tavily, model)
        assert config.tools.web_search is not None
        responder = StrandsResponder(config.agent, factories=[WebSearchToolsFactory(config.tools.web_search)])
        assert await responder.respond(ASKED) == "ok"
        await responder.aclose()
    assert tavily.searches == [QUERY]


def test_dec_4_to_6_the_section_has_its_defaults(tmp_path: Path) -> None:
    plain = load_config(written(tmp_path, "tools: {web_search: {enabled: true, api_key: tvly-test}}"))
    assert plain.tools.web_search is not None
    assert (plain.tools.web_search.search_depth, plain.tools.web_search.max_results) == ("basic", 5)
    text = "tools: {web_search: {enabled: true, api_key: tvly-test, search_depth: advanced, max_results: 9}}"
    other = load_config(written(tmp_path, text))
    assert other.tools.web_search is not None
    assert (other.tools.web_search.search_depth, other.tools.web_search.max_results) == ("advanced", 9)


async def test_dec_7_and_9_what_is_asked_of_tavily(search: Search) -> None:
    with TavilyServer([ASYNCIO]) as tavily:
        said = await search(tavily, QUERY)
    assert tavily.requests[0].body["include_answer"] is True
    assert not tavily.requests[0].body.get("include_raw_content")
    assert "the whole page" not in said


async def test_dec_8_content_is_cut_after_500_characters(search: Search) -> None:
    with TavilyServer([TavilyPage("Python", "https://example.com/", "長" * 501 + " Python")], answer="-") as tavily:
        said = await search(tavily, "Python")
    assert said.endswith("\n   " + "長" * 500)


def test_dec_10_searches_from_many_loops_are_safe() -> None:
    with TavilyServer([ASYNCIO]) as tavily:
        factory = WebSearchToolsFactory(WebSearchConfig(enabled=True, api_key="tvly-test", base_url=tavily.url))

        def run(number: int) -> str:
            async def one() -> str:
                return await web_search(f"Python {number}", context_of(factory.get_invocation_state()))

            return asyncio.run(one())

        with ThreadPoolExecutor(4) as threads:
            said = list(threads.map(run, range(8)))
    assert all(text.startswith("## 検索結果") for text in said)


async def test_dec_11_an_error_is_one_short_sentence(search: Search) -> None:
    with TavilyServer([ASYNCIO], api_keys={"another"}) as tavily:
        assert await search(tavily, QUERY) == "検索できませんでした"


async def test_dec_12_the_log_says_query_and_outcome(search: Search, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, logger="hikidashi")
    with TavilyServer([ASYNCIO]) as tavily:
        await search(tavily, QUERY)
    with TavilyServer([ASYNCIO], api_keys={"another"}) as tavily:
        await search(tavily, QUERY)
    good, bad = [record for record in caplog.records if record.getMessage().startswith("web_search")]
    assert (good.levelname, bad.levelname) == ("INFO", "INFO")
    assert good.getMessage() == f"web_search {QUERY!r}: success: 1 results"
    assert bad.getMessage().startswith(f"web_search {QUERY!r}: failed: ")
    assert "tvly-test" not in caplog.text


def test_dec_13_the_description_is_short() -> None:
    assert web_search.tool_spec["description"].splitlines()[0] == "ウェブ検索を実行する。"
    assert len(web_search.tool_spec["description"]) < 100


def test_dec_14_without_a_key_there_is_a_warning_and_no_tool(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    text = EXAMPLE + "agent: {api_key: sk-test}\n"
    responder = make_responder(load_config(written(tmp_path, text), environment={}))
    assert responder.tool_names == []
    (record,) = [record for record in caplog.records if record.levelno >= logging.WARNING]
    assert "tools.web_search is enabled but has no api_key" in record.getMessage()


def test_dec_15_without_the_section_there_is_no_tool(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    config = load_config(written(tmp_path, "agent: {api_key: sk-test}"))
    assert config.tools.web_search is None
    assert make_responder(config).tool_names == []
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []


def test_conf_1_the_example_loads(tmp_path: Path) -> None:
    config = load_config(written(tmp_path, EXAMPLE), environment={"TAVILY_API_KEY": "tvly-test"})
    assert config.tools.web_search == WebSearchConfig(
        enabled=True, api_key="tvly-test", search_depth="basic", max_results=5, max_content_length=500
    )


def test_ctx_1_the_config_is_in_the_invocation_state() -> None:
    config = WebSearchConfig(api_key="tvly-test")
    assert get_web_search_config(context_of({"web_search_config": config})) is config


async def test_ctx_2_without_it_there_is_a_runtime_error() -> None:
    with pytest.raises(RuntimeError, match=r"^WebSearchConfig not found in invocation_state$"):
        get_web_search_config(context_of({}))
    with pytest.raises(RuntimeError, match=r"^WebSearchConfig not found in invocation_state$"):
        await web_search(QUERY, context_of({}))


def test_fact_1_the_invocation_state_holds_the_config() -> None:
    config = WebSearchConfig(api_key="tvly-test")
    assert WebSearchToolsFactory(config).get_invocation_state() == {WEB_SEARCH_CONFIG_KEY: config}
    assert WEB_SEARCH_CONFIG_KEY == "web_search_config"


def test_fact_2_the_tools_are_the_list() -> None:
    assert WebSearchToolsFactory(WebSearchConfig()).tools == WEB_SEARCH_TOOLS
    assert web_search in WEB_SEARCH_TOOLS


def test_tool_1_the_signature_and_what_the_model_sees() -> None:
    function = inspect.unwrap(web_search)
    assert isinstance(web_search, AgentTool)
    assert list(inspect.signature(function).parameters) == ["query", "tool_context"]
    assert inspect.iscoroutinefunction(function)
    assert web_search.tool_name == "web_search"
    spec: dict[str, Any] = {**web_search.tool_spec}
    schema = spec["inputSchema"]["json"]
    assert schema["properties"] == {"query": {"type": "string", "description": "検索クエリ"}}
    assert schema["required"] == ["query"]


@pytest.mark.parametrize("query", ["", " ", "\n", "　"])
async def test_flow_1_an_empty_query_never_leaves(search: Search, query: str) -> None:
    with TavilyServer([ASYNCIO]) as tavily:
        assert await search(tavily, query) == "検索クエリを入力してください"
    assert tavily.requests == []


async def test_flow_2_to_5_from_the_query_to_markdown(search: Search) -> None:
    with TavilyServer([ASYNCIO], answer=ANSWER) as tavily:
        said = await search(tavily, QUERY, max_content_length=6)
    assert tavily.searches == [QUERY]
    assert said == (
        f'## 検索結果: "{QUERY}"\n\n### 回答\n{ANSWER}\n\n### 結果\n'
        "1. **Python asyncio documentation**\n   URL: https://docs.python.org/3/library/asyncio.html\n   Python"
    )


async def test_call_1_the_request_carries_the_config(search: Search) -> None:
    with TavilyServer([ASYNCIO]) as tavily:
        await search(tavily, QUERY, search_depth="advanced", max_results=3)
    (request,) = tavily.requests
    assert request.api_key == "tvly-test"
    asked = {name: request.body[name] for name in ("query", "search_depth", "max_results", "include_answer")}
    assert asked == {"query": QUERY, "search_depth": "advanced", "max_results": 3, "include_answer": True}


async def test_resp_1_the_example_response_is_understood(search: Search) -> None:
    with TavilyServer([ASYNCIO], answer=ANSWER) as tavily:
        said = await search(tavily, QUERY)
    assert said == FORMAT.partition("\n\n2. ")[0]


async def test_format_1_the_example_is_exact(search: Search) -> None:
    with TavilyServer([ASYNCIO, REAL_PYTHON], answer=ANSWER) as tavily:
        assert await search(tavily, QUERY) == FORMAT


async def test_err_1_to_3_the_sentences_are_exact(search: Search) -> None:
    with TavilyServer([ASYNCIO], api_keys={"another"}) as refusing, TavilyServer([]) as empty:
        assert await search(empty, "") == "検索クエリを入力してください"
        assert await search(refusing, QUERY) == "検索できませんでした"
        assert await search(empty, QUERY) == "検索結果が見つかりませんでした"


async def test_item_1_to_2_a_search_with_and_without_an_answer(search: Search) -> None:
    with TavilyServer([ASYNCIO], answer=" ") as silent, TavilyServer([ASYNCIO], answer=ANSWER) as talking:
        without, with_answer = await search(silent, QUERY), await search(talking, QUERY)
    assert "### 回答" not in without
    assert with_answer == without.replace("### 結果", f"### 回答\n{ANSWER}\n\n### 結果")


@pytest.mark.parametrize("letter", ["字", "x"])
@pytest.mark.parametrize(("length", "shown"), [(0, 200_000), (1, 1), (500, 500), (300_000, 200_000)])
async def test_item_3_the_limit_counts_characters_and_0_is_none(
    search: Search, letter: str, length: int, shown: int
) -> None:
    with TavilyServer([TavilyPage(letter, "https://example.com/", letter * 200_000)], answer="-") as tavily:
        said = await search(tavily, letter, max_content_length=length)
    hit = f"1. **{letter}**\n   URL: https://example.com/\n   {letter * shown}"
    assert said == f'## 検索結果: "{letter}"\n\n### 回答\n-\n\n### 結果\n{hit}'


async def test_item_4_to_6_empty_query_error_and_no_result(search: Search) -> None:
    with TavilyServer([], faults=[tavily_fault.out_of_credits()]) as tavily:
        assert await search(tavily, "  ") == "検索クエリを入力してください"
        assert await search(tavily, QUERY) == "検索できませんでした"
        assert await search(tavily, QUERY) == "検索結果が見つかりませんでした"


def test_item_7_to_8_the_factory() -> None:
    factory = WebSearchToolsFactory(WebSearchConfig(enabled=True, api_key="tvly-test", max_results=3))
    assert factory.get_invocation_state()[WEB_SEARCH_CONFIG_KEY].max_results == 3
    assert [tool.tool_name for tool in factory.tools] == ["web_search"]


def test_item_9_to_10_the_config() -> None:
    default = WebSearchConfig(enabled=True, api_key="tvly-test")
    assert (default.search_depth, default.max_results, default.max_content_length) == ("basic", 5, 500)
    own = WebSearchConfig(
        enabled=True, api_key="tvly-test", search_depth="advanced", max_results=10, max_content_length=1000
    )
    assert (own.search_depth, own.max_results, own.max_content_length) == ("advanced", 10, 1000)
    assert own == WebSearchConfig(True, "tvly-test", "advanced", 10, 1000)
