"""Tools that the Messages API refuses, with the same error messages; one of them fails the whole request."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, cast

from .tool_search import refused_tools

__all__ = ["problem_in_tools"]

_NAME = r"^[a-zA-Z0-9_-]{1,128}$"
_PROPERTY = r"^[a-zA-Z0-9_.-]{1,64}$"
_LONGEST_NAME = 128


def problem_in_tools(request: dict[str, Any]) -> str | None:
    """Why the API refuses the tools of `request`, or `None`."""
    tools = cast("object", request.get("tools") or [])
    if not isinstance(tools, list):
        return "tools: Input should be a valid list"
    definitions = cast("list[dict[str, Any]]", tools)
    names = [tool["name"] for tool in definitions if "name" in tool]
    if len(names) != len(set(names)):
        return "tools: Tool names must be unique."
    for at, tool in enumerate(definitions):
        if tool.get("type", "custom") == "custom":  # the others are the API's own
            problem = next(_problems(tool), None)
            if problem is not None:
                return f"tools.{at}.custom.{problem}"
    return refused_tools(request)


def _problems(tool: Mapping[str, Any]) -> Iterator[str]:
    name = tool.get("name")
    if name is None:
        yield "name: Field required"
    elif not isinstance(name, str):
        yield "name: Input should be a valid string"
    elif len(name) > _LONGEST_NAME:
        yield f"name: String should have at most {_LONGEST_NAME} characters"
    elif re.fullmatch(_NAME[1:-1], name) is None:
        yield f"name: String should match pattern '{_NAME}'"
    if not isinstance(tool.get("description", ""), str):
        yield "description: Input should be a valid string"
    schema = tool.get("input_schema")
    if schema is None:
        yield "input_schema: Field required"
    elif not isinstance(schema, dict):
        yield "input_schema: Input should be a valid dictionary"
    else:
        yield from _problems_in_schema(cast("dict[str, Any]", schema))


def _problems_in_schema(schema: Mapping[str, Any]) -> Iterator[str]:
    if "type" not in schema:
        yield "input_schema.type: Field required"
    elif schema["type"] != "object":
        yield "input_schema.type: Input should be 'object'"
    if any(union in schema for union in ("oneOf", "allOf", "anyOf")):
        yield "input_schema: input_schema does not support oneOf, allOf, or anyOf at the top level"
    properties, required = schema.get("properties"), schema.get("required")
    if not isinstance(properties, dict | None):
        yield "input_schema.properties: Input should be a valid dictionary"
    elif any(re.fullmatch(_PROPERTY[1:-1], name) is None for name in cast("dict[str, Any]", properties or {})):
        yield f"input_schema.properties: Property keys should match pattern '{_PROPERTY}'"
    if not isinstance(required, list | None):
        yield "input_schema.required: Input should be a valid list"
