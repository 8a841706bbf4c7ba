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
    from ..servers.config import McpServer as McpServer
    from ..servers.config import read_mcp_config as read_mcp_config
    from .anthropic import LoopOptions as LoopOptions
    from .anthropic import ToolRun as ToolRun
    from .anthropic import arun_anthropic_search as arun_anthropic_search
    from .anthropic import run_anthropic_search as run_anthropic_search
    from .anthropic_blocks import tool_searches as tool_searches
    from .anthropic_request import to_anthropic_search as to_anthropic_search
    from .catalog import ToolCatalog as ToolCatalog
    from .claude import search_hooks as search_hooks
    from .claude import search_tool_names as search_tool_names
    from .claude import to_claude_search as to_claude_search
    from .engine.embeddings import Embedder as Embedder
    from .engine.match import ToolMatch as ToolMatch
    from .live import LiveServers as LiveServers
    from .log import CallLog as CallLog
    from .log import Recorder as Recorder
    from .log_report import report as report
    from .log_sqlite import SearchLog as SearchLog
    from .mcp import to_mcp_search as to_mcp_search
    from .options import SearchOptions as SearchOptions
    from .overlay import Overlay as Overlay
    from .pydantic_ai import deferred as deferred
    from .pydantic_ai import to_pydantic_ai_search as to_pydantic_ai_search
    from .strands import to_strands_search as to_strands_search
else:
    __getattr__, __dir__, __all__ = attach(__name__)
