"""`to_pydantic_ai_search(tools)`: the capability brings the tools along, and the agent needs nothing else."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic_ai import Agent
from pydantic_ai.messages import ToolCallPart
from pydantic_ai.models.function import AgentInfo
from pydantic_ai.toolsets import FunctionToolset
from tests.pydantic_ai_support import returned, scripted, searches

from hikidashi import ToolValidationError, from_function
from hikidashi.search import ToolCatalog, deferred, to_pydantic_ai_search


def send_mail(to: str) -> str:
    """Send a mail to somebody."""
    return f"sent to {to}"


def get_weather(city: str) -> str:
    """The weather in a city."""
    return f"rain in {city}"


def book_room(day: str) -> str:
    """Book a meeting room."""
    return f"booked {day}"


TOOLS = [from_function(send_mail), from_function(get_weather)]
CALLS = ToolCallPart("send_mail", {"to": "Ada"})


FOREIGN: list[Any] = [{"name": "a", "input_schema": {}}]


def loaded(info: AgentInfo) -> list[str]:
    return sorted(tool.name for tool in info.function_tools if not tool.defer_loading)


@pytest.mark.parametrize(
    "tools",
    [TOOLS, iter(TOOLS), ToolCatalog(TOOLS), FunctionToolset[Any]([send_mail, get_weather])],
    ids=["tools", "iterator", "catalogue", "toolset"],
)
async def test_what_is_given_is_deferred_found_and_called(tools: Any) -> None:
    seen: list[AgentInfo] = []
    agent = Agent(
        scripted(searches("mail to somebody"), CALLS, "done", seen=seen), capabilities=[to_pydantic_ai_search(tools)]
    )
    result = await agent.run("Write to Ada.")
    assert loaded(seen[0]) == ["search_tools"]
    found: Any = returned(result.all_messages(), "search_tools")[0].content
    assert [match["name"] for match in found["discovered_tools"]] == ["send_mail"]
    assert [part.content for part in returned(result.all_messages(), "send_mail")] == ["sent to Ada"]


@pytest.mark.parametrize("tools", [TOOLS, FunctionToolset[Any]([send_mail, get_weather])], ids=["tools", "toolset"])
async def test_the_model_sees_from_the_start_what_is_always_loaded(tools: Any) -> None:
    seen: list[AgentInfo] = []
    search = to_pydantic_ai_search(tools, always_loaded=["get_weather"])
    await Agent(scripted("hi", seen=seen), capabilities=[search]).run("?")
    assert loaded(seen[0]) == ["get_weather", "search_tools"]


async def test_a_catalogue_may_change_while_the_agent_lives() -> None:
    catalog = ToolCatalog(TOOLS[1:])
    search = to_pydantic_ai_search(catalog)
    agent = Agent(scripted(searches("select:send_mail"), CALLS, "done"), capabilities=[search])
    catalog.add(TOOLS[0])
    result = await agent.run("Write to Ada.")
    assert [part.content for part in returned(result.all_messages(), "send_mail")] == ["sent to Ada"]


async def test_deferred_tools_of_the_agent_itself_are_found_beside_them() -> None:
    rooms = FunctionToolset[Any]([book_room])
    catalog = ToolCatalog(TOOLS)
    call = ToolCallPart("book_room", {"day": "Monday"})
    model = scripted(searches("meeting room"), call, searches("send a mail"), CALLS, "done")
    agent = Agent(model, toolsets=[deferred(rooms)], capabilities=[to_pydantic_ai_search(catalog)])
    messages = (await agent.run("?")).all_messages()
    assert [part.content for part in returned(messages, "book_room")] == ["booked Monday"]
    assert [part.content for part in returned(messages, "send_mail")] == ["sent to Ada"]


async def test_two_searches_of_one_agent_are_one_with_the_tools_of_both() -> None:
    both = [to_pydantic_ai_search(TOOLS), to_pydantic_ai_search([from_function(book_room)])]
    call = ToolCallPart("book_room", {"day": "Monday"})
    agent = Agent(scripted(searches("send mail", "meeting room"), CALLS, call, "done"), capabilities=both)
    messages = (await agent.run("?")).all_messages()
    assert [part.content for part in returned(messages, "book_room")] == ["booked Monday"]
    assert [part.content for part in returned(messages, "send_mail")] == ["sent to Ada"]


async def test_an_index_of_its_own_is_searched_for_the_tools_given() -> None:
    index = ToolCatalog(overlay={"tools": {"send_mail": {"aliases": ["telegram"]}}})
    search = to_pydantic_ai_search(TOOLS, catalog=index)
    result = await Agent(scripted(searches("telegram"), CALLS, "done"), capabilities=[search]).run("?")
    assert [part.content for part in returned(result.all_messages(), "send_mail")] == ["sent to Ada"]
    assert index.names == ["send_mail", "get_weather"]


def test_an_unknown_strategy_is_refused() -> None:
    wrong: Any = "send_mail"
    with pytest.raises(ValueError, match="`strategy` is 'send_mail': use 'words', 'regex' or 'both'"):
        to_pydantic_ai_search(strategy=wrong)


@pytest.mark.parametrize(
    ("tools", "options", "error", "said"),
    [
        (TOOLS, {"always_loaded": ["post"]}, ToolValidationError, "`always_loaded` names 'post', which the catalogue"),
        (None, {"always_loaded": ["post"]}, ValueError, r"use `deferred\(toolset, always_loaded=...\)`"),
        (FOREIGN, {}, ToolValidationError, "must hold hikidashi tools, and it holds a"),
        (ToolCatalog(TOOLS), {"catalog": ToolCatalog()}, ValueError, "Leave out `catalog`"),
    ],
)
def test_what_could_not_work_is_refused_at_once(
    tools: Any, options: dict[str, Any], error: type[Exception], said: str
) -> None:
    with pytest.raises(error, match=said):
        to_pydantic_ai_search(tools, **options)
