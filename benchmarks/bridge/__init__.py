"""The bridge from pydantic-ai to Claude Code, beside what one would write without it."""

from __future__ import annotations

from ..registry import Suite
from . import calls, conversion, memory, runs, startup, warm

_PARTS = (runs, warm, calls, conversion, startup, memory)

SUITE = Suite(
    name="bridge",
    title="The bridge: pydantic-ai tools in Claude Code",
    groups={part.GROUP: part.MEANING for part in _PARTS},
    cases=[case for part in _PARTS for case in part.CASES],
    packages=("claude-agent-sdk", "hikidashi", "mcp", "pydantic", "pydantic-ai-slim"),
)
