"""The table in README.md is complete and true."""

from __future__ import annotations

import ast
import re
from pathlib import Path

HERE = Path(__file__).parent

# How many clauses each section of the specification has.
SECTIONS = {"TOOL": 3, "SEARCH": 9, "EXTRACT": 15, "CONTEXT": 6, "LOG": 3, "TIME": 1, "ERROR": 1, "MCP": 4, "FR": 5}


def table() -> dict[str, list[str]]:
    rows = re.findall(r"^\| (\S+-\d+) \|.*\| (.*) \|$", (HERE / "README.md").read_text(encoding="utf-8"), re.MULTILINE)
    return {clause: re.findall(r"`(test_\w+)`", tests) for clause, tests in rows}


def written_tests() -> set[str]:
    return {
        node.name
        for file in HERE.glob("test_*.py")
        if file.name != Path(__file__).name
        for node in ast.parse(file.read_text(encoding="utf-8")).body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_")
    }


def clauses_named_by(test: str) -> set[str]:
    """`test_mcp_1_to_4_x` names MCP-1 … MCP-4, `test_log_1_x` LOG-1."""
    named = re.match(r"test_([a-z]+)_(\d+)(?:_to_(\d+))?_", test)
    assert named is not None, test
    section, first, last = named.groups()
    return {f"{section.upper()}-{number}" for number in range(int(first), int(last or first) + 1)}


def test_every_clause_of_the_specification_is_in_the_table() -> None:
    assert list(table()) == [f"{section}-{n}" for section, count in SECTIONS.items() for n in range(1, count + 1)]


def test_every_clause_names_tests_that_exist_and_carry_its_name() -> None:
    for clause, tests in table().items():
        assert tests, clause
        assert set(tests) <= written_tests(), clause
        assert all(clause in clauses_named_by(test) for test in tests), clause


def test_every_test_is_in_the_table_under_each_clause_it_names() -> None:
    listed = table()
    for test in written_tests():
        assert all(test in listed[clause] for clause in clauses_named_by(test)), test
