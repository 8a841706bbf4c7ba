"""Which strands model a config means; its package is imported only here, and only then."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from ..config import AgentConfig
from ..errors import ConfigError, MissingExtra
from ._models import DEFAULT_MODELS

try:
    from strands.models import Model
except ImportError as error:
    raise MissingExtra("strands-agents", "strands") from error

__all__ = ["strands_model"]


def strands_model(config: AgentConfig, *, source: str = "config") -> Model:
    """A new model for `config`; `source` is the file that errors name.

    Raises:
        MissingExtra: the anthropic package is not installed.
        ConfigError: another package, or a key, is missing.
    """
    return _BUILDERS[config.provider](config, source, config.model or DEFAULT_MODELS[config.provider])


def _anthropic(config: AgentConfig, source: str, model: str) -> Model:
    try:
        from strands.models.anthropic import AnthropicModel
    except ImportError as error:
        raise MissingExtra("anthropic", "anthropic") from error
    if not config.api_key and not any(map(os.environ.get, ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"))):
        advice = "Set ANTHROPIC_API_KEY, or use `engine: claude-code`, which needs none."
        raise ConfigError(source, f"is missing. {advice}", "agent.api_key")
    client = _given(api_key=config.api_key, base_url=config.base_url)
    return AnthropicModel(client_args=client, model_id=model, max_tokens=config.max_tokens)


def _openai(config: AgentConfig, source: str, model: str) -> Model:
    try:
        from strands.models.openai import OpenAIModel
    except ImportError as error:
        raise _missing(source, "openai") from error
    api_key = config.api_key or os.environ.get("OPENAI_API_KEY")
    if not api_key and not config.base_url:
        advice = "Set OPENAI_API_KEY, or the `base_url` of a server that needs no key."
        raise ConfigError(source, f"is missing. {advice}", "agent.api_key")
    # The client refuses to start without a key, also where the server asks for none.
    client = _given(api_key=api_key or "none", base_url=config.base_url)
    limit = "max_completion_tokens" if config.base_url is None else "max_tokens"
    return OpenAIModel(client_args=client, model_id=model, params={limit: config.max_tokens})


def _bedrock(config: AgentConfig, source: str, model: str) -> Model:
    try:
        from strands.models.bedrock import BedrockModel
    except ImportError as error:
        raise _missing(source, "boto3") from error
    options = _given(region_name=config.region, endpoint_url=config.base_url, api_key=config.api_key)
    return BedrockModel(**options, model_id=model, max_tokens=config.max_tokens)


def _ollama(config: AgentConfig, source: str, model: str) -> Model:
    try:
        from strands.models.ollama import OllamaModel
    except ImportError as error:
        raise _missing(source, "ollama") from error
    return OllamaModel(config.base_url, model_id=model, max_tokens=config.max_tokens)


_BUILDERS: dict[str, Callable[[AgentConfig, str, str], Model]] = {
    "anthropic": _anthropic,
    "openai": _openai,
    "bedrock": _bedrock,
    "ollama": _ollama,
}


def _given(**options: str | None) -> dict[str, Any]:
    return {name: value for name, value in options.items() if value}


def _missing(source: str, package: str) -> ConfigError:
    return ConfigError(source, f"needs the package `{package}`. Run: pip install {package}", "agent.provider")
