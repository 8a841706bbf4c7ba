"""strands: what a search finds is loaded into the running agent, and stays."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest
import strands
from strands.agent.conversation_manager import SlidingWindowConversationManager
from strands.models.anthropic import AnthropicModel
from strands.session.file_session_manager import FileSessionManager
from tests.support import Heard, Unsure, saying_its_name

from hikidashi import Tool, ToolResult, ToolValidationError, Unsupported, from_function, to_strands
from hikidashi.convert.wire import WireNames
from hikidashi.errors import ToolConnectionError
from hikidashi.search import ToolCatalog, to_strands_search
from hikidashi.search.answers import found_names, tokens_of
from hikidashi.testing import MessagesServer, call, say, turn

Server = Callable[..., MessagesServer]
strands_tool: Callable[..., Any] = cast("Any", strands).tool


def send_mail(to: str) -> str:
    """Send a mail to somebody."""
    return f"sent to {to}"


def get_weather(city: str) -> str:
    """The weather in a city."""
    return f"rain in {city}"


@strands_tool
def list_events(day: str) -> str:
    """The events in the calendar on a day."""
    return f"nothing on {day}"


TOOLS: list[Any] = [from_function(send_mail), from_function(get_weather), list_events]


async def run(server: MessagesServer, hook: Any, *prompts: str, **options: Any) -> strands.Agent:
    """An agent with the hook, after it was asked on `server`."""
    model = AnthropicModel(
        client_args={"base_url": server.url, "api_key": "sk-test"}, model_id="claude-sonnet-4-6", max_tokens=1000
    )
    async with model.client:
        agent = strands.Agent(model=model, hooks=[hook], callback_handler=None, **options)
        for prompt in prompts or ("?",):
            await agent.invoke_async(prompt)
    return agent


def offered(server: MessagesServer) -> list[list[str]]:
    return [sorted(request.tool_names) for request in server.requests]


async def test_tools_found_are_offered_in_the_next_model_call_and_stay(messages_server: Server) -> None:
    server = messages_server(
        [
            call("search_tools", {"query": "メールを送る"}),
            call("send_mail", {"to": "Ada"}),
            call("search_tools", {"query": "calendar events"}),
            call("list_events", {"day": "Monday"}),
            say("done"),
        ]
    )
    heard = Heard()
    agent = await run(server, to_strands_search(TOOLS, record=heard), "Write to Ada.")

    assert agent.messages[-1]["content"] == [{"text": "done"}]

    assert offered(server) == [
        ["search_tools"],
        ["search_tools", "send_mail"],
        ["search_tools", "send_mail"],
        ["list_events", "search_tools", "send_mail"],
        ["list_events", "search_tools", "send_mail"],
    ]
    assert [str(request.body).count("Send a mail to somebody.") for request in server.requests] == [0, 1, 1, 1, 1]
    assert [request.tool_result_texts for request in server.requests[1:]] == [
        ['Found 1. They are in your list of tools from now on: call them by name.\n{"name":"send_mail"}'],
        ["sent to Ada"],
        ['Found 1. They are in your list of tools from now on: call them by name.\n{"name":"list_events"}'],
        ["nothing on Monday"],
    ]
    assert heard.searches == [
        ("メールを送る", "words", ["send_mail"]),
        ("calendar events", "words", ["list_events"]),
    ]
    assert heard.calls == ["send_mail", "list_events"]


async def test_a_history_with_a_search_loads_what_it_found(messages_server: Server) -> None:
    server = messages_server([call("search_tools", {"query": "send a mail"}), say("found")])
    first = await run(server, to_strands_search(TOOLS), "Look for it.")

    later = messages_server([call("send_mail", {"to": "Ada"}), say("done")])
    await run(later, to_strands_search(TOOLS), "Now write.", messages=list(first.messages))

    assert offered(later) == [["search_tools", "send_mail"]] * 2
    assert later.requests[1].tool_result_texts == ["sent to Ada"]


async def test_a_history_that_was_cut_short_loads_what_is_left_of_it(messages_server: Server) -> None:
    use = {"toolUseId": "t1", "name": "search_tools", "input": {"query": "send a mail"}}
    other: dict[str, Any] = {"toolUseId": "t2", "name": "read_page", "input": {}}
    lines = '{"name":"send_mail","description":""}\n{"name":"get_weather","descr'
    result = {"toolUseId": "t1", "status": "success", "content": [{"text": lines}]}
    page = {"toolUseId": "t2", "status": "success", "content": [{"text": '{"name":"list_events","description":""}'}]}
    history: list[Any] = [
        {"role": "user", "content": [{"text": "?"}]},
        {"role": "assistant", "content": [{"toolUse": use}, {"toolUse": other}]},
        {"role": "user", "content": [{"toolResult": result}, {"toolResult": page}]},
        {"role": "assistant", "content": [{"text": "found"}]},
    ]
    server = messages_server([say("done")])
    await run(server, to_strands_search(TOOLS), messages=history)
    assert offered(server) == [["search_tools", "send_mail"]]


async def test_a_history_without_the_search_leaves_the_tool_to_be_searched_again(messages_server: Server) -> None:
    summary: list[Any] = [
        {"role": "user", "content": [{"text": "They looked for a mail tool."}]},
        {"role": "assistant", "content": [{"text": "I found send_mail."}]},
    ]
    server = messages_server([call("send_mail", {"to": "Ada"}), say("done")])
    await run(server, to_strands_search(TOOLS), "Now write.", messages=summary)
    assert offered(server)[0] == ["search_tools"]
    assert "look for others with search_tools" in server.requests[1].tool_result_texts[0]


async def test_a_session_that_is_restored_has_what_was_found_even_where_messages_were_cut(
    messages_server: Server, tmp_path: Path
) -> None:
    def session() -> dict[str, Any]:
        manager = FileSessionManager(session_id="one", storage_dir=str(tmp_path))
        window = SlidingWindowConversationManager(window_size=2)
        return {"agent_id": "a", "session_manager": manager, "conversation_manager": window}

    script = [call("search_tools", {"query": "send a mail"}), say("found"), say("one"), say("two")]
    first = await run(
        messages_server(script), to_strands_search(TOOLS), "Look for it.", "Hello.", "Hello.", **session()
    )
    assert "search_tools" not in str(first.messages)

    later = messages_server([call("send_mail", {"to": "Ada"}), say("done")])
    await run(later, to_strands_search(TOOLS), "Now write.", **session())
    assert offered(later) == [["search_tools", "send_mail"]] * 2
    assert later.requests[1].tool_result_texts == ["sent to Ada"]


async def test_a_summary_with_the_state_of_an_earlier_agent_has_what_was_found(messages_server: Server) -> None:
    server = messages_server([call("send_mail", {"to": "Ada"}), say("found")])
    first = await run(server, to_strands_search(TOOLS), "Look for it.")
    later = messages_server([say("done")])
    state = {**first.state.get(), "own": 1}
    await run(later, to_strands_search(TOOLS), "They found a mail tool. Write.", state=state)
    assert offered(later) == [["search_tools", "send_mail"]]


async def test_a_state_that_somebody_else_wrote_does_no_harm(messages_server: Server) -> None:
    for odd in ("send_mail", [7, None, "gone"], {"a": 1}):
        server = messages_server([say("done")])
        await run(server, to_strands_search(TOOLS), state={"hikidashi_found_tools": odd})
        assert offered(server) == [["search_tools"]]


async def test_a_tool_called_without_a_search_is_not_run_but_loaded(messages_server: Server) -> None:
    server = messages_server([call("send_mail", {"address": "?"}), call("send_mail", {"to": "Ada"}), say("done")])
    heard = Heard()
    await run(server, to_strands_search(TOOLS, record=heard), "Write.")

    refused, answered = server.requests[1], server.requests[2]
    assert refused.tool_results[0]["is_error"]
    assert "was not called" in refused.tool_result_texts[0]
    assert "search_tools" in refused.tool_result_texts[0]
    assert offered(server)[1] == ["search_tools", "send_mail"]
    assert answered.tool_result_texts == ["sent to Ada"]
    assert heard.calls == ["send_mail"]


async def test_a_tool_that_does_not_exist_is_answered_with_those_that_come_near(messages_server: Server) -> None:
    server = messages_server([turn(call("mail_send"), call("zzz")), say("done")])
    await run(server, to_strands_search(TOOLS, language="ja"), "Write.")
    near, nothing = server.requests[1].tool_result_texts
    assert near == "'mail_send' というツールはありません。search_tools で探してください。近いもの: send_mail。"
    assert nothing == "'zzz' というツールはありません。search_tools で探してください。"


async def test_a_query_that_cannot_be_answered_is_explained(messages_server: Server) -> None:
    server = messages_server(
        [
            turn(
                call("search_tools", {"query": "/mail(/"}),
                call("search_tools", {}),
                call("search_tools", {"query": ["mail"]}),
                call("search_tools", {"query": "bake a cake"}),
            ),
            say("sorry"),
        ]
    )
    await run(server, to_strands_search(TOOLS), "?")
    assert [result["is_error"] for result in server.requests[1].tool_results] == [True, True, True, False]
    broken, empty, listed, nothing = server.requests[1].tool_result_texts
    assert "mail(" in broken
    assert empty.startswith("`query` is None. What the tool should do")
    assert listed.startswith("`query` is ['mail']. ")
    assert nothing.startswith("No tool fits 'bake a cake'.")


async def test_searches_of_one_turn_that_find_the_same_tool_load_it_once(messages_server: Server) -> None:
    names = ["send mail", "send a mail", "mail to somebody", "select:send_mail"] * 3
    server = messages_server([turn(*(call("search_tools", {"query": name}) for name in names)), say("done")])
    await run(server, to_strands_search(TOOLS), "?")
    assert [result["is_error"] for result in server.requests[1].tool_results] == [False] * 12
    assert offered(server)[1] == ["search_tools", "send_mail"]


async def test_one_hook_serves_many_agents_and_each_has_what_it_found(messages_server: Server) -> None:
    hook = to_strands_search(TOOLS, always_loaded=["get_weather"])
    queries = ["send a mail", "calendar events"] * 4
    servers = [messages_server([call("search_tools", {"query": query}), say("done")]) for query in queries]
    await asyncio.gather(*(run(server, hook, "?") for server in servers))
    found = [[name for name in offered(server)[1] if name not in ("get_weather", "search_tools")] for server in servers]
    assert found == [["send_mail"], ["list_events"]] * 4
    assert {tuple(offered(server)[0]) for server in servers} == {("get_weather", "search_tools")}


def test_a_tool_the_agent_already_has_is_left_alone() -> None:
    own = to_strands([from_function(send_mail)])[0]
    hook = to_strands_search(TOOLS)
    agent = strands.Agent(hooks=[hook], tools=[own])
    assert "send_mail" in hook.search("send a mail", agent)
    assert agent.tool_registry.registry["send_mail"] is own


def test_a_tool_that_cannot_be_loaded_beside_the_agents_own_does_not_hide_the_others(
    caplog: pytest.LogCaptureFixture,
) -> None:
    heard = Heard()
    catalog = ToolCatalog(TOOLS)
    hook = to_strands_search(catalog, record=heard)
    agent = strands.Agent(hooks=[hook], tools=to_strands([named("get-weather")]))
    catalog.add({"name": "dictated", "description": "Send a letter", "input_schema": {"type": "object"}})
    assert hook.search("select:get_weather,dictated,send_mail", agent).startswith("Found 1.")
    assert heard.searches == [("select:get_weather,dictated,send_mail", "select", ["send_mail"])]
    assert hook.search("select:get_weather", agent).startswith("No tool fits")
    assert ["get_weather" in message or "dictated" in message for message in caplog.messages] == [True] * 3


async def nothing_to_say(_: dict[str, Any]) -> ToolResult:
    return ToolResult.of("")


def named(name: str) -> Tool:
    return Tool(name=name, description="", input_schema={"type": "object"}, call=nothing_to_say)


def strands_tool_named(name: str) -> Any:
    made: Any = strands.tool(name=name)  # pyright: ignore[reportUnknownMemberType] - its schema is a bare `dict`
    return made(lambda: "")


@pytest.mark.parametrize(
    ("tools", "options", "message"),
    [
        ([*to_strands([named("a-b")]), *to_strands([named("a_b")])], {}, "'a-b' and 'a_b'"),
        ([named("search-tools")], {}, "search_tools"),
        ([named("search_tools")], {}, "search_tools"),
        ([{"name": "a", "description": "x", "input_schema": {"type": "object"}}], {}, "cannot run a dict"),
        ([named("a")], {"always_loaded": ["b"]}, "'b'"),
        ([strands_tool_named("x.y")], {}, "cannot call a tool named 'x.y'"),
    ],
)
def test_tools_that_strands_could_not_load_are_refused_at_once(tools: Any, options: Any, message: str) -> None:
    with pytest.raises(ToolValidationError, match=message):
        to_strands_search(tools, **options)


@pytest.mark.parametrize("as_shown", [False, True])
async def test_tools_of_any_name_are_called_by_the_name_that_the_search_showed(
    messages_server: Server, as_shown: bool
) -> None:
    names = ["メール送信", "予定を追加", "a-b", "a_b", "n" * 65]
    wire = WireNames(names, longest=64, alike=lambda name: name.replace("-", "_"))
    tools = [saying_its_name(name) for name in names]
    shown = [wire.of(name) for name in names]
    server = messages_server(
        [
            call("search_tools", {"query": f"select:{','.join(shown if as_shown else names)}"}),
            turn(*(call(name) for name in shown)),
            say("done"),
        ]
    )
    heard = Heard()
    await run(server, to_strands_search(tools, record=heard), "?")
    assert found_names(server.requests[1].tool_result_texts[0]) == shown
    assert offered(server)[1] == sorted(["search_tools", *shown])
    assert server.requests[2].tool_result_texts == [f"{name}: done" for name in names]
    assert sorted(heard.calls) == sorted(names)


async def test_a_search_loads_what_fits_the_budget_and_names_the_rest(messages_server: Server) -> None:
    long = [replace(named(f"report_{n}"), description="Write a report. " + "word " * 900) for n in range(4)]
    huge = replace(named("huge"), description="Do something very long. " + "word " * 100_000)
    server = messages_server(
        [
            call("search_tools", {"query": "write a report"}),
            call("search_tools", {"query": "select:huge"}),
            say("done"),
        ]
    )
    await run(server, to_strands_search([*long, huge], budget=2_500), "?")
    first, _ = (request.tool_result_texts[-1] for request in server.requests[1:])
    assert first.startswith('Found 4. They are in your list of tools from now on: call them by name.\n{"name":"report_')
    assert "In short, 2 more." in first
    assert len(re.findall('{"tool":"report_[0-9]","about":"Write a report. word', first)) == 2
    assert [len(names) for names in offered(server)] == [1, 3, 4]
    (loaded,) = (tool for tool in server.requests[2].tools if tool["name"] == "huge")
    assert loaded["description"].endswith(" of 500,024 characters]")
    assert tokens_of(str(loaded)) < 2_600
    assert tokens_of(first) < 300


async def test_the_nearest_are_loaded_and_said_to_be_uncertain(messages_server: Server) -> None:
    server = messages_server([call("search_tools", {"query": "send mail"}), say("done")])
    heard = Heard()
    await run(server, to_strands_search(Unsure(TOOLS), record=heard), "?")
    (said,) = server.requests[1].tool_result_texts
    assert said.startswith(
        "No tool surely fits 'send mail'. These are the nearest, perhaps not what you need. They are"
    )
    assert found_names(said) == ["send_mail"]
    assert heard.searches == [("send mail", "nearest", ["send_mail"])]
    assert offered(server)[1] == ["search_tools", "send_mail"]


async def test_a_tool_whose_server_is_gone_says_so_in_words_for_a_model(messages_server: Server) -> None:
    async def lost(_: dict[str, Any]) -> ToolResult:
        raise ToolConnectionError("send_mail", "the MCP session is closed")

    tools = [replace(from_function(send_mail), call=lost)]
    server = messages_server([call("send_mail", {"to": "Ada"}), say("done")])
    await run(server, to_strands_search(tools, always_loaded=["send_mail"]), "?")
    assert server.requests[1].tool_result_texts == [
        "'send_mail' could not be called: its server does not answer at the moment. The arguments are not the reason. "
        "Go on without it, or try again later."
    ]


def test_a_schema_that_strands_could_not_take_is_refused_at_once() -> None:
    tool = Tool(name="a", description="", input_schema={"$ref": "#/$defs/A"}, call=nothing_to_say)
    with pytest.raises(Unsupported, match="tool 'a'"):
        to_strands_search([tool])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"strategy": "bm25"}, "`strategy` is 'bm25'"),
        ({"max_results": 0}, "`max_results` is 0"),
        ({"language": "de"}, "`language` is 'de'"),
        ({"always_loaded": "a"}, "`always_loaded` is 'a': use a list of names"),
    ],
)
def test_options_that_could_not_work_are_refused_at_once(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        to_strands_search([named("a")], **options)


def test_a_catalogue_is_used_as_it_is() -> None:
    catalog = ToolCatalog(TOOLS)
    hook = to_strands_search(catalog)
    catalog.add(from_function(nothing_to_say, name="play_music", description="Play music"))
    agent = strands.Agent(hooks=[hook])
    hook.search("play music", agent)
    assert agent.tool_names == ["search_tools", "play_music"]


async def test_a_tool_nested_deeper_than_strands_takes_is_cut_and_can_be_called(messages_server: Server) -> None:
    schema: dict[str, Any] = {"type": "string"}
    for level in range(80):
        schema = {"type": "object", "properties": {f"level_{level}": schema}}
    deep = replace(saying_its_name("deep"), input_schema=schema)
    server = messages_server([call("search_tools", {"query": "select:deep"}), call("deep"), say("done")])
    await run(server, to_strands_search([deep]), "?")
    assert offered(server)[1] == ["deep", "search_tools"]
    assert "Deeper levels are left out here." in str(server.requests[1].tools)
    assert server.requests[2].tool_result_texts == ["deep: done"]
