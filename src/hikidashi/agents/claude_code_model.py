"""Claude Code as a config describes it; `hikidashi.providers.CHAT_MODELS` names the function here."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..claude.model import ClaudeCodeModel
    from ..config import AgentConfig

__all__ = ["claude_code_model"]


def claude_code_model(config: AgentConfig, model: str) -> ClaudeCodeModel:
    """The model `model` on Claude Code, with the key and address of `config` in its environment.

    Raises:
        MissingExtra: Claude Code or pydantic-ai is not installed.
    """
    from ..claude.model import ClaudeCodeModel

    given = {"ANTHROPIC_API_KEY": config.api_key, "ANTHROPIC_BASE_URL": config.base_url}
    env = {name: value for name, value in given.items() if value}
    return ClaudeCodeModel(model, tool_execution="agent", env=env)
