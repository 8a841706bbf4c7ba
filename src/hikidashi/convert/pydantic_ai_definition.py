"""Conversion between a pydantic-ai `ToolDefinition` and a neutral tool."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from pydantic import TypeAdapter, ValidationError
from pydantic_ai.tools import ToolDefinition
from typing_extensions import TypedDict

from ..tool import Tool, ToolAnnotations, ToolResult
from .pydantic_ai_content import META, own_meta
from .shared.checks import ALIASES, mapping, strings


class _Carried(TypedDict, total=False):
    """Fields of a `ToolDefinition` that a neutral tool keeps in its metadata."""

    strict: bool | None
    sequential: bool
    timeout: float | None
    include_return_schema: bool | None
    return_schema: dict[str, Any]
    metadata: dict[str, Any]


_CARRIED = TypeAdapter(_Carried)
_CARRIED_AS_THEY_ARE = ("strict", "sequential", "timeout", "include_return_schema")

_FILE_KINDS = frozenset({"binary", "image-url", "audio-url", "video-url", "document-url", "uploaded-file"})


def tool_of(definition: ToolDefinition, call: Callable[[dict[str, Any]], Awaitable[ToolResult]]) -> Tool:
    """The neutral tool that `definition` describes and `call` runs."""
    metadata = dict(definition.metadata or {})
    hints, meta = _taken_from(metadata, "annotations"), _taken_from(metadata, "meta")
    annotations = ToolAnnotations.from_mcp(hints)
    if unknown := {name: hint for name, hint in hints.items() if hint is not None and name not in annotations.to_mcp()}:
        metadata["annotations"] = unknown
    aliases = strings(meta.pop(ALIASES, None))
    return Tool(
        name=definition.name,
        description=definition.description or "",
        input_schema=definition.parameters_json_schema,
        call=call,
        output_schema=definition.return_schema if _describes_object(definition.return_schema) else None,
        annotations=annotations,
        aliases=tuple(aliases),
        defer_loading=definition.defer_loading,
        metadata={**meta, **_carried(definition, metadata)},
    )


def definition_of(tool: Tool) -> ToolDefinition:
    """The definition of `tool`; annotations and `_meta` are where pydantic-ai has those of MCP tools."""
    carried = _carried_by(tool)
    meta = {key: value for key, value in tool.metadata.items() if key != META}
    if tool.aliases:
        meta[ALIASES] = list(tool.aliases)
    metadata = dict(carried.get("metadata", {}))
    if hints := tool.annotations.to_mcp():
        metadata["annotations"] = {**mapping(metadata.get("annotations")), **hints}
    if meta:
        metadata["meta"] = meta
    return ToolDefinition(
        name=tool.name,
        description=tool.description or None,
        parameters_json_schema=tool.input_schema,
        return_schema=tool.output_schema or carried.get("return_schema"),
        defer_loading=tool.defer_loading,
        metadata=metadata or None,
        strict=carried.get("strict"),
        sequential=carried.get("sequential", False),
        timeout=carried.get("timeout"),
        include_return_schema=carried.get("include_return_schema"),
    )


def _describes_object(schema: Mapping[str, Any] | None) -> bool:
    """Whether `schema` promises structured content.

    The schema of a bare `dict` promises nothing, and that of a file describes a class whose values become
    content blocks.
    """
    if schema is None or schema.get("type") != "object" or "properties" not in schema:
        return False
    kind = mapping(mapping(schema["properties"]).get("kind"))
    return str(kind.get("const")) not in _FILE_KINDS


def _taken_from(metadata: dict[str, Any], key: str) -> dict[str, Any]:
    """The dict of an MCP tool under `key`, removed from `metadata`; a value of another type stays there."""
    return mapping(metadata.pop(key)) if isinstance(metadata.get(key, ""), Mapping | None) else {}


def _carried(definition: ToolDefinition, metadata: Mapping[str, Any]) -> dict[str, Any]:
    plain = ToolDefinition(name=definition.name)
    carried: dict[str, Any] = {
        name: value for name in _CARRIED_AS_THEY_ARE if (value := getattr(definition, name)) != getattr(plain, name)
    }
    if definition.return_schema and not _describes_object(definition.return_schema):
        carried["return_schema"] = definition.return_schema
    if metadata:
        carried["metadata"] = dict(metadata)
    return {META: carried} if carried else {}


def _carried_by(tool: Tool) -> _Carried:
    try:
        return _CARRIED.validate_python(own_meta(tool.metadata))
    except ValidationError:  # another server uses the same key
        return {}
