"""The tree of errors: drawn as it is, and one door to it."""

from __future__ import annotations

import re
from typing import Any

import pytest

from hikidashi import errors

ERRORS: dict[str, type[Any]] = {name: getattr(errors, name) for name in errors.__all__}
DRAWN = re.compile(r"^(?P<margin>[ │├└─]*)(?P<name>[A-Z]\w+)(?: \((?P<builtin>\w+)\))?(?: {2,}|$)")


def test_the_tree_in_the_docstring_is_the_tree() -> None:
    drawn: dict[str, tuple[str, ...]] = {}
    branch: list[str] = []
    for line in (errors.__doc__ or "").splitlines()[2:]:
        if found := DRAWN.match(line):
            branch[len(found["margin"]) // 4 - 1 :] = [found["name"]]
            parent = branch[-2] if len(branch) > 1 else "Exception"
            drawn[found["name"]] = (parent, found["builtin"]) if found["builtin"] else (parent,)
    assert drawn == {
        name: tuple(base.__name__ for base in kind.__bases__)
        for name, kind in ERRORS.items()
        if issubclass(kind, Exception)
    }


@pytest.mark.parametrize("kind", ERRORS.values())
def test_a_traceback_names_the_door_and_not_the_file_behind_it(kind: type[Any]) -> None:
    assert kind.__module__ == "hikidashi.errors"
