"""The table in README.md is complete and true."""

from __future__ import annotations

from pathlib import Path

from tests.spec_table import clauses_named_by, table, written_tests

HERE = Path(__file__).parent

# How many clauses each section of the specification has.
SECTIONS = {
    "DEC": 15,
    "CONF": 1,
    "CTX": 2,
    "FACT": 2,
    "TOOL": 1,
    "FLOW": 5,
    "CALL": 1,
    "RESP": 1,
    "FORMAT": 1,
    "ERR": 3,
    "ITEM": 10,
    "MANUAL": 4,
}

# One story for all four steps, so its name is that of the story.
MANUAL = "test_a_search_that_is_asked_for_in_slack_is_answered_in_the_thread_and_logged"


def clauses_of(test: str) -> set[str]:
    return {f"MANUAL-{number}" for number in range(1, 5)} if test == MANUAL else clauses_named_by(test)


def test_every_clause_of_the_specification_is_in_the_table() -> None:
    assert list(table(HERE)) == [f"{section}-{n}" for section, count in SECTIONS.items() for n in range(1, count + 1)]


def test_every_clause_names_tests_that_exist_and_carry_its_name() -> None:
    for clause, tests in table(HERE).items():
        assert tests, clause
        assert set(tests) <= written_tests(HERE), clause
        assert all(clause in clauses_of(test) for test in tests), clause


def test_every_test_is_in_the_table_under_each_clause_it_names() -> None:
    listed = table(HERE)
    for test in written_tests(HERE):
        assert all(test in listed[clause] for clause in clauses_of(test)), test
