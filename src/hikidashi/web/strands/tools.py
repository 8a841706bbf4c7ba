"""The web tools for strands (spec 001): the config is in the invocation state.

A failed search does not raise: the tool answers with the sentence of the spec and the status `error`, and the log has
the cause. With a `WebToolsFactory`, all calls share the provider of the factory; with the config alone in the state,
each call has a provider of its own, as in the spec.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from threading import Lock
from typing import Any, Unpack

from ...config import WebSearchConfig
from ...config.sections import web_search_to_offer
from ...errors import MissingExtra
from ...texts import Language, texts
from ...tool import ToolResult
from ..answers.bounded import ANSWER_TOKENS
from ..answers.fence import Untrusted
from ..filters import FilterArguments
from ..log import shown_urls
from ..provider import SearchProvider
from ..providers.choose import configured_provider
from ..tools import META, WebTools, failed_call
from ..validate import as_list
from ._failed import FailedText, reporting_failures
from ._made import in_english, with_filters
from ._presentation import StrandsPresentation

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
    config, settings = get_web_search_config(tool_context), _settings_of(tool_context)
    if _is_blank(query):
        return FailedText(texts("strands", settings.language)["no_query"])
    return await _Tools(config, settings).call(
        "web_search",
        {"query": query},
        lambda web: web.search(query, config.search_depth, config.max_results, **filters),
    )


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
    config, settings = get_web_search_config(tool_context), _settings_of(tool_context)
    if all(map(_is_blank, as_list(urls) or [])):
        return FailedText(texts("strands", settings.language)["no_urls"])
    tools = _Tools(config, settings)
    return await tools.call(
        "web_extract",
        {"urls": shown_urls(urls)},
        lambda web: web.extract(urls, None if _is_blank(query) else query.strip(), offset),
    )


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
    config, settings = get_web_search_config(tool_context), _settings_of(tool_context)
    if _is_blank(query):
        return FailedText(texts("strands", settings.language)["no_query"])
    return await _Tools(config, settings).call(
        "web_context", {"query": query}, lambda web: web.context(query, **filters)
    )


@dataclass(frozen=True)
class _Tools:
    """The neutral web tools, with the provider, language and texts of one call."""

    config: WebSearchConfig
    settings: _Settings

    async def call(
        self, name: str, arguments: Mapping[str, object], run: Callable[[WebTools], Awaitable[ToolResult]]
    ) -> str:
        """The text that `run` answers with; a `FailedText` if it failed, or if there is no provider."""
        language = self.settings.language
        presentation = StrandsPresentation(max_content_length=self.config.max_content_length)
        try:
            async with self._provider() as provider:
                result = await run(
                    WebTools(
                        provider=provider,
                        language=language,
                        untrusted=self.settings.untrusted,
                        max_tokens=ANSWER_TOKENS,
                        presentation=presentation,
                    )
                )
        except Exception as error:
            result = failed_call(name, arguments, error, presentation=presentation, language=language)
        return FailedText(result.text, result.meta.get(META, {}).get("reason", "")) if result.is_error else result.text

    @asynccontextmanager
    async def _provider(self) -> AsyncGenerator[SearchProvider]:
        if self.settings.provider is not None:
            yield self.settings.provider()
            return
        provider = configured_provider(self.config, language=self.settings.language)
        try:
            yield provider
        finally:
            await provider.aclose()


_ENGLISH = texts("strands", "en")
_QUERY = {"type": "string", "description": _ENGLISH["argument.query"]}
_URLS = {"type": "array", "items": {"type": "string"}, "description": _ENGLISH["argument.urls"]}
_PASSAGES_FOR = {"type": "string", "default": "", "description": _ENGLISH["argument.extract_query"]}
_OFFSET = {"type": "integer", "default": 0, "description": _ENGLISH["argument.offset"]}


WEB_SEARCH_TOOLS: list[AgentTool] = [web_search]
WEB_TOOLS: list[AgentTool] = [web_search, web_extract, web_context]
_WEB_TOOLS_IN_ENGLISH: list[AgentTool] = [
    in_english(web_search, _ENGLISH["tool.web_search"], query=_QUERY),
    in_english(web_extract, _ENGLISH["tool.web_extract"], urls=_URLS, query=_PASSAGES_FOR, offset=_OFFSET),
    in_english(web_context, _ENGLISH["tool.web_context"], query=_QUERY),
]


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
        search, extract, context = WEB_TOOLS if language == "ja" else _WEB_TOOLS_IN_ENGLISH
        return [
            with_filters(search, _search, provider, language),
            extract,
            with_filters(context, _context, provider, language),
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


def _is_blank(text: object) -> bool:
    return text is None or (isinstance(text, str) and not text.strip())


def _settings_of(tool_context: ToolContext) -> _Settings:
    return tool_context.invocation_state.get(_SETTINGS_KEY) or _Settings()
