"""What goes wrong in the loop for the anthropic client: in each of its four ways, the same comes of it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from itertools import pairwise
from typing import Any, cast

import httpx2
import pytest
from anthropic import Anthropic, APIConnectionError, AsyncAnthropic, OverloadedError

from hikidashi import Tool, ToolResult, from_function
from hikidashi.errors import ToolTurnLimitError
from hikidashi.search import (
    ToolCatalog,
    ToolRun,
    arun_anthropic_search,
    run_anthropic_search,
    to_anthropic_search,
)
from hikidashi.testing import MessagesServer, Reply, Script, call, fault, say, think, turn
from hikidashi.testing.tool_search import search_regex

MODEL = "claude-opus-5-5"
OLD = "claude-3-haiku-20240307"
QUESTION: list[Any] = [{"role": "user", "content": "Is it raining in Tokyo?"}]
WAYS = ["plain", "stream", "async", "async stream"]

StartServer = Callable[[Script], MessagesServer]


def get_weather(city: str) -> str:
    """Current weather in a city."""
    return f"Rain in {city}"


def send_mail(to: str) -> str:
    """Send a mail."""
    raise RuntimeError(f"no route to {to}")


TOOLS = [from_function(get_weather), from_function(send_mail)]
SEARCH = call("search_tools", {"query": "current weather"})
WEATHER = call("get_weather", {"city": "Tokyo"}, id="toolu_w")
RAIN = say("Yes, it is raining.")


def odd_tool(call: Any) -> Tool:
    return Tool(name="odd", description="Odd.", input_schema={"type": "object"}, call=call)


async def run(way: str, server: MessagesServer, tools: Any = TOOLS, **options: Any) -> ToolRun:
    """The outcome of a run with a real client of `server`, in one of the four ways."""
    asked: dict[str, Any] = {"model": MODEL, "max_tokens": 100, "messages": QUESTION, "force": True} | options
    start: Any
    if way.startswith("async"):
        async with AsyncAnthropic(base_url=server.url, api_key="sk-test", max_retries=0) as client:
            start = arun_anthropic_search
            if way == "async":
                return await start(client, tools, **asked)
            return await start(client, tools, stream=True, **asked).result()

    def sync() -> ToolRun:
        with Anthropic(base_url=server.url, api_key="sk-test", max_retries=0) as client:
            start: Any = run_anthropic_search
            return (
                start(client, tools, **asked) if way == "plain" else start(client, tools, stream=True, **asked).result()
            )

    return await asyncio.to_thread(sync)


def written(server: MessagesServer) -> list[str]:
    """The tools of each request, byte for byte."""
    return [json.dumps(request.body["tools"]) for request in server.requests]


@pytest.mark.parametrize("way", WAYS)
async def test_tools_are_the_same_bytes_in_every_request_of_every_run(messages_server: StartServer, way: str) -> None:
    story = (SEARCH, WEATHER, RAIN)
    server = messages_server([*story, *story])
    first = await run(way, server, always_loaded=["send_mail"])
    await run(way, server, always_loaded=["send_mail"], messages=[*first.messages, *QUESTION])
    assert len(written(server)) == 6
    assert len(set(written(server))) == 1
    assert len({request.headers["anthropic-beta"] for request in server.requests}) == 1


async def test_tools_of_a_model_that_cannot_follow_references_only_grow_at_the_end(
    messages_server: StartServer,
) -> None:
    server = messages_server([SEARCH, call("search_tools", {"query": "mail"}), RAIN, RAIN])
    first = await run("plain", server, model=OLD)
    await run("plain", server, model=OLD, messages=[*first.messages, *QUESTION])
    sent = written(server)
    assert sent[2] == sent[3]
    assert all(after.startswith(before.removesuffix("]")) for before, after in pairwise(sent))


@pytest.mark.parametrize("way", WAYS)
async def test_a_service_that_is_overloaded_is_told_to_the_caller(messages_server: StartServer, way: str) -> None:
    server = messages_server([SEARCH, fault.overloaded()])
    with pytest.raises(OverloadedError):
        await run(way, server)
    assert len(server.requests) == 2


@pytest.mark.parametrize("way", WAYS)
async def test_an_answer_that_breaks_off_is_told_to_the_caller(messages_server: StartServer, way: str) -> None:
    server = messages_server([SEARCH, fault.cut(3)])
    with pytest.raises((APIConnectionError, httpx2.RemoteProtocolError)):
        await run(way, server)


def count_calls() -> tuple[Tool, list[str]]:
    calls: list[str] = []

    def book(city: str) -> str:
        """Book a flight."""
        calls.append(city)
        return f"Booked {city}"

    return from_function(book), calls


BROKEN = [fault.overloaded(), fault.cut(5), fault.cut(5, call("book", {"city": "Rome"}))]


@pytest.mark.parametrize("broken", BROKEN)
def test_a_stream_that_broke_is_gone_on_from_and_nothing_runs_twice(messages_server: StartServer, broken: Any) -> None:
    book, calls = count_calls()
    server = messages_server([call("book", {"city": "Oslo"}), broken, say("Booked.")])
    start: Any = run_anthropic_search
    options = {"model": MODEL, "max_tokens": 100}
    with Anthropic(base_url=server.url, api_key="sk-test", max_retries=0) as client:
        stream = start(client, [book], messages=QUESTION, stream=True, **options)
        with pytest.raises((OverloadedError, httpx2.RemoteProtocolError)):
            stream.result()
        assert start(client, [book], messages=stream.messages, **options).text == "Booked."
    assert calls == ["Oslo"]
    assert server.refusals == []


async def test_an_async_stream_that_was_cancelled_in_a_tool_is_gone_on_from(messages_server: StartServer) -> None:
    book, calls = count_calls()
    waiting = asyncio.Event()

    async def wait() -> str:
        """Wait for ever."""
        waiting.set()
        return await asyncio.get_running_loop().create_future()

    server = messages_server([call("book", {"city": "Oslo"}), call("wait"), say("Booked.")])
    start: Any = arun_anthropic_search
    options = {"model": MODEL, "max_tokens": 100}
    async with AsyncAnthropic(base_url=server.url, api_key="sk-test", max_retries=0) as client:
        tools = [book, from_function(wait)]
        stream = start(client, tools, messages=QUESTION, stream=True, **options)
        running = asyncio.ensure_future(stream.result())
        await asyncio.wait_for(waiting.wait(), 10)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert (await start(client, tools, messages=stream.messages, **options)).text == "Booked."
    assert calls == ["Oslo"]
    assert server.refusals == []


@pytest.mark.parametrize("way", WAYS)
async def test_tools_that_raise_or_do_not_exist_are_results_the_model_reads(
    messages_server: StartServer, way: str, caplog: pytest.LogCaptureFixture
) -> None:
    server = messages_server([turn(call("send_mail", {"to": "Bo"}), call("make_tea")), say("Sorry.")])
    assert (await run(way, server, always_loaded=["send_mail"])).text == "Sorry."
    failed, unknown = server.requests[1].tool_results
    assert (failed["is_error"], unknown["is_error"]) == (True, True)
    assert "no route to Bo" in failed["content"][0]["text"]
    assert "There is no tool 'make_tea'" in unknown["content"][0]["text"]
    assert "send_mail" in caplog.text


async def nothing(_: dict[str, Any]) -> Any:
    return None


async def a_block_nobody_knows(_: dict[str, Any]) -> ToolResult:
    return ToolResult(content=cast("Any", ({"type": "smell"},)))


@pytest.mark.parametrize("answer", [nothing, a_block_nobody_knows])
async def test_a_result_that_is_none_is_an_error_the_model_reads(messages_server: StartServer, answer: Any) -> None:
    server = messages_server([turn(call("odd"), WEATHER), RAIN])
    tools = [odd_tool(answer), TOOLS[0]]
    await run("async", server, tools, always_loaded=["odd", "get_weather"])
    failed, weather = server.requests[1].tool_results
    assert failed["is_error"] is True
    assert failed["content"][0]["text"].startswith("The result of tool 'odd' cannot be sent. ")
    assert weather["content"] == [{"type": "text", "text": "Rain in Tokyo"}]


@pytest.mark.parametrize("way", WAYS)
async def test_a_tool_whose_own_task_was_cancelled_leaves_an_answer(messages_server: StartServer, way: str) -> None:
    async def give_up(_: dict[str, Any]) -> ToolResult:
        inner = asyncio.ensure_future(asyncio.sleep(0))
        inner.cancel()
        await inner
        return ToolResult()

    server = messages_server([call("odd"), RAIN])
    assert (await run(way, server, [odd_tool(give_up)], always_loaded=["odd"])).text == "Yes, it is raining."
    assert server.requests[1].tool_result_texts == ["Tool 'odd' was cancelled before it answered."]


@pytest.mark.parametrize("way", WAYS)
async def test_a_model_that_searches_without_end_meets_the_limit(messages_server: StartServer, way: str) -> None:
    server = messages_server(lambda request: call("search_tools", {"query": "unicorn"}))
    with pytest.raises(ToolTurnLimitError) as stopped:
        await run(way, server, max_turns=3)
    assert len(server.requests) == 3
    assert stopped.value.messages[-1]["content"][0]["content"][0]["text"].startswith("No tool matches 'unicorn'.")


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("reason", ["pause_turn", "compaction"])
async def test_a_turn_the_api_interrupted_is_sent_back(messages_server: StartServer, way: str, reason: str) -> None:
    server = messages_server([say("Wait.", stop_reason=reason), RAIN])
    finished = await run(way, server)
    assert (finished.text, finished.turns) == ("Yes, it is raining.", 2)
    assert server.requests[1].messages == [
        *QUESTION,
        {"role": "assistant", "content": [{"type": "text", "text": "Wait."}]},
    ]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("reason", ["max_tokens", "refusal", "model_context_window_exceeded"])
async def test_a_call_that_was_cut_is_not_run_and_the_conversation_goes_on_without_it(
    messages_server: StartServer, way: str, reason: str
) -> None:
    cut = turn(think("Hm."), "I look.", WEATHER, stop_reason=reason)
    server = messages_server([cut, RAIN])
    stopped = await run(way, server, always_loaded=["get_weather"])
    assert (stopped.text, stopped.message.stop_reason, stopped.messages) == ("I look.", reason, QUESTION)
    assert (await run(way, server, messages=[*stopped.messages, *QUESTION])).text == "Yes, it is raining."
    assert server.refusals == []


@pytest.mark.parametrize("way", WAYS)
async def test_a_text_that_was_cut_stays_in_the_conversation(messages_server: StartServer, way: str) -> None:
    finished = await run(way, messages_server([say("Yes, it", stop_reason="max_tokens")]))
    assert finished.messages[-1] == {"role": "assistant", "content": [{"type": "text", "text": "Yes, it"}]}


@pytest.mark.parametrize("reason", ["end_turn", "tool_use"])
async def test_an_empty_reply_is_an_answer_and_not_sent_back(messages_server: StartServer, reason: str) -> None:
    finished = await run("plain", messages_server([Reply(stop_reason=reason)]))
    assert (finished.text, finished.turns, finished.messages) == ("", 1, QUESTION)


@pytest.mark.parametrize("way", WAYS)
async def test_thinking_goes_back_as_it_came(messages_server: StartServer, way: str) -> None:
    server = messages_server([turn(think("A city."), "I look.", WEATHER), RAIN])
    await run(way, server, always_loaded=["get_weather"])
    assert server.requests[1].messages[1]["content"] == [
        {"type": "thinking", "thinking": "A city.", "signature": "c2lnbmF0dXJl"},
        {"type": "text", "text": "I look."},
        {"type": "tool_use", "id": "toolu_w", "name": "get_weather", "input": {"city": "Tokyo"}},
    ]


@pytest.mark.parametrize("given", [["mail"], "mail", None])
@pytest.mark.parametrize("way", ["plain", "stream"])
async def test_arguments_of_a_search_that_are_no_object_are_told_so(
    messages_server: StartServer, way: str, given: object
) -> None:
    block = {"type": "tool_use", "id": "toolu_1", "name": "search_tools", "input": given}
    server = messages_server([Reply(content=(block,)), RAIN])
    assert (await run(way, server)).text == "Yes, it is raining."
    assert server.requests[1].tool_result_texts == ["`query` must be text: a few words that say what you need."]


@pytest.mark.parametrize("model", [MODEL, OLD])
async def test_a_tool_added_to_the_catalogue_during_a_run_is_not_promised(
    messages_server: StartServer, model: str
) -> None:
    catalog = ToolCatalog(TOOLS)

    def grow(_: object) -> Reply:
        catalog.add(TOOLS[0].renamed("weather_news"))
        return call("search_tools", {"query": "weather"})

    server = messages_server([grow, RAIN, RAIN])
    first = await run("plain", server, catalog, model=model)
    assert first.loaded == ("get_weather",)
    await run("plain", server, catalog, model=model)
    assert server.refusals == []


async def test_a_tool_removed_from_the_catalogue_during_a_run_is_not_found_any_more(
    messages_server: StartServer,
) -> None:
    catalog = ToolCatalog(TOOLS)

    def shrink(_: object) -> Reply:
        catalog.remove("get_weather")
        return SEARCH

    server = messages_server([shrink, RAIN])
    assert (await run("plain", server, catalog)).loaded == ()


@pytest.mark.parametrize("model", [MODEL, OLD])
async def test_what_the_api_found_itself_stays_loaded_and_what_is_gone_does_not_break_the_conversation(
    messages_server: StartServer, model: str
) -> None:
    server = messages_server([turn(search_regex("weather|mail"), "Found."), WEATHER, RAIN])
    with Anthropic(base_url=server.url, api_key="sk-test") as client:
        request = to_anthropic_search(TOOLS, model=MODEL, force=True)
        asked = {"model": MODEL, "max_tokens": 100, "messages": QUESTION, **request}
        create: Any = client.beta.messages.create
        first = create(**asked)
    earlier: list[Any] = [*QUESTION, {"role": "assistant", "content": first.content}, *QUESTION]
    finished = await run("plain", server, TOOLS[:1], model=model, messages=earlier)
    assert finished.loaded == ("get_weather",)
    assert server.requests[2].tool_result_texts == ["Rain in Tokyo"]
    assert server.refusals == []


SEARCHED: dict[str, Any] = {"type": "tool_use", "id": "toolu_1", "name": "search_tools", "input": {"query": "weather"}}


@pytest.mark.parametrize(
    ("kept", "loaded"),
    [
        ('{"loaded_tools": ["get_weather"]}', ("get_weather",)),
        ([{"type": "text", "text": '{"loaded_tools": ["get_weather", 7, "gone"]}'}], ("get_weather",)),
        ('{"loaded_tools": null}', ()),
        ("[]", ()),
        (None, ()),
    ],
)
async def test_a_history_that_was_stored_in_another_form_is_read(
    messages_server: StartServer, kept: object, loaded: tuple[str, ...]
) -> None:
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": kept}
    earlier: list[Any] = [{"role": "assistant", "content": [SEARCHED]}, {"role": "user", "content": [result]}]
    server = messages_server([RAIN])
    assert (await run("plain", server, messages=[*QUESTION, *earlier])).loaded == loaded
    assert server.refusals == []
