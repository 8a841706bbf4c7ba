"""report: what a record of searches says about a catalogue."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Generator
from contextlib import closing
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from hikidashi.search import SearchLog, ToolCatalog, report
from hikidashi.search.log_report import (
    CalledTool,
    EmptySearch,
    FoundByCounts,
    FoundTool,
    Missed,
    PreloadCounts,
    PreloadedTool,
    Proposal,
    Report,
)


def tool(name: str, description: str) -> dict[str, Any]:
    return {"name": name, "description": description, "input_schema": {"type": "object", "properties": {}}}


CATALOG = ToolCatalog(
    [
        tool("send_message", "Send a message to a channel"),
        tool("create_event", "Create an event in the calendar"),
        tool("get_weather", "Weather at a place"),
        tool("ping_host", "Whether a host answers"),
    ],
    ranker="lexical",
)


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Generator[SearchLog]:
    """A log on a clock that moves on by ten seconds with each look at it."""
    ticks = count(time.time(), 10)
    monkeypatch.setattr(time, "time", lambda: next(ticks))
    with SearchLog(tmp_path / "searches.db") as log:
        yield log


def again(log: SearchLog, *records: tuple[str, str, list[str]] | str) -> None:
    """Record the same searches and calls in two conversations, as two people would."""
    for _ in range(2):
        with log.session():
            for record in records:
                if isinstance(record, str):
                    log.called(record)
                else:
                    log.searched(*record)


def test_an_empty_log_says_nothing_but_that_no_tool_was_found(log: SearchLog) -> None:
    assert report(log, CATALOG) == Report(
        searches=0,
        calls=0,
        tools=4,
        found_nothing=(),
        never_found=("send_message", "create_event", "get_weather", "ping_host"),
        never_called=(),
        often_called=(),
        proposals=(),
        gone=(),
    )


def test_searches_that_found_nothing_are_grouped_by_what_they_say(log: SearchLog) -> None:
    for query in ("book a flight", "Book  a FLIGHT", "pay"):
        log.searched(query, "words", [])
    log.searched("book a flight", "regex", [])
    log.searched("message", "words", ["send_message"])
    assert report(log, CATALOG).found_nothing == (
        EmptySearch("Book  a FLIGHT", "words", 2),
        EmptySearch("book a flight", "regex", 1),
        EmptySearch("pay", "words", 1),
    )


def test_tools_are_told_apart_by_whether_they_are_found_and_called(log: SearchLog) -> None:
    log.searched("weather", "words", ["create_event", "get_weather"])
    log.searched("event", "words", ["get_weather", "create_event"])
    log.searched("sun", "words", ["get_weather", "get_weather"])  # a search that finds a tool twice is still one
    log.called("send_message")  # loaded all along: nobody had to find it
    found = report(log, CATALOG)
    assert found.never_found == ("ping_host",)
    assert found.never_called == (FoundTool("get_weather", 3, 1), FoundTool("create_event", 2, 1))


def test_conversations_are_counted_by_what_found_the_tools_they_called(log: SearchLog) -> None:
    for _ in range(3):
        with log.session():
            log.searched("what is the weather in Tokyo?", "preload", ["get_weather", "ping_host"])
            log.called("get_weather")
            log.called("send_message", found_by="listed")
    with log.session():  # preloading found one of its tools, but the other needed a search
        log.searched("weather, then tell the team", "preload", ["get_weather"])
        log.called("get_weather")
        log.searched("message", "words", ["send_message"])
        log.called("send_message")
    with log.session():
        log.called("send_message", found_by="listed")
    with log.session():
        log.called("create_event")
    with log.session():  # no tool was called
        log.searched("is the host there?", "preload", ["ping_host"])
    found = report(log, CATALOG)
    assert found.conversations_found_by == FoundByCounts(total=6, preload=3, search=1, listed=1, nothing=1)
    assert found.calls_found_by == FoundByCounts(total=10, preload=4, search=1, listed=4, nothing=1)
    assert found.preloading == PreloadCounts(
        messages=5, loaded=8, called=4, never_called=(PreloadedTool("ping_host", 4),), never_called_count=1
    )
    # Preloading is no search of the model: it neither misses tools nor fills the results of searches.
    assert (found.searches, found.found_nothing, found.never_called, found.never_found) == (1, (), (), ())


def test_what_was_preloaded_and_never_called_is_listed_up_to_a_bound(log: SearchLog) -> None:
    names = [f"tool_{number:03}" for number in range(150)]
    log.searched("everything", "preload", names)
    found = report(log, ToolCatalog([tool(name, "") for name in names])).preloading
    assert [each.name for each in found.never_called] == names[:100]
    assert found.never_called_count == 150


def test_a_preload_is_no_search_that_missed_a_tool(log: SearchLog) -> None:
    again(
        log,
        ("ping the calendar", "words", ["ping_host"]),
        ("now tell Slack", "preload", ["send_message"]),
        "send_message",
    )
    assert report(log, CATALOG).proposals == ()


def test_calls_of_an_earlier_version_count_as_not_recorded(log: SearchLog) -> None:
    log.called("get_weather")
    log.close()
    with closing(sqlite3.connect(log.path, isolation_level=None)) as connection:
        connection.execute("ALTER TABLE calls DROP COLUMN found_by")
    found = report(log, CATALOG)
    assert found.calls_found_by == found.conversations_found_by == FoundByCounts(total=1, not_recorded=1)


def test_at_most_five_tools_that_are_called_a_lot_could_stay_loaded(log: SearchLog) -> None:
    names = [f"tool_{number}" for number in range(7)]
    for number, name in enumerate(names):
        for _ in range(number + 1):
            log.called(name)
    found = report(log, ToolCatalog([tool(name, "") for name in names]))
    assert found.often_called == tuple(
        CalledTool(f"tool_{number}", number + 1, (number + 1) / 28) for number in (6, 5, 4, 3, 2)
    )


def test_names_that_the_catalogue_does_not_have_are_told(log: SearchLog) -> None:
    log.searched("nothing", "words", [])
    log.searched("old", "words", ["old_search", "send_message"])
    for _ in range(5):
        log.called("old_call")
    found = report(log, CATALOG)
    assert (found.gone, found.often_called, found.proposals) == (("old_call", "old_search"), (), ())


def test_words_of_a_search_that_missed_the_tool_called_later_are_proposed(log: SearchLog) -> None:
    again(
        log,
        ("notify the team on Slack", "words", ["create_event"]),
        ("send message", "words", ["send_message", "create_event"]),
        "send_message",
    )
    assert report(log, CATALOG).proposals == (
        Proposal(
            "send_message",
            ("notify", "slack", "team"),
            (Missed("notify the team on Slack", "send message", 2, True),),
        ),
    )


def test_only_words_that_several_searches_agree_on_are_proposed(log: SearchLog) -> None:
    for place in ("Kyoto", "Osaka"):
        log.searched(f"rain in {place}", "words", [])
        log.searched(f"rain today {place}", "words", [])  # another try, for the same wish
        log.searched("weather", "words", ["get_weather"])
        log.called("get_weather")
    log.searched("snow in Nara", "words", [])
    log.searched("weather", "words", ["get_weather"])
    log.called("get_weather")
    (proposal,) = report(log, CATALOG).proposals
    assert proposal.words == ("rain",)
    assert {missed.query for missed in proposal.because} == {
        "rain in Kyoto",
        "rain today Kyoto",
        "rain in Osaka",
        "rain today Osaka",
    }


def test_a_word_that_is_rare_among_the_searches_that_missed_a_tool_is_not_proposed(log: SearchLog) -> None:
    for number in range(30):
        log.searched(f"rain {'Kyoto' if number % 15 == 0 else ''}", "words", [])
        log.searched("weather", "words", ["get_weather"])
        log.called("get_weather")
    assert [proposal.words for proposal in report(log, CATALOG).proposals] == [("rain",)]


def test_names_of_people_are_not_proposed(log: SearchLog) -> None:
    again(log, ("田中さんに通知", "words", []), ("send", "words", ["send_message"]), "send_message")
    assert [proposal.words for proposal in report(log, CATALOG).proposals] == [("通知",)]


def test_a_search_that_found_only_what_comes_near_counts_as_one_that_found_nothing(log: SearchLog) -> None:
    again(log, ("gathering", "nearest", ["get_weather"]), ("event", "words", ["create_event"]), "create_event")
    found = report(log, CATALOG)
    assert found.found_nothing == (EmptySearch("gathering", "words", 2),)
    assert [(proposal.tool, proposal.words) for proposal in found.proposals] == [("create_event", ("gathering",))]
    log.searched("gathering", "nearest", ["get_weather"])
    log.called("get_weather")
    assert report(log, CATALOG).found_nothing == (EmptySearch("gathering", "words", 2),)


def test_words_of_a_search_that_found_nothing_are_proposed_for_what_the_next_one_found_first(log: SearchLog) -> None:
    again(log, ("rain tomorrow", "words", []), ("get_.*", "regex", ["get_weather", "create_event"]))
    assert report(log, CATALOG).proposals == (
        Proposal("get_weather", ("rain",), (Missed("rain tomorrow", None, 2, False),)),
    )


def test_a_call_says_more_than_the_first_place(log: SearchLog) -> None:
    again(log, ("rain", "words", []), ("at a place", "words", ["create_event", "get_weather"]), "get_weather")
    assert [proposal.tool for proposal in report(log, CATALOG).proposals] == ["get_weather"]


def test_the_best_supported_proposal_comes_first(log: SearchLog) -> None:
    for query in ("rain", "rain", "gathering", "gathering", "gathering"):
        with log.session():
            log.searched(query, "words", [])
            found = "get_weather" if query == "rain" else "create_event"
            log.searched("found", "words", [found])
            log.called(found)
    assert [(proposal.tool, proposal.words, proposal.count) for proposal in report(log, CATALOG).proposals] == [
        ("create_event", ("gathering",), 3),
        ("get_weather", ("rain",), 2),
    ]


@pytest.mark.parametrize(
    ("query", "words"), [("find the gatherings", ("gatherings",)), ("find data", ("data", "find"))]
)
def test_words_that_come_with_any_question_are_proposed_only_where_there_are_no_other(
    log: SearchLog, query: str, words: tuple[str, ...]
) -> None:
    again(log, (query, "words", []), ("event", "words", ["create_event"]), "create_event")
    assert [proposal.words for proposal in report(log, CATALOG).proposals] == [words]


def test_japanese_words_are_proposed_as_words(log: SearchLog) -> None:
    again(log, ("会議室をチームで使いたい", "words", []), ("イベントを作成", "words", ["create_event"]), "create_event")
    (proposal,) = report(log, CATALOG).proposals
    assert set(proposal.words) <= {"会議室", "チーム"}
    assert proposal.words


@pytest.mark.parametrize("query", ["please could you send messages", "mesage"])
def test_words_that_already_lead_to_the_tool_are_not_proposed(log: SearchLog, query: str) -> None:
    again(log, (query, "words", ["create_event"]), ("send", "words", ["send_message"]), "send_message")
    assert report(log, CATALOG).proposals == ()


def test_a_word_of_another_tool_is_no_misspelling_and_is_proposed(log: SearchLog) -> None:
    catalog = ToolCatalog([tool("sign_contract", "Sign a contract"), tool("add_contact", "Add a contact")])
    again(log, ("contact", "words", ["add_contact"]), ("sign", "words", ["sign_contract"]), "sign_contract")
    assert [(proposal.tool, proposal.words) for proposal in report(log, catalog).proposals] == [
        ("sign_contract", ("contact",))
    ]


@pytest.mark.parametrize("between", ["called", "session", "moment", "hours", "pattern"])
def test_a_search_that_had_another_aim_proposes_nothing(
    log: SearchLog, monkeypatch: pytest.MonkeyPatch, between: str
) -> None:
    for _ in range(2):
        with log.session() as session:
            log.searched("notify", "regex" if between == "pattern" else "words", ["create_event"])
            now = time.time()
            if between == "called":
                log.called("create_event")
            elif between == "moment":
                monkeypatch.setattr(time, "time", lambda now=now: now - 9.99)
            elif between == "hours":
                monkeypatch.setattr(time, "time", lambda now=now: now + 7200)
            with log.session("other" if between == "session" else session):
                log.searched("send", "words", ["send_message"])
                log.called("send_message")
    assert report(log, CATALOG).proposals == ()


def test_a_log_without_queries_still_counts(tmp_path: Path) -> None:
    with SearchLog(tmp_path / "searches.db", keep_queries=False) as log:
        log.searched("rain", "words", [])
        log.searched("storm", "words", [])
        log.searched("weather", "words", ["get_weather"])
        log.called("get_weather")
        found = report(log, CATALOG)
    assert (found.found_nothing, found.proposals) == ((EmptySearch(None, "words", 2),), ())


def test_a_report_is_json(log: SearchLog) -> None:
    again(log, ("rain", "words", []), ("weather", "words", ["get_weather"]), "get_weather")
    plain = json.loads(json.dumps(report(log, CATALOG).as_json()))
    assert plain["proposals"] == [
        {
            "tool": "get_weather",
            "words": ["rain"],
            "because": [{"query": "rain", "later": "weather", "count": 2, "called": True}],
        }
    ]
