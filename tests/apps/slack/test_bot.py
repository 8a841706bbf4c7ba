"""The bot in Slack: the real slack-bolt and slack-sdk on a loopback Slack, with a scripted responder."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sqlite3
import sys
import threading
import time
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

import pytest

from hikidashi.apps.responder import AnswerEvent, AnswerFailed, Message, TextDelta, ToolCalled, ToolReturned
from hikidashi.apps.slack.bot import SlackBot, SlackError
from hikidashi.apps.slack.questions import Questions, SlackQuestion
from hikidashi.testing import SlackMessage, SlackServer

GENERAL, HANAKO, TARO, DIRECT = "C0GENERAL", "U0HANAKO", "U0TARO", "D0HANAKO"
SEARCH = ToolCalled(call_id="1", name="web_search", arguments={"query": "python <async>"})
FOUND = ToolReturned(call_id="1", name="web_search", ok=True, text="results")

Step = AnswerEvent | asyncio.Event | Exception


class Scripted:
    """Answers with the same steps, or with those a function gives for what was asked; events are waited for."""

    def __init__(self, *steps: Step, each: Callable[[str], Sequence[Step]] | None = None) -> None:
        self.steps = steps
        self.each = each
        self.tool_names = ["web_search"]
        self.conversations: list[list[Message]] = []
        self.closed = 0

    async def stream(self, conversation: Sequence[Message]) -> AsyncGenerator[AnswerEvent]:
        self.conversations.append(list(conversation))
        try:
            for step in self.each(conversation[-1].text) if self.each else self.steps:
                if isinstance(step, asyncio.Event):
                    await step.wait()
                elif isinstance(step, Exception):
                    raise step
                else:
                    yield step
        finally:
            self.closed += 1

    async def respond(self, conversation: Sequence[Message]) -> str:
        return "".join([event.text async for event in self.stream(conversation) if isinstance(event, TextDelta)])

    async def aclose(self) -> None: ...


@pytest.fixture
def slack() -> Iterator[SlackServer]:
    with SlackServer() as server:
        yield server


@asynccontextmanager
async def answering(slack: SlackServer, responder: Any, **options: Any) -> AsyncGenerator[SlackBot]:
    defaults = {"bot_token": slack.bot_token, "app_token": slack.app_token, "base_url": slack.api_url}
    given: dict[str, Any] = {"update_seconds": 0.01, **defaults, **options}
    async with SlackBot(responder, **given) as bot:
        yield bot


def ask(slack: SlackServer, text: str, *, thread: SlackMessage | None = None, user: str = HANAKO) -> SlackMessage:
    return slack.say(GENERAL, user, f"{slack.mention} {text}", thread_ts=thread.ts if thread else None)


async def answered(slack: SlackServer, count: int = 1) -> None:
    """Waits until so many questions are done with: their reaction is gone."""
    await slack.until(lambda: len(slack.calls_of("reactions.remove")) >= count)


def replies(slack: SlackServer, question: SlackMessage) -> list[str]:
    return [one.text for one in slack.thread(question.channel, question.ts) if one.user == "U0BOT"]


async def test_a_mention_is_answered_in_its_thread_while_people_watch(slack: SlackServer) -> None:
    found, written = asyncio.Event(), asyncio.Event()
    responder = Scripted(
        TextDelta("探します。"), SEARCH, found, FOUND, TextDelta("**asyncio** は"), written, TextDelta("便利です。")
    )
    async with answering(slack, responder):
        question = ask(slack, "検索して")

        def shown() -> str:
            return "".join(replies(slack, question))

        await slack.until(lambda: "web_search" in shown())
        assert shown() == "探します。\n\n:hourglass_flowing_sand: `web_search` を使っています: python &lt;async&gt;"
        assert slack.thread(GENERAL, question.ts)[0].reactions == (("thinking_face", "U0BOT"),)
        found.set()
        await slack.until(lambda: "*asyncio*" in shown())
        written.set()
        await answered(slack)
    answer = slack.thread(GENERAL, question.ts)[1]
    assert answer.text == "探します。\n\n*asyncio* は便利です。"
    assert answer.history[0] == ":hourglass_flowing_sand: 考えています…"
    assert slack.thread(GENERAL, question.ts)[0].reactions == ()
    assert slack.ever_reacted(question) == ["thinking_face"]
    assert responder.conversations == [[Message(role="user", text="検索して", author="Hanako")]]


async def test_a_direct_message_is_answered_in_its_thread_without_a_mention(slack: SlackServer) -> None:
    async with answering(slack, Scripted(TextDelta("Hello!")), language="en"):
        question = slack.say(DIRECT, HANAKO, "Anybody there?")
        await answered(slack)
    assert [(one.user, one.text) for one in slack.messages(DIRECT)] == [(HANAKO, "Anybody there?"), ("U0BOT", "Hello!")]
    assert slack.messages(DIRECT)[1].thread_ts == question.ts
    assert slack.messages(DIRECT)[1].history[0] == ":hourglass_flowing_sand: Thinking…"


async def test_the_model_reads_what_was_said_in_the_thread_and_by_whom(slack: SlackServer) -> None:
    responder = Scripted(each=lambda asked: [TextDelta(f"**You** said [it](https://a.example): {asked}")])
    async with answering(slack, responder):
        root = slack.say(GENERAL, TARO, "Look at <https://b.example|this> &amp; that")
        slack.join(GENERAL, HANAKO)
        slack.say(GENERAL, "U0OTHERBOT", "Build 7 failed", thread_ts=root.ts, bot_id="B0OTHER")
        slack.say(GENERAL, "", "Nobody said this", thread_ts=root.ts, bot_id="B0OTHER")
        slack.say(GENERAL, TARO, "", thread_ts=root.ts)
        ask(slack, "what <@U0TARO>?", thread=root)
        await answered(slack)
        ask(slack, "and now?", thread=root, user=TARO)
        await answered(slack, 2)
    assert responder.conversations[1] == [
        Message(role="user", text="Look at this (https://b.example) & that", author="Taro"),
        Message(role="user", text="Build 7 failed", author="U0OTHERBOT"),
        Message(role="user", text="Nobody said this"),
        Message(role="user", text="what @Taro?", author="Hanako"),
        Message(role="assistant", text="**You** said [it](https://a.example): what @Taro?"),
        Message(role="user", text="and now?", author="Taro"),
    ]


async def test_what_a_killed_bot_was_doing_is_no_part_of_the_conversation(slack: SlackServer) -> None:
    start = slack.say(GENERAL, HANAKO, "昼は何にする？")
    for left_behind in (":hourglass_flowing_sand: 考えています…", "そばを\n\n:hourglass_flowing_sand: `web_search` …"):
        slack.say(GENERAL, "U0BOT", left_behind, thread_ts=start.ts)
    responder = Scripted(TextDelta("そば。"))
    async with answering(slack, responder):
        ask(slack, "それで？", thread=start)
        await answered(slack)
    assert [(one.role, one.text) for one in responder.conversations[0]] == [
        ("user", "昼は何にする？"),
        ("assistant", "そばを"),
        ("user", "それで？"),
    ]


async def test_the_name_of_a_person_is_asked_for_once_and_again_only_after_trouble(slack: SlackServer) -> None:
    responder = Scripted(TextDelta("ok"))
    slack.refuse("users.info", "org_login_required")
    async with answering(slack, responder):
        ask(slack, "in trouble")
        await answered(slack)
        for number in range(10):
            ask(slack, f"<@U0NOBODY> {number}")
        await answered(slack, 11)
        ask(slack, "<@U0NOBODY> last")
        await answered(slack, 12)
    assert sorted(call.arguments["user"] for call in slack.calls_of("users.info")) == [HANAKO, HANAKO, "U0NOBODY"]
    assert responder.conversations[0] == [Message(role="user", text="in trouble", author=HANAKO)]
    assert responder.conversations[-1] == [Message(role="user", text="@U0NOBODY last", author="Hanako")]


async def test_of_a_long_thread_the_first_and_the_newest_messages_are_read(slack: SlackServer) -> None:
    responder = Scripted(TextDelta("ok"))
    async with answering(slack, responder):
        root = slack.say(GENERAL, TARO, "0")
        for number in range(1, 250):
            slack.say(GENERAL, TARO, str(number), thread_ts=root.ts)
        ask(slack, "last", thread=root)
        await answered(slack)
    assert [one.text for one in responder.conversations[0]] == ["0", *map(str, range(51, 250)), "last"]
    assert len(slack.calls_of("conversations.replies")) == 2


async def test_a_question_that_is_delivered_again_is_answered_once(slack: SlackServer) -> None:
    responder = Scripted(TextDelta("once"))
    async with answering(slack, responder):
        question = ask(slack, "hello")
        slack.deliver_again(slack.socket.deliveries[0])
        await answered(slack)
        slack.deliver_again(slack.socket.deliveries[0], reason="http_timeout")
        await slack.until(lambda: all(one.acknowledged for one in slack.socket.deliveries))
    assert len(slack.socket.deliveries) == 3
    assert replies(slack, question) == ["once"]


async def test_a_question_that_is_delivered_again_after_a_restart_is_answered_once(
    slack: SlackServer, tmp_path: Path
) -> None:
    file = tmp_path / "state" / "seen.sqlite"
    async with answering(slack, Scripted(TextDelta("before")), seen_file=file):
        question = ask(slack, "hello")
        await answered(slack)
    async with answering(slack, Scripted(TextDelta("after")), seen_file=file):
        slack.deliver_again(slack.socket.deliveries[0])
        other = ask(slack, "and now?")
        await answered(slack, 2)
    assert (replies(slack, question), replies(slack, other)) == (["before"], ["after"])
    assert slack.ever_reacted(question) == ["thinking_face"]
    assert (file.stat().st_mode & 0o777, file.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    assert list(file.parent.iterdir()) == [file]
    kept = file.read_bytes()
    assert question.ts.encode() in kept
    assert not any(secret in kept for secret in (b"hello", HANAKO.encode(), b"before", b"xoxb", b"xapp"))


async def test_a_question_whose_answer_was_broken_off_is_not_taken_up_after_a_restart(
    slack: SlackServer, tmp_path: Path
) -> None:
    file = tmp_path / "seen.sqlite"
    async with answering(slack, Scripted(asyncio.Event()), seen_file=file, language="en") as bot:
        question = ask(slack, "hello")
        await slack.until(lambda: replies(slack, question))
        await bot.aclose(grace=0)
    async with answering(slack, Scripted(TextDelta("after")), seen_file=file):
        slack.deliver_again(slack.socket.deliveries[0])
        ask(slack, "and now?")
        await answered(slack, 2)
    assert replies(slack, question) == [
        ":warning: The bot was stopped before the answer was complete. Please ask again."
    ]


async def test_a_question_that_was_asked_long_ago_is_forgotten(slack: SlackServer, tmp_path: Path) -> None:
    file = tmp_path / "seen.sqlite"
    async with answering(slack, Scripted(TextDelta("before")), seen_file=file):
        question = ask(slack, "hello")
        await answered(slack)
    with closing(sqlite3.connect(file)) as database:
        database.execute("UPDATE seen SET at = at - 2 * 60 * 60")
        database.commit()
    async with answering(slack, Scripted(TextDelta("after")), seen_file=file):
        slack.deliver_again(slack.socket.deliveries[0])
        await answered(slack, 2)
    assert replies(slack, question) == ["before", "after"]


async def test_of_two_bots_at_once_one_answers(slack: SlackServer, tmp_path: Path) -> None:
    file = tmp_path / "seen.sqlite"
    first, second = Scripted(TextDelta("first")), Scripted(TextDelta("second"))
    async with answering(slack, first, seen_file=file):
        question = ask(slack, "hello")
        await answered(slack)
        async with answering(slack, second, seen_file=file):  # Slack sends to the bot that came last
            slack.deliver_again(slack.socket.deliveries[0])
            other = ask(slack, "and you?")
            await answered(slack, 2)
        slack.deliver_again(slack.socket.deliveries[-1])
        ask(slack, "and now?")
        await answered(slack, 3)
    assert (replies(slack, question), replies(slack, other)) == (["first"], ["second"])
    assert [conversation[-1].text for conversation in first.conversations] == ["hello", "and now?"]


async def test_two_apps_that_share_a_file_both_answer_a_message_that_calls_both(tmp_path: Path) -> None:
    file = tmp_path / "seen.sqlite"
    for name in ("U0BOT", "U0OTHER"):
        with SlackServer() as slack:
            slack.pretend("auth.test", user_id=name, team_id="T0LOOP")
            async with answering(slack, Scripted(TextDelta("here")), seen_file=file):
                slack.emit({"type": "app_mention", "channel": GENERAL, "user": HANAKO, "ts": "1.0", "text": "both"})
                await answered(slack)
            assert len(slack.calls_of("chat.postMessage")) == 1


@pytest.mark.parametrize("trouble", ["damaged", "no folder"])
async def test_a_file_that_cannot_be_used_is_told_once_and_memory_remembers(
    slack: SlackServer, tmp_path: Path, caplog: pytest.LogCaptureFixture, trouble: str
) -> None:
    there = tmp_path / "there"
    there.write_bytes(b"neither a folder nor SQLite" * 100)
    file = there if trouble == "damaged" else there / "seen.sqlite"
    async with answering(slack, Scripted(TextDelta("once")), seen_file=file):
        question = ask(slack, "hello")
        await answered(slack)
        slack.deliver_again(slack.socket.deliveries[0])
        other = ask(slack, "and now?")
        await answered(slack, 2)
    assert (replies(slack, question), replies(slack, other)) == (["once"], ["once"])
    (warning,) = [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]
    assert warning.startswith(f"Slack: {file} cannot be used (")
    assert there.read_bytes() == b"neither a folder nor SQLite" * 100


async def test_a_mention_that_arrives_as_two_events_is_answered_once() -> None:
    with SlackServer(events=frozenset({"app_mention", "message.channels"})) as slack:
        async with answering(slack, Scripted(TextDelta("once"))):
            question = ask(slack, "hello")
            await answered(slack)
        assert replies(slack, question) == ["once"]
        assert slack.ever_reacted(question) == ["thinking_face"]


async def test_the_bot_answers_neither_bots_nor_edits_nor_joins_nor_itself() -> None:
    with SlackServer(events=frozenset({"app_mention", "message.im", "message.channels"})) as slack:
        responder = Scripted(TextDelta("Only this. <@U0BOT>"))
        async with answering(slack, responder):
            slack.join(GENERAL, HANAKO)
            slack.say(GENERAL, "U0OTHERBOT", f"{slack.mention} loop?", bot_id="B0OTHER")
            slack.say(GENERAL, HANAKO, "not to the bot")
            slack.emit({"type": "reaction_added", "user": HANAKO, "reaction": "eyes"})
            question = slack.say(DIRECT, HANAKO, "hello")
            await answered(slack)
            slack.edit(question, "hello again")
            last = slack.say(DIRECT, HANAKO, "second")
            await answered(slack, 2)
            await slack.until(lambda: all(one.acknowledged for one in slack.socket.deliveries))
        assert [conversation[-1].text for conversation in responder.conversations] == ["hello", "second"]
        assert len(replies(slack, last)) == 1
        assert not slack.calls_of("conversations.replies")


async def test_a_mention_without_a_question_is_asked_for_one(slack: SlackServer) -> None:
    responder = Scripted()
    async with answering(slack, responder):
        question = slack.say(GENERAL, HANAKO, slack.mention)
        await answered(slack)
    assert replies(slack, question) == ["お呼びですか？ 質問を続けて書いてください。"]
    assert responder.conversations == []


async def test_a_mention_alone_in_a_thread_means_what_was_said_there(slack: SlackServer) -> None:
    responder = Scripted(TextDelta("42"))
    async with answering(slack, responder):
        root = slack.say(GENERAL, TARO, "What is 6 times 7?")
        ask(slack, "", thread=root)
        await answered(slack)
    assert [one.text for one in responder.conversations[0]] == ["What is 6 times 7?", ""]


async def test_a_long_answer_comes_in_several_messages_and_is_read_as_one(slack: SlackServer) -> None:
    code = "```python\n" + "\n".join(f"line_{number} = {number}" for number in range(600)) + "\n```"
    responder = Scripted(each=lambda asked: [TextDelta(f"Here:\n\n{code}\n\nDone.")])
    async with answering(slack, responder):
        question = ask(slack, "code")
        await answered(slack)
        parts = replies(slack, question)
        ask(slack, "again", thread=question)
        await answered(slack, 2)
    assert len(parts) == 3
    assert all(len(part) <= 3_900 and part.count("```") == 2 for part in parts)
    assert parts[-1].endswith("line_599 = 599\n```\n\nDone.")
    assert [one.role for one in responder.conversations[1]] == ["user", "assistant", "user"]


async def test_a_failing_answer_says_so_and_keeps_what_there_was(slack: SlackServer) -> None:
    async with answering(slack, Scripted(TextDelta("So far."), AnswerFailed("モデルが <忙しい> です。"))):
        question = ask(slack, "hello")
        await answered(slack)
    assert replies(slack, question) == ["So far.\n\n:warning: モデルが &lt;忙しい&gt; です。"]


async def test_a_responder_that_raises_gives_a_reply_and_a_log(
    slack: SlackServer, caplog: pytest.LogCaptureFixture
) -> None:
    async with answering(slack, Scripted(TextDelta("So far."), TimeoutError("a secret detail"))):
        question = ask(slack, "hello")
        await answered(slack)
    (reply,) = replies(slack, question)
    assert reply == "So far.\n\n:warning: エラーのため答えられませんでした。しばらくしてからもう一度お試しください。"
    assert "a secret detail" in caplog.text


async def test_an_answer_that_takes_too_long_is_given_up(slack: SlackServer) -> None:
    responder = Scripted(TextDelta("So far."), asyncio.Event())
    async with answering(slack, responder, answer_seconds=0.05, language="en"):
        question = ask(slack, "hello")
        await answered(slack)
    (reply,) = replies(slack, question)
    assert reply.startswith("So far.\n\n:warning: There was no answer within")
    assert responder.closed == 1


async def test_an_answer_without_text_says_so(slack: SlackServer) -> None:
    failed = ToolReturned(call_id="1", name="web_search", ok=False, text="no")
    async with answering(slack, Scripted(ToolCalled(call_id="1", name="clock", arguments={}), failed), language="en"):
        question = ask(slack, "hello")
        await answered(slack)
    assert replies(slack, question) == ["There was no answer. Please rephrase the question."]


async def test_a_failed_tool_is_told(slack: SlackServer) -> None:
    gate = asyncio.Event()
    failed = ToolReturned(call_id="1", name="web_search", ok=False, text="no")
    long = ToolCalled(call_id="1", name="web_search", arguments={"query": "x" * 200})
    async with answering(slack, Scripted(long, failed, gate, TextDelta("ok")), language="en"):
        question = ask(slack, "hello")
        await slack.until(lambda: "failed. Continuing" in "".join(replies(slack, question)))
        gate.set()
        await answered(slack)


async def test_a_slow_conversation_does_not_hold_up_another(slack: SlackServer) -> None:
    gate = asyncio.Event()
    responder = Scripted(each=lambda asked: [gate, TextDelta("slow")] if asked == "slow" else [TextDelta("quick")])
    async with answering(slack, responder):
        slow, quick = ask(slack, "slow"), ask(slack, "quick")
        await answered(slack)
        assert replies(slack, quick) == ["quick"]
        gate.set()
        await answered(slack, 2)
    assert replies(slack, slow) == ["slow"]


async def test_questions_in_one_thread_are_answered_in_turn(slack: SlackServer) -> None:
    gate = asyncio.Event()
    responder = Scripted(each=lambda asked: [gate, TextDelta(f"to {asked}")] if asked == "one" else [TextDelta("done")])
    async with answering(slack, responder):
        root = slack.say(GENERAL, TARO, "Root")
        ask(slack, "one", thread=root)
        second = ask(slack, "two", thread=root)
        await slack.until(lambda: slack.ever_reacted(second))
        gate.set()
        await answered(slack, 2)
    assert [one.text for one in responder.conversations[0]] == ["Root", "one"]
    assert [one.text for one in responder.conversations[1]] == ["Root", "one", "to one", "two"]


async def test_the_bot_waits_when_slack_asks_it_to(slack: SlackServer) -> None:
    steps = [TextDelta(f"{number} ") for number in range(20)]
    for method in ("chat.update", "chat.postMessage", "reactions.add"):
        slack.limit(method, retry_after=1)
    async with answering(slack, Scripted(*steps)):
        question = ask(slack, "count")
        await answered(slack)
    assert replies(slack, question) == [" ".join(map(str, range(20)))]
    assert slack.too_early == []
    assert {call.error for call in slack.calls if call.error} == {"ratelimited"}


async def test_updates_in_between_are_left_out_when_slack_is_slow(slack: SlackServer) -> None:
    steps = [TextDelta(f"{number} ") for number in range(200)]
    async with answering(slack, Scripted(*steps), update_seconds=60):
        question = ask(slack, "count")
        await answered(slack)
    assert len(slack.calls_of("chat.update")) <= 2
    assert replies(slack, question) == [" ".join(map(str, range(200)))]


async def test_an_answer_whose_message_was_deleted_is_posted_again(slack: SlackServer) -> None:
    gate = asyncio.Event()
    async with answering(slack, Scripted(gate, TextDelta("one "), TextDelta("two"))):
        question = ask(slack, "hello")
        await slack.until(lambda: replies(slack, question))
        slack.delete(slack.thread(GENERAL, question.ts)[1])
        gate.set()
        await answered(slack)
    assert replies(slack, question) == ["one two"]


async def test_trouble_at_slack_is_tried_again_but_nothing_is_posted_twice(
    slack: SlackServer, caplog: pytest.LogCaptureFixture
) -> None:
    slack.break_down("chat.update", status=503, times=2)
    slack.break_down("users.info", status=500)
    async with answering(slack, Scripted(TextDelta("ok"))):
        question = ask(slack, "hello")
        await answered(slack)
        assert replies(slack, question) == ["ok"]
        slack.break_down("chat.postMessage", status=503)
        ask(slack, "lost")
        await answered(slack, 2)
    assert len(slack.calls_of("chat.postMessage")) == 2
    assert "`chat.postMessage` failed with http_503" in caplog.text


@pytest.mark.parametrize(
    ("scope", "said", "logged"),
    [
        ("reactions:write", "ok", "reactions to questions cannot be set"),
        ("users:read", "ok", "the name of U0HANAKO stays unknown"),
        (
            "channels:history",
            "ok\n\n:information_source: I could not read this thread, so I answer its last message alone. "
            "Add the scope `channels:history` to the Slack app and install it again.",
            "a thread cannot be read",
        ),
    ],
)
async def test_a_missing_scope_is_logged_and_the_answer_comes_anyway(
    scope: str, said: str, logged: str, caplog: pytest.LogCaptureFixture
) -> None:
    with SlackServer() as whole:
        scopes = whole.bot.scopes - {scope}
    with SlackServer(scopes=scopes) as slack:
        async with answering(slack, Scripted(TextDelta("ok")), language="en"):
            root = slack.say(GENERAL, TARO, "Root")
            ask(slack, "hello", thread=root)
            await answered(slack)
            ask(slack, "again", thread=root)
            await answered(slack, 2)
        assert replies(slack, root) == [said, said]
    assert logged in caplog.text
    assert f"Add the scope `{scope}` to the Slack app" in caplog.text


async def test_a_channel_where_the_bot_may_not_write_is_logged(
    slack: SlackServer, caplog: pytest.LogCaptureFixture
) -> None:
    slack.refuse("chat.postMessage", "not_in_channel")
    async with answering(slack, Scripted(TextDelta("ok"))):
        question = ask(slack, "hello")
        await answered(slack)
    assert replies(slack, question) == []
    assert "gets no answer. Slack: `chat.postMessage` failed with not_in_channel. Invite the bot" in caplog.text


@pytest.mark.parametrize("loss", ["cut", "close", "refresh"])
async def test_the_bot_comes_back_when_the_connection_is_lost(slack: SlackServer, loss: str) -> None:
    async with answering(slack, Scripted(TextDelta("back")), ping_seconds=0.5):
        if loss == "cut":
            slack.socket.cut_all()
            await slack.until(lambda: slack.socket.connected == 0)
        elif loss == "close":
            slack.socket.close_all()
        else:
            slack.ask_to_leave()
        question = ask(slack, "still there?")
        await slack.until(lambda: slack.socket.opened == 2)
        await answered(slack)
    assert replies(slack, question) == ["back"]


async def test_an_address_that_does_not_work_is_not_tried_for_ever(slack: SlackServer) -> None:
    async with answering(slack, Scripted(TextDelta("back")), ping_seconds=0.1):
        slack.pretend("apps.connections.open", url=slack.socket.ticket().replace("ticket=", "ticket=not-"))
        slack.socket.cut_all()
        question = ask(slack, "still there?")
        await answered(slack)
    assert replies(slack, question) == ["back"]


async def test_an_answer_under_way_is_finished_before_the_bot_leaves(slack: SlackServer) -> None:
    gate = asyncio.Event()
    async with answering(slack, Scripted(gate, TextDelta("finished"))) as bot:
        question = ask(slack, "hello")
        await slack.until(lambda: replies(slack, question))
        leaving = asyncio.create_task(bot.aclose(grace=30))
        await slack.until(lambda: slack.socket.connected == 0)
        gate.set()
        await leaving
        await bot.aclose()
    assert replies(slack, question) == ["finished"]
    assert slack.thread(GENERAL, question.ts)[0].reactions == ()


async def test_an_answer_that_cannot_be_finished_says_so(slack: SlackServer) -> None:
    responder = Scripted(TextDelta("So far."), asyncio.Event())
    async with answering(slack, responder, language="en") as bot:
        question = ask(slack, "hello")
        await slack.until(lambda: "So far." in "".join(replies(slack, question)))
        waiting = ask(slack, "in the same thread", thread=question)
        await slack.until(lambda: slack.ever_reacted(waiting))
        await bot.aclose(grace=0)
    stopped = ":warning: The bot was stopped before the answer was complete. Please ask again."
    assert replies(slack, question) == [f"So far.\n\n{stopped}", stopped]
    assert [one.reactions for one in slack.thread(GENERAL, question.ts)] == [()] * 4
    assert responder.closed == 1


async def until_signals_are_heard() -> None:
    while signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        await asyncio.sleep(0.01)


@pytest.mark.parametrize("times", [1, 2])
async def test_a_signal_ends_the_bot_and_a_second_one_at_once(slack: SlackServer, times: int) -> None:
    gate = asyncio.Event()
    options: dict[str, Any] = {"bot_token": slack.bot_token, "app_token": slack.app_token, "base_url": slack.api_url}
    bot = SlackBot(Scripted(gate, TextDelta("finished")), language="en", **options)
    running = asyncio.create_task(bot.run(grace=30))
    await until_signals_are_heard()
    question = ask(slack, "hello")
    await slack.until(lambda: replies(slack, question))
    os.kill(os.getpid(), signal.SIGTERM)
    await slack.until(lambda: slack.socket.connected == 0)
    if times == 1:
        gate.set()
    else:
        os.kill(os.getpid(), signal.SIGTERM)
    await running
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    expected = (
        "finished" if times == 1 else ":warning: The bot was stopped before the answer was complete. Please ask again."
    )
    assert replies(slack, question) == [expected]


@pytest.mark.parametrize(
    ("tokens", "method", "code"),
    [
        ({"bot_token": "xoxb-other"}, "auth.test", "invalid_auth"),
        ({"app_token": "xapp-other"}, "apps.connections.open", "invalid_auth"),
        ({"bot_token": "xapp-test", "app_token": "xoxb-test"}, "auth.test", "not_allowed_token_type"),
        ({"base_url": "http://127.0.0.1:9/api/"}, "auth.test", "unreachable"),
    ],
)
async def test_wrong_tokens_and_addresses_fail_at_the_start(
    slack: SlackServer, tokens: dict[str, str], method: str, code: str
) -> None:
    with pytest.raises(SlackError) as caught:
        async with answering(slack, Scripted(), **tokens):
            raise AssertionError
    assert (caught.value.method, caught.value.code) == (method, code)
    assert caught.value.remedy
    assert not any(token in str(caught.value) for token in tokens.values() if token.startswith("x"))


async def test_a_websocket_that_never_answers_is_an_error(slack: SlackServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hikidashi.apps.slack.api._CONNECT_SECONDS", 0.2)
    slack.pretend("apps.connections.open", url=slack.socket.ticket().replace("ticket=", "ticket=not-"))
    with pytest.raises(SlackError, match="the websocket does not answer"):
        async with answering(slack, Scripted()):
            raise AssertionError


async def test_who_the_bot_is_is_known_when_it_is_connected(slack: SlackServer) -> None:
    bot = SlackBot(Scripted(), bot_token="xoxb-test", app_token="xapp-test")
    with pytest.raises(RuntimeError, match="not connected"):
        _ = bot.identity
    async with answering(slack, Scripted()) as bot:
        assert (bot.identity.name, bot.identity.team) == ("hikidashi", "Loopback")


async def test_tokens_are_in_no_log_and_no_repr(slack: SlackServer, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    async with answering(slack, Scripted(TextDelta("ok"))) as bot:
        ask(slack, "hello")
        await answered(slack)
        shown = repr(bot)
    assert "Slack: connected as @hikidashi in Loopback." in caplog.text
    assert "Slack: answered" in caplog.text
    assert not any(token in caplog.text + shown for token in ("xoxb-test", "xapp-test"))


async def test_the_level_of_the_log_stays_as_it_was(slack: SlackServer) -> None:
    before = logging.getLogger("hikidashi").level
    async with answering(slack, Scripted(TextDelta("ok"))):
        logging.getLogger("hikidashi").setLevel(logging.INFO)
        try:
            ask(slack, "hello")
            await answered(slack)
            assert logging.getLogger("hikidashi").level == logging.INFO
        finally:
            logging.getLogger("hikidashi").setLevel(before)


async def test_an_answer_of_slack_that_nobody_expects_is_logged(
    slack: SlackServer, caplog: pytest.LogCaptureFixture
) -> None:
    slack.pretend("chat.postMessage")
    async with answering(slack, Scripted(TextDelta("ok"))):
        ask(slack, "hello")
        await answered(slack)
    assert "gets no answer." in caplog.text
    assert "KeyError: 'ts'" in caplog.text


async def test_an_update_that_slack_refuses_for_good_is_logged(
    slack: SlackServer, caplog: pytest.LogCaptureFixture
) -> None:
    slack.refuse("chat.update", "is_archived", times=9)
    async with answering(slack, Scripted(TextDelta("ok"))):
        ask(slack, "hello")
        await answered(slack)
    assert "`chat.update` failed with is_archived. The channel is archived." in caplog.text


async def test_an_answer_that_is_just_being_posted_when_the_bot_stops_is_marked(slack: SlackServer) -> None:
    released = threading.Event()
    slack.hold("chat.postMessage", released)
    async with answering(slack, Scripted(TextDelta("never")), language="en") as bot:
        question = ask(slack, "hello")
        await slack.until(lambda: slack.ever_reacted(question) and slack.held)
        leaving = asyncio.create_task(bot.aclose(grace=0))
        await slack.until(lambda: slack.socket.connected == 0)
        released.set()
        await leaving
    assert replies(slack, question) == [
        ":warning: The bot was stopped before the answer was complete. Please ask again."
    ]


async def test_an_answer_that_is_just_being_finished_when_the_bot_stops_is_whole(slack: SlackServer) -> None:
    released = threading.Event()
    slack.hold("chat.update", released)
    async with answering(slack, Scripted(TextDelta("whole")), update_seconds=60) as bot:
        question = ask(slack, "hello")
        await slack.until(lambda: slack.held)
        leaving = asyncio.create_task(bot.aclose(grace=0))
        await slack.until(lambda: slack.socket.connected == 0)
        released.set()
        await leaving
    assert replies(slack, question) == ["whole"]


async def test_what_the_environment_says_to_slacks_own_libraries_changes_nothing(
    slack: SlackServer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    for name in ("SLACK_BOT_TOKEN", "SLACK_APP_TOKEN", "SLACK_CLIENT_ID", "SLACK_CLIENT_SECRET"):
        monkeypatch.setenv(name, "other")
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    async with answering(slack, Scripted(TextDelta("ok"))):
        question = ask(slack, "hello")
        await answered(slack)
    assert replies(slack, question) == ["ok"]
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []


BEGUN_AND_KILLED = """
import asyncio, os, signal, sys
from pathlib import Path
from hikidashi.apps.slack.bot import SlackBot
from hikidashi.apps.responder import TextDelta

class Hanging:
    tool_names = []
    async def stream(self, conversation):
        yield TextDelta("So far.")
        await asyncio.Event().wait()

async def main():
    url, bot_token, app_token, file = sys.argv[1:]
    bot = SlackBot(Hanging(), bot_token=bot_token, app_token=app_token, base_url=url, seen_file=Path(file),
                   update_seconds=0.01)
    await bot.start()
    await asyncio.Event().wait()

asyncio.run(main())
"""


@asynccontextmanager
async def killed_in_the_middle(slack: SlackServer, file: Path) -> AsyncGenerator[None]:
    """A bot in a process of its own that hangs in its answer, and is killed when the block ends."""
    arguments = [slack.api_url, slack.bot_token, slack.app_token, str(file)]
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", BEGUN_AND_KILLED, *arguments)
    try:
        yield
    finally:
        process.send_signal(signal.SIGKILL)
        await process.wait()


async def test_what_a_killed_bot_began_is_answered_by_the_next_in_the_same_message(
    slack: SlackServer, tmp_path: Path
) -> None:
    file = tmp_path / "state" / "seen.sqlite"
    async with killed_in_the_middle(slack, file):
        question = ask(slack, "hello")
        await slack.until(lambda: "So far." in "".join(replies(slack, question)))
        # While that bot lives, its question is nobody else's.
        async with answering(slack, Scripted(TextDelta("twice")), seen_file=file):
            slack.deliver_again(slack.socket.deliveries[0])
            other = ask(slack, "and you?")
            await answered(slack)
        assert replies(slack, other) == ["twice"]
    assert replies(slack, question)[0].endswith(":hourglass_flowing_sand: 考えています…")
    responder = Scripted(TextDelta("after"))
    async with answering(slack, responder, seen_file=file):
        slack.deliver_again(slack.socket.deliveries[0])
        await answered(slack, 2)
        slack.deliver_again(slack.socket.deliveries[0])
        await slack.until(lambda: all(one.acknowledged for one in slack.socket.deliveries))
    assert replies(slack, question) == ["after"]
    assert [[one.text for one in conversation] for conversation in responder.conversations] == [["hello"]]
    assert slack.thread(GENERAL, question.ts)[0].reactions == ()
    assert (file.stat().st_mode & 0o777, [path.name for path in file.parent.iterdir()]) == (0o600, [file.name])
    assert b"hello" not in file.read_bytes()


def left_open(
    slack: SlackServer, file: Path, question: SlackMessage, *, posted: SlackMessage | None, **row: Any
) -> None:
    """What a killed bot writes down before it is killed."""
    questions = Questions(file)
    asked = SlackQuestion(channel=question.channel, ts=question.ts, thread_ts=question.ts, user=HANAKO, text="")
    taken = questions.take(f"{slack.bot.team_id} {slack.bot.user_id}", asked)
    assert taken is not None
    if posted is not None:
        questions.posted(taken, posted.ts)
    questions.close()
    with closing(sqlite3.connect(file)) as database:
        for column, value in row.items():
            database.execute(f"UPDATE seen SET {column} = ?", (value,))
        database.commit()


INTERRUPTED = ":warning: The bot crashed before this was answered. Please ask again."
THINKING = ":hourglass_flowing_sand: Thinking…"


@pytest.mark.parametrize(
    ("row", "shown", "expected"),
    [
        ({}, THINKING, ["after"]),
        ({"state": "finishing"}, THINKING, ["after"]),
        ({"state": "finishing"}, "The whole answer.", ["The whole answer."]),
        ({"at": "long ago"}, f"Half.\n\n{THINKING}", [f"Half.\n\n{INTERRUPTED}"]),
        ({"attempts": 3}, THINKING, [INTERRUPTED]),
    ],
)
async def test_an_unfinished_answer_is_finished_or_closed_with_a_word_and_never_given_twice(
    slack: SlackServer, tmp_path: Path, row: dict[str, Any], shown: str, expected: list[str]
) -> None:
    file = tmp_path / "seen.sqlite"
    question = slack.say(GENERAL, HANAKO, "hello")
    posted = slack.say(GENERAL, slack.bot.user_id, shown, thread_ts=question.ts, bot_id=slack.bot.bot_id)
    row = {name: time.time() - 2 * 3600 if value == "long ago" else value for name, value in row.items()}
    left_open(slack, file, question, posted=posted, **row)
    async with answering(slack, Scripted(TextDelta("after")), seen_file=file, language="en"):
        await answered(slack)
    assert replies(slack, question) == expected


async def test_a_message_that_was_posted_but_not_written_down_is_found(slack: SlackServer, tmp_path: Path) -> None:
    file = tmp_path / "seen.sqlite"
    question = slack.say(GENERAL, HANAKO, "hello")
    slack.say(GENERAL, slack.bot.user_id, THINKING, thread_ts=question.ts, bot_id=slack.bot.bot_id)
    left_open(slack, file, question, posted=None)
    async with answering(slack, Scripted(TextDelta("after")), seen_file=file, language="en"):
        await answered(slack)
    assert replies(slack, question) == ["after"]


async def test_a_question_that_is_gone_is_closed_without_an_answer(slack: SlackServer, tmp_path: Path) -> None:
    file = tmp_path / "seen.sqlite"
    root = slack.say(GENERAL, TARO, "Root")
    question = slack.say(GENERAL, HANAKO, "hello", thread_ts=root.ts)
    posted = slack.say(GENERAL, slack.bot.user_id, THINKING, thread_ts=root.ts, bot_id=slack.bot.bot_id)
    left_open(slack, file, question, posted=posted, thread_ts=root.ts)
    slack.delete(question)
    async with answering(slack, Scripted(TextDelta("after")), seen_file=file, language="en"):
        await answered(slack)
    assert [one.text for one in slack.thread(GENERAL, root.ts) if one.user == slack.bot.user_id] == [INTERRUPTED]


async def test_a_question_that_could_not_be_answered_at_all_is_answered_when_it_comes_again(slack: SlackServer) -> None:
    slack.refuse("chat.postMessage", "internal_error")
    async with answering(slack, Scripted(TextDelta("ok"))):
        question = ask(slack, "hello")
        await answered(slack)
        assert replies(slack, question) == []
        slack.deliver_again(slack.socket.deliveries[0])
        await answered(slack, 2)
    assert replies(slack, question) == ["ok"]


async def test_the_sources_of_an_answer_are_numbered_and_listed(slack: SlackServer) -> None:
    found = ToolReturned(
        call_id="1",
        name="web_search",
        ok=True,
        text="1. **Docs <!channel>**\n   URL: https://docs.example/a?b=1&c=2\n\n2. **Unused**\n   URL: https://u.example",
    )
    said = TextDelta("See [the docs](https://docs.example/a?b=1&c=2) and https://docs.example/a?b=1&c=2.")
    async with answering(slack, Scripted(SEARCH, found, said), language="en"):
        question = ask(slack, "hello")
        await answered(slack)
    assert replies(slack, question) == [
        "See the docs [1] and [1].\n\n*Sources*\n[1] <https://docs.example/a?b=1&amp;c=2|Docs !channel>"
    ]


async def test_a_token_that_slack_repeats_is_in_no_message(
    slack: SlackServer, caplog: pytest.LogCaptureFixture
) -> None:
    slack.refuse("chat.postMessage", f"bad token {slack.bot_token} and {slack.app_token}")
    async with answering(slack, Scripted(TextDelta("ok"))):
        ask(slack, "hello")
        await answered(slack)
    assert "bad token *** and ***" in caplog.text
    assert slack.bot_token not in caplog.text
