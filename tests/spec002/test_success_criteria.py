"""SC-001 to SC-009."""

from __future__ import annotations

import base64
import inspect
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import date
from types import FunctionType
from typing import Any

import httpx
import pytest
from pydantic import BaseModel
from pydantic_ai import Agent, BinaryContent, FunctionToolset, RunContext, Tool, ToolReturn

import hikidashi
from hikidashi import (
    ClaudeCodeModel,
    ToolNotFoundError,
    ToolValidationError,
    UnsupportedDepsTypeError,
    convert_tool,
    convert_tool_with_deps,
    convert_tools_to_mcp_server,
    create_mcp_server_from_tools,
    deserialize_deps,
    serialize_deps,
)
from hikidashi.claude import deps_support, mcp_integration, tool_converter
from hikidashi.testing import call, say, turn

PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)

Ask = Callable[..., Awaitable[Any]]


@dataclass
class Config:
    region: str
    since: date = date(2026, 1, 1)
    tags: set[str] = field(default_factory=set[str])


class Settings(BaseModel):
    region: str
    since: date = date(2026, 1, 1)
    nested: Config | None = None


def forecast(city: str, days: int = 1) -> dict[str, Any]:
    """The weather in a city."""
    return {"city": city, "sky": ["晴れ"] * days}


@pytest.mark.cli
async def test_sc_001_claude_calls_the_tools_of_an_agent(ask_claude: Ask) -> None:
    agent, asked = Agent(), list[str]()

    @agent.tool_plain
    def weather(city: str) -> str:
        """The weather in a city."""
        asked.append(city)
        return "晴れ"

    config = create_mcp_server_from_tools(agent._function_toolset)
    both = turn(call("weather", {"city": "堺"}), call("weather", {"city": "京都"}))
    server, _ = await ask_claude(config, [both, say("晴れ")])

    assert sorted(asked) == ["京都", "堺"]
    [offered] = [tool for tool in server.requests[0].tools if tool["name"] == "mcp__pydantic_tools__weather"]
    assert offered["description"] == "The weather in a city."
    assert offered["input_schema"]["properties"] == {"city": {"type": "string"}}


@pytest.mark.cli
async def test_sc_002_claude_reads_the_answers_of_converted_tools(ask_claude: Ask) -> None:
    config = convert_tools_to_mcp_server([Tool(forecast)])

    server, end = await ask_claude(
        config, [call("forecast", {"city": "堺", "days": 2}), call("forecast", {"days": 1}), say("Fine.")]
    )

    assert server.requests[1].tool_result_texts[0].startswith('{"city": "堺", "sky": ["晴れ", "晴れ"]}')
    [refused] = server.requests[2].tool_results
    assert refused["is_error"] is True
    assert "Invalid arguments for `forecast`" in server.requests[2].tool_result_texts[0]
    assert end.result == "Fine."


@pytest.mark.cli
async def test_sc_002_claude_sees_the_pictures_of_converted_tools(ask_claude: Ask) -> None:
    def chart() -> ToolReturn:
        return ToolReturn("売上", content=[BinaryContent(PIXEL, media_type="image/png")])

    server, _ = await ask_claude(convert_tools_to_mcp_server([Tool(chart)]), [call("chart", {}), say("Up.")])

    words, picture, *_ = server.requests[1].tool_results[0]["content"]
    assert words["text"] == "売上"
    assert (picture["type"], picture["source"]["media_type"]) == ("image", "image/png")


@pytest.mark.cli
async def test_sc_003_tools_reach_their_deps_when_claude_calls_them(ask_claude: Ask) -> None:
    agent = Agent(deps_type=Config)

    @agent.tool
    def region(ctx: RunContext[Config]) -> str:
        return ctx.deps.region

    tool = agent._function_toolset.tools["region"]
    assert await convert_tool_with_deps(tool, Config("kansai")).handler({}) == {
        "content": [{"type": "text", "text": "kansai"}]
    }
    server, _ = await ask_claude(
        convert_tools_to_mcp_server([tool], deps=Config("kansai")), [call("region", {}), say("In Kansai.")]
    )
    assert server.requests[1].tool_result_texts[0].startswith("kansai")


def test_sc_004_deps_that_cannot_be_serialised_are_refused_by_name() -> None:
    with pytest.raises(UnsupportedDepsTypeError) as refused:
        convert_tool_with_deps(Tool(forecast), {"http": httpx.AsyncClient()})

    assert (refused.value.type_name, refused.value.path) == ("httpx.AsyncClient", "deps['http']")


def test_sc_005_validation_errors_are_structured() -> None:
    nameless, functionless, schemaless = Tool(forecast), Tool(forecast), Tool(forecast)
    nameless.name = ""
    functionless.function = None  # pyright: ignore[reportAttributeAccessIssue]
    schemaless.function_schema.json_schema = None  # pyright: ignore[reportAttributeAccessIssue]

    for broken in (nameless, functionless, schemaless):
        with pytest.raises(ToolValidationError) as low:
            convert_tool(broken)
        with pytest.raises(ToolValidationError) as high:
            create_mcp_server_from_tools([broken])
        assert low.value.tool_name == high.value.tool_name == (broken.name or None)
        assert isinstance(low.value, ValueError)


def test_sc_006_only_registered_tools_can_be_asked_for() -> None:
    model = ClaudeCodeModel(model_name="sonnet")
    model.set_agent_toolsets(FunctionToolset([forecast]))

    assert model._process_function_tools(["forecast"]) is not None
    with pytest.raises(ToolNotFoundError) as missing:
        model._process_function_tools(["forecast", "forcast"])
    assert missing.value.missing == ("forcast",)
    assert "Did you mean 'forecast'?" in str(missing.value)


def test_sc_007_the_public_api_is_exported() -> None:
    for name in ("convert_tool", "convert_tool_with_deps", "convert_tools_to_mcp_server", "DepsContext"):
        assert name in dir(hikidashi)
        assert getattr(hikidashi, name).__module__.startswith("hikidashi.claude.")


@pytest.mark.parametrize("module", [deps_support, mcp_integration, tool_converter])
def test_sc_008_every_public_function_and_method_is_annotated(module: Any) -> None:
    public = [getattr(module, name) for name in module.__all__]
    methods = [
        member.fget if isinstance(member, property) else member
        for item in [*public, ClaudeCodeModel]
        if inspect.isclass(item)
        for name, member in vars(item).items()
        if name == "__init__" or not name.startswith("_")
    ]
    functions = [item for item in [*public, *methods] if isinstance(item, FunctionType) and item.__module__ != "typing"]

    assert functions
    for function in functions:
        parameters = inspect.signature(function).parameters.keys() - {"self"}
        assert parameters | {"return"} <= function.__annotations__.keys(), function.__qualname__


def test_sc_009_dataclasses_and_models_come_back_equal() -> None:
    config = Config("kansai", tags={"a", "b"})
    settings = Settings(region="kansai", nested=config)

    assert deserialize_deps(serialize_deps(config), Config) == config
    assert deserialize_deps(serialize_deps(settings), Settings) == settings
