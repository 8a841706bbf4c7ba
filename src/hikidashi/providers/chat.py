"""The chat models: one row for each API that answers, and one for Claude Code."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, Protocol

from .package import Package

__all__ = ["CHAT_MODELS", "ChatModel", "api_models", "chat_model_of"]

Engine = Literal["strands", "claude-code"]


class _AgentSettings(Protocol):
    """The settings of `AgentConfig` that a row reads; `config` imports this module, not the other way round."""

    @property
    def engine(self) -> Engine: ...
    @property
    def provider(self) -> str: ...
    @property
    def api_key(self) -> str | None: ...
    @property
    def base_url(self) -> str | None: ...


@dataclass(frozen=True, kw_only=True, slots=True)
class ChatModel:
    """What is known about a chat model without importing its package."""

    name: str
    """Its name in `agent.provider`; for Claude Code, in `agent.engine`."""
    title: str
    """Its name in messages."""
    default_model: str
    """The model if the config names none."""
    make: str
    """The function that makes it from an `AgentConfig` and the name of a model, as `package.module:name`."""
    packages: tuple[Package, ...]
    engine: Engine = "strands"
    """What runs the model and its tools."""
    key_variables: tuple[str, ...] = ()
    """The environment variables of its key; empty if it needs none, or finds it elsewhere."""
    other_variables: tuple[str, ...] = ()
    """Further environment variables that it reads."""
    needs_key_with_base_url: bool = True
    """Whether it needs a key even if the config has a `base_url`."""
    without_key: str = ""
    """The alternative to a key, in the error that it is missing: "Set VARIABLE, or …"."""
    has_regions: bool = False

    def missing_key(self, agent: _AgentSettings, environment: Mapping[str, str]) -> str | None:
        """The error that `agent.api_key` is missing, or None if there is a key or none is needed."""
        if not self.key_variables or agent.api_key or any(map(environment.get, self.key_variables)):
            return None
        if agent.base_url and not self.needs_key_with_base_url:
            return None
        way_out = f", or {self.without_key}" if self.without_key else ""
        return f"is missing. Set {self.key_variables[0]}{way_out}."


_STRANDS = Package(module="strands", name="strands-agents", extra="strands")

CHAT_MODELS: dict[str, ChatModel] = {
    row.name: row
    for row in (
        ChatModel(
            name="claude-code",
            title="Claude Code",
            engine="claude-code",
            default_model="sonnet",
            make="hikidashi.apps.pydantic_ai:claude_code_model",
            packages=(
                Package(module="claude_agent_sdk", name="claude-agent-sdk", extra="claude"),
                Package(module="mcp", name="mcp"),
                Package(module="pydantic_ai", name="pydantic-ai-slim", extra="pydantic-ai"),
            ),
            # A login of the CLI is enough, so none of them is required.
            other_variables=(
                "ANTHROPIC_API_KEY",
                "ANTHROPIC_AUTH_TOKEN",
                "ANTHROPIC_BASE_URL",
                "CLAUDE_CODE_OAUTH_TOKEN",
            ),
        ),
        ChatModel(
            name="anthropic",
            title="the Anthropic API",
            default_model="claude-sonnet-5",
            make="hikidashi.apps.strands:anthropic_model",
            packages=(_STRANDS, Package(module="anthropic", name="anthropic", extra="anthropic")),
            key_variables=("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"),
            other_variables=("ANTHROPIC_BASE_URL",),
            without_key="use `engine: claude-code`, which needs none",
        ),
        ChatModel(
            name="openai",
            title="OpenAI",
            default_model="gpt-5",
            make="hikidashi.apps.strands:openai_model",
            packages=(_STRANDS, Package(module="openai", name="openai")),
            key_variables=("OPENAI_API_KEY",),
            needs_key_with_base_url=False,
            without_key="the `base_url` of a server that needs no key",
        ),
        ChatModel(
            name="bedrock",
            title="Amazon Bedrock",
            default_model="global.anthropic.claude-sonnet-4-6",
            make="hikidashi.apps.strands:bedrock_model",
            packages=(_STRANDS, Package(module="boto3", name="boto3")),
            has_regions=True,
        ),
        ChatModel(
            name="ollama",
            title="Ollama",
            default_model="llama3.1",
            make="hikidashi.apps.strands:ollama_model",
            packages=(_STRANDS, Package(module="ollama", name="ollama")),
        ),
    )
}


def api_models() -> list[str]:
    """The names that `agent.provider` may have."""
    return [row.name for row in CHAT_MODELS.values() if row.engine == "strands"]


def chat_model_of(agent: _AgentSettings) -> ChatModel:
    """The row of the model that `agent` chooses."""
    return CHAT_MODELS[agent.provider if agent.engine == "strands" else agent.engine]
