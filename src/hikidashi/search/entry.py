"""One row of the catalogue, and how a tool of each framework becomes one.

No framework is imported: a tool is known by the attributes its class promises.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from ..errors import ToolValidationError

__all__ = ["Entry", "entry_of"]

_MAX_DEPTH = 6  # deeper arguments are rare, say little about the tool, and a schema may refer to itself

_NESTING = frozenset({"properties", "items", "anyOf", "oneOf", "allOf", "$ref"})


@dataclass(frozen=True, kw_only=True, slots=True)
class Entry:
    """What a search knows about one tool."""

    name: str
    description: str
    argument_names: tuple[str, ...] = ()
    argument_descriptions: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    input_schema: dict[str, Any] = field(default_factory=dict[str, Any])
    tool: Any = None
    """The object the catalogue was given."""

    def texts(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """The searched fields, by name."""
        return (
            ("name", (self.name,)),
            ("aliases", self.aliases),
            ("description", (self.description,)),
            ("tags", self.tags),
            ("argument_names", self.argument_names),
            ("argument_descriptions", self.argument_descriptions),
        )

    @property
    def origin(self) -> str:
        """Where the tool comes from, for messages: its class, and its server or toolset where it names one."""
        kind = type(self.tool)
        home = kind.__module__.split(".")[0]
        return "a dict" if isinstance(self.tool, Mapping) else f"a {home} {kind.__name__}"


def entry_of(tool: Any, position: int | None = None) -> Entry:
    """The catalogue row of `tool`: an Anthropic, OpenAI or MCP dict, or a tool object of any supported framework.

    Raises:
        ToolValidationError: it has no name, or its schema is no object.
    """
    if isinstance(tool, Mapping):
        found = _of_mapping(cast("Mapping[str, Any]", tool))
    elif hasattr(tool, "tool_spec"):  # strands AgentTool
        found = _of_mapping(cast("Mapping[str, Any]", tool.tool_spec))
    else:
        found = _of_object(tool)
    return _checked(tool, position, *found)


_Parts = tuple[Any, Any, Any, Any, Any]


def _of_mapping(tool: Mapping[str, Any]) -> _Parts:
    inner = tool.get("function")
    if isinstance(inner, Mapping):  # OpenAI: {"type": "function", "function": {...}}
        tool = cast("Mapping[str, Any]", inner)
    schema = next((tool[key] for key in ("input_schema", "inputSchema", "parameters") if key in tool), None)
    if isinstance(schema, Mapping) and isinstance(schema.get("json"), Mapping):  # pyright: ignore[reportUnknownMemberType]
        schema = cast("Mapping[str, Any]", schema)["json"]  # strands wraps it
    meta = tool.get("metadata") or tool.get("_meta")
    return tool.get("name"), tool.get("description"), schema, _words(tool.get("aliases")), _tags(meta, tool.get("tags"))


def _of_object(tool: Any) -> _Parts:
    aliases: tuple[str, ...] = _words(getattr(tool, "aliases", ()))
    title = getattr(tool, "title", None)
    if isinstance(title, str):  # an MCP tool's name for people
        aliases = (*aliases, title)
    schema = next(
        (
            value
            for key in ("input_schema", "parameters_json_schema", "inputSchema")
            if (value := getattr(tool, key, None)) is not None
        ),
        None,
    )
    if schema is None:  # pydantic-ai Tool
        schema = getattr(getattr(tool, "function_schema", None), "json_schema", None)
    meta = getattr(tool, "metadata", None) or getattr(tool, "meta", None)
    return getattr(tool, "name", None), getattr(tool, "description", None), schema, aliases, _tags(meta, None)


def _checked(
    tool: Any, position: int | None, name: Any, description: Any, schema: Any, aliases: Any, tags: Any
) -> Entry:
    at = "" if position is None else f" at position {position}"
    if not isinstance(name, str) or not name.strip():
        raise ToolValidationError(
            f"The tool{at} ({type(tool).__name__}) has no name. Give it one: a dict needs `name`, `description` and "
            "`input_schema`; an object of a framework is passed as it is."
        )
    if schema is None:
        schema = {}
    if not isinstance(schema, Mapping) or schema.get("type", "object") != "object":  # pyright: ignore[reportUnknownMemberType]
        kind = f"of type {schema['type']!r}" if isinstance(schema, Mapping) else type(schema).__name__
        raise ToolValidationError(
            f"The input schema of tool {name!r}{at} is {kind}, not an object. "
            'Use {"type": "object", "properties": {…}}.',
            name,
        )
    plain = dict(cast("Mapping[str, Any]", schema))
    names, descriptions = _arguments(plain)
    return Entry(
        name=name,
        description=description if isinstance(description, str) else "",
        argument_names=names,
        argument_descriptions=descriptions,
        aliases=aliases,
        tags=tags,
        input_schema=plain,
        tool=tool,
    )


def _words(value: Any) -> tuple[str, ...]:
    if isinstance(value, str):
        return (value,)
    if not isinstance(value, Iterable):
        return ()
    return tuple(item for item in cast("Iterable[Any]", value) if isinstance(item, str))


def _tags(meta: Any, own: Any) -> tuple[str, ...]:
    return _words(own) + (_words(cast("Mapping[str, Any]", meta).get("tags")) if isinstance(meta, Mapping) else ())


def _arguments(schema: dict[str, Any]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The names and the descriptions of all arguments, nested ones too, each once and in order."""
    names: dict[str, None] = {}
    descriptions: dict[str, None] = {}
    _walk(schema, schema.get("$defs") or schema.get("definitions"), names, descriptions, 0)
    return tuple(names), tuple(descriptions)


def _walk(
    schema: dict[str, Any], definitions: Any, names: dict[str, None], descriptions: dict[str, None], depth: int
) -> None:
    if depth > _MAX_DEPTH:
        return
    properties = schema.get("properties")
    if isinstance(properties, dict):
        for name, argument in cast("dict[Any, Any]", properties).items():
            names[str(name)] = None
            if isinstance(argument, dict):
                said = cast("dict[str, Any]", argument).get("description")
                if said and isinstance(said, str):
                    descriptions[said] = None
                if argument.keys() & _NESTING:
                    _walk(cast("dict[str, Any]", argument), definitions, names, descriptions, depth + 1)
    inner: list[Any] = [schema.get("items")]
    for key in ("anyOf", "oneOf", "allOf"):
        options = schema.get(key)
        if isinstance(options, list):
            inner += cast("list[Any]", options)
    reference = schema.get("$ref")
    if isinstance(reference, str) and isinstance(definitions, dict):
        inner.append(cast("dict[str, Any]", definitions).get(reference.rpartition("/")[2]))
    for part in inner:
        if isinstance(part, dict):
            _walk(cast("dict[str, Any]", part), definitions, names, descriptions, depth + 1)
