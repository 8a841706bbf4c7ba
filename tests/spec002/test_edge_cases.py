"""The edge cases of spec 002, in its order."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pytest
from mcp.client import Client
from pydantic_ai import FunctionToolset, Tool

from hikidashi import (
    ClaudeCodeModel,
    ToolValidationError,
    TypeHintResolutionError,
    convert_tool,
    convert_tool_with_deps,
    create_mcp_server_from_tools,
    deserialize_deps,
    serialize_deps,
)
from hikidashi.claude.mcp_integration import _get_parameters_json_schema, extract_tools_from_toolset
from hikidashi.claude.tool_converter import _format_return_value_as_mcp

SCHEMA: dict[str, Any] = {"type": "object", "properties": {}}


def ping() -> str:
    return "pong"


def pong() -> str:
    return "ping"


def own_tool(**attributes: Any) -> Any:
    return SimpleNamespace(**{"name": "own", "description": None, "function": ping} | attributes)


@dataclass
class Unresolved:
    other: Nowhere  # pyright: ignore[reportUndefinedVariable] # noqa: F821


def test_edge_empty_tool_name() -> None:
    nameless = Tool(ping)
    nameless.name = ""

    with pytest.raises(ToolValidationError):
        convert_tool(nameless)
    with pytest.raises(ToolValidationError):
        create_mcp_server_from_tools([nameless])


def test_edge_tool_without_function() -> None:
    with pytest.raises(ToolValidationError):
        create_mcp_server_from_tools([own_tool(function=None, parameters_json_schema=SCHEMA)])


def test_edge_schema_is_looked_for_in_three_places() -> None:
    first, second, third = {"title": "1"}, {"title": "2"}, {"title": "3"}
    tool = own_tool(
        parameters_json_schema=first,
        function_schema=SimpleNamespace(json_schema=second),
        tool_def=SimpleNamespace(parameters_json_schema=third),
    )

    assert _get_parameters_json_schema(tool) is first
    del tool.parameters_json_schema
    assert _get_parameters_json_schema(tool) is second
    del tool.function_schema
    assert _get_parameters_json_schema(tool) is third
    del tool.tool_def
    with pytest.raises(ToolValidationError):
        _get_parameters_json_schema(tool)


def test_edge_schema_that_is_no_dict() -> None:
    with pytest.raises(ToolValidationError):
        _get_parameters_json_schema(own_tool(parameters_json_schema=["object"]))


def test_edge_unresolved_forward_reference_cannot_be_rebuilt() -> None:
    with pytest.raises(TypeHintResolutionError) as unresolved:
        deserialize_deps('{"other": 1}', Unresolved)

    assert "Nowhere" in str(unresolved.value)


def test_edge_unresolved_forward_reference_is_assumed_serialisable(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "hikidashi"):
        convert_tool_with_deps(Tool(ping), Unresolved(1))

    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert "Nowhere" in caplog.records[0].getMessage()
    assert serialize_deps(Unresolved(1)) == '{"other":1}'


@pytest.mark.parametrize("layer", ["tool_converter", "mcp_integration"])
async def test_edge_cancellation_goes_through(layer: str) -> None:
    started = asyncio.Event()
    seen: list[str] = []

    async def wait() -> None:
        started.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            seen.append("cancelled")
            raise

    tool = Tool(wait)
    converted = convert_tool(tool) if layer == "tool_converter" else extract_tools_from_toolset([tool])[0]
    running = asyncio.ensure_future(converted.handler({}))
    await started.wait()
    running.cancel()

    with pytest.raises(asyncio.CancelledError):
        await running
    assert seen == ["cancelled"]


@pytest.mark.parametrize("layer", ["tool_converter", "mcp_integration"])
async def test_edge_a_cancelled_error_raised_by_the_tool_goes_through(layer: str) -> None:
    async def give_up() -> None:
        raise asyncio.CancelledError

    tool = Tool(give_up)
    converted = convert_tool(tool) if layer == "tool_converter" else extract_tools_from_toolset([tool])[0]

    with pytest.raises(asyncio.CancelledError):
        await converted.handler({})


def test_edge_none_is_an_empty_text() -> None:
    assert _format_return_value_as_mcp(None) == {"content": [{"type": "text", "text": ""}]}


async def test_edge_registering_again_replaces_and_warns(caplog: pytest.LogCaptureFixture) -> None:
    model = ClaudeCodeModel(model_name="sonnet")
    with caplog.at_level(logging.WARNING, "hikidashi"):
        model.set_agent_toolsets(FunctionToolset([ping]))
        assert not caplog.records
        model.set_agent_toolsets(FunctionToolset([pong]))

    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert list(model.mcp_servers) == ["pydantic_tools"]
    async with Client(model.mcp_servers["pydantic_tools"]["instance"]) as client:
        assert [tool.name for tool in (await client.list_tools()).tools] == ["pong"]
