"""The table in README.md is complete and true."""

from __future__ import annotations

from pathlib import Path

from tests.spec_table import clauses_named_by, table, written_tests

HERE = Path(__file__).parent

# How many clauses each section of the specification has.
SECTIONS = {"TOOL": 3, "SEARCH": 9, "EXTRACT": 15, "CONTEXT": 6, "LOG": 3, "TIME": 1, "ERROR": 1, "MCP": 4, "FR": 5}


def test_every_clause_of_the_specification_is_in_the_table() -> None:
    assert list(table(HERE)) == [f"{section}-{n}" for section, count in SECTIONS.items() for n in range(1, count + 1)]


def test_every_clause_names_tests_that_exist_and_carry_its_name() -> None:
    for clause, tests in table(HERE).items():
        assert tests, clause
        assert set(tests) <= written_tests(HERE), clause
        assert all(clause in clauses_named_by(test) for test in tests), clause


def test_every_test_is_in_the_table_under_each_clause_it_names() -> None:
    listed = table(HERE)
    for test in written_tests(HERE):
        assert all(test in listed[clause] for clause in clauses_named_by(test)), test
