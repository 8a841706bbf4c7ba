"""What passes between clients and servers beside the calls: capabilities, logs, subscriptions, answers of people."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from mcp import MCPError, types
from mcp.client import Client
from mcp.client.session import ClientRequestContext
from tests.gateway.faulty import STDIO
from tests.gateway.servers import LEGACY, program
from tests.gateway.test_gateway import MODES, Mode, connected, text_of

from hikidashi.gateway import Gateway, GatewayOptions, GatewayServer, ServerOptions
from hikidashi.gateway.server import GatewayMCPServer
from hikidashi.servers.config import McpServer

FIXTURE = McpServer(
    name="fixture",
    transport="stdio",
    command=sys.executable,
    args=("-m", "tests.conformance.server"),
    cwd=str(Path(__file__).parent.parent.parent),
)


@pytest.fixture
def faulty(tmp_path: Path) -> McpServer:
    return program(tmp_path, "faulty", STDIO)


async def sample(_: ClientRequestContext, __: types.CreateMessageRequestParams) -> types.CreateMessageResult:
    return types.CreateMessageResult(role="assistant", content=types.TextContent(text="Hello"), model="test")


@pytest.mark.parametrize("mode", MODES)
async def test_a_modern_server_is_told_what_the_client_can_and_not_what_the_gateway_can(mode: Mode) -> None:
    async with connected([FIXTURE], mode, sampling_callback=sample) as (client, gateway):
        asked = text_of(await client.call_tool("fixture__test_input_required_result_capabilities", {}))
        able = text_of(await client.call_tool("fixture__test_missing_capability", {}))
        async with Client(GatewayMCPServer(gateway), mode=mode) as unable:
            with pytest.raises(MCPError) as refused:
                await unable.call_tool("fixture__test_missing_capability", {})

    assert (asked, able) == ("Asked for greeting.", "The client has sampling.")
    assert refused.value.code == types.MISSING_REQUIRED_CLIENT_CAPABILITY
    assert refused.value.error.data == {"requiredCapabilities": {"sampling": {}}}


@pytest.mark.parametrize(
    ("modern_server", "mode", "wanted"),
    [
        (False, "auto", "debug"),
        (False, "auto", "error"),
        (False, "legacy", "error"),
        (True, "auto", "debug"),
        (True, "legacy", "debug"),
        (True, "legacy", "error"),
    ],
)
async def test_a_client_gets_log_messages_from_the_level_on_that_it_wants(
    modern_server: bool, mode: Mode, wanted: types.LoggingLevel, faulty: McpServer
) -> None:
    heard: list[str] = []

    async def hear(params: types.LoggingMessageNotificationParams) -> None:
        heard.append(params.level)

    more: dict[str, Any] = {"log_level": wanted} if mode == "auto" else {}
    async with connected([FIXTURE if modern_server else faulty], mode, logging_callback=hear, **more) as (client, _):
        if mode == "legacy":
            level = types.SetLevelRequestParams(level=wanted)
            await client.session.send_request(types.SetLevelRequest(params=level), types.EmptyResult)
        tool = "fixture__test_tool_with_logging" if modern_server else "faulty__chatter"
        await client.call_tool(tool, {})

    if modern_server:
        assert heard == (["info"] * 3 if wanted == "debug" else [])
    else:
        assert heard == (["debug", "error"] * 200 if wanted == "debug" else ["error"] * 200)


async def test_a_modern_client_that_wants_no_log_messages_gets_none(faulty: McpServer) -> None:
    heard: list[Any] = []

    async def hear(params: types.LoggingMessageNotificationParams) -> None:
        heard.append(params)

    async with connected([faulty], logging_callback=hear) as (client, _):
        await client.call_tool("faulty__chatter", {})

    assert heard == []


@pytest.mark.parametrize("mode", MODES)
async def test_a_subscription_survives_a_restart_of_its_server_and_ends_with_its_last_client(
    mode: Mode, faulty: McpServer
) -> None:
    tell, told = anyio.create_memory_object_stream[str](100)

    async def heard(message: Any) -> None:
        if isinstance(message, types.ResourceUpdatedNotification):
            await tell.send(str(message.params.uri))

    async def what_the_server_heard(client: Client) -> str:
        return (await client.read_resource("note://one")).contents[0].text  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownVariableType]

    async with tell, told, connected([faulty], mode, message_handler=heard) as (client, _):
        with anyio.fail_after(30):
            if mode == "auto":
                async with client.listen(resource_subscriptions=["note://one"]) as changes:
                    await client.call_tool("faulty__die", {})
                    restarted = await what_the_server_heard(client)
                    await anext(aiter(changes))
            else:
                given = types.SubscribeRequestParams(uri="note://one")
                await client.session.send_request(types.SubscribeRequest(params=given), types.EmptyResult)
                assert await told.receive() == "note://one"
                await client.call_tool("faulty__die", {})
                restarted = await what_the_server_heard(client)
                assert await told.receive() == "note://one"
                gone = types.UnsubscribeRequestParams(uri="note://one")
                await client.session.send_request(types.UnsubscribeRequest(params=gone), types.EmptyResult)
            while "unsubscribe" not in (ended := await what_the_server_heard(client)):
                await anyio.lowlevel.checkpoint()

    assert restarted == "resources/subscribe note://one"
    assert ended == "resources/subscribe note://one resources/unsubscribe note://one"


async def test_what_one_person_allowed_is_not_allowed_for_the_next_client(tmp_path: Path) -> None:
    careful = GatewayServer(program(tmp_path, "legacy", LEGACY), ServerOptions(confirm=("read",)))
    asked: list[str] = []

    async def allow(_: ClientRequestContext, params: types.ElicitRequestParams) -> types.ElicitResult:
        asked.append(params.message)
        return types.ElicitResult(action="accept", content={"remember": True})

    async with Gateway([careful], options=GatewayOptions(search="off")) as gateway:
        for _ in range(4):
            more: dict[str, Any] = {"elicitation_callback": allow}
            async with Client(GatewayMCPServer(gateway), **more) as client:
                await client.call_tool("legacy__read", {})
                await client.call_tool("legacy__read", {})

    assert len(asked) == 4
