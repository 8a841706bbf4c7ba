"""Web tools: search, extract and context, with Tavily, SearXNG, or an index of local documents.

Importing this package imports no framework: each name is loaded when it is first used, and raises `MissingExtra` if
its extra is not installed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..common.lazy import lazy

if TYPE_CHECKING:
    from ..errors import ErrorType, FetchRefused, TavilyAPIError, WebIndexError
    from ..texts import Language
    from .answers.fence import Untrusted
    from .answers.format import format_context, format_error, format_extract, format_search
    from .crawl.options import CrawlOptions, CrawlResults, MapResults
    from .filters import ExtractOptions, FilterArguments, PageFormat, SearchFilters, TimeRange, Topic
    from .mcp import serve_stdio, web_mcp_server
    from .pages.fetch import Fetched, Fetcher, Resolver
    from .presentation import Presentation, WebResults
    from .provider import AnswerKind, SearchDepth, SearchProvider
    from .providers.cache import ResultCache
    from .providers.choose import choose_provider
    from .providers.local import (
        Embed,
        Found,
        IndexTotals,
        ListedDocument,
        LocalIndex,
        LocalSearchProvider,
        Ranker,
        StoredDocument,
    )
    from .providers.retry import RetryPolicy
    from .providers.searxng import SearxngProvider
    from .providers.tavily.client import TavilyAPIClient
    from .pydantic_ai import (
        TavilySearchDeps,
        TavilyToolsRepositoryMixin,
        tavily_context,
        tavily_extract,
        tavily_search,
        web_toolset,
    )
    from .results import ExtractedPage, ExtractResults, FailedPage, SearchContext, SearchHit, SearchResults
    from .text.words import Term
    from .tools import SearchDefaults, WebTools, web_tools

_HOME_OF = {
    "AnswerKind": ".provider",
    "CrawlOptions": ".crawl.options",
    "CrawlResults": ".crawl.options",
    "Embed": ".providers.local",
    "ErrorType": "..errors",
    "ExtractOptions": ".filters",
    "ExtractResults": ".results",
    "ExtractedPage": ".results",
    "FailedPage": ".results",
    "FetchRefused": "..errors",
    "Fetched": ".pages.fetch",
    "Fetcher": ".pages.fetch",
    "FilterArguments": ".filters",
    "Found": ".providers.local",
    "IndexTotals": ".providers.local",
    "Language": "..texts",
    "ListedDocument": ".providers.local",
    "LocalIndex": ".providers.local",
    "LocalSearchProvider": ".providers.local",
    "MapResults": ".crawl.options",
    "PageFormat": ".filters",
    "Presentation": ".presentation",
    "Ranker": ".providers.local",
    "Resolver": ".pages.fetch",
    "ResultCache": ".providers.cache",
    "RetryPolicy": ".providers.retry",
    "SearchContext": ".results",
    "SearchDefaults": ".tools",
    "SearchDepth": ".provider",
    "SearchFilters": ".filters",
    "SearchHit": ".results",
    "SearchProvider": ".provider",
    "SearchResults": ".results",
    "SearxngProvider": ".providers.searxng",
    "StoredDocument": ".providers.local",
    "TavilyAPIClient": ".providers.tavily.client",
    "TavilyAPIError": "..errors",
    "TavilySearchDeps": ".pydantic_ai",
    "TavilyToolsRepositoryMixin": ".pydantic_ai",
    "Term": ".text.words",
    "TimeRange": ".filters",
    "Topic": ".filters",
    "Untrusted": ".answers.fence",
    "WebIndexError": "..errors",
    "WebResults": ".presentation",
    "WebTools": ".tools",
    "choose_provider": ".providers.choose",
    "format_context": ".answers.format",
    "format_error": ".answers.format",
    "format_extract": ".answers.format",
    "format_search": ".answers.format",
    "serve_stdio": ".mcp",
    "tavily_context": ".pydantic_ai",
    "tavily_extract": ".pydantic_ai",
    "tavily_search": ".pydantic_ai",
    "web_mcp_server": ".mcp",
    "web_tools": ".tools",
    "web_toolset": ".pydantic_ai",
}

__all__ = [
    "AnswerKind",
    "CrawlOptions",
    "CrawlResults",
    "Embed",
    "ErrorType",
    "ExtractOptions",
    "ExtractResults",
    "ExtractedPage",
    "FailedPage",
    "FetchRefused",
    "Fetched",
    "Fetcher",
    "FilterArguments",
    "Found",
    "IndexTotals",
    "Language",
    "ListedDocument",
    "LocalIndex",
    "LocalSearchProvider",
    "MapResults",
    "PageFormat",
    "Presentation",
    "Ranker",
    "Resolver",
    "ResultCache",
    "RetryPolicy",
    "SearchContext",
    "SearchDefaults",
    "SearchDepth",
    "SearchFilters",
    "SearchHit",
    "SearchProvider",
    "SearchResults",
    "SearxngProvider",
    "StoredDocument",
    "TavilyAPIClient",
    "TavilyAPIError",
    "TavilySearchDeps",
    "TavilyToolsRepositoryMixin",
    "Term",
    "TimeRange",
    "Topic",
    "Untrusted",
    "WebIndexError",
    "WebResults",
    "WebTools",
    "choose_provider",
    "format_context",
    "format_error",
    "format_extract",
    "format_search",
    "serve_stdio",
    "tavily_context",
    "tavily_extract",
    "tavily_search",
    "web_mcp_server",
    "web_tools",
    "web_toolset",
]

__getattr__, __dir__ = lazy(__name__, _HOME_OF, __all__)
