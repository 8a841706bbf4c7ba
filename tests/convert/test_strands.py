"""strands tools, in and out."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any, cast

import pytest
import strands
from hypothesis import given
from hypothesis import strategies as st
from strands import ToolContext
from strands.tools import InvalidToolUseNameException
from strands.tools.tools import validate_tool_use_name
from strands.types.events import ToolResultEvent
from strands.types.tools import AgentTool, ToolGenerator, ToolSpec, ToolUse

from hikidashi import (
    Tool,
    ToolAnnotations,
    ToolResult,
    ToolValidationError,
    Unsupported,
    from_function,
    from_strands,
    to_strands,
)
from hikidashi.testing import MessagesServer, call, say
from hikidashi.tool import audio, current_call_id, image, resource, text

strands_tool: Callable[..., Any] = cast("Any", strands).tool
PNG = bytes.fromhex("89504e470d0a1a0a")


def giving(result: ToolResult, **fields: Any) -> Tool:
    def give() -> ToolResult:
        return result

    return from_function(give, **fields)


async def streamed(tool: Tool) -> dict[str, Any]:
    (agent_tool,) = to_strands([tool])
    events = [event async for event in agent_tool.stream({"toolUseId": "1", "name": tool.name, "input": {}}, {})]
    assert [type(event) for event in events] == [ToolResultEvent]
    return cast("dict[str, Any]", events[0].tool_result)


@strands_tool
def greet(name: str, times: int = 1) -> str:
    """Greet somebody.

    Args:
        name: Who.
        times: How often.
    """
    return f"Hi {name}! " * times


async def test_a_decorated_function_becomes_a_tool() -> None:
    tool = from_strands(greet)
    assert (tool.name, tool.annotations, tool.output_schema) == ("greet", ToolAnnotations(), None)
    assert tool.description.startswith("Greet somebody.")
    assert tool.input_schema == greet.tool_spec["inputSchema"]["json"]
    assert await tool.call({"name": "Ada", "times": 2}) == ToolResult(content=(text("Hi Ada! Hi Ada! "),))


class Told(AgentTool):
    """A tool that says what it is told to say."""

    def __init__(self, *events: Any, **spec: Any) -> None:
        super().__init__()
        self.events = events
        self.spec = spec

    @property
    def tool_name(self) -> str:
        return "told"

    @property
    def tool_spec(self) -> ToolSpec:
        spec: Any = {"name": "told", "description": "", "inputSchema": {"type": "object"}, **self.spec}
        return spec

    @property
    def tool_type(self) -> str:
        return "test"

    async def stream(self, tool_use: ToolUse, invocation_state: dict[str, Any], **kwargs: Any) -> ToolGenerator:
        for event in self.events:
            yield event


def test_a_spec_keeps_its_output_schema_and_annotations() -> None:
    tool = from_strands(Told(outputSchema={"json": {"type": "object"}}, annotations={"readOnlyHint": True}))
    assert (tool.input_schema, tool.output_schema) == ({"type": "object"}, {"type": "object"})
    assert tool.annotations == ToolAnnotations(read_only=True)


async def test_every_kind_of_content_comes_in() -> None:
    content: list[Any] = [
        {"text": "words"},
        {"json": {"n": "東"}},
        {"image": {"format": "jpeg", "source": {"bytes": PNG}}},
        {"document": {"format": "pdf", "name": "a", "source": {"bytes": b"%PDF"}}},
    ]
    answer = {"toolUseId": "1", "status": "error", "content": content, "metadata": {"k": 1}}
    assert await from_strands(Told("progress", answer)).call({}) == ToolResult(
        content=(
            text("words"),
            text('{"n": "東"}'),
            image(PNG, "image/jpeg"),
            resource("document:a", b"%PDF", "application/pdf"),
        ),
        structured_content={"n": "東"},
        is_error=True,
        meta={"k": 1},
    )


async def test_structured_content_of_an_mcp_tool_comes_in() -> None:
    answer: dict[str, Any] = {"toolUseId": "1", "status": "success", "content": [], "structuredContent": {"n": 1}}
    assert (await from_strands(Told(answer)).call({})).structured_content == {"n": 1}


async def test_of_two_objects_none_is_the_structured_content() -> None:
    answer: dict[str, Any] = {"status": "success", "content": [{"json": {"n": 1}}, {"json": {"m": 2}}]}
    result = await from_strands(Told(answer)).call({})
    assert (result.structured_content, result.text) == (None, '{"n": 1}\n{"m": 2}')


@pytest.mark.parametrize("events", [(), ("only progress",), ({"tool_interrupt_event": {}},)])
async def test_a_tool_that_ends_without_a_result_is_refused(events: tuple[Any, ...]) -> None:
    with pytest.raises(Unsupported, match="'told', which ended without a result"):
        await from_strands(Told(*events)).call({})


async def test_content_that_has_no_block_is_refused() -> None:
    answer: dict[str, Any] = {"status": "success", "content": [{"video": {}}]}
    with pytest.raises(Unsupported, match="'video'"):
        await from_strands(Told(answer)).call({})


@strands_tool(context=True)
def who_asks(tool_context: ToolContext) -> str:
    """Say who asks."""
    return f"{tool_context.agent} {tool_context.tool_use['toolUseId']}"


async def test_a_tool_with_context_wants_an_agent_and_gets_the_id_of_the_call() -> None:
    with pytest.raises(Unsupported, match=r"'who_asks', which takes the agent.*invocation_state="):
        await from_strands(who_asks).call({})
    tool = from_strands(who_asks, invocation_state={"agent": "Ada"})
    token = current_call_id.set("call_7")
    try:
        assert (await tool.call({})).text == "Ada call_7"
    finally:
        current_call_id.reset(token)


@strands_tool
async def count() -> AsyncIterator[str]:
    """Count."""
    yield "one"
    yield "two"


@strands_tool
def fail() -> str:
    """Fail."""
    raise KeyError("agents")


async def test_a_streaming_tool_answers_with_its_last_word() -> None:
    assert (await from_strands(count).call({})).text == "two"


async def test_what_a_strands_tool_raises_is_an_error_result() -> None:
    assert await from_strands(fail).call({}) == ToolResult.error("Error: KeyError - 'agents'")


async def test_a_spec_goes_out_whole() -> None:
    tool = giving(ToolResult(), annotations=ToolAnnotations(title="Give", read_only=True))
    full = Tool(
        name="full",
        description="All of it.",
        input_schema=tool.input_schema,
        output_schema={"type": "object"},
        annotations=tool.annotations,
        call=tool.call,
    )
    (agent_tool,) = to_strands([full])
    assert (agent_tool.tool_name, agent_tool.tool_type) == ("full", "python")
    assert agent_tool.tool_spec == {
        "name": "full",
        "description": "All of it.",
        "inputSchema": {"json": tool.input_schema},
        "outputSchema": {"json": {"type": "object"}},
        "annotations": {"title": "Give", "readOnlyHint": True},
    }


async def test_every_kind_of_content_goes_out() -> None:
    blocks = (
        text("words"),
        image(PNG, "image/webp"),
        resource("a:b", "text"),
        resource("a:c", b"%PDF", "application/pdf"),
        resource("a:d", PNG, "image/png"),
    )
    link: Any = {"type": "resource_link", "uri": "a:e", "name": "n"}
    result = ToolResult(content=(*blocks, link), structured_content={"n": 1}, meta={"k": 1}, is_error=True)
    assert await streamed(giving(result)) == {
        "toolUseId": "1",
        "status": "error",
        "content": [
            {"text": "words"},
            {"image": {"format": "webp", "source": {"bytes": PNG}}},
            {"text": "text"},
            {"document": {"format": "pdf", "name": "document-4", "source": {"bytes": b"%PDF"}}},
            {"image": {"format": "png", "source": {"bytes": PNG}}},
            {"text": "n: a:e"},
        ],
        "structuredContent": {"n": 1},
        "metadata": {"k": 1},
    }


@pytest.mark.parametrize(
    ("block", "named"),
    [(audio(b"1", "audio/wav"), "audio/wav"), (resource("a:b", b"1"), "a blob without a type")],
    ids=["audio", "blob"],
)
async def test_what_strands_cannot_hold_is_refused_by_name(block: Any, named: str) -> None:
    with pytest.raises(Unsupported, match=f"{named} in the result of 'give'"):
        await streamed(giving(ToolResult(content=(block,))))


def test_two_tools_with_one_name_are_refused() -> None:
    with pytest.raises(ToolValidationError, match="'give' and 'give'"):
        to_strands([giving(ToolResult()), giving(ToolResult())])


async def test_a_strands_agent_uses_the_tools() -> None:
    from strands.models.anthropic import AnthropicModel

    def add(a: int, b: int) -> int:
        """Add."""
        return a + b

    def explode() -> None:
        """Fail."""
        raise LookupError("mine")

    with MessagesServer([call("add", {"a": 1, "b": 2}), call("explode", {}), say("Three.")]) as server:
        model = AnthropicModel(
            client_args={"base_url": server.url, "api_key": "sk-test"}, model_id="claude-opus-5-5", max_tokens=99
        )
        tools: list[Any] = to_strands([from_function(add), from_function(explode)])
        answer = await strands.Agent(model=model, tools=tools, callback_handler=None).invoke_async("1 + 2?")
        await model.client.close()
        told = [request.tool_results[-1] for request in server.requests[1:]]
    assert str(answer).strip() == "Three."
    assert told[0]["content"] == [{"type": "text", "text": "3"}]
    assert told[1]["is_error"]
    assert "mine" in told[1]["content"][0]["text"]


@pytest.mark.parametrize("name", ["a.b", "日本語", "a b", "a\n", "n" * 65, "x/y"])
def test_a_name_that_strands_could_not_call_is_refused(name: str) -> None:
    with pytest.raises(ToolValidationError, match="strands cannot call a tool named"):
        to_strands([Tool(name=name, description="", input_schema={"type": "object"}, call=unused)])


def test_names_that_strands_takes_for_one_are_refused() -> None:
    twins = [Tool(name=name, description="", input_schema={}, call=unused) for name in ("a-b", "a_b")]
    with pytest.raises(ToolValidationError, match="'a-b' and 'a_b'"):
        to_strands(twins)


@given(st.text(max_size=70))
def test_names_are_refused_exactly_where_strands_refuses_the_call(name: str) -> None:
    try:
        (tool,) = to_strands([Tool(name=name, description="", input_schema={}, call=unused)])
    except ToolValidationError:
        if not name.endswith("\n"):  # which strands overlooks, and no model API does
            with pytest.raises(InvalidToolUseNameException):
                validate_tool_use_name({"toolUseId": "1", "name": name, "input": {}})
        return
    validate_tool_use_name({"toolUseId": "1", "name": tool.tool_name, "input": {}})


async def unused(_: dict[str, Any]) -> Any: ...
