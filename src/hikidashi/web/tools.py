"""The three web tools in neutral form: their names, schemas and answers.

The tools of every framework (pydantic-ai, MCP, Claude Code, strands) call the functions here, so all of them validate,
log and format alike. A provider raises; a tool answers with an error text.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any, Unpack, get_args

from ..convert.functions import from_function
from ..errors import ErrorType, HikidashiError, TavilyAPIError
from ..tool import Tool, ToolAnnotations, ToolResult, text
from .answers.bounded import ANSWER_TOKENS, MOST_CONTEXT_TOKENS, bounded_hits, bounded_pages
from .answers.fence import Untrusted, fence
from .answers.format import Language
from .asking import ask_context, ask_extract, ask_search, supported_filters
from .filters import MOST_DOMAINS, ExtractOptions, FilterArguments, TimeRange, Topic, check_filters
from .log import log_verbose_tool_failed, shown_urls
from .presentation import Presentation, WebResults
from .provider import SearchDepth, SearchProvider
from .results import ExtractResults, SearchContext, SearchResults
from .validate import check_max_results, check_max_tokens, check_offset, check_query, check_search_depth

__all__ = [
    "META",
    "SPEC_DEFAULTS",
    "TOOL_NAMES",
    "Definition",
    "SearchDefaults",
    "WebTools",
    "definition",
    "failed_call",
    "full_definition",
    "web_tools",
]

TOOL_NAMES = ("tavily_search", "tavily_extract", "tavily_context")

META = "hikidashi/web"
"""The key in `ToolResult.meta` of the provider, whether the answer was cached, and its cost."""

_READS_THE_WEB = ToolAnnotations(read_only=True, destructive=False, idempotent=True, open_world=True)


@dataclass(frozen=True, kw_only=True, slots=True)
class Definition:
    """The description and schema of a tool."""

    description: str
    input_schema: dict[str, Any]


@dataclass(frozen=True, kw_only=True, slots=True)
class SearchDefaults:
    """The arguments of `tavily_search` that the model leaves out."""

    search_depth: SearchDepth = "basic"
    max_results: int = 5


SPEC_DEFAULTS = SearchDefaults()
SPEC_PRESENTATION = Presentation()


def definition(tool_name: str, language: Language = "ja", defaults: SearchDefaults = SPEC_DEFAULTS) -> Definition:
    """The description and schema of `tool_name`; for `tavily_search` exactly those of spec 000, section 6.2."""
    return Definition(
        description=_DESCRIPTIONS[language][tool_name],
        input_schema=_object(tool_name, _fields(language, defaults), _TAKES[tool_name][0]),
    )


def full_definition(
    tool_name: str,
    provider: SearchProvider,
    language: Language = "ja",
    defaults: SearchDefaults = SPEC_DEFAULTS,
) -> Definition:
    """The same, with the filters that `provider` supports and the parameters to read a page in parts."""
    more = ["query", "offset"] if tool_name == "tavily_extract" else supported_filters(provider)
    fields = _fields(language, defaults) | deepcopy(_MORE_FIELDS[language])
    if tool_name == "tavily_extract":
        fields["query"] = {**fields["query"], "description": _PASSAGES_FOR[language]}
    names = [*_TAKES[tool_name][0], *more]
    return Definition(description=_DESCRIPTIONS[language][tool_name], input_schema=_object(tool_name, fields, names))


@dataclass(frozen=True, kw_only=True, slots=True)
class WebTools:
    """The tools of one provider, in one language. Methods return the answer for the model; failures are not raised."""

    provider: SearchProvider
    language: Language = "ja"
    untrusted: Untrusted = None
    max_tokens: int | None = None
    """About how many tokens an answer has at most; `None` is unlimited, as in spec 000."""
    presentation: Presentation = SPEC_PRESENTATION
    """The texts for the model, and the lines in the log."""

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
                check_query(query, language=self.language),
                search_depth=check_search_depth(search_depth, language=self.language),
                max_results=check_max_results(max_results, language=self.language),
                include_answer=self.presentation.include_answer,
                filters=check_filters(**filters, language=self.language),
                language=self.language,
            )
            if self.max_tokens is None:
                return found, []
            reader = self.presentation.extract_tool
            return bounded_hits(found, max_tokens=self.max_tokens, tool=reader, language=self.language)

        return await self._answered(self.presentation.search_tool, {"query": query}, run)

    async def extract(self, urls: Sequence[str], query: str | None = None, offset: int = 0) -> ToolResult:
        """The text of pages, or their passages relevant to `query`, and the pages that could not be read."""

        async def run() -> tuple[ExtractResults, list[str]]:
            start = check_offset(offset, language=self.language)
            options = ExtractOptions(query=query or None)
            pages = await ask_extract(self.provider, urls, options=options, language=self.language)
            if self.max_tokens is None and not start:
                return pages, []
            most = self.max_tokens or sys.maxsize
            reader = self.presentation.extract_tool
            return bounded_pages(pages, max_tokens=most, offset=start, tool=reader, language=self.language)

        return await self._answered(self.presentation.extract_tool, {"urls": shown_urls(urls)}, run)

    async def context(
        self,
        query: str,
        max_tokens: int | None = None,
        **filters: Unpack[FilterArguments],
    ) -> ToolResult:
        """Passages for a prompt."""

        async def run() -> tuple[SearchContext, list[str]]:
            most = check_max_tokens(max_tokens, language=self.language)
            if self.max_tokens is not None and most is not None:
                most = min(most, max(self.max_tokens, MOST_CONTEXT_TOKENS))
            found = await ask_context(
                self.provider,
                check_query(query, language=self.language),
                max_tokens=most,
                filters=check_filters(**filters, language=self.language),
                language=self.language,
            )
            return found, []

        return await self._answered(self.presentation.context_tool, {"query": query}, run)

    async def _answered(
        self,
        tool_name: str,
        arguments: Mapping[str, object],
        run: Callable[[], Awaitable[tuple[WebResults, list[str]]]],
    ) -> ToolResult:
        presentation = self.presentation
        presentation.log_start(tool_name, arguments)
        started = time.perf_counter()
        try:
            results, notes = await run()
            empty = presentation.empty_text(results, self.language)
            said = presentation.text(results, self.language)
        except asyncio.CancelledError:
            presentation.log_cancelled(tool_name, arguments)
            raise
        except Exception as error:
            return failed_call(
                tool_name,
                arguments,
                error,
                presentation=presentation,
                language=self.language,
                execution_time_ms=_milliseconds_since(started),
            )
        presentation.log_success(tool_name, arguments, results, _milliseconds_since(started))
        about = {"provider": results.provider, "cached": results.cached, "credits": results.credits}
        if empty is not None:
            return ToolResult(content=(text(empty),), meta={META: about})
        if self.untrusted == "fence":
            said = fence(said, language=self.language)
        # An extraction without any page is reported as a failure.
        nothing_read = isinstance(results, ExtractResults) and not results.results
        return ToolResult(content=(text("\n\n".join([said, *notes])),), is_error=nothing_read, meta={META: about})


def failed_call(
    tool_name: str,
    arguments: Mapping[str, object],
    error: Exception,
    *,
    presentation: Presentation,
    language: Language,
    execution_time_ms: float = 0.0,
) -> ToolResult:
    """Log `error`, and return the answer of the failed call; `meta` has the reason if the text has not."""
    known = _known(tool_name, error, language)
    presentation.log_failure(tool_name, arguments, error, execution_time_ms)
    said = presentation.error_text(tool_name, known, language)
    reason = " ".join(str(known).split())
    meta = {} if str(known) in said else {META: {"reason": reason}}
    return ToolResult(content=(text(said),), is_error=True, meta=meta)


def _known(tool_name: str, error: Exception, language: Language) -> TavilyAPIError:
    """`error` with a text that may be shown: that of an unexpected error may contain a key."""
    if isinstance(error, TavilyAPIError):
        return error
    if isinstance(error, HikidashiError):
        return TavilyAPIError(str(error), ErrorType.API_ERROR)
    log_verbose_tool_failed(tool_name, error)
    return TavilyAPIError(_UNEXPECTED[language].format(kind=type(error).__name__), ErrorType.API_ERROR)


def web_tools(
    provider: SearchProvider,
    *,
    language: Language = "ja",
    untrusted: Untrusted = "fence",
    max_tokens: int | None = ANSWER_TOKENS,
) -> list[Tool]:
    """The three tools as neutral `Tool`s, for `to_mcp`, `to_strands`, `to_anthropic` and the others.

    They take the filters that `provider` supports. An answer has at most about `max_tokens` tokens; a note at its end
    says what was left out, and how to get it.
    """
    tools = WebTools(provider=provider, language=language, untrusted=untrusted, max_tokens=max_tokens)
    functions: list[Callable[..., Any]] = [tools.search, tools.extract, tools.context]
    return [_tool(name, function, tools) for name, function in zip(TOOL_NAMES, functions, strict=True)]


def _tool(name: str, function: Callable[..., Any], tools: WebTools) -> Tool:
    told = full_definition(name, tools.provider, tools.language)
    tool = from_function(function, name=name, description=told.description, annotations=_READS_THE_WEB)
    return replace(tool, input_schema=told.input_schema)


def _fields(language: Language, defaults: SearchDefaults) -> dict[str, dict[str, Any]]:
    fields = deepcopy(_FIELDS[language])
    fields["search_depth"]["default"] = defaults.search_depth
    fields["max_results"]["default"] = defaults.max_results
    return fields


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

# Section 6.2 describes the query and not the numbers.
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


_PASSAGES_FOR: dict[Language, str] = {
    "ja": "この質問に関係する箇所だけを返す",
    "en": "Give only the passages that matter for this question",
}

_DATE: dict[str, Any] = {"type": "string", "pattern": r"^\d{4}-\d{2}-\d{2}$"}
_DOMAINS: dict[str, Any] = {"type": "array", "items": {"type": "string"}, "maxItems": MOST_DOMAINS}
_MORE: dict[str, dict[str, Any]] = {
    "topic": {"type": "string", "enum": list(get_args(Topic))},
    "time_range": {"type": "string", "enum": list(get_args(TimeRange))},
    "start_date": _DATE,
    "end_date": _DATE,
    "include_domains": _DOMAINS,
    "exclude_domains": _DOMAINS,
    "country": {"type": "string"},
    "offset": {"type": "integer", "minimum": 0, "default": 0},
}
_MORE_SAID: dict[Language, dict[str, str]] = {
    "ja": {
        "topic": "検索対象の分野",
        "time_range": "この期間内に公開されたページだけ",
        "start_date": "この日以降のページだけ（YYYY-MM-DD）",
        "end_date": "この日以前のページだけ（YYYY-MM-DD）",
        "include_domains": "このドメインのページだけ",
        "exclude_domains": "このドメインのページを除く",
        "country": "この国のページを優先する（英語の国名）",
        "offset": "各ページをこの文字位置から返す（長いページの続きを読むとき）",
    },
    "en": {
        "topic": "What kind of pages to search",
        "time_range": "Only pages published within this time",
        "start_date": "Only pages of this day or later (YYYY-MM-DD)",
        "end_date": "Only pages of this day or earlier (YYYY-MM-DD)",
        "include_domains": "Only pages of these domains",
        "exclude_domains": "No pages of these domains",
        "country": "Prefer pages of this country (its English name)",
        "offset": "Give each page from this character on, to read on in a long page",
    },
}
_MORE_FIELDS: dict[Language, dict[str, dict[str, Any]]] = {
    language: {name: {**_MORE[name], "description": said} for name, said in sayings.items()}
    for language, sayings in _MORE_SAID.items()
}


def _object(tool_name: str, fields: Mapping[str, dict[str, Any]], names: Sequence[str]) -> dict[str, Any]:
    required = _TAKES[tool_name][1]
    return {"type": "object", "properties": {name: fields[name] for name in names}, "required": list(required)}
