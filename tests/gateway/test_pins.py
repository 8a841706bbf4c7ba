"""Pinned tools: by pattern, and by how often they were called."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp.client import Client
from tests.gateway.faulty import STDIO
from tests.gateway.servers import program

from hikidashi.gateway import Gateway, GatewayOptions
from hikidashi.gateway.names import pinned_patterns
from hikidashi.gateway.options import matches
from hikidashi.gateway.server import GatewayMCPServer
from hikidashi.search.log_sqlite import SearchLog


async def test_the_most_used_tools_by_the_records_are_listed_and_stay_while_the_gateway_runs(tmp_path: Path) -> None:
    many = program(tmp_path, "many", STDIO.replace("MANY = 0", "MANY = 20"))
    with SearchLog(tmp_path / "calls.db") as log:
        for name in ["many__tool_7"] * 3 + ["gone__tool"] * 9 + ["many__tool_3"] * 2 + ["many__tool_1"] * 2:
            log.called(name)
        log.flush()
        options = GatewayOptions(search="on", pin=("most-used:2", "many__heard"))
        lists: list[list[str]] = []
        async with Gateway([many], options=options, record=log) as gateway, Client(GatewayMCPServer(gateway)) as client:
            await gateway.listed(20)
            for _ in range(2):
                lists.append([tool.name for tool in (await client.list_tools(cache_mode="bypass")).tools])
                for _ in range(10):
                    await client.call_tool("call_tool", {"name": "many__tool_9", "arguments": {}})
                log.flush()
        assert log.usage()["many__tool_9"] == 20
    own = ["search_tools", "call_read_tool", "call_tool", "read_result"]
    assert lists == [[*own, "many__heard", "many__tool_1", "many__tool_7"]] * 2


def test_the_most_used_need_records(tmp_path: Path) -> None:
    server = program(tmp_path, "a", STDIO)
    with pytest.raises(ValueError, match="nothing is recorded: give `record`, or `--record FILE`"):
        Gateway([server], options=GatewayOptions(pin=("most-used",)))


@given(st.dictionaries(st.text(min_size=1, max_size=5), st.integers(1, 9), max_size=12), st.integers(1, 12))
def test_the_same_records_pin_the_same_tools_whatever_their_names(usage: dict[str, int], most: int) -> None:
    backwards = dict(reversed(usage.items()))
    pins = [pinned_patterns([f"most-used:{most}"], one, servers=[], names="plain") for one in (usage, backwards)]
    assert pins[0] == pins[1]
    pinned = [name for name in usage if matches(name, pins[0])]
    assert len(pinned) == min(most, len(usage))
    least = min((usage[name] for name in pinned), default=0)
    assert all(usage[name] <= least for name in usage if name not in pinned)
