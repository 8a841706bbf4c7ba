"""Tool search for the anthropic client: the loop on our side, for any number of tools and any model."""

from __future__ import annotations

from .run import AsyncToolStream, ToolResults, ToolRun, ToolStream, arun_tools, run_tools

__all__ = ["AsyncToolStream", "ToolResults", "ToolRun", "ToolStream", "arun_tools", "run_tools"]
