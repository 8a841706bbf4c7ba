"""The door of the web tools is complete: what its signatures name can be imported."""

from __future__ import annotations

import ast
import builtins
import collections.abc
import inspect
import typing
from collections.abc import Iterator
from typing import Any, cast

import hikidashi.errors
import hikidashi.web

# Of other libraries, and the two parts of `LocalIndex` that `hikidashi.web.local` offers.
FOREIGN = {
    "Agent",
    "FunctionToolset",
    "IndexWriter",
    "KW_ONLY",
    "MCPServer",
    "Path",
    "RunContext",
    "SemanticRanker",
    "Tool",
    "ToolResult",
    "_schema_of",
    "date",
    "os",
    "ssl",
}


def annotations_of(thing: Any) -> Iterator[str]:
    """The annotations that a reader of the signatures of `thing` meets."""
    inside = cast("dict[str, Any]", vars(thing))
    if inspect.isclass(thing):
        for name, one in inside.items():
            function = getattr(one, "fget", getattr(one, "__func__", one))
            if inspect.isfunction(function) and (not name.startswith("_") or name == "__init__"):
                yield from annotations_of(function)
    written: dict[str, Any] = getattr(thing, "__annotations__", {})
    yield from (text for text in written.values() if isinstance(text, str))


def test_every_type_of_a_public_signature_is_public() -> None:
    known = {
        *dir(hikidashi.web),
        *hikidashi.errors.__all__,
        *vars(builtins),
        *vars(typing),
        *vars(collections.abc),
        *FOREIGN,
    }
    public = [getattr(hikidashi.web, name) for name in dir(hikidashi.web)]
    texts = [text for one in public if inspect.isclass(one) or inspect.isfunction(one) for text in annotations_of(one)]
    nodes = [node for text in texts for node in ast.walk(ast.parse(text, mode="eval"))]
    assert {node.id for node in nodes if isinstance(node, ast.Name)} - known == set()
