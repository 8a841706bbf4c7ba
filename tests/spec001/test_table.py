"""The table in README.md is complete and true."""

from __future__ import annotations

import ast
import re
from pathlib import Path

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
    """`test_flow_2_to_5_x` names FLOW-2 … FLOW-5, `test_dec_7_and_9_x` DEC-7 and DEC-9, `test_tool_1_x` TOOL-1."""
    if test == MANUAL:
        return {f"MANUAL-{number}" for number in range(1, 5)}
    named = re.match(r"test_([a-z]+)_(\d+)(?:_(to|and)_(\d+))?_", test)
    assert named is not None, test
    section, first, word, last = named.groups()
    numbers = range(int(first), int(last) + 1) if word == "to" else [int(first), int(last or first)]
    return {f"{section.upper()}-{number}" for number in numbers}


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
