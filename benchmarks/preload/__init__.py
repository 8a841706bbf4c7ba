"""Preloading on the real Claude Code CLI, beside a search by the model and beside every tool in the prompt."""

from __future__ import annotations

from ..registry import Suite
from . import tasks

SUITE = Suite(
    name="preload",
    title="Preloading: the tools for a message come with it",
    groups=tasks.GROUPS,
    cases=tasks.CASES,
    packages=("claude-agent-sdk", "hikidashi", "hikidashi-encoder", "mcp"),
)
