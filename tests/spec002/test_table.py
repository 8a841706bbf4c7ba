"""The table in README.md is complete and true."""

from __future__ import annotations

import ast
import re
from pathlib import Path

HERE = Path(__file__).parent

# How many clauses each section of the specification has.
SECTIONS = {"US1-": 4, "US2-": 5, "US3-": 3, "US4-": 4, "US5-": 3, "EDGE-": 9, "FR-": 13, "SC-": 9}


def clauses() -> list[str]:
    return [
        f"{section}{number:03}" if section in ("FR-", "SC-") else f"{section}{number}"
        for section, count in SECTIONS.items()
        for number in range(1, count + 1)
    ]


def table() -> dict[str, list[str]]:
    rows = re.findall(r"^\| (\S+-\d+) \|.*\| (.*) \|$", (HERE / "README.md").read_text(encoding="utf-8"), re.MULTILINE)
    return {clause: re.findall(r"`(test_\w+)`", tests) for clause, tests in rows}


def written_tests() -> list[str]:
    return [
        node.name
        for file in HERE.glob("test_*.py")
        for node in ast.parse(file.read_text(encoding="utf-8")).body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_")
    ]


def test_every_clause_of_the_specification_is_in_the_table() -> None:
    assert list(table()) == clauses()


def test_every_clause_names_tests_that_exist_and_carry_its_name() -> None:
    written = set(written_tests())
    for clause, tests in table().items():
        prefix = "test_edge_" if clause.startswith("EDGE-") else f"test_{clause.lower().replace('-', '_')}_"
        assert tests, clause
        assert set(tests) <= written, clause
        assert all(test.startswith(prefix) for test in tests), clause


def test_every_test_of_a_clause_is_in_the_table() -> None:
    listed = {test for tests in table().values() for test in tests}

    assert {test for test in written_tests() if re.match(r"test_(us\d|edge|fr|sc)_", test)} == listed
