"""A result with structured content and text: the model sees each thing once, and nothing is lost."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp.client import Client
from mcp.server.mcpserver import MCPServer
from pydantic import BaseModel
from pydantic_ai import Agent
from pydantic_ai.messages import ToolReturnPart
from pydantic_ai.models.test import TestModel

from hikidashi import ToolResult, from_mcp, to_pydantic_ai
from hikidashi.convert.pydantic_ai import from_result
from hikidashi.tool import image, resource, text

LINES = "one line\n" * 1_200
PICTURE = image(b"\x89PNG", "image/png")


class Weather(BaseModel):
    """What it is like."""

    city: str
    degrees: float
    wind: int | None = None


server = MCPServer("weather")


@server.tool()
def number() -> int:
    """A number."""
    return 3


@server.tool()
def yes() -> bool:
    """A truth."""
    return True


@server.tool()
def lines() -> str:
    """Many lines."""
    return LINES


@server.tool()
def cities() -> list[str]:
    """Some cities."""
    return ["Roma", "3", "東京"]


@server.tool()
def days() -> list[Weather]:
    """Some days."""
    return [Weather(city="Roma", degrees=20), Weather(city="東京", degrees=30.5)]


@server.tool()
def weather() -> Weather:
    """The weather."""
    return Weather(city="東京", degrees=30.5)


ROMA = {"city": "Roma", "degrees": 20.0, "wind": None}
TOKYO = {"city": "東京", "degrees": 30.5, "wind": None}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("number", 3),
        ("yes", True),
        ("lines", LINES),
        ("cities", ["Roma", "3", "東京"]),
        ("days", [ROMA, TOKYO]),
        ("weather", TOKYO),
    ],
)
async def test_what_an_mcp_server_answers_reaches_a_model_of_pydantic_ai_once(name: str, expected: Any) -> None:
    async with Client(server) as client:
        agent = Agent(TestModel(call_tools=[name]), toolsets=[to_pydantic_ai(await from_mcp(client))])
        run = await agent.run("Go.")
    parts = [part for message in run.all_messages() for part in message.parts if isinstance(part, ToolReturnPart)]
    assert [part.content for part in parts] == [expected]


def shown(structured: Any, *content: Any) -> Any:
    return from_result(ToolResult(content=content, structured_content=structured))


SHOWN: list[tuple[Any, list[Any], Any]] = [
    ({"n": 1}, [text('{"n": 1}')], {"n": 1}),
    ({"n": 1, "wind": None}, [text('{"n": 1}')], {"n": 1, "wind": None}),
    ({"result": None}, [text("None")], None),
    ({"result": {"result": 3}}, [text('{"result": 3}')], {"result": 3}),
    ({"result": 3, "unit": "m"}, [text("3")], [{"result": 3, "unit": "m"}, "3"]),
    ({"result": True}, [text("1")], [{"result": True}, "1"]),
    ({"title": "Rain", "days": [1]}, [text("Rain")], {"title": "Rain", "days": [1]}),
    ({"items": [{"a": 1}, {"a": 2}]}, [text('{"a": 1}'), text('{"a": 2}')], {"items": [{"a": 1}, {"a": 2}]}),
    ({"result": ["a", "b"]}, [text("a"), text("b")], ["a", "b"]),
    (["a", "b"], [text("a"), text("b")], ["a", "b"]),
    ({"result": ["a", "b"]}, [text("b"), text("c")], [{"result": ["a", "b"]}, "c"]),
    ({"n": 1}, [text('{"n": 1, "more": 2}')], '{"n": 1, "more": 2}'),
    ({"n": 1}, [text('Here it is:\n{"n":1}\nDone.')], 'Here it is:\n{"n":1}\nDone.'),
    (
        {"result": "a long enough sentence"},
        [text("It says: a long enough sentence")],
        "It says: a long enough sentence",
    ),
    ({"result": "a"}, [text("It says a.")], [{"result": "a"}, "It says a."]),
    ({"n": 1}, [text("One.")], [{"n": 1}, "One."]),
    ({}, [text("Done.")], "Done."),
    ({}, [], {}),
    ({"n": 1}, [text("")], {"n": 1}),
    ({"n": 1}, [text("{}")], [{"n": 1}, "{}"]),
    ({"body": "words"}, [resource("a:b", "words", "text/plain")], {"body": "words"}),
]


@pytest.mark.parametrize(("structured", "content", "expected"), SHOWN)
def test_text_is_left_out_where_structured_content_has_it_and_the_other_way_round(
    structured: Any, content: list[Any], expected: Any
) -> None:
    assert shown(structured, *content) == expected
    assert type(shown(structured, *content)) is type(expected)


def test_images_stay_beside_structured_content() -> None:
    value, picture = shown({"n": 1}, text('{"n":1}'), PICTURE)
    assert (value, picture.data) == ({"n": 1}, b"\x89PNG")


json_values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=10,
)
objects = st.dictionaries(st.text(), json_values, min_size=1, max_size=4)


@given(objects, st.sampled_from([None, 2, 4]), st.booleans())
def test_json_text_of_the_structured_content_is_never_shown_beside_it(
    structured: dict[str, Any], indent: int | None, ensure_ascii: bool
) -> None:
    written = json.dumps(structured, indent=indent, ensure_ascii=ensure_ascii)
    assert shown(structured, text(written)) == structured


@given(
    st.dictionaries(st.text(), st.integers() | st.lists(st.integers()), min_size=1, max_size=4),
    st.lists(st.text("abc é字\n", min_size=1), min_size=1, max_size=4),
)
def test_text_that_structured_content_does_not_say_is_always_shown(
    structured: dict[str, Any], texts: list[str]
) -> None:
    assert shown(structured, *map(text, texts)) == [structured, *texts]
