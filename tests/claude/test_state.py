"""Objects of `claude` own their state: only their own methods assign to it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import hikidashi

CLAUDE = Path(hikidashi.__file__).parent / "claude"

# Values of other libraries, and dataclasses of the module itself that are not shared.
NOT_OURS = {"again", "call", "options", "self._run.usage", "self._usage", "self._used", "usage"}


def assigned(tree: ast.AST) -> Iterator[ast.expr]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                yield from target.elts if isinstance(target, ast.Tuple) else [target]
        elif isinstance(node, ast.AugAssign | ast.AnnAssign):
            yield node.target


def test_nobody_assigns_to_an_attribute_of_another_object() -> None:
    found = [
        f"{path.relative_to(CLAUDE)}:{target.lineno} assigns to {ast.unparse(target)}"
        for path in sorted(CLAUDE.rglob("*.py"))
        for target in assigned(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(target, ast.Attribute) and ast.unparse(target.value) not in {"self", *NOT_OURS}
    ]
    assert found == []
