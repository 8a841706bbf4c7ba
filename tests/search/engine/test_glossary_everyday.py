"""Everyday English: what people call a thing finds what tools call it, and counts less than the word itself."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hikidashi.search import ToolCatalog
from hikidashi.search.engine.analyzer import FUNCTION, REQUEST, visible
from hikidashi.search.engine.query import understand

WORDS = re.compile(r"[a-z0-9]+(?: [a-z0-9]+)*")


@cache
def glossary() -> list[tuple[str, list[str]]]:
    source = files("hikidashi.search.engine").joinpath("glossaries", "en.tsv").read_text(encoding="utf-8")
    lines = [line.split("\t") for line in source.split("\n") if line and not line.startswith("#")]
    return [(word, english.split("|")) for word, english in lines]


def english_of(request: str) -> set[str]:
    return {word for found in understand(request, lambda word: False).everyday for word in found.english}


def tool(name: str, description: str = "") -> dict[str, Any]:
    return {"name": name, "description": description, "input_schema": {"type": "object", "properties": {}}}


def found(tools: list[dict[str, Any]], question: str) -> list[str]:
    return [match.name for match in ToolCatalog(tools).search(question)]


def test_there_are_thousands_of_entries_and_none_stands_twice() -> None:
    words = [word for word, _ in glossary()]
    assert len(words) >= 3_000
    assert sorted(words) == sorted(set(words))


def test_entries_are_plain_words_with_one_to_six_meanings_of_their_own() -> None:
    wrong = [
        (word, english)
        for word, english in glossary()
        if not WORDS.fullmatch(word)
        or not 1 <= len(set(english)) == len(english) <= 6
        or word in english
        or not all(re.fullmatch(r"[a-z-]+(?: [a-z-]+)*", meaning) for meaning in english)
    ]
    assert wrong == []


def test_no_entry_is_a_word_that_only_says_how_people_ask() -> None:
    assert [word for word, _ in glossary() if word in FUNCTION or word in REQUEST] == []


@pytest.mark.parametrize(
    ("request_text", "expected"),
    [
        ("get rid of that page", "delete"),
        ("getting rid of the old ones", "delete"),
        ("note down the idea", "create"),
        ("jotted down a thought", "note"),
        ("hand it over to Ben", "assign"),
        ("hand the very old ticket over", "assign"),
        ("look up the word", "search"),
        ("kick off the build", "run"),
        ("took the post down", "remove"),
        ("set up a call", "create"),
        ("sign off on the change", "approve"),
        ("wrapping up the sprint", "close"),
        ("chase up the supplier", "reminder"),
        ("ping the team", "notify"),
        ("text my sister", "sms"),
        ("bump the priority", "update"),
        ("two tickets about the login", "issue"),
        ("a deck for Monday", "presentation"),
        ("the sheet with the numbers", "spreadsheet"),
        ("snaps from the beach", "photo"),
        ("no cash left", "balance"),
        ("a PR for the fix", "pull request"),
        ("open a merge request", "pull request"),
        ("the bugs of the week", "issue"),
        ("a flat near the river", "apartment"),
        ("a ride to town", "taxi"),
        ("my boss", "manager"),
        ("CVs of the applicants", "resume"),
        ("postpone the standup", "reschedule"),
        ("organise the offsite", "schedule"),
        ("where is the chemist", "pharmacy"),
        ("find a drugstore", "pharmacy"),
        ("kick off the build", "start"),
        ("what is broken in prod", "production"),
    ],
)
def test_what_people_say_means_what_tools_say(request_text: str, expected: str) -> None:
    assert expected in english_of(request_text)


@pytest.mark.parametrize(
    ("question", "shown"),
    [
        ("create something like a ticket", "ticket→issue"),
        ("get rid of the printer issue", "get rid of→delete"),
        ("hand the issue over to Wei", "hand … over→assign"),
    ],
)
def test_a_match_shows_what_was_taken_for_what(question: str, shown: str) -> None:
    tools = [tool("create_issue"), tool("delete_issue"), tool("assign_issue"), tool("print_page")]
    why = [match.why for match in ToolCatalog(tools).search(question)]
    assert any(shown in words for reasons in why for words in reasons.values())


def test_the_word_itself_counts_more_than_what_it_may_mean() -> None:
    tools = [tool("create_issue"), tool("create_ticket"), tool("create_task"), tool("print_page")]
    assert found(tools, "create a ticket")[0] == "create_ticket"
    assert found([tool("make_deck"), tool("make_presentation"), tool("x")], "a deck")[0] == "make_deck"


def test_a_word_in_a_phrase_does_not_bring_what_the_word_alone_would() -> None:
    tools = [tool("get_file", "Get a file."), tool("delete_file", "Delete a file."), tool("get_user", "Get a user.")]
    assert found(tools, "get rid of the file")[0] == "delete_file"


def test_a_name_is_not_taken_for_the_word_it_looks_like() -> None:
    assert "invoice" not in english_of("call my friend Bill")
    assert "invoice" in english_of("call about the bill")


def certain(catalog: ToolCatalog, question: str) -> list[str]:
    """The tools that a search is sure of."""
    return [match.name for match in catalog.search(question) if getattr(match, "confident", True)]


TALK = [
    "the boss chucked his mug across the sofa",
    "my mates were on a trip to nowhere and nobody rang",
    "grandma scribbled a doodle on the lorry",
    "he ditched the wedding and bought a pram",
]


@pytest.mark.parametrize("talk", TALK)
def test_everyday_talk_is_no_more_certain_with_the_glossary_than_without(talk: str) -> None:
    tools = [
        tool("delete_page", "Delete a page."),
        tool("search_photos", "Search photos."),
        tool("start_call", "Start a phone call with a contact."),
        tool("assign_task", "Assign a task to a user."),
        *(tool(f"convert_unit_{number}", f"Convert unit {number}.") for number in range(200)),
    ]
    with_it, without = (ToolCatalog(tools, ranker="lexical", glossary=own) for own in (None, False))
    assert len(certain(with_it, talk)) <= len(certain(without, talk))


@pytest.mark.parametrize("question", ["shedule rcurring payent", "sennd invoce"])
def test_misspelled_english_is_not_taken_for_another_language(question: str) -> None:
    tools = [tool("schedule_recurring_payment"), tool("send_invoice"), tool("list_dogs")]
    unaided = ToolCatalog(tools, glossary=False)
    assert found(tools, question) == [match.name for match in unaided.search(question)]


def test_glossaries_can_be_switched_off() -> None:
    tools = [tool("create_presentation"), tool("list_dogs")]
    assert found(tools, "a deck about dogs please, a deck") != []
    assert certain(ToolCatalog(tools, glossary=False), "deck") == []
    assert ToolCatalog(tools, glossary=False).search("犬") == []


@given(st.text(min_size=1, max_size=80).filter(lambda text: visible(text).strip()))
def test_any_text_is_understood_somehow(text: str) -> None:
    heard = understand(text, lambda word: False)
    assert all(0 <= place < len(heard.words) for hit in heard.everyday for place in hit.places)
    ToolCatalog([tool("send_mail", "Send a mail.")]).search(text)


@given(st.lists(st.sampled_from([word for word, _ in glossary()]), min_size=1, max_size=6).map(" ".join))
def test_any_mix_of_entries_is_found_and_shown(text: str) -> None:
    catalog = ToolCatalog([tool("create_issue", "Create an issue."), tool("delete_page", "Delete a page.")])
    for match in catalog.search(text):
        assert match.why or match.by_meaning
