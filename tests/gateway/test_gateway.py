"""A gateway in front of real servers, seen by the official client of every revision."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal

import anyio
import pytest
from mcp import MCPError, types
from mcp.client import Client
from mcp.client.session import ClientRequestContext
from tests.gateway.servers import LEGACY, MODERN, program

from hikidashi.gateway import Gateway, GatewayOptions, GatewayServer, ServerOptions
from hikidashi.gateway.first_lists import ListingCache
from hikidashi.gateway.server import GatewayMCPServer
from hikidashi.servers.config import McpServer

Mode = Literal["auto", "legacy"]
MODES: list[Mode] = ["auto", "legacy"]


async def choose_blue(context: ClientRequestContext, params: types.ElicitRequestParams) -> types.ElicitResult:
    assert params.message == "Which colour?"
    return types.ElicitResult(action="accept", content={"colour": "blue"})


@asynccontextmanager
async def connected(
    servers: list[Any], mode: Mode = "auto", search: Literal["auto", "on", "off"] = "off", **more: Any
) -> AsyncGenerator[tuple[Client, Gateway]]:
    cache = more.pop("cache", None)
    options = GatewayOptions(search=search, **more.pop("options", {}))
    async with (
        Gateway(servers, options=options, cache=cache) as gateway,
        Client(GatewayMCPServer(gateway), mode=mode, **more) as client,
    ):
        yield client, gateway


@pytest.fixture
def modern(tmp_path: Path) -> McpServer:
    return program(tmp_path, "modern", MODERN)


@pytest.fixture
def legacy(tmp_path: Path) -> McpServer:
    return program(tmp_path, "legacy", LEGACY)


def text_of(result: types.CallToolResult) -> str:
    return "\n".join(block.text for block in result.content if isinstance(block, types.TextContent))


@pytest.mark.parametrize("mode", MODES)
async def test_a_client_of_any_revision_sees_the_tools_of_servers_of_any_revision(
    mode: Mode, modern: McpServer, legacy: McpServer
) -> None:
    async with connected([modern, legacy], mode) as (client, gateway):
        names = [tool.name for tool in (await client.list_tools()).tools]
        added = await client.call_tool("modern__add", {"a": 1, "b": 2})
        read = await client.call_tool("legacy__read", {"path": "x"}, meta={"example.com/asked": 3})  # pyright: ignore[reportArgumentType]
        prompt = await client.get_prompt("modern__greet", {"name": "Bo"})
        note = await client.read_resource("note://first")

    assert names == ["modern__add", "modern__count", "legacy__ask", "legacy__read", "legacy__die", "legacy__long"]
    assert (added.structured_content, text_of(added)) == ({"result": 3}, "3")
    sent = json.loads(text_of(read))
    assert (sent["name"], sent["arguments"], sent["_meta"]["example.com/asked"]) == ("read", {"path": "x"}, 3)
    assert not [key for key in sent["_meta"] if key.startswith("io.modelcontextprotocol/")]
    assert read.meta is not None
    assert read.meta["example.com/result"] == 2
    assert "Hello Bo" in str(prompt.messages[0])
    assert "hello" in str(note.contents[0])
    assert [state.protocol for state in gateway.states] == ["2026-07-28", "2025-06-18"]


@pytest.mark.parametrize("mode", MODES)
async def test_a_server_that_asks_in_a_call_reaches_clients_that_are_asked_by_answers(
    mode: Mode, legacy: McpServer
) -> None:
    async with connected([legacy], mode, elicitation_callback=choose_blue) as (client, _):
        result = await client.call_tool("legacy__ask", {})

    assert text_of(result) == "chosen: {'action': 'accept', 'content': {'colour': 'blue'}}"


@pytest.mark.parametrize("mode", MODES)
async def test_a_client_that_cannot_be_asked_is_not(mode: Mode, legacy: McpServer) -> None:
    async with connected([legacy], mode) as (client, _):
        result = await client.call_tool("legacy__ask", {})

    assert "does not support elicitation" in text_of(result)


async def test_an_answer_for_a_parked_call_is_bound_to_its_request(legacy: McpServer) -> None:
    async with connected([legacy], elicitation_callback=choose_blue) as (client, _):
        asked = await client.session.call_tool("legacy__ask", {}, allow_input_required=True)
        assert isinstance(asked, types.InputRequiredResult)
        assert asked.input_requests is not None
        answers: types.InputResponses = {key: types.ElicitResult(action="decline") for key in asked.input_requests}
        state = asked.request_state
        assert state is not None
        for name, arguments, wrong in [
            ("legacy__read", {}, state),
            ("legacy__ask", {"other": 1}, state),
            ("legacy__ask", {}, state[:-2] + ("AA" if not state.endswith("AA") else "BB")),
        ]:
            with pytest.raises(MCPError, match="Invalid or expired requestState"):
                await client.session.call_tool(
                    name, arguments, input_responses=answers, request_state=wrong, allow_input_required=True
                )
        right = await client.session.call_tool(
            "legacy__ask", {}, input_responses=answers, request_state=state, allow_input_required=True
        )
        with pytest.raises(MCPError, match="has ended"):
            await client.session.call_tool(
                "legacy__ask", {}, input_responses=answers, request_state=state, allow_input_required=True
            )

    assert isinstance(right, types.CallToolResult)
    assert text_of(right) == "chosen: {'action': 'decline'}"


@pytest.mark.parametrize("mode", MODES)
async def test_progress_passes(mode: Mode, modern: McpServer) -> None:
    seen: list[tuple[float, float | None, str | None]] = []

    async def progress(progress: float, total: float | None, message: str | None) -> None:
        seen.append((progress, total, message))

    async with connected([modern], mode) as (client, _):
        await client.call_tool("modern__count", {}, progress_callback=progress)

    assert seen == [(1.0, 3.0, "at 1"), (2.0, 3.0, "at 2"), (3.0, 3.0, "at 3")]


async def test_a_server_that_ends_in_a_call_is_told_of_and_started_again(legacy: McpServer) -> None:
    async with connected([legacy]) as (client, gateway):
        lost = await client.call_tool("legacy__die", {})
        back = await client.call_tool("legacy__read", {})

    assert lost.is_error
    assert "ended during the call" in text_of(lost)
    assert "Whether the call was carried out is not known" in text_of(lost)
    assert not back.is_error
    assert gateway.states[0].restarts == 1


async def test_a_call_that_only_reads_is_repeated_when_its_server_was_killed(legacy: McpServer) -> None:
    async with connected([legacy]) as (client, _):
        first = await client.call_tool("legacy__read", {})
        assert first.structured_content is not None
        os.kill(first.structured_content["pid"], signal.SIGSTOP)
        os.kill(first.structured_content["pid"], signal.SIGKILL)
        again = await client.call_tool("legacy__read", {})

    assert again.structured_content is not None
    assert again.structured_content["pid"] != first.structured_content["pid"]


async def test_one_dead_server_does_not_keep_the_others_from_answering(legacy: McpServer) -> None:
    dead = McpServer(name="dead", transport="stdio", command="no-such-program-here")
    async with connected([dead, legacy], search="on") as (client, gateway):
        found = text_of(await client.call_tool("search_tools", {"query": "read a file"}))

    assert '{"name":"legacy__read","call_with":"call_read_tool"' in found
    assert "the server 'dead' cannot be reached now" in found
    assert "Install 'no-such-program-here', or give its full path." in found
    assert gateway.states[0].status == "failed"


async def test_above_the_threshold_a_client_sees_a_search_and_what_calls(modern: McpServer, legacy: McpServer) -> None:
    async with connected([modern, legacy], search="auto", options={"most_listed": 3}) as (client, gateway):
        await gateway.listed(60)
        tools = (await client.list_tools()).tools
        again = (await client.list_tools()).tools
    async with connected([legacy], search="auto") as (client, _):
        few = [tool.name for tool in (await client.list_tools()).tools]

    assert [tool.name for tool in tools] == ["search_tools", "call_read_tool", "call_tool", "read_result"]
    assert tools == again
    search, *calling = [tool.meta for tool in tools]
    assert search == {"anthropic/alwaysLoad": True}
    assert calling == [{"anthropic/alwaysLoad": True, "anthropic/maxResultSizeChars": 120_000}] * 3
    assert "modern (2 tools): Sums and notes." in (tools[0].description or "")
    assert few == ["legacy__ask", "legacy__read", "legacy__die", "legacy__long"]


async def test_approval_survives_because_each_tool_has_its_own_way_to_be_called(legacy: McpServer) -> None:
    async with connected([legacy], search="on") as (client, _):
        read = await client.call_tool("call_read_tool", {"name": "legacy__read", "arguments": {}})
        wrong = await client.call_tool("call_read_tool", {"name": "legacy__die", "arguments": {}})
        other = await client.call_tool("call_tool", {"name": "legacy__read", "arguments": {}})

    assert not read.is_error
    assert text_of(wrong) == "'legacy__die' may change something: call it with call_tool."
    assert text_of(other) == "'legacy__read' only reads: call it with call_read_tool."


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("search", ["on", "auto"])
async def test_the_first_call_after_a_start_is_held_to_the_same_rule_before_any_list_is_known(
    legacy: McpServer, mode: Mode, search: Literal["on", "auto"]
) -> None:
    call: dict[str, Any] = {"name": "legacy__die", "arguments": {}}
    async with connected([legacy], mode, search=search, options={"most_listed": 1}) as (client, _):
        wrong = await client.session.call_tool("call_read_tool", call)
        found = await client.session.call_tool("search_tools", {"query": "legacy__read"})

    assert isinstance(wrong, types.CallToolResult)
    assert isinstance(found, types.CallToolResult)
    assert text_of(wrong) == "'legacy__die' may change something: call it with call_tool."
    assert '"name":"legacy__read"' in text_of(found)


async def test_the_person_may_say_which_tools_only_read(legacy: McpServer) -> None:
    mine = GatewayServer(legacy, ServerOptions(read_only=("lo*",)))
    async with connected([mine], search="on") as (client, _):
        result = await client.call_tool("call_read_tool", {"name": "legacy__long", "arguments": {}})

    assert not result.is_error


async def test_an_unknown_name_is_answered_with_the_nearest_tools(legacy: McpServer) -> None:
    async with connected([legacy], search="on") as (client, _):
        guessed = await client.call_tool("read_file", {})
        called = await client.call_tool("call_tool", {"name": "read_a_file", "arguments": {}})

    for result in (guessed, called):
        assert result.is_error
        assert '{"name":"legacy__read","call_with":"call_read_tool"' in text_of(result)


async def test_wrong_arguments_come_back_with_the_definition(modern: McpServer) -> None:
    async with connected([modern], search="on") as (client, _):
        result = await client.call_tool("call_tool", {"name": "modern__add", "arguments": {"a": 1}})

    assert result.is_error
    assert "b\n  Field required" in text_of(result)
    assert '"required":["a","b"]' in text_of(result)


async def test_a_long_result_is_cut_and_can_be_read_to_its_end(legacy: McpServer) -> None:
    mine = GatewayServer(legacy, ServerOptions(result_characters=100_000))
    async with connected([mine], search="on") as (client, _):
        cut = text_of(await client.call_tool("call_tool", {"name": "legacy__long", "arguments": {}}))
        handle = cut.partition('handle="')[2].partition('"')[0]
        rest = ""
        while True:
            part = text_of(await client.call_tool("read_result", {"handle": handle, "offset": len(rest)}))
            body, _, note = part.rpartition("\n[")
            rest += body if note.endswith("offset=" + str(len(rest) + len(body)) + ").]") else part
            if not note.endswith(").]"):
                break

    shown = cut.rpartition("\n[")[0]
    assert len(shown) <= 100_000
    assert shown + rest == "word " * 50000


async def test_results_pass_untouched_where_tools_are_listed(legacy: McpServer) -> None:
    async with connected([legacy]) as (client, _):
        result = await client.call_tool("legacy__long", {})

    assert text_of(result) == "word " * 50000


async def test_found_tools_are_listed_only_for_older_clients_that_want_it(legacy: McpServer) -> None:
    names: dict[Mode, list[str]] = {}
    for mode in MODES:
        async with connected([legacy], mode, search="on", options={"promote": True}) as (client, _):
            await client.call_tool("search_tools", {"query": "read a file"})
            names[mode] = [tool.name for tool in (await client.list_tools(cache_mode="bypass")).tools]

    assert "legacy__read" in names["legacy"]
    assert "legacy__read" not in names["auto"]


async def test_the_second_start_lists_at_once_and_starts_no_server(tmp_path: Path, legacy: McpServer) -> None:
    cache = ListingCache(tmp_path / "cache")
    async with connected([legacy], cache=cache) as (client, _):
        first = [tool.name for tool in (await client.list_tools()).tools]
    async with connected([legacy], cache=cache) as (client, gateway):
        second = [tool.name for tool in (await client.list_tools()).tools]
        waiting = gateway.states[0].status
        await client.call_tool("legacy__read", {})
        ready = gateway.states[0].status

    assert first == second
    assert (waiting, ready) == ("waiting", "ready")
    assert [path.stat().st_mode & 0o777 for path in (tmp_path / "cache").iterdir()] == [0o600]


async def test_two_servers_of_one_name_are_refused(legacy: McpServer) -> None:
    with pytest.raises(ValueError, match="Two MCP servers are named 'legacy'"):
        Gateway([legacy, legacy])


async def test_a_server_that_never_answers_fails_in_its_own_time(tmp_path: Path, legacy: McpServer) -> None:
    silent = GatewayServer(
        program(tmp_path, "silent", "import time\ntime.sleep(600)"), ServerOptions(start_seconds=0.5)
    )
    async with connected([silent, legacy]) as (client, gateway):
        names = [tool.name for tool in (await client.list_tools()).tools]
        while gateway.states[0].status != "failed":
            await anyio.sleep(0.01)

    assert names[0] == "legacy__ask"
    assert "no answer within 0.5 s" in gateway.states[0].reason
    assert "raise `start_seconds`" in gateway.states[0].remedy


async def test_a_server_that_sends_garbage_is_shown_as_such(tmp_path: Path, legacy: McpServer) -> None:
    garbage = program(tmp_path, "garbage", "import sys\nfor line in sys.stdin: print('<html>', flush=True)")
    given = GatewayServer(garbage, ServerOptions(start_seconds=1.0))
    async with connected([given, legacy]) as (client, gateway):
        names = [tool.name for tool in (await client.list_tools()).tools]
        while gateway.states[0].status != "failed":
            await anyio.sleep(0.01)

    assert names[0] == "legacy__ask"
    assert "garbage" not in str(names)


async def test_a_call_that_takes_too_long_is_ended(tmp_path: Path) -> None:
    slow = program(tmp_path, "legacy", LEGACY.replace('"long":\n', '"long":\n        import time; time.sleep(60)\n'))
    async with connected([GatewayServer(slow, ServerOptions(call_seconds=0.3))]) as (client, _):
        with pytest.raises(MCPError, match=r"did not answer within 0\.3 s"):
            await client.call_tool("legacy__long", {})


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("action", ["accept", "decline"])
async def test_a_person_is_asked_before_a_tool_that_may_destroy_something(
    mode: Mode, action: Literal["accept", "decline"], legacy: McpServer
) -> None:
    asked: list[str] = []

    async def answer(_: ClientRequestContext, params: types.ElicitRequestParams) -> types.ElicitResult:
        asked.append(params.message)
        return types.ElicitResult(action=action, content={"remember": True} if action == "accept" else None)

    careful = GatewayServer(legacy, ServerOptions(confirm="destructive"))
    async with connected([careful], mode, elicitation_callback=answer) as (client, _):
        first = await client.call_tool("legacy__long", {"a": 1, "b": 2})
        await client.call_tool("legacy__long", {"a": 1, "b": 2})

    assert asked[0] == "Allow the server 'legacy' to run 'long'?\n  a: 1\n  b: 2"
    if action == "accept":
        assert text_of(first) == "word " * 50000
        assert len(asked) == 1  # it is remembered for this conversation
    else:
        assert text_of(first) == "'legacy__long' was not called. The person did not agree to this call."
        assert len(asked) == 2
