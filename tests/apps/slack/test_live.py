"""A message that shows an answer while it grows."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterator

import pytest

from hikidashi.apps.slack.answer import LiveMessage
from hikidashi.apps.slack.api import SlackAPI
from hikidashi.errors import SlackError
from hikidashi.testing import SlackMessage, SlackServer

GENERAL = "C0GENERAL"


@pytest.fixture
def slack() -> Iterator[SlackServer]:
    with SlackServer() as server:
        yield server


@pytest.fixture
def question(slack: SlackServer) -> SlackMessage:
    return slack.say(GENERAL, "U0HANAKO", "hello")


@pytest.fixture
async def api(slack: SlackServer) -> AsyncGenerator[SlackAPI]:
    api = SlackAPI(slack.bot_token, base_url=slack.api_url)
    yield api
    await api.aclose()


async def test_only_what_changed_is_sent(slack: SlackServer, question: SlackMessage, api: SlackAPI) -> None:
    live = LiveMessage(api, GENERAL, question.ts, pause=lambda: 0.01)
    await live.open("one")
    asked = asyncio.Event()

    def unchanged() -> str:
        asked.set()
        return "one"

    live.show(unchanged)
    await asked.wait()
    live.show(lambda: "two")
    await slack.until(lambda: slack.calls_of("chat.update"))
    assert await live.finish("three") == 1
    assert slack.thread(GENERAL, question.ts)[1].history == ("one", "two", "three")


async def test_an_update_in_between_waits_while_another_answer_is_limited(
    slack: SlackServer, question: SlackMessage, api: SlackAPI
) -> None:
    live = LiveMessage(api, GENERAL, question.ts, pause=lambda: 0.01)
    await live.open("one")
    slack.limit("chat.update", retry_after=1)
    with pytest.raises(SlackError, match="ratelimited"):
        await api.attempt("chat.update", channel=GENERAL, ts=question.ts, text="of another answer")
    live.show(lambda: "two")
    await slack.until(lambda: "two" in slack.thread(GENERAL, question.ts)[1].history)
    await live.finish("three")
    assert slack.too_early == []


async def test_of_a_long_answer_people_see_the_end_and_then_all_of_it(
    slack: SlackServer, question: SlackMessage, api: SlackAPI
) -> None:
    long = "\n\n".join(f"{number:04} " + "x" * 90 for number in range(100))
    live = LiveMessage(api, GENERAL, question.ts, pause=lambda: 0.01)
    await live.open("one")
    live.show(lambda: long)
    await slack.until(lambda: slack.thread(GENERAL, question.ts)[1].text.endswith("0099 " + "x" * 90))
    assert await live.finish(long) == 3
    assert "\n\n".join(one.text for one in slack.thread(GENERAL, question.ts)[1:]) == long


async def test_a_message_may_be_finished_without_being_opened(
    slack: SlackServer, question: SlackMessage, api: SlackAPI
) -> None:
    live = LiveMessage(api, GENERAL, question.ts, pause=lambda: 0.01)
    assert await live.finish("all") == 1
    assert slack.thread(GENERAL, question.ts)[1].history == ("all",)
