"""pydantic-ai: many tools, long ones, uncertain matches, and servers that are gone in the middle of a run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from mcp import Client
from mcp.server.mcpserver import MCPServer
from pydantic_ai import Agent
from pydantic_ai.capabilities import ProcessHistory
from pydantic_ai.messages import ToolCallPart
from pydantic_ai.models.function import AgentInfo
from pydantic_ai.toolsets import FunctionToolset
from tests.pydantic_ai_support import returned, scripted, searches
from tests.support import Heard, Unsure

from hikidashi import Tool, ToolResult, from_function, from_mcp, to_pydantic_ai
from hikidashi.search import ToolCatalog, deferred, to_pydantic_ai_search
from hikidashi.search.answers import tokens_of


def send_mail(to: str) -> str:
    """Send a mail to somebody."""
    return f"sent to {to}"


def get_weather(city: str) -> str:
    """The weather in a city."""
    return f"rain in {city}"


MAIL = from_function(send_mail)
CALLS = ToolCallPart("send_mail", {"to": "Ada"})


async def found_by(search: Any, toolset: Any, *queries: str, seen: list[AgentInfo] | None = None) -> dict[str, Any]:
    agent = Agent(scripted(searches(*queries), "done", seen=seen), toolsets=[toolset], capabilities=[search])
    content: Any = returned((await agent.run("?")).all_messages(), "search_tools")[0].content
    return {**content, "discovered_tools": [match["name"] for match in content["discovered_tools"]]}


@pytest.mark.parametrize(
    ("language", "alone", "beside"),
    [
        (
            "en",
            "No tool surely fits 'send mail'. These are the nearest, perhaps not what you need. They are",
            "For 'se",
        ),
        (
            "ja",
            "'send mail' に確実に合うツールはありません。次は近いものですが、必要なものではないかもしれません",
            "'send",
        ),
    ],
)
async def test_the_nearest_are_revealed_and_said_to_be_uncertain(language: Any, alone: str, beside: str) -> None:
    heard = Heard()
    toolset = deferred(FunctionToolset[Any]([send_mail, get_weather]))

    def search() -> Any:
        return to_pydantic_ai_search(catalog=Unsure(), language=language, record=heard)

    found = await found_by(search(), toolset, "send mail")
    assert found["discovered_tools"] == ["send_mail"]
    assert found["message"].startswith(alone)
    assert heard.searches == [("send mail", "nearest", ["send_mail"])]
    found = await found_by(search(), toolset, "send mail", "/weather/")
    assert found["discovered_tools"] == ["send_mail", "get_weather"]
    assert found["message"].startswith(beside)


async def test_a_confident_search_says_nothing_beside() -> None:
    found = await found_by(to_pydantic_ai_search(), deferred(to_pydantic_ai([MAIL])), "send mail")
    assert found == {"discovered_tools": ["send_mail"]}


async def test_each_query_of_a_search_is_answered_whatever_becomes_of_the_others() -> None:
    toolset = deferred(to_pydantic_ai([MAIL]))
    found = await found_by(to_pydantic_ai_search(), toolset, "send mail", "xqzwv", "/[/", "select:gone")
    assert found["discovered_tools"] == ["send_mail"]
    nothing, pattern, name = found["message"].split("\n")
    assert nothing == "For 'xqzwv' there is no tool."
    assert pattern.startswith("Invalid pattern '['")
    assert name.startswith("No tool is named 'gone'.")
    found = await found_by(to_pydantic_ai_search(), toolset, "xqzwv", "/[/")
    assert found["message"].startswith("For 'xqzwv' there is no tool.\nInvalid pattern")


async def test_a_search_reveals_what_fits_the_budget_and_names_the_rest() -> None:
    reports = [replace(MAIL, name=f"report_{n}", description="Write a report. " + "word " * 900) for n in range(8)]
    huge = replace(MAIL, name="huge", description="Do something. " + "word " * 100_000)
    toolset = deferred(to_pydantic_ai([*reports, huge]))
    found = await found_by(to_pydantic_ai_search(budget=2_500), toolset, "write a report")
    assert len(found["discovered_tools"]) == 2
    assert found["message"].startswith("In short, 3 more. To get them whole, search for")
    assert found["message"].count('{"tool":"report_') == 3
    assert found["message"].endswith("3 further tools match: other or more words tell them apart.")

    seen: list[AgentInfo] = []
    found = await found_by(to_pydantic_ai_search(budget=2_500), toolset, "select:huge", seen=seen)
    assert found["discovered_tools"] == ["huge"]
    (offered,) = (tool for tool in seen[1].function_tools if tool.name == "huge")
    assert (offered.description or "").endswith(" of 500,014 characters]")
    assert offered.parameters_json_schema == MAIL.input_schema
    assert tokens_of(f"{offered.description}{offered.parameters_json_schema}") <= 2_500


@pytest.mark.parametrize("make", [lambda: None, ToolCatalog, lambda: ToolCatalog(limit_tools=1)])
async def test_more_tools_than_a_request_of_the_api_takes_are_searched(make: Callable[[], Any]) -> None:
    many = [replace(MAIL, name=f"archive_{n}", description=f"Archive record {n}.") for n in range(10_001)]
    found = await found_by(
        to_pydantic_ai_search(catalog=make()), deferred(to_pydantic_ai(many)), "select:archive_10000"
    )
    assert found["discovered_tools"] == ["archive_10000"]


async def test_definitions_reach_the_model_as_they_are_and_are_not_copied_for_each_request() -> None:
    toolset = FunctionToolset[Any]([send_mail, get_weather])
    schema = toolset.tools["send_mail"].function_schema.json_schema
    seen: list[AgentInfo] = []
    model = scripted(searches("send mail"), CALLS, CALLS, "done", seen=seen)
    await Agent(model, toolsets=[deferred(toolset)], capabilities=[to_pydantic_ai_search()]).run("?")
    loaded = [tool for info in seen for tool in info.function_tools if tool.name == "send_mail"]
    assert len(loaded) == 3
    assert all(tool.parameters_json_schema is schema for tool in loaded)


async def test_what_was_found_stays_found_behind_a_processor_of_history_that_comes_first() -> None:
    agent = Agent(
        scripted(searches("send a mail"), CALLS, CALLS, "done"),
        toolsets=[deferred(to_pydantic_ai([MAIL]))],
        capabilities=[ProcessHistory(lambda messages: messages[-2:]), to_pydantic_ai_search()],
    )
    assert (await agent.run("Write twice.")).output == "done"


GONE = "Tool 'send_mail' failed. ToolConnectionError: The connection to the server of tool 'send_mail' is lost"


def mail_server() -> MCPServer[Any]:
    server = MCPServer[Any]("mail")
    server.tool()(send_mail)
    return server


async def test_a_dead_mcp_server_is_a_result_and_does_not_end_the_run() -> None:
    async with Client(mail_server()) as client:
        tools = await from_mcp(client)
    agent = Agent(
        scripted(searches("send a mail"), CALLS, CALLS, "sorry"),
        toolsets=[deferred(to_pydantic_ai(tools))],
        capabilities=[to_pydantic_ai_search()],
    )
    result = await agent.run("Write.")
    assert result.output == "sorry"
    answers = returned(result.all_messages(), "send_mail")
    assert [(str(part.content)[: len(GONE)], part.outcome) for part in answers] == [(GONE, "failed")] * 2


async def test_what_a_tool_raises_itself_still_ends_the_run() -> None:
    async def broken(_: dict[str, Any]) -> ToolResult:
        raise KeyError("bug")

    tools: list[Tool] = [replace(MAIL, call=broken)]
    agent = Agent(scripted(CALLS, "?"), toolsets=[to_pydantic_ai(tools)], capabilities=[to_pydantic_ai_search()])
    with pytest.raises(KeyError, match="bug"):
        await agent.run("Write.")
