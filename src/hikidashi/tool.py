"""The neutral values that every conversion goes through: `Tool` and `ToolResult`.

Every framework file reads or writes these two. Nothing here knows a framework; content blocks
are plain dicts in MCP's wire form, so nothing is lost on the way through.
"""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Awaitable, Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Literal, NotRequired, TypedDict, TypeGuard

from pydantic_core import CoreSchema, to_jsonable_python
from pydantic_core.core_schema import any_schema

from .common.json import is_list, is_mapping, is_object, is_sequence
from .common.unicode import well_formed
from .errors import ToolValidationError, Unsupported


class _Block(TypedDict):
    annotations: NotRequired[dict[str, Any]]
    _meta: NotRequired[dict[str, Any]]


class TextContent(_Block):
    """Text for the model."""

    type: Literal["text"]
    text: str


class ImageContent(_Block):
    """An image, base64 in `data`."""

    type: Literal["image"]
    data: str
    mimeType: str


class AudioContent(_Block):
    """Audio, base64 in `data`."""

    type: Literal["audio"]
    data: str
    mimeType: str


class EmbeddedResource(_Block):
    """A document or file: `resource` has a `uri`, and `text` or a base64 `blob`."""

    type: Literal["resource"]
    resource: dict[str, Any]


class ResourceLink(_Block):
    """A link to a document or file."""

    type: Literal["resource_link"]
    uri: str
    name: str
    description: NotRequired[str]
    mimeType: NotRequired[str]


current_call_id: ContextVar[str | None] = ContextVar("hikidashi_call_id", default=None)
"""The id the model gave the call that is running; a target that knows it sets it around `Tool.call`."""

ContentBlock = TextContent | ImageContent | AudioContent | EmbeddedResource | ResourceLink

_HINTS: Mapping[str, str] = MappingProxyType(
    {
        "title": "title",
        "read_only": "readOnlyHint",
        "destructive": "destructiveHint",
        "idempotent": "idempotentHint",
        "open_world": "openWorldHint",
    }
)

_RESULT_FIELDS = frozenset({"content", "structuredContent", "isError", "is_error", "_meta"})

# The required fields of each block type; a dict without them is a value, not a block.
_BLOCK_FIELDS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "text": ("text",),
        "image": ("data", "mimeType"),
        "audio": ("data", "mimeType"),
        "resource": ("resource",),
        "resource_link": ("uri", "name"),
    }
)


def text(value: str) -> TextContent:
    """A text block."""
    return {"type": "text", "text": value}


def image(data: bytes, mime_type: str) -> ImageContent:
    """An image block of raw bytes."""
    return {"type": "image", "data": base64.b64encode(data).decode(), "mimeType": mime_type}


def audio(data: bytes, mime_type: str) -> AudioContent:
    """An audio block of raw bytes."""
    return {"type": "audio", "data": base64.b64encode(data).decode(), "mimeType": mime_type}


def resource(uri: str, content: str | bytes, mime_type: str | None = None) -> EmbeddedResource:
    """A resource block: text as text, bytes as base64."""
    body: dict[str, Any] = {"uri": uri}
    if mime_type is not None:
        body["mimeType"] = mime_type
    if isinstance(content, str):
        body["text"] = content
    else:
        body["blob"] = base64.b64encode(content).decode()
    return {"type": "resource", "resource": body}


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolAnnotations:
    """Hints about the side effects of a tool; `None` is unknown."""

    title: str | None = None
    read_only: bool | None = None
    destructive: bool | None = None
    idempotent: bool | None = None
    open_world: bool | None = None

    @classmethod
    def from_mcp(cls, hints: Mapping[str, Any] | None) -> ToolAnnotations:
        """The hints of an MCP `annotations` object in wire spelling; unknown ones are left out."""
        return cls(**{name: value for name, wire in _HINTS.items() if (value := (hints or {}).get(wire)) is not None})

    def to_mcp(self) -> dict[str, Any]:
        """The hints as an MCP `annotations` object, without unknown ones."""
        return {wire: value for name, wire in _HINTS.items() if (value := getattr(self, name)) is not None}


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolResult:
    """The result of a tool: content blocks for the model, structured content for programs."""

    content: tuple[ContentBlock, ...] = ()
    structured_content: Any = None
    """The same as `content`, as a JSON value; MCP requires an object."""
    is_error: bool = False
    meta: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """MCP's `_meta`: for programs, never shown to the model."""

    @classmethod
    def of(cls, value: object, *, structured: bool = False) -> ToolResult:
        """`value` as a result: results and MCP-shaped dicts stay whole, the rest becomes text.

        `None` is an empty text, a string is itself, everything else is JSON (see `json_text`). With
        `structured`, a value whose JSON is an object is structured content as well.

        Raises:
            Unsupported: `value` holds something that has no JSON form.
        """
        if isinstance(value, ToolResult):
            return value
        if _is_mcp_result(value):
            return cls.from_mcp(value)
        if value is None:
            return cls(content=(text(""),))
        if isinstance(value, str):
            return cls(content=(text(value),))
        written = json_text(value)
        is_object = structured and written.startswith("{")
        return cls(content=(text(written),), structured_content=json.loads(written) if is_object else None)

    @classmethod
    def __get_pydantic_core_schema__(cls, *_: object) -> CoreSchema:
        return any_schema()  # a tool may put any value into a result

    @classmethod
    def error(cls, message: str) -> ToolResult:
        """An error that the model can read and react to."""
        return cls(content=(text(message),), is_error=True)

    @classmethod
    def from_mcp(cls, result: Mapping[str, Any]) -> ToolResult:
        """The result in an MCP `tools/call` response; `is_error` is accepted for `isError`."""
        return cls(
            content=tuple(result.get("content") or ()),
            structured_content=result.get("structuredContent"),
            is_error=bool(result.get("isError", result.get("is_error", False))),
            meta=result.get("_meta") or {},
        )

    def to_mcp(self) -> dict[str, Any]:
        """The result as an MCP `tools/call` response, without empty fields other than `content`."""
        answer: dict[str, Any] = {"content": list(self.content)}
        if self.structured_content is not None:
            answer["structuredContent"] = self.structured_content
        if self.is_error:
            answer["isError"] = True
        if self.meta:
            answer["_meta"] = dict(self.meta)
        return answer

    @property
    def blocks(self) -> tuple[ContentBlock, ...]:
        """The blocks for a model: the content or, if empty, the structured content as JSON text."""
        if self.content or self.structured_content is None:
            return self.content
        return (text(json_text(self.structured_content)),)

    def is_repeated_by(self, block: ContentBlock) -> bool:
        """Whether `block` is only the structured content again, as JSON text."""
        if self.structured_content is None or block["type"] != "text":
            return False
        try:
            return json.loads(block["text"]) == self.structured_content
        except ValueError:
            return False

    @property
    def text(self) -> str:
        """The text blocks, joined by newlines."""
        return "\n".join(block["text"] for block in self.content if block["type"] == "text")


@dataclass(frozen=True, kw_only=True, slots=True)
class Tool:
    """A tool that any supported framework can offer to a model.

    `call` takes the arguments as a JSON object and validates them itself: what the model can
    repair comes back as a result with `is_error`, any other exception is the tool's own.
    """

    name: str
    description: str
    input_schema: dict[str, Any]
    """JSON Schema of the arguments, carried over untouched."""
    call: Callable[[dict[str, Any]], Awaitable[ToolResult]]
    output_schema: dict[str, Any] | None = None
    """JSON Schema of `ToolResult.structured_content`, if the source declares one."""
    annotations: ToolAnnotations = ToolAnnotations()
    aliases: tuple[str, ...] = ()
    """Further search terms for this tool; never shown as names."""
    defer_loading: bool = False
    """Leave the definition out of the prompt until a search finds it."""
    metadata: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Further data of the source, in MCP's `_meta` form if it has one."""

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name.strip():  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ToolValidationError(f"A tool needs a name, got {self.name!r}.")
        if not isinstance(self.description, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise self._wrong("description", "text; use an empty string for none")
        if not callable(self.call):
            raise self._wrong("call", "an async function that takes the arguments as a dict")
        if not is_sequence(self.aliases) or not all(isinstance(one, str) for one in self.aliases):
            raise self._wrong("aliases", "a tuple of texts, such as ('email',)")
        if not isinstance(self.input_schema, dict):  # pyright: ignore[reportUnnecessaryIsInstance]
            kind = type(self.input_schema).__name__
            raise ToolValidationError(
                f"The input schema of tool {self.name!r} must be a JSON Schema object (a dict), got {kind}.", self.name
            )

    def _wrong(self, field: str, expected: str) -> ToolValidationError:
        value: object = getattr(self, field)
        return ToolValidationError(
            f"`{field}` of tool {self.name!r} is {value!r:.100}: it must be {expected}.", self.name
        )

    def renamed(self, name: str) -> Tool:
        """The same tool under another name."""
        return replace(self, name=name)

    def prefixed(self, prefix: str) -> Tool:
        """The same tool under `prefix + name`."""
        return replace(self, name=prefix + self.name)

    def deferred(self, defer_loading: bool = True) -> Tool:
        """The same tool, left out of the prompt until a search finds it."""
        return replace(self, defer_loading=defer_loading)


def json_text(value: object) -> str:
    """`value` as readable JSON text, without escapes for printable characters.

    Beyond JSON's own types: dates and times in ISO 8601, `Decimal`, `UUID`, `Path` and enums by value,
    dataclasses and pydantic models as objects, sets and tuples as arrays, bytes as URL-safe base64, NaN and
    infinities as strings. An object that defines `__str__` or `__repr__` is that text.

    Raises:
        Unsupported: `value` holds an object that none of this covers, or a reference to itself.
    """
    try:
        written = json.dumps(value, ensure_ascii=False, allow_nan=False, default=_plain)
    except (TypeError, ValueError):  # keys that are not strings, NaN, a circular reference
        written = json.dumps(_finite(_plain(value)), ensure_ascii=False)
    except RecursionError as error:
        raise Unsupported(f"a {type(value).__name__} nested this deeply", "JSON") from error
    return well_formed(written)  # a JavaScript client may send lone surrogates


def _plain(value: object) -> Any:
    try:
        return to_jsonable_python(value, bytes_mode="base64", fallback=_str_of)
    except (ValueError, RecursionError) as error:  # PydanticSerializationError, or a circular reference
        raise Unsupported(f"a value of type {type(value).__name__} ({error})", "JSON") from error


def _finite(value: Any) -> Any:
    """`value`, a JSON value, with NaN and infinities as strings."""
    if isinstance(value, float) and not math.isfinite(value):
        return {math.inf: "Infinity", -math.inf: "-Infinity"}.get(value, "NaN")
    if is_object(value):
        return {key: _finite(item) for key, item in value.items()}
    return [_finite(item) for item in value] if is_list(value) else value


def _str_of(value: object) -> str:
    kind = type(value)
    if kind.__str__ is not object.__str__ or kind.__repr__ is not object.__repr__:
        return str(value)
    raise Unsupported(
        f"a {kind.__module__}.{kind.__qualname__}", "JSON", "Return a dataclass, a pydantic model, or text instead."
    )


def _is_mcp_result(value: object) -> TypeGuard[Mapping[str, Any]]:
    if not is_mapping(value) or not value.keys() <= _RESULT_FIELDS:
        return False  # an ordinary dict may have a `content` too, and must stay whole
    content = value.get("content")
    return is_list(content) and len(value) + len(content) > 1 and all(map(_is_block, content))


def _is_block(value: object) -> bool:
    if not is_mapping(value):
        return False
    needed = _BLOCK_FIELDS.get(value.get("type", ""))
    return needed is not None and all(name in value for name in needed)
