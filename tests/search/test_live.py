"""A catalogue that follows real MCP servers: over pipes and HTTP, in both protocols, killed in between."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from mcp import Client
from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from tests.mcp_support import call, search, text_of
from tests.support import saying_its_name

from hikidashi import Tool
from hikidashi.errors import ToolConnectionError, ToolValidationError
from hikidashi.search import LiveServers, McpServer, ToolCatalog, deferred, to_mcp_search, to_pydantic_ai_search
from hikidashi.search.answers import found_names
from hikidashi.search.live import ServerState
from hikidashi.search.pydantic_ai import toolset_of

MODERN = """
import os, pathlib, sys
from mcp.server.mcpserver import Context, MCPServer

server = MCPServer("mail")

@server.tool()
def send_mail(to: str) -> str:
    "Send a mail to somebody."
    return f"sent to {to} by {os.getpid()}"

@server.tool()
async def learn(name: str, context: Context) -> str:
    "Learn something new."
    server.add_tool(lambda: f"{name} done", name=name, description="Book a flight to an island.")
    await context.session.send_tool_list_changed()
    await context.notify_tools_changed()
    return "learned"

pathlib.Path(sys.argv[1]).write_text(str(os.getpid()))
if len(sys.argv) > 2:
    server.run("streamable-http", port=int(sys.argv[2]))
else:
    server.run()
"""

LEGACY = """
import json, os, pathlib, sys

def tool(name, description):
    return {"name": name, "description": description, "inputSchema": {"type": "object"}}

tools = [tool("send_mail", "Send a mail to somebody."), tool("learn", "Learn something new.")]
pathlib.Path(sys.argv[1]).write_text(str(os.getpid()))
for line in sys.stdin:
    asked = json.loads(line)
    if "id" not in asked:
        continue
    answer, params = {"jsonrpc": "2.0", "id": asked["id"]}, asked.get("params", {})
    if asked["method"] == "initialize":
        info, able = {"name": "mail", "version": "1"}, {"tools": {"listChanged": True}}
        version = params["protocolVersion"]
        answer["result"] = {"protocolVersion": version, "capabilities": able, "serverInfo": info}
    elif asked["method"] == "tools/list":
        answer["result"] = {"tools": tools}
    elif asked["method"] == "tools/call" and params["name"] == "learn":
        tools.append(tool(params["arguments"]["name"], "Book a flight to an island."))
        print(json.dumps({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}), flush=True)
        answer["result"] = {"content": [{"type": "text", "text": "learned"}]}
    elif asked["method"] == "tools/call":
        said = f"sent to {params['arguments'].get('to')} by {os.getpid()}"
        answer["result"] = {"content": [{"type": "text", "text": said}]}
    else:
        answer["error"] = {"code": -32601, "message": "no such method"}
    print(json.dumps(answer), flush=True)
"""


ODD = """
import json, os, sys

def tool(name, description="It does something."):
    return {"name": name, "description": description, "inputSchema": {"type": "object"}}

def send(**message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)

mode, listed, called = sys.argv[1], 0, 0
for line in sys.stdin:
    asked = json.loads(line)
    if "id" not in asked:
        continue
    if asked["method"] == "initialize":
        info, able = {"name": "odd", "version": "1"}, {"tools": {"listChanged": True}}
        version = asked["params"]["protocolVersion"]
        send(id=asked["id"], result={"protocolVersion": version, "capabilities": able, "serverInfo": info})
    elif asked["method"] == "tools/list":
        listed += 1
        if mode == "announces each list":
            send(method="notifications/tools/list_changed")
        tools = [tool("count"), tool("water", "Water the plants." if called else "Feed the cat."), tool("learn")]
        if mode == "has invalid tools":
            tools += [{"name": "typeless", "inputSchema": {}}, {"name": "list", "inputSchema": {"type": "array"}}]
            tools += [tool("water", "Another."), tool(""), {"description": "nameless"}]
        if mode == "forgets" and called:
            tools = [tool("count")]
        if mode == "has many":
            tools = [tool(f"tool_{number}", f"Water plant {number}.") for number in range(2_000)]
        if mode == "dies in its second list" and listed == 2:
            os._exit(3)
        send(id=asked["id"], result={"tools": tools})
    elif asked["method"] == "tools/call":
        called += 1
        if mode == "refuses calls":
            send(id=asked["id"], error={"code": -32603, "message": "the tank is empty"})
            continue
        send(method="notifications/tools/list_changed")
        send(id=asked["id"], result={"content": [{"type": "text", "text": str(listed)}]})
    else:
        send(id=asked["id"], error={"code": -32601, "message": "no such method"})
"""


WEATHER = saying_its_name("get_weather")


def process(code: str, note: Path) -> McpServer:
    return McpServer(
        name="mail", transport="stdio", command=sys.executable, args=("-c", textwrap.dedent(code), str(note))
    )


def live(server: McpServer, **options: Any) -> LiveServers:
    given: dict[str, Any] = {"retry_after": 0.05, "check_every": 600.0, **options}
    return LiveServers([server], **given)


async def until(followed: LiveServers, holds: Callable[[], bool]) -> None:
    """Return when it holds; whatever changes is looked at."""
    with anyio.fail_after(30):
        while not holds():
            await followed.changed()


def killed(note: Path) -> str:
    pid = note.read_text()
    os.kill(int(pid), signal.SIGKILL)
    return pid


@pytest.fixture(params=[MODERN, LEGACY], ids=["2026-07-28", "before"])
def code(request: pytest.FixtureRequest) -> str:
    return request.param


async def test_tools_that_a_server_adds_are_found(code: str, tmp_path: Path) -> None:
    async with live(process(code, tmp_path / "pid")) as followed:
        assert followed.catalog.names == ["mail__send_mail", "mail__learn"]
        async with Client(to_mcp_search(followed.catalog), mode="legacy") as client:
            await search(client, "select:mail__learn")
            assert text_of(await call(client, "mail__learn", {"name": "book_flight"})) == "learned"
            await until(followed, lambda: "mail__book_flight" in followed.catalog)
            assert found_names(text_of(await search(client, "book a flight"))) == ["mail__book_flight"]


async def test_a_server_that_is_killed_is_hidden_and_comes_back(code: str, tmp_path: Path) -> None:
    note, states = tmp_path / "pid", list[ServerState]()
    async with live(process(code, note), on_change=states.append, catalog=ToolCatalog([WEATHER])) as followed:
        kept: Tool = followed.catalog.get("mail__send_mail")  # pyright: ignore[reportAssignmentType]
        async with Client(to_mcp_search(followed.catalog), mode="legacy") as client:
            await search(client, "send a mail")
            note.rename(tmp_path / "first")
            note.mkdir()  # in the place of its note, so that it cannot start again
            first = killed(tmp_path / "first")
            await until(followed, lambda: followed.states["mail"].status == "lost")

            assert followed.catalog.names == ["get_weather"]
            assert text_of(await search(client, "send a mail")) == (
                "What fits 'send a mail' cannot be used now, because its server does not answer: mail__send_mail. "
                "Go on without it, or search again later."
            )
            assert text_of(await search(client, "select:get_weather,mail__send_mail")).endswith(
                "\nCannot be used now, because their server does not answer: mail__send_mail."
            )
            assert text_of(await call(client, "mail__send_mail", {"to": "Ada"})).startswith(
                "'mail__send_mail' could not be called: its server does not answer at the moment."
            )
            with pytest.raises(ToolConnectionError):
                await kept.call({"to": "Ada"})

            note.rmdir()
            await until(followed, lambda: "mail__send_mail" in followed.catalog)
            said = text_of(await call(client, "mail__send_mail", {"to": "Ada"}))
            assert said == f"sent to Ada by {note.read_text()}" != f"sent to Ada by {first}"
            assert (await kept.call({"to": "Ada"})).text == said
            assert "does not answer" not in text_of(await search(client, "send a mail"))
    assert [state.status for state in states][:2] == ["ready", "lost"]
    assert states[-1].status == "ready"
    assert str(states[0]) == "MCP server 'mail' has 2 tools."
    assert str(states[1]).startswith("MCP server 'mail' is lost: it closed the connection")


# Over HTTP


@pytest.fixture
def http_server(tmp_path: Path) -> Iterator[tuple[McpServer, Callable[[], None]]]:
    """A server over HTTP that is not started yet, and what starts it."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    started: list[subprocess.Popen[bytes]] = []

    def start() -> None:
        started.append(
            subprocess.Popen(
                [sys.executable, "-c", textwrap.dedent(MODERN), str(tmp_path / "pid"), str(port)],
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
        )

    yield McpServer(name="mail", transport="http", url=f"http://127.0.0.1:{port}/mcp"), start
    for one in started:
        one.kill()
        one.wait()


async def test_a_server_over_http_is_followed_from_its_late_start_through_its_death(
    http_server: tuple[McpServer, Callable[[], None]], tmp_path: Path
) -> None:
    server, start = http_server
    async with live(server) as followed:
        assert followed.states["mail"].status == "lost"
        assert "ConnectError" in followed.states["mail"].why
        start()
        await until(followed, lambda: len(followed.catalog) == 2)
        tool: Any = followed.catalog.get("mail__learn")
        assert (await tool.call({"name": "book_flight"})).text == "learned"
        await until(followed, lambda: "mail__book_flight" in followed.catalog)

        killed(tmp_path / "pid")
        await until(followed, lambda: followed.states["mail"].status == "lost")
        assert len(followed.catalog) == 0
        start()
        await until(followed, lambda: "mail__send_mail" in followed.catalog)
        tool = followed.catalog.get("mail__send_mail")
        assert (await tool.call({"to": "Ada"})).text.startswith("sent to Ada")


async def test_a_server_with_the_older_sse_transport_is_lost_for_a_reason_that_is_its_own(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    code = MODERN.replace('"streamable-http"', '"sse"')
    arguments = [sys.executable, "-c", code, str(tmp_path / "pid"), str(port)]
    with subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as one:
        async with live(McpServer(name="mail", transport="sse", url=f"http://127.0.0.1:{port}/sse")) as followed:
            await until(followed, lambda: len(followed.catalog) == 2)
            tool: Any = followed.catalog.get("mail__send_mail")
            one.kill()
            one.wait()
            await until(followed, lambda: followed.states["mail"].status == "lost")
            assert followed.states["mail"].why == "it closed the connection"
            with pytest.raises(ToolConnectionError, match=r"'mail__send_mail' is lost: .* call again later"):
                await tool.call({"to": "Ada"})


# Servers that are hard to follow


def odd(mode: str) -> McpServer:
    return McpServer(name="odd", transport="stdio", command=sys.executable, args=("-c", ODD, mode))


async def test_a_description_that_changes_is_told_though_the_names_are_the_same() -> None:
    states: list[ServerState] = []
    async with live(odd("changes"), on_change=states.append) as followed:
        tool: Any = followed.catalog.get("odd__water")
        assert tool.description == "Feed the cat."
        with anyio.fail_after(30):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(followed.changed)
                await tool.call({})
        changed: Any = followed.catalog.get("odd__water")
        assert changed.description == "Water the plants."
    assert [state.status for state in states] == ["ready", "ready"]


async def test_invalid_tools_of_a_server_cost_no_other_and_are_named(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("WARNING", "hikidashi"):
        async with live(odd("has invalid tools")) as followed:
            assert followed.catalog.names == ["odd__count", "odd__water", "odd__learn", "odd__typeless"]
            water: Any = followed.catalog.get("odd__water")
            assert water.description == "Feed the cat."
    said = [record.getMessage() for record in caplog.records]
    assert [line.split(",")[0] for line in said] == [
        "MCP server 'odd': the tool 'list' is left out",
        "MCP server 'odd': the tool number 7 is left out",
        "MCP server 'odd': the tool number 8 is left out",
        "MCP server 'odd': two tools are named 'water'; the first is used",
    ]


async def test_a_server_that_announces_a_change_with_each_list_is_not_listed_without_end() -> None:
    async with live(odd("announces each list")) as followed:
        tool: Any = followed.catalog.get("odd__count")
        counts = [int((await tool.call({})).text) for _ in range(200)]
    assert counts[-1] < 100


async def test_a_tool_that_its_server_removed_says_so_when_it_is_called() -> None:
    async with live(odd("forgets")) as followed:
        tool: Any = followed.catalog.get("odd__water")
        await tool.call({})
        await until(followed, lambda: "odd__water" not in followed.catalog)
        result = await tool.call({})
    assert result.is_error
    assert result.text == (
        "'odd__water' was not called: its server, 'odd', no longer has this tool. Look for another one."
    )


async def test_a_call_that_the_server_refuses_does_not_end_a_run_of_pydantic_ai() -> None:
    parts: list[Any] = [
        ToolCallPart("search_tools", {"queries": ["feed the cat"]}),
        *[ToolCallPart("odd__water", {})] * 3,
    ]

    def answer(_: list[ModelMessage], __: AgentInfo) -> ModelResponse:
        return ModelResponse(parts=[parts.pop(0) if parts else TextPart("done")])

    async with live(odd("refuses calls")) as followed:
        agent = Agent(FunctionModel(answer), capabilities=[to_pydantic_ai_search(followed.catalog)])
        result = await agent.run("?")
    assert result.output == "done"
    assert str(result.all_messages()).count("the tank is empty") == 3


async def test_a_server_that_dies_while_it_is_listed_is_lost_and_comes_back() -> None:
    states: list[ServerState] = []
    async with live(odd("dies in its second list"), on_change=states.append) as followed:
        tool: Any = followed.catalog.get("odd__water")
        await tool.call({})
        await until(followed, lambda: [state.status for state in states].count("ready") == 2)
        assert "odd__water" in followed.catalog
    assert "exit code 3" in next(state.why for state in states if state.status == "lost")


async def test_a_call_of_a_lost_server_names_the_tool_as_the_catalogue_does_and_what_to_do(tmp_path: Path) -> None:
    note = tmp_path / "pid"
    async with live(process(LEGACY, note), retry_after=600.0) as followed:
        tool: Any = followed.catalog.get("mail__send_mail")
        killed(note)
        await until(followed, lambda: followed.states["mail"].status == "lost")
        with pytest.raises(ToolConnectionError) as caught:
            await tool.call({})
    assert str(caught.value) == (
        "The connection to the server of tool 'mail__send_mail' is lost: it closed the connection (ended by SIGKILL). "
        "It is connected again as soon as it answers: call again later."
    )


async def test_others_have_their_turn_while_a_large_server_is_added() -> None:
    turns = 0

    async def others() -> None:
        nonlocal turns
        while len(followed.catalog) < 2_000:
            turns += len(followed.catalog) > 0
            await anyio.lowlevel.checkpoint()

    followed = live(odd("has many"))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(others)
        async with followed:
            pass
    assert turns > 0


async def test_what_is_raised_inside_the_block_comes_out_as_it_is() -> None:
    with pytest.raises(KeyError, match="mine"):
        async with live(odd("changes")):
            raise KeyError("mine")


async def test_a_callback_that_fails_is_logged_and_loses_no_server(caplog: pytest.LogCaptureFixture) -> None:
    def fail(_: ServerState) -> None:
        raise RuntimeError("not today")

    async with live(odd("changes"), on_change=fail) as followed:
        assert followed.states["odd"].status == "ready"
    assert "`on_change` failed for MCP server 'odd'" in caplog.text
    assert "not today" in caplog.text


@pytest.mark.parametrize("turns", [0, 1, 10, 100, 1000])
async def test_nothing_is_left_when_it_is_cancelled(turns: int, tmp_path: Path) -> None:
    note = tmp_path / "pid"
    before = len(asyncio.all_tasks())
    with anyio.CancelScope() as scope:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_cancel_after, turns, scope)
            async with live(process(LEGACY, note)):
                await anyio.sleep_forever()
    assert len(asyncio.all_tasks()) == before
    assert not note.exists() or not Path(f"/proc/{note.read_text()}").exists()


async def _cancel_after(turns: int, scope: anyio.CancelScope) -> None:
    for _ in range(turns):
        await anyio.lowlevel.checkpoint()
    scope.cancel()


# Around it


async def test_calls_may_come_from_another_thread_with_a_loop_of_its_own(tmp_path: Path) -> None:
    async with live(process(LEGACY, tmp_path / "pid")) as followed:
        tool: Any = followed.catalog.get("mail__send_mail")
        said: list[str] = []

        def ask() -> None:
            async def call() -> None:
                said.append((await tool.call({"to": "Ada"})).text)

            anyio.run(call)

        await anyio.to_thread.run_sync(ask)
    assert said[0].startswith("sent to Ada by ")
    assert threading.active_count() < 20


async def test_when_it_is_left_the_servers_end_and_the_tools_are_gone(tmp_path: Path) -> None:
    catalog = ToolCatalog([WEATHER])
    async with live(process(LEGACY, tmp_path / "pid"), catalog=catalog) as followed:
        tool: Any = followed.catalog.get("mail__send_mail")
        pid = (tmp_path / "pid").read_text()
    assert catalog.names == ["get_weather"]
    assert not Path(f"/proc/{pid}").exists()
    with pytest.raises(ToolConnectionError, match="no longer followed"):
        await tool.call({})


async def test_a_tool_that_the_catalogue_does_not_take_is_named_and_the_others_are_there(tmp_path: Path) -> None:
    taken = saying_its_name("mail__learn")
    async with live(process(LEGACY, tmp_path / "pid"), catalog=ToolCatalog([taken])) as followed:
        assert followed.catalog.names == ["mail__learn", "mail__send_mail"]
        assert followed.states["mail"].skipped == ("mail__learn",)
    assert followed.catalog.get("mail__learn") is taken


def test_two_servers_of_one_name_are_refused(tmp_path: Path) -> None:
    server = process(LEGACY, tmp_path / "pid")
    with pytest.raises(ToolValidationError, match="Two MCP servers are named 'mail'"):
        LiveServers([server, server])


async def test_pydantic_ai_has_the_tools_of_live_servers_as_they_are_in_each_step(tmp_path: Path) -> None:
    rest = [
        ToolCallPart("search_tools", {"queries": ["learn something"]}),
        ToolCallPart("mail__learn", {"name": "book_flight"}),
        ToolCallPart("search_tools", {"queries": ["send a mail"]}),
        ToolCallPart("search_tools", {"queries": ["book a flight"]}),
        ToolCallPart("mail__book_flight", {}),
    ]

    async with live(process(LEGACY, tmp_path / "pid")) as followed:
        catalog = followed.catalog

        async def answer(_: list[ModelMessage], info: AgentInfo) -> ModelResponse:
            if len(rest) == 3:  # it is told of the change some time after the call was answered
                await until(followed, lambda: "mail__book_flight" in catalog)
            return ModelResponse(parts=[rest.pop(0) if rest else TextPart("done")])

        toolsets = [deferred(toolset_of(catalog))]
        agent = Agent(FunctionModel(answer), toolsets=toolsets, capabilities=[to_pydantic_ai_search(catalog=catalog)])
        result = await agent.run("?")
    assert result.output == "done"
    assert "sent to None by" in str(result.all_messages()[-2])
