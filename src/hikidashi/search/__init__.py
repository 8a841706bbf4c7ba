"""Tool search: find the few tools an agent needs among many.

`ToolCatalog` finds tools by words, by pattern or by name. `to_<framework>_search(tools)` gives the search to an agent:
`to_pydantic_ai_search`, `to_strands_search`, `to_claude_search`, `to_mcp_search`, and for the Messages API
`to_anthropic_search` (the API searches) or `run_anthropic_search` (hikidashi searches).

Importing this package imports no framework: each name is loaded when it is first used, and one that needs an extra
says which to install.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..common.lazy import lazy

if TYPE_CHECKING:
    from ..errors import (
        SearchLogError,
        ToolConnectionError,
        ToolSearchCode,
        ToolSearchError,
        ToolSourceError,
        ToolTurnLimitError,
    )
    from ..servers.config import McpServer, read_mcp_config
    from ..servers.listing import ServerTools, tools_of_servers
    from .answers.budget import AnswerBudget
    from .answers.search_tools import Strategy
    from .answers.texts import Language
    from .anthropic import (
        AnthropicClient,
        AsyncToolStream,
        LoopOptions,
        RunOptions,
        ToolResults,
        ToolRun,
        ToolStream,
        arun_anthropic_search,
        run_anthropic_search,
    )
    from .catalog import Ranker, ToolCatalog
    from .claude import search_hooks, search_tool_names, to_claude_search
    from .engine.embeddings import Embedder
    from .engine.explain import Explanation
    from .engine.match import ToolMatch
    from .live import LiveServers, ServerState
    from .mcp import to_mcp_search
    from .overlay import Addition, Overlay
    from .pydantic_ai import deferred, to_pydantic_ai_search, toolset_of
    from .records.found_by import FoundByCounts, PreloadedTool, Preloading
    from .records.log import FoundBy, RecordedCall, RecordedSearch, Recorder, SearchLog
    from .records.report import CalledTool, EmptySearch, FoundTool, Missed, Proposal, Report, report
    from .strands import ToolSearchHook, to_strands_search
    from .wire import (
        McpToolset,
        Provider,
        ToolSearchCall,
        ToolSearchFailure,
        Variant,
        Verdict,
        client_search_tool,
        reference_blocks,
        referenced_tools,
        search_requests,
        to_anthropic_search,
        tool_searches,
        worth_it,
    )

_HOME_OF = {
    "Addition": ".overlay",
    "AnswerBudget": ".answers.budget",
    "AnthropicClient": ".anthropic",
    "AsyncToolStream": ".anthropic",
    "CalledTool": ".records.report",
    "Embedder": ".engine.embeddings",
    "EmptySearch": ".records.report",
    "Explanation": ".engine.explain",
    "FoundBy": ".records.log",
    "FoundByCounts": ".records.found_by",
    "FoundTool": ".records.report",
    "Language": ".answers.texts",
    "LiveServers": ".live",
    "LoopOptions": ".anthropic",
    "McpServer": "..servers.config",
    "McpToolset": ".wire",
    "Missed": ".records.report",
    "Overlay": ".overlay",
    "PreloadedTool": ".records.found_by",
    "Preloading": ".records.found_by",
    "Proposal": ".records.report",
    "Provider": ".wire",
    "Ranker": ".catalog",
    "RecordedCall": ".records.log",
    "RecordedSearch": ".records.log",
    "Recorder": ".records.log",
    "Report": ".records.report",
    "RunOptions": ".anthropic",
    "SearchLog": ".records.log",
    "SearchLogError": "..errors",
    "ServerState": ".live",
    "ServerTools": "..servers.listing",
    "Strategy": ".answers.search_tools",
    "ToolCatalog": ".catalog",
    "ToolConnectionError": "..errors",
    "ToolMatch": ".engine.match",
    "ToolResults": ".anthropic",
    "ToolRun": ".anthropic",
    "ToolSearchCall": ".wire",
    "ToolSearchCode": "..errors",
    "ToolSearchError": "..errors",
    "ToolSearchFailure": ".wire",
    "ToolSearchHook": ".strands",
    "ToolSourceError": "..errors",
    "ToolStream": ".anthropic",
    "ToolTurnLimitError": "..errors",
    "Variant": ".wire",
    "Verdict": ".wire",
    "arun_anthropic_search": ".anthropic",
    "client_search_tool": ".wire",
    "deferred": ".pydantic_ai",
    "read_mcp_config": "..servers.config",
    "reference_blocks": ".wire",
    "referenced_tools": ".wire",
    "report": ".records.report",
    "run_anthropic_search": ".anthropic",
    "search_hooks": ".claude",
    "search_requests": ".wire",
    "search_tool_names": ".claude",
    "to_anthropic_search": ".wire",
    "to_claude_search": ".claude",
    "to_mcp_search": ".mcp",
    "to_pydantic_ai_search": ".pydantic_ai",
    "to_strands_search": ".strands",
    "tool_searches": ".wire",
    "tools_of_servers": "..servers.listing",
    "toolset_of": ".pydantic_ai",
    "worth_it": ".wire",
}

__all__ = [
    "Addition",
    "AnswerBudget",
    "AnthropicClient",
    "AsyncToolStream",
    "CalledTool",
    "Embedder",
    "EmptySearch",
    "Explanation",
    "FoundBy",
    "FoundByCounts",
    "FoundTool",
    "Language",
    "LiveServers",
    "LoopOptions",
    "McpServer",
    "McpToolset",
    "Missed",
    "Overlay",
    "PreloadedTool",
    "Preloading",
    "Proposal",
    "Provider",
    "Ranker",
    "RecordedCall",
    "RecordedSearch",
    "Recorder",
    "Report",
    "RunOptions",
    "SearchLog",
    "SearchLogError",
    "ServerState",
    "ServerTools",
    "Strategy",
    "ToolCatalog",
    "ToolConnectionError",
    "ToolMatch",
    "ToolResults",
    "ToolRun",
    "ToolSearchCall",
    "ToolSearchCode",
    "ToolSearchError",
    "ToolSearchFailure",
    "ToolSearchHook",
    "ToolSourceError",
    "ToolStream",
    "ToolTurnLimitError",
    "Variant",
    "Verdict",
    "arun_anthropic_search",
    "client_search_tool",
    "deferred",
    "read_mcp_config",
    "reference_blocks",
    "referenced_tools",
    "report",
    "run_anthropic_search",
    "search_hooks",
    "search_requests",
    "search_tool_names",
    "to_anthropic_search",
    "to_claude_search",
    "to_mcp_search",
    "to_pydantic_ai_search",
    "to_strands_search",
    "tool_searches",
    "tools_of_servers",
    "toolset_of",
    "worth_it",
]

__getattr__, __dir__ = lazy(__name__, _HOME_OF, __all__)
