"""The model of each provider where the config names none."""

from __future__ import annotations

__all__ = ["DEFAULT_MODELS"]

DEFAULT_MODELS = {
    "anthropic": "claude-sonnet-5",
    "openai": "gpt-5",
    "bedrock": "global.anthropic.claude-sonnet-4-6",
    "ollama": "llama3.1",
}
