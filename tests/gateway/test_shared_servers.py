"""Servers of before 2026-07-28 that several clients share: what they ask reaches the client whose call caused it."""

from __future__ import annotations

from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import MCPError, types
from mcp.client import Client
from mcp.client.session import ClientRequestContext
from tests.gateway.servers import program
from tests.gateway.test_gateway import MODES, Mode, text_of

from hikidashi.gateway import Gateway, GatewayOptions, GatewayServer, ServerOptions
from hikidashi.gateway import callers as _client_turns
from hikidashi.gateway.server import GatewayMCPServer
from hikidashi.servers.config import McpServer

# The `mcp` package as a server of before 2026-07-28: it does not know `server/discover`, and asks in its calls.
ASKING = '''
import anyio
from mcp import types
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage
from pydantic import BaseModel

server = MCPServer("asking")

class Answer(BaseModel):
    name: str

@server.tool()
async def ask(owner: str, context: Context, turns: int = 1, first: bool = True) -> str:
    """Ask for a name, as often as told; who is not first begins with a while of work."""
    if not first:
        await anyio.sleep(0.2)
    names = []
    for turn in range(turns):
        answer = await context.elicit(f"{owner}, turn {turn}?", Answer)
        names.append(answer.data.name if answer.action == "accept" else answer.action)
    return " ".join(names)

@server.tool()
async def sample(owner: str, context: Context) -> str:
    """Have the model of the client say something."""
    message = types.SamplingMessage(role="user", content=types.TextContent(text=owner))
    answer = await context.request_context.session.create_message([message], max_tokens=10)
    return answer.content.text

@server.tool()
async def roots(context: Context) -> str:
    """List the roots of the client."""
    return str((await context.request_context.session.list_roots()).roots[0].uri)

@server.tool()
async def work(seconds: float) -> str:
    """Work for a while."""
    await anyio.sleep(seconds)
    return "done"

async def main():
    unknown = types.ErrorData(code=types.METHOD_NOT_FOUND, message="Method not found")
    old, (older, received) = server._lowlevel_server, anyio.create_memory_object_stream(100)
    async with stdio_server() as (read, write), anyio.create_task_group() as tasks:
        async def without_discovery():
            async with older:
                async for item in read:
                    if getattr(item.message, "method", "") == "server/discover":
                        refusal = types.JSONRPCError(jsonrpc="2.0", id=item.message.id, error=unknown)
                        await write.send(SessionMessage(refusal))
                    else:
                        await older.send(item)
        tasks.start_soon(without_discovery)
        await old.run(received, write, old.create_initialization_options())

anyio.run(main)
'''


@pytest.fixture
def asking(tmp_path: Path) -> McpServer:
    return program(tmp_path, "asking", ASKING)


class Person:
    """A client of its own name, which answers what it is asked and keeps it."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.asked: list[str] = []

    async def elicit(self, _: ClientRequestContext, params: types.ElicitRequestParams) -> types.ElicitResult:
        self.asked.append(params.message)
        return types.ElicitResult(action="accept", content={"name": self.name})

    async def sample(
        self, _: ClientRequestContext, params: types.CreateMessageRequestParams
    ) -> types.CreateMessageResult:
        content = params.messages[0].content
        assert isinstance(content, types.TextContent)
        self.asked.append(content.text)
        return types.CreateMessageResult(role="assistant", content=types.TextContent(text=self.name), model="test")

    async def roots(self, _: ClientRequestContext) -> types.ListRootsResult:
        return types.ListRootsResult(roots=[types.Root(uri=f"file:///{self.name}")])  # pyright: ignore[reportArgumentType]

    def client(self, server: GatewayMCPServer, mode: Mode) -> Client:
        callbacks: dict[str, Any] = {
            "elicitation_callback": self.elicit,
            "sampling_callback": self.sample,
            "list_roots_callback": self.roots,
        }
        return Client(server, mode=mode, **callbacks)


@pytest.mark.parametrize("modes", [("auto", "auto"), ("legacy", "legacy"), ("auto", "legacy")])
@pytest.mark.parametrize("slow_first", [True, False])
async def test_two_clients_at_once_are_each_asked_what_their_own_call_asks(
    modes: tuple[Mode, Mode], slow_first: bool, asking: McpServer
) -> None:
    people = [Person("ada"), Person("bo")]
    results: dict[str, str] = {}
    async with Gateway([asking], options=GatewayOptions(search="off")) as gateway, AsyncExitStack() as stack:
        server = GatewayMCPServer(gateway)
        clients = [
            await stack.enter_async_context(person.client(server, mode))
            for person, mode in zip(people, modes, strict=True)
        ]

        async def call(person: Person, client: Client, first: bool) -> None:
            given = {"owner": person.name, "turns": 2, "first": first}
            results[person.name] = text_of(await client.call_tool("asking__ask", given))

        async with anyio.create_task_group() as tasks:
            for person, client, slow in zip(people, clients, (slow_first, not slow_first), strict=True):
                tasks.start_soon(call, person, client, not slow)
        sampled = [text_of(await client.call_tool("asking__sample", {"owner": "x"})) for client in clients]
        roots = [text_of(await client.call_tool("asking__roots", {})) for client in clients]

    assert gateway.states[0].protocol < "2026"
    assert results == {"ada": "ada ada", "bo": "bo bo"}
    assert [person.asked[:2] for person in people] == [
        ["ada, turn 0?", "ada, turn 1?"],
        ["bo, turn 0?", "bo, turn 1?"],
    ]
    assert sampled == ["ada", "bo"]
    assert roots == ["file:///ada", "file:///bo"]


async def test_many_clients_at_once_each_get_their_own_question(asking: McpServer) -> None:
    people = [Person(f"person{number}") for number in range(6)]
    results: dict[str, str] = {}
    async with Gateway([asking], options=GatewayOptions(search="off")) as gateway, AsyncExitStack() as stack:
        server = GatewayMCPServer(gateway)

        async def call(person: Person, client: Client) -> None:
            results[person.name] = text_of(await client.call_tool("asking__ask", {"owner": person.name}))

        clients = [
            await stack.enter_async_context(person.client(server, MODES[number % 2]))
            for number, person in enumerate(people)
        ]
        async with anyio.create_task_group() as tasks:
            for person, client in zip(people, clients, strict=True):
                tasks.start_soon(call, person, client)

    assert results == {person.name: person.name for person in people}


async def test_a_client_that_cannot_be_asked_never_has_its_question_sent_to_another(asking: McpServer) -> None:
    ada = Person("ada")
    async with Gateway([asking], options=GatewayOptions(search="off")) as gateway:
        server = GatewayMCPServer(gateway)
        async with ada.client(server, "auto") as able, Client(server) as unable, anyio.create_task_group() as tasks:
            tasks.start_soon(able.call_tool, "asking__work", {"seconds": 0.3})
            with pytest.raises(MCPError, match="does not support elicitation"):
                await unable.call_tool("asking__ask", {"owner": "nobody"})

    assert ada.asked == []


async def test_calls_that_overlap_after_all_are_asked_when_it_is_certain_whose_question_it_is(
    asking: McpServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_client_turns, "_PATIENCE", 0.0)
    ada, bo = Person("ada"), Person("bo")
    result: types.CallToolResult | None = None
    async with Gateway([asking], options=GatewayOptions(search="off")) as gateway:
        server = GatewayMCPServer(gateway)
        async with (
            ada.client(server, "auto") as one,
            bo.client(server, "legacy") as other,
            anyio.create_task_group() as tasks,
        ):
            tasks.start_soon(one.call_tool, "asking__work", {"seconds": 0.5})
            result = await other.call_tool("asking__ask", {"owner": "bo", "first": False})

    assert result is not None
    assert text_of(result) == "bo"
    assert (ada.asked, bo.asked) == ([], ["bo, turn 0?"])


async def test_of_two_questions_that_cannot_be_told_apart_one_is_refused_and_the_other_asked_of_its_own_client(
    asking: McpServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_client_turns, "_PATIENCE", 0.0)
    people = [Person("ada"), Person("bo")]
    results: dict[str, types.CallToolResult] = {}
    refused: list[str] = []
    async with Gateway([asking], options=GatewayOptions(search="off")) as gateway, AsyncExitStack() as stack:
        server = GatewayMCPServer(gateway)
        clients = [await stack.enter_async_context(person.client(server, "auto")) for person in people]

        async def call(person: Person, client: Client) -> None:
            try:
                given = {"owner": person.name, "first": False}
                results[person.name] = await client.call_tool("asking__ask", given)
            except MCPError as error:
                refused.append(error.message)

        with anyio.fail_after(60):
            async with anyio.create_task_group() as tasks:
                for person, client in zip(people, clients, strict=True):
                    tasks.start_soon(call, person, client)
            again = [
                text_of(await client.call_tool("asking__ask", {"owner": person.name}))
                for person, client in zip(people, clients, strict=True)
            ]

    assert again == ["ada", "bo"]
    assert all("several clients are calling it at the same time" in message for message in refused)
    assert [name for name, result in results.items() if text_of(result) != name and not result.is_error] == []
    assert all(question.startswith(person.name) for person in people for question in person.asked)
    assert sum(text_of(result) == name for name, result in results.items()) == 1


async def test_clients_that_cannot_be_asked_share_a_server_without_waiting_for_each_other(asking: McpServer) -> None:
    async with Gateway([asking], options=GatewayOptions(search="off")) as gateway:
        server = GatewayMCPServer(gateway)
        async with Client(server) as one, Client(server) as other, anyio.create_task_group() as tasks:
            await one.call_tool("asking__work", {"seconds": 0})
            tasks.start_soon(one.call_tool, "asking__work", {"seconds": 600})
            with anyio.fail_after(60):
                assert text_of(await other.call_tool("asking__work", {"seconds": 0})) == "done"
            tasks.cancel_scope.cancel()


async def test_a_long_call_of_one_client_keeps_another_waiting_only_for_a_moment(asking: McpServer) -> None:
    ada, bo = Person("ada"), Person("bo")
    async with Gateway([asking], options=GatewayOptions(search="off")) as gateway:
        server = GatewayMCPServer(gateway)
        async with (
            ada.client(server, "auto") as one,
            bo.client(server, "auto") as other,
            anyio.create_task_group() as tasks,
        ):
            await one.call_tool("asking__work", {"seconds": 0})
            tasks.start_soon(one.call_tool, "asking__work", {"seconds": 600})
            with anyio.fail_after(60):
                assert text_of(await other.call_tool("asking__work", {"seconds": 0})) == "done"
            tasks.cancel_scope.cancel()


async def test_two_clients_share_a_server_that_takes_one_call_at_once(asking: McpServer) -> None:
    people = [Person("ada"), Person("bo")]
    results: dict[str, str] = {}
    one_at_once = GatewayServer(asking, ServerOptions(at_once=1))
    async with Gateway([one_at_once], options=GatewayOptions(search="off")) as gateway, AsyncExitStack() as stack:
        server = GatewayMCPServer(gateway)

        async def call(person: Person, client: Client) -> None:
            given = {"owner": person.name, "turns": 3}
            results[person.name] = text_of(await client.call_tool("asking__ask", given))

        clients = [
            await stack.enter_async_context(person.client(server, mode))
            for person, mode in zip(people, MODES, strict=True)
        ]
        with anyio.fail_after(60):
            async with anyio.create_task_group() as tasks:
                for person, client in zip(people, clients, strict=True):
                    tasks.start_soon(call, person, client)

    assert results == {"ada": "ada ada ada", "bo": "bo bo bo"}
