"""Tools for the Anthropic Messages API."""

from __future__ import annotations

import base64
from typing import Any, cast

import pytest
from anthropic import Anthropic
from anthropic.types import ToolUseBlock

from hikidashi import Tool, ToolResult, ToolValidationError, Unsupported, from_function, to_anthropic
from hikidashi.convert.anthropic import call_anthropic
from hikidashi.testing import MessagesServer, call, say
from hikidashi.tool import audio, current_call_id, image, resource, text

PNG = bytes.fromhex("89504e470d0a1a0a")


def add(a: int, b: int = 1) -> int:
    """Add two numbers."""
    return a + b


ADD = from_function(add)


async def block_of(*blocks: Any, **fields: Any) -> dict[str, Any]:
    def give() -> ToolResult:
        return ToolResult(content=blocks, **fields)

    return await call_anthropic([from_function(give)], {"id": "toolu_1", "name": "give", "input": {}})


def test_a_definition_has_what_the_api_takes_and_nothing_else() -> None:
    assert to_anthropic([ADD, ADD.renamed("later").deferred()]) == [
        {"name": "add", "description": "Add two numbers.", "input_schema": ADD.input_schema},
        {"name": "later", "description": "Add two numbers.", "input_schema": ADD.input_schema, "defer_loading": True},
    ]


def test_no_description_is_left_out() -> None:
    (definition,) = to_anthropic([from_function(lambda: 1, name="one")])
    assert "description" not in definition


@pytest.mark.parametrize("name", ["検索", "a.b", "a b", "x" * 129])
def test_a_name_that_the_api_refuses_is_refused_here(name: str) -> None:
    with pytest.raises(ToolValidationError, match="refuses the tool name") as caught:
        to_anthropic([ADD.renamed(name)])
    assert caught.value.tool_name == name


def test_two_tools_with_one_name_and_schemas_without_an_object_are_refused() -> None:
    with pytest.raises(ToolValidationError, match="'add' and 'add'"):
        to_anthropic([ADD, ADD])
    odd = Tool(name="odd", description="", input_schema={"type": "array"}, call=ADD.call)
    with pytest.raises(Unsupported, match="The Anthropic API cannot express the input schema of tool 'odd'"):
        to_anthropic([odd])


async def test_the_block_of_the_client_is_answered() -> None:
    block = ToolUseBlock(type="tool_use", id="toolu_7", name="add", input={"a": 1})
    assert await call_anthropic([ADD], block) == {
        "type": "tool_result",
        "tool_use_id": "toolu_7",
        "content": [{"type": "text", "text": "2"}],
    }


async def test_content_has_anthropics_form() -> None:
    pdf, png = base64.b64encode(b"%PDF").decode(), base64.b64encode(PNG).decode()
    result = await block_of(
        text("words"),
        text(""),
        image(PNG, "image/png"),
        resource("file:///a.md", "# A"),
        resource("file:///a.pdf", b"%PDF", "application/pdf"),
        resource("file:///a.png", PNG, "image/png"),
        {"type": "resource_link", "uri": "https://example.com", "name": "home"},
    )
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": png}}
    assert result["content"] == [
        {"type": "text", "text": "words"},
        picture,
        {
            "type": "document",
            "source": {"type": "text", "media_type": "text/plain", "data": "# A"},
            "title": "file:///a.md",
        },
        {
            "type": "document",
            "source": {"type": "base64", "media_type": "application/pdf", "data": pdf},
            "title": "file:///a.pdf",
        },
        picture,
        {"type": "text", "text": "home: https://example.com"},
    ]


async def test_structured_content_alone_is_text() -> None:
    assert (await block_of(structured_content={"n": 1}))["content"] == [{"type": "text", "text": '{"n": 1}'}]


@pytest.mark.parametrize(
    ("block", "named"),
    [
        (audio(b"1", "audio/wav"), "audio/wav"),
        (image(b"1", "image/tiff"), "image/tiff"),
        (resource("a:b", b"1", "application/zip"), "application/zip"),
        (resource("a:b", b"1"), "application/octet-stream"),
    ],
    ids=["audio", "image", "file", "unknown"],
)
async def test_what_a_tool_result_cannot_hold_is_refused_by_name(block: Any, named: str) -> None:
    with pytest.raises(Unsupported, match=f"{named}.* in the result of 'give'"):
        await block_of(block)


async def test_failures_are_results_with_is_error(caplog: pytest.LogCaptureFixture) -> None:
    def fail() -> None:
        raise LookupError("mine")

    tools = [ADD, from_function(fail)]
    told = [await call_anthropic(tools, {"id": "toolu_1", "name": name, "input": {}}) for name in ("add", "fail", "ad")]
    assert [block["is_error"] for block in told] == [True, True, True]
    first, second, third = (block["content"][0]["text"] for block in told)
    assert "`a` is missing" in first
    assert second == "Tool 'fail' failed. LookupError: mine"
    assert third == "There is no tool 'ad'. Did you mean 'add'?"
    assert [record.message for record in caplog.records] == ["tool 'fail' failed"]


async def test_the_id_of_the_call_reaches_the_tool() -> None:
    def which() -> str | None:
        return current_call_id.get()

    result = await call_anthropic([from_function(which)], {"id": "toolu_9", "name": "which", "input": None})
    assert result["content"] == [{"type": "text", "text": "toolu_9"}]


async def test_a_conversation_of_the_real_client_runs_through() -> None:
    tools = [ADD]
    messages: list[Any] = [{"role": "user", "content": "1 + 2?"}]
    with (
        MessagesServer([call("add", {"a": 1, "b": 2}), say("Three.")]) as server,
        Anthropic(base_url=server.url, api_key="sk-test") as client,
    ):
        for _ in range(2):
            answer = client.messages.create(
                model="claude-opus-5-5", max_tokens=99, messages=messages, tools=cast("Any", to_anthropic(tools))
            )
            messages.append({"role": "assistant", "content": answer.content})
            calls = [block for block in answer.content if block.type == "tool_use"]
            messages.append({"role": "user", "content": [await call_anthropic(tools, block) for block in calls]})
    assert server.requests[1].tool_result_texts == ["3"]
    assert messages[-2]["content"][0].text == "Three."


async def test_an_error_with_an_image_says_that_it_is_one_since_the_api_takes_only_text_there() -> None:
    block = await block_of(text("no"), image(PNG, "image/png"), is_error=True)
    assert "is_error" not in block
    assert [content.get("text") for content in block["content"]] == ["This result is an error:", "no", None]
    assert (await block_of(text("no"), is_error=True))["is_error"]


def test_a_schema_that_the_api_would_refuse_is_rewritten_or_refused() -> None:
    node: dict[str, Any] = {"type": "object", "properties": {"a": {}}}
    rooted = Tool(name="t", description="", input_schema={"$ref": "#/$defs/N", "$defs": {"N": node}}, call=ADD.call)
    (definition,) = to_anthropic([rooted])
    assert definition["input_schema"] == {**node, "$defs": {"N": node}}
    union = Tool(name="t", description="", input_schema={"anyOf": [node, {"type": "object"}]}, call=ADD.call)
    with pytest.raises(
        Unsupported, match="The Anthropic API cannot express the input schema of tool 't', which has `any"
    ):
        to_anthropic([union])
