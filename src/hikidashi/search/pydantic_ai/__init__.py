"""Tool search for pydantic-ai: its own `ToolSearch` capability with our engine, and toolsets that defer loading."""

from __future__ import annotations

from .capability import deferred, tool_search, toolset_of

__all__ = ["deferred", "tool_search", "toolset_of"]
