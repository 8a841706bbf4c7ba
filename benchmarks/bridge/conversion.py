"""Turning many pydantic-ai tools into a server for Claude Code."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from claude_agent_sdk import McpSdkServerConfig
from pydantic_ai import Tool

from hikidashi import convert_tools_to_mcp_server, create_mcp_server_from_tools, from_pydantic_ai, to_claude

from ..registry import Case, Measurement, Plan
from ..timing import seconds
from .tools import many, server_by_hand

GROUP = "conversion"
MEANING = "pydantic-ai tools to a server ÷ building the SdkMcpTools and the server by hand"

Convert = Callable[[list[Tool[Any]]], McpSdkServerConfig]


def _through_neutral_tools(tools: list[Tool[Any]]) -> McpSdkServerConfig:
    return to_claude(from_pydantic_ai(tools))


WAYS: dict[str, Convert] = {
    "convert_tools_to_mcp_server": convert_tools_to_mcp_server,
    "create_mcp_server_from_tools": create_mcp_server_from_tools,
    "from_pydantic_ai, to_claude": _through_neutral_tools,
}
BY_HAND = "by hand"


def converter(way: str) -> Convert:
    """The function that converts tools in one of `WAYS`, or `BY_HAND`."""
    return server_by_hand if way == BY_HAND else WAYS[way]


def _convert(plan: Plan, count: int) -> Iterable[Measurement]:
    tools = many(count)
    figures = plan.alternate(
        {way: seconds(partial(converter(way), tools)) for way in (*WAYS, BY_HAND)},
        plan.rounds(30 if count < 10_000 else 7, quick=2),
    )
    for way in WAYS:
        yield Measurement(
            group=GROUP,
            name=f"{count:,} tools, {way}",
            unit="s",
            ours=figures[way],
            peer=figures[BY_HAND],
            peer_name=BY_HAND,
        )


CASES = tuple(Case(GROUP, f"{count:,} tools", partial(_convert, count=count)) for count in (10, 1_000, 10_000))
