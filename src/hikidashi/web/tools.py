"""The three web tools, independent of any framework: names, schemas, and answers.

The tools for pydantic-ai, MCP, Claude Code and strands call the functions here, so that all validate, log and format
alike. A provider raises; a tool returns the error text of spec 000.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any, TypeVar, Unpack, get_args

from ..common.language import Language, in_language
from ..convert.functions import from_function
from ..errors import ErrorType, TavilyAPIError
from ..tool import Tool, ToolAnnotations, ToolResult, text
from .answers.bounded import (
    ANSWER_TOKENS,
    LONGEST_ERROR,
    MOST_CONTEXT_TOKENS,
    bounded_context,
    bounded_hits,
    bounded_pages,
)
from .answers.fence import Untrusted, fence
from .answers.format import format_context, format_error, format_extract, format_search
from .call_provider import ask_context, ask_extract, ask_search, supported_filters
from .filters import MOST_DOMAINS, ExtractOptions, FilterArguments, TimeRange, Topic, check_filters
from .log import log_verbose_tool_done, log_verbose_tool_failed, log_verbose_tool_start, shown_urls
from .provider import SearchDepth, SearchProvider
from .results import ExtractResults, SearchContext, SearchResults
from .text.shorten import short_line
from .validate import check_max_results, check_max_tokens, check_offset, check_query, check_search_depth
from .wording.messages import api_error, texts

__all__ = [
    "META",
    "SPEC_DEFAULTS",
    "TOOL_NAMES",
    "Definition",
    "SearchDefaults",
    "WebTools",
    "definition",
    "full_definition",
    "web_tools",
]

TOOL_NAMES = ("tavily_search", "tavily_extract", "tavily_context")

META = "hikidashi/web"
"""Key in `ToolResult.meta` for the provider, whether the answer was cached, and its cost."""

_READS_THE_WEB = ToolAnnotations(read_only=True, destructive=False, idempotent=True, open_world=True)

_Results = TypeVar("_Results", SearchResults, ExtractResults, SearchContext)


@dataclass(frozen=True, kw_only=True, slots=True)
class Definition:
    """Description and input schema of a tool."""

    description: str
    input_schema: dict[str, Any]


@dataclass(frozen=True, kw_only=True, slots=True)
class SearchDefaults:
    """Defaults of `tavily_search`."""

    search_depth: SearchDepth = "basic"
    max_results: int = 5


SPEC_DEFAULTS = SearchDefaults()


def definition(tool_name: str, language: Language = "ja", defaults: SearchDefaults = SPEC_DEFAULTS) -> Definition:
    """The definition of `tool_name`; for `tavily_search` exactly that of section 6.2 of spec 000."""
    return Definition(
        description=texts(language)[f"tool.{tool_name}"],
        input_schema=_schema(tool_name, _TAKES[tool_name][0], language, defaults),
    )


def full_definition(
    tool_name: str,
    provider: SearchProvider | None,
    language: Language = "ja",
    defaults: SearchDefaults = SPEC_DEFAULTS,
) -> Definition:
    """The same with the filters that `provider` supports, and the arguments to read a page in parts."""
    filters = [] if provider is None else supported_filters(provider)
    more = ["query", "offset"] if tool_name == "tavily_extract" else filters
    return Definition(
        description=texts(language)[f"tool.{tool_name}"],
        input_schema=_schema(tool_name, [*_TAKES[tool_name][0], *more], language, defaults),
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class WebTools:
    """The tools of one provider in one language; each method returns the answer for the model, and never raises."""

    provider: SearchProvider
    language: Language = "ja"
    untrusted: Untrusted = None
    max_tokens: int | None = None
    """Limit of an answer in estimated tokens; `None` is unlimited, as in spec 000."""

    async def search(
        self,
        query: str,
        search_depth: str = "basic",
        max_results: int = 5,
        **filters: Unpack[FilterArguments],
    ) -> ToolResult:
        """The hits of a search as text."""

        async def run() -> tuple[SearchResults, list[str]]:
            found = await ask_search(
                self.provider,
                check_query(query),
                search_depth=check_search_depth(search_depth),
                max_results=check_max_results(max_results),
                filters=check_filters(**filters),
            )
            if self.max_tokens is None:
                return found, []
            return bounded_hits(found, max_tokens=self.max_tokens, tool="tavily_extract")

        return await self._answered("tavily_search", {"query": query}, run, format_search)

    async def extract(self, urls: Sequence[str], query: str | None = None, offset: int = 0) -> ToolResult:
        """The text of pages, or their passages relevant to `query`, and the pages that could not be read."""

        async def run() -> tuple[ExtractResults, list[str]]:
            start = check_offset(offset)
            options = ExtractOptions(query=query or None)
            pages = await ask_extract(self.provider, urls, options=options)
            if self.max_tokens is None and not start:
                return pages, []
            most = self.max_tokens or sys.maxsize
            return bounded_pages(pages, max_tokens=most, offset=start, tool="tavily_extract")

        return await self._answered("tavily_extract", {"urls": shown_urls(urls)}, run, format_extract)

    async def context(
        self,
        query: str,
        max_tokens: int | None = None,
        **filters: Unpack[FilterArguments],
    ) -> ToolResult:
        """Passages for a prompt."""

        async def run() -> tuple[SearchContext, list[str]]:
            most = check_max_tokens(max_tokens)
            if self.max_tokens is not None and most is not None:
                most = min(most, max(self.max_tokens, MOST_CONTEXT_TOKENS))
            found = await ask_context(
                self.provider,
                check_query(query),
                max_tokens=most,
                filters=check_filters(**filters),
            )
            if self.max_tokens is None:
                return found, []
            return bounded_context(found, max_tokens=most or self.max_tokens), []

        return await self._answered("tavily_context", {"query": query}, run, format_context)

    async def _answered(
        self,
        tool_name: str,
        arguments: Mapping[str, object],
        run: Callable[[], Awaitable[tuple[_Results, list[str]]]],
        format_results: Callable[..., str],
    ) -> ToolResult:
        log_verbose_tool_start(tool_name, arguments)
        started = time.perf_counter()
        try:
            results, notes = await run()
            answer: str = format_results(results, language=self.language)
        except Exception as error:
            log_verbose_tool_done(tool_name, "failed", _milliseconds_since(started))
            told = format_error(self._as_api_error(tool_name, error), language=self.language)
            return ToolResult.error(told if self.max_tokens is None else self._short_error(told))
        log_verbose_tool_done(
            tool_name, "success", _milliseconds_since(started), provider=results.provider, cached=results.cached
        )
        if self.untrusted == "fence":
            answer = fence(answer, language=self.language)
        about = {"provider": results.provider, "cached": results.cached, "credits": results.credits}
        # No page could be read, so the call counts as failed.
        nothing_read = isinstance(results, ExtractResults) and not results.results
        return ToolResult(
            content=(text("\n\n".join([answer, *(in_language(note, self.language) for note in notes)])),),
            is_error=nothing_read,
            meta={META: about},
        )

    def _short_error(self, told: str) -> str:
        message, _, kind = told.rpartition("\n")
        return f"{short_line(message, LONGEST_ERROR)}\n{kind}"

    def _as_api_error(self, tool_name: str, error: Exception) -> TavilyAPIError:
        if isinstance(error, TavilyAPIError):
            return error
        log_verbose_tool_failed(tool_name, error)
        # The text of an unexpected error may contain a key, so neither the log nor the model gets it.
        return api_error("unexpected", ErrorType.API_ERROR, kind=type(error).__name__)


def web_tools(
    provider: SearchProvider,
    *,
    language: Language = "ja",
    untrusted: Untrusted = "fence",
    max_tokens: int | None = ANSWER_TOKENS,
) -> list[Tool]:
    """The three tools as neutral `Tool`s, for `to_mcp`, `to_strands`, `to_anthropic` and the others.

    They take the filters that `provider` supports. An answer has at most about `max_tokens` tokens; a note at its end
    says how to get the rest.
    """
    tools = WebTools(provider=provider, language=language, untrusted=untrusted, max_tokens=max_tokens)
    functions: list[Callable[..., Any]] = [tools.search, tools.extract, tools.context]
    return [_tool(name, function, tools) for name, function in zip(TOOL_NAMES, functions, strict=True)]


def _tool(name: str, function: Callable[..., Any], tools: WebTools) -> Tool:
    defined = full_definition(name, tools.provider, tools.language)
    tool = from_function(function, name=name, description=defined.description, annotations=_READS_THE_WEB)
    return replace(tool, input_schema=defined.input_schema)


def _milliseconds_since(started: float) -> float:
    return (time.perf_counter() - started) * 1000


_DATE: dict[str, Any] = {"type": "string", "pattern": r"^\d{4}-\d{2}-\d{2}$"}
_DOMAINS: dict[str, Any] = {"type": "array", "items": {"type": "string"}, "maxItems": MOST_DOMAINS}
_ARGUMENTS: dict[str, dict[str, Any]] = {
    "query": {"type": "string"},
    "search_depth": {"type": "string", "enum": ["basic", "advanced"], "default": "basic"},
    "max_results": {"type": "integer", "minimum": 1, "maximum": 20, "default": 5},
    "urls": {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 20},
    "max_tokens": {"anyOf": [{"type": "integer", "minimum": 1}, {"type": "null"}], "default": None},
    "topic": {"type": "string", "enum": list(get_args(Topic))},
    "time_range": {"type": "string", "enum": list(get_args(TimeRange))},
    "start_date": _DATE,
    "end_date": _DATE,
    "include_domains": _DOMAINS,
    "exclude_domains": _DOMAINS,
    "country": {"type": "string"},
    "offset": {"type": "integer", "minimum": 0, "default": 0},
}

_TAKES: dict[str, tuple[list[str], list[str]]] = {
    "tavily_search": (["query", "search_depth", "max_results"], ["query"]),
    "tavily_extract": (["urls"], ["urls"]),
    "tavily_context": (["query", "max_tokens"], ["query"]),
}
"""The arguments that spec 000 gives each tool, and those of them that are required."""


def _schema(tool_name: str, names: Sequence[str], language: Language, defaults: SearchDefaults) -> dict[str, Any]:
    words = texts(language)
    properties = {name: deepcopy(_ARGUMENTS[name]) for name in names}
    for name, described in properties.items():
        key = "extract_query" if (tool_name, name) == ("tavily_extract", "query") else name
        # Section 6.2 of spec 000 describes neither the depth nor the number of results.
        if f"argument.{key}" in words:
            described["description"] = words[f"argument.{key}"]
    if tool_name == "tavily_search":
        properties["search_depth"]["default"] = defaults.search_depth
        properties["max_results"]["default"] = defaults.max_results
    return {"type": "object", "properties": properties, "required": list(_TAKES[tool_name][1])}
