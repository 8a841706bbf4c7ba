"""Sections 1 and 2: the list of tools, and `tavily_search`."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import pytest
from pydantic_ai import RunContext

from hikidashi.testing import tavily_fault
from hikidashi.testing.tavily import TavilyPage, TavilyServer
from hikidashi.web import TavilySearchDeps, tavily_context, tavily_extract, tavily_search

Start = Callable[..., tuple[TavilyServer, RunContext[TavilySearchDeps]]]

PAGES = [
    TavilyPage(title="桜", url="https://example.com/sakura", content="桜は春の花です。\n四月に咲きます。", score=0.987),
    TavilyPage(title="梅", url="https://example.com/ume", content="梅は二月の花です。", score=0.5),
]


def refused(text: str, error_type: str) -> bool:
    first, second = text.split("\n")
    return first.startswith("Tavily API エラー: ") and second == f"エラータイプ: {error_type}"


def test_tool_1_to_3_three_tools_of_these_names() -> None:
    tools = [tavily_search, tavily_extract, tavily_context]

    assert [tool.__name__ for tool in tools] == ["tavily_search", "tavily_extract", "tavily_context"]
    assert all(inspect.iscoroutinefunction(tool) for tool in tools)


def test_search_1_takes_a_context_a_query_a_depth_and_a_number() -> None:
    parameters = inspect.signature(tavily_search).parameters

    assert list(parameters) == ["ctx", "query", "search_depth", "max_results"]
    assert (parameters["search_depth"].default, parameters["max_results"].default) == ("basic", 5)
    assert (tavily_search.__doc__ or "").startswith("Web検索を実行する。")


async def test_search_2_a_query_has_1_to_1000_characters(tavily: Start) -> None:
    server, ctx = tavily(PAGES)
    long = "花 " * 499 + "花花"

    assert len(long) == 1000
    assert (await tavily_search(ctx, long)).startswith(f"## 検索結果: {long}\n\n### 1. 桜\n")
    assert len(server.searches[0]) <= 400
    assert refused(await tavily_search(ctx, ""), "VALIDATION_ERROR")
    assert refused(await tavily_search(ctx, " 　\n"), "VALIDATION_ERROR")
    assert refused(await tavily_search(ctx, "花" * 1001), "VALIDATION_ERROR")
    assert len(server.requests) == 1


async def test_search_3_a_depth_is_basic_or_advanced(tavily: Start) -> None:
    server, ctx = tavily(PAGES)

    await tavily_search(ctx, "花")
    await tavily_search(ctx, "花", search_depth="advanced")

    assert [request.body["search_depth"] for request in server.requests] == ["basic", "advanced"]
    assert refused(await tavily_search(ctx, "花", search_depth="deep"), "VALIDATION_ERROR")
    assert len(server.requests) == 2


async def test_search_4_there_are_1_to_20_results(tavily: Start) -> None:
    server, ctx = tavily(PAGES)

    await tavily_search(ctx, "花")
    one = await tavily_search(ctx, "花", max_results=1)
    await tavily_search(ctx, "花", max_results=20)

    assert [request.body["max_results"] for request in server.requests] == [5, 1, 20]
    assert "### 1. 桜" in one
    assert "### 2." not in one
    assert refused(await tavily_search(ctx, "花", max_results=0), "VALIDATION_ERROR")
    assert refused(await tavily_search(ctx, "花", max_results=21), "VALIDATION_ERROR")
    assert len(server.requests) == 3


async def test_search_5_the_output_byte_for_byte(tavily: Start) -> None:
    _, ctx = tavily(PAGES)

    assert await tavily_search(ctx, "春の花") == (
        "## 検索結果: 春の花\n"
        "\n"
        "### 1. 桜\n"
        "URL: https://example.com/sakura\n"
        "スコア: 0.99\n"
        "桜は春の花です。\n四月に咲きます。\n"
        "\n"
        "### 2. 梅\n"
        "URL: https://example.com/ume\n"
        "スコア: 0.50\n"
        "梅は二月の花です。"
    )


async def test_search_6_the_output_without_results(tavily: Start) -> None:
    _, ctx = tavily([])

    assert await tavily_search(ctx, "春の花") == "## 検索結果: 春の花\n\n検索結果が見つかりませんでした。"


async def test_search_7_an_invalid_key_is_told(tavily: Start) -> None:
    server, ctx = tavily(PAGES, api_keys={"tvly-other"})

    assert refused(await tavily_search(ctx, "花"), "AUTH_ERROR")
    assert len(server.requests) == 1


async def test_search_8_a_rate_limit_is_told_after_the_retries(tavily: Start) -> None:
    server, ctx = tavily(PAGES, faults=[tavily_fault.rate_limited(retry_after=0)] * 9)
    patient, patient_ctx = tavily(PAGES, faults=[tavily_fault.rate_limited(retry_after=0)])

    assert refused(await tavily_search(ctx, "花"), "RATE_LIMIT_ERROR")
    assert len(server.requests) == 4
    assert (await tavily_search(patient_ctx, "花")).startswith("## 検索結果: 花\n\n### 1. 桜\n")
    assert len(patient.requests) == 2


@pytest.mark.parametrize("bad", [{"query": ""}, {"query": "花", "max_results": 99}])
async def test_search_9_bad_input_is_told(tavily: Start, bad: dict[str, Any]) -> None:
    server, ctx = tavily(PAGES)

    assert refused(await tavily_search(ctx, **bad), "VALIDATION_ERROR")
    assert server.requests == []
