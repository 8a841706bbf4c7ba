"""Every source against every target, each through the framework's own client, in memory.

What must survive: schema, description, annotations, arguments, images, structured content, errors and
cancellation. `TARGETS` says what a target has no place for.
"""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any, cast

import anyio
import pytest
import strands
from mcp import types
from mcp.client import Client
from pydantic_ai import (
    Agent,
    BinaryContent,
    BinaryImage,
    FunctionToolset,
    ModelMessage,
    ModelResponse,
    ModelRetry,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
)
from pydantic_ai import Tool as PydanticTool
from pydantic_ai.mcp import MCPToolset
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.toolsets import CombinedToolset
from strands.types.events import ToolResultEvent
from typing_extensions import TypedDict

from hikidashi import (
    Tool,
    ToolAnnotations,
    ToolResult,
    Unsupported,
    from_function,
    from_mcp,
    from_pydantic_ai,
    from_strands,
    to_anthropic,
    to_claude,
    to_mcp,
    to_pydantic_ai,
    to_strands,
)
from hikidashi.convert.anthropic import call_anthropic
from hikidashi.tool import audio, image

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
WAV = b"RIFF----WAVE"
WEATHER = {"city": "東京", "degrees": 21, "wind": None}
READ_ONLY = {"readOnlyHint": True, "title": "Greeter"}


strands_tool: Callable[..., Any] = cast("Any", strands).tool


class Weather(TypedDict):
    city: str
    degrees: int
    wind: str | None


class Probe:
    """The five tools behind every source, and the means to see what became of a call."""

    def __init__(self) -> None:
        self.started = asyncio.Event()
        self.cancelled = asyncio.Event()

    def greet(self, name: str, times: int = 2) -> str:
        """Greet somebody.

        Args:
            name: Whom to greet.
            times: How often.
        """
        return f"こんにちは {name} " * times

    def report(self) -> Weather:
        """Tell the weather."""
        return Weather(city="東京", degrees=21, wind=None)

    async def wait(self) -> str:
        """Wait for good."""
        self.started.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.cancelled.set()
            raise
        return "never"


class Neutral(Probe):
    def picture(self) -> ToolResult:
        """Draw."""
        return ToolResult(content=(image(PNG, "image/png"),))

    def sing(self) -> ToolResult:
        """Sing."""
        return ToolResult(content=(audio(WAV, "audio/wav"),))

    def refuse(self) -> ToolResult:
        """Say no."""
        return ToolResult.error("Ask for something else.")

    def tools(self) -> list[Tool]:
        hints = ToolAnnotations(read_only=True, title="Greeter")
        plain = (self.report, self.wait, self.picture, self.sing, self.refuse)
        return [from_function(self.greet, annotations=hints), *map(from_function, plain)]


class Pydantic(Probe):
    def picture(self) -> BinaryImage:
        """Draw."""
        return BinaryImage(PNG, media_type="image/png")

    def sing(self) -> BinaryContent:
        """Sing."""
        return BinaryContent(WAV, media_type="audio/wav")

    def refuse(self) -> str:
        """Say no."""
        raise ModelRetry("Ask for something else.")

    def tools(self) -> list[PydanticTool[Any]]:
        plain = (self.report, self.wait, self.picture, self.sing, self.refuse)
        return [PydanticTool(self.greet, metadata={"annotations": READ_ONLY}), *map(PydanticTool[Any], plain)]


class Strands(Probe):
    def picture(self) -> dict[str, Any]:
        """Draw."""
        return {"status": "success", "content": [{"image": {"format": "png", "source": {"bytes": PNG}}}]}

    def refuse(self) -> dict[str, Any]:
        """Say no."""
        return {"status": "error", "content": [{"text": "Ask for something else."}]}

    def structured_report(self) -> dict[str, Any]:
        """Tell the weather."""
        return {"status": "success", "content": [{"json": WEATHER}]}

    def tools(self) -> list[Tool]:
        report = strands_tool(name="report")(self.structured_report)
        return [from_strands(strands_tool(tool)) for tool in (self.greet, self.wait, self.picture, self.refuse)] + [
            from_strands(report)
        ]


Opened = AbstractAsyncContextManager[tuple[Probe, Iterable[Tool]]]


@asynccontextmanager
async def functions() -> AsyncGenerator[tuple[Probe, Iterable[Tool]]]:
    probe = Neutral()
    yield probe, probe.tools()


@asynccontextmanager
async def pydantic_tools() -> AsyncGenerator[tuple[Probe, Iterable[Tool]]]:
    probe = Pydantic()
    yield probe, [from_pydantic_ai(tool) for tool in probe.tools()]


@asynccontextmanager
async def function_toolset() -> AsyncGenerator[tuple[Probe, Iterable[Tool]]]:
    probe = Pydantic()
    yield probe, from_pydantic_ai(FunctionToolset(probe.tools()))


@asynccontextmanager
async def prefixed_toolset() -> AsyncGenerator[tuple[Probe, Iterable[Tool]]]:
    probe = Pydantic()
    yield probe, await from_pydantic_ai(FunctionToolset(probe.tools()).prefixed("my"))


@asynccontextmanager
async def filtered_toolset() -> AsyncGenerator[tuple[Probe, Iterable[Tool]]]:
    probe = Pydantic()
    toolset = FunctionToolset[Any]([*probe.tools(), PydanticTool(lambda: "no", name="unwanted")])
    tools = await from_pydantic_ai(toolset.filtered(lambda _, tool: tool.name != "unwanted"))
    assert "unwanted" not in [tool.name for tool in tools]
    yield probe, tools


@asynccontextmanager
async def combined_toolset() -> AsyncGenerator[tuple[Probe, Iterable[Tool]]]:
    probe = Pydantic()
    first, *rest = probe.tools()
    yield probe, await from_pydantic_ai(CombinedToolset([FunctionToolset([first]), FunctionToolset(rest)]))


@asynccontextmanager
async def agent() -> AsyncGenerator[tuple[Probe, Iterable[Tool]]]:
    probe = Pydantic()
    yield probe, await from_pydantic_ai(Agent("test", tools=probe.tools()))


@asynccontextmanager
async def mcp_toolset() -> AsyncGenerator[tuple[Probe, Iterable[Tool]]]:
    probe = Neutral()
    async with from_pydantic_ai(MCPToolset(to_mcp(probe.tools()))) as tools:
        yield probe, tools


@asynccontextmanager
async def mcp_session() -> AsyncGenerator[tuple[Probe, Iterable[Tool]]]:
    probe = Neutral()
    async with Client(to_mcp(probe.tools()), mode="legacy") as client:
        yield probe, await from_mcp(client.session)


@asynccontextmanager
async def mcp_client() -> AsyncGenerator[tuple[Probe, Iterable[Tool]]]:
    probe = Neutral()
    async with Client(to_mcp(probe.tools())) as client:
        yield probe, await from_mcp(client)


@asynccontextmanager
async def strands_tools() -> AsyncGenerator[tuple[Probe, Iterable[Tool]]]:
    probe = Strands()
    yield probe, probe.tools()


@dataclass
class Seen:
    """What the framework on the other side got."""

    name: str = ""
    description: str = ""
    schema: dict[str, Any] = field(default_factory=dict[str, Any])
    annotations: dict[str, Any] = field(default_factory=dict[str, Any])
    text: str = ""
    images: list[bytes] = field(default_factory=list[bytes])
    sounds: list[bytes] = field(default_factory=list[bytes])
    structured: Any = None
    is_error: bool = False


async def in_pydantic_ai(tool: Tool, arguments: dict[str, Any]) -> Seen:
    seen = Seen()

    def model(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        (definition,) = info.function_tools
        seen.name, seen.description = definition.name, definition.description or ""
        seen.schema = definition.parameters_json_schema
        seen.annotations = (definition.metadata or {}).get("annotations", {})
        asked = any(isinstance(message, ModelResponse) for message in messages)
        return ModelResponse([TextPart("done")] if asked else [ToolCallPart(definition.name, arguments)])

    run = await Agent(FunctionModel(model), toolsets=[to_pydantic_ai([tool])]).run("go")
    (part,) = (part for message in run.all_messages() for part in message.parts if isinstance(part, ToolReturnPart))
    seen.text = part.model_response_str(wrap_if_error=False)
    seen.images = [file.data for file in part.files if isinstance(file, BinaryImage)]
    seen.sounds = [file.data for file in part.files if isinstance(file, BinaryContent) and file.is_audio]
    content = cast("object", part.content)
    seen.structured = content if isinstance(content, dict) else None
    seen.is_error = part.outcome == "retried"
    return seen


async def in_claude(tool: Tool, arguments: dict[str, Any]) -> Seen:
    # The Claude Agent SDK speaks the handshake protocol with the server, over a memory transport as here.
    async with Client(to_claude([tool])["instance"], mode="legacy") as client:
        return await through_mcp(client, arguments)


async def in_mcp(tool: Tool, arguments: dict[str, Any]) -> Seen:
    async with Client(to_mcp([tool])) as client:
        return await through_mcp(client, arguments)


async def through_mcp(client: Client, arguments: dict[str, Any]) -> Seen:
    (listed,) = (await client.list_tools()).tools
    result = await client.call_tool(listed.name, arguments)
    hints = listed.annotations.model_dump(by_alias=True, exclude_none=True) if listed.annotations else {}
    return Seen(
        name=listed.name,
        description=listed.description or "",
        schema=listed.input_schema,
        annotations=hints,
        text="".join(block.text for block in result.content if isinstance(block, types.TextContent)),
        images=[base64.b64decode(block.data) for block in result.content if isinstance(block, types.ImageContent)],
        sounds=[base64.b64decode(block.data) for block in result.content if isinstance(block, types.AudioContent)],
        structured=result.structured_content,
        is_error=result.is_error,
    )


async def in_strands(tool: Tool, arguments: dict[str, Any]) -> Seen:
    (agent_tool,) = to_strands([tool])
    spec: Any = agent_tool.tool_spec
    (event,) = [
        event async for event in agent_tool.stream({"toolUseId": "1", "name": tool.name, "input": arguments}, {})
    ]
    assert isinstance(event, ToolResultEvent)
    result: Any = event.tool_result
    return Seen(
        name=agent_tool.tool_name,
        description=spec["description"],
        schema=spec["inputSchema"]["json"],
        annotations=spec.get("annotations", {}),
        text="".join(content.get("text", "") for content in result["content"]),
        images=[content["image"]["source"]["bytes"] for content in result["content"] if "image" in content],
        structured=result.get("structuredContent"),
        is_error=result["status"] == "error",
    )


async def in_anthropic(tool: Tool, arguments: dict[str, Any]) -> Seen:
    (definition,) = to_anthropic([tool])
    result = await call_anthropic([tool], {"id": "toolu_1", "name": definition["name"], "input": arguments})
    content = result["content"]
    return Seen(
        name=definition["name"],
        description=definition.get("description", ""),
        schema=definition["input_schema"],
        text="".join(block["text"] for block in content if block["type"] == "text"),
        images=[base64.b64decode(block["source"]["data"]) for block in content if block["type"] == "image"],
        is_error=result.get("is_error", False),
    )


@dataclass(frozen=True)
class Target:
    """A way into a framework, and what it has a place for."""

    use: Callable[[Tool, dict[str, Any]], Awaitable[Seen]]
    annotations: bool = True
    structured: bool = True
    sounds: bool = True


SOURCES: dict[str, Callable[[], Opened]] = {
    opened.__name__: opened
    for opened in (
        *(functions, pydantic_tools, function_toolset, prefixed_toolset, filtered_toolset, combined_toolset),
        *(agent, mcp_toolset, mcp_session, mcp_client, strands_tools),
    )
}
TARGETS = {
    "to_pydantic_ai": Target(in_pydantic_ai),
    "to_claude": Target(in_claude),
    "to_mcp": Target(in_mcp),
    "to_strands": Target(in_strands, sounds=False),
    "to_anthropic": Target(in_anthropic, annotations=False, structured=False, sounds=False),  # the API has neither
}
SILENT = {"strands_tools"}  # a strands tool has no way to return sound
ANNOTATED_NOWHERE = {"strands_tools"}  # a function with `@strands.tool` cannot say that it only reads

every_pair = pytest.mark.parametrize(
    ("source", "target"),
    [pytest.param(SOURCES[s], TARGETS[t], id=f"{s}-{t}") for s in SOURCES for t in TARGETS],
)


def named(tools: Iterable[Tool], name: str) -> Tool:
    (found,) = (tool for tool in tools if tool.name.removeprefix("my_") == name)
    return found


@every_pair
async def test_name_description_schema_and_annotations_are_carried_over(
    source: Callable[[], Opened], target: Target
) -> None:
    async with source() as (_, tools):
        tool = named(tools, "greet")
        seen = await target.use(tool, {"name": "Ada"})
    assert (seen.name, seen.description, seen.schema) == (tool.name, tool.description, tool.input_schema)
    assert "Greet somebody." in tool.description
    assert tool.input_schema["properties"]["name"]["description"] == "Whom to greet."
    wanted = READ_ONLY if target.annotations and source.__name__ not in ANNOTATED_NOWHERE else {}
    assert seen.annotations == wanted


@every_pair
async def test_arguments_arrive_and_defaults_are_filled_in(source: Callable[[], Opened], target: Target) -> None:
    async with source() as (_, tools):
        seen = await target.use(named(tools, "greet"), {"name": "Zoë"})
    assert (seen.text, seen.is_error) == ("こんにちは Zoë こんにちは Zoë ", False)


@every_pair
async def test_arguments_that_do_not_fit_are_an_error_that_names_them(
    source: Callable[[], Opened], target: Target
) -> None:
    async with source() as (_, tools):
        seen = await target.use(named(tools, "greet"), {"name": "Ada", "times": "often"})
    assert seen.is_error
    assert "times" in seen.text
    assert "often" in seen.text


@every_pair
async def test_images_stay_images(source: Callable[[], Opened], target: Target) -> None:
    async with source() as (_, tools):
        seen = await target.use(named(tools, "picture"), {})
    assert (seen.images, seen.is_error) == ([PNG], False)


@every_pair
async def test_sounds_stay_sounds_or_are_refused_by_name(source: Callable[[], Opened], target: Target) -> None:
    async with source() as (_, tools):
        if source.__name__ in SILENT:
            assert "sing" not in [tool.name for tool in tools]
        elif target.use is in_claude:  # Claude Code would give the model a path that it cannot read
            seen = await target.use(named(tools, "sing"), {})
            assert seen.is_error
            assert "a file of type audio/wav" in seen.text
        elif target.sounds:
            assert (await target.use(named(tools, "sing"), {})).sounds == [WAV]
        else:
            with pytest.raises(Unsupported, match=r"audio/wav in the result of '.*sing'"):
                await target.use(named(tools, "sing"), {})


@every_pair
async def test_structured_content_stays_structured(source: Callable[[], Opened], target: Target) -> None:
    async with source() as (_, tools):
        seen = await target.use(named(tools, "report"), {})
    assert json.loads(seen.text) == WEATHER
    assert seen.structured == (WEATHER if target.structured else None)


@every_pair
async def test_errors_stay_errors(source: Callable[[], Opened], target: Target) -> None:
    async with source() as (_, tools):
        seen = await target.use(named(tools, "refuse"), {})
    assert replace(seen, name="", description="", schema={}) == Seen(text="Ask for something else.", is_error=True)


@every_pair
async def test_cancelling_the_caller_cancels_the_tool(source: Callable[[], Opened], target: Target) -> None:
    async with source() as (probe, tools):
        call = asyncio.ensure_future(target.use(named(tools, "wait"), {}))
        with anyio.fail_after(10):
            await probe.started.wait()
            call.cancel()
            with pytest.raises(asyncio.CancelledError):
                await call
            await probe.cancelled.wait()
