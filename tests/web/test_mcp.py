"""The web tools through MCP, asked by the official client."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from mcp import Client, StdioServerParameters, types
from mcp.client.stdio import stdio_client
from tests.support import SEARCH_SCHEMA

from hikidashi import to_anthropic
from hikidashi.testing.tavily import TavilyPage, TavilyServer
from hikidashi.web import ResultCache, TavilyAPIClient, web_tools
from hikidashi.web.mcp import web_mcp_server

NAMES = ["tavily_search", "tavily_extract", "tavily_context"]

PAGES = [TavilyPage(title="Cherry", url="https://example.com/cherry", content="A tree of spring.", score=0.9)]


@pytest.fixture
async def tavily(tmp_path: Path) -> AsyncIterator[TavilyAPIClient]:
    with TavilyServer(PAGES) as server:
        cache = ResultCache(tmp_path / "cache.sqlite")
        client = TavilyAPIClient("tvly-test", base_url=server.url, cache=cache)
        yield client
        await client.aclose()


def text_of(result: types.CallToolResult) -> str:
    [block] = result.content
    assert isinstance(block, types.TextContent)
    return block.text


async def test_the_three_tools_are_listed_as_the_contract_shows_them(tavily: TavilyAPIClient) -> None:
    async with Client(web_mcp_server(tavily)) as client:
        tools = (await client.list_tools()).tools

    assert [tool.name for tool in tools] == NAMES
    assert tools[0].description == "Web検索を実行する"
    assert tools[0].input_schema == SEARCH_SCHEMA
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
        async with Client(stdio_client(parameters)) as client:
            names = [tool.name for tool in (await client.list_tools()).tools]
            text = text_of(await client.call_tool("tavily_search", {"query": "spring"}))

    assert names == NAMES
    assert text.startswith("## Search results: spring\n\n### 1. Cherry\n")


async def test_the_neutral_tools_go_to_other_frameworks(tavily: TavilyAPIClient) -> None:
    offered = to_anthropic(web_tools(tavily, language="en"))

    assert [(tool["name"], tool.get("description")) for tool in offered] == [
        ("tavily_search", "Search the web"),
        ("tavily_extract", "Extract the content of URLs"),
        ("tavily_context", "Get search context for RAG"),
    ]
