"""Saved conversations, and the input history."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hikidashi.apps.chat.storage import ConversationSaver, ConversationStore, _name_of, read_messages, write_messages
from hikidashi.apps.responder import Message
from hikidashi.testing import say
from hikidashi.testing.script import Step

Start = Callable[[list[Step]], Any]

DAY = 24 * 60 * 60


def said(question: str) -> list[Message]:
    return [Message(role="user", text=question), Message(role="assistant", text=f"To {question}")]


def keep(conversations: ConversationStore, question: str) -> ConversationSaver:
    keeper = ConversationSaver(conversations)
    keeper.write(said(question))
    return keeper


@pytest.mark.parametrize(
    ("question", "name"),
    [
        ("How do I write async Python?", "how-do-i-write-async-python"),
        ("Pythonの非同期処理について", "pythonの非同期処理について"),
        ("../../etc/passwd", "etc-passwd"),
        ("...", "chat"),
        ("one two three four five six seven eight nine ten", "one-two-three-four-five-six-seven-eight"),
        ("x" * 300, "x" * 40),
    ],
)
def test_a_conversation_is_named_after_its_first_question(tmp_path: Path, question: str, name: str) -> None:
    assert keep(ConversationStore(tmp_path), question).name == name


@given(st.text())
def test_a_name_is_short_and_stays_in_its_folder(question: str) -> None:
    name = _name_of(question)
    assert 0 < len(name.encode()) <= 200
    assert Path(name).name == name
    assert not name.startswith(".")


def test_none_overwrites_another_and_the_newest_comes_first(tmp_path: Path) -> None:
    conversations = ConversationStore(tmp_path / "chats")
    for place, question in enumerate(("hello", "hello", "bye")):
        name = keep(conversations, question).name
        os.utime(tmp_path / "chats" / f"{name}.jsonl", (place, place))
    # What is older than 90 days goes when the next one comes.
    assert [one.name for one in conversations.all()] == ["bye"]
    conversations = ConversationStore(tmp_path / "more", clock=lambda: 10)
    for place, question in enumerate(("hello", "hello", "bye")):
        name = keep(conversations, question).name
        os.utime(tmp_path / "more" / f"{name}.jsonl", (place, place))
    assert [one.name for one in conversations.all()] == ["bye", "hello-2", "hello"]
    assert [one.read() for one in conversations.all()] == [said("bye"), said("hello"), said("hello")]
    assert stat.S_IMODE((tmp_path / "more").stat().st_mode) == 0o700
    assert stat.S_IMODE(conversations.all()[0].path.stat().st_mode) == 0o600


def test_of_too_many_the_oldest_go_and_of_too_old_all(tmp_path: Path) -> None:
    now = [0.0]
    conversations = ConversationStore(tmp_path, most=3, days=90, clock=lambda: now[0])
    for day in range(5):
        now[0] = day * DAY
        path = tmp_path / f"{keep(conversations, f'day {day}').name}.jsonl"
        os.utime(path, (now[0], now[0]))
    assert [one.name for one in conversations.all()] == ["day-4", "day-3", "day-2"]
    now[0] = 93.5 * DAY
    keep(conversations, "much later")
    assert {one.name for one in conversations.all()} == {"day-4", "much-later"}


def test_what_a_chat_that_was_killed_left_half_written_goes_after_a_day(tmp_path: Path) -> None:
    half, fresh = tmp_path / "hello.jsonl.1234", tmp_path / "bye.jsonl.5678"
    for draft, written in ((half, 0), (fresh, 2 * DAY)):
        draft.write_text("{")
        os.utime(draft, (written, written))
    keep(ConversationStore(tmp_path, days=9_999_999, clock=lambda: 2.0 * DAY), "hello")
    assert [half.exists(), fresh.exists()] == [False, True]


def test_a_name_may_be_written_in_part(tmp_path: Path) -> None:
    conversations = ConversationStore(tmp_path)
    for question in ("async Python", "async", "Tokyo weather"):
        keep(conversations, question)
    matching = {
        name: sorted(one.name for one in conversations.matching(name))
        for name in ("async", "tok", "weather", "Async Python", "nothing")
    }
    assert matching == {
        "async": ["async"],
        "tok": ["tokyo-weather"],
        "weather": ["tokyo-weather"],
        "Async Python": ["async-python"],
        "nothing": [],
    }


def test_two_chats_that_go_on_with_the_same_one_lose_nothing(tmp_path: Path) -> None:
    conversations = ConversationStore(tmp_path)
    keep(conversations, "hello")
    (kept,) = conversations.all()
    one, two = ConversationSaver(conversations, kept), ConversationSaver(conversations, kept)
    one.write([*said("hello"), *said("from one")])
    two.write([*said("hello"), *said("from two")])
    one.write([*said("hello"), *said("from one"), *said("again")])
    assert (one.name, two.name) == ("hello", "hello-2")
    assert {one.name: len(one.read()) for one in conversations.all()} == {"hello": 6, "hello-2": 4}


def test_conversations_are_listed_gone_on_with_and_deleted(chat: Start) -> None:
    talk = chat([say("Hello Aoi."), say("It rains."), say("You are Aoi.")])
    talk.piped(typed=b"I am Aoi.\n")
    talk.piped(typed=b"How is the weather?\n")
    listed = [json.loads(line) for line in talk.piped("--list", "--json").stdout.splitlines()]
    assert [(one["name"], one["messages"], one["first"]) for one in listed] == [
        ("how-is-the-weather", 2, "How is the weather?"),
        ("i-am-aoi", 2, "I am Aoi."),
    ]
    assert "i-am-aoi  I am Aoi." in talk.piped("--list").stdout
    talk.piped("--continue", "i-am", typed=b"Who am I?\n")
    assert len(talk.model.requests[-1].body["messages"]) == 3
    wrong = talk.piped("--continue", "nothing")
    assert (wrong.returncode, "there is no conversation 'nothing'" in wrong.stderr) == (2, True)
    assert talk.piped("--delete", "how-is").stdout == "how-is-the-weather is deleted.\n"
    assert talk.piped("--list", "--json").stdout.count("\n") == 1
    assert talk.piped("What is this?").returncode == 2


def test_new_keeps_the_conversation_and_clear_removes_it(chat: Start) -> None:
    talk = chat([say("One."), say("Two.")])
    terminal = talk.in_terminal()
    terminal.types("/new")
    terminal.shows("Forgotten.")
    terminal.types("first")
    terminal.shows("One.")
    terminal.types("/new")
    terminal.shows("The last one is saved as first.")
    terminal.types("second")
    terminal.shows("Two.")
    terminal.types("/clear")
    terminal.shows("Forgotten.")
    terminal.types("/quit")
    assert terminal.ends() == 0
    assert [path.stem for path in (talk.home / "state" / "hikidashi" / "chats").iterdir()] == ["first"]
    assert len(talk.model.requests[-1].body["messages"]) == 1


def test_nothing_is_kept_where_nothing_shall_be(chat: Start) -> None:
    talk = chat([say("One.")])
    talk.piped("--no-keep", typed=b"first\n")
    assert not (talk.home / "state" / "hikidashi" / "chats").exists()
    done = talk.piped("--continue", typed=b"")
    assert "There is no saved conversation" in done.stdout
    log = talk.home / "state" / "hikidashi" / "chat.log"
    assert stat.S_IMODE(log.stat().st_mode) == 0o600


SAID = [Message(role="user", text="こんにちは\n二行目"), Message(role="assistant", text="Hello!")]


def test_a_conversation_comes_back_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "new" / "chat.jsonl"
    write_messages(path, SAID)
    assert read_messages(path) == SAID


def test_only_the_user_can_read_it(tmp_path: Path) -> None:
    path = tmp_path / "chat.jsonl"
    write_messages(path, SAID)
    assert path.stat().st_mode & 0o777 == 0o600


def test_without_a_file_nothing_was_said(tmp_path: Path) -> None:
    assert read_messages(tmp_path / "none.jsonl") == []


def test_lines_that_cannot_be_read_are_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "chat.jsonl"
    path.write_text('{"role": "user", "text": "kept"}\n{"role": "us\n[]\n{"role": "system", "text": "x"}\n\x00\n')
    assert read_messages(path) == [Message(role="user", text="kept")]


def test_a_failed_write_leaves_the_old_conversation(tmp_path: Path) -> None:
    path = tmp_path / "chat.jsonl"
    write_messages(path, SAID)
    cannot_be_written: Any = object()
    with pytest.raises(TypeError):
        write_messages(path, [Message(role="user", text=cannot_be_written)])
    assert read_messages(path) == SAID
    assert list(tmp_path.iterdir()) == [path]


def test_half_a_character_is_kept_as_a_replacement_character(tmp_path: Path) -> None:
    path = tmp_path / "chat.jsonl"
    write_messages(path, [Message(role="user", text="a\ud800b")])
    assert read_messages(path) == [Message(role="user", text="a\ufffdb")]
