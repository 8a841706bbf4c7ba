"""Tool search in the Messages API: requests with it, and the content blocks of searches in replies.

`hikidashi.search.anthropic` and the loopback Messages API are built on it.
"""

from .blocks import (
    ToolSearchCall,
    ToolSearchFailure,
    Variant,
    reference_blocks,
    referenced_tools,
    search_requests,
    tool_searches,
)
from .definitions import Verdict, worth_it
from .mcp_toolset import McpToolset
from .models import Provider, Support, support
from .requests import client_search_tool, to_anthropic_search

__all__ = [
    "McpToolset",
    "Provider",
    "Support",
    "ToolSearchCall",
    "ToolSearchFailure",
    "Variant",
    "Verdict",
    "client_search_tool",
    "reference_blocks",
    "referenced_tools",
    "search_requests",
    "support",
    "to_anthropic_search",
    "tool_searches",
    "worth_it",
]
