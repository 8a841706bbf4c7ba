"""What the tests promise in AGENTS.md: no fixed waits, nothing skipped on Linux, no mocks."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

TESTS = Path(__file__).parent
FILES = sorted(TESTS.rglob("*.py"))


def fixed_waits(path: Path) -> Iterator[str]:
    """Each call of `sleep` in a test or fixture that no loop repeats until a condition holds."""

    def visit(node: ast.AST, function: str, loops: bool) -> Iterator[str]:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            function, loops = node.name, False
        loops = loops or isinstance(node, ast.While)
        if isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] == "sleep":
            waits = ast.unparse(node.args[0]) if node.args else ""
            if function.startswith("test_") and waits != "0" and not loops:
                yield f"{path.relative_to(TESTS)}:{node.lineno}: sleep({waits})"
        for child in ast.iter_child_nodes(node):
            yield from visit(child, function, loops)

    return visit(ast.parse(path.read_text(encoding="utf-8")), "", False)


def test_a_test_waits_for_a_condition_and_never_for_a_fixed_time() -> None:
    assert [wait for path in FILES for wait in fixed_waits(path)] == []


def test_nothing_is_skipped_on_linux_and_nothing_is_expected_to_fail() -> None:
    skipped = re.compile(r"^.*(?:pytest\.(?:skip|xfail|importorskip)\(|mark\.(?:skip|xfail)\w*).*$", re.MULTILINE)
    found = [line for path in FILES if path != Path(__file__) for line in skipped.findall(path.read_text("utf-8"))]
    assert [line for line in found if 'skipif(sys.platform == "win32"' not in line] == []


def test_what_runs_here_is_not_mocked() -> None:
    mocks = re.compile(r"\b(?:Magic|Async)Mock\b|\bmocker\b")
    assert [path.name for path in FILES if path != Path(__file__) and mocks.search(path.read_text("utf-8"))] == []
