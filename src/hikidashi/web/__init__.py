"""Web tools: search, extract, context; through Tavily, SearXNG, or an index of one's own documents.

Importing this package imports no framework: each name is loaded when it is first used, and one that needs an extra
says which to install.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..common.lazy import lazy

if TYPE_CHECKING:
    from ..errors import ErrorType, FetchRefused, TavilyAPIError, WebIndexError
    from .answers.fence import Untrusted
    from .answers.format import Language, format_context, format_error, format_extract, format_search
    from .mcp import serve_stdio, web_mcp_server
    from .provider import SearchDepth, SearchProvider
    from .providers.cache import ResultCache
    from .providers.choose import choose_provider
    from .providers.local import LocalIndex, LocalSearchProvider
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
    from .tools import web_tools

_HOME_OF = {
    "ErrorType": "..errors",
    "ExtractResults": ".results",
    "ExtractedPage": ".results",
    "FailedPage": ".results",
    "FetchRefused": "..errors",
    "Language": ".answers.format",
    "LocalIndex": ".providers.local",
    "LocalSearchProvider": ".providers.local",
    "ResultCache": ".providers.cache",
    "SearchContext": ".results",
    "SearchDepth": ".provider",
    "SearchHit": ".results",
    "SearchProvider": ".provider",
    "SearchResults": ".results",
    "SearxngProvider": ".providers.searxng",
    "TavilyAPIClient": ".providers.tavily.client",
    "TavilyAPIError": "..errors",
    "TavilySearchDeps": ".pydantic_ai",
    "TavilyToolsRepositoryMixin": ".pydantic_ai",
    "Untrusted": ".answers.fence",
    "WebIndexError": "..errors",
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
    "ErrorType",
    "ExtractResults",
    "ExtractedPage",
    "FailedPage",
    "FetchRefused",
    "Language",
    "LocalIndex",
    "LocalSearchProvider",
    "ResultCache",
    "SearchContext",
    "SearchDepth",
    "SearchHit",
    "SearchProvider",
    "SearchResults",
    "SearxngProvider",
    "TavilyAPIClient",
    "TavilyAPIError",
    "TavilySearchDeps",
    "TavilyToolsRepositoryMixin",
    "Untrusted",
    "WebIndexError",
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
