"""The bridge suite compares like with like: every contestant does the same job."""

from __future__ import annotations

import json
from typing import Any

import pytest
from benchmarks.bridge import SUITE
from benchmarks.bridge.conversion import BY_HAND, WAYS, converter
from benchmarks.bridge.tools import CALLS, by_hand, called_directly, many
from benchmarks.registry import Plan
from mcp import Client

from hikidashi import convert_tool


@pytest.mark.parametrize("way", WAYS)
async def test_every_way_to_convert_offers_the_tools_that_the_hand_made_server_offers(way: str) -> None:
    tools = many(5)

    async def offered(name: str) -> list[tuple[str, str | None, dict[str, Any]]]:
        async with Client(converter(name)(tools)["instance"]) as client:
            listed = (await client.list_tools()).tools
        return [(tool.name, tool.description, tool.input_schema) for tool in listed]

    assert await offered(way) == await offered(BY_HAND)


@pytest.mark.parametrize("name", CALLS)
async def test_every_path_of_a_call_gives_the_same_answer(name: str) -> None:
    tool, arguments = CALLS[name]
    value = await called_directly(tool, arguments)
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    assert (await by_hand(tool).handler(arguments))["content"] == [{"type": "text", "text": text}]
    assert (await convert_tool(tool).handler(arguments))["content"] == [{"type": "text", "text": text}]
    for way in (*WAYS, BY_HAND):
        async with Client(converter(way)([tool])["instance"]) as client:
            (block,) = (await client.call_tool(tool.name, arguments)).content
            assert (way, block.type, getattr(block, "text", "")) == (way, "text", text)


@pytest.mark.soak
def test_a_quick_conversion_of_ten_tools_is_measured_for_every_way() -> None:
    (case,) = [case for case in SUITE.only(["bridge.conversion"]) if case.name == "10 tools"]
    rows = list(case.run(Plan(quick=True)))
    assert [(row.group, row.name, row.n) for row in rows] == [("conversion", f"10 tools, {way}", 2) for way in WAYS]


def test_every_group_is_explained_and_has_cases() -> None:
    assert [group for group in SUITE.groups if not SUITE.only([f"bridge.{group}"])] == []
    assert {case.group for case in SUITE.cases} == SUITE.groups.keys()
