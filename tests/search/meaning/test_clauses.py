from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hikidashi.search.engine.meaning._clauses import clauses_of


@pytest.mark.parametrize(
    ("question", "clauses"),
    [
        ("find a hotel in Kyoto and tell Ann about it", ["find a hotel in Kyoto", "tell Ann about it"]),
        ("What is the weather? Then book a table.", ["What is the weather?", "Then book a table"]),
        ("cancel the order; refund the customer now", ["cancel the order", "refund the customer now"]),
        ("list my open invoices", []),
        ("bread and butter", []),
    ],
)
def test_each_wish_of_a_question_is_a_clause(question: str, clauses: list[str]) -> None:
    assert clauses_of(question) == clauses


@given(st.text())
def test_clauses_are_few_and_parts_of_the_question(question: str) -> None:
    clauses = clauses_of(question)
    assert len(clauses) <= 5
    assert all(clause in question for clause in clauses)
