"""Which events are questions."""

from __future__ import annotations

from typing import Any

import pytest

from hikidashi.apps.slack.questions import SlackQuestion, question_in

MENTION: dict[str, Any] = {
    "type": "app_mention",
    "channel": "C0GENERAL",
    "user": "U0HANAKO",
    "ts": "2.0",
    "text": "<@U0BOT> hello",
}


def test_a_mention_begins_a_thread_of_its_own() -> None:
    question = question_in(MENTION, "U0BOT")
    assert question == SlackQuestion(
        channel="C0GENERAL", ts="2.0", thread_ts="2.0", user="U0HANAKO", text="<@U0BOT> hello"
    )
    assert question is not None
    assert question.begins_thread


@pytest.mark.parametrize(
    "change",
    [
        {"thread_ts": "1.0"},
        {"type": "message", "channel_type": "channel"},
        {"type": "message", "channel_type": "im", "text": "hello"},
        {"type": "message", "channel_type": "im", "subtype": "file_share", "text": ""},
        {"subtype": "thread_broadcast", "thread_ts": "1.0"},
    ],
)
def test_these_are_questions(change: dict[str, Any]) -> None:
    event = MENTION | change
    question = question_in(event, "U0BOT")
    assert question is not None
    assert (question.text, question.thread_ts) == (event["text"], event.get("thread_ts", "2.0"))


@pytest.mark.parametrize(
    "change",
    [
        {"bot_id": "B0OTHER"},
        {"user": "U0BOT"},
        {"user": None},
        {"edited": {"user": "U0HANAKO", "ts": "3.0"}},
        {"subtype": "channel_join"},
        {"subtype": "message_changed", "hidden": True},
        {"subtype": "bot_message"},
        {"type": "message", "channel_type": "channel", "text": "not to the bot"},
        {"type": "message", "channel_type": "mpim", "text": "not to the bot"},
        {"type": "reaction_added", "text": None},
        {"ts": None},
    ],
)
def test_these_are_not(change: dict[str, Any]) -> None:
    assert question_in(MENTION | change, "U0BOT") is None
