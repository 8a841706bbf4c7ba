"""What a config needs and this machine lacks, as far as that shows without importing anything."""

from __future__ import annotations

import os
from collections.abc import Iterator
from importlib.util import find_spec

from hikidashi.config import Config

__all__ = ["lacks_something"]

_CLAUDE_CODE = ("claude_agent_sdk", "mcp", "pydantic_ai")
_MODELS = {"anthropic": "anthropic", "openai": "openai", "bedrock": "boto3", "ollama": "ollama"}
_SEARCHES = {"tavily": ("httpx", "tavily"), "searxng": ("httpx",), "local": ()}
_KEYS = {"anthropic": ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"), "openai": ("OPENAI_API_KEY",)}


def lacks_something(config: Config) -> bool:
    """Whether a package or a key is known to be missing; `make_responder` says which, and what to do."""
    search = config.tools.web_search
    return (
        any(find_spec(package) is None for package in _packages(config))
        or _lacks_key(config)
        or (search is not None and search.needs_key)
    )


def _packages(config: Config) -> Iterator[str]:
    agent, search = config.agent, config.tools.web_search
    yield from _CLAUDE_CODE if agent.engine == "claude-code" else ("strands", _MODELS[agent.provider])
    if search is not None and search.enabled:
        yield from _SEARCHES[search.provider or "tavily"]


def _lacks_key(config: Config) -> bool:
    agent = config.agent
    if agent.engine == "claude-code" or agent.api_key or agent.provider not in _KEYS:
        return False
    if agent.provider == "openai" and agent.base_url:
        return False
    return not any(map(os.environ.get, _KEYS[agent.provider]))
