"""The web tools for strands (spec 001): the config is in the invocation state.

A failed search does not raise: the tool answers with the sentence of the spec and the status `error`, and the log has
the cause. With a `WebToolsFactory`, all calls share the provider of the factory; with the config alone in the state,
each call has a provider of its own, as in the spec.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from threading import Lock
from typing import Any, ParamSpec, TypeVar, Unpack

from ..common.unicode import well_formed
from ..config import WebSearchConfig
from ..config.sections import web_search_to_offer
from ..errors import ErrorType, HikidashiError, MissingExtra, TavilyAPIError
from ..texts import Language, in_language, texts
from ..tool import ToolResult
from .answers import ANSWER_TOKENS, Untrusted, short_labels
from .provider import SearchProvider
from .providers.choose import configured_provider
from .request import ExtractOptions, FilterArguments, SearchRequest, listed
from .results import ExtractResults, SearchContext, SearchHit, SearchResults
from .tools import META, Presentation, WebResults, WebTools, full_definition, supported_filters

try:
    from strands import tool  # pyright: ignore[reportUnknownVariableType] - its schema is a bare `dict`
    from strands.tools.decorator import DecoratedFunctionTool
    from strands.types.tools import AgentTool, ToolContext
except ImportError as error:
    raise MissingExtra("strands-agents", "strands") from error

__all__ = [
    "WEB_SEARCH_CONFIG_KEY",
    "WEB_SEARCH_TOOLS",
    "WebSearchToolsFactory",
    "WebToolsFactory",
    "get_web_search_config",
    "web_search",
    "web_tools_factory",
]

logger = logging.getLogger("hikidashi.web")

_LONGEST_IN_LOG = 200

WEB_SEARCH_CONFIG_KEY = "web_search_config"
_SETTINGS_KEY = "web_search_settings"


@dataclass(frozen=True)
class _Settings:
    """Language, fencing and shared provider of the tools of a factory."""

    language: Language = "ja"
    untrusted: Untrusted = None
    provider: Callable[[], SearchProvider] | None = None
    """Returns the shared provider; None if each call has its own."""


def get_web_search_config(tool_context: ToolContext) -> WebSearchConfig:
    """The config that a factory put into the invocation state.

    Raises:
        RuntimeError: there is none; the agent was called without `invocation_state=factory.get_invocation_state()`.
    """
    config = tool_context.invocation_state.get(WEB_SEARCH_CONFIG_KEY)
    if config is None:
        raise RuntimeError("WebSearchConfig not found in invocation_state")
    return config


_P = ParamSpec("_P")
_R = TypeVar("_R")


class FailedText(str):
    """The text of a failed call, with the reason for people and logs; equal to the same text without a reason."""

    reason: str
    """Why the call failed; empty if the text says it."""

    def __new__(cls, text: str, reason: str = "") -> FailedText:
        """The text, with its reason."""
        failed = super().__new__(cls, text)
        failed.reason = reason
        return failed


class _ReportingTool(DecoratedFunctionTool[_P, _R]):
    def __init__(self, made: DecoratedFunctionTool[_P, _R]) -> None:
        vars(self).update(vars(made))

    async def stream(self, tool_use: Any, invocation_state: dict[str, Any], **kwargs: Any) -> AsyncGenerator[Any]:
        """The events of the tool; a result with a `FailedText` gets the status `error`."""
        async for event in super().stream(tool_use, invocation_state, **kwargs):
            result: Any = getattr(event, "tool_result", None)
            if result and any(isinstance(block.get("text"), FailedText) for block in result["content"]):
                result["status"] = "error"
            yield event


def reporting_failures(made: DecoratedFunctionTool[_P, _R]) -> DecoratedFunctionTool[_P, _R]:
    """The same tool, whose result has the status `error` when its function returns a `FailedText`.

    Called as a function, it still returns the text.
    """
    return _ReportingTool(made)


@reporting_failures
@tool(context=True)
async def web_search(query: str, tool_context: ToolContext) -> str:
    """ウェブ検索を実行する。

    Args:
        query: 検索クエリ
        tool_context: ツールコンテキスト

    Returns:
        検索結果（タイトル、URL、要約を含む）またはエラーメッセージ
    """  # noqa: D400, D415 - a Japanese full stop
    return await _search(query, tool_context)


async def _search(query: str, tool_context: ToolContext, **filters: Unpack[FilterArguments]) -> str:
    config = get_web_search_config(tool_context)
    if _is_blank(query):
        return _refusal("no_query", tool_context)
    async with _web_tools(config, tool_context) as web:
        return _text_of(await web.search(query, config.search_depth, config.max_results, **filters))


async def _extract(urls: list[str], tool_context: ToolContext, query: str = "", offset: int = 0) -> str:
    config = get_web_search_config(tool_context)
    if all(map(_is_blank, listed(urls) or [])):
        return _refusal("no_urls", tool_context)
    async with _web_tools(config, tool_context) as web:
        return _text_of(await web.extract(urls, None if _is_blank(query) else query.strip(), offset))


async def _context(query: str, tool_context: ToolContext, **filters: Unpack[FilterArguments]) -> str:
    config = get_web_search_config(tool_context)
    if _is_blank(query):
        return _refusal("no_query", tool_context)
    async with _web_tools(config, tool_context) as web:
        return _text_of(await web.context(query, **filters))


@asynccontextmanager
async def _web_tools(config: WebSearchConfig, tool_context: ToolContext) -> AsyncGenerator[WebTools]:
    """The neutral tools, with the provider, language and texts of one call."""
    settings = _settings_of(tool_context)
    provider: SearchProvider
    try:
        shared = settings.provider() if settings.provider is not None else None
        provider = shared or configured_provider(config, language=settings.language)
    except Exception as error:
        shared = None
        provider = _Unavailable(error)
    try:
        yield WebTools(
            provider=provider,
            language=settings.language,
            untrusted=settings.untrusted,
            max_tokens=ANSWER_TOKENS,
            presentation=StrandsPresentation(max_content_length=config.max_content_length),
        )
    finally:
        if shared is None:
            await provider.aclose()


class _Unavailable(SearchProvider):
    """In place of a provider that could not be made: each call fails with the reason."""

    name = ""
    supported_filters = frozenset(FilterArguments.__annotations__)

    def __init__(self, error: Exception) -> None:
        self._error = error

    async def _search(self, request: SearchRequest) -> SearchResults:
        raise self._error

    async def _extract(self, urls: Sequence[str], options: ExtractOptions) -> ExtractResults:
        raise self._error


def _settings_of(tool_context: ToolContext) -> _Settings:
    return tool_context.invocation_state.get(_SETTINGS_KEY) or _Settings()


def _is_blank(text: object) -> bool:
    return text is None or (isinstance(text, str) and not text.strip())


def _refusal(key: str, tool_context: ToolContext) -> FailedText:
    return FailedText(texts("strands", _settings_of(tool_context).language)[key])


def _text_of(result: ToolResult) -> str:
    """The text of an answer; a `FailedText` if the call failed."""
    reason = result.meta.get(META, {}).get("reason", "")
    return FailedText(result.text, reason) if result.is_error else result.text


_ARGUMENTS: dict[str, dict[str, Any]] = {
    "query": {"type": "string"},
    "urls": {"type": "array", "items": {"type": "string"}},
    "extract_query": {"type": "string", "default": ""},
    "offset": {"type": "integer", "default": 0},
}


def _described(name: str, function: Callable[..., Any], language: Language, **arguments: dict[str, Any]) -> AgentTool:
    """The tool `name` in `language`; `arguments` are filters besides its own."""
    words = texts("strands", language)
    own = (
        {"urls": "urls", "query": "extract_query", "offset": "offset"} if name == "web_extract" else {"query": "query"}
    )
    properties = {one: _ARGUMENTS[key] | {"description": words[f"argument.{key}"]} for one, key in own.items()}
    required = [one for one, described in properties.items() if "default" not in described]
    schema = {"type": "object", "properties": {**properties, **arguments}, "required": required}
    build = tool(name=name, description=words[f"tool.{name}"], inputSchema={"json": schema}, context=True)
    return reporting_failures(build(function))


def _with_filters(ask: Callable[..., Awaitable[str]]) -> Callable[..., Awaitable[str]]:
    """`ask` with the filters as the named parameters that strands reads."""

    async def filtered(
        query: str,
        tool_context: ToolContext,
        *,
        topic: str | None = None,
        time_range: str | None = None,
        start_date: str | None = None,
        end_date: str | None = None,
        include_domains: list[str] | None = None,
        exclude_domains: list[str] | None = None,
        country: str | None = None,
    ) -> str:
        return await ask(
            query,
            tool_context,
            topic=topic,
            time_range=time_range,
            start_date=start_date,
            end_date=end_date,
            include_domains=include_domains,
            exclude_domains=exclude_domains,
            country=country,
        )

    return filtered


WEB_SEARCH_TOOLS: list[AgentTool] = [web_search]


class WebSearchToolsFactory:
    """`web_search`, and the invocation state it needs.

    ```python
    factory = WebSearchToolsFactory(config.tools.web_search)
    agent = Agent(tools=factory.tools)
    await agent.invoke_async("...", invocation_state=factory.get_invocation_state())
    ```

    Each search has its own client, as in spec 001; `WebToolsFactory` shares one.
    """

    def __init__(self, config: WebSearchConfig) -> None:
        self._config = config

    def get_invocation_state(self) -> dict[str, Any]:
        """The state that the tools read, as a new dict each time."""
        return {WEB_SEARCH_CONFIG_KEY: self._config}

    @property
    def tools(self) -> list[AgentTool]:
        """The tools, for `Agent(tools=...)`."""
        return WEB_SEARCH_TOOLS

    async def aclose(self) -> None:
        """Close the connections that the tools share; a later call opens new ones."""


class WebToolsFactory(WebSearchToolsFactory):
    """`web_search`, `web_extract` and `web_context`, in Japanese or English, with text from the web fenced or not.

    All calls share one provider, from any thread and event loop.
    """

    def __init__(self, config: WebSearchConfig, *, language: Language = "ja", untrusted: Untrusted = "fence") -> None:
        super().__init__(config)
        self._settings = _Settings(language, untrusted, self.provider)
        self._made: SearchProvider | None = None
        self._lock = Lock()

    def provider(self) -> SearchProvider:
        """The provider that all calls share, created at first use.

        Raises:
            HikidashiError: its key, its address or a package is missing.
        """
        with self._lock:
            if self._made is None:
                self._made = configured_provider(self._config, language=self._settings.language)
            return self._made

    def get_invocation_state(self) -> dict[str, Any]:
        """The state that the tools read, as a new dict each time."""
        return {**super().get_invocation_state(), _SETTINGS_KEY: self._settings}

    @property
    def tools(self) -> list[AgentTool]:
        """The tools, for `Agent(tools=...)`; searches take the filters that the provider supports."""
        language, provider = self._settings.language, self.provider()
        described = full_definition("tavily_search", provider, language).input_schema["properties"]
        filters = {name: described[name] for name in supported_filters(provider)}
        return [
            _described("web_search", _with_filters(_search), language, **filters),
            _described("web_extract", _extract, language),
            _described("web_context", _with_filters(_context), language, **filters),
        ]

    async def aclose(self) -> None:
        """Close the connections of the provider; a later call opens new ones."""
        if self._made is not None:
            await self._made.aclose()


def web_tools_factory(
    config: WebSearchConfig | None, *, language: Language = "ja", untrusted: Untrusted = "fence"
) -> WebToolsFactory | None:
    """A factory for `config`; None if the search is off or, with a warning, its key is missing.

    Raises:
        HikidashiError: the provider cannot be used here, such as `MissingExtra`.
    """
    offered = web_search_to_offer(config)
    if offered is None:
        return None
    factory = WebToolsFactory(offered, language=language, untrusted=untrusted)
    factory.provider()  # raises now if something is missing, not at the first question
    return factory


@dataclass(frozen=True, kw_only=True)
class StrandsPresentation(Presentation):
    """Short sentences for the model, and one line in the log for each call."""

    max_content_length: int
    """Maximum number of characters of each result; 0 is unlimited."""

    search_tool = "web_search"
    extract_tool = "web_extract"
    context_tool = "web_context"
    include_answer = True

    def bounded(self, results: SearchResults, max_tokens: int) -> tuple[SearchResults, list[str]]:
        """`results` with the content length of the config, whatever `max_tokens` is: the format has no notes."""
        return cut_hits(results, self.max_content_length), []

    def text(self, results: WebResults, language: Language) -> str:
        """`results` as text for the model: for a search, in the format of spec 001."""
        if isinstance(results, SearchResults):
            return format_answer(results, language=language)
        return super().text(results, language)

    def empty_text(self, results: WebResults, language: Language) -> str | None:
        """The sentence that nothing was found."""
        if isinstance(results, SearchResults):
            is_empty = not results.results and not (results.answer or "").strip()
        else:  # an extraction without pages says which could not be read
            is_empty = isinstance(results, SearchContext) and not results.text.strip()
        return texts("strands", language)["nothing_found"] if is_empty else None

    def error_text(self, tool: str, error: TavilyAPIError, language: Language) -> str:
        """A sentence without the cause, which is in the log; a wrong argument is explained to the model."""
        if error.error_type is ErrorType.VALIDATION_ERROR and error.status_code is None:
            return in_language(error.message, language)
        words = texts("strands", language)
        return words["not_extracted"] if tool == self.extract_tool else words["failed"]

    def log_start(self, tool: str, arguments: Mapping[str, object]) -> None:
        """Log nothing: the line at the end has the arguments."""

    def log_success(
        self, tool: str, arguments: Mapping[str, object], results: WebResults, execution_time_ms: float
    ) -> None:
        """Log the arguments and the number of results."""
        logger.info("%s %s: success: %s", tool, _asked(arguments), _summary(results))

    def log_failure(
        self, tool: str, arguments: Mapping[str, object], error: Exception, execution_time_ms: float
    ) -> None:
        """Log the arguments and the reason of the failure."""
        reason = " ".join(str(error).split()) if isinstance(error, HikidashiError) else type(error).__name__
        logger.info("%s %s: failed: %s", tool, _asked(arguments), reason)

    def log_cancelled(self, tool: str, arguments: Mapping[str, object]) -> None:
        """Log the arguments."""
        logger.info("%s %s: cancelled", tool, _asked(arguments))


def _asked(arguments: Mapping[str, object]) -> str:
    shown = ", ".join(map(repr, arguments.values()))
    return shown if len(shown) <= _LONGEST_IN_LOG else shown[: _LONGEST_IN_LOG - 1] + "…"


def _summary(results: WebResults) -> str:
    if isinstance(results, SearchResults):
        return f"{len(results.results)} results"
    if isinstance(results, ExtractResults):
        return f"{len(results.results)} pages, {len(results.failed_results)} failed"
    return f"{len(results.sources)} sources, about {results.tokens} tokens"


def cut_hits(results: SearchResults, max_content_length: int) -> SearchResults:
    """`results` with at most `max_content_length` characters of each content; 0 is unlimited.

    What no one configures, a server's titles, addresses and answer, has the limits of every tool.
    """
    cut = short_labels(results)
    if not max_content_length:
        return cut
    return replace(cut, results=tuple(replace(hit, content=hit.content[:max_content_length]) for hit in cut.results))


def format_answer(results: SearchResults, *, language: Language = "ja") -> str:
    """The answer and the hits; a sentence if there are none."""
    words = texts("strands", language)
    answer = (results.answer or "").strip()
    if not answer and not results.results:
        return words["nothing_found"]
    parts = [f'## {words["search"]}: "{_line(results.query)}"']
    if answer:
        parts.append(f"### {words['answer']}\n{answer}")
    if results.results:
        hits = (_hit(number, hit) for number, hit in enumerate(results.results, start=1))
        parts.append(f"### {words['results']}\n" + "\n\n".join(hits))
    return well_formed("\n\n".join(parts))


def _hit(number: int, hit: SearchHit) -> str:
    # Every line is indented, so that a page cannot forge a further result.
    lines = [f"   {line}" if line.strip() else "" for line in hit.content.splitlines()]
    head = [f"{number}. **{_line(hit.title)}**", f"   URL: {_line(hit.url)}"]
    return "\n".join([*head, *lines])


def _line(text: str) -> str:
    return " ".join(text.split())
