"""One drawer for every tool an agent has.

Importing this package imports no framework: each public name is loaded when it is first used,
and one that needs an extra says which to install.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .common.lazy import attach

__version__ = "0.1.0"

if TYPE_CHECKING:
    from .claude.deps_support import DepsContext as DepsContext
    from .claude.deps_support import deserialize_deps as deserialize_deps
    from .claude.deps_support import serialize_deps as serialize_deps
    from .claude.mcp_integration import create_mcp_server_from_tools as create_mcp_server_from_tools
    from .claude.model import ClaudeCodeModel as ClaudeCodeModel
    from .claude.model import ClaudeCodeModelSettings as ClaudeCodeModelSettings
    from .claude.tool_converter import convert_tool as convert_tool
    from .claude.tool_converter import convert_tool_with_deps as convert_tool_with_deps
    from .claude.tool_converter import convert_tools_to_mcp_server as convert_tools_to_mcp_server
    from .convert.anthropic import call_anthropic as call_anthropic
    from .convert.anthropic import to_anthropic as to_anthropic
    from .convert.claude import allowed_tools as allowed_tools
    from .convert.claude import to_claude as to_claude
    from .convert.claude import to_claude_tool as to_claude_tool
    from .convert.functions import from_function as from_function
    from .convert.mcp import from_mcp as from_mcp
    from .convert.mcp import to_mcp as to_mcp
    from .convert.pydantic_ai import from_pydantic_ai as from_pydantic_ai
    from .convert.pydantic_ai import to_pydantic_ai as to_pydantic_ai
    from .convert.strands import from_strands as from_strands
    from .convert.strands import to_strands as to_strands
    from .errors import ClaudeCodeError as ClaudeCodeError
    from .errors import HikidashiError as HikidashiError
    from .errors import MissingExtra as MissingExtra
    from .errors import ToolNotFoundError as ToolNotFoundError
    from .errors import ToolsetNotRegisteredError as ToolsetNotRegisteredError
    from .errors import ToolValidationError as ToolValidationError
    from .errors import TypeHintResolutionError as TypeHintResolutionError
    from .errors import Unsupported as Unsupported
    from .errors import UnsupportedDepsTypeError as UnsupportedDepsTypeError
    from .search.catalog import ToolCatalog as ToolCatalog
    from .tool import Tool as Tool
    from .tool import ToolAnnotations as ToolAnnotations
    from .tool import ToolResult as ToolResult
else:
    __getattr__, __dir__, __all__ = attach(__name__, "__version__")
