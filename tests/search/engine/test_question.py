"""How a question is read: its clauses, literal values, corrected spellings, and what an encoder reads of it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hikidashi.search import ToolCatalog
from hikidashi.search.engine.analyzer import Analyzer
from hikidashi.search.engine.index import Index, Vocabulary
from hikidashi.search.engine.question import Question, clauses_of, read_question


@pytest.mark.parametrize(
    ("question", "clauses"),
    [
        ("find a hotel in Kyoto and tell Ann about it", ["find a hotel in Kyoto", "tell Ann about it"]),
        ("What is the weather? Then book a table.", ["What is the weather?", "Then book a table"]),
        ("cancel the order; refund the customer now", ["cancel the order", "refund the customer now"]),
        ("list my open invoices", []),
        ("bread and butter", []),
        ("会議室を予約して、山田さんにメールを送って", ["会議室を予約して", "山田さんにメールを送って"]),
        ("添加日程，然后查询发票", ["添加日程", "查询发票"]),
    ],
)
def test_each_wish_of_a_question_is_a_clause(question: str, clauses: list[str]) -> None:
    assert clauses_of(question) == clauses


@given(st.text())
def test_clauses_are_few_and_parts_of_the_question(question: str) -> None:
    clauses = clauses_of(question)
    assert len(clauses) <= 5
    assert all(clause in question for clause in clauses)


def test_of_two_wishes_the_one_that_is_put_less_clearly_finds_its_tool_too() -> None:
    clear = {"lodging": 0.9, "stay": 0.85, "inn": 0.8, "suite": 0.75, "resort": 0.71, "hostel": 0.65}
    rest = [f"axis {name}" for name in [*clear, "memo"]]

    def vector(text: str) -> list[float]:
        name = text.partition(".")[0]
        if name in clear:
            near = (clear[name], 0.0)
        elif name == "memo":
            near = (0.0, 0.55)
        else:  # the second clause, or the first one and the question as a whole
            return [0.0, 1.0] + [0.0] * len(rest) if text.startswith("jot") else [1.0, 0.0] + [0.0] * len(rest)
        own = (1 - sum(one * one for one in near)) ** 0.5
        return [*near, *(own if one == f"axis {name}" else 0.0 for one in rest)]

    catalog = ToolCatalog(
        [{"name": name, "description": ""} for name in [*clear, "memo"]],
        embed=lambda texts: [vector(text) for text in texts],
    )
    catalog.ready()
    found = [match.name for match in catalog.search("reserve rooms in kyoto and jot that down briefly", limit=5)]
    assert found == ["lodging", "stay", "inn", "suite", "memo"]
    catalog.remove("lodging")  # and then raises nothing any more
    found = [match.name for match in catalog.search("reserve rooms in kyoto and jot that down briefly", limit=4)]
    assert found == ["stay", "inn", "suite", "resort"]


def question(text: str, *tools: str, **options: Any) -> Question:
    index = Index()
    analyzer = Analyzer()
    index.extend([(50, analyzer.terms(tool))] for tool in tools)
    return read_question(text, Vocabulary(index, analyzer), **options)


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("sned the invoce", "send the invoice"),
        ("mail ann@example.com the file", "mail address the file"),
        ("open https://example.com/a/b now", "open link now"),
        ("ann@example.com", "ann@example.com"),
    ],
)
def test_an_encoder_reads_the_question_spelled_right_and_without_literal_values(text: str, read: str) -> None:
    assert question(text, "send_invoice", "mail_file", "open_page").text == read


def test_a_word_that_exists_is_no_misspelling_of_another() -> None:
    assert question("that makes sense", "send_mail").weights.keys() == {"send"}
    assert question("that makes sense", "send_mail", is_word="sense".__eq__).weights == {}


def test_names_and_numbers_are_values_that_no_tool_needs() -> None:
    asked = question("contact Tanaka about INV-2031", "get_contact")
    assert (list(asked.weights), asked.missing) == (["contact"], [])
    assert question("contact tanaka", "get_contact").missing == ["tanaka"]


def test_the_ideal_is_what_a_tool_with_every_word_in_its_name_would_get() -> None:
    index = Index()
    analyzer = Analyzer()
    index.extend([(50, analyzer.terms(tool))] for tool in ("send_mail", "read_file", "list_rooms"))
    for text in ("send mail", "send the mail please", "sned mail"):
        asked = read_question(text, Vocabulary(index, analyzer))
        (_, best), *_ = index.top(asked.weights, 5)
        assert best == pytest.approx(asked.ideal(index), rel=0.1)
    assert read_question("send mail xyzzy", Vocabulary(index, analyzer)).ideal(index) > 1.5 * best


@given(st.text())
def test_any_text_can_be_read(text: str) -> None:
    asked = question(text, "send_mail", "メールを送る")
    assert asked.weights.keys() == asked.sources.keys()
    assert all(0 < weight <= 1 for weight in asked.weights.values())
