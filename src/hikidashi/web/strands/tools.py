"""The web tools for strands, as spec 001 has them: the config comes in with the invocation state.

The tools never raise for a failing search: they answer with the spec's sentence and the status `error`, and the log has
the cause. A client
lives as long as the config it is made from, and serves every event loop and thread, so that a call costs no more than
its request.
"""

from __future__ import annotations

import asyncio
import logging
import weakref
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Any, TypeVar, Unpack

from ...common.language import Language, in_language
from ...config import WebSearchConfig
from ...config.register import web_search_to_offer
from ...errors import HikidashiError, MissingExtra, TavilyAPIError
from ..answers.bounded import ANSWER_TOKENS, bounded_context, bounded_hits, bounded_pages
from ..answers.fence import Untrusted, fence
from ..answers.format import format_context, format_extract
from ..call_provider import ask_context, ask_extract, ask_search, supported_filters
from ..filters import ExtractOptions, FilterArguments, SearchFilters, check_filters, refuse_unsupported
from ..language import errors_in
from ..log import log_verbose_tool_failed, shown_urls
from ..provider import SearchProvider
from ..providers.choose import configured_provider
from ..results import SearchContext, SearchResults
from ..validate import check_offset
from ._failed import FailedText, Failure, reporting_failures
from ._made import in_english, with_filters
from ._text import WORDS, cut_hits, format_answer

try:
    from strands import tool  # pyright: ignore[reportUnknownVariableType] - its schema is a bare `dict`
    from strands.types.tools import AgentTool, ToolContext
except ImportError as error:
    raise MissingExtra("strands-agents", "strands") from error

__all__ = [
    "WEB_SEARCH_CONFIG_KEY",
    "WEB_SEARCH_TOOLS",
    "WEB_TOOLS",
    "WebSearchToolsFactory",
    "WebToolsFactory",
    "get_web_search_config",
    "web_context",
    "web_extract",
    "web_search",
    "web_tools_factory",
]

logger = logging.getLogger("hikidashi.web")

WEB_SEARCH_CONFIG_KEY = "web_search_config"
_STYLE_KEY = "web_search_style"
_LONGEST_IN_LOG = 200

_Results = TypeVar("_Results")


@dataclass(frozen=True)
class _Style:
    language: Language = "ja"
    untrusted: Untrusted = None
    max_tokens: int = ANSWER_TOKENS


def get_web_search_config(tool_context: ToolContext) -> WebSearchConfig:
    """The config that a factory put into the invocation state.

    Raises:
        RuntimeError: there is none; the agent was called without `invocation_state=factory.get_invocation_state()`.
    """
    config = tool_context.invocation_state.get(WEB_SEARCH_CONFIG_KEY)
    if config is None:
        raise RuntimeError("WebSearchConfig not found in invocation_state")
    return config


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
    config, style = get_web_search_config(tool_context), _style_of(tool_context)

    def ask(provider: SearchProvider, wanted: SearchFilters) -> Awaitable[SearchResults]:
        return ask_search(
            provider,
            query,
            search_depth=config.search_depth,
            max_results=config.max_results,
            include_answer=True,
            filters=wanted,
        )

    def summary(found: SearchResults) -> str:
        return f"{len(found.results)} results"

    results = await _asked("web_search", query, tool_context, filters=filters, ask=ask, summary=summary)
    if isinstance(results, FailedText):
        return results
    if not results.results and not (results.answer or "").strip():
        return WORDS[style.language].nothing_found
    results, most = cut_hits(results, config.max_content_length, style.max_tokens)
    results, notes = bounded_hits(results, max_tokens=most, tool="web_extract")
    return _fenced(format_answer(results, language=style.language), style, notes)


async def _asked(
    name: str,
    query: str,
    tool_context: ToolContext,
    *,
    filters: FilterArguments,
    ask: Callable[[SearchProvider, SearchFilters], Awaitable[_Results]],
    summary: Callable[[_Results], str],
) -> _Results | FailedText:
    """What a provider answers to `query` within `filters`, or the text that says why it does not."""
    config, style = get_web_search_config(tool_context), _style_of(tool_context)
    words = WORDS[style.language]
    if not query.strip():
        return FailedText(words.no_query)
    mistakes: list[str] = []

    async def run() -> _Results:
        provider = _providers.of(config, style.language)
        try:
            wanted = check_filters(**filters)
            if wanted.given():
                can = supported_filters(provider)
                refuse_unsupported(wanted, can, provider=provider.name, instead="tavily")
        except TavilyAPIError as error:
            mistakes.append(in_language(error.message, style.language))
            raise
        return await ask(provider, wanted)

    results = await _logged(name, query, run, summary, style)
    if isinstance(results, Failure):
        return results.told(mistakes[0] if mistakes else words.failed)  # the model can mend what it asked for
    return results


@reporting_failures
@tool(context=True)
async def web_extract(urls: list[str], tool_context: ToolContext, query: str = "", offset: int = 0) -> str:
    """ウェブページの本文を取得する。

    Args:
        urls: 取得するURLのリスト（http または https、20件まで）
        tool_context: ツールコンテキスト
        query: この質問に関係する箇所だけを返す
        offset: 各ページをこの文字位置から返す（長いページの続きを読むとき）

    Returns:
        各ページの本文またはエラーメッセージ
    """  # noqa: D400, D415 - a Japanese full stop
    config, style = get_web_search_config(tool_context), _style_of(tool_context)
    words = WORDS[style.language]
    if not any(url.strip() for url in urls):
        return FailedText(words.no_urls)
    try:
        start = check_offset(offset)
    except TavilyAPIError as error:
        return FailedText(in_language(error.message, style.language))
    results = await _logged(
        "web_extract",
        shown_urls(urls),
        lambda: ask_extract(
            _providers.of(config, style.language),
            urls,
            options=ExtractOptions(query=query.strip() or None),
        ),
        lambda found: f"{len(found.results)} pages, {len(found.failed_results)} failed",
        style,
    )
    if isinstance(results, Failure):
        return results.told(words.not_extracted)
    results, notes = bounded_pages(results, max_tokens=style.max_tokens, offset=start, tool="web_extract")
    said = _fenced(format_extract(results, language=style.language), style, notes)
    return said if results.results else FailedText(said)


@reporting_failures
@tool(context=True)
async def web_context(query: str, tool_context: ToolContext) -> str:
    """質問に関連する文章をウェブから集める。

    Args:
        query: 検索クエリ
        tool_context: ツールコンテキスト

    Returns:
        関連する文章と出典またはエラーメッセージ
    """  # noqa: D400, D415 - a Japanese full stop
    return await _context(query, tool_context)


async def _context(query: str, tool_context: ToolContext, **filters: Unpack[FilterArguments]) -> str:
    style = _style_of(tool_context)

    def ask(provider: SearchProvider, wanted: SearchFilters) -> Awaitable[SearchContext]:
        return ask_context(provider, query, filters=wanted)

    def summary(found: SearchContext) -> str:
        return f"{len(found.sources)} sources, about {found.tokens} tokens"

    context = await _asked("web_context", query, tool_context, filters=filters, ask=ask, summary=summary)
    if isinstance(context, FailedText):
        return context
    if not context.text.strip():
        return WORDS[style.language].nothing_found
    context = bounded_context(context, max_tokens=style.max_tokens)
    return _fenced(format_context(context, language=style.language), style)


_QUERY = {"type": "string", "description": "Search query"}
_URLS = {"type": "array", "items": {"type": "string"}, "description": "URLs to read (http or https, at most 20)"}
_PASSAGES_FOR = {
    "type": "string",
    "default": "",
    "description": "Give only the passages that matter for this question",
}
_OFFSET = {
    "type": "integer",
    "default": 0,
    "description": "Give each page from this character on, to read on in a long page",
}


WEB_SEARCH_TOOLS: list[AgentTool] = [web_search]
WEB_TOOLS: list[AgentTool] = [web_search, web_extract, web_context]
_WEB_TOOLS_IN_ENGLISH: list[AgentTool] = [
    in_english(web_search, "Search the web.", query=_QUERY),
    in_english(web_extract, "Read the text of web pages.", urls=_URLS, query=_PASSAGES_FOR, offset=_OFFSET),
    in_english(web_context, "Collect passages about a question from the web.", query=_QUERY),
]


class WebSearchToolsFactory:
    """`web_search`, and the invocation state it needs.

    ```python
    factory = WebSearchToolsFactory(config.tools.web_search)
    agent = Agent(tools=factory.tools)
    await agent.invoke_async("...", invocation_state=factory.get_invocation_state())
    ```
    """

    def __init__(self, config: WebSearchConfig) -> None:
        self._config = config

    def get_invocation_state(self) -> dict[str, Any]:
        """What the tools find in `tool_context.invocation_state`; a new dict each time."""
        return {WEB_SEARCH_CONFIG_KEY: self._config}

    @property
    def tools(self) -> list[AgentTool]:
        """The tools, for `Agent(tools=...)`."""
        return WEB_SEARCH_TOOLS

    async def aclose(self) -> None:
        """Gives the connections of the tools back; a later call opens new ones."""
        for provider in _providers.forget(self._config):
            await provider.aclose()


class WebToolsFactory(WebSearchToolsFactory):
    """`web_search`, `web_extract` and `web_context`, in Japanese or English, with text from the web fenced or not."""

    def __init__(self, config: WebSearchConfig, *, language: Language = "ja", untrusted: Untrusted = "fence") -> None:
        super().__init__(config)
        self._style = _Style(language, untrusted)

    def get_invocation_state(self) -> dict[str, Any]:
        """What the tools find in `tool_context.invocation_state`; a new dict each time."""
        return {**super().get_invocation_state(), _STYLE_KEY: self._style}

    @property
    def tools(self) -> list[AgentTool]:
        """The tools, for `Agent(tools=...)`; searches take the filters that the provider can carry out."""
        language = self._style.language
        search, extract, context = WEB_TOOLS if language == "ja" else _WEB_TOOLS_IN_ENGLISH
        provider = _providers.of(self._config, language)
        return [
            with_filters(search, _search, provider, language),
            extract,
            with_filters(context, _context, provider, language),
        ]


def web_tools_factory(
    config: WebSearchConfig | None, *, language: Language = "ja", untrusted: Untrusted = "fence"
) -> WebToolsFactory | None:
    """A factory where `config` says that the web is searched; None where it is off or, with a warning, lacks its key.

    Raises:
        HikidashiError: the provider cannot be used here, such as `MissingExtra`: better now than at the first question.
    """
    offered = web_search_to_offer(config)
    if offered is None:
        return None
    _providers.of(offered, language)
    return WebToolsFactory(offered, language=language, untrusted=untrusted)


class _Providers:
    """One provider for each config object and language, for as long as the config lives."""

    def __init__(self) -> None:
        self._made: dict[int, dict[Language, SearchProvider]] = {}
        self._lock = Lock()

    def of(self, config: WebSearchConfig, language: Language) -> SearchProvider:
        """The provider that `config` means."""
        with self._lock:
            if id(config) not in self._made:
                self._made[id(config)] = {}
                weakref.finalize(config, self._made.pop, id(config), None)
            made = self._made[id(config)]
            if language not in made:
                made[language] = configured_provider(config, language=language)
            return made[language]

    def forget(self, config: WebSearchConfig) -> list[SearchProvider]:
        """The providers made for `config`, which the caller closes; a later `of` makes new ones."""
        with self._lock:
            made = self._made.get(id(config), {})
            providers = list(made.values())
            made.clear()
            return providers


_providers = _Providers()


def _style_of(tool_context: ToolContext) -> _Style:
    return tool_context.invocation_state.get(_STYLE_KEY) or _Style()


async def _logged(
    name: str,
    asked: object,
    run: Callable[[], Awaitable[_Results]],
    summary: Callable[[_Results], str],
    style: _Style,
) -> _Results | Failure:
    """What `run` gives, or how it failed; the log says what was asked, and how it went."""
    shown = repr(asked)
    shown = shown if len(shown) <= _LONGEST_IN_LOG else shown[: _LONGEST_IN_LOG - 1] + "…"
    try:
        with errors_in(style.language):
            results = await run()
    except asyncio.CancelledError:
        logger.info("%s %s: cancelled", name, shown)
        raise
    except HikidashiError as error:
        reason = " ".join(str(error).split())
        logger.info("%s %s: failed: %s", name, shown, reason)
        return Failure(reason)
    except Exception as error:
        log_verbose_tool_failed(name, error)
        logger.info("%s %s: failed: %s", name, shown, type(error).__name__)
        return Failure(f"{type(error).__name__}; the log says where")
    logger.info("%s %s: success: %s", name, shown, summary(results))
    return results


def _fenced(said: str, style: _Style, notes: Sequence[str] = ()) -> str:
    whole = fence(said, language=style.language) if style.untrusted == "fence" else said
    return "\n\n".join([whole, *(in_language(note, style.language) for note in notes)])
