"""The web tools through MCP, asked by the official client."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from mcp import Client, StdioServerParameters, types
from mcp.client.stdio import stdio_client
from tests.support import SEARCH_SCHEMA

from hikidashi import to_anthropic
from hikidashi.testing.tavily import TavilyPage, TavilyServer
from hikidashi.testing.tavily_fault import raw
from hikidashi.tokens import estimate_tokens
from hikidashi.web import ResultCache, TavilyAPIClient, web_tools
from hikidashi.web.mcp import web_mcp_server
from hikidashi.web.providers.searxng import SearxngProvider

NAMES = ["tavily_search", "tavily_extract", "tavily_context"]

PAGES = [TavilyPage(title="Cherry", url="https://example.com/cherry", content="A tree of spring.", score=0.9)]


LONG = TavilyPage(
    title="Long", url="https://example.com/long", content="A long page.", raw_content="A sentence of autumn. " * 100_000
)


@pytest.fixture
async def tavily(tmp_path: Path) -> AsyncIterator[TavilyAPIClient]:
    with TavilyServer([*PAGES, LONG]) as server:
        cache = ResultCache(tmp_path / "cache.sqlite")
        client = TavilyAPIClient("tvly-test", base_url=server.url, cache=cache)
        yield client
        await client.aclose()


def text_of(result: types.CallToolResult) -> str:
    [block] = result.content
    assert isinstance(block, types.TextContent)
    return block.text


FILTERS = ["topic", "time_range", "start_date", "end_date", "include_domains", "exclude_domains", "country"]


async def test_the_three_tools_are_listed_as_the_contract_shows_them_with_the_filters_of_the_provider(
    tavily: TavilyAPIClient, tmp_path: Path
) -> None:
    async with Client(web_mcp_server(tavily)) as client:
        tools = (await client.list_tools()).tools
    async with Client(web_mcp_server(SearxngProvider("http://127.0.0.1:9"))) as client:
        search_of_searxng = (await client.list_tools()).tools[0]

    assert [tool.name for tool in tools] == NAMES
    assert tools[0].description == "Web検索を実行する"
    properties = dict(tools[0].input_schema["properties"])
    filters = [properties.pop(name) for name in FILTERS]
    assert {**tools[0].input_schema, "properties": properties} == SEARCH_SCHEMA
    assert all("default" not in described and described["description"] for described in filters)
    assert list(tools[1].input_schema["properties"]) == ["urls", "query", "offset"]
    assert list(tools[2].input_schema["properties"]) == ["query", "max_tokens", *FILTERS]
    assert list(search_of_searxng.input_schema["properties"])[3:] == [
        "topic",
        "time_range",
        "include_domains",
        "exclude_domains",
    ]
    assert all(tool.annotations is not None and tool.annotations.read_only_hint for tool in tools)


async def test_answers_are_fenced_unless_told_otherwise(tavily: TavilyAPIClient) -> None:
    async with Client(web_mcp_server(tavily)) as client:
        fenced = text_of(await client.call_tool("tavily_search", {"query": "spring"}))
    async with Client(web_mcp_server(tavily, untrusted=None)) as client:
        bare = text_of(await client.call_tool("tavily_search", {"query": "spring"}))

    assert (
        bare == "## 検索結果: spring\n\n### 1. Cherry\nURL: https://example.com/cherry\nスコア: 0.90\nA tree of spring."
    )
    assert fenced.split("\n")[1].startswith("<web-data-")
    assert f">\n{bare}\n</web-data-" in fenced


async def test_extract_and_context_answer_too(tavily: TavilyAPIClient) -> None:
    async with Client(web_mcp_server(tavily, language="en", untrusted=None)) as client:
        extract = text_of(await client.call_tool("tavily_extract", {"urls": ["https://example.com/cherry"]}))
        context = text_of(await client.call_tool("tavily_context", {"query": "spring", "max_tokens": 200}))

    assert extract == "## Extracted content\n\n### URL: https://example.com/cherry\nA tree of spring."
    assert context.startswith("## Search context for RAG: spring\n\n")


async def test_a_failure_is_an_error_answer_with_the_text_of_the_contract(tavily: TavilyAPIClient) -> None:
    async with Client(web_mcp_server(tavily)) as client:
        result = await client.call_tool("tavily_search", {"query": "spring", "max_results": 21})

    assert result.is_error
    assert text_of(result).startswith("Tavily API エラー: ")
    assert text_of(result).endswith("\nエラータイプ: VALIDATION_ERROR")


async def test_arguments_of_the_wrong_kind_are_answered(tavily: TavilyAPIClient) -> None:
    async with Client(web_mcp_server(tavily)) as client:
        missing = await client.call_tool("tavily_search", {})
        unknown = await client.call_tool("tavily_search", {"query": "spring", "depth": 3})

    assert missing.is_error
    assert "`query` is missing" in text_of(missing)
    assert unknown.is_error
    assert "`depth` is not an argument" in text_of(unknown)


async def test_an_answer_says_beside_its_text_whether_it_is_cached(tavily: TavilyAPIClient) -> None:
    async with Client(web_mcp_server(tavily, untrusted=None)) as client:
        first = await client.call_tool("tavily_search", {"query": "spring"})
        second = await client.call_tool("tavily_search", {"query": "spring"})

    assert text_of(first) == text_of(second)
    about = [(result.meta or {})["hikidashi/web"] for result in (first, second)]
    assert [(one["provider"], one["cached"]) for one in about] == [("tavily", False), ("tavily", True)]


async def test_a_server_on_stdio_serves_until_its_client_leaves(tmp_path: Path) -> None:
    script = tmp_path / "serve.py"
    with TavilyServer(PAGES) as server:
        script.write_text(
            "import asyncio\n"
            "from hikidashi.web import TavilyAPIClient, serve_stdio\n"
            f"client = TavilyAPIClient('tvly-test', base_url={server.url!r})\n"
            "asyncio.run(serve_stdio(client, language='en', untrusted=None))\n",
            encoding="utf-8",
        )
        parameters = StdioServerParameters(command=sys.executable, args=[str(script)])
        with (tmp_path / "stderr").open("w+") as stderr:
            async with Client(stdio_client(parameters, errlog=stderr)) as client:
                names = [tool.name for tool in (await client.list_tools()).tools]
                text = text_of(await client.call_tool("tavily_search", {"query": "spring"}))

    assert "spring" not in (tmp_path / "stderr").read_text()
    assert names == NAMES
    assert text.startswith("## Search results: spring\n\n### 1. Cherry\n")


async def test_the_neutral_tools_go_to_other_frameworks(tavily: TavilyAPIClient) -> None:
    offered = to_anthropic(web_tools(tavily, language="en"))

    assert [(tool["name"], tool.get("description")) for tool in offered] == [
        ("tavily_search", "Search the web"),
        ("tavily_extract", "Extract the content of URLs"),
        ("tavily_context", "Get search context for RAG"),
    ]


async def test_filters_reach_the_api_and_one_that_is_none_is_an_error_answer(tmp_path: Path) -> None:
    with TavilyServer(PAGES) as server:
        provider = TavilyAPIClient("tvly-test", base_url=server.url)
        async with Client(web_mcp_server(provider)) as client:
            given = {"topic": "news", "time_range": "week", "include_domains": ["example.com"], "country": "japan"}
            await client.call_tool("tavily_search", {"query": "spring", **given})
            await client.call_tool("tavily_context", {"query": "spring", "start_date": "2026-01-02"})
            wrong = await client.call_tool("tavily_search", {"query": "spring", "start_date": "yesterday"})
        await provider.aclose()
        searched, packed = (request.body for request in server.requests)
    assert {name: searched[name] for name in given} == given
    assert packed["start_date"] == "2026-01-02"
    assert wrong.is_error
    assert "start_date" in text_of(wrong)


async def test_a_long_page_is_read_in_parts_that_together_are_the_page(tavily: TavilyAPIClient) -> None:
    url = LONG.url
    parts: list[str] = []
    offset = 0
    async with Client(web_mcp_server(tavily, language="en", untrusted=None)) as client:
        for _ in range(3):
            said = text_of(await client.call_tool("tavily_extract", {"urls": [url], "offset": offset}))
            assert estimate_tokens(said) < 8_200
            head, _, note = said.rpartition("\n\n")
            parts.append(head.partition(f"### URL: {url}\n")[2])
            found = re.search(r"([\d,]+) more characters.* offset=(\d+);", note)
            assert found
            offset = int(found[2])
            assert int(found[1].replace(",", "")) == len(LONG.text) - offset
        past = text_of(await client.call_tool("tavily_extract", {"urls": [url], "offset": 10**9}))
    assert LONG.text.startswith("".join(parts))
    assert len("".join(parts)) == offset
    assert "offset=1000000000 is past the end; the page has 2,200,000 characters." in past


async def test_the_note_of_what_is_left_stands_outside_the_fence(tavily: TavilyAPIClient) -> None:
    async with Client(web_mcp_server(tavily, language="en")) as client:
        said = text_of(await client.call_tool("tavily_extract", {"urls": [LONG.url]}))
    assert re.search(r"</web-data-[0-9a-f]{16}>\n\nhttps://example.com/long: .* more characters", said)


async def test_titles_addresses_and_reasons_of_any_length_do_not_reach_a_model() -> None:
    endless = "x" * 3_000_000
    long_hit = {"title": endless, "url": f"https://example.com/{endless}", "content": endless, "score": 0.5}
    body = {
        "results": [long_hit],
        "answer": endless,
        "failed_results": [{"url": "https://example.com/cherry", "error": endless}],
    }
    with TavilyServer(PAGES, faults=[raw(200, json.dumps(body))] * 3) as server:
        async with (
            TavilyAPIClient("tvly-test", base_url=server.url) as provider,
            Client(web_mcp_server(provider, language="en")) as client,
        ):
            answers = [
                await client.call_tool("tavily_search", {"query": "x"}),
                await client.call_tool("tavily_context", {"query": "x"}),
                await client.call_tool("tavily_extract", {"urls": ["https://example.com/cherry"]}),
            ]

    assert [len(text_of(answer)) < 80_000 for answer in answers] == [True, True, True]
