"""Runs of the anthropic client with `preload=N`: the tools for a message are in the first request, and stay."""

from __future__ import annotations

import asyncio
import copy
import json
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from anthropic import Anthropic, AsyncAnthropic
from anthropic.types.beta import BetaMessage
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.search.preload_support import (
    ASK_AGAIN,
    ASK_EVENTS,
    ASK_FLIGHT,
    ASK_MAIL,
    ASK_WEATHER,
    CLOSE,
    MAIL,
    TOOLS,
    WEATHER,
    Failing,
    by_words,
    by_words_at_first,
    drawer,
    long_mails,
)
from tests.support import Heard

from hikidashi.search import SearchLog, ToolCatalog, ToolRun, arun_anthropic_search, run_anthropic_search
from hikidashi.search import anthropic as _loop
from hikidashi.search.anthropic import ToolLoop
from hikidashi.testing import MessagesServer, RecordedRequest, Script, call, say, turn

MODEL = "claude-opus-5-5"
OLD = "claude-3-haiku-20240307"  # cannot follow references
MODELS = pytest.mark.parametrize("model", [MODEL, OLD])

StartServer = Callable[[Script], MessagesServer]


def user(text: Any) -> dict[str, Any]:
    return {"role": "user", "content": text}


async def run(server: MessagesServer, messages: list[Any], *, way: str = "plain", **options: Any) -> ToolRun:
    """The outcome of a run with a real client of `server`; of an async one, and of a stream, by its name."""
    asked: dict[str, Any] = {"model": MODEL, "max_tokens": 100, "force": True, "preload": 2} | options
    tools = asked.pop("tools", None) or by_words()
    if way == "async":
        async with AsyncAnthropic(base_url=server.url, api_key="sk-test", max_retries=0) as client:
            start: Any = arun_anthropic_search
            return await start(client, tools, messages=messages, **asked)

    def sync() -> ToolRun:
        with Anthropic(base_url=server.url, api_key="sk-test", max_retries=0) as client:
            start: Any = run_anthropic_search
            given = start(client, tools, messages=messages, stream=way == "stream", **asked)
            return given.result() if way == "stream" else given

    return await asyncio.to_thread(sync)


def visible(server: MessagesServer) -> list[list[str]]:
    return [request.loaded_tools for request in server.requests]


def in_full(server: MessagesServer, request: int = 0) -> list[dict[str, Any]]:
    """The definitions that the model sees in the prompt, which are what the cache holds."""
    return [tool for tool in server.requests[request].tools if not tool.get("defer_loading")]


def grown(earlier: RecordedRequest, later: RecordedRequest) -> list[str]:
    """The tools by which the list in the prompt grew; the rest of what the cache holds is the same, byte for byte."""
    before, after = ([json.dumps(tool) for tool in each.tools] for each in (earlier, later))
    assert after[: len(before)] == before
    assert earlier.body.get("system") == later.body.get("system")
    assert earlier.headers.get("anthropic-beta") == later.headers.get("anthropic-beta")
    said, then = ([json.dumps(message) for message in each.messages] for each in (earlier, later))
    assert then[: len(said)] == said
    return later.tool_names[len(before) :]


@MODELS
@pytest.mark.parametrize("way", ["plain", "stream", "async"])
async def test_the_first_request_has_the_tool_in_full_and_no_search_is_needed(
    messages_server: StartServer, tmp_path: Path, model: str, way: str
) -> None:
    server = messages_server([WEATHER, say("It rains.")])
    with SearchLog(tmp_path / "log.db") as log:
        done = await run(server, [user(ASK_WEATHER)], way=way, model=model, record=log)
        assert [(each.name, each.found_by) for each in log.calls()] == [("get_weather", "preload")]
        assert [(each.kind, each.query, each.called) for each in log.searches()] == [
            ("preload", ASK_WEATHER, ("get_weather",))
        ]
    assert (done.text, done.turns, done.searches) == ("It rains.", 2, ())
    assert done.loaded == done.preloaded == ("get_weather",)
    assert visible(server) == [["search_tools", "get_weather"]] * 2
    assert in_full(server)[1] == {
        "name": "get_weather",
        "description": "The weather in a city.",
        "input_schema": TOOLS[1].input_schema,
    }
    assert server.requests[0].tools == server.requests[1].tools
    assert server.requests[1].tool_result_texts == ["rain in Tokyo"]
    assert server.refusals == []


@MODELS
async def test_a_conversation_that_goes_on_keeps_its_tools_and_adds_at_the_end(
    messages_server: StartServer, model: str
) -> None:
    script = [WEATHER, say("Rain."), say("Welcome!"), MAIL, say("Sent."), say("Rain.")]
    server, heard, messages = messages_server(script), Heard(), list[Any]()
    for prompt in (ASK_WEATHER, "Thank you!", ASK_MAIL, ASK_WEATHER):
        done = await run(server, [*messages, user(prompt)], model=model, record=heard)
        messages = done.messages
    assert done.preloaded == ("get_weather", "send_mail")
    first, both = ["search_tools", "get_weather"], ["search_tools", "get_weather", "send_mail"]
    assert visible(server) == [first, first, first, both, both, both]
    assert [each for each in map(grown, server.requests[:-1], server.requests[1:]) if each] == (
        [] if model == MODEL else [["send_mail"]]
    )
    assert heard.searches == [(ASK_WEATHER, "preload", ["get_weather"]), (ASK_MAIL, "preload", ["send_mail"])]
    assert server.refusals == []


ADDITION: dict[str, Any] = {"type": "tool_addition", "tool": {"type": "tool_reference", "name": "send_mail"}}
ADDED = {"role": "system", "content": [ADDITION]}
SAID = {"role": "assistant", "content": "Yes."}
CONVERSATION = [user(ASK_WEATHER), SAID, user(ASK_MAIL), ADDED, SAID, user("Thank you!")]


async def test_a_later_message_loads_tools_in_a_message_of_the_system_and_the_list_stays_as_it_is(
    messages_server: StartServer,
) -> None:
    server = messages_server([say("Yes."), MAIL, say("Sent.")])
    first = await run(server, [user(ASK_WEATHER)])
    done = await run(server, [*first.messages, user(ASK_MAIL)])
    assert server.requests[1].messages[-2:] == [user(ASK_MAIL), ADDED]
    assert [message["role"] for message in done.messages] == [
        *("user", "assistant", "user", "system", "assistant", "user", "assistant")
    ]
    assert server.requests[0].tools == server.requests[1].tools == server.requests[2].tools
    assert "mid-conversation-tool-changes-2026-07-01" in server.requests[0].headers["anthropic-beta"]
    assert server.requests[2].tool_result_texts == ["sent to Ada"]
    assert server.refusals == []


@pytest.mark.parametrize(
    ("options", "is_added"),
    [
        ({}, True),
        ({"preload": None}, True),  # what was loaded stays
        ({"model": "claude-sonnet-4-6"}, False),
        ({"model": OLD}, False),
        ({"provider": "vertex"}, False),
        ({"betas": "off"}, False),
        ({"betas": ["other"]}, False),
        ({"betas": ["other", "mid-conversation-tool-changes-2026-07-01"]}, True),
    ],
)
def test_a_conversation_with_additions_is_sent_as_the_model_can_read_it(
    options: dict[str, Any], is_added: bool
) -> None:
    given: dict[str, Any] = {"model": MODEL, "force": True, "preload": 2, **options}
    loop = ToolLoop(CATALOG, messages=CONVERSATION, **given)
    sent = loop.request
    assert (ADDED in sent["messages"]) is is_added
    assert sent["messages"] == [message for message in CONVERSATION if is_added or message is not ADDED]
    listed = [tool["name"] for tool in sent["tools"] if not tool.get("defer_loading")]
    assert ("send_mail" in listed) is not is_added
    assert json.dumps(ToolLoop(CATALOG, messages=sent["messages"], **given).request) == json.dumps(sent)


def test_additions_of_tools_that_are_gone_are_left_out_and_other_words_of_the_system_stay() -> None:
    gone = {"type": "tool_addition", "tool": {"type": "tool_reference", "name": "gone"}}
    text = {"type": "text", "text": "Be brief."}
    mixed = {"role": "system", "content": [gone, text, ADDITION]}
    loop = ToolLoop(
        CATALOG, model=MODEL, messages=[user("?"), SAID, user("!"), mixed, SAID, user("Well?")], force=True, preload=1
    )
    messages = loop.request["messages"]
    assert "gone" not in json.dumps(messages)
    assert {"role": "system", "content": [text]} in messages
    assert ADDED in messages


@MODELS
async def test_a_loaded_tool_that_is_gone_is_offered_no_longer_and_its_call_is_answered(
    messages_server: StartServer, model: str
) -> None:
    catalog = by_words()
    server = messages_server([say("Rain."), say("Sent."), MAIL, say("I cannot.")])
    messages: list[Any] = []
    for prompt in (ASK_WEATHER, ASK_MAIL, "Thank you!"):
        done = await run(server, [*messages, user(prompt)], tools=catalog, model=model)
        messages = done.messages
        if prompt == ASK_MAIL:
            catalog.remove("send_mail")
    assert visible(server)[1:] == [["search_tools", "get_weather", "send_mail"], *[["search_tools", "get_weather"]] * 2]
    assert "There is no tool 'send_mail'." in server.requests[-1].tool_result_texts[-1]
    assert server.refusals == []


@MODELS
async def test_what_a_search_found_between_two_messages_keeps_its_place(
    messages_server: StartServer, tmp_path: Path, model: str
) -> None:
    search = call("search_tools", {"query": "calendar events"})
    script = [say("Rain."), search, say("?"), say("?"), MAIL, call("list_events", {"day": "Monday"}), say("Sent.")]
    server, messages = messages_server(script), list[Any]()
    with SearchLog(tmp_path / "log.db") as log:
        for prompt in (ASK_WEATHER, "Surprise me.", ASK_EVENTS, ASK_MAIL):
            messages = (await run(server, [*messages, user(prompt)], model=model, record=log)).messages
        assert [(each.name, each.found_by) for each in log.calls()] == [
            ("send_mail", "preload"),
            ("list_events", "search"),
        ]
    assert sorted(visible(server)[-1]) == ["get_weather", "list_events", "search_tools", "send_mail"]
    names = [[tool["name"] for tool in in_full(server, number)] for number in range(len(server.requests))]
    assert all(each == names[-1][: len(each)] for each in names)
    assert server.refusals == []


@MODELS
async def test_a_conversation_loads_no_more_than_its_bound_and_the_model_can_still_search(
    messages_server: StartServer, model: str
) -> None:
    server = messages_server([call("search_tools", {"query": "book a flight"}), say("Booked.")])
    said = {"role": "assistant", "content": "Yes."}
    asked = [user(ASK_WEATHER), said, user(ASK_MAIL), said, user(ASK_EVENTS), said, user(ASK_FLIGHT)]
    done = await run(server, asked, model=model, preload=1, preload_most=2)
    assert done.preloaded == ("get_weather", "send_mail")
    assert done.loaded == ("get_weather", "send_mail", "book_flight")
    assert visible(server)[0] == ["search_tools", "get_weather", "send_mail"]


@MODELS
async def test_talk_loads_nothing(messages_server: StartServer, model: str) -> None:
    server = messages_server([say("Hello!")])
    assert (await run(server, [user("Hello, how are you?")], model=model)).preloaded == ()
    assert visible(server) == [["search_tools"]]


async def test_a_system_prompt_and_a_cache_control_are_sent_as_they_are(messages_server: StartServer) -> None:
    server = messages_server([WEATHER, say("Rain.")])
    cached: Any = {"type": "ephemeral"}
    system: Any = [{"type": "text", "text": "Be brief.", "cache_control": cached}]
    await run(server, [user([{"type": "text", "text": ASK_WEATHER, "cache_control": cached}])], system=system)
    for request in server.requests:
        assert request.body["system"] == system
        assert request.messages[0]["content"][0]["cache_control"] == cached
        assert all("cache_control" not in tool for tool in request.tools)
    assert visible(server)[0] == ["search_tools", "get_weather"]
    assert server.refusals == []


async def test_results_of_tools_and_notes_about_searches_are_no_messages_of_the_user(
    messages_server: StartServer,
) -> None:
    use = {"type": "tool_use", "id": "t1", "name": "get_weather", "input": {"city": "Tokyo"}}
    result = {"type": "tool_result", "tool_use_id": "t1", "content": ASK_MAIL}
    note = {"type": "text", "text": ASK_EVENTS}
    messages = [user("Go on."), {"role": "assistant", "content": [use]}, user([result, note])]
    server, heard = messages_server([say("Done.")]), Heard()
    assert (await run(server, messages, record=heard)).preloaded == ("get_weather",)  # which was called
    assert heard.searches == []


@MODELS
async def test_a_tool_that_the_history_called_is_loaded_though_no_message_finds_it(
    messages_server: StartServer, model: str
) -> None:
    def used(name: str, **result: Any) -> list[dict[str, Any]]:
        use: Any = {"type": "tool_use", "id": f"t_{name}", "name": name, "input": {}}
        answer = {"type": "tool_result", "tool_use_id": use["id"], "content": "?", **result}
        return [{"role": "assistant", "content": [use]}, user([answer])]

    calls = [*used("list_events"), *used("book_flight", is_error=True), *used("gone")]
    history = [user("Surprise me."), *calls, {"role": "assistant", "content": "Well?"}]
    server, heard = messages_server([say("Rain.")]), Heard()
    done = await run(server, [*history, user(ASK_WEATHER)], model=model, record=heard)
    assert done.preloaded == ("list_events", "get_weather")
    assert visible(server) == [["search_tools", "list_events", "get_weather"]]
    assert heard.searches == [(ASK_WEATHER, "preload", ["get_weather"])]


async def test_messages_of_the_client_itself_are_taken(messages_server: StartServer) -> None:
    server = messages_server([say("Rain."), say("Sent.")])
    first = await run(server, [user(ASK_WEATHER)])
    assert isinstance(first.message, BetaMessage)
    reply: Any = first.message
    done = await run(server, [user(ASK_WEATHER), reply, user(ASK_MAIL)])
    assert done.preloaded == ("get_weather", "send_mail")


async def test_tools_that_are_listed_anyway_are_not_loaded_twice(messages_server: StartServer, tmp_path: Path) -> None:
    server = messages_server([WEATHER, say("Rain.")])
    with SearchLog(tmp_path / "log.db") as log:
        done = await run(server, [user(ASK_WEATHER)], always_loaded=["get_weather"], record=log)
        assert [(each.name, each.found_by) for each in log.calls()] == [("get_weather", "listed")]
        assert log.searches() == []
    assert (done.preloaded, visible(server)[0]) == ((), ["search_tools", "get_weather"])


async def test_where_all_tools_are_sent_there_is_nothing_to_preload(
    messages_server: StartServer, tmp_path: Path
) -> None:
    server = messages_server([turn(WEATHER, MAIL), say("Done.")])
    with SearchLog(tmp_path / "log.db") as log:
        done = await run(server, [user(ASK_WEATHER)], force=False, record=log)
        assert {each.found_by for each in log.calls()} == {"listed"}
    assert done.preloaded == ()
    assert server.requests[0].tool_names == [tool.name for tool in TOOLS]


async def test_names_that_the_api_refuses_are_preloaded_under_the_name_that_is_sent(
    messages_server: StartServer, tmp_path: Path
) -> None:
    tools = ToolCatalog([TOOLS[0], TOOLS[1].renamed("天気.get weather")], ranker="lexical")
    with SearchLog(tmp_path / "log.db") as log:
        loop = ToolLoop(tools, model=MODEL, messages=[user(ASK_WEATHER)], force=True, preload=1)
        (sent,) = [tool["name"] for tool in loop.request["tools"][1:] if not tool.get("defer_loading")]
        server = messages_server([call(sent, {"city": "Tokyo"}), say("Rain.")])
        await run(server, [user(ASK_WEATHER)], tools=tools, record=log)
        assert [(each.name, each.found_by) for each in log.calls()] == [("天気.get weather", "preload")]
    assert server.requests[1].tool_result_texts == ["rain in Tokyo"]


@MODELS
async def test_definitions_beyond_the_budget_are_left_to_a_search(messages_server: StartServer, model: str) -> None:
    tools = ToolCatalog(long_mails(*(f"send_mail_{number}" for number in range(4))), ranker="lexical")
    server = messages_server([say("Sent.")])
    done = await run(server, [user(ASK_MAIL)], tools=tools, preload=4, budget=200, model=model)
    assert 1 <= len(done.preloaded) < 4


@MODELS
async def test_a_tool_beyond_the_budget_of_a_message_is_loaded_for_a_later_one(
    messages_server: StartServer, model: str
) -> None:
    tools = ToolCatalog(long_mails("send_mail", "send_mail_again", "send_mail_later"), ranker="lexical")
    server, messages = messages_server([say("Sent."), say("Again.")]), list[Any]()
    for prompt in (ASK_MAIL, ASK_AGAIN):
        options: dict[str, Any] = {"tools": tools, "preload": 3, "preload_most": 3, "budget": 200, "model": model}
        done = await run(server, [*messages, user(prompt)], **options)
        messages = done.messages
    assert visible(server) == [["search_tools", "send_mail"], ["search_tools", "send_mail", "send_mail_again"]]
    assert done.preloaded == ("send_mail", "send_mail_again")


# Before the vectors are there


WELCOME = "Thank you!"


@pytest.fixture
def cold(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No tool has a vector yet."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(_loop, "_PATIENCE", None)  # on a busy machine


@pytest.mark.usefixtures("cold")
@pytest.mark.parametrize("way", ["plain", "stream", "async"])
async def test_a_list_of_tools_that_are_new_preloads_the_same_for_a_history_in_plain_json(
    messages_server: StartServer, way: str
) -> None:
    server = messages_server([say("Closed."), say("Welcome!")])
    first = await run(server, [user(CLOSE)], tools=drawer(), preload=3, model=OLD, way=way)
    plain = json.loads(json.dumps(first.messages))
    assert ToolCatalog(drawer()).ready()
    later = await run(server, [*plain, user(WELCOME)], tools=drawer(), preload=3, model=OLD, way=way)
    assert first.preloaded == later.preloaded
    assert len(first.preloaded) == 3
    assert server.requests[0].tools == server.requests[1].tools


@MODELS
@pytest.mark.parametrize("copied", [list[Any], copy.deepcopy])
async def test_what_a_message_loaded_by_words_stays_once_there_are_vectors(
    messages_server: StartServer, model: str, copied: Callable[[list[Any]], list[Any]]
) -> None:
    catalog, let = by_words_at_first()
    server = messages_server([say("Closed."), say("Welcome!"), say("Closed."), say("Welcome!")])
    first = await run(server, [user([{"type": "text", "text": CLOSE}])], tools=catalog, preload=3, model=model)
    let.set()
    assert catalog.ready()
    later = await run(server, [*copied(first.messages), user(WELCOME)], tools=catalog, preload=3, model=model)
    assert later.preloaded == first.preloaded
    assert grown(*server.requests[:2]) == []
    fresh = await run(server, [user(CLOSE)], tools=catalog, preload=3, model=model)
    assert fresh.preloaded != first.preloaded
    off = await run(server, [*first.messages, user(WELCOME)], tools=catalog, preload=None, model=model)
    assert off.preloaded == first.preloaded  # what was loaded stays


async def test_a_message_that_loaded_nothing_loads_nothing_later_and_one_that_is_rewritten_is_read_again() -> None:
    given: dict[str, Any] = {"model": OLD, "force": True, "preload": 2}
    catalog = by_words()
    catalog.remove("get_weather")
    talk = [user(ASK_WEATHER), SAID, user("Thank you!")]
    messages = ToolLoop(catalog, messages=talk, **given).settled
    catalog.add(TOOLS[1])
    later = ToolLoop(catalog, messages=messages, **given)
    assert [tool["name"] for tool in later.request["tools"]] == ["search_tools"]
    assert json.dumps(later.settled) == json.dumps(talk)
    messages[0]["content"] = "How is the weather?"
    rewritten = ToolLoop(catalog, messages=messages, **given)
    assert [tool["name"] for tool in rewritten.request["tools"]] == ["search_tools", "get_weather"]


async def test_the_encoder_that_fails_while_it_is_waited_for_does_not_end_the_run(
    messages_server: StartServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> bool:
        raise RuntimeError("no more memory")

    monkeypatch.setattr(ToolCatalog, "ready", fails)
    server = messages_server([say("Hello!")])
    assert (await run(server, [user("Hello!")], tools=TOOLS)).text == "Hello!"


async def test_a_search_that_fails_does_not_end_the_run(
    messages_server: StartServer, caplog: pytest.LogCaptureFixture
) -> None:
    server = messages_server([say("I cannot.")])
    with caplog.at_level(logging.WARNING, "hikidashi"):
        done = await run(server, [user(ASK_WEATHER)], tools=by_words(Failing))
    assert (done.text, done.preloaded) == ("I cannot.", ())
    assert "Nothing was preloaded" in caplog.text


TURNS = st.lists(st.sampled_from([ASK_WEATHER, ASK_MAIL, ASK_EVENTS, ASK_FLIGHT, "Thanks!", ""]), max_size=8)


@settings(max_examples=60, deadline=None)
@given(TURNS, st.integers(1, 3), st.integers(0, 3), st.sampled_from([MODEL, OLD]))
def test_definitions_in_the_prompt_are_a_prefix_of_those_of_the_conversation_that_goes_on(
    asked: list[str], count: int, more: int, model: str
) -> None:
    """Whatever is asked: a continued conversation has what it had, in the same order, and never beyond the bound."""
    messages: list[Any] = []
    before: list[str] = []
    for prompt in asked:
        messages += [user(prompt)]
        loop = ToolLoop(CATALOG, model=model, messages=messages, force=True, preload=count, preload_most=count + more)
        shown = [json.dumps(tool) for tool in loop.request["tools"] if not tool.get("defer_loading")]
        assert shown[: len(before)] == before
        assert len(shown) <= 1 + count + more
        names = [tool["name"] for tool in loop.request["tools"]]
        assert names[0] == "search_tools"
        assert len(names) == len(set(names))
        before = shown
        messages += [{"role": "assistant", "content": "Yes."}]


CATALOG = by_words()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"preload": 21}, "`preload` is 21: use a whole number from 1 to 20"),
        ({"preload": -1}, "`preload` is -1: use a whole number"),
        ({"preload": 5, "preload_most": 4}, "`preload_most` is 4: use a whole number from 5 on"),
        ({"preload": 0, "preload_most": 5}, "`preload_most` is 5 and `preload` is off"),
    ],
)
def test_a_number_that_cannot_be_right_is_refused_at_once(options: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        ToolLoop(TOOLS, model=MODEL, messages=[user("?")], **options)
