"""What a model reads of a search: definitions of tools within a budget of tokens, and sentences in its language.

The answer to a search is a sentence, then one JSON object per tool and line, as many as an `AnswerBudget` allows.
`found_names` reads the lines back when a conversation is resumed in another process.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..common.json import as_list, is_list, is_mapping, is_object
from ..texts import Language, texts
from ..tokens import estimate_tokens
from ..tool import json_text
from .catalog import MAX_LIMIT
from .engine.entry import Entry

_DEFAULT = 5_000
_FEWEST = 200
_CHARACTERS_PER_TOKEN = 6  # of text without spaces, which the estimate takes for a few words
_ABOUT = 120  # characters of a description in a one-line summary
_FRAME = 150  # tokens reserved for the sentences around the tools
_LEAST_DESCRIPTION = 60  # tokens of a description that are kept while the schema is shortened
_CUT = " […cut: {shown:,} of {total:,} characters]"

_SHORT_SCHEMA = " […the arguments are shown in short]"


@dataclass(frozen=True, slots=True)
class AnswerBudget:
    """Maximum number of tokens (estimated) in the answer to one search.

    The best tools are shown in full as far as they fit, the next ones by name and one line, and the rest is counted. If
    the best tool alone is too long, its description is cut, then the descriptions in its schema, then the schema.

    Raises:
        ValueError: `tokens` is less than 200, too few to show a tool.
    """

    tokens: int = _DEFAULT

    def __post_init__(self) -> None:
        if type(self.tokens) is not int or self.tokens < _FEWEST:
            raise ValueError(f"`tokens` of a budget is {self.tokens!r}: use a whole number from {_FEWEST} on.")

    def shown(self, entries: Sequence[Entry]) -> Shown:
        """Which of `entries`, best first, are shown in full, and which in one line."""
        left = self.tokens - _FRAME
        lines: list[int] = []
        for entry in entries:
            line = tokens_of(short_line(entry))
            if lines and line > left:
                break
            lines.append(line)
            left -= line
        whole: list[Entry] = []
        short: list[Entry] = []
        for place, (entry, line) in enumerate(zip(entries, lines, strict=False)):
            needed = _cost_of_line(entry)
            if needed <= left + line:
                left -= needed - line
                whole.append(entry)
            elif place == 0:
                left = 0
                whole.append(self.cut(entry, self.tokens - _FRAME - sum(lines[1:])))
            else:
                short.append(entry)
        return Shown(tuple(whole), tuple(short), len(entries) - len(lines))

    def cut(self, entry: Entry, tokens: int | None = None) -> Entry:
        """`entry` with a definition of at most `tokens`, by default the whole budget; `entry` itself if it fits.

        Levels of a schema below the sixtieth are left out in any case: some frameworks refuse them.
        """
        room = max(_FEWEST // 2, self.tokens - _FRAME if tokens is None else tokens)
        if _cost_of_line(entry) <= room:
            schema = _shallow_schema(entry.input_schema)
            return entry if schema is entry.input_schema else replace(entry, input_schema=schema)
        bare = replace(entry, description="")
        least = min(_LEAST_DESCRIPTION, tokens_of(entry.description))
        note = ""
        for schema in smaller_schemas(entry.input_schema):
            bare = replace(bare, input_schema=schema)
            if _cost_of_line(bare) + tokens_of(note) + least <= room:
                break
            note = _SHORT_SCHEMA
        return replace(
            bare, description=_cut_text(entry.description, room - _cost_of_line(bare) - tokens_of(note)) + note
        )


@dataclass(frozen=True, slots=True)
class Shown:
    """The tools in the answer to a search."""

    whole: tuple[Entry, ...]
    """Shown in full: name, description and input schema."""
    short: tuple[Entry, ...] = ()
    """Shown by name and one line."""
    further: int = 0
    """Number of tools that are only counted."""


DEFAULT_BUDGET = AnswerBudget()


def budget_of(given: AnswerBudget | int) -> AnswerBudget:
    """The value of a `budget` option as an `AnswerBudget`.

    Raises:
        ValueError: it is not a whole number, or too small.
    """
    return given if isinstance(given, AnswerBudget) else AnswerBudget(given)


def tokens_of(text: str) -> int:
    """Estimated tokens of `text`; at least one for every six characters."""
    return max(estimate_tokens(text), -(-len(text) // _CHARACTERS_PER_TOKEN))


def definition_line(entry: Entry) -> str:
    """A tool in full, as one line of JSON: name, description and input schema."""
    return _one_line(
        {
            "name": entry.name,
            "description": entry.description,
            "input_schema": compact_schema(entry.input_schema),
        }
    )


def short_line(entry: Entry) -> str:
    """A tool by name and short description; the first key differs from that of a definition."""
    summary = " ".join(entry.description[: 4 * _ABOUT].split())
    return _one_line({"tool": entry.name, "about": summary if len(summary) <= _ABOUT else summary[: _ABOUT - 1] + "…"})


def _cost_of_line(entry: Entry) -> int:
    return tokens_of(definition_line(entry))


def _cut_text(description: str, room: int) -> str:
    """`description` cut to `room` tokens, with a note of how much is missing."""
    if tokens_of(description) <= room:
        return description
    note = _CUT.format(shown=len(description), total=len(description))
    low, high = 0, min(len(description), max(room, 0) * _CHARACTERS_PER_TOKEN)
    while low < high:
        middle = (low + high + 1) // 2
        if tokens_of(json.dumps(description[:middle], ensure_ascii=False) + note) <= room:
            low = middle
        else:
            high = middle - 1
    return description[:low].rstrip() + _CUT.format(shown=low, total=len(description))


def _one_line(shown: dict[str, Any]) -> str:
    try:
        line = json.dumps(shown, ensure_ascii=False, separators=(",", ":"))
        line.encode()
    except (TypeError, ValueError):  # not a JSON value, or a lone surrogate
        return json.dumps(json.loads(json_text(shown)), ensure_ascii=False, separators=(",", ":"))
    return line


SEARCH_TOOLS = "search_tools"
CALL_TOOL = "call_tool"
_NAMED = 5  # unknown names in a note
_LONGEST = 128  # characters of each
_LONGEST_ECHO = 256  # characters of what a model gave


class Wording:
    """The sentences of one language."""

    def __init__(self, sentences: Mapping[str, str]) -> None:
        self._sentences = sentences

    def __getitem__(self, key: str) -> str:
        return self._sentences[key]

    def search_description(self, about: str | None, *, loads: bool = False) -> str:
        """The description of the search tool, or of one that `loads` what it finds; `about` is added by the caller."""
        description = self["search and load" if loads else "search"]
        return description + (" " + self["covers"].format(about=about) if about else "")

    def definitions(self, query: str, shown: Shown, *, confident: bool = True) -> str:
        """Found tools, with their definitions as far as the budget allows."""
        return self._listed(query, shown, [*map(definition_line, shown.whole)], "found" if confident else "nearest")

    def preloaded(self, shown: Shown) -> str:
        """Tools for a user's message, with their definitions as far as the budget allows."""
        return self._listed("", shown, [*map(definition_line, shown.whole)], "preloaded")

    def loaded(self, query: str, shown: Shown, *, confident: bool = True) -> str:
        """Found tools by name, for frameworks that show the definitions themselves."""
        lines = [json.dumps({"name": entry.name}, separators=(",", ":")) for entry in shown.whole]
        return self._listed(query, shown, lines, "loaded" if confident else "nearest loaded")

    def _listed(self, query: str, shown: Shown, lines: list[str], head: str) -> str:
        count = len(shown.whole) + len(shown.short) + shown.further
        sentences = [self[head].format(count=count, query=query), *lines]
        return "\n".join([*sentences, *self.rest(shown)])

    def rest(self, shown: Shown) -> Iterable[str]:
        """The lines about tools that are not shown in full."""
        if shown.short:
            yield self["short"].format(count=len(shown.short))
            yield from map(short_line, shown.short)
        if shown.further:
            count = len(shown.whole) + len(shown.short) + shown.further
            yield self["further at least" if count >= MAX_LIMIT else "further"].format(count=shown.further)

    def nothing(self, query: str) -> str:
        """Says that no tool matches."""
        return self["nothing"].format(query=query)

    def missing(self, hidden: Collection[str], unknown: Collection[str]) -> Iterable[str]:
        """Lines about tools of servers that do not answer, and about selected names that no tool has."""
        if hidden:
            yield self["hidden"].format(names=", ".join(hidden))
        if unknown:
            some = [repr(_cut(name, _LONGEST)) for name in unknown]
            more = [f"… (+{len(some) - _NAMED})"] if len(some) > _NAMED else []
            yield self["no such names"].format(names=", ".join([*some[:_NAMED], *more]))

    def only_hidden(self, query: str, names: Iterable[str]) -> str:
        """Says that no matching tool can be used now."""
        return self["only hidden"].format(query=query, names=", ".join(names))

    def unreachable(self, name: str) -> str:
        """Says that the server of a tool does not answer."""
        return self["unreachable"].format(name=_cut(name))

    def no_name(self, given: object) -> str:
        """Says that a call has no tool name."""
        return self["no name"].format(name="missing" if given is None else echo(given))

    def undiscovered(self, entry: Entry, budget: AnswerBudget) -> str:
        """Says that the tool was not called, with its definition."""
        line = definition_line(budget.cut(entry))
        return self["undiscovered"].format(name=entry.name, search=SEARCH_TOOLS) + "\n" + line

    def undiscovered_but_loaded(self, name: str) -> str:
        """Says that the tool was not called, and is loaded now."""
        return self["undiscovered loaded"].format(name=name, search=SEARCH_TOOLS)

    def unknown(self, name: str, near: Iterable[str]) -> str:
        """Says that there is no such tool, with similar names."""
        names = ", ".join(near)
        key = "unknown near" if names else "unknown"
        return self[key].format(name=_cut(name), search=SEARCH_TOOLS, near=names)

    def not_listed(self, name: str) -> str:
        """Says that a tool is not listed, and how to find and call it."""
        return self["not listed"].format(name=_cut(name))

    def definition(self, entry: Entry, budget: AnswerBudget) -> str:
        """The definition of a tool, to be added to an error."""
        return self["definition"].format(name=entry.name) + "\n" + definition_line(budget.cut(entry))


def echo(value: object) -> str:
    """What a model gave in place of something else, in short."""
    return _cut(repr(value))


def _cut(text: str, longest: int = _LONGEST_ECHO) -> str:
    return text if len(text) <= longest else text[: longest - 1] + "…"


def wording(language: Language) -> Wording:
    """The sentences of `language`.

    Raises:
        ValueError: `language` is unknown.
    """
    return Wording(texts("search", language))


def found_names(text: str) -> list[str]:
    """The names of the tools in the answer to a search."""
    names: list[str] = []
    for line in text.split("\n"):  # not `splitlines`: a description may have a U+2028
        if not line.startswith('{"name":'):
            continue
        try:
            shown: dict[str, Any] = json.loads(line)
        except ValueError:  # truncated by a limit on results
            continue
        names.append(str(shown["name"]))
    return names


_SCHEMAS_BY_NAME = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")

_SCHEMAS = ("items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames")

_LISTS_OF_SCHEMAS = ("anyOf", "oneOf", "allOf", "prefixItems")

_ANNOTATIONS = frozenset({"examples", "example", "$comment", "default", "deprecated", "markdownDescription"})

_SOME_VALUES = 8
_DEEPEST = 60  # deeper levels do not help a model, recursion is limited, and strands leaves a deeper tool out
_DEEPER = "Deeper levels are left out here."
_Change = Callable[[dict[str, Any], int], dict[str, Any]]


def compact_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """`schema` without `$schema` and generated titles; a property named `title` stays."""
    return _changed(schema, lambda part, _: part, 0)


def _shallow_schema(schema: dict[str, Any]) -> dict[str, Any]:
    """`schema` itself, or without its levels below the sixtieth."""
    layer: list[Any] = [schema]
    for _ in range(_DEEPEST + 1):
        layer = [inner for part in layer for inner in _parts(part)]
        if not layer:
            return schema
    return compact_schema(schema)


def smaller_schemas(schema: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """`schema`, then ever shorter versions: less of descriptions, annotations, enums, deep levels, arguments."""
    yield compact_schema(schema)
    for length in (200, 60, 0):
        yield _changed(schema, _describing(length), 0)
    bare = _changed(schema, _without_annotations, 0)
    yield bare
    for depth in (4, 3, 2, 1):
        yield _flattened(bare, depth)
    named = bare.get("properties")
    if not is_object(named):
        yield {"type": "object"}
        return
    required = [name for name in as_list(bare.get("required")) if isinstance(name, str) and name in named]
    order = [*required, *(name for name in named if name not in set(required))]
    kept = len(order)
    while kept:
        kept //= 2
        few = {name: _type_of(named[name]) for name in order[:kept]}
        yield {
            "type": "object",
            "properties": few,
            "required": [name for name in required if name in few],
            "description": f"{len(order) - kept:,} of {len(order):,} arguments are left out here.",
        }


def _changed(schema: Mapping[str, Any], change: _Change, depth: int) -> dict[str, Any]:
    """`schema` with `change` applied to each subschema, the innermost first."""
    if depth > _DEEPEST:
        return {"description": _DEEPER}
    part: dict[str, Any] = {}
    for key, value in schema.items():
        if key == "$schema" or (key == "title" and isinstance(value, str)):
            continue
        if key in _SCHEMAS_BY_NAME and is_mapping(value):
            part[key] = {name: _inner(inner, change, depth) for name, inner in value.items()}
        elif key in _SCHEMAS:
            part[key] = _inner(value, change, depth)
        elif key in _LISTS_OF_SCHEMAS and is_list(value):
            part[key] = [_inner(inner, change, depth) for inner in value]
        else:
            part[key] = value
    return change(part, depth)


def _parts(schema: Any) -> Iterator[Any]:
    """The schemas directly inside of `schema`."""
    if not is_mapping(schema):
        return
    for key, value in schema.items():
        if key in _SCHEMAS_BY_NAME and is_mapping(value):
            yield from value.values()
        elif key in _SCHEMAS:
            yield value
        elif key in _LISTS_OF_SCHEMAS and is_list(value):
            yield from value


def _inner(schema: Any, change: _Change, depth: int) -> Any:
    return _changed(schema, change, depth + 1) if is_mapping(schema) else schema


def _describing(length: int) -> _Change:
    def change(part: dict[str, Any], _: int) -> dict[str, Any]:
        description = part.get("description")
        if not isinstance(description, str) or len(description) <= length:
            return part
        if length:
            return {**part, "description": description[: length - 1].rstrip() + "…"}
        return {key: value for key, value in part.items() if key != "description"}

    return change


def _without_annotations(part: dict[str, Any], _: int) -> dict[str, Any]:
    """Without descriptions and examples; a long enum becomes a few examples, so that all values stay allowed."""
    plain = {key: value for key, value in part.items() if key not in _ANNOTATIONS and key != "description"}
    values = plain.get("enum")
    if is_list(values) and len(values) > _SOME_VALUES:
        del plain["enum"]
        few = values[:_SOME_VALUES]
        kinds = {"type": "string"} if all(isinstance(value, str) for value in few) else {}
        plain = {**kinds, **plain, "description": f"One of {len(values)} values.", "examples": few}
    return plain


def _flattened(schema: dict[str, Any], depth: int) -> dict[str, Any]:
    """`schema` down to `depth`; deeper levels keep their type alone, without references to definitions."""

    def change(part: dict[str, Any], at: int) -> dict[str, Any]:
        return part if at < depth else _type_of(part)

    cut = _changed(schema, change, 0)
    return {key: value for key, value in cut.items() if key not in ("$defs", "definitions", "$ref") or depth > 1}


def _type_of(schema: Any) -> dict[str, Any]:
    kind = schema.get("type") if is_mapping(schema) else None
    return {} if kind is None else {"type": kind}
