"""Tools of any kind as definitions for the Messages API, and whether searching them is worth it."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, cast

from ...convert.anthropic import to_anthropic
from ...convert.wire import listed, root_schema
from ...errors import ToolSearchError, ToolValidationError
from ...tokens import estimate_tokens
from ...tool import Tool
from ..answers.search_tools import names_in
from ..catalog import MAX_TOOLS
from ..engine.entry import entry_of

__all__ = [
    "FEWEST_TOKENS",
    "FEWEST_TOOLS",
    "Verdict",
    "check_name_is_free",
    "definitions_of",
    "is_server_tool",
    "kept_loaded",
    "verdict_on",
    "worth_it",
]

FEWEST_TOOLS = 10
FEWEST_TOKENS = 10_000
_MOST_USED = 5

_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")
_SEARCH_TYPE = "tool_search_tool_"
_OF_THE_CATALOGUE = frozenset({"aliases", "tags", "title", "metadata", "_meta"})  # for our search; the API refuses them


@dataclass(frozen=True, kw_only=True, slots=True)
class Verdict:
    """Whether tool search is worth it for a set of tools; usable as a bool."""

    worth_it: bool
    tools: int
    tokens: int
    """Estimated tokens of the definitions; counted only as far as the verdict needs."""
    reason: str

    def __bool__(self) -> bool:
        return self.worth_it


def worth_it(tools: Iterable[Any]) -> Verdict:
    """Whether search is worth it for `tools`: at least 10 of them, with at least 10,000 tokens of definitions.

    Below that, sending all tools costs less than searching.

    Raises:
        ToolValidationError: the name or schema of a tool is invalid, or two names are the same.
        ToolSearchError: there are more than 10,000 tools.
        Unsupported: the API does not accept an input schema; see `root_schema`.
    """
    return verdict_on(definitions_of(tools))


def verdict_on(definitions: list[dict[str, Any]]) -> Verdict:
    """`worth_it` for definitions."""
    count = sum(not is_server_tool(definition) for definition in definitions)
    tokens = 0
    for definition in definitions:
        tokens += _tokens(definition)
        if tokens >= FEWEST_TOKENS and count >= FEWEST_TOOLS:
            reason = f"{count} tools cost {FEWEST_TOKENS:,} tokens or more in every request."
            return Verdict(worth_it=True, tools=count, tokens=tokens, reason=reason)
    if count < FEWEST_TOOLS:
        reason = f"There are {count} tools, fewer than {FEWEST_TOOLS}: the model chooses well among all of them."
    else:
        reason = f"{count} tools cost about {tokens:,} tokens, less than {FEWEST_TOKENS:,}: searching costs more."
    return Verdict(worth_it=False, tools=count, tokens=tokens, reason=reason)


def definitions_of(tools: Iterable[Any], *, limit: int | None = MAX_TOOLS) -> list[dict[str, Any]]:
    """The definitions of `tools`, in order; dicts are copied.

    Server tools of the API (`web_search_…`, `mcp_toolset`) stay as they are; its search tools are left out.

    Raises:
        ToolValidationError: the name or schema of a tool is invalid, or two names are the same.
        ToolSearchError: there are more than `limit` tools.
        Unsupported: the API does not accept an input schema; see `root_schema`.
    """
    definitions: list[dict[str, Any]] = []
    names = dict[str, Any]()
    for position, tool in enumerate(listed(tools)):
        definition = _definition(tool, position)
        if str(definition.get("type", "")).startswith(_SEARCH_TYPE):
            continue
        name = definition.get("name")
        if name is not None and name in names:
            raise ToolValidationError(
                f"Two tools are called {name!r}: {_origin(names[name])} and {_origin(tool)} at position {position}. "
                "Rename one of them.",
                name,
            )
        names[cast("str", name)] = tool
        definitions.append(definition)
    if limit is not None and len(definitions) > limit:
        raise ToolSearchError(
            "invalid_tool_input",
            f"A request takes {limit:,} tools, and these are {len(definitions):,}. Leave some out, or split the "
            "work between agents.",
        )
    return definitions


def kept_loaded(names: list[str], always_loaded: Collection[str], usage: Mapping[str, int]) -> set[str]:
    """The names to keep loaded: `always_loaded`, and the most used ones, up to five in all.

    Raises:
        ToolValidationError: `always_loaded` has a name that is not in `names`.
        ValueError: `always_loaded` is not a list of names, or `usage` not a mapping to numbers.
    """
    if not isinstance(usage, Mapping) or not all(isinstance(count, int | float) for count in usage.values()):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ValueError(f"`usage` is {usage!r:.100}: use the calls of each tool, such as `SearchLog(...).usage()`.")
    loaded = dict.fromkeys(names_in("always_loaded", always_loaded))
    unknown = [name for name in loaded if name not in set(names)]
    if unknown:
        raise ToolValidationError(
            f"`always_loaded` names {', '.join(map(repr, unknown))}, but there is no such tool. Check the spelling.",
            unknown[0],
        )
    for name in sorted(names, key=lambda name: -usage.get(name, 0)):  # stable: the caller's order breaks ties
        if len(loaded) >= _MOST_USED or usage.get(name, 0) <= 0:
            break
        loaded[name] = None
    return set(loaded)


def check_name_is_free(search_tool: str, names: Iterable[str | None]) -> None:
    """Raise if a tool has the name of the search tool.

    Raises:
        ToolValidationError: `search_tool` is in `names`.
    """
    if search_tool in names:
        raise ToolValidationError(f"A tool is called {search_tool!r}, as the search tool is. Rename it.", search_tool)


def is_server_tool(definition: Mapping[str, Any]) -> bool:
    """Whether this is a server tool of the API, or a set of them; these are never deferred here."""
    return definition.get("type", "custom") != "custom"


def _definition(tool: Any, position: int) -> dict[str, Any]:
    if isinstance(tool, Tool):
        return to_anthropic([tool])[0]
    own: dict[str, Any] = {}
    if isinstance(tool, Mapping):
        given = cast("Mapping[str, Any]", tool)
        if given.get("type") == "mcp_toolset":
            return dict(given)
        if _is_anthropic(given):
            own = {name: value for name, value in given.items() if value is not None and name not in _OF_THE_CATALOGUE}
            if is_server_tool(own) and isinstance(own.get("name"), str):
                return own
    entry = entry_of(tool, position)
    if not _NAME.fullmatch(entry.name):
        raise ToolValidationError(
            f"The Anthropic API refuses the tool name {entry.name!r}: it takes 1 to 128 ASCII letters, digits, `_` and "
            "`-`. Rename it.",
            entry.name,
        )
    schema = root_schema(entry.input_schema, tool_name=entry.name, target="The Anthropic API")
    if own:
        return {**own, "input_schema": schema}
    described = {"description": entry.description} if entry.description else {}
    return {"name": entry.name, **described, "input_schema": schema}


def _tokens(definition: dict[str, Any]) -> int:
    try:
        return estimate_tokens({name: value for name, value in definition.items() if name != "defer_loading"})
    except (TypeError, ValueError) as error:
        name = definition.get("name")
        raise ToolValidationError(f"The definition of tool {name!r} is not JSON: {error}.", name) from error


def _is_anthropic(tool: Mapping[str, Any]) -> bool:
    if "name" in tool and "input_schema" in tool:
        return True
    return tool.get("type", "function") not in ("function", "custom")  # a server tool; `function` is OpenAI's


def _origin(tool: Any) -> str:
    return "a dict" if isinstance(tool, Mapping) else f"a {type(tool).__module__.split('.')[0]} {type(tool).__name__}"
