"""The three web tools, independent of any framework: names, schemas, answers, and lines in the log.

The tools for pydantic-ai, MCP, Claude Code and strands call the functions here, so that all validate, log and format
alike. A provider raises; a tool answers with an error text. Queries are logged in full, addresses as scheme, host and
path only, because the rest may contain a key; the content of pages is never logged.
"""

from __future__ import annotations

import asyncio
import logging
import sys
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal, TypeGuard, Unpack, get_args
from urllib.parse import urlsplit

from ..convert.functions import from_function
from ..errors import ErrorType, HikidashiError, TavilyAPIError
from ..texts import Language, check_language, in_language, texts
from ..tool import Tool, ToolAnnotations, ToolResult, text
from .answers import (
    ANSWER_TOKENS,
    LONGEST_ERROR,
    MOST_CONTEXT_TOKENS,
    Untrusted,
    bounded_context,
    bounded_hits,
    bounded_pages,
    fence,
    format_error,
    format_results,
    short_line,
)
from .messages import api_error
from .provider import SearchProvider, errors_in
from .request import (
    MOST_DOMAINS,
    ExtractOptions,
    FilterArguments,
    SearchDepth,
    SearchFilters,
    SearchRequest,
    TimeRange,
    Topic,
    check_choice,
    check_max_tokens,
    check_offset,
)
from .results import ExtractResults, SearchContext, SearchResults

logger = logging.getLogger("hikidashi.web")

TOOL_NAMES = ("tavily_search", "tavily_extract", "tavily_context")

META = "hikidashi/web"
"""Key in `ToolResult.meta` for the provider, whether the answer was cached, and its cost."""

_READS_THE_WEB = ToolAnnotations(read_only=True, destructive=False, idempotent=True, open_world=True)


@dataclass(frozen=True, kw_only=True, slots=True)
class Definition:
    """The description and schema of a tool."""

    description: str
    input_schema: dict[str, Any]


WebResults = SearchResults | ExtractResults | SearchContext
"""The results of a call."""


class Presentation:
    """The names, texts and log lines of spec 000."""

    search_tool: str = "tavily_search"
    extract_tool: str = "tavily_extract"
    context_tool: str = "tavily_context"
    include_answer: bool = False
    """Whether a search asks the provider for a generated answer."""

    def bounded(self, results: SearchResults, max_tokens: int) -> tuple[SearchResults, list[str]]:
        """`results` in about `max_tokens` tokens, and notes on what was cut."""
        return bounded_hits(results, max_tokens=max_tokens, tool=self.extract_tool)

    def text(self, results: WebResults, language: Language) -> str:
        """`results` as text for the model."""
        return format_results(results, language=language)

    def empty_text(self, results: WebResults, language: Language) -> str | None:
        """The text for empty results; None formats them like others."""

    def error_text(self, tool: str, error: TavilyAPIError, language: Language) -> str:
        """A failed call as text for the model."""
        return format_error(error, language=language)

    def log_start(self, tool: str, arguments: Mapping[str, object]) -> None:
        """Log that `tool` was called."""
        log_verbose_tool_start(tool, arguments)

    def log_success(
        self, tool: str, arguments: Mapping[str, object], results: WebResults, execution_time_ms: float
    ) -> None:
        """Log that a call gave `results`."""
        log_verbose_tool_done(tool, "success", execution_time_ms, provider=results.provider, cached=results.cached)

    def log_failure(
        self, tool: str, arguments: Mapping[str, object], error: Exception, execution_time_ms: float
    ) -> None:
        """Log that a call raised `error`; its text only if it is an error of hikidashi."""
        log_verbose_tool_done(tool, "failed", execution_time_ms)

    def log_cancelled(self, tool: str, arguments: Mapping[str, object]) -> None:
        """Log that a call was cancelled."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SearchDefaults:
    """Defaults for the arguments of `tavily_search` that the model omits."""

    search_depth: SearchDepth = "basic"
    max_results: int = 5


SPEC_DEFAULTS = SearchDefaults()
SPEC_PRESENTATION = Presentation()


def definition(
    tool_name: str, language: Language = "ja", defaults: SearchDefaults = SPEC_DEFAULTS, *, more: Sequence[str] = ()
) -> Definition:
    """The definition of `tool_name`, for `tavily_search` that of section 6.2 of spec 000, with the arguments `more`."""
    return Definition(
        description=texts("web", language)[f"tool.{tool_name}"],
        input_schema=_schema(tool_name, [*_TAKES[tool_name][0], *more], language, defaults),
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
    return definition(tool_name, language, defaults, more=more)


@dataclass(frozen=True, kw_only=True, slots=True)
class WebTools:
    """The tools of one provider, in one language. Methods return the answer for the model; failures are not raised."""

    provider: SearchProvider
    language: Language = "ja"
    untrusted: Untrusted = None
    max_tokens: int | None = None
    """Limit of an answer in estimated tokens; `None` is unlimited, as in spec 000."""
    presentation: Presentation = SPEC_PRESENTATION
    """The texts for the model, and the lines in the log."""

    def __post_init__(self) -> None:
        if not callable(getattr(self.provider, "search", None)):
            raise ValueError(
                f"`provider` is {self.provider!r:.100}: pass a search provider, such as `choose_provider()` returns."
            )
        if self.untrusted not in ("fence", None):
            raise ValueError(f"`untrusted` is {self.untrusted!r:.100}: use 'fence' or None.")
        with errors_in(check_language(self.language)):
            check_max_tokens(self.max_tokens)

    async def search(
        self,
        query: str,
        search_depth: str = "basic",
        max_results: int = 5,
        **filters: Unpack[FilterArguments],
    ) -> ToolResult:
        """The hits of a search as text."""
        with self._call(self.presentation.search_tool, {"query": query}) as call:
            request = SearchRequest.of(
                query,
                search_depth=check_choice(search_depth, "search_depth", ("basic", "advanced")),
                max_results=max_results,
                include_answer=self.presentation.include_answer,
                **filters,
            )
            found = await self.provider.search(request)
            if self.max_tokens is not None:
                found, call.notes = self.presentation.bounded(found, self.max_tokens)
            call.results = found
        return call.answer

    async def extract(self, urls: Sequence[str], query: str | None = None, offset: int = 0) -> ToolResult:
        """The text of pages, or their passages relevant to `query`, and the pages that could not be read."""
        tool = self.presentation.extract_tool
        with self._call(tool, {"urls": shown_urls(urls)}) as call:
            start = check_offset(offset)
            pages = await self.provider.extract(urls, options=ExtractOptions(query=query or None))
            if self.max_tokens is not None or start:
                most = self.max_tokens or sys.maxsize
                pages, call.notes = bounded_pages(pages, max_tokens=most, offset=start, tool=tool)
            call.results = pages
        return call.answer

    async def context(
        self, query: str, max_tokens: int | None = None, **filters: Unpack[FilterArguments]
    ) -> ToolResult:
        """Passages for a prompt."""
        with self._call(self.presentation.context_tool, {"query": query}) as call:
            most = check_max_tokens(max_tokens)
            if self.max_tokens is not None and most is not None:
                most = min(most, max(self.max_tokens, MOST_CONTEXT_TOKENS))
            found = await self.provider.context(query, max_tokens=most, **filters)
            call.results = (
                found if self.max_tokens is None else bounded_context(found, max_tokens=most or self.max_tokens)
            )
        return call.answer

    @contextmanager
    def _call(self, tool_name: str, arguments: Mapping[str, object]) -> Generator[_Call]:
        """One call, from its first line in the log to its answer; a failure inside becomes a failed answer."""
        presentation = self.presentation
        presentation.log_start(tool_name, arguments)
        started = time.perf_counter()
        call = _Call()
        try:
            with errors_in(self.language):
                yield call
            call.answer = self._told(call)
        except asyncio.CancelledError:
            presentation.log_cancelled(tool_name, arguments)
            raise
        except Exception as error:
            call.answer = self._failure(tool_name, error)
            presentation.log_failure(tool_name, arguments, error, (time.perf_counter() - started) * 1000)
        else:
            presentation.log_success(tool_name, arguments, call.results, (time.perf_counter() - started) * 1000)

    def _told(self, call: _Call) -> ToolResult:
        """The results as text for the model, with their notes."""
        results = call.results
        meta = {META: {"provider": results.provider, "cached": results.cached, "credits": results.credits}}
        empty = self.presentation.empty_text(results, self.language)
        answer = self.presentation.text(results, self.language)
        if empty is not None:
            return ToolResult(content=(text(empty),), meta=meta)
        if self.untrusted == "fence":
            answer = fence(answer, language=self.language)
        notes = [in_language(note, self.language) for note in call.notes]
        # No page could be read, so the call counts as failed.
        nothing_read = isinstance(results, ExtractResults) and not results.results
        return ToolResult(content=(text("\n\n".join([answer, *notes])),), is_error=nothing_read, meta=meta)

    def _failure(self, tool_name: str, error: Exception) -> ToolResult:
        """`error` as an answer; `meta` has the reason if the text has not."""
        known = _as_api_error(tool_name, error)
        message = in_language(known.message, self.language)
        reason = message if self.max_tokens is None else short_line(message, LONGEST_ERROR)
        shown = TavilyAPIError(reason, known.error_type, known.status_code, known.retry_after)
        told = self.presentation.error_text(tool_name, shown, self.language)
        meta = {} if reason in told else {META: {"reason": " ".join(reason.split())}}
        return ToolResult(content=(text(told),), is_error=True, meta=meta)


@dataclass(slots=True)
class _Call:
    """One call of a tool: what was found, the notes on what was cut, and the answer made of them."""

    results: WebResults = field(init=False)
    notes: list[str] = field(default_factory=list[str])
    answer: ToolResult = field(init=False)


def _as_api_error(tool_name: str, error: Exception) -> TavilyAPIError:
    if isinstance(error, TavilyAPIError):
        return error
    if isinstance(error, HikidashiError):
        return TavilyAPIError(str(error), ErrorType.API_ERROR)
    log_verbose_tool_failed(tool_name, error)
    # The text of an unexpected error may contain a key, so neither the log nor the model gets it.
    return api_error("unexpected", ErrorType.API_ERROR, kind=type(error).__name__)


def supported_filters(provider: SearchProvider) -> list[str]:
    """The names of the filters that `provider` supports, in their order."""
    return [item.name for item in fields(SearchFilters) if item.name in provider.supported_filters]


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
    defined = full_definition(name, tools.provider, tools.language)
    tool = from_function(function, name=name, description=defined.description, annotations=_READS_THE_WEB)
    return replace(tool, input_schema=defined.input_schema)


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
    words = texts("web", language)
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


Status = Literal["success", "failed"]

_LONGEST = 1_000
_MOST_URLS = 20


def log_verbose_tool_start(tool_name: str, arguments: Mapping[str, object]) -> None:
    """Log that `tool_name` was called; values are quoted, so that they cannot forge log lines."""
    shown = {
        name: f"{value[:_LONGEST]}…" if isinstance(value, str) and len(value) > _LONGEST else value
        for name, value in arguments.items()
    }
    logger.info("%s start: %s", tool_name, shown)


def log_verbose_tool_done(
    tool_name: str, status: Status, execution_time_ms: float, *, provider: str = "", cached: bool = False
) -> None:
    """Log the outcome and duration of a call, and whether the answer came from the cache."""
    by = f" provider={provider}" if provider else ""
    logger.info("%s %s: %.1f ms%s%s", tool_name, status, execution_time_ms, by, " cached" if cached else "")


def log_verbose_tool_failed(tool_name: str, error: Exception) -> None:
    """Log the type of an unexpected `error` and where it was raised; not its text, which may contain a key."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    place = "" if trace is None else f" at {trace.tb_frame.f_globals.get('__name__')}:{trace.tb_lineno}"
    logger.error("%s failed with an unexpected %s%s", tool_name, type(error).__name__, place)


def shown_urls(urls: object) -> object:
    """`urls` for the log: without user names, passwords, queries and fragments."""
    return [_shown(url) for url in urls[:_MOST_URLS]] if _is_sequence(urls) else f"<{type(urls).__name__}>"


def _is_sequence(value: object) -> TypeGuard[Sequence[object]]:
    return isinstance(value, Sequence) and not isinstance(value, str)


def _shown(url: object) -> str:
    if not isinstance(url, str):
        return f"<{type(url).__name__}>"
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
    except ValueError:
        return "<not a URL>"
    return f"{parts.scheme}://{host}{parts.path}" if host else "<not a URL>"
