"""Values of the wrong type, at every function that converts tools: an error that names the value and the remedy."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

import hikidashi
from hikidashi import Tool, ToolResult, ToolValidationError, call_anthropic, from_function, from_mcp, from_strands


async def call(_: dict[str, Any]) -> ToolResult:
    return ToolResult.of("sent")


TOOL = Tool(name="send_mail", description="Send a mail.", input_schema={"type": "object"}, call=call)

targets = pytest.mark.parametrize(
    "offer",
    [
        hikidashi.to_mcp,
        hikidashi.to_claude,
        hikidashi.to_strands,
        hikidashi.to_pydantic_ai,
        hikidashi.to_anthropic,
        partial(hikidashi.allowed_tools, "tools"),
    ],
)


@targets
@pytest.mark.parametrize(
    ("tools", "error"),
    [
        (None, r"Expected a list of tools, got a NoneType\. Pass `\[tool\]`\."),
        (5, "Expected a list of tools, got a int"),
        ("send_mail", "Expected a list of tools, got a str"),
        (TOOL, "Expected a list of tools, got one Tool"),
        ({"send_mail": TOOL}, "Expected a list of tools, got one dict"),
        ([None], r"Expected hikidashi tools, got a NoneType \(None\)\. Convert it first: `from_function`"),
        ([TOOL, "send_mail"], r"Expected hikidashi tools, got a str \('send_mail'\)"),
    ],
)
def test_what_is_not_a_list_of_tools_is_refused(offer: Callable[[Any], object], tools: object, error: str) -> None:
    with pytest.raises(ToolValidationError, match=error):
        offer(tools)


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({"description": None}, "`description` of tool 'a' is None: it must be text"),
        ({"call": None}, "`call` of tool 'a' is None: it must be an async function"),
        ({"aliases": "email"}, "`aliases` of tool 'a' is 'email': it must be a tuple of texts"),
        ({"aliases": 5}, "`aliases` of tool 'a' is 5"),
        ({"aliases": (5,)}, r"`aliases` of tool 'a' is \(5,\)"),
    ],
)
def test_a_tool_with_a_field_of_the_wrong_type_is_refused(given: dict[str, Any], error: str) -> None:
    fields: dict[str, Any] = {"name": "a", "description": "b", "input_schema": {"type": "object"}, "call": call}
    with pytest.raises(ToolValidationError, match=error):
        Tool(**fields | given)


@pytest.mark.parametrize(
    ("given", "error"),
    [({"name": 5}, "A tool needs a name, got 5"), ({"aliases": "email"}, "`aliases` is 'email': use a list of texts")],
)
def test_an_option_of_from_function_of_the_wrong_type_is_refused(given: dict[str, Any], error: str) -> None:
    def add(a: int, b: int) -> int:
        return a + b

    with pytest.raises(ToolValidationError, match=error):
        from_function(add, **given)


@pytest.mark.parametrize("given", [None, 5, "tool", print])
def test_from_strands_refuses_what_is_not_a_strands_tool(given: Any) -> None:
    with pytest.raises(ToolValidationError, match=r"Expected a strands tool, got a .*@strands\.tool"):
        from_strands(given)


@pytest.mark.parametrize("given", [None, 5, "http://127.0.0.1/mcp"])
async def test_from_mcp_refuses_what_is_not_a_session(given: Any) -> None:
    with pytest.raises(ToolValidationError, match=r"Expected a connected `mcp\.ClientSession` or .*, got a "):
        await from_mcp(given)


def test_from_pydantic_ai_names_the_item_that_is_not_a_tool() -> None:
    given: Any = [5]
    with pytest.raises(ToolValidationError, match="takes tools, functions, toolsets and agents, got 5 in a list"):
        hikidashi.from_pydantic_ai(given)[0]


@pytest.mark.parametrize("block", [None, {}, {"id": "1", "name": "send_mail"}])
async def test_call_anthropic_refuses_what_is_not_a_tool_use_block(block: Any) -> None:
    with pytest.raises(ToolValidationError, match="Expected a `tool_use` block with `id`, `name` and `input`, got "):
        await call_anthropic([TOOL], block)


@pytest.mark.parametrize("name", [None, 5])
def test_the_name_of_a_server_must_be_text(name: Any) -> None:
    with pytest.raises(ToolValidationError, match="The name of a server must be text, got "):
        hikidashi.to_claude([TOOL], name=name)
