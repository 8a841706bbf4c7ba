"""Answers by pydantic-ai, on its own AnthropicModel and a scripted Messages API."""

from __future__ import annotations

import asyncio
import importlib
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from typing import Any

import pytest
from anthropic import AsyncAnthropic
from pydantic_ai import ModelRetry
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.toolsets import FunctionToolset

from hikidashi.apps.pydantic_ai import PydanticAIResponder
from hikidashi.apps.responder import AnswerEvent, AnswerFailed, Message, TextDelta, ToolCalled, ToolReturned
from hikidashi.errors import MissingExtra
from hikidashi.testing import MessagesServer, call, fault, say, turn

Messages = Callable[..., MessagesServer]
On = Callable[[MessagesServer], AnthropicModel]
QUESTION = [Message(role="user", text="How much?")]


@pytest.fixture
async def model_on() -> AsyncGenerator[On]:
    async with AsyncExitStack() as clients:

        def model_on(server: MessagesServer) -> AnthropicModel:
            client = AsyncAnthropic(api_key="sk-test", base_url=server.url)
            clients.push_async_callback(client.close)
            return AnthropicModel("claude-sonnet-5", provider=AnthropicProvider(anthropic_client=client))

        yield model_on


async def events_of(responder: PydanticAIResponder) -> list[AnswerEvent]:
    return [event async for event in responder.stream(QUESTION)]


def double(number: int) -> int:
    """Twice a number."""
    if number < 0:
        raise ModelRetry("only numbers of 0 or more")
    if number > 9000:
        raise OSError("over 9000")
    return 2 * number


async def test_calls_results_and_text_come_as_they_happen(messages_server: Messages, model_on: On) -> None:
    both = turn("Let me see.", call("double", {"number": -1}, id="a"), call("double", {"number": 4}, id="b"))
    server = messages_server([both, say("Eight.")])
    responder = PydanticAIResponder(model_on(server), toolsets=[FunctionToolset([double])], system_prompt="Count!")
    assert responder.tool_names == ["double"]
    events = await events_of(responder)
    await responder.aclose()
    said = "".join(event.text for event in events if isinstance(event, TextDelta))
    assert said == "Let me see.\n\nEight."
    assert ToolCalled(call_id="b", name="double", arguments={"number": 4}) in events
    returned = {event.call_id: event for event in events if isinstance(event, ToolReturned)}
    assert returned["b"] == ToolReturned(call_id="b", name="double", ok=True, text="8")
    assert (returned["a"].name, returned["a"].ok) == ("double", False)
    assert "only numbers of 0 or more" in returned["a"].text
    assert "Count!" in str(server.requests[0].body["system"])


async def test_each_answer_knows_the_day_it_is_given_on(
    messages_server: Messages, model_on: On, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = messages_server([say("Good night."), say("Good morning.")])
    days = iter((datetime(2026, 12, 31, 12, tzinfo=UTC), datetime(2027, 1, 1, 12, tzinfo=UTC)))
    monkeypatch.setattr("hikidashi.apps.responder.now", lambda: next(days))
    responder = PydanticAIResponder(model_on(server))
    await responder.respond(QUESTION)
    await responder.respond(QUESTION)
    assert ["2026-12-31" in str(one.body["system"]) for one in server.requests] == [True, False]
    assert "2027-01-01" in str(server.requests[1].body["system"])


def test_without_pydantic_ai_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pydantic_ai", None)
    monkeypatch.delitem(sys.modules, "hikidashi.apps.pydantic_ai")
    with pytest.raises(MissingExtra, match=r"pip install 'hikidashi\[pydantic-ai\]'"):
        importlib.import_module("hikidashi.apps.pydantic_ai")


async def test_a_history_goes_in(messages_server: Messages, model_on: On) -> None:
    server = messages_server([say("ok")])
    responder = PydanticAIResponder(model_on(server))
    conversation = [Message(role="user", text="a"), Message(role="assistant", text="b"), *QUESTION]
    assert await responder.respond(conversation) == "ok"
    assert [message["role"] for message in server.requests[0].body["messages"]] == ["user", "assistant", "user"]


@pytest.mark.parametrize(
    ("script", "sentence"),
    [
        (
            [fault.status(401, "authentication_error", "no")],
            "The model's service refused the key. Please ask the operator to check it.",
        ),
        (
            [call("double", {"number": 1})] * 3,
            "The answer needed too many tool calls and was stopped. Please split the question.",
        ),
        (
            [call("double", {"number": 9001})],
            "Something went wrong, so there is no answer. Please try again.",
        ),
    ],
)
async def test_a_failure_is_a_sentence_and_the_log_has_the_cause(
    messages_server: Messages, model_on: On, caplog: pytest.LogCaptureFixture, script: Any, sentence: str
) -> None:
    responder = PydanticAIResponder(
        model_on(messages_server(script)), toolsets=[FunctionToolset([double])], language="en", max_turns=2
    )
    assert (await events_of(responder))[-1] == AnswerFailed(sentence)
    assert "No answer: " in caplog.text


async def test_closing_the_generator_ends_the_run(messages_server: Messages, model_on: On) -> None:
    ended = asyncio.Event()

    async def wait_long() -> str:
        """Waits."""
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        return "never"

    server = messages_server([call("wait_long")])
    responder = PydanticAIResponder(model_on(server), toolsets=[FunctionToolset([wait_long])])
    events = responder.stream(QUESTION)
    assert isinstance(await anext(events), ToolCalled)
    await events.aclose()
    assert ended.is_set()


async def test_what_the_responder_was_made_with_is_given_back(messages_server: Messages, model_on: On) -> None:
    closed: list[bool] = []

    async def close() -> None:
        closed.append(True)

    await PydanticAIResponder(model_on(messages_server([])), on_close=close).aclose()
    assert closed == [True]
