"""A real MCP server dies after its tool was found or preloaded: each seam says so, and the run goes on."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
import strands
from anthropic import AsyncAnthropic
from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from strands.models.anthropic import AnthropicModel as StrandsModel
from tests.pydantic_ai_support import anthropic_model, returned

from hikidashi import from_function
from hikidashi.search import (
    LiveServers,
    McpServer,
    ToolCatalog,
    arun_anthropic_search,
    to_pydantic_ai_search,
    to_strands_search,
)
from hikidashi.testing import MessagesServer, call, say

Server = Callable[..., MessagesServer]

SERVER = """
import os, pathlib, sys
from mcp.server.mcpserver import MCPServer

server = MCPServer("mail")

@server.tool()
def send_mail(to: str) -> str:
    "Send a mail to somebody."
    return f"sent to {to}"

pathlib.Path(sys.argv[1]).write_text(str(os.getpid()))
server.run()
"""
NAME = "mail__send_mail"
STOP = "stop_server"
UNREACHABLE = f"{NAME!r} could not be called: its server does not answer at the moment."
ASKED = "Send a mail to Ada, please."
CALLED: dict[str, Any] = {"to": "Ada"}

both = pytest.mark.parametrize("preload", [None, 3], ids=["found", "preloaded"])
models = pytest.mark.parametrize("model_name", ["claude-sonnet-4-6", "claude-3-haiku-20240307"])


@asynccontextmanager
async def catalog_of_server(folder: Path) -> AsyncGenerator[ToolCatalog]:
    """The tool of a server, and one that kills the server, which is not started again."""
    note = folder / "pid"

    async def stop_server() -> str:
        """Stop it."""
        os.kill(int(note.read_text()), signal.SIGKILL)
        with anyio.fail_after(30):
            while live.states["mail"].status == "ready":
                await live.changed()
        return "stopped"

    server = McpServer(name="mail", transport="stdio", command=sys.executable, args=("-c", SERVER, str(note)))
    catalog = ToolCatalog([from_function(stop_server)], ranker="lexical")
    async with LiveServers([server], catalog=catalog, retry_after=600.0) as live:
        yield catalog


def script(preload: int | None, query: dict[str, Any]) -> list[Any]:
    searches = [] if preload else [call("search_tools", query)]
    return [*searches, call(STOP, {}), *[call(NAME, CALLED)] * 3, call("search_tools", query), say("done")]


@both
async def test_a_run_of_pydantic_ai_goes_on_however_often_the_tool_is_called(
    tmp_path: Path, preload: int | None
) -> None:
    offered: list[list[str]] = []
    search = ToolCallPart("search_tools", {"queries": ["send a mail"]})
    parts: list[Any] = [*([] if preload else [search]), ToolCallPart(STOP, {})]
    parts += [*[ToolCallPart(NAME, CALLED)] * 3, search, TextPart("done")]

    def answer(_: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        offered.append(sorted(tool.name for tool in info.function_tools))
        return ModelResponse(parts=[parts.pop(0)])

    async with catalog_of_server(tmp_path) as catalog:
        capability = to_pydantic_ai_search(catalog, preload=preload, always_loaded=[STOP])
        result = await Agent(FunctionModel(answer), capabilities=[capability]).run(ASKED)
    assert result.output == "done"
    refused = returned(result.all_messages(), NAME)
    assert [part.outcome for part in refused] == ["failed"] * 3
    assert all(str(part.content).startswith(UNREACHABLE) for part in refused)
    assert offered[-1] == ["search_tools", STOP]  # the search stays, so that the model can search again later
    assert NAME in offered[0 if preload else 1]
    said = str(returned(result.all_messages(), "search_tools")[-1].content)
    assert "cannot be used now, because its server does not answer" in said


@both
@models
async def test_claude_in_pydantic_ai_goes_on(
    messages_server: Server, tmp_path: Path, preload: int | None, model_name: str
) -> None:
    server = messages_server(script(preload, {"queries": ["send a mail"]}))
    async with catalog_of_server(tmp_path) as catalog, anthropic_model(server, model_name) as model:
        capability = to_pydantic_ai_search(catalog, preload=preload, always_loaded=[STOP])
        assert (await Agent(model, capabilities=[capability]).run(ASKED)).output == "done"
    check(server)


@both
@models
async def test_the_loop_of_the_anthropic_api_goes_on(
    messages_server: Server, tmp_path: Path, preload: int | None, model_name: str
) -> None:
    server = messages_server(script(preload, {"query": "send a mail"}))
    async with catalog_of_server(tmp_path) as catalog, AsyncAnthropic(api_key="sk-test", base_url=server.url) as client:
        result = await arun_anthropic_search(
            client,
            catalog,
            model=model_name,
            max_tokens=100,
            messages=[{"role": "user", "content": ASKED}],
            always_loaded=[STOP],
            preload=preload,
            force=True,
        )
    assert result.text == "done"
    check(server)


@both
async def test_an_agent_of_strands_goes_on(messages_server: Server, tmp_path: Path, preload: int | None) -> None:
    server = messages_server(script(preload, {"query": "send a mail"}))
    model = StrandsModel(
        client_args={"base_url": server.url, "api_key": "sk-test"}, model_id="claude-sonnet-4-6", max_tokens=100
    )
    async with catalog_of_server(tmp_path) as catalog, model.client:
        hook = to_strands_search(catalog, preload=preload, always_loaded=[STOP])
        agent = strands.Agent(model=model, hooks=[hook], callback_handler=None)
        await agent.invoke_async(ASKED)
    check(server)


def check(server: MessagesServer) -> None:
    assert server.refusals == []
    texts = [request.tool_result_texts[-1] for request in server.requests[-4:]]
    assert [text.startswith(UNREACHABLE) for text in texts] == [True, True, True, False]
    assert "because its server does not answer" in str(server.requests[-1].messages[-1])
