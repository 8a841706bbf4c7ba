"""A server that hangs at its very first start delays nobody, and its tools are reached when they come."""

from __future__ import annotations

import math
from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, Literal

import anyio
import pytest
from mcp import MCPError, types
from mcp.client import Client
from tests.gateway.servers import LEGACY, MODERN, program
from tests.gateway.test_gateway import MODES, Mode, connected, text_of

from hikidashi.gateway import Gateway
from hikidashi.gateway.offer.cache import ListingCache
from hikidashi.search.mcp_servers import McpServer

OWN = ["search_tools", "call_read_tool", "call_tool", "read_result"]
LEGACY_TOOLS = ["legacy__ask", "legacy__read", "legacy__die", "legacy__long"]
LATE_TOOLS = ["late__ask", "late__read", "late__die", "late__long"]


@pytest.fixture
def legacy(tmp_path: Path) -> McpServer:
    return program(tmp_path, "legacy", LEGACY)


@pytest.fixture
def late(tmp_path: Path) -> McpServer:
    """A server that answers nothing until `released`."""
    waits = f"import os, time\nwhile not os.path.exists({str(tmp_path / 'released')!r}): time.sleep(0.01)\n"
    return program(tmp_path, "late", waits + LEGACY)


@pytest.fixture
def release(tmp_path: Path) -> Callable[[], None]:
    return (tmp_path / "released").touch


@pytest.fixture
def no_time_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """A request that waits for the late server waits for ever, so that a test proves that it does not."""
    monkeypatch.setattr("hikidashi.gateway.offer.first_lists._MOST", 3600.0)


async def names_of(client: Client) -> list[str]:
    return [tool.name for tool in (await client.list_tools(cache_mode="bypass")).tools]


@asynccontextmanager
async def with_changes(
    servers: list[McpServer], mode: Mode, search: Literal["auto", "on", "off"], **more: Any
) -> AsyncGenerator[tuple[Client, Gateway, Callable[[], Any]]]:
    """A client, and a function that waits until the client is told of another list of tools."""
    tell, told = anyio.create_memory_object_stream[None](math.inf)

    async def heard(message: Any) -> None:
        if isinstance(message, types.ToolListChangedNotification):
            await tell.send(None)

    async with (
        tell,
        told,
        connected(servers, mode, search, message_handler=heard, **more) as (client, gateway),
        AsyncExitStack() as stack,
    ):
        changes: Any = told
        if mode == "auto":
            changes = await stack.enter_async_context(client.listen(tools_list_changed=True))
        yield client, gateway, aiter(changes).__anext__


@pytest.mark.usefixtures("no_time_limit")
@pytest.mark.parametrize("mode", MODES)
async def test_a_server_that_hangs_at_its_first_start_is_left_out_until_it_comes(
    mode: Mode, legacy: McpServer, late: McpServer, release: Callable[[], None]
) -> None:
    async with with_changes([late, legacy], mode, "auto") as (client, gateway, changed):
        short = await client.list_tools(cache_mode="bypass")
        searched = text_of(await client.call_tool("search_tools", {"query": "read a file"}))
        prompts = (await client.list_prompts()).prompts
        instructions = gateway.instructions
        release()
        while (whole := await names_of(client)) == [tool.name for tool in short.tools]:
            await changed()
        # A client that lists once has the search tools, and reaches what came later with them.
        found = text_of(await client.call_tool("search_tools", {"query": "late__read"}))
        called = await client.call_tool("call_read_tool", {"name": "late__read", "arguments": {}})

    assert [tool.name for tool in short.tools] == [*OWN, *LEGACY_TOOLS]
    assert short.ttl_ms == 0
    assert "late (tools not known yet)" in str(short.tools[0].description)
    assert "The tools of late are not known yet: find them with search_tools." in instructions
    assert '"name":"legacy__read"' in searched
    assert searched.endswith("Note: still starting, its tools are not known yet: 'late'. Search again in a moment.")
    assert prompts == []
    assert whole == [*LATE_TOOLS, *LEGACY_TOOLS]
    assert '"name":"late__read"' in found
    assert "Note:" not in found
    assert not called.is_error


@pytest.mark.parametrize("mode", MODES)
async def test_what_is_known_from_before_waits_for_nothing(
    mode: Mode, tmp_path: Path, legacy: McpServer, late: McpServer
) -> None:
    cache = ListingCache(tmp_path / "cache")
    async with connected([legacy], cache=cache) as (client, _):
        await client.list_tools()
    async with connected([legacy, late], mode, "auto", cache=cache) as (client, gateway):
        with pytest.raises(StopIteration):  # it ends without giving up control once
            gateway.first_lists.wait().send(None)
        listed = await names_of(client)
        waiting = [state.status for state in gateway.states]

    assert listed == [*OWN, *LEGACY_TOOLS]
    assert waiting == ["waiting", "starting"]


async def test_tools_above_the_threshold_are_searched_while_a_server_is_missing_and_afterwards(
    tmp_path: Path, legacy: McpServer, late: McpServer, release: Callable[[], None]
) -> None:
    cache = ListingCache(tmp_path / "cache")
    async with connected([legacy], cache=cache) as (client, _):
        await client.list_tools()
    more: dict[str, Any] = {"cache": cache, "options": {"most_listed": 3}}
    async with with_changes([legacy, late], "auto", "auto", **more) as (client, gateway, changed):
        short = await names_of(client)
        release()
        while gateway.never_listed:
            await changed()
        whole = await names_of(client)

    assert (short, whole) == (OWN, OWN)


@pytest.mark.usefixtures("no_time_limit")
async def test_without_search_a_late_server_is_told_of_and_no_other_tool_is_listed(
    legacy: McpServer, late: McpServer, release: Callable[[], None]
) -> None:
    async with with_changes([legacy, late], "auto", "off") as (client, _, changed):
        short = await names_of(client)
        release()
        while (whole := await names_of(client)) == short:
            await changed()

    assert (short, whole) == (LEGACY_TOOLS, [*LEGACY_TOOLS, *LATE_TOOLS])


@pytest.mark.usefixtures("no_time_limit")
async def test_a_request_before_any_list_waits_for_no_server_but_its_own(
    tmp_path: Path, late: McpServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hikidashi.gateway.offer.first_lists._GRACE", 3600.0)
    async with connected([late, program(tmp_path, "modern", MODERN)]) as (client, gateway):
        prompt = await client.get_prompt("modern__greet", {"name": "Bo"})
        late_is_settled = gateway.upstreams["late"].listed.is_set()

    assert prompt.messages
    assert not late_is_settled


async def test_a_call_waits_for_its_own_server_and_a_guess_for_none(
    legacy: McpServer, late: McpServer, release: Callable[[], None]
) -> None:
    async with connected([legacy, late], search="auto") as (client, _):
        await client.list_tools()
        guessed = text_of(await client.call_tool("read_file", {}))
        with pytest.raises(MCPError, match="No server has the prompt 'other'"):
            await client.get_prompt("other")
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(anyio.to_thread.run_sync, release)
            assert not (await client.call_tool("late__read", {})).is_error

    assert '"name":"legacy__read"' in guessed
    assert "still starting" in guessed


@pytest.mark.usefixtures("no_time_limit")
async def test_a_server_that_works_on_its_start_is_waited_for(tmp_path: Path, legacy: McpServer) -> None:
    slow = "import time\nwhile time.process_time() < 2.0: pass\n" + MODERN
    async with connected([program(tmp_path, "slow", slow), legacy]) as (client, _):
        listed = await names_of(client)

    assert listed == ["slow__add", "slow__count", *LEGACY_TOOLS]


@pytest.mark.usefixtures("no_time_limit")
async def test_a_server_that_works_for_longer_than_a_start_takes_is_left_out(
    tmp_path: Path, legacy: McpServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hikidashi.gateway.offer.first_lists._MOST_WORK", 0.5)  # seconds of processor time
    async with connected([program(tmp_path, "spinning", "while True: pass"), legacy]) as (client, gateway):
        listed = await names_of(client)
        is_settled = gateway.upstreams["spinning"].listed.is_set()

    assert listed == LEGACY_TOOLS
    assert not is_settled


async def test_a_server_alone_is_waited_for(late: McpServer, release: Callable[[], None]) -> None:
    async with connected([late], search="auto") as (client, _), anyio.create_task_group() as tasks:
        tasks.start_soon(anyio.to_thread.run_sync, release)
        assert await names_of(client) == LATE_TOOLS


async def test_a_server_that_failed_is_explained_by_the_search_tools_that_stay_listed(legacy: McpServer) -> None:
    dead = McpServer(name="dead", transport="stdio", command="no-such-program-here")
    async with connected([dead, legacy], search="auto") as (client, _):
        listed = await names_of(client)
        searched = text_of(await client.call_tool("search_tools", {"query": "read a file"}))
        guessed = text_of(await client.call_tool("dead__read", {}))

    assert listed == [*OWN, *LEGACY_TOOLS]
    assert "Install 'no-such-program-here', or give its full path." in searched
    assert "Install 'no-such-program-here', or give its full path." in guessed
