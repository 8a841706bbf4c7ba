"""Web tools: search, extract and context, with Tavily, SearXNG, or an index of local documents.

Importing this package imports no framework: each name is loaded when it is first used, and raises `MissingExtra` if
its extra is not installed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..common.lazy import attach

if TYPE_CHECKING:
    from ..texts import Language as Language
    from .answers import Untrusted as Untrusted
    from .answers import format_context as format_context
    from .answers import format_error as format_error
    from .answers import format_extract as format_extract
    from .answers import format_search as format_search
    from .local import Embed as Embed
    from .local import FoundPassage as FoundPassage
    from .local import IndexTotals as IndexTotals
    from .local import ListedDocument as ListedDocument
    from .local import LocalIndex as LocalIndex
    from .local import LocalSearchProvider as LocalSearchProvider
    from .local import Ranker as Ranker
    from .local import StoredDocument as StoredDocument
    from .mcp import serve_stdio as serve_stdio
    from .mcp import web_mcp_server as web_mcp_server
    from .pages.fetch import Fetched as Fetched
    from .pages.fetch import Fetcher as Fetcher
    from .pages.fetch import Resolver as Resolver
    from .provider import SearchProvider as SearchProvider
    from .providers.cache import ResultCache as ResultCache
    from .providers.choose import choose_provider as choose_provider
    from .providers.searxng import SearxngProvider as SearxngProvider
    from .providers.tavily import TavilyAPIClient as TavilyAPIClient
    from .providers.transport import RetryPolicy as RetryPolicy
    from .pydantic_ai import TavilySearchDeps as TavilySearchDeps
    from .pydantic_ai import TavilyToolsRepositoryMixin as TavilyToolsRepositoryMixin
    from .pydantic_ai import tavily_context as tavily_context
    from .pydantic_ai import tavily_extract as tavily_extract
    from .pydantic_ai import tavily_search as tavily_search
    from .pydantic_ai import web_toolset as web_toolset
    from .request import AnswerKind as AnswerKind
    from .request import CrawlOptions as CrawlOptions
    from .request import ExtractOptions as ExtractOptions
    from .request import FilterArguments as FilterArguments
    from .request import PageFormat as PageFormat
    from .request import SearchDepth as SearchDepth
    from .request import SearchFilters as SearchFilters
    from .request import SearchOptions as SearchOptions
    from .request import SearchRequest as SearchRequest
    from .request import TimeRange as TimeRange
    from .request import Topic as Topic
    from .results import CrawlResults as CrawlResults
    from .results import ExtractedPage as ExtractedPage
    from .results import ExtractResults as ExtractResults
    from .results import FailedPage as FailedPage
    from .results import MapResults as MapResults
    from .results import SearchContext as SearchContext
    from .results import SearchHit as SearchHit
    from .results import SearchResults as SearchResults
    from .tools import Presentation as Presentation
    from .tools import SearchDefaults as SearchDefaults
    from .tools import WebResults as WebResults
    from .tools import WebTools as WebTools
    from .tools import web_tools as web_tools
    from .words import Term as Term
else:
    __getattr__, __dir__, __all__ = attach(__name__)
