"""The table of a specification's clauses and their tests: read, and compared with the tests that are written."""

from __future__ import annotations

import ast
import re
from pathlib import Path

__all__ = ["clauses_named_by", "table", "written_tests"]


def table(folder: Path) -> dict[str, list[str]]:
    """Each clause in the README of `folder`, and the tests named beside it."""
    text = (folder / "README.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\S+-\d+) \|.*\| (.*) \|$", text, re.MULTILINE)
    return {clause: re.findall(r"`(test_\w+)`", tests) for clause, tests in rows}


def written_tests(folder: Path) -> set[str]:
    """The tests in `folder`, but for those of the table itself."""
    return {
        node.name
        for file in folder.glob("test_*.py")
        if file.name != "test_table.py"
        for node in ast.parse(file.read_text(encoding="utf-8")).body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_")
    }


def clauses_named_by(test: str) -> set[str]:
    """`test_flow_1_to_6_x` names FLOW-1 … FLOW-6, `test_fit_3_and_5_x` FIT-3 and FIT-5, `test_tip_1_x` TIP-1."""
    named = re.match(r"test_([a-z]+)_(\d+)(?:_(to|and)_(\d+))?_", test)
    assert named is not None, test
    section, first, word, last = named.groups()
    numbers = range(int(first), int(last) + 1) if word == "to" else [int(first), int(last or first)]
    return {f"{section.upper()}-{number}" for number in numbers}
