"""How servers are reached: the older SSE transport, with and without its name; and what is said where one is not."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import anyio
import pytest
from mcp.server.mcpserver import MCPServer
from tests.gateway.test_gateway import MODES, Mode, connected, text_of
from tests.mcp_support import served

from hikidashi.gateway import Gateway
from hikidashi.servers.config import McpServer

old = MCPServer("old")


@old.tool()
def greet(name: str) -> str:
    """Greet somebody."""
    return f"Hello {name}"


@pytest.mark.parametrize("transport", ["http", "sse"])
@pytest.mark.parametrize("mode", MODES)
async def test_a_server_that_only_has_sse_is_reached_whether_its_type_says_so_or_not(
    transport: Literal["http", "sse"], mode: Mode
) -> None:
    async with served(old.sse_app()) as address:
        server = McpServer(name="old", transport=transport, url=f"{address}/sse")
        async with connected([server], mode) as (client, _):
            assert text_of(await client.call_tool("old__greet", {"name": "Ann"})) == "Hello Ann"


@pytest.mark.parametrize(
    ("command", "cwd", "reason", "remedy"),
    [
        ("no-such-x", None, "No such file or directory: 'no-such-x'", "Install 'no-such-x', or give its full path."),
        (
            "sh -c exit",
            None,
            "No such file or directory: 'sh -c exit'",
            "Its `command` is 'sh' alone: what follows goes into `args`, one by one.",
        ),
        ("sh", "nowhere", "No such file or directory: 'nowhere'", "Make the folder 'nowhere', or change its `cwd`."),
        (
            "/",
            None,
            "Permission denied: '/'",
            "'/' is a folder: give the program in it as `command`.",
        ),
        ("plain", "", "Permission denied: 'PLAIN'", "Make 'PLAIN' executable."),
    ],
)
async def test_a_program_that_does_not_start_is_explained_with_what_to_do(
    command: str, cwd: str | None, reason: str, remedy: str, tmp_path: Path
) -> None:
    plain = tmp_path / "plain"
    plain.write_text("")
    given = str(plain) if command == "plain" else command
    async with Gateway([McpServer(name="a", transport="stdio", command=given, cwd=cwd or None)]) as gateway:
        with anyio.fail_after(30):
            await gateway.upstreams["a"].listed.wait()
        state = gateway.states[0]
    assert (state.reason, state.remedy) == (reason.replace("PLAIN", str(plain)), remedy.replace("PLAIN", str(plain)))


@pytest.mark.parametrize(("program", "brings"), [("npx", "Node.js"), ("uvx", "uv"), ("docker", "Docker")])
async def test_what_brings_a_well_known_program_is_named(
    program: str, brings: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    async with Gateway([McpServer(name="a", transport="stdio", command=program)]) as gateway:
        with anyio.fail_after(30):
            await gateway.upstreams["a"].listed.wait()
        assert gateway.states[0].remedy == f"Install {brings}, which has {program!r}, or give its full path."


@pytest.mark.parametrize(
    ("script", "ending"),
    [
        ("exit 3", "it closed the connection (exit code 3)"),
        ("kill -9 $$", "it closed the connection (ended by SIGKILL)"),
        ("echo no key >&2; exit 1", "it closed the connection (exit code 1); stderr ended with: no key"),
        ("cat", "it answered with an error: Method not found"),
    ],
)
async def test_how_a_process_ended_is_told(script: str, ending: str) -> None:
    server = McpServer(name="a", transport="stdio", command="sh", args=("-c", script))
    async with Gateway([server]) as gateway:
        with anyio.fail_after(30):
            await gateway.upstreams["a"].listed.wait()
        assert gateway.states[0].reason == ending


async def test_an_address_where_there_is_no_server_is_not_to_be_started_in_a_terminal() -> None:
    async with served(old.sse_app()) as address:
        server = McpServer(name="a", transport="http", url=f"{address}/elsewhere")
        async with Gateway([server]) as gateway:
            with anyio.fail_after(30):
                await gateway.upstreams["a"].listed.wait()
            state = gateway.states[0]
    assert "404 Not Found" in state.reason
    assert state.remedy == 'Check its address, and its `type`: "http", or "sse" for an old server.'
