from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hikidashi.search import ToolCatalog
from hikidashi.search.engine.question import clauses_of


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
