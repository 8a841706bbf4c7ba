"""Web tools: search, extract, context; through Tavily, SearXNG, or an index of one's own documents.

Importing this package imports no framework: each name is loaded when it is first used, and one that needs an extra
says which to install.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._lazy import lazy

if TYPE_CHECKING:
    from ..errors import ErrorType, FetchRefused, TavilyAPIError, WebIndexError
    from .cache import ResultCache
    from .choose import choose_provider
    from .fence import Untrusted
    from .format import Language, format_context, format_error, format_extract, format_search
    from .local import LocalIndex, LocalSearchProvider
    from .mcp import serve_stdio, web_mcp_server
    from .provider import SearchDepth, SearchProvider
    from .pydantic_ai import (
        TavilySearchDeps,
        TavilyToolsRepositoryMixin,
        tavily_context,
        tavily_extract,
        tavily_search,
        web_toolset,
    )
    from .results import ExtractedPage, ExtractResults, FailedPage, SearchContext, SearchHit, SearchResults
    from .searxng import SearxngProvider
    from .tavily import TavilyAPIClient
    from .tools import web_tools

_HOME_OF = {
    "ErrorType": "..errors",
    "ExtractResults": ".results",
    "ExtractedPage": ".results",
    "FailedPage": ".results",
    "FetchRefused": "..errors",
    "Language": ".format",
    "LocalIndex": ".local",
    "LocalSearchProvider": ".local",
    "ResultCache": ".cache",
    "SearchContext": ".results",
    "SearchDepth": ".provider",
    "SearchHit": ".results",
    "SearchProvider": ".provider",
    "SearchResults": ".results",
    "SearxngProvider": ".searxng",
    "TavilyAPIClient": ".tavily",
    "TavilyAPIError": "..errors",
    "TavilySearchDeps": ".pydantic_ai",
    "TavilyToolsRepositoryMixin": ".pydantic_ai",
    "Untrusted": ".fence",
    "WebIndexError": "..errors",
    "choose_provider": ".choose",
    "format_context": ".format",
    "format_error": ".format",
    "format_extract": ".format",
    "format_search": ".format",
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
