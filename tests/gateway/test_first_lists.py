"""A server that hangs at its very first start delays nobody, and its tools are reached when they come."""

from __future__ import annotations

import math
from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, Literal

import anyio
import pytest
from anyio.abc import SocketAttribute, SocketStream
from mcp import MCPError, types
from mcp.client import Client
from tests.gateway.servers import LEGACY, MODERN, program
from tests.gateway.test_gateway import MODES, Mode, connected, text_of

from hikidashi.gateway import Gateway
from hikidashi.gateway.first_lists import ListingCache
from hikidashi.servers.config import McpServer

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
    monkeypatch.setattr("hikidashi.gateway.first_lists._MOST", 3600.0)


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
    monkeypatch.setattr("hikidashi.gateway.first_lists._GRACE", 3600.0)
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


# Touches memory that is new to the process, as the start of a program does, for ever.
LOADING = """
import mmap, time
def load():
    with mmap.mmap(-1, 1 << 20) as memory:
        for page in range(0, 1 << 20, mmap.PAGESIZE):
            memory[page] = 1
"""


@pytest.fixture
def no_time_to_start(monkeypatch: pytest.MonkeyPatch, no_time_limit: None) -> None:
    """A process that works on its start is waited for as long as it does."""
    monkeypatch.setattr("hikidashi.gateway.first_lists._LEAST", 3600.0)


@pytest.fixture
def no_limit_of_work(monkeypatch: pytest.MonkeyPatch, no_time_to_start: None) -> None:
    monkeypatch.setattr("hikidashi.gateway.upstream.processes._LEAST_WORK", 3600.0)


@pytest.mark.usefixtures("no_limit_of_work")
async def test_a_server_that_works_on_its_start_is_waited_for(tmp_path: Path, legacy: McpServer) -> None:
    slow = LOADING + "while time.process_time() < 1.0: load()\n" + MODERN
    async with connected([program(tmp_path, "slow", slow), legacy]) as (client, _):
        listed = await names_of(client)

    assert listed == ["slow__add", "slow__count", *LEGACY_TOOLS]


@pytest.mark.usefixtures("no_limit_of_work")
@pytest.mark.parametrize(
    "code",
    [
        pytest.param("while True: pass", id="spins"),
        pytest.param("import time\nwhile True: print('no JSON', flush=True); time.sleep(0.01)", id="sends garbage"),
        pytest.param("import time\nwhile True: time.sleep(0.01)", id="wakes up and sleeps"),
    ],
)
async def test_a_process_that_does_something_else_than_start_is_left_out(
    code: str, tmp_path: Path, legacy: McpServer
) -> None:
    async with connected([program(tmp_path, "bad", code), legacy], search="auto") as (client, gateway):
        listed = await names_of(client)
        searched = text_of(await client.call_tool("search_tools", {"query": "read a file"}))
        is_settled = gateway.upstreams["bad"].listed.is_set()

    assert listed == [*OWN, *LEGACY_TOOLS]
    assert "still starting, its tools are not known yet: 'bad'" in searched
    assert not is_settled


@pytest.mark.usefixtures("no_time_to_start")
async def test_a_server_that_works_for_longer_than_a_start_takes_is_left_out(tmp_path: Path, legacy: McpServer) -> None:
    endless = program(tmp_path, "endless", LOADING + "while True: load()")
    async with connected([endless, legacy]) as (client, gateway):
        listed = await names_of(client)
        is_settled = gateway.upstreams["endless"].listed.is_set()

    assert listed == LEGACY_TOOLS
    assert not is_settled


@pytest.mark.usefixtures("no_time_limit")
async def test_a_server_on_http_that_never_answers_is_left_out(legacy: McpServer) -> None:
    async def accept(stream: SocketStream) -> None:
        async with stream:
            await anyio.sleep_forever()

    async with await anyio.create_tcp_listener(local_host="127.0.0.1") as listener, anyio.create_task_group() as tasks:
        tasks.start_soon(listener.serve, accept)
        port = listener.extra(SocketAttribute.local_port)
        silent = McpServer(name="silent", transport="http", url=f"http://127.0.0.1:{port}/mcp")
        async with connected([silent, legacy], search="auto") as (client, gateway):
            assert await names_of(client) == [*OWN, *LEGACY_TOOLS]
            assert not gateway.upstreams["silent"].listed.is_set()
        tasks.cancel_scope.cancel()


@pytest.mark.parametrize(
    ("seconds_of_first", "is_over"),
    [pytest.param(0.4, False, id="within the grace"), pytest.param(0.6, True, id="after it")],
)
def test_the_grace_counts_from_the_start_of_the_gateway(
    seconds_of_first: float, is_over: bool, legacy: McpServer, late: McpServer
) -> None:
    gateway = Gateway([legacy, late])
    lists = gateway.first_lists
    lists.begin(100.0)
    before = lists.is_over(109.0)
    lists.one_listed(gateway.upstreams["legacy"], 100.0 + seconds_of_first)

    assert (before, lists.is_over(100.0 + seconds_of_first), lists.is_over(100.5)) == (False, is_over, True)


async def test_a_list_that_is_searched_waits_for_no_server_that_hangs_even_if_there_is_no_other(
    late: McpServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hikidashi.gateway.first_lists._LEAST", 0.0)
    monkeypatch.setattr("hikidashi.gateway.first_lists._MOST", 3600.0)
    async with connected([late], search="on") as (client, gateway):
        assert await names_of(client) == OWN
        assert not gateway.upstreams["late"].listed.is_set()


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
