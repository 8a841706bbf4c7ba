"""Sections 4 to 7: `tavily_context`, what all tools have in common, MCP, and the requirements."""

from __future__ import annotations

import inspect
import logging
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from pydantic_ai import Agent, RunContext
from pydantic_ai.models.test import TestModel

from hikidashi import ClaudeCodeModel
from hikidashi.agents import ClaudeCodeTavilySearchAgent
from hikidashi.testing import MessagesServer, tavily_fault
from hikidashi.testing.script import Script
from hikidashi.testing.tavily import TavilyPage, TavilyServer
from hikidashi.tokens import estimate_tokens
from hikidashi.web import (
    TavilySearchDeps,
    TavilyToolsRepositoryMixin,
    tavily_context,
    tavily_extract,
    tavily_search,
)

Start = Callable[..., tuple[TavilyServer, RunContext[TavilySearchDeps]]]

SAKURA = "https://example.com/sakura"
PAGES = [TavilyPage(title="桜", url=SAKURA, content="桜は春の花です。" * 40, score=0.9)]
HEAD = "## RAG用検索コンテキスト: 花\n\n"
NAMES = ["tavily_search", "tavily_extract", "tavily_context"]
SECTION_6_2 = {
    "name": "mcp__pydantic_tools__tavily_search",
    "description": "Web検索を実行する",
    "inputSchema": {
        "type": "object",
        "properties": {
            "query": {"type": "string", "description": "検索クエリ"},
            "search_depth": {"type": "string", "enum": ["basic", "advanced"], "default": "basic"},
            "max_results": {"type": "integer", "minimum": 1, "maximum": 20, "default": 5},
        },
        "required": ["query"],
    },
}


def refused(text: str, error_type: str) -> bool:
    first, second = text.split("\n")
    return first.startswith("Tavily API エラー: ") and second == f"エラータイプ: {error_type}"


def test_context_1_takes_a_context_a_query_and_a_number_of_tokens() -> None:
    parameters = inspect.signature(tavily_context).parameters

    assert list(parameters) == ["ctx", "query", "max_tokens"]
    assert parameters["max_tokens"].default is None
    assert (tavily_context.__doc__ or "").startswith("RAG用検索コンテキストを取得する。")


async def test_context_2_a_query_has_1_to_1000_characters(tavily: Start) -> None:
    server, ctx = tavily(PAGES)

    assert refused(await tavily_context(ctx, ""), "VALIDATION_ERROR")
    assert refused(await tavily_context(ctx, "花" * 1001), "VALIDATION_ERROR")
    assert server.requests == []
    assert (await tavily_context(ctx, "花" * 1000)).startswith(f"## RAG用検索コンテキスト: {'花' * 1000}\n\n")


async def test_context_3_the_number_of_tokens_is_kept_and_may_be_left_out(tavily: Start) -> None:
    _, ctx = tavily(PAGES)

    whole = await tavily_context(ctx, "花")
    short = await tavily_context(ctx, "花", max_tokens=60)

    assert PAGES[0].content in whole
    assert estimate_tokens(short.removeprefix(HEAD)) <= 60
    assert "桜は春の花です。" in short
    assert refused(await tavily_context(ctx, "花", max_tokens=0), "VALIDATION_ERROR")


async def test_context_4_the_output_is_the_context_under_its_query(tavily: Start) -> None:
    _, ctx = tavily(PAGES)

    text = await tavily_context(ctx, "花")

    assert text == HEAD + (await ctx.deps.client.context("花")).text
    assert SAKURA in text


async def test_context_5_an_invalid_key_is_told(tavily: Start) -> None:
    _, ctx = tavily(PAGES, api_keys={"tvly-other"})

    assert refused(await tavily_context(ctx, "花"), "AUTH_ERROR")


async def test_context_6_a_rate_limit_is_told_after_the_retries(tavily: Start) -> None:
    server, ctx = tavily(PAGES, faults=[tavily_fault.rate_limited(retry_after=0)] * 9)

    assert refused(await tavily_context(ctx, "花"), "RATE_LIMIT_ERROR")
    assert len(server.requests) == 4


async def logged_by_all(tavily: Start, caplog: pytest.LogCaptureFixture, **options: object) -> list[str]:
    caplog.set_level(logging.INFO, logger="hikidashi.web")
    _, ctx = tavily(PAGES, **options)
    await tavily_search(ctx, "花")
    await tavily_extract(ctx, [SAKURA])
    await tavily_context(ctx, "花")
    return [record.getMessage() for record in caplog.records if record.name == "hikidashi.web"]


async def test_log_1_every_tool_logs_its_start(tavily: Start, caplog: pytest.LogCaptureFixture) -> None:
    assert (await logged_by_all(tavily, caplog))[::2] == [
        "tavily_search start: {'query': '花'}",
        f"tavily_extract start: {{'urls': ['{SAKURA}']}}",
        "tavily_context start: {'query': '花'}",
    ]


async def test_log_2_every_tool_logs_its_success(tavily: Start, caplog: pytest.LogCaptureFixture) -> None:
    ends = (await logged_by_all(tavily, caplog))[1::2]

    assert [line.partition(":")[0] for line in ends] == [f"{name} success" for name in NAMES]


async def test_log_3_every_tool_logs_its_failure(tavily: Start, caplog: pytest.LogCaptureFixture) -> None:
    ends = (await logged_by_all(tavily, caplog, api_keys={"tvly-other"}))[1::2]

    assert [line.partition(":")[0] for line in ends] == [f"{name} failed" for name in NAMES]


async def test_time_1_the_milliseconds_are_logged(tavily: Start, caplog: pytest.LogCaptureFixture) -> None:
    ends = (await logged_by_all(tavily, caplog))[1::2]

    assert all(float(re.findall(r": (\d+\.\d) ms", line)[0]) > 0 for line in ends)


async def test_error_1_the_text_byte_for_byte(tavily: Start) -> None:
    _, ctx = tavily(PAGES)

    assert await tavily_search(ctx, "花", max_results=21) == (
        "Tavily API エラー: max_results が不正です（受け取った値: 21）。1以上20以下の整数を指定してください。\n"
        "エラータイプ: VALIDATION_ERROR"
    )


@pytest.mark.cli
async def test_mcp_1_to_4_claude_code_sees_these_names_and_this_schema(
    tavily: Start,
    messages_server: Callable[[Script], MessagesServer],
    claude_code_env: Callable[[MessagesServer], dict[str, str]],
    tmp_path: Path,
) -> None:
    _, ctx = tavily(PAGES)
    server = messages_server(["桜です。"])
    model = ClaudeCodeModel(
        "sonnet", tool_execution="agent", env=claude_code_env(server), working_directory=tmp_path, timeout=60.0
    )

    await ClaudeCodeTavilySearchAgent(model, deps=ctx.deps).run("春の花は？")

    offered = {tool["name"]: tool for tool in server.requests[0].tools}
    search = offered["mcp__pydantic_tools__tavily_search"]
    assert set(offered) == {f"mcp__pydantic_tools__{name}" for name in NAMES}
    assert {
        "name": search["name"],
        "description": search["description"],
        "inputSchema": search["input_schema"],
    } == SECTION_6_2


async def test_fr_1_to_3_the_three_tools_answer(tavily: Start) -> None:
    _, ctx = tavily(PAGES)

    assert (await tavily_search(ctx, "花")).startswith("## 検索結果: 花\n\n### 1. 桜\n")
    assert (await tavily_extract(ctx, [SAKURA])).startswith(f"## コンテンツ抽出結果\n\n### URL: {SAKURA}\n")
    assert (await tavily_context(ctx, "花")).startswith(HEAD)


async def test_fr_4_to_5_the_mixin_registers_three_tools(tavily: Start) -> None:
    class Repository(TavilyToolsRepositoryMixin): ...

    _, ctx = tavily(PAGES)
    model = TestModel(call_tools=["tavily_search"])
    agent = Agent(model, deps_type=TavilySearchDeps, tools=Repository().tavily_tools)

    await agent.run("花", deps=ctx.deps)

    assert model.last_model_request_parameters is not None
    assert [tool.name for tool in model.last_model_request_parameters.function_tools] == NAMES
