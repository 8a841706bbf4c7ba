"""One drawer for every tool an agent has.

Importing this package imports no framework: each public name is loaded when it is first used,
and one that needs an extra says which to install.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .common.lazy import lazy

if TYPE_CHECKING:
    from .claude.deps_support import DepsContext, deserialize_deps, serialize_deps
    from .claude.mcp_integration import create_mcp_server_from_tools
    from .claude.model import ClaudeCodeModel, ClaudeCodeModelSettings
    from .claude.tool_converter import convert_tool, convert_tool_with_deps, convert_tools_to_mcp_server
    from .convert.anthropic import call_anthropic, to_anthropic
    from .convert.claude import allowed_tools, to_claude, to_claude_tool
    from .convert.functions import from_function
    from .convert.mcp import from_mcp, to_mcp
    from .convert.pydantic_ai import from_pydantic_ai, to_pydantic_ai
    from .convert.strands import from_strands, to_strands
    from .errors import (
        ClaudeCodeAPIError,
        ClaudeCodeError,
        ClaudeCodeLimitError,
        ClaudeCodeNotFoundError,
        ClaudeCodeProcessError,
        ClaudeCodeTimeoutError,
        ConfigError,
        DepsJSONError,
        ErrorType,
        FetchRefused,
        HikidashiError,
        InvalidSettingError,
        MissingDepsError,
        MissingExtra,
        SearchLogError,
        SlackError,
        TavilyAPIError,
        ToolConnectionError,
        ToolNotFoundError,
        ToolSearchError,
        ToolsetNotRegisteredError,
        ToolSourceError,
        ToolTurnLimitError,
        ToolValidationError,
        TypeHintResolutionError,
        Unsupported,
        UnsupportedDepsTypeError,
        WebIndexError,
    )
    from .search.catalog import ToolCatalog
    from .tool import Tool, ToolAnnotations, ToolResult

__version__ = "0.1.0"

_HOME_OF = {
    "ClaudeCodeAPIError": ".errors",
    "ClaudeCodeError": ".errors",
    "ClaudeCodeLimitError": ".errors",
    "ClaudeCodeModel": ".claude.model",
    "ClaudeCodeModelSettings": ".claude.model",
    "ClaudeCodeNotFoundError": ".errors",
    "ClaudeCodeProcessError": ".errors",
    "ClaudeCodeTimeoutError": ".errors",
    "ConfigError": ".errors",
    "DepsContext": ".claude.deps_support",
    "DepsJSONError": ".errors",
    "ErrorType": ".errors",
    "FetchRefused": ".errors",
    "HikidashiError": ".errors",
    "InvalidSettingError": ".errors",
    "MissingDepsError": ".errors",
    "MissingExtra": ".errors",
    "SearchLogError": ".errors",
    "SlackError": ".errors",
    "TavilyAPIError": ".errors",
    "Tool": ".tool",
    "ToolAnnotations": ".tool",
    "ToolCatalog": ".search.catalog",
    "ToolConnectionError": ".errors",
    "ToolNotFoundError": ".errors",
    "ToolResult": ".tool",
    "ToolSearchError": ".errors",
    "ToolSourceError": ".errors",
    "ToolTurnLimitError": ".errors",
    "ToolValidationError": ".errors",
    "ToolsetNotRegisteredError": ".errors",
    "TypeHintResolutionError": ".errors",
    "Unsupported": ".errors",
    "UnsupportedDepsTypeError": ".errors",
    "WebIndexError": ".errors",
    "allowed_tools": ".convert.claude",
    "call_anthropic": ".convert.anthropic",
    "convert_tool": ".claude.tool_converter",
    "convert_tool_with_deps": ".claude.tool_converter",
    "convert_tools_to_mcp_server": ".claude.tool_converter",
    "create_mcp_server_from_tools": ".claude.mcp_integration",
    "deserialize_deps": ".claude.deps_support",
    "from_function": ".convert.functions",
    "from_mcp": ".convert.mcp",
    "from_pydantic_ai": ".convert.pydantic_ai",
    "from_strands": ".convert.strands",
    "serialize_deps": ".claude.deps_support",
    "to_anthropic": ".convert.anthropic",
    "to_claude": ".convert.claude",
    "to_claude_tool": ".convert.claude",
    "to_mcp": ".convert.mcp",
    "to_pydantic_ai": ".convert.pydantic_ai",
    "to_strands": ".convert.strands",
}

__all__ = [
    "ClaudeCodeAPIError",
    "ClaudeCodeError",
    "ClaudeCodeLimitError",
    "ClaudeCodeModel",
    "ClaudeCodeModelSettings",
    "ClaudeCodeNotFoundError",
    "ClaudeCodeProcessError",
    "ClaudeCodeTimeoutError",
    "ConfigError",
    "DepsContext",
    "DepsJSONError",
    "ErrorType",
    "FetchRefused",
    "HikidashiError",
    "InvalidSettingError",
    "MissingDepsError",
    "MissingExtra",
    "SearchLogError",
    "SlackError",
    "TavilyAPIError",
    "Tool",
    "ToolAnnotations",
    "ToolCatalog",
    "ToolConnectionError",
    "ToolNotFoundError",
    "ToolResult",
    "ToolSearchError",
    "ToolSourceError",
    "ToolTurnLimitError",
    "ToolValidationError",
    "ToolsetNotRegisteredError",
    "TypeHintResolutionError",
    "Unsupported",
    "UnsupportedDepsTypeError",
    "WebIndexError",
    "__version__",
    "allowed_tools",
    "call_anthropic",
    "convert_tool",
    "convert_tool_with_deps",
    "convert_tools_to_mcp_server",
    "create_mcp_server_from_tools",
    "deserialize_deps",
    "from_function",
    "from_mcp",
    "from_pydantic_ai",
    "from_strands",
    "serialize_deps",
    "to_anthropic",
    "to_claude",
    "to_claude_tool",
    "to_mcp",
    "to_pydantic_ai",
    "to_strands",
]

__getattr__, __dir__ = lazy(__name__, _HOME_OF, __all__)
