"""`Entry`, the searchable fields of a tool, made from the tools of any framework.

No framework is imported: tools are recognised by their attributes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from ...errors import ToolValidationError

_MAX_VALUES = 40  # a longer list is data, such as all currencies, rather than what a tool does
_MAX_DEPTH = 6  # deeper arguments are rare, and a schema may be recursive

_MAX_SUMMARY = 40  # characters of a description in an error

_REMEDY = 'Use {"type": "object", "properties": {…}}.'
_REFERRING = frozenset({"items", "anyOf", "oneOf", "allOf", "$ref", "enum"})
_NESTING = _REFERRING | {"properties"}


@dataclass(frozen=True, kw_only=True, slots=True)
class Entry:
    """The searchable fields of one tool, and the tool itself."""

    name: str
    description: str
    argument_names: tuple[str, ...] = ()
    argument_descriptions: tuple[str, ...] = ()
    argument_values: tuple[str, ...] = ()
    """The values of enums: `squash`, `PDF`."""
    aliases: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    input_schema: dict[str, Any] = field(default_factory=dict[str, Any])
    tool: Any = None
    """The object the catalogue was given."""

    def texts(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """The searchable fields by name."""
        return (
            ("name", (self.name,)),
            ("aliases", self.aliases),
            ("description", (self.description,)),
            ("tags", self.tags),
            ("argument_names", self.argument_names),
            ("argument_descriptions", self.argument_descriptions),
            ("argument_values", self.argument_values),
        )

    @property
    def origin(self) -> str:
        """The class and the beginning of the description of the tool, for errors."""
        kind = cast("type[object]", type(self.tool))
        home = "" if isinstance(self.tool, Mapping) else kind.__module__.split(".")[0] + " "
        summary = " ".join(self.description.split())
        summary = summary if len(summary) <= _MAX_SUMMARY else summary[: _MAX_SUMMARY - 1] + "…"
        return f"a {home}{kind.__name__}" + (f" ({summary!r})" if summary else " with no description")


def entry_of(tool: Any, position: int | None = None) -> Entry:
    """The entry of `tool`: an Anthropic, OpenAI or MCP dict, or a tool object of any supported framework.

    Raises:
        ToolValidationError: it has no name, or its schema is not an object.
    """
    if _is_mapping(tool):
        found = _of_mapping(cast("Mapping[str, Any]", tool))
    elif hasattr(tool, "tool_spec"):  # strands AgentTool
        found = _of_mapping(cast("Mapping[str, Any]", tool.tool_spec))
    else:
        found = _of_object(tool)
    return _checked(tool, position, found)


@dataclass(slots=True)
class _Parts:
    """The parts of a tool, not validated."""

    name: Any
    description: Any
    schema: Any
    aliases: tuple[str, ...]
    tags: tuple[str, ...]


def _of_mapping(tool: Mapping[str, Any]) -> _Parts:
    inner = tool.get("function")
    if _is_mapping(inner):  # OpenAI: {"type": "function", "function": {...}}
        tool = cast("Mapping[str, Any]", inner)
    schema: Any = tool.get("input_schema")
    if schema is None:
        schema = tool.get("inputSchema", tool.get("parameters"))
    wrapped = cast("Mapping[str, Any]", schema).get("json") if _is_mapping(schema) else None
    return _Parts(
        tool.get("name"),
        tool.get("description"),
        wrapped if _is_mapping(wrapped) else schema,  # strands: {"json": {...}}
        _words(tool.get("aliases")) + _title(tool.get("title"), tool.get("annotations")),
        _words(tool.get("tags")) + _tags(tool.get("metadata") or tool.get("_meta")),
    )


def _of_object(tool: Any) -> _Parts:
    schemas = (getattr(tool, name, None) for name in ("input_schema", "parameters_json_schema", "inputSchema"))
    schema = next((schema for schema in schemas if schema is not None), None)
    if schema is None:  # pydantic-ai Tool
        schema = getattr(getattr(tool, "function_schema", None), "json_schema", None)
    return _Parts(
        getattr(tool, "name", None),
        getattr(tool, "description", None),
        schema,
        _words(getattr(tool, "aliases", ())) + _title(getattr(tool, "title", None), getattr(tool, "annotations", None)),
        _tags(getattr(tool, "metadata", None) or getattr(tool, "meta", None)),
    )


def _checked(tool: Any, position: int | None, parts: _Parts) -> Entry:
    name = parts.name
    schema: Any = {} if parts.schema is None else parts.schema
    if not isinstance(name, str) or not name.strip():
        raise ToolValidationError(
            f"The tool{_at(position)} ({type(tool).__name__}) has no name. Give it one: a dict needs `name`, "
            "`description` and `input_schema`, a function is made a tool by `hikidashi.from_function`, and a tool of a "
            "framework is passed as it is."
        )
    if not _is_mapping(schema):
        raise ToolValidationError(
            f"The input schema of tool {name!r}{_at(position)} is {type(schema).__name__}, not an object. {_REMEDY}",
            name,
        )
    plain = cast("dict[str, Any]", schema if isinstance(schema, dict) else dict(cast("Mapping[str, Any]", schema)))
    if plain.get("type", "object") != "object":
        raise ToolValidationError(
            f"The input schema of tool {name!r}{_at(position)} has type {plain['type']!r}, not 'object'. {_REMEDY}",
            name,
        )
    found = _Arguments()
    _walk(plain, plain.get("$defs") or plain.get("definitions"), found, 0)
    return Entry(
        name=name,
        description=parts.description if isinstance(parts.description, str) else "",
        argument_names=tuple(found.names),
        argument_descriptions=tuple(found.descriptions),
        argument_values=tuple(found.values),
        aliases=parts.aliases,
        tags=parts.tags,
        input_schema=plain,
        tool=tool,
    )


def _at(position: int | None) -> str:
    return "" if position is None else f" at position {position}"


def _is_mapping(value: Any) -> bool:
    """Whether `value` is a mapping; nearly all are dicts, for which this is many times faster than `isinstance`."""
    return type(value) is dict or (value is not None and isinstance(value, Mapping))


def _words(value: Any) -> tuple[str, ...]:
    if value is None:
        return ()
    if isinstance(value, str):
        return (value,)
    if not isinstance(value, Iterable):
        return ()
    return tuple(item for item in cast("Iterable[Any]", value) if isinstance(item, str))


def _title(title: Any, annotations: Any) -> tuple[str, ...]:
    """MCP's title of a tool, which may be in its annotations."""
    if title is None and annotations is not None:
        hints = cast("Mapping[str, Any]", annotations) if _is_mapping(annotations) else None
        title = getattr(annotations, "title", None) if hints is None else hints.get("title")
    return _words(title)


def _tags(meta: Any) -> tuple[str, ...]:
    return _words(cast("Mapping[str, Any]", meta).get("tags")) if _is_mapping(meta) else ()


class _Arguments:
    """The distinct texts of all arguments in a schema, nested ones included, in order."""

    __slots__ = ("descriptions", "names", "referred", "values")

    def __init__(self) -> None:  # half the time of a dataclass with as many factories
        self.names: dict[str, None] = {}
        self.descriptions: dict[str, None] = {}
        self.values: dict[str, None] = {}
        self.referred: dict[str, int] = {}
        """The lowest depth at which each reference was followed: those that refer to each other would multiply."""


def _walk(schema: dict[str, Any], definitions: Any, found: _Arguments, depth: int) -> None:
    if depth > _MAX_DEPTH:
        return
    properties = schema.get("properties")
    if isinstance(properties, dict):
        for name, argument in cast("dict[Any, Any]", properties).items():
            found.names[str(name)] = None
            if isinstance(argument, dict):
                description = cast("dict[str, Any]", argument).get("description")
                if description and isinstance(description, str):
                    found.descriptions[description] = None
                if not _NESTING.isdisjoint(cast("dict[str, Any]", argument)):
                    _walk(cast("dict[str, Any]", argument), definitions, found, depth + 1)
    if _REFERRING.isdisjoint(schema):
        return
    values = schema.get("enum")
    if isinstance(values, list) and len(cast("list[Any]", values)) <= _MAX_VALUES:
        found.values.update((value, None) for value in cast("list[Any]", values) if isinstance(value, str))
    inner: list[Any] = [schema.get("items")]
    for key in ("anyOf", "oneOf", "allOf"):
        options = schema.get(key)
        if isinstance(options, list):
            inner += cast("list[Any]", options)
    reference = schema.get("$ref")
    if (
        isinstance(reference, str)
        and isinstance(definitions, dict)
        and depth < found.referred.get(reference, _MAX_DEPTH + 1)
    ):
        found.referred[reference] = depth
        inner.append(cast("dict[str, Any]", definitions).get(reference.rpartition("/")[2]))
    for part in inner:
        if isinstance(part, dict):
            _walk(cast("dict[str, Any]", part), definitions, found, depth + 1)
