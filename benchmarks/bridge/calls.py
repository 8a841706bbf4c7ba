"""One tool call through the bridge.

The handler and the server's `tools/call` are measured beside the tool's own validator and function, so these ratios
say what the bridge adds. The server is measured beside one made by hand, too. JSON-RPC, the same for all, is left out.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from functools import partial
from typing import Any, cast

from claude_agent_sdk import McpSdkServerConfig
from mcp.types import CallToolRequestParams, CallToolResult
from pydantic_ai import Tool

from hikidashi import convert_tool, from_pydantic_ai, to_claude

from ..registry import Case, Measurement, Plan
from ..timing import seconds_per_call
from .tools import CALLS, called_directly, server_by_hand

GROUP = "calls"
MEANING = "one tool call through the bridge ÷ the same call without it"


def _server_call(
    config: McpSdkServerConfig, tool: Tool[Any], arguments: dict[str, Any]
) -> Callable[[], Awaitable[CallToolResult]]:
    entry = cast("Any", config["instance"]).get_request_handler("tools/call")
    return lambda: entry.handler(None, CallToolRequestParams(name=tool.name, arguments=arguments))


def _call(plan: Plan, name: str, tool: Tool[Any], arguments: dict[str, Any]) -> Iterable[Measurement]:
    handler = convert_tool(tool).handler
    paths: dict[str, Callable[[], Awaitable[object]]] = {
        "direct": lambda: called_directly(tool, arguments),
        "handler": lambda: handler(arguments),
        "server": _server_call(to_claude([from_pydantic_ai(tool)]), tool, arguments),
        "server by hand": _server_call(server_by_hand([tool]), tool, arguments),
    }
    with asyncio.Runner() as runner:
        per_call = partial(seconds_per_call, runner, at_least=0.005 if plan.quick else 0.05)
        figures = plan.alternate({path: per_call(call) for path, call in paths.items()}, plan.rounds(15, quick=3))
    for path, peer, peer_name in (
        ("handler", "direct", "validator + function"),
        ("server", "direct", "validator + function"),
        ("server", "server by hand", "SDK server by hand"),
    ):
        yield Measurement(
            group=GROUP,
            name=f"{name}, {path}",
            unit="s",
            ours=figures[path],
            peer=figures[peer],
            peer_name=peer_name,
        )


CASES = tuple(
    Case(GROUP, name, partial(_call, name=name, tool=tool, arguments=arguments))
    for name, (tool, arguments) in CALLS.items()
)
