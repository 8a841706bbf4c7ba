"""What several targets share: tools in the form that model APIs and MCP clients take.

The root of an input schema, media types, names, results without repetition, and checks of a list of tools. No
framework is imported here.
"""

from __future__ import annotations

import base64
import codecs
import hashlib
import json
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from difflib import get_close_matches
from email.message import Message
from functools import reduce
from itertools import count
from typing import Any
from urllib.parse import unquote

from ..common.json import as_list, is_iterable, is_list, is_mapping, is_object
from ..errors import ToolValidationError, Unsupported
from ..tool import ContentBlock, Tool, ToolResult, json_text

Schema = dict[str, Any]

_DEPTH = 200
"""Levels of nesting; pydantic, which writes the list of an MCP server, fails somewhat above."""

_PROPERTY = re.compile(r"[a-zA-Z0-9_.-]{1,64}")
_OLD_DRAFT = re.compile(r"draft-0[3-7]")
_COMPOSITION = frozenset({"$ref", "allOf", "anyOf", "oneOf"})
_DEFINITIONS = ("$defs", "definitions")
_SAYS_NOTHING = frozenset({"title", "description", "default", "examples", "$comment", "deprecated"})
_STAYS_BEHIND = frozenset({*_DEFINITIONS, "$schema", "$anchor", "$dynamicAnchor", "$comment"})
_CONDITION = frozenset({"if", "then", "else"})
_MISSING = object()


class _NoObjectRoot(Exception):  # noqa: N818 - never leaves this module
    """Why a root cannot be rewritten, and what to do about it."""

    def __init__(self, why: str, remedy: str) -> None:
        super().__init__(why)
        self.why = why
        self.remedy = remedy


_SHORTEST_DEEP = 2 * _DEPTH
"""The fewest characters of a schema that deep; shorter ones need no check."""

_ONE_OBJECT = 'Give it `"type": "object"` at the root, with one property for each argument.'
_WRAP_UNION = (
    "Put the union into a property: let the function take one argument of that type, or wrap the type in a model "
    "with one field. A tool that is not yours can only be left out."
)


def root_schema(schema: object, *, tool_name: str, target: str, for_claude: bool = True) -> Schema:
    """`schema` with one object at its root: `schema` itself where it has that already.

    Args:
        schema: the input schema of a tool.
        tool_name: the tool, for the error.
        target: where the tool goes, for the error.
        for_claude: whether a union at the root and the names of arguments are held to the rules of the Anthropic
            API; MCP itself has none for them.

    Raises:
        Unsupported: the root is not an object, is a union of several, or refers to something that is not in the
            schema; an argument has a name that the API refuses; or the schema is not JSON.
    """
    try:
        plain = _json(schema)
        flat = _with_object_root(plain, for_claude)
        _check_arguments(flat, for_claude)
    except _NoObjectRoot as refused:
        raise Unsupported(f"the input schema of tool {tool_name!r}, {refused.why}", target, refused.remedy) from refused
    return flat


def _with_object_root(schema: Schema, for_claude: bool) -> Schema:
    unions = () if for_claude else ("anyOf", "oneOf", "allOf")  # which MCP itself carries
    if schema.get("type") == "object" and not any(key in schema for key in _COMPOSITION if key not in unions):
        return schema
    kept = {key: schema[key] for key in unions if key in schema}
    composed = {key: value for key, value in schema.items() if key not in kept}
    flat = {**_flat(composed, schema, frozenset({"#"}), is_root=True), **kept}
    if not _may_be_object(flat, schema):
        why = f"type is {flat['type']!r}" if "type" in flat else "allows no object"
        raise _NoObjectRoot(f"whose root {why}", _ONE_OBJECT)
    flat = {**({} if "type" in flat else {"type": "object"}), **flat, "type": "object"}
    _check_references(schema, flat)
    return flat


def _flat(schema: object, document: Schema, seen: frozenset[str], *, is_root: bool = False) -> Schema:
    """`schema` without composition at its root; definitions of a part stay where they are."""
    if schema is True:
        return {}
    if not is_object(schema):
        raise _NoObjectRoot(f"part of whose root is {schema!r}", _ONE_OBJECT)
    if not is_root and "$id" in schema:
        raise _NoObjectRoot(f"whose root is the schema {schema['$id']!r}, with references of its own", _ONE_OBJECT)
    if dynamic := next((key for key in ("$dynamicRef", "$recursiveRef") if key in schema), None):
        raise _NoObjectRoot(f"whose root is a `{dynamic}`", _ONE_OBJECT)
    parts = [_flat(part, document, at) for part, at in _parts(schema, document, seen)]
    left_out = _COMPOSITION if is_root else _COMPOSITION | _STAYS_BEHIND
    rest = {key: value for key, value in schema.items() if key not in left_out}
    if "$ref" in schema and _OLD_DRAFT.search(str(document.get("$schema"))):  # before 2019-09 the rest is ignored
        rest = {key: value for key, value in rest.items() if key in _SAYS_NOTHING | _STAYS_BEHIND}
    return reduce(_both, [*parts, rest], Schema())


def _parts(body: Schema, document: Schema, seen: frozenset[str]) -> Iterator[tuple[object, frozenset[str]]]:
    """The schemas that `body` is composed of, each with the references that led there."""
    if "$ref" in body:
        target, reference = _resolved(document, body["$ref"]), str(body["$ref"])
        if reference in seen:
            raise _NoObjectRoot(f"whose root refers to itself ({reference!r})", _ONE_OBJECT)
        yield target, seen | {reference}
    for part in _list_of(body, "allOf"):
        yield part, seen
    for keyword in ("anyOf", "oneOf"):
        if keyword not in body:
            continue
        possible = [option for option in _list_of(body, keyword) if _may_be_object(option, document)]
        if len(possible) != 1:
            raise _NoObjectRoot(f"which has `{keyword}` at its root", _WRAP_UNION)
        yield possible[0], seen


def _list_of(body: Schema, keyword: str) -> list[object]:
    value = body.get(keyword, [])
    if not is_list(value):
        raise _NoObjectRoot(f"whose `{keyword}` is {value!r}", "It must be a list of schemas.")
    return value


def _may_be_object(option: object, document: Schema) -> bool:
    """Whether some object matches `option`; True if its type does not decide it."""
    for _ in range(_DEPTH):
        if not is_object(option) or "$ref" not in option:
            break
        option = _resolved(document, option["$ref"])
    if not is_object(option):
        return option is not False
    if "type" in option:
        return "object" in _kinds(option["type"])
    if "const" in option:
        return isinstance(option["const"], dict)
    values = option.get("enum")
    return not is_list(values) or any(isinstance(value, dict) for value in values)


def _kinds(kind: object) -> list[object]:
    return kind if is_list(kind) else [kind]


# Merging two schemas that must both be valid


def _both(one: Schema, other: Schema) -> Schema:
    """A schema that is valid where both are; annotations of `other` take precedence."""
    if not one or not other:
        return one or other
    if (_is_closed(one) and _adds_arguments(one, other)) or (_is_closed(other) and _adds_arguments(other, one)):
        raise _NoObjectRoot("where a part of the root forbids the arguments of another", _ONE_OBJECT)
    conditions = [{key: part[key] for key in _CONDITION if key in part} for part in (one, other)]
    if all(conditions) and conditions[0] != conditions[1]:
        raise _NoObjectRoot("where two parts of the root have conditions", _ONE_OBJECT)
    merged = dict(one)
    for key, value in other.items():
        merged[key] = value if key not in one or key in _SAYS_NOTHING else _both_values(key, one[key], value)
    return merged


def _both_values(key: str, one: Any, other: Any) -> Any:
    if one == other:
        return one
    if key in ("properties", "patternProperties") and is_object(one) and is_object(other):
        twice = {name for name in one.keys() & other.keys() if one[name] != other[name]}
        return {**one, **other, **{name: {"allOf": [one[name], other[name]]} for name in twice}}
    if key == "required" and is_list(one) and is_list(other):
        return list(dict.fromkeys(one + other))
    if key == "type":
        return [kind for kind in _kinds(one) if kind in _kinds(other)]
    raise _NoObjectRoot(f"where two parts of the root have a `{key}` each", _ONE_OBJECT)


def _is_closed(schema: Schema) -> bool:
    return any(schema.get(key, True) not in (True, {}) for key in ("additionalProperties", "unevaluatedProperties"))


def _adds_arguments(closed: Schema, other: Schema) -> bool:
    if other.get("patternProperties", {}) != closed.get("patternProperties", {}) and "patternProperties" in other:
        return True
    return not set(other.get("properties") or ()) <= set(closed.get("properties") or ())


# References


def _resolved(document: Schema, reference: object) -> object:
    found = _pointed_at(document, reference)
    if found is _MISSING:
        raise _NoObjectRoot(
            f"whose root refers to {reference!r}, which is not in it",
            "Put what it refers to into `$defs`, and refer to it as `#/$defs/...`.",
        )
    return found


def _pointed_at(document: object, reference: object) -> object:
    """The target of a JSON pointer in a URI fragment; `_MISSING` for any other reference."""
    if reference == "#":
        return document
    if not isinstance(reference, str) or not reference.startswith("#/"):
        return _MISSING
    found: Any = document
    for step in unquote(reference[2:]).split("/"):
        key = step.replace("~1", "/").replace("~0", "~")
        if is_object(found) and key in found:
            found = found[key]
        elif is_list(found) and key.isdecimal() and int(key) < len(found):
            found = found[int(key)]
        else:
            return _MISSING
    return found


def _check_references(before: Schema, after: Schema) -> None:
    """Raise unless every reference resolves to the same target as before; `#`, the root, does by construction."""
    for reference in set(_references(after)) - {"#"}:
        was = _pointed_at(before, reference)
        if was is not _MISSING and was != _pointed_at(after, reference):
            raise _NoObjectRoot(
                f"which refers to {reference!r}, a part of its root",
                "Put what it refers to into `$defs`, and refer to it as `#/$defs/...`.",
            )


def _references(value: object) -> Iterator[str]:
    if is_object(value) and isinstance(value.get("$ref"), str):
        yield value["$ref"]
    for child in _children(value):
        yield from _references(child)


# What every target requires of the result


def _json(schema: object) -> Schema:
    """`schema` as plain JSON without keywords that are null; the same object if nothing changes."""
    if not is_object(schema):
        raise _NoObjectRoot(f"which is a {type(schema).__name__}", "It must be a JSON Schema object, a dict.")
    body = schema
    try:
        written = json.dumps(body, allow_nan=False)
    except TypeError:
        try:
            written = json_text(body)
        except Unsupported as error:
            raise _NoObjectRoot(f"which holds {error.what}", "Leave it out, or write it as JSON.") from error
        body = Schema(json.loads(written))
    except ValueError as error:
        raise _NoObjectRoot(
            f"which is not JSON ({error})", "Leave out NaN, infinities and circular references."
        ) from error
    except RecursionError as error:
        raise _too_deep() from error
    if len(written) > _SHORTEST_DEEP and _deeper_than(body, _DEPTH):
        raise _too_deep()
    return {key: value for key, value in body.items() if value is not None} if None in body.values() else body


def _too_deep() -> _NoObjectRoot:
    return _NoObjectRoot(f"which is nested more than {_DEPTH} levels deep", "Refer to a definition in `$defs` instead.")


def _deeper_than(value: object, levels: int) -> bool:
    layer = [value]
    for _ in range(levels):
        layer = [child for item in layer for child in _children(item)]
        if not layer:
            return False
    return True


def _children(value: object) -> list[Any]:
    if is_object(value):
        return list(value.values())
    return value if is_list(value) else []


def _check_arguments(schema: Schema, for_claude: bool) -> None:
    """Raise unless Claude Code can read the list of arguments; otherwise it drops every tool of the server."""
    properties, required = schema.get("properties", {}), schema.get("required", [])
    if not is_object(properties):
        raise _NoObjectRoot(f"whose `properties` are {properties!r}", "They must be an object of schemas by name.")
    for name, value in properties.items():
        if not isinstance(value, dict | bool):
            raise _NoObjectRoot(f"whose argument {name!r} is {value!r}", "It must be a schema, an object.")
        if for_claude and not _PROPERTY.fullmatch(str(name)):
            raise _NoObjectRoot(
                f"whose argument {name!r} has a name that the Anthropic API refuses",
                "It takes 1 to 64 ASCII letters, digits, `_`, `.` and `-`: rename the argument.",
            )
    if not is_list(required) or not all(isinstance(name, str) for name in required):
        raise _NoObjectRoot(f"whose `required` is {required!r}", "It must be a list of names.")
    if not isinstance(schema.get("$schema", ""), str):
        raise _NoObjectRoot(f"whose `$schema` is {schema['$schema']!r}", "It must be a URI.")


# Media types: which content is text, and which images a model can read


IS_ERROR = "This result is an error:"
"""The first words of an error that cannot have `is_error`."""

IMAGES = frozenset({"image/jpeg", "image/png", "image/gif", "image/webp"})
"""The image types that the Anthropic API takes."""

_TEXT = frozenset(
    {
        "application/ecmascript",
        "application/graphql",
        "application/javascript",
        "application/json",
        "application/sql",
        "application/toml",
        "application/x-ndjson",
        "application/x-sh",
        "application/x-yaml",
        "application/xml",
        "application/yaml",
        "image/svg+xml",
    }
)
_TEXT_SUFFIXES = ("+json", "+xml", "+yaml")
_BOMS = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}


def is_text(media_type: str) -> bool:
    """Whether content of this type is text that a model can read as it is."""
    kind = media_type.partition(";")[0].strip().lower()
    return kind.startswith("text/") or kind in _TEXT or kind.endswith(_TEXT_SUFFIXES)


def decoded(data: bytes, media_type: str) -> str | None:
    """`data` as text in the charset that it or its type names, else UTF-8; `None` if it is not that."""
    marked = next((name for bom, name in _BOMS.items() if data.startswith(bom)), None)
    try:
        return data.decode(marked or _charset(media_type) or "utf-8")
    except (LookupError, UnicodeDecodeError):
        return None


def utf16_length(text: str) -> int:
    """The length of `text` as Claude Code counts it, in UTF-16 code units."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def _charset(media_type: str) -> str | None:
    header = Message()
    header["content-type"] = media_type
    return header.get_content_charset()


# Tool names that model APIs accept: ASCII letters, digits, `_` and `-`, up to a length.
#
# A valid name is its own wire name. Any other keeps its valid characters and gets a short hash of the whole name, so
# that wire names are unique and the same in every process.


_UNFIT = re.compile(r"[^a-zA-Z0-9_-]")
_UNFIT_RUN = re.compile(r"[^a-zA-Z0-9-]+")
_HASH_BYTES = 5
_HASH_LETTERS = 8  # of base32: two of 10,000 names have the same hash once in 20,000 catalogues
_FEWEST = 2 * _HASH_LETTERS
_UNREADABLE = "tool"


def plain_name(name: str) -> str:
    """`name` with `_` for each character that is not allowed, as Claude Code itself replaces them."""
    return _UNFIT.sub("_", name)


class WireNames:
    """A two-way mapping between the names of tools and their wire names of at most `longest` characters.

    A name with ASCII punctuation or spaces has `_` in their place: `files.read` is `files_read`. If another tool is
    called that, or the name has other characters or is too long, it ends with a hash: `tool_x3k5qw2a`.

    Args:
        names: The names of the tools; more may be added.
        longest: Maximum length of a wire name, at least 16.
        alike: Normalises a name as the target does when it compares names.

    Raises:
        ValueError: `longest` leaves no room for a hash.
    """

    def __init__(self, names: Iterable[str] = (), *, longest: int = 64, alike: Callable[[str], str] = str) -> None:
        if longest < _FEWEST:
            raise ValueError(f"`longest` is {longest}: a wire name needs {_FEWEST} characters or more.")
        self._longest = longest
        self._alike = alike
        self._wire: dict[str, str] = {}
        self._original: dict[str, str] = {}
        self._taken: set[str] = set()
        self.add(names)

    def add(self, names: Iterable[str]) -> None:
        """Give wire names to more tools; those given before stay as they are."""
        new = [name for name in dict.fromkeys(names) if name not in self._wire]
        # Names that fit come first: they must not change because another one looks like them.
        for name in sorted(new, key=lambda name: not self._fits(name)):
            self._give(name)

    def __contains__(self, name: object) -> bool:
        return name in self._wire

    def of(self, name: str) -> str:
        """The wire name of `name`; a new one if it has none yet."""
        if name not in self._wire:
            self._give(name)
        return self._wire[name]

    def original(self, wire: str) -> str | None:
        """The name whose wire name is `wire`; None if there is none."""
        return self._original.get(wire)

    def _give(self, name: str) -> None:
        for wire in self._candidates(name):
            if (key := self._alike(wire)) not in self._taken:
                self._taken.add(key)
                self._wire[name], self._original[wire] = wire, name
                return

    def _fits(self, name: str) -> bool:
        return 0 < len(name) <= self._longest and _UNFIT.search(name) is None

    def _candidates(self, name: str) -> Iterator[str]:
        if name.isascii() and 0 < len(name) <= self._longest:
            yield plain_name(name)
        for attempt in count():
            yield _hashed(name, self._longest, attempt)


def _hashed(name: str, longest: int, attempt: int) -> str:
    """The valid characters of `name`, and a hash of all of it."""
    folded = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
    readable = _UNFIT_RUN.sub("_", folded).strip("_")[: longest - _HASH_LETTERS - 1].rstrip("_") or _UNREADABLE
    digest = hashlib.sha256(f"{name}\0{attempt}".encode("utf-8", "surrogatepass")).digest()
    return f"{readable}_{base64.b32encode(digest[:_HASH_BYTES]).decode().lower()}"


# Structured content and text of a result, without what is in both.
#
# MCP asks servers to send structured content as text too, and the SDKs put a plain value under the key `result`. A
# framework that shows a model both would show it everything twice. What is in only one of the two stays.


NOTHING = object()
"""No structured content beyond the text."""

_LONG_ENOUGH = 20
"""Characters; a shorter text inside a longer one may be there by chance."""


def without_repetition(result: ToolResult) -> tuple[Any, list[ContentBlock]]:
    """The structured content of `result`, or `NOTHING`, and the blocks to show beside it."""
    structured = result.structured_content
    if structured is None:
        return NOTHING, list(result.content)
    wrapped = structured["result"] if is_object(structured) and list(structured) == ["result"] else NOTHING
    texts = [block for block in result.content if _text(block) is not None]
    if wrapped is not NOTHING and _is_list_of(texts, wrapped):
        return wrapped, _without(result.content, texts)
    if any(_is_list_of(texts, value) for value in (structured, *_children(structured))):
        return structured, _without(result.content, texts)
    says_nothing = structured in ({}, []) and bool(result.content)
    if says_nothing or any(_says_more(str(_text(block)), structured, wrapped) for block in texts):
        return NOTHING, list(result.content)
    known = _Known(structured, wrapped)
    repeated = [block for block in texts if known.has(str(_text(block)))]
    unwrap = any(_is_value(str(_text(block)), wrapped) for block in repeated)
    return wrapped if unwrap else structured, _without(result.content, repeated)


class _Known:
    """All values in structured content, nested ones included."""

    def __init__(self, structured: Any, wrapped: Any) -> None:
        self._wholes = [structured] if wrapped is NOTHING else [structured, wrapped]
        self._strings = set(_strings(structured))
        self._parts = [*self._wholes, *_children(structured), *([] if wrapped is NOTHING else _children(wrapped))]

    def has(self, text: str) -> bool:
        """Whether `text` is one of them, literally or as JSON."""
        if not text or text in self._strings or any(_is_value(text, whole) for whole in self._wholes):
            return True
        value = _parsed(text)
        is_empty = value in ({}, [])
        return isinstance(value, dict | list) and not is_empty and any(_covers(part, value) for part in self._parts)


def _text(block: ContentBlock) -> str | None:
    match block["type"]:
        case "text":
            return block["text"]
        case "resource":
            return block["resource"].get("text")
        case _:
            return None


def _without(blocks: Iterable[ContentBlock], left_out: list[ContentBlock]) -> list[ContentBlock]:
    ids = set(map(id, left_out))
    return [block for block in blocks if id(block) not in ids]


def _is_list_of(texts: list[ContentBlock], value: Any) -> bool:
    """Whether each text is one item of `value`, in order: how SDKs write a list."""
    if not is_list(value) or not texts or len(value) != len(texts):
        return False
    return all(_is_value(str(_text(block)), item) for block, item in zip(texts, value, strict=True))


def _is_value(text: str, value: Any) -> bool:
    """Whether `text` is `value`: literally, as JSON, or as Python's `str`."""
    if isinstance(value, str) and text == value:
        return True
    if isinstance(value, bool | int | float | None) and text == str(value):
        return True
    parsed = _parsed(text)
    return parsed is not NOTHING and _same(parsed, value)


def _says_more(text: str, structured: Any, wrapped: Any) -> bool:
    """Whether `text` has all of the structured content, and more."""
    value = _parsed(text)
    if isinstance(value, dict | list):
        return _covers(value, structured) and not _same(value, structured)
    if isinstance(wrapped, str):
        return len(wrapped) >= _LONG_ENOUGH and wrapped in text and wrapped != text
    return any(written in text for written in _written(structured))


def _written(value: Any) -> Iterator[str]:
    for indent, separators in ((None, None), (None, (",", ":")), (2, None), (4, None)):
        for ensure_ascii in (False, True):
            yield json.dumps(value, indent=indent, separators=separators, ensure_ascii=ensure_ascii)


def _parsed(text: str) -> Any:
    with suppress(ValueError, RecursionError):
        return json.loads(text)
    return NOTHING


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    for child in _children(value):
        yield from _strings(child)


def _same(one: Any, other: Any) -> bool:
    return _covers(one, other) and _covers(other, one)


def _covers(whole: Any, part: Any) -> bool:
    """Whether `whole` contains everything in `part`; true is not 1."""
    if is_object(whole) and is_object(part):
        return all(key in whole and _covers(whole[key], item) for key, item in part.items())
    if is_list(whole) and is_list(part):
        return len(whole) == len(part) and all(map(_covers, whole, part))
    return isinstance(whole, bool) == isinstance(part, bool) and whole == part


# Checks of a list of tools


ALIASES = "hikidashi/aliases"
"""The key in `_meta` for the aliases of a tool, if a target has no other place for them."""


PYDANTIC_AI_META = "hikidashi/pydantic-ai"
"""The key in `_meta` for what only pydantic-ai has, so that a conversion back restores it."""


def mapping(value: object) -> dict[str, Any]:
    """`value` if it is a mapping, else an empty one: metadata of a foreign source may be anything."""
    return dict(value) if is_mapping(value) else {}


def strings(value: object) -> list[str]:
    """The strings in `value`, if it is a list: see `mapping`."""
    return [item for item in as_list(value) if isinstance(item, str)]


def listed(tools: object) -> list[Any]:
    """`tools` as a list: the first check of everything that takes tools.

    Raises:
        ToolValidationError: it is a single tool, a string or something else that is not a list.
    """
    if is_mapping(tools) or isinstance(tools, Tool):
        raise ToolValidationError(f"Expected a list of tools, got one {type(tools).__name__}. Pass `[tool]`.")
    if isinstance(tools, str | bytes) or not is_iterable(tools):
        raise ToolValidationError(f"Expected a list of tools, got a {type(tools).__name__}. Pass `[tool]`.")
    return list(tools)


def neutral_tools(tools: object) -> list[Tool]:
    """`tools` as a list of hikidashi tools.

    Raises:
        ToolValidationError: it is not a list, or has something that is not a hikidashi tool.
    """
    checked = listed(tools)
    for tool in checked:
        if not isinstance(tool, Tool):
            raise ToolValidationError(
                f"Expected hikidashi tools, got a {type(tool).__name__} ({tool!r:.100}). Convert it first: "
                "`from_function`, `from_mcp`, `from_pydantic_ai` or `from_strands`."
            )
    return checked


def by_name(tools: Iterable[Tool], *, seen_as: Callable[[str], str] = str) -> dict[str, Tool]:
    """The tools by their name in the target, in order.

    Raises:
        ToolValidationError: `tools` is not a list of hikidashi tools, or two of them have the same name there.
    """
    named: dict[str, Tool] = {}
    for tool in neutral_tools(tools):
        seen = seen_as(tool.name)
        if seen in named:
            both = f"{named[seen].name!r} and {tool.name!r}"
            raise ToolValidationError(
                f"Two tools, {both}, have the same name {seen!r} in the target. Rename one with `tool.renamed(...)`.",
                tool.name,
            )
        named[seen] = tool
    return named


def unknown_tool(name: str, known: Iterable[str]) -> ToolResult:
    """The error for a model that calls an unknown tool."""
    names = list(known)
    close = get_close_matches(name, names, n=1)
    hint = f"Did you mean {close[0]!r}?" if close else f"Known tools: {', '.join(names[:20]) or 'none'}."
    return ToolResult.error(f"There is no tool {name!r}. {hint}")


def failed_tool(name: str, error: BaseException) -> ToolResult:
    """The error for a model whose call made the tool raise."""
    return ToolResult.error(f"Tool {name!r} failed. {type(error).__name__}: {error}")
