"""A pydantic-ai `ToolDefinition` and a neutral tool, each as the other."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from pydantic_ai.tools import ToolDefinition

from hikidashi.convert._checks import ALIASES
from hikidashi.convert._pydantic_ai_content import META, ours
from hikidashi.tool import Tool, ToolAnnotations, ToolResult

_CARRIED = ("strict", "sequential", "timeout", "include_return_schema")
"""Fields of a `ToolDefinition` that have no place in a neutral tool: they travel in its metadata."""


def tool_of(definition: ToolDefinition, call: Callable[[dict[str, Any]], Awaitable[ToolResult]]) -> Tool:
    """The neutral tool that `definition` describes and `call` runs."""
    metadata = dict(definition.metadata or {})
    annotations, meta = metadata.pop("annotations", None), dict(metadata.pop("meta", None) or {})
    aliases: list[str] = meta.pop(ALIASES, [])
    return Tool(
        name=definition.name,
        description=definition.description or "",
        input_schema=definition.parameters_json_schema,
        call=call,
        output_schema=definition.return_schema if _names_properties(definition.return_schema) else None,
        annotations=ToolAnnotations.from_mcp(annotations),
        aliases=tuple(aliases),
        defer_loading=definition.defer_loading,
        metadata={**meta, **_carried(definition, metadata)},
    )


def definition_of(tool: Tool) -> ToolDefinition:
    """What pydantic-ai knows of `tool`; annotations and `_meta` are where it has those of MCP tools."""
    carried = ours(tool.metadata)
    meta = {key: value for key, value in tool.metadata.items() if key != META}
    if tool.aliases:
        meta[ALIASES] = list(tool.aliases)
    metadata: dict[str, Any] = dict(carried.get("metadata") or {})
    if hints := tool.annotations.to_mcp():
        metadata["annotations"] = hints
    if meta:
        metadata["meta"] = meta
    return ToolDefinition(
        name=tool.name,
        description=tool.description or None,
        parameters_json_schema=tool.input_schema,
        return_schema=tool.output_schema or carried.get("return_schema"),
        defer_loading=tool.defer_loading,
        metadata=metadata or None,
        **{name: carried[name] for name in _CARRIED if name in carried},
    )


def _names_properties(schema: Mapping[str, Any] | None) -> bool:
    """Whether `schema` describes an object; that of a bare `dict` promises nothing."""
    return schema is not None and schema.get("type") == "object" and "properties" in schema


def _carried(definition: ToolDefinition, metadata: Mapping[str, Any]) -> dict[str, Any]:
    plain = ToolDefinition(name=definition.name)
    carried: dict[str, Any] = {
        name: value for name in _CARRIED if (value := getattr(definition, name)) != getattr(plain, name)
    }
    if definition.return_schema and not _names_properties(definition.return_schema):
        carried["return_schema"] = definition.return_schema
    if metadata:
        carried["metadata"] = dict(metadata)
    return {META: carried} if carried else {}
