"""Tool search: find the few tools an agent needs among many.

`ToolCatalog` finds tools by words, by pattern or by name. `to_<framework>_search(tools)` gives the search to an agent:
`to_pydantic_ai_search`, `to_strands_search`, `to_claude_search`, `to_mcp_search`, and for the Messages API
`to_anthropic_search` (the API searches) or `run_anthropic_search` (hikidashi searches).

Importing this package imports no framework: each name is loaded when it is first used, and one that needs an extra
says which to install.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..common.lazy import attach

if TYPE_CHECKING:
    from ..errors import SearchLogError as SearchLogError
    from ..errors import ToolConnectionError as ToolConnectionError
    from ..errors import ToolSearchCode as ToolSearchCode
    from ..errors import ToolSearchError as ToolSearchError
    from ..errors import ToolSourceError as ToolSourceError
    from ..errors import ToolTurnLimitError as ToolTurnLimitError
    from ..servers.config import McpServer as McpServer
    from ..servers.config import read_mcp_config as read_mcp_config
    from ..servers.listing import ServerTools as ServerTools
    from ..servers.listing import tools_of_servers as tools_of_servers
    from .answers import AnswerBudget as AnswerBudget
    from .answers import Language as Language
    from .anthropic import AnthropicClient as AnthropicClient
    from .anthropic import AsyncToolStream as AsyncToolStream
    from .anthropic import LoopOptions as LoopOptions
    from .anthropic import RunOptions as RunOptions
    from .anthropic import ToolResults as ToolResults
    from .anthropic import ToolRun as ToolRun
    from .anthropic import ToolStream as ToolStream
    from .anthropic import arun_anthropic_search as arun_anthropic_search
    from .anthropic import run_anthropic_search as run_anthropic_search
    from .anthropic_blocks import ToolSearchCall as ToolSearchCall
    from .anthropic_blocks import ToolSearchFailure as ToolSearchFailure
    from .anthropic_blocks import Variant as Variant
    from .anthropic_blocks import reference_blocks as reference_blocks
    from .anthropic_blocks import referenced_tools as referenced_tools
    from .anthropic_blocks import search_requests as search_requests
    from .anthropic_blocks import tool_searches as tool_searches
    from .anthropic_request import McpToolset as McpToolset
    from .anthropic_request import Provider as Provider
    from .anthropic_request import Verdict as Verdict
    from .anthropic_request import client_search_tool as client_search_tool
    from .anthropic_request import to_anthropic_search as to_anthropic_search
    from .anthropic_request import worth_it as worth_it
    from .catalog import Ranker as Ranker
    from .catalog import ToolCatalog as ToolCatalog
    from .claude import search_hooks as search_hooks
    from .claude import search_tool_names as search_tool_names
    from .claude import to_claude_search as to_claude_search
    from .engine.embeddings import Embedder as Embedder
    from .engine.match import Explanation as Explanation
    from .engine.match import ToolMatch as ToolMatch
    from .live import LiveServers as LiveServers
    from .live import ServerState as ServerState
    from .log import FoundBy as FoundBy
    from .log import RecordedCall as RecordedCall
    from .log import RecordedSearch as RecordedSearch
    from .log import Recorder as Recorder
    from .log import SearchLog as SearchLog
    from .log_report import CalledTool as CalledTool
    from .log_report import EmptySearch as EmptySearch
    from .log_report import FoundByCounts as FoundByCounts
    from .log_report import FoundTool as FoundTool
    from .log_report import Missed as Missed
    from .log_report import PreloadCounts as PreloadCounts
    from .log_report import PreloadedTool as PreloadedTool
    from .log_report import Proposal as Proposal
    from .log_report import Report as Report
    from .log_report import report as report
    from .mcp import to_mcp_search as to_mcp_search
    from .overlay import Addition as Addition
    from .overlay import Overlay as Overlay
    from .pydantic_ai import deferred as deferred
    from .pydantic_ai import to_pydantic_ai_search as to_pydantic_ai_search
    from .pydantic_ai import toolset_of as toolset_of
    from .search_tools import Strategy as Strategy
    from .strands import ToolSearchHook as ToolSearchHook
    from .strands import to_strands_search as to_strands_search
else:
    __getattr__, __dir__, __all__ = attach(__name__)
