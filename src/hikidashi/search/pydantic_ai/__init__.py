"""Tool search for pydantic-ai: its own `ToolSearch` capability with our engine, and toolsets that defer loading."""

from __future__ import annotations

from .capability import deferred, to_pydantic_ai_search, toolset_of

__all__ = ["deferred", "to_pydantic_ai_search", "toolset_of"]
