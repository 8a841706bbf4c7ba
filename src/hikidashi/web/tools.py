"""The three web tools in neutral form: what they are called, what they take, and what they answer.

Every face of the tools (pydantic-ai, MCP, Claude Code, strands) calls the functions here, so all of them check, log,
time and word their answers alike. A provider raises; a tool answers with the error text of spec 000.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from ..convert.functions import from_function
from ..errors import ErrorType, TavilyAPIError
from ..tool import Tool, ToolAnnotations, ToolResult, text
from .fence import Untrusted, fence
from .format import Language, format_context, format_error, format_extract, format_search
from .log import log_verbose_tool_done, log_verbose_tool_failed, log_verbose_tool_start, shown_urls
from .provider import SearchDepth, SearchProvider
from .results import ExtractResults, SearchContext, SearchResults
from .validate import check_max_results, check_max_tokens, check_query, check_search_depth

__all__ = ["META", "SPEC_DEFAULTS", "TOOL_NAMES", "Definition", "SearchDefaults", "WebTools", "definition", "web_tools"]

TOOL_NAMES = ("tavily_search", "tavily_extract", "tavily_context")

META = "hikidashi/web"
"""Where `ToolResult.meta` says who answered, whether from the cache, and what it cost."""

_READS_THE_WEB = ToolAnnotations(read_only=True, destructive=False, idempotent=True, open_world=True)

_Results = TypeVar("_Results", SearchResults, ExtractResults, SearchContext)


@dataclass(frozen=True, kw_only=True, slots=True)
class Definition:
    """What a model is told about a tool."""

    description: str
    input_schema: dict[str, Any]


@dataclass(frozen=True, kw_only=True, slots=True)
class SearchDefaults:
    """How `tavily_search` searches where the model does not say."""

    search_depth: SearchDepth = "basic"
    max_results: int = 5


SPEC_DEFAULTS = SearchDefaults()


def definition(tool_name: str, language: Language = "ja", defaults: SearchDefaults = SPEC_DEFAULTS) -> Definition:
    """What a model is told about `tool_name`: for `tavily_search` exactly what section 6.2 of spec 000 shows."""
    fields = deepcopy(_FIELDS[language])
    fields["search_depth"]["default"] = defaults.search_depth
    fields["max_results"]["default"] = defaults.max_results
    return Definition(description=_DESCRIPTIONS[language][tool_name], input_schema=_object(tool_name, fields))


@dataclass(frozen=True, kw_only=True, slots=True)
class WebTools:
    """The tools of one provider, in one language: each method gives the answer a model reads, and never raises."""

    provider: SearchProvider
    language: Language = "ja"
    untrusted: Untrusted = None

    async def search(self, query: str, search_depth: str = "basic", max_results: int = 5) -> ToolResult:
        """The hits of a search as text."""

        async def run() -> SearchResults:
            return await self.provider.search(
                check_query(query, language=self.language),
                search_depth=check_search_depth(search_depth, language=self.language),
                max_results=check_max_results(max_results, language=self.language),
            )

        return await self._answered("tavily_search", {"query": query}, run, format_search)

    async def extract(self, urls: Sequence[str]) -> ToolResult:
        """The text of pages, and which could not be read."""

        async def run() -> ExtractResults:
            return await self.provider.extract(urls)

        return await self._answered("tavily_extract", {"urls": shown_urls(urls)}, run, format_extract)

    async def context(self, query: str, max_tokens: int | None = None) -> ToolResult:
        """Passages for a prompt."""

        async def run() -> SearchContext:
            return await self.provider.context(
                check_query(query, language=self.language),
                max_tokens=check_max_tokens(max_tokens, language=self.language),
            )

        return await self._answered("tavily_context", {"query": query}, run, format_context)

    async def _answered(
        self,
        tool_name: str,
        arguments: Mapping[str, object],
        run: Callable[[], Awaitable[_Results]],
        format_results: Callable[..., str],
    ) -> ToolResult:
        log_verbose_tool_start(tool_name, arguments)
        started = time.perf_counter()
        try:
            results = await run()
            said: str = format_results(results, language=self.language)
        except Exception as error:
            log_verbose_tool_done(tool_name, "failed", _milliseconds_since(started))
            return ToolResult.error(format_error(self._foreseen(tool_name, error), language=self.language))
        log_verbose_tool_done(
            tool_name, "success", _milliseconds_since(started), provider=results.provider, cached=results.cached
        )
        if self.untrusted == "fence":
            said = fence(said, language=self.language)
        about = {"provider": results.provider, "cached": results.cached, "credits": results.credits}
        return ToolResult(content=(text(said),), meta={META: about})

    def _foreseen(self, tool_name: str, error: Exception) -> TavilyAPIError:
        if isinstance(error, TavilyAPIError):
            return error
        log_verbose_tool_failed(tool_name, error)
        # Neither the log nor the model gets the text of an error that nobody foresaw: it may hold a key.
        message = _UNEXPECTED[self.language].format(kind=type(error).__name__)
        return TavilyAPIError(message, ErrorType.API_ERROR)


def web_tools(provider: SearchProvider, *, language: Language = "ja", untrusted: Untrusted = "fence") -> list[Tool]:
    """The three tools as neutral `Tool`s, for `to_mcp`, `to_strands`, `to_anthropic` and the others."""
    tools = WebTools(provider=provider, language=language, untrusted=untrusted)
    functions: list[Callable[..., Any]] = [tools.search, tools.extract, tools.context]
    return [_tool(name, function, language) for name, function in zip(TOOL_NAMES, functions, strict=True)]


def _tool(name: str, function: Callable[..., Any], language: Language) -> Tool:
    told = definition(name, language)
    tool = from_function(function, name=name, description=told.description, annotations=_READS_THE_WEB)
    return replace(tool, input_schema=told.input_schema)


def _milliseconds_since(started: float) -> float:
    return (time.perf_counter() - started) * 1000


_UNEXPECTED: dict[Language, str] = {
    "ja": "予期しないエラーが発生しました（{kind}）。発生箇所はログに記録されています。",
    "en": "An unexpected {kind} occurred. The log says where.",
}

_DESCRIPTIONS: dict[Language, dict[str, str]] = {
    "ja": {
        "tavily_search": "Web検索を実行する",
        "tavily_extract": "URL群からコンテンツを抽出する",
        "tavily_context": "RAG用検索コンテキストを取得する",
    },
    "en": {
        "tavily_search": "Search the web",
        "tavily_extract": "Extract the content of URLs",
        "tavily_context": "Get search context for RAG",
    },
}

_DEPTH: dict[str, Any] = {"type": "string", "enum": ["basic", "advanced"], "default": "basic"}
_RESULTS: dict[str, Any] = {"type": "integer", "minimum": 1, "maximum": 20, "default": 5}
_URLS: dict[str, Any] = {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 20}
_TOKENS: dict[str, Any] = {"anyOf": [{"type": "integer", "minimum": 1}, {"type": "null"}], "default": None}

# Section 6.2 describes the query and leaves the numbers to speak for themselves.
_FIELDS: dict[Language, dict[str, dict[str, Any]]] = {
    "ja": {
        "query": {"type": "string", "description": "検索クエリ"},
        "search_depth": _DEPTH,
        "max_results": _RESULTS,
        "urls": {**_URLS, "description": "抽出対象URL群"},
        "max_tokens": {**_TOKENS, "description": "最大トークン数"},
    },
    "en": {
        "query": {"type": "string", "description": "Search query"},
        "search_depth": _DEPTH,
        "max_results": _RESULTS,
        "urls": {**_URLS, "description": "URLs to extract"},
        "max_tokens": {**_TOKENS, "description": "Most tokens of context"},
    },
}

_TAKES: dict[str, tuple[list[str], list[str]]] = {
    "tavily_search": (["query", "search_depth", "max_results"], ["query"]),
    "tavily_extract": (["urls"], ["urls"]),
    "tavily_context": (["query", "max_tokens"], ["query"]),
}


def _object(tool_name: str, fields: Mapping[str, dict[str, Any]]) -> dict[str, Any]:
    names, required = _TAKES[tool_name]
    return {"type": "object", "properties": {name: fields[name] for name in names}, "required": list(required)}
