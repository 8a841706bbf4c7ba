"""Answers by strands: a real Agent with its own AnthropicModel on a scripted Messages API, real tavily-python."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing, asynccontextmanager
from datetime import UTC, datetime
from typing import Any

import pytest
from strands import tool  # pyright: ignore[reportUnknownVariableType]
from strands.models.anthropic import AnthropicModel
from tests.support import PIXEL

from hikidashi import from_function
from hikidashi.apps.responder import AnswerEvent, AnswerFailed, EventQueue, Message, TextDelta, ToolCalled, ToolReturned
from hikidashi.apps.strands import StrandsResponder
from hikidashi.config import AgentConfig, WebSearchConfig
from hikidashi.errors import ToolValidationError
from hikidashi.search import to_strands_search
from hikidashi.testing import MessagesServer, TavilyPage, TavilyServer, call, fault, say, turn
from hikidashi.web.strands import WebSearchToolsFactory, WebToolsFactory

Messages = Callable[..., MessagesServer]
Tavily = Callable[..., TavilyServer]

PAGES = [TavilyPage("asyncio", "https://docs.python.org/3/library/asyncio.html", "Python の 非同期 プログラミング")]


@asynccontextmanager
async def responder_on(server: MessagesServer, **options: Any) -> AsyncGenerator[StrandsResponder]:
    options = {"max_attempts": 1, **options}
    config = AgentConfig(api_key="sk-test", base_url=server.url, **options.pop("config", {}))
    responder = StrandsResponder(config, **options)
    try:
        yield responder
    finally:
        await responder.aclose()
        await responder.aclose()


def asked(text: str) -> list[Message]:
    return [Message(role="user", text=text)]


async def events_of(responder: StrandsResponder, conversation: list[Message]) -> list[AnswerEvent]:
    async with aclosing(responder.stream(conversation)) as events:
        return [event async for event in events]


def text_of(events: list[AnswerEvent]) -> str:
    return "".join(event.text for event in events if isinstance(event, TextDelta))


def searching(server: TavilyServer) -> WebSearchConfig:
    return WebSearchConfig(enabled=True, api_key="tvly-test", base_url=server.url)


async def test_an_answer_comes_in_pieces_and_as_a_whole(messages_server: Messages) -> None:
    server = messages_server([say("Hello there, friend!", chunk=5)] * 2)
    async with responder_on(server) as responder:
        events = await events_of(responder, asked("Hi"))
        whole = await responder.respond(asked("Hi"))
    assert all(isinstance(event, TextDelta) for event in events)
    assert len(events) == 4
    assert text_of(events) == whole == "Hello there, friend!"


async def test_each_answer_knows_the_day_it_is_given_on(
    messages_server: Messages, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = messages_server([say("Good night."), say("Good morning.")])
    days = iter((datetime(2026, 12, 31, 12, tzinfo=UTC), datetime(2027, 1, 1, 12, tzinfo=UTC)))
    monkeypatch.setattr("hikidashi.apps.responder.now", lambda: next(days))
    async with responder_on(server) as responder:
        await responder.respond(asked("Hi"))
        await responder.respond(asked("Hi"))
    assert ["2026-12-31" in str(one.body["system"]) for one in server.requests] == [True, False]
    assert "2027-01-01" in str(server.requests[1].body["system"])


async def test_the_history_goes_in_as_turns_with_names(messages_server: Messages) -> None:
    server = messages_server([say("Four.")])
    conversation = [
        Message(role="assistant", text="Good morning, all."),
        Message(role="user", text="What is 1+1?", author="ann"),
        Message(role="user", text="", author="bob"),
        Message(role="user", text="Quick!", author="bob"),
        Message(role="assistant", text="Two."),
        Message(role="user", text="And 2+2?"),
    ]
    async with responder_on(server, system_prompt="You count.") as responder:
        assert await responder.respond(conversation) == "Four."
    (request,) = server.requests
    told = [(message["role"], message["content"][0]["text"]) for message in request.body["messages"]]
    assert told == [
        ("user", "…"),
        ("assistant", "Good morning, all."),
        ("user", "ann: What is 1+1?\n\nbob: Quick!"),
        ("assistant", "Two."),
        ("user", "And 2+2?"),
    ]
    assert "You count." in str(request.body["system"])
    assert request.body["max_tokens"] == 4096


@pytest.mark.parametrize("conversation", [[], [Message(role="assistant", text="Hi")], [Message(role="user", text=" ")]])
async def test_a_conversation_without_a_question_is_refused(
    messages_server: Messages, conversation: list[Message]
) -> None:
    async with responder_on(messages_server([])) as responder:
        with pytest.raises(ValueError, match="must end with a message of the user"):
            responder.stream(conversation)


async def test_a_web_search_is_told_as_it_happens(messages_server: Messages, tavily_server: Tavily) -> None:
    query = {"query": "Python 非同期"}
    server = messages_server([turn("調べます。", call("web_search", query, id="toolu_1")), say("asyncio です。")])
    factory = WebSearchToolsFactory(searching(tavily_server(PAGES, answer="asyncio")))
    async with responder_on(server, factories=[factory]) as responder:
        assert responder.tool_names == ["web_search"]
        events = await events_of(responder, asked("Pythonの非同期プログラミングについて検索して"))
    kinds = [type(event) for event in events if not isinstance(event, TextDelta)]
    assert kinds == [ToolCalled, ToolReturned]
    assert ToolCalled(call_id="toolu_1", name="web_search", arguments=query) in events
    (returned,) = [event for event in events if isinstance(event, ToolReturned)]
    assert (returned.call_id, returned.name, returned.ok) == ("toolu_1", "web_search", True)
    assert returned.text.startswith('## 検索結果: "Python 非同期"\n\n### 回答\nasyncio\n\n### 結果\n1. **asyncio**')
    assert text_of(events) == "調べます。\n\nasyncio です。"
    assert "`web_search`" in str(server.requests[0].body["system"])


async def test_the_tools_and_states_of_several_factories_are_merged(
    messages_server: Messages, tavily_server: Tavily
) -> None:
    class Counting:
        tools = (from_strands_tool,)

        def get_invocation_state(self) -> dict[str, Any]:
            return {"start": 40}

    both = turn(call("count", {"by": 2}), call("web_search", {"query": "asyncio"}))
    server = messages_server([both, say("done")])
    web = WebToolsFactory(searching(tavily_server(PAGES)))
    async with responder_on(server, factories=[Counting(), web]) as responder:
        assert responder.tool_names == ["count", "web_search", "web_extract", "web_context"]
        events = await events_of(responder, asked("?"))
    returned = {event.name: event.text for event in events if isinstance(event, ToolReturned)}
    assert returned["count"] == "42"
    assert "web-data" in returned["web_search"]


@tool(name="count", context=True)
def from_strands_tool(by: int, tool_context: Any) -> str:
    """Count on."""
    return str(tool_context.invocation_state["start"] + by)


async def test_states_of_the_same_name_are_refused(messages_server: Messages) -> None:
    factories = [WebSearchToolsFactory(WebSearchConfig(api_key=key)) for key in ("tvly-test", "tvly-other")]
    with pytest.raises(ToolValidationError, match="Two factories put 'web_search_config'"):
        StrandsResponder(AgentConfig(api_key="sk-test"), factories=factories)


async def test_tool_search_works_in_a_running_responder(messages_server: Messages) -> None:
    def send_mail(to: str) -> str:
        """Send a mail to somebody."""
        return f"sent to {to}"

    server = messages_server(
        [call("search_tools", {"query": "mail"}), call("send_mail", {"to": "ann"}), say("It is sent.")]
    )
    async with responder_on(server, hooks=[to_strands_search([from_function(send_mail)])]) as responder:
        assert responder.tool_names == ["search_tools"]
        events = await events_of(responder, asked("Mail ann"))
    assert [event.text for event in events if isinstance(event, ToolReturned)][1] == "sent to ann"
    assert [event.name for event in events if isinstance(event, ToolCalled)] == ["search_tools", "send_mail"]


async def test_a_tool_that_fails_is_told_to_the_model_and_its_cause_to_the_log(
    messages_server: Messages, caplog: pytest.LogCaptureFixture
) -> None:
    @tool
    def broken() -> str:
        """Never works."""
        raise OSError("the disk with sk-test is full")

    server = messages_server([call("broken"), say("It does not work.")])
    async with responder_on(server, tools=[broken]) as responder:
        events = await events_of(responder, asked("?"))
    (returned,) = [event for event in events if isinstance(event, ToolReturned)]
    assert not returned.ok
    assert "disk" in returned.text
    assert text_of(events) == "It does not work."
    assert "Tool 'broken' failed: OSError: the disk with *** is full" in caplog.text


async def test_results_that_are_no_text_are_told_as_what_they_are(messages_server: Messages) -> None:
    @tool
    def chart() -> dict[str, Any]:
        """A chart and its figures."""
        picture = {"image": {"format": "png", "source": {"bytes": PIXEL}}}
        return {"status": "success", "content": [{"text": "Sales"}, {"json": {"may": 3}}, picture]}

    server = messages_server([call("chart"), say("Three in May.")])
    async with responder_on(server, tools=[chart]) as responder:
        events = await events_of(responder, asked("?"))
    assert [event.text for event in events if isinstance(event, ToolReturned)] == ["Sales\n{'may': 3}\n[image]"]


async def test_a_whole_answer_is_the_text_without_the_calls(messages_server: Messages) -> None:
    server = messages_server([turn("Hm.", call("nonsense")), say("No.")])
    async with responder_on(server) as responder:
        assert await responder.respond(asked("?")) == "Hm.\n\nNo."


async def test_an_empty_piece_of_text_is_not_told() -> None:
    queue = EventQueue()
    queue.text("")
    assert queue.events.empty()
    assert not queue.has_text


async def test_a_tool_that_does_not_exist_is_an_error_for_the_model(messages_server: Messages) -> None:
    server = messages_server([call("nonsense"), say("Sorry.")])
    async with responder_on(server) as responder:
        events = await events_of(responder, asked("?"))
    assert [event.ok for event in events if isinstance(event, ToolReturned)] == [False]
    assert text_of(events) == "Sorry."


NO_RETRY = {"x-should-retry": "false"}


@pytest.mark.parametrize(
    ("answer", "japanese", "english"),
    [
        (fault.status(401, "authentication_error", "invalid x-api-key"), "認証を拒否", "refused the key"),
        (fault.status(404, "not_found_error", "model: x"), "モデルが見つかりません", "was not found"),
        (fault.status(429, "rate_limit_error", "slow", headers=NO_RETRY), "混み合って", "busy"),
        (fault.status(500, "api_error", "oops", headers=NO_RETRY), "障害", "has a problem"),
        (fault.status(529, "overloaded_error", "Overloaded", headers=NO_RETRY), "混み合って", "busy"),
        (fault.status(413, "request_too_large", "large", headers=NO_RETRY), "会話が長すぎ", "conversation is too long"),
        (fault.status(400, "invalid_request_error", "odd"), "エラーが発生", "Something went wrong"),
        (say("half of", stop_reason="max_tokens"), "途中で終わりました", "cut off"),
        (say(""), "回答が得られません", "gave no answer"),
        (say("I must not", stop_reason="refusal"), "", ""),
    ],
)
async def test_a_failing_model_gives_a_clear_sentence_and_the_log_the_cause(
    messages_server: Messages, caplog: pytest.LogCaptureFixture, answer: Any, japanese: str, english: str
) -> None:
    server = messages_server([answer, answer])
    for language, words in (("ja", japanese), ("en", english)):
        caplog.clear()
        async with responder_on(server, config={"language": language}) as responder:
            events = await events_of(responder, asked("?"))
        failed = [event.message for event in events if isinstance(event, AnswerFailed)]
        if not words:
            assert (failed, text_of(events)) == ([], "I must not")
            continue
        assert isinstance(events[-1], AnswerFailed)
        assert len(failed) == 1
        assert words in failed[0]
        causes = [record.getMessage() for record in caplog.records if record.name == "hikidashi.agents"]
        assert len(causes) == 1
        assert causes[0].startswith("No answer: ")
        assert "sk-test" not in caplog.text


async def test_a_model_that_nobody_can_reach_gives_a_clear_sentence(messages_server: Messages) -> None:
    model = AnthropicModel(
        client_args={"base_url": "http://127.0.0.1:9", "api_key": "sk-test", "max_retries": 0},
        model_id="claude-sonnet-5",
        max_tokens=100,
    )
    async with model.client:
        responder = StrandsResponder(model=model, language="en")
        assert await responder.respond(asked("?")) == "The model could not be reached. Please try again in a while."
        await responder.aclose()


async def test_a_stream_that_breaks_off_keeps_what_came_and_says_so(messages_server: Messages) -> None:
    server = messages_server([fault.cut(after_events=4, reply=say("Once upon a time", chunk=4))])
    async with responder_on(server, language="en") as responder:
        said = await responder.respond(asked("Tell me a story"))
    assert said == "Once\n\nThe model could not be reached. Please try again in a while."


async def test_a_model_that_calls_tools_for_ever_is_stopped(
    messages_server: Messages, caplog: pytest.LogCaptureFixture
) -> None:
    server = messages_server([call("count", {"by": 1})] * 5)

    class Counting:
        tools = (from_strands_tool,)

        def get_invocation_state(self) -> dict[str, Any]:
            return {"start": 0}

    async with responder_on(server, factories=[Counting()], max_turns=3) as responder:
        events = await events_of(responder, asked("?"))
    assert isinstance(events[-1], AnswerFailed)
    assert "多すぎた" in events[-1].message
    assert len(server.requests) == 3
    assert "called 3 times" in caplog.text


async def test_many_conversations_are_answered_at_once_and_a_slow_one_holds_up_nobody(
    messages_server: Messages,
) -> None:
    released = threading.Event()

    def answer(request: Any) -> Any:
        if request.text == "slow":
            assert released.wait(30)
        return say(f"answer to {request.text}")

    server = messages_server(answer)
    async with responder_on(server) as responder:
        slow = asyncio.create_task(responder.respond(asked("slow")))
        while not server.requests:
            await asyncio.sleep(0.01)
        quick = await asyncio.gather(*(responder.respond(asked(f"question {n}")) for n in range(12)))
        assert not slow.done()
        released.set()
        assert await slow == "answer to slow"
    assert quick == [f"answer to question {n}" for n in range(12)]


async def test_closing_the_generator_ends_the_run_and_its_tools(messages_server: Messages) -> None:
    ended = asyncio.Event()

    @tool
    async def wait_long() -> str:
        """Waits."""
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        return "never"

    server = messages_server([turn("Wait.", call("wait_long"))])
    async with responder_on(server, tools=[wait_long]) as responder:
        events = responder.stream(asked("?"))
        async for event in events:
            if isinstance(event, ToolCalled):
                break
        await events.aclose()
        assert ended.is_set()
        assert len(server.requests) == 1


async def test_a_tool_in_a_thread_hears_that_nobody_listens(messages_server: Messages) -> None:
    began, heard = threading.Event(), threading.Event()

    @tool(context=True)
    def wait_in_thread(tool_context: Any) -> str:
        """Waits in a thread."""
        began.set()
        if tool_context.cancel_signal.wait(30):
            heard.set()
        return "stopped"

    server = messages_server([call("wait_in_thread")])
    async with responder_on(server, tools=[wait_in_thread]) as responder:
        events = responder.stream(asked("?"))
        await anext(events)
        assert await asyncio.to_thread(began.wait, 30)
        await events.aclose()
        assert await asyncio.to_thread(heard.wait, 30)


async def test_a_caller_that_is_cancelled_ends_the_run(messages_server: Messages) -> None:
    server = messages_server([fault.hang()])
    async with responder_on(server) as responder:
        asking = asyncio.create_task(responder.respond(asked("?")))
        while not server.requests:
            await asyncio.sleep(0.01)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        running = {getattr(task.get_coro(), "__qualname__", "") for task in asyncio.all_tasks()}
        assert "RunningResponder._run" not in running


def test_one_responder_serves_one_event_loop_after_another(messages_server: Messages) -> None:
    server = messages_server([say("yes")] * 3)
    responder = StrandsResponder(AgentConfig(api_key="sk-test", base_url=server.url))
    for _ in range(3):
        assert asyncio.run(responder.respond(asked("?"))) == "yes"
    asyncio.run(responder.aclose())


async def test_a_busy_model_is_tried_again(messages_server: Messages) -> None:
    busy = fault.status(429, "rate_limit_error", "slow", headers=NO_RETRY)
    server = messages_server([busy, say("at last")])
    async with responder_on(server, max_attempts=2) as responder:
        assert await responder.respond(asked("?")) == "at last"
