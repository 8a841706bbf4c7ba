"""Servers and clients that misbehave: each has an answer, and nobody else notices."""

from __future__ import annotations

import json
import re
import resource
import subprocess
import sys
import tempfile
from collections.abc import Generator
from contextlib import AsyncExitStack, contextmanager
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mcp import MCPError, types
from mcp.client import Client
from mcp.client.session import ClientRequestContext
from tests.gateway.faulty import FORGETFUL_HTTP, STDIO
from tests.gateway.servers import LEGACY, program
from tests.gateway.test_gateway import MODES, Mode, connected, text_of

from hikidashi.errors import SearchLogError
from hikidashi.gateway import Gateway, GatewayOptions, GatewayServer, ServerOptions
from hikidashi.gateway.first_lists import ListingCache
from hikidashi.gateway.server import GatewayMCPServer
from hikidashi.gateway.upstream.listing import Listing
from hikidashi.search.log_sqlite import SearchLog
from hikidashi.servers.config import McpServer

HIKIDASHI = str(Path(sys.executable).with_name("hikidashi"))


@pytest.fixture
def faulty(tmp_path: Path) -> McpServer:
    return program(tmp_path, "faulty", STDIO)


@pytest.fixture
def legacy(tmp_path: Path) -> McpServer:
    return program(tmp_path, "legacy", LEGACY)


@contextmanager
def forgetful(folder: Path, source: str = FORGETFUL_HTTP) -> Generator[McpServer]:
    path = folder / "forgetful.py"
    path.write_text(source)
    with subprocess.Popen([sys.executable, str(path)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        port = process.stdout.readline().strip()
        yield McpServer(name="forgetful", transport="http", url=f"http://127.0.0.1:{port}/mcp")
        process.kill()


@pytest.mark.parametrize("mode", MODES)
async def test_a_session_that_a_server_forgot_is_opened_anew_and_only_what_reads_is_repeated(
    mode: Mode, tmp_path: Path
) -> None:
    with forgetful(tmp_path) as server:
        async with connected([server], mode) as (client, gateway):
            said = [text_of(await client.call_tool(f"forgetful__{name}", {})) for name in ("read", "forget", "read")]
            await client.call_tool("forgetful__forget", {})
            told = await client.call_tool("forgetful__write", {})
            again = text_of(await client.call_tool("forgetful__write", {}))

    assert said == ["read in session-1", "forget in session-1", "read in session-2"]
    assert told.is_error
    assert "Whether the call was carried out is not known" in text_of(told)
    assert again == "write in session-3"
    assert gateway.states[0].status == "ready"


GOOD = '{"jsonrpc": "2.0", "id": ID, "result": {"content": [{"type": "text", "text": "fine"}]}}'


async def test_garbage_in_a_call_is_passed_over_and_an_answer_that_is_none_is_an_error(faulty: McpServer) -> None:
    noise = ["<html>", "", "\xff\xfe\x00", "[" * 100_000, '{"jsonrpc": "2.0", "id": "other", "result": {}}', "[1]"]
    no_answers = {
        '{"jsonrpc": "2.0", "id": ID, "result": [1]}': "`result` is an array",
        '{"jsonrpc": "2.0", "id": ID, "result": null}': "`result` is null",
        '{"jsonrpc": "2.0", "id": ID, "error": "broken"}': "`error` is a string",
        '{"jsonrpc": "2.0", "id": ID}': "it has neither `result` nor `error`",
        '{"jsonrpc": "2.0", "id": ID, "result": {"content": "text"}}': "content: Input should be a valid list",
    }
    async with connected([faulty]) as (client, gateway):
        answered = text_of(await client.call_tool("faulty__garble", {"lines": [*noise, GOOD]}))
        for line, reason in no_answers.items():
            with pytest.raises(MCPError, match=re.escape(f"sent an invalid response: {reason}")):
                await client.call_tool("faulty__garble", {"lines": [line]})

    assert answered == "fine"
    assert gateway.states[0].restarts == 0


@contextmanager
def full_disk() -> Generator[None]:
    """No file can grow: what a disk without room says is said."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


async def test_a_full_disk_costs_the_cache_and_delays_the_records_and_nothing_else(
    faulty: McpServer, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    cache, record = ListingCache(tmp_path / "cache"), SearchLog(tmp_path / "searches.db")
    options = GatewayOptions(search="on")
    async with (
        Gateway([faulty], options=options, cache=cache, record=record) as gateway,
        Client(GatewayMCPServer(gateway)) as client,
    ):
        await gateway.listed(60)
        with full_disk():
            found = text_of(await client.call_tool("search_tools", {"query": "heard"}))
            grown = text_of(await client.call_tool("call_tool", {"name": "faulty__grow", "arguments": {}}))
            while "faulty__grown" not in gateway.merged.tools:
                await anyio.lowlevel.checkpoint()
            with pytest.raises(SearchLogError):
                record.flush()
        kept = cache.read(faulty)
    record.close()

    assert '"name":"faulty__heard"' in found
    assert grown == "grown"
    assert "are not kept for the next start" in caplog.text
    assert kept is not None
    assert "grown" not in {tool.name for tool in kept.tools}
    with SearchLog(tmp_path / "searches.db", must_exist=True) as written:
        assert (len(written.searches()), written.usage()) == (1, {"faulty__grow": 1})


async def test_a_cache_file_that_was_damaged_costs_the_quick_start_and_nothing_else(
    faulty: McpServer, tmp_path: Path
) -> None:
    cache = ListingCache(tmp_path / "cache")
    async with connected([faulty], cache=cache) as (client, _):
        names = [tool.name for tool in (await client.list_tools()).tools]
    (path,) = (tmp_path / "cache").iterdir()
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])

    async with connected([faulty], cache=cache) as (client, _):
        again = [tool.name for tool in (await client.list_tools()).tools]

    assert again == names
    assert path.read_bytes() == whole


@given(st.data())
@settings(max_examples=60)
def test_whatever_is_in_a_cache_file_is_a_listing_or_nothing(data: st.DataObject) -> None:
    """A file with anything in it, or the right one with anything in one place."""
    anything = st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=5),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
        max_leaves=5,
    )
    tool = types.Tool(name="a", input_schema={"type": "object"})
    right: dict[str, Any] = Listing(tools=(tool,), instructions="Read.", protocol="2025-06-18", notes=("n",)).to_json()
    right[data.draw(st.sampled_from(sorted(right)))] = data.draw(anything)
    written = data.draw(
        st.binary()
        | st.just(b"[" * 10_000)
        | anything.map(lambda value: json.dumps(value).encode())
        | st.just(json.dumps({"version": 1, "listing": right}).encode())
    )
    server = McpServer(name="any", transport="stdio", command="any")
    with tempfile.TemporaryDirectory() as folder:
        cache = ListingCache(Path(folder))
        cache.write(server, Listing())
        (path,) = Path(folder).iterdir()
        path.write_bytes(written)

        read = cache.read(server)

    if read is not None:
        assert isinstance(read.instructions, str | None)
        assert isinstance(read.protocol, str)
        assert all(isinstance(note, str) for note in read.notes)
        assert Listing.from_json(read.to_json()) == read


@pytest.mark.soak
async def test_a_flood_of_100_mb_ends_that_server_and_nothing_else(faulty: McpServer, legacy: McpServer) -> None:
    async with connected([faulty, legacy]) as (client, gateway):
        flood = await client.call_tool("faulty__flood", {})
        other = await client.call_tool("legacy__read", {})
        back = await client.call_tool("faulty__heard", {})

    assert flood.is_error
    assert "ended during the call" in text_of(flood)
    assert not other.is_error
    assert not back.is_error
    assert gateway.states[0].restarts == 1


@pytest.mark.parametrize("mode", MODES)
async def test_clients_are_told_of_tools_that_a_server_gets_in_mid_session(mode: Mode, faulty: McpServer) -> None:
    tell, told = anyio.create_memory_object_stream[Any](100)

    async def heard(message: Any) -> None:
        if isinstance(message, types.ToolListChangedNotification):
            await tell.send(message)

    async def names(client: Client) -> list[str]:
        return [tool.name for tool in (await client.list_tools(cache_mode="bypass")).tools]

    async with tell, told, connected([faulty], mode, message_handler=heard) as (client, _), AsyncExitStack() as stack:
        before = after = await names(client)
        changes = told
        if mode == "auto":
            changes = await stack.enter_async_context(client.listen(tools_list_changed=True))
        await client.call_tool("faulty__grow", {})
        with anyio.fail_after(20):
            async for _ in changes:
                if (after := await names(client)) != before:
                    break

    assert after == [*before, "faulty__grown"]


async def test_5000_tools_and_two_of_one_name(tmp_path: Path) -> None:
    many = program(tmp_path, "many", STDIO.replace("MANY = 0", "MANY = 5000"))
    async with connected([many], search="auto") as (client, gateway):
        listed = [tool.name for tool in (await client.list_tools()).tools]
        found = text_of(await client.call_tool("search_tools", {"query": "tool_4711"}))
        called = text_of(await client.call_tool("call_tool", {"name": "many__tool_4711", "arguments": {}}))
        listing = gateway.upstreams["many"].listing

    assert listed == ["search_tools", "call_read_tool", "call_tool", "read_result"]
    assert '"name":"many__tool_4711"' in found.splitlines()[1]
    assert called == "did tool_4711"
    assert listing is not None
    assert len(listing.tools) == 5008
    assert listing.notes == tuple(f"two tools are named {name!r}; the first is used" for name in ("grow", "wait"))


@pytest.mark.parametrize("leaves", [False, True])
@pytest.mark.parametrize("mode", MODES)
async def test_a_call_that_its_client_gives_up_is_cancelled_at_the_server(
    mode: Mode, leaves: bool, faulty: McpServer
) -> None:
    async with Gateway([faulty], options=GatewayOptions(search="off")) as gateway:
        server = GatewayMCPServer(gateway)

        async def give_up(client: Client) -> None:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(client.call_tool, "faulty__wait")
                while text_of(await client.call_tool("faulty__heard", {})) != "wait":
                    await anyio.sleep(0.01)
                tasks.cancel_scope.cancel()

        async with Client(server, mode=mode) as other:
            if leaves:
                with anyio.CancelScope() as gone:
                    async with Client(server, mode=mode) as client:
                        await give_up(client)
                        gone.cancel()
            else:
                await give_up(other)
            with anyio.fail_after(20):
                while text_of(await other.call_tool("faulty__heard", {})) != "wait cancelled":
                    await anyio.sleep(0.01)


@pytest.mark.parametrize("mode", MODES)
async def test_a_server_that_asks_for_ever_is_stopped(mode: Mode, faulty: McpServer) -> None:
    asked: list[str] = []

    async def answer(_: ClientRequestContext, params: types.ElicitRequestParams) -> types.ElicitResult:
        asked.append(params.message)
        return types.ElicitResult(action="accept", content={})

    async with connected([faulty], mode, elicitation_callback=answer, input_required_max_rounds=100) as (client, _):
        with pytest.raises(MCPError, match="sent more than 50 requests in one call"):
            await client.call_tool("faulty__ask_for_ever", {})
        after = text_of(await client.call_tool("faulty__heard", {}))

    assert len(asked) == 50
    assert after == "cancelled"


async def test_a_client_that_never_answers_holds_up_nobody_else(legacy: McpServer) -> None:
    one_at_once = GatewayServer(legacy, ServerOptions(at_once=1))

    async def choose(context: ClientRequestContext, params: types.ElicitRequestParams) -> types.ElicitResult:
        del context, params
        return types.ElicitResult(action="accept", content={"colour": "red"})

    async with Gateway([one_at_once], options=GatewayOptions(search="off")) as gateway:
        server = GatewayMCPServer(gateway)
        async with (
            Client(server, elicitation_callback=choose) as silent,
            Client(server, elicitation_callback=choose) as other,
        ):
            for _ in range(3):
                asked = await silent.session.call_tool("legacy__ask", {}, allow_input_required=True)
                assert isinstance(asked, types.InputRequiredResult)
            read = await other.call_tool("legacy__read", {})
            answered = await other.call_tool("legacy__ask", {})

    assert not read.is_error
    assert "red" in text_of(answered)
