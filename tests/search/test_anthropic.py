"""The loop for the anthropic client, which searches here: sync, async, streaming and not."""

from __future__ import annotations

import asyncio
import inspect
import pickle
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest
from anthropic import Anthropic, APIStatusError, AsyncAnthropic
from anthropic.resources.beta.messages import Messages as BetaMessages

from hikidashi import Tool, ToolResult, ToolValidationError, from_function
from hikidashi.errors import ToolTurnLimitError
from hikidashi.search import ToolCatalog, ToolRun, arun_anthropic_search, run_anthropic_search
from hikidashi.search.anthropic import LoopOptions, RunOptions, ToolResults
from hikidashi.search.anthropic_blocks import reference_blocks
from hikidashi.testing import MessagesServer, Reply, Script, call, fault, say, turn
from hikidashi.tool import audio

MODEL = "claude-opus-5-5"
OLD = "claude-3-haiku-20240307"
QUESTION: list[Any] = [{"role": "user", "content": "Is it raining in Tokyo?"}]


def get_weather(city: str) -> str:
    """Current weather in a city."""
    return f"Rain in {city}"


def send_mail(to: str) -> str:
    """Send a mail."""
    raise RuntimeError(f"no route to {to}")


async def book_flight(city: str) -> str:
    """Book a flight."""
    return f"Booked {city}"


TOOLS = [from_function(function) for function in (get_weather, send_mail, book_flight)]
NAMES = [tool.name for tool in TOOLS]
SEARCH = call("search_tools", {"query": "current weather"}, id="toolu_1")
WEATHER = call("get_weather", {"city": "Tokyo"}, id="toolu_2")
RAIN = say("Yes, it is raining.", chunk=5)
STORY = (SEARCH, WEATHER, RAIN)

StartServer = Callable[[Script], MessagesServer]


@pytest.fixture
def client(messages_server: StartServer) -> Iterator[Callable[..., tuple[MessagesServer, Anthropic]]]:
    opened: list[Anthropic] = []

    def start(*script: Any) -> tuple[MessagesServer, Anthropic]:
        server = messages_server(list(script))
        opened.append(Anthropic(base_url=server.url, api_key="sk-test", max_retries=0))
        return server, opened[-1]

    yield start
    for one in opened:
        one.close()


@pytest.fixture
async def async_client(
    messages_server: StartServer,
) -> AsyncIterator[Callable[..., tuple[MessagesServer, AsyncAnthropic]]]:
    opened: list[AsyncAnthropic] = []

    def start(*script: Any) -> tuple[MessagesServer, AsyncAnthropic]:
        server = messages_server(list(script))
        opened.append(AsyncAnthropic(base_url=server.url, api_key="sk-test", max_retries=0))
        return server, opened[-1]

    yield start
    for one in opened:
        await one.close()


Start = Callable[..., tuple[MessagesServer, Anthropic]]
StartAsync = Callable[..., tuple[MessagesServer, AsyncAnthropic]]


def run(client: Anthropic, tools: Any = TOOLS, *, messages: list[Any] = QUESTION, **options: Any) -> ToolRun:
    asked: dict[str, Any] = {"model": MODEL, "max_tokens": 100, "force": True} | options
    start: Any = run_anthropic_search
    given = start(client, tools, messages=messages, **asked)
    return given.result() if asked.get("stream") else given


def results(server: MessagesServer, request: int = -1) -> list[Any]:
    return [block["content"] for block in server.requests[request].tool_results]


def check_story(server: MessagesServer, run: ToolRun) -> None:
    assert run.text == "Yes, it is raining."
    assert run.turns == 3
    assert [(search.query, search.references) for search in run.searches] == [("current weather", ("get_weather",))]
    assert run.loaded == ("get_weather",)
    assert [request.loaded_tools for request in server.requests] == [
        ["search_tools"],
        ["search_tools", "get_weather"],
        ["search_tools", "get_weather"],
    ]
    assert results(server, 1) == [reference_blocks(["get_weather"])]
    assert results(server, 2) == [[{"type": "text", "text": "Rain in Tokyo"}]]
    assert [tool.get("defer_loading", False) for tool in server.requests[0].tools] == [False, True, True, True]
    first, *others = ([request.body["tools"], request.headers["anthropic-beta"]] for request in server.requests)
    assert all(other == first for other in others)
    assert [message["role"] for message in run.messages] == [
        "user",
        "assistant",
        "user",
        "assistant",
        "user",
        "assistant",
    ]
    assert server.refusals == []


def test_the_model_searches_calls_what_it_found_and_answers(client: Start) -> None:
    server, anthropic = client(*STORY)
    check_story(server, run(anthropic))


async def test_the_same_runs_with_the_async_client(async_client: StartAsync) -> None:
    server, anthropic = async_client(*STORY)
    check_story(
        server,
        await arun_anthropic_search(anthropic, TOOLS, model=MODEL, max_tokens=100, messages=QUESTION, force=True),
    )


def check_events(events: list[Any]) -> None:
    assert [event.text for event in events if event.type == "text"] == ["Yes, ", "it is", " rain", "ing."]
    given = [event.results for event in events if isinstance(event, ToolResults)]
    assert [[block["tool_use_id"] for block in blocks] for blocks in given] == [["toolu_1"], ["toolu_2"]]
    assert [event.type for event in events if event.type in ("message_stop", "tool_results")] == [
        "message_stop",
        "tool_results",
        "message_stop",
        "tool_results",
        "message_stop",
    ]


def test_a_stream_gives_events_and_the_final_message(client: Start) -> None:
    server, anthropic = client(*STORY)
    with run_anthropic_search(
        anthropic, TOOLS, model=MODEL, max_tokens=100, messages=QUESTION, force=True, stream=True
    ) as stream:
        check_events(list(stream))
        check_story(server, stream.result())
    assert stream.result().message.stop_reason == "end_turn"


async def test_an_async_stream_gives_events_and_the_final_message(async_client: StartAsync) -> None:
    server, anthropic = async_client(*STORY)
    stream = arun_anthropic_search(
        anthropic, TOOLS, model=MODEL, max_tokens=100, messages=QUESTION, force=True, stream=True
    )
    async with stream:
        check_events([event async for event in stream])
        check_story(server, await stream.result())


async def test_the_result_of_a_stream_can_be_waited_for(client: Start, async_client: StartAsync) -> None:
    server, anthropic = client(*STORY)
    check_story(server, await asyncio.to_thread(run, anthropic, stream=True))
    server, other = async_client(*STORY)
    stream = arun_anthropic_search(
        other, TOOLS, model=MODEL, max_tokens=100, messages=QUESTION, force=True, stream=True
    )
    check_story(server, await stream.result())


async def test_text_can_be_read_alone(client: Start, async_client: StartAsync) -> None:
    _, anthropic = client(*STORY)
    plain = run_anthropic_search(
        anthropic, TOOLS, model=MODEL, max_tokens=100, messages=QUESTION, force=True, stream=True
    )
    assert await asyncio.to_thread("".join, plain.text_stream) == "Yes, it is raining."
    _, other = async_client(*STORY)
    stream = arun_anthropic_search(
        other, TOOLS, model=MODEL, max_tokens=100, messages=QUESTION, force=True, stream=True
    )
    assert [text async for text in stream.text_stream] == ["Yes, ", "it is", " rain", "ing."]


async def test_a_stream_that_is_left_early_ends_and_has_no_result(client: Start, async_client: StartAsync) -> None:
    _, anthropic = client(*STORY)
    with run_anthropic_search(
        anthropic, TOOLS, model=MODEL, max_tokens=100, messages=QUESTION, force=True, stream=True
    ) as plain:
        assert next(iter(plain)).type == "message_start"
    assert list(plain) == []
    with pytest.raises(RuntimeError, match="left before its answer"):
        plain.result()
    _, other = async_client(*STORY)
    async with arun_anthropic_search(
        other, TOOLS, model=MODEL, max_tokens=100, messages=QUESTION, force=True, stream=True
    ) as stream:
        assert (await anext(aiter(stream))).type == "message_start"
    with pytest.raises(RuntimeError, match="left before its answer"):
        await stream.result()


async def test_it_runs_inside_a_running_loop_too(client: Start) -> None:
    server, anthropic = client(*STORY)
    check_story(server, run(anthropic))


def test_a_catalogue_can_be_kept_and_used_again(client: Start) -> None:
    catalog = ToolCatalog(TOOLS)
    _, anthropic = client(*STORY, *STORY)
    assert [run(anthropic, catalog).text for _ in range(2)] == ["Yes, it is raining."] * 2


def test_several_calls_of_one_turn_are_answered_in_their_order(client: Start) -> None:
    both = turn(call("search_tools", {"query": "weather"}), call("search_tools", {"query": "flight"}))
    calls = turn(
        call("book_flight", {"city": "Oslo"}, id="toolu_b"), call("get_weather", {"city": "Oslo"}, id="toolu_w")
    )
    server, anthropic = client(both, calls, say("Done."))
    assert run(anthropic).loaded == ("get_weather", "book_flight")
    assert [block["tool_use_id"] for block in server.requests[2].tool_results] == ["toolu_b", "toolu_w"]
    assert server.requests[2].tool_result_texts == ["Booked Oslo", "Rain in Oslo"]


async def test_calls_of_one_turn_run_side_by_side(async_client: StartAsync) -> None:
    meeting = asyncio.Barrier(2)

    async def wait(name: str) -> str:
        """Wait for the other."""
        await meeting.wait()
        return name

    server, anthropic = async_client(turn(call("wait", {"name": "a"}), call("wait", {"name": "b"})), say("Met."))
    tools = [from_function(wait)]
    async with asyncio.timeout(10):
        await arun_anthropic_search(anthropic, tools, model=MODEL, max_tokens=100, messages=QUESTION)
    assert server.requests[1].tool_result_texts == ["a", "b"]


def test_a_tool_that_was_not_discovered_is_not_called_and_the_model_told_to_search(client: Start) -> None:
    server, anthropic = client(WEATHER, call("search_tools", {"query": "select:get_weather"}), WEATHER, RAIN)
    finished = run(anthropic)
    [told] = server.requests[1].tool_results
    assert told["is_error"] is True
    assert "Tool 'get_weather' is not loaded" in told["content"][0]["text"]
    assert "`search_tools` with the query `select:get_weather`" in told["content"][0]["text"]
    assert server.requests[3].tool_result_texts == ["Rain in Tokyo"]
    assert finished.loaded == ("get_weather",)


def test_a_tool_found_in_the_same_turn_was_not_seen_when_it_was_called(client: Start) -> None:
    server, anthropic = client(turn(SEARCH, WEATHER), say("Hm."))
    run(anthropic)
    assert [block.get("is_error", False) for block in server.requests[1].tool_results] == [False, True]


def test_a_tool_that_does_not_exist_is_told_so(client: Start) -> None:
    server, anthropic = client(call("make_coffee"), say("Sorry."))
    run(anthropic)
    [told] = server.requests[1].tool_result_texts
    assert told.startswith("There is no tool 'make_coffee'. Call `search_tools` with a few words")


def test_what_a_tool_raises_is_a_result_the_model_reads(client: Start, caplog: pytest.LogCaptureFixture) -> None:
    server, anthropic = client(call("send_mail", {"to": "Bo"}), say("It failed."))
    run(anthropic, always_loaded=["send_mail"])
    [block] = server.requests[1].tool_results
    assert block["is_error"] is True
    assert "no route to Bo" in block["content"][0]["text"]
    assert "send_mail" in caplog.text


def test_a_result_that_the_api_cannot_carry_is_an_error_result(client: Start) -> None:
    async def sing(_: dict[str, Any]) -> ToolResult:
        return ToolResult(content=(audio(b"la", "audio/wav"),))

    singer = Tool(name="sing", description="Sing.", input_schema={"type": "object"}, call=sing)
    server, anthropic = client(call("sing"), say("No sound."))
    run(anthropic, [singer], always_loaded=["sing"])
    [block] = server.requests[1].tool_results
    assert block["is_error"] is True
    assert "audio/wav" in block["content"][0]["text"]


@pytest.mark.parametrize(
    ("asked", "is_error", "said"),
    [
        ({"query": "unicorn"}, False, "No tool matches 'unicorn'. Try other words"),
        ({"query": "x" * 501}, True, "501"),
        ({"query": 7}, True, "`query` must be text"),
        ({}, True, "`query` must be text"),
    ],
)
def test_a_search_without_result_says_what_to_do(
    client: Start, asked: dict[str, Any], is_error: bool, said: str
) -> None:
    server, anthropic = client(call("search_tools", asked), say("Hm."))
    finished = run(anthropic)
    [block] = server.requests[1].tool_results
    assert block.get("is_error", False) is is_error
    assert said in block["content"][0]["text"]
    [search] = finished.searches
    assert (search.references, search.failure is not None) == (None if is_error else (), is_error)


@pytest.mark.parametrize(("limit", "found"), [(1, 1), (0, 1), (999, 3), ("many", 2), (None, 2)])
def test_a_limit_of_the_model_is_kept_within_bounds(client: Start, limit: object, found: int) -> None:
    tools = [from_function(get_weather).renamed(f"weather_{number}") for number in range(3)]
    server, anthropic = client(call("search_tools", {"query": "weather", "limit": limit}), say("Hm."))
    run(anthropic, tools, max_results=2)
    assert len(results(server)[0]) == found


@pytest.mark.parametrize(
    ("strategy", "query", "found"),
    [
        ("both", "/^book_/", "book_flight"),
        ("regex", "^book_", "book_flight"),
        ("words", "book a flight", "book_flight"),
        ("words", "/^book_/", "book_flight"),
        ("regex", "select:send_mail", "send_mail"),
    ],
)
def test_a_query_is_read_as_the_strategy_says(client: Start, strategy: str, query: str, found: str) -> None:
    _, anthropic = client(call("search_tools", {"query": query}), say("Found."))
    assert run(anthropic, strategy=strategy).loaded == (found,)


@pytest.mark.parametrize("model", [MODEL, OLD])
def test_the_model_reads_how_to_search_in_the_language_asked_for(client: Start, model: str) -> None:
    script = (call("search_tools", {"query": "unicorn"}), WEATHER, call("make_tea"), call("search_tools"), say("Hm."))
    server, anthropic = client(*script)
    run(anthropic, model=model, language="ja", about="天気とメール", max_results=3)
    search = server.requests[0].tools[0]
    assert search["description"].startswith("まだ読み込まれていないツールを検索し")
    assert search["description"].endswith("対象分野: 天気とメール。")
    assert "/mail_.*/" in search["input_schema"]["properties"]["query"]["description"]
    assert search["input_schema"]["properties"]["limit"]["description"] == "最大件数。省略すると3件。"
    assert [request.tool_result_texts[-1].split("。")[0] for request in server.requests[1:]] == [
        "'unicorn' に合うツールはありません",
        "ツール 'get_weather' は読み込まれておらず、定義がまだ示されていません",
        "'make_tea' というツールはありません",
        "`query` は文字列で指定してください",
    ]


def test_a_model_that_cannot_follow_references_is_sent_what_it_found(client: Start) -> None:
    server, anthropic = client(*STORY)
    finished = run(anthropic, model=OLD, always_loaded=["book_flight"])
    assert finished.text == "Yes, it is raining."
    assert [request.tool_names for request in server.requests] == [
        ["search_tools", "book_flight"],
        ["search_tools", "book_flight", "get_weather"],
        ["search_tools", "book_flight", "get_weather"],
    ]
    assert server.requests[1].tool_result_texts == ['{"loaded_tools": ["get_weather"]}']
    assert not any("defer_loading" in tool for request in server.requests for tool in request.tools)
    assert "anthropic-beta" not in server.requests[0].headers


@pytest.mark.parametrize(
    ("model", "expand", "offered"),
    [(MODEL, "tools", ["search_tools"]), (OLD, "references", ["search_tools", *NAMES])],
)
def test_the_caller_may_know_better_how_found_tools_reach_the_model(
    client: Start, model: str, expand: str, offered: list[str]
) -> None:
    server, anthropic = client(*STORY)
    assert run(anthropic, model=model, expand=expand).text == "Yes, it is raining."
    assert server.requests[0].tool_names == offered


def test_more_tools_than_a_request_takes_are_found_all_the_same(client: Start) -> None:
    tools = [TOOLS[1].renamed(f"mail_{number}") for number in range(10_000)]
    server, anthropic = client(*STORY)
    catalog = ToolCatalog([*tools, TOOLS[0]], ranker="lexical", limit_tools=20_000)
    assert run(anthropic, catalog, betas=["my-beta"]).loaded == ("get_weather",)
    assert server.requests[1].tool_names == ["search_tools", "get_weather"]
    assert server.requests[0].headers["anthropic-beta"] == "my-beta"


@pytest.mark.parametrize(("first", "second"), [(MODEL, MODEL), (OLD, OLD), (MODEL, OLD), (OLD, MODEL)])
def test_what_was_found_stays_loaded_when_the_conversation_goes_on(client: Start, first: str, second: str) -> None:
    server, anthropic = client(*STORY, WEATHER, RAIN)
    earlier = run(anthropic, model=first)
    again = run(anthropic, model=second, messages=[*earlier.messages, *QUESTION])
    assert again.loaded == ("get_weather",)
    assert server.requests[3].loaded_tools == ["search_tools", "get_weather"]
    assert server.requests[4].tool_result_texts == ["Rain in Tokyo"]
    assert server.refusals == []


@pytest.mark.parametrize("model", [MODEL, OLD])
def test_a_tool_that_is_gone_does_not_break_the_conversation(client: Start, model: str) -> None:
    server, anthropic = client(*STORY, say("I cannot look."))
    earlier = run(anthropic, model=model)
    run(anthropic, TOOLS[1:], model=model, messages=[*earlier.messages, *QUESTION])
    searched = server.requests[3].messages[2]["content"][0]["content"]
    assert searched == [{"type": "text", "text": "The tools that were found here are gone. Search again."}]
    assert server.refusals == []


def test_messages_of_the_client_itself_are_taken(client: Start) -> None:
    server, anthropic = client("First.", "Second.")
    first = anthropic.beta.messages.create(model=MODEL, max_tokens=100, messages=QUESTION)
    run(anthropic, messages=[*QUESTION, {"role": "assistant", "content": first.content}, *QUESTION])
    assert server.requests[1].messages[1]["content"] == [{"type": "text", "text": "First."}]


def test_a_few_small_tools_are_offered_as_they_are(client: Start) -> None:
    server, anthropic = client(WEATHER, call("make_tea"), RAIN)
    finished = run(anthropic, force=False)
    assert finished.loaded == tuple(NAMES)
    assert server.requests[0].tool_names == NAMES
    assert not any("defer_loading" in tool for tool in server.requests[0].tools)
    assert server.requests[1].tool_result_texts == ["Rain in Tokyo"]
    [told] = server.requests[2].tool_result_texts
    assert told == f"There is no tool 'make_tea'. Known tools: {', '.join(NAMES)}."


def test_the_most_used_tools_are_loaded_from_the_start(client: Start) -> None:
    server, anthropic = client(WEATHER, RAIN)
    run(anthropic, usage={"get_weather": 9})
    assert server.requests[0].loaded_tools == ["search_tools", "get_weather"]
    assert server.requests[1].tool_result_texts == ["Rain in Tokyo"]


def test_other_arguments_go_into_every_request(client: Start) -> None:
    server, anthropic = client(*STORY)
    run(anthropic, system="Be brief.", stop_sequences=["END"], extra_headers={"x-mine": "1"}, betas="off")
    assert {request.system_text for request in server.requests} == {"Be brief."}
    assert {request.headers["x-mine"] for request in server.requests} == {"1"}
    assert all(request.body["stop_sequences"] == ["END"] for request in server.requests)
    assert not any("anthropic-beta" in request.headers for request in server.requests)


def test_every_argument_that_is_promised_is_one_of_the_clients() -> None:
    promised = set(RunOptions.__annotations__) - set(LoopOptions.__annotations__)
    assert promised <= set(inspect.signature(BetaMessages.create).parameters)
    assert promised <= set(inspect.signature(BetaMessages.stream).parameters)


def test_a_paused_turn_is_sent_back_as_it_is(client: Start) -> None:
    server, anthropic = client(say("Wait.", stop_reason="pause_turn"), RAIN)
    assert run(anthropic).turns == 2
    assert server.requests[1].messages[-1] == {"role": "assistant", "content": [{"type": "text", "text": "Wait."}]}


def test_a_call_cut_short_by_max_tokens_is_not_run(client: Start) -> None:
    _, anthropic = client(Reply(content=WEATHER.content, stop_reason="max_tokens"))
    finished = run(anthropic, always_loaded=["get_weather"])
    assert (finished.turns, finished.message.stop_reason) == (1, "max_tokens")


@pytest.mark.parametrize("stream", [False, True])
def test_a_model_that_never_stops_meets_the_limit_and_can_go_on(client: Start, stream: bool) -> None:
    server, anthropic = client(SEARCH, WEATHER, RAIN)
    with pytest.raises(ToolTurnLimitError, match=r"after 2 replies\. Raise `max_turns`") as stopped:
        run(anthropic, max_turns=2, stream=stream)
    assert stopped.value.max_turns == 2
    assert run(anthropic, messages=stopped.value.messages).text == "Yes, it is raining."
    assert server.requests[2].tool_result_texts == ["Rain in Tokyo"]
    again = pickle.loads(pickle.dumps(stopped.value))
    assert (again.max_turns, again.messages, str(again)) == (2, stopped.value.messages, str(stopped.value))


async def test_the_async_loop_meets_the_limit_too(async_client: StartAsync) -> None:
    _, anthropic = async_client(SEARCH)
    with pytest.raises(ToolTurnLimitError):
        await arun_anthropic_search(
            anthropic, TOOLS, model=MODEL, max_tokens=100, messages=QUESTION, force=True, max_turns=1
        )


async def test_cancelling_ends_the_tool_that_runs(async_client: StartAsync) -> None:
    started, ended = asyncio.Event(), asyncio.Event()

    async def sleep() -> str:
        """Sleep for ever."""
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        return "never"

    _, anthropic = async_client(call("sleep"), say("Never."))
    tools = [from_function(sleep)]
    running = asyncio.ensure_future(
        arun_anthropic_search(anthropic, tools, model=MODEL, max_tokens=100, messages=QUESTION)
    )
    await asyncio.wait_for(started.wait(), 10)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert ended.is_set()


async def test_cancelling_ends_a_request_that_hangs(async_client: StartAsync) -> None:
    server, anthropic = async_client(fault.hang())
    running = asyncio.ensure_future(
        arun_anthropic_search(anthropic, TOOLS, model=MODEL, max_tokens=100, messages=QUESTION)
    )
    async with asyncio.timeout(10):
        while not server.requests:
            await asyncio.sleep(0.01)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running


def test_what_the_api_refuses_reaches_the_caller(client: Start) -> None:
    _, anthropic = client(SEARCH, fault.overloaded())
    with pytest.raises(APIStatusError, match="Overloaded"):
        run(anthropic)


@pytest.mark.parametrize(
    ("tools", "said"),
    [
        (
            [{"name": "a", "input_schema": {"type": "object"}}],
            "must hold hikidashi tools, and it holds a builtins dict",
        ),
        ([TOOLS[0].renamed("search_tools")], "as the search tool is"),
        ([TOOLS[0], TOOLS[0]], "Two tools are called 'get_weather'"),
    ],
)
def test_tools_that_cannot_be_offered_are_refused_at_once(client: Start, tools: Any, said: str) -> None:
    server, anthropic = client()
    for model in (MODEL, OLD):
        with pytest.raises(ToolValidationError, match=said):
            run(anthropic, tools, model=model)
    assert server.requests == []


def test_a_run_needs_at_least_one_turn(client: Start) -> None:
    _, anthropic = client()
    with pytest.raises(ValueError, match="`max_turns` is the number of replies and must be at least 1, got 0"):
        run(anthropic, max_turns=0)


def test_without_the_package_the_command_to_install_it_is_named() -> None:
    script = """
import sys
sys.modules["anyio"] = None
try:
    import hikidashi.search.anthropic
except ImportError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "`anthropic` is not installed. Run: pip install 'hikidashi[anthropic]'"
