"""Tool search for the anthropic client: the loop on our side, for any number of tools and any model."""

from __future__ import annotations

from .run import (
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

__all__ = [
    "AnthropicClient",
    "AsyncToolStream",
    "LoopOptions",
    "RunOptions",
    "ToolResults",
    "ToolRun",
    "ToolStream",
    "arun_anthropic_search",
    "run_anthropic_search",
]
