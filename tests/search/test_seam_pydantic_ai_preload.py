"""pydantic-ai with `preload=N`: the model calls what a message needs in its first turn, without a search."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai import Agent, ToolReturn
from pydantic_ai.capabilities import ProcessHistory
from pydantic_ai.messages import (
    BinaryContent,
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    UserPromptPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.models.test import TestModel
from pydantic_ai.profiles import ModelProfile
from pydantic_ai.toolsets import FunctionToolset
from tests.pydantic_ai_support import anthropic_model, preloading, scripted
from tests.search.preload_support import (
    ASK_AGAIN,
    CLOSE,
    Failing,
    book_room,
    by_words_at_first,
    get_weather,
    long_mails,
    refund_order,
    send_mail,
)
from tests.support import PIXEL

from hikidashi import Tool, from_function
from hikidashi.search import SearchLog, ToolCatalog, deferred, to_pydantic_ai_search
from hikidashi.testing import MessagesServer, call, say

Server = Callable[..., MessagesServer]


TOOLS = FunctionToolset[Any]([book_room, get_weather, refund_order, send_mail])
MAIL = "Send a mail to Ada, please."
WEATHER = "What is the weather in Rome?"
THANKS = "thanks, that was great"
SENDS = ToolCallPart("send_mail", {"to": "Ada"})
WITHOUT_TOOL_SEARCH: ModelProfile = {"supported_native_tools": frozenset(), "tool_deferral_mode": None}


def agent_of(model: Any, **options: Any) -> Agent[Any, str]:
    return preloading(model, TOOLS, **options)


def names(info: AgentInfo) -> list[str]:
    return [tool.name for tool in info.function_tools]


async def test_the_model_calls_in_its_first_turn_what_the_message_needs() -> None:
    seen: list[AgentInfo] = []
    result = await agent_of(scripted(SENDS, "done", seen=seen)).run(MAIL)
    assert result.output == "done"
    assert [names(info) for info in seen] == [["search_tools", "send_mail"]] * 2
    assert "sent to Ada" in str(result.all_messages())


async def test_talk_loads_nothing_and_preloading_is_off_by_default() -> None:
    for options, message in (({"preload": 2}, THANKS), ({"preload": 0}, MAIL), ({"preload": None}, MAIL)):
        seen: list[AgentInfo] = []
        await agent_of(scripted("fine", seen=seen), **options).run(message)
        assert [names(info) for info in seen] == [["search_tools"]]
    seen = []
    agent = Agent(scripted("fine", seen=seen), toolsets=[deferred(TOOLS)], capabilities=[to_pydantic_ai_search()])
    await agent.run(MAIL)
    assert [names(info) for info in seen] == [["search_tools"]]


async def test_later_messages_add_at_the_end_and_a_history_that_was_saved_loads_the_same() -> None:
    seen: list[AgentInfo] = []
    model = scripted(SENDS, "done", ToolCallPart("get_weather", {"city": "Rome"}), "rain", "bye", seen=seen)
    history = (await agent_of(model).run(MAIL)).all_messages()
    history = (await agent_of(model).run(WEATHER, message_history=history)).all_messages()
    saved = ModelMessagesTypeAdapter.dump_json(history)
    await agent_of(model).run(THANKS, message_history=ModelMessagesTypeAdapter.validate_json(saved))
    assert [names(info) for info in seen] == [
        *[["search_tools", "send_mail"]] * 2,
        *[["search_tools", "send_mail", "get_weather"]] * 3,
    ]


async def test_what_a_message_loaded_by_words_stays_as_it_is_once_there_are_vectors() -> None:
    catalog, let = by_words_at_first()
    seen: list[AgentInfo] = []
    agent = Agent(scripted("1", "2", "3", seen=seen), capabilities=[to_pydantic_ai_search(catalog, preload=3)])
    history = (await agent.run(CLOSE)).all_messages()
    let.set()
    assert catalog.ready()
    saved = ModelMessagesTypeAdapter.dump_json(history)
    await agent.run(THANKS, message_history=ModelMessagesTypeAdapter.validate_json(saved))
    await agent.run(CLOSE)
    first, later, fresh = map(names, seen)
    assert first == later != fresh
    assert len(first) == 4


async def test_a_history_of_the_words_alone_loads_the_same_tools_in_the_same_order() -> None:
    history = [
        *(ModelRequest.user_text_prompt(WEATHER), ModelResponse(parts=[TextPart("rain")])),
        *(ModelRequest.user_text_prompt(THANKS), ModelResponse(parts=[TextPart("gladly")])),
        *(ModelRequest.user_text_prompt("Book a meeting room"), ModelResponse(parts=[TextPart("when?")])),
    ]
    seen: list[AgentInfo] = []
    agent = agent_of(scripted(SENDS, "done", seen=seen), preload=1)
    result = await agent.run(MAIL, message_history=history)
    assert [names(info) for info in seen] == [["search_tools", "get_weather", "book_room", "send_mail"]] * 2
    assert "sent to Ada" in str(result.new_messages())


async def test_a_conversation_loads_no_more_than_its_bound() -> None:
    seen: list[AgentInfo] = []
    model = scripted("1", "2", "3", seen=seen)
    history: Any = None
    for message in (MAIL, WEATHER, "Refund order 12"):
        agent = agent_of(model, preload=1, preload_most=2)
        history = (await agent.run(message, message_history=history)).all_messages()
    assert names(seen[-1]) == ["search_tools", "send_mail", "get_weather"]


async def test_what_was_loaded_stays_though_a_history_processor_leaves_the_last_message_alone() -> None:
    def last(messages: list[ModelMessage]) -> list[ModelMessage]:
        return messages[-1:]

    seen: list[AgentInfo] = []
    search = to_pydantic_ai_search(preload=2)
    model = scripted("1", "2", SENDS, "3", seen=seen)
    agent = Agent(model, toolsets=[deferred(TOOLS)], capabilities=[search, ProcessHistory(last)])
    history: Any = None
    for message in (MAIL, WEATHER, THANKS):
        history = (await agent.run(message, message_history=history)).all_messages()
    assert [sorted(names(info)) for info in seen] == [
        ["search_tools", "send_mail"],
        *[["get_weather", "search_tools", "send_mail"]] * 3,
    ]
    assert "sent to Ada" in str(history)


def test_conversations_at_once_in_two_event_loops_have_tools_of_their_own() -> None:
    offered: dict[str, set[tuple[str, ...]]] = {MAIL: set(), WEATHER: set()}

    def model(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        (prompt,) = (part.content for part in messages[0].parts if isinstance(part, UserPromptPart))
        offered[str(prompt)].add(tuple(names(info)))
        return ModelResponse(parts=[TextPart("done")])

    agent = agent_of(FunctionModel(model))

    async def ask() -> None:
        await asyncio.gather(*(agent.run(message) for message in (MAIL, WEATHER, MAIL)))

    def loop(_: int) -> None:
        asyncio.run(ask())

    with ThreadPoolExecutor(2) as threads:
        list(threads.map(loop, range(8)))
    assert offered == {MAIL: {("search_tools", "send_mail")}, WEATHER: {("search_tools", "get_weather")}}


async def test_a_loaded_tool_that_is_removed_from_the_catalogue_is_offered_no_longer() -> None:
    catalog = ToolCatalog([MAILS, from_function(get_weather)], ranker="lexical")
    seen: list[AgentInfo] = []
    agent = Agent(scripted("1", SENDS, "2", seen=seen), capabilities=[to_pydantic_ai_search(catalog, preload=2)])
    history = (await agent.run(MAIL)).all_messages()
    catalog.remove("send_mail")
    result = await agent.run(WEATHER, message_history=history)
    assert [names(info) for info in seen] == [["search_tools", "send_mail"], *[["search_tools", "get_weather"]] * 2]
    assert "Unknown tool name: 'send_mail'" in str(result.all_messages())


async def test_definitions_beyond_the_budget_are_left_to_a_search(tmp_path: Path) -> None:
    tools = long_mails("send_mail", "send_mail_later", "send_mail_again")
    asks = ToolCallPart("search_tools", {"queries": ["select:send_mail_again"]})
    seen: list[AgentInfo] = []
    model = scripted(asks, ToolCallPart("send_mail_again", {"to": "Ada"}), "done", seen=seen)
    with SearchLog(tmp_path / "log.db") as log:
        search = to_pydantic_ai_search(ToolCatalog(tools, ranker="lexical"), preload=3, budget=200, record=log)
        result = await Agent(model, capabilities=[search]).run(MAIL)
        assert [one.found_by for one in log.calls()] == ["search"]
        (preloaded,) = (one.names for one in log.searches() if one.kind == "preload")
    assert "sent to Ada" in str(result.all_messages())
    assert 1 <= len(preloaded) < 3
    assert names(seen[0]) == ["search_tools", *preloaded]


async def test_a_tool_beyond_the_budget_of_a_message_is_loaded_for_a_later_one() -> None:
    tools = ToolCatalog(long_mails("send_mail", "send_mail_again", "send_mail_later"), ranker="lexical")
    seen: list[AgentInfo] = []
    search = to_pydantic_ai_search(tools, preload=3, preload_most=3, budget=200)
    agent = Agent(scripted("sent", "again", seen=seen), capabilities=[search])
    history = (await agent.run(MAIL)).all_messages()
    await agent.run(ASK_AGAIN, message_history=history)
    assert [names(info) for info in seen] == [
        ["search_tools", "send_mail"],
        ["search_tools", "send_mail", "send_mail_again"],
    ]


async def test_a_message_with_a_picture_loads_the_tools_for_its_text() -> None:
    seen: list[AgentInfo] = []
    picture = BinaryContent(PIXEL, media_type="image/png")
    await agent_of(scripted("done", seen=seen)).run([picture, MAIL])
    await agent_of(scripted("done", seen=seen)).run([picture])
    assert [names(info) for info in seen] == [["search_tools", "send_mail"], ["search_tools"]]


async def test_text_that_a_tool_returned_loads_nothing() -> None:
    seen: list[AgentInfo] = []
    agent = agent_of(scripted(ToolCallPart("read", {}), "done", seen=seen))

    @agent.tool_plain
    def read() -> Any:
        return ToolReturn("text", content=[WEATHER])

    await agent.run(THANKS)
    assert [names(info) for info in seen] == [["read", "search_tools"]] * 2


async def test_the_search_stays_and_finds_what_was_loaded_too() -> None:
    asks = ToolCallPart("search_tools", {"queries": ["send a mail", "weather in a city"]})
    seen: list[AgentInfo] = []
    model = scripted(asks, SENDS, ToolCallPart("get_weather", {"city": "Rome"}), "done", seen=seen)
    result = await agent_of(model).run(MAIL)
    assert result.output == "done"
    assert "rain in Rome" in str(result.all_messages())
    assert sorted(names(seen[-1])) == ["get_weather", "search_tools", "send_mail"]


async def test_a_search_that_fails_does_not_end_the_run(caplog: pytest.LogCaptureFixture) -> None:
    agent = Agent(scripted("done"), capabilities=[to_pydantic_ai_search(Failing([MAILS]), preload=3)])
    assert (await agent.run(MAIL)).output == "done"
    assert "the index is gone" in caplog.text


MAILS: Tool = from_function(send_mail)


@pytest.mark.parametrize("value", [-1, 21, True, "3"])
def test_a_count_that_could_not_work_is_refused_at_once(value: Any) -> None:
    with pytest.raises(ValueError, match=f"`preload` is {value!r}: use a whole number from 1 to 20"):
        to_pydantic_ai_search(preload=value)
    with pytest.raises(ValueError, match="`preload_most` is 1: use a whole number from 3 on"):
        to_pydantic_ai_search(preload=3, preload_most=1)


async def test_the_test_model_of_pydantic_ai_calls_what_was_loaded() -> None:
    result = await agent_of(TestModel(call_tools=["send_mail"])).run(MAIL)
    assert json.loads(result.output) == {"send_mail": "sent to a"}


async def test_definitions_are_not_copied_for_each_request() -> None:
    seen: list[AgentInfo] = []
    await agent_of(scripted(SENDS, SENDS, "done", seen=seen)).run(MAIL)
    first, *others = (tool for info in seen for tool in info.function_tools if tool.name == "send_mail")
    assert first.parameters_json_schema is TOOLS.tools["send_mail"].function_schema.json_schema
    assert all(tool.parameters_json_schema is first.parameters_json_schema for tool in others)
    assert len(others) == 2


async def test_the_record_says_what_found_each_tool_that_was_called(tmp_path: Path) -> None:
    def agent_with(log: SearchLog, *script: ToolCallPart | str) -> Agent[Any, str]:
        toolset = deferred(TOOLS, always_loaded=["book_room"])
        search = to_pydantic_ai_search(preload=1, record=log)
        return Agent(scripted(*script), toolsets=[toolset], capabilities=[search])

    weather = ToolCallPart("get_weather", {"city": "Rome"})
    asks = ToolCallPart("search_tools", {"queries": ["weather in a city"]})
    room = ToolCallPart("book_room", {"time": "9:00"})
    with SearchLog(tmp_path / "log.sqlite3") as log:
        history = (await agent_with(log, SENDS, asks, weather, room, "done").run(MAIL)).all_messages()
        await agent_with(log, weather, SENDS, "done").run(THANKS, message_history=history)
        calls, searches = log.calls(), log.searches()
    found_by = [("send_mail", "preload"), ("get_weather", "search"), ("book_room", "listed")]
    assert [(one.name, one.found_by) for one in calls] == [*found_by, *reversed(found_by[:2])]
    assert [(one.query, one.kind, one.names) for one in searches] == [
        (MAIL, "preload", ("send_mail",)),
        ("weather in a city", "words", ("get_weather",)),
    ]
    assert len({one.session for one in (*calls, *searches)}) == 1


# Models


BOTH = [call("send_mail", {"to": "Ada"}), say("done"), call("get_weather", {"city": "Rome"}), say("rain")]


async def ran_twice(model: Any) -> None:
    history = (await agent_of(model).run(MAIL)).all_messages()
    assert (await agent_of(model).run(WEATHER, message_history=history)).output == "rain"


@pytest.mark.parametrize("name", ["claude-sonnet-4-6", "claude-opus-5"])
async def test_claude_gets_the_first_tools_in_full_and_later_ones_without_a_change_of_the_list(
    messages_server: Server, name: str
) -> None:
    server = messages_server(BOTH)
    async with anthropic_model(server, name) as model:
        await ran_twice(model)
    first, second, third, last = server.requests
    deferred_tools = {"book_room": True, "get_weather": True, "refund_order": True}
    assert {tool["name"]: tool.get("defer_loading", False) for tool in first.tools} == {
        **deferred_tools,
        "search_tools": False,
        "send_mail": False,
    }
    assert [tool["name"] for tool in first.tools][-2:] == ["search_tools", "send_mail"]
    assert first.tools == second.tools == third.tools == last.tools
    assert [message["role"] for message in first.messages] == ["user"]
    assert "send_mail" not in str(first.messages)
    assert "search_tools" not in str(second.messages)
    assert "'get_weather'" in str(third.messages)
    assert last.tool_result_texts[-1] == "rain in Rome"
    assert last.messages[: len(third.messages)] == third.messages
    assert server.refusals == []


async def test_a_claude_without_tool_search_is_offered_what_was_loaded(messages_server: Server) -> None:
    server = messages_server(BOTH)
    async with anthropic_model(server, profile=WITHOUT_TOOL_SEARCH) as model:
        await ran_twice(model)
    assert [request.tool_names for request in server.requests] == [
        *[["search_tools", "send_mail"]] * 2,
        *[["search_tools", "send_mail", "get_weather"]] * 2,
    ]
    assert server.requests[-1].tool_result_texts[-1] == "rain in Rome"
    assert server.refusals == []
