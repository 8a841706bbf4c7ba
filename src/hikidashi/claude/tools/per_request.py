"""A registered tool in one request: with the agent's definition, the model's restrictions, and listeners to calls."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from pydantic_ai.tools import ToolDefinition

from ...convert.pydantic_ai_calls import CallListener
from ...tool import Tool, ToolResult
from .ordering import CallOrder
from .restrictions import OwnToolRestrictions


def for_request(
    tool: Tool, definition: ToolDefinition | None, order: CallOrder, listeners: Sequence[CallListener] = ()
) -> Tool:
    """`tool` with the description and schema that the agent gives it in this request; `listeners` are notified."""
    if definition is None:
        return tool
    # Claude Code runs only the calls of read-only tools concurrently, and nothing else here uses the hint. So all of
    # them start, whichever call before them waits, and `order` runs them as pydantic-ai does.
    hints = replace(tool.annotations, read_only=True)
    description, schema = definition.description or "", definition.parameters_json_schema

    async def call(arguments: dict[str, Any]) -> ToolResult:
        async with order.admitted(alone=definition.sequential):
            for listener in listeners:
                listener.tool_called(definition)
            return await tool.call(arguments)

    return replace(tool, description=description, input_schema=schema, annotations=hints, call=call)


def restricted(tool: Tool, restrictions: OwnToolRestrictions) -> Tool:
    """`tool`, which refuses calls with arguments that are not allowed."""

    async def call(arguments: dict[str, Any]) -> ToolResult:
        refusal = restrictions.refusal(tool.name, arguments, tool.input_schema)
        return await tool.call(arguments) if refusal is None else ToolResult.error(refusal)

    return replace(tool, call=call)
