"""The web tools for strands (spec 001). Offers the tools and their factories."""

from .tools import (
    WEB_SEARCH_CONFIG_KEY,
    WEB_SEARCH_TOOLS,
    WEB_TOOLS,
    WebSearchToolsFactory,
    WebToolsFactory,
    get_web_search_config,
    web_context,
    web_extract,
    web_search,
    web_tools_factory,
)

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
