"""Catalogues from a JSON file, a saved catalogue, or a Python module.

A framework is imported only if a source needs it.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import re
import sys
from collections.abc import Iterable
from pathlib import Path
from types import FunctionType
from typing import Any

from ..common.json import is_iterable, is_list, is_mapping, is_object, no_such_file, parsed, text_of, unreadable
from ..errors import MissingExtra, ToolSourceError, ToolValidationError
from .catalog import MAX_TOOLS, Ranker, ToolCatalog
from .engine.entry import entry_of
from .engine.saved import NAME
from .overlay import Overlay

_MODULE = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*(\.[^\W\d]\w*)*")
_SEARCH_TOOL = "tool_search_tool_"
_SHAPES = "Use a list of tools, one tool per line (JSONL), or the result of MCP's `tools/list`."


def catalog_from(source: str | Path, *, ranker: Ranker = "auto", overlay: Overlay | None = None) -> ToolCatalog:
    """The catalogue of the tools in `source`, see `tools_from`; a saved catalogue is loaded as it is.

    Raises:
        ToolSourceError: they cannot be read, one of them is not a tool, or two have the same name.
        ToolSearchError: a saved catalogue is damaged.
        MissingExtra: the ranker is "hybrid", and the extra is not installed.
    """
    saved = _saved(Path(source), ranker=ranker, overlay=overlay)
    return checked_catalog(tools_from(source), str(source), ranker=ranker, overlay=overlay) if saved is None else saved


def checked_catalog(
    tools: Iterable[Any], source: str, *, ranker: Ranker = "auto", overlay: Overlay | None = None
) -> ToolCatalog:
    """The catalogue of `tools`, without a limit on their number; errors name `source`.

    Raises:
        ToolSourceError: one of them is not a tool, or two have the same name.
        MissingExtra: the ranker is "hybrid", and the extra is not installed.
    """
    listed = list(tools)
    places: dict[str, int] = {}
    try:
        for place, tool in enumerate(listed, 1):
            name = entry_of(tool, place).name
            if name in places:
                raise ToolSourceError(
                    source,
                    f"two tools are named {name!r}, number {places[name]} and number {place}",
                    "Rename one, for example with a prefix of its server.",
                )
            places[name] = place
        return ToolCatalog(listed, ranker=ranker, limit_tools=max(MAX_TOOLS, len(listed)), overlay=overlay)
    except ToolValidationError as error:
        raise ToolSourceError(source, str(error).rstrip(".")) from error


def tools_from(source: str | Path) -> list[Any]:
    """The tools in `source`.

    `source` is a JSON or JSONL file of Anthropic, OpenAI or MCP tools, also as MCP's `tools/list` gives them, a file
    that `ToolCatalog.save` wrote, or `module:attribute` for tools in Python: a list of tools or functions, a
    catalogue, a toolset or an agent.

    Raises:
        ToolSourceError: they cannot be read.
        ToolSearchError: a saved catalogue is damaged.
    """
    path = Path(source)
    saved = _saved(path)
    if saved is not None:
        return list(saved)
    if path.exists():
        return _from_json(text_of(path, _SHAPES), str(source))
    if _MODULE.fullmatch(str(source)):
        return _from_python(str(source))
    raise no_such_file(str(source), "Name a JSON file, or Python tools as `module:attribute`.")


def _saved(path: Path, *, ranker: Ranker = "auto", overlay: Overlay | None = None) -> ToolCatalog | None:
    """The catalogue in a file that `ToolCatalog.save` wrote; None for any other file."""
    try:
        if not path.is_file():
            return None
        with path.open("rb") as file:
            if file.read(len(NAME)) != NAME:
                return None
    except OSError as error:
        raise unreadable(path, error) from error
    return ToolCatalog.load(path, ranker=ranker, limit_tools=sys.maxsize, overlay=overlay)


def _from_json(text: str, source: str) -> list[Any]:
    lines = [(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
    if not lines:
        raise ToolSourceError(source, "is empty", _SHAPES)
    if len(lines) > 1 and _is_object(lines[0][1]):
        return [tool for number, line in lines for tool in _listed(parsed(line, source, number), source, number)]
    return _listed(parsed(text, source), source)


def _is_object(line: str) -> bool:
    """Whether a line is a JSON object, as each line of a JSONL file is."""
    try:
        return isinstance(json.loads(line), dict)
    except (ValueError, RecursionError):
        return False


def _listed(data: Any, source: str, line: int | None = None) -> list[Any]:
    """The tools in parsed JSON, without the API's own search tools, which a saved request may have."""
    while is_object(data):
        if "mcpServers" in data:
            raise ToolSourceError(source, "is a list of MCP servers, not of tools", "Pass it with --mcp.")
        if "name" in data or "function" in data:
            data = [data]
        elif "tools" in data or "result" in data:
            data = data.get("tools", data.get("result"))
        else:
            raise ToolSourceError(source, "has an object that is not a tool: it has no `name`", _SHAPES, line)
    if not is_list(data):
        raise ToolSourceError(source, f"holds {_kind(data)}, not tools", _SHAPES, line)
    for number, tool in enumerate(data, 1):
        if not isinstance(tool, dict):
            raise ToolSourceError(source, f"number {number} is {_kind(tool)}, not a tool", _SHAPES, line)
    return [tool for tool in data if not str(tool.get("type", "")).startswith(_SEARCH_TOOL)]


def _kind(value: Any) -> str:
    match value:
        case None | bool():
            return "null, true or false"
        case str():
            return "text"
        case list():
            return "a list"
        case _:
            return "a number"


def _from_python(source: str) -> list[Any]:
    module_name, _, attribute = source.partition(":")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        value: Any = importlib.import_module(module_name)
    except (Exception, SystemExit) as error:  # importing runs code of the user
        remedy = "Run it where the module can be imported."
        raise ToolSourceError(source, f"importing {module_name!r} failed ({_described(error)})", remedy) from error
    try:
        for name in attribute.split("."):
            value = getattr(value, name)
    except AttributeError as error:
        raise ToolSourceError(source, f"module {module_name!r} has no {attribute!r}", "Check the name.") from error
    try:
        return list(_tools_in(value, source))
    except (MissingExtra, ToolSourceError):
        raise
    except Exception as error:  # listing the tools of a toolset may run any code
        raise ToolSourceError(source, f"its tools cannot be listed ({_described(error)})") from error


def _tools_in(value: Any, source: str) -> Iterable[Any]:
    if isinstance(value, FunctionType):
        from ..convert.functions import from_function

        return [from_function(value)]
    if _has_toolset(value):
        from ..convert.pydantic_ai import from_pydantic_ai

        return asyncio.run(_entered(from_pydantic_ai(value)))
    if is_mapping(value):
        return _listed(dict(value), source)
    if not isinstance(value, str) and not hasattr(value, "name") and is_iterable(value):
        return [tool for item in value for tool in _tools_in(item, source)]
    return [value]


def _has_toolset(value: Any) -> bool:
    """Whether `value` is a pydantic-ai agent or toolset, without importing pydantic-ai."""
    is_pydantic_ai = any(base.__module__.partition(".")[0] == "pydantic_ai" for base in type(value).__mro__)
    return is_pydantic_ai and (hasattr(value, "toolsets") or hasattr(value, "get_tools"))


async def _entered(tools: Any) -> list[Any]:
    async with tools as listed:
        return list(listed)


def _described(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"
