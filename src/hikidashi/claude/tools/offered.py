"""A registered tool as one request offers it: described as the agent says, restricted as the model says."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from pydantic_ai.tools import ToolDefinition

from ...tool import Tool, ToolResult
from .ordering import CallOrder
from .restrictions import OwnToolRestrictions


def as_offered(tool: Tool, definition: ToolDefinition | None, order: CallOrder) -> Tool:
    """`tool` as the agent offers it in this request."""
    if definition is None:
        return tool
    # Claude Code runs calls of one turn side by side only if they say that they only read, and nothing else here
    # looks at the hint. So all of them begin, whichever call before them waits, and run in the order of pydantic-ai.
    hints = replace(tool.annotations, read_only=True)
    description, schema = definition.description or "", definition.parameters_json_schema

    async def call(arguments: dict[str, Any]) -> ToolResult:
        async with order.admitted(alone=definition.sequential):
            return await tool.call(arguments)

    return replace(tool, description=description, input_schema=schema, annotations=hints, call=call)


def restricted(tool: Tool, restrictions: OwnToolRestrictions) -> Tool:
    """`tool`, which refuses a call whose arguments are not allowed."""

    async def call(arguments: dict[str, Any]) -> ToolResult:
        refusal = restrictions.refusal(tool.name, arguments, tool.input_schema)
        return await tool.call(arguments) if refusal is None else ToolResult.error(refusal)

    return replace(tool, call=call)
