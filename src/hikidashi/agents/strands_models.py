"""The strands models that a config can name; the package of a model is imported when it is made.

`hikidashi.providers.CHAT_MODELS` names the functions here.
"""

from __future__ import annotations

import os
from typing import Any

from ..config import AgentConfig
from ..errors import ConfigError, HikidashiError, MissingExtra
from ..providers import load

try:
    from strands.models import Model
except ImportError as error:
    raise MissingExtra("strands-agents", "strands") from error

__all__ = ["anthropic_model", "bedrock_model", "ollama_model", "openai_model", "strands_model"]


def strands_model(config: AgentConfig, *, source: str = "config") -> Model:
    """A new model for `config`; `source` is the file that errors name.

    Raises:
        MissingExtra: a package that is an extra of hikidashi is not installed.
        ConfigError: another package, or a key, is missing.
    """
    row = config.info
    try:
        if problem := row.missing_key(config, os.environ):
            raise ConfigError(source, problem, "agent.api_key")
        return load(row.make)(config, config.model or row.default_model)
    except ImportError as error:
        if isinstance(error, HikidashiError):
            raise
        if not row.packages:
            raise ConfigError(source, f"cannot be imported: {error}.", "agent.provider") from error
        # If all are installed, one is broken: the model's own, since strands is imported above.
        missing = next((package for package in row.packages if not package.is_installed), row.packages[-1])
        raise missing.missing(source, "agent.provider") from error


def anthropic_model(config: AgentConfig, model: str) -> Model:
    """A model of the Anthropic API."""
    from strands.models.anthropic import AnthropicModel

    client = _given(api_key=config.api_key, base_url=config.base_url)
    return AnthropicModel(client_args=client, model_id=model, max_tokens=config.max_tokens)


def openai_model(config: AgentConfig, model: str) -> Model:
    """A model of OpenAI, or of a server with the same API."""
    from strands.models.openai import OpenAIModel

    # The client refuses to start without a key, also where the server asks for none.
    api_key = config.api_key or os.environ.get("OPENAI_API_KEY") or "none"
    client = _given(api_key=api_key, base_url=config.base_url)
    limit = "max_completion_tokens" if config.base_url is None else "max_tokens"
    return OpenAIModel(client_args=client, model_id=model, params={limit: config.max_tokens})


def bedrock_model(config: AgentConfig, model: str) -> Model:
    """A model of Amazon Bedrock; without a key, the credentials that boto3 finds."""
    from strands.models.bedrock import BedrockModel

    options = _given(region_name=config.region, endpoint_url=config.base_url, api_key=config.api_key)
    return BedrockModel(**options, model_id=model, max_tokens=config.max_tokens)


def ollama_model(config: AgentConfig, model: str) -> Model:
    """A model of an Ollama server."""
    from strands.models.ollama import OllamaModel

    return OllamaModel(config.base_url, model_id=model, max_tokens=config.max_tokens)


def _given(**options: str | None) -> dict[str, Any]:
    return {name: value for name, value in options.items() if value}
