"""The doors of the web tools and of the agents: complete, and light."""

from __future__ import annotations

import ast
import builtins
import collections.abc
import inspect
import subprocess
import sys
import typing
from collections.abc import Iterator
from types import ModuleType
from typing import Any, cast

import pytest

import hikidashi.agents
import hikidashi.errors
import hikidashi.web

DOORS = [hikidashi.web, hikidashi.agents]


@pytest.mark.parametrize("door", DOORS)
def test_every_public_name_is_there(door: ModuleType) -> None:
    assert dir(door) == sorted(door.__all__)
    for name in door.__all__:
        assert not isinstance(getattr(door, name), ModuleType), f"{name} is also the name of a module"


@pytest.mark.parametrize("door", DOORS)
def test_an_unknown_name_is_an_attribute_error(door: ModuleType) -> None:
    with pytest.raises(AttributeError, match=f"module '{door.__name__}' has no attribute 'nothing'"):
        _ = door.nothing


def test_opening_a_door_imports_no_framework() -> None:
    script = (
        "import sys, hikidashi.web, hikidashi.agents;"
        "from hikidashi.web import SearchResults, format_search, web_tools;"
        "known = {'anthropic', 'claude_agent_sdk', 'httpx', 'mcp', 'pydantic_ai', 'slack_bolt', 'strands', 'tavily'};"
        "print(sorted(known & set(sys.modules)))"
    )

    done = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True, timeout=60)

    assert done.stdout == "[]\n"


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
