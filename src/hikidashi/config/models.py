"""The sections of a config: frozen, validated dataclasses whose `repr` omits secrets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, Literal, get_args

from ..common.language import Language
from ..providers import (
    CHAT_MODELS,
    DEFAULT_RANKER,
    DEFAULT_SEARCH_PROVIDER,
    SEARCH_PROVIDERS,
    ChatModel,
    Ranker,
    SearchProviderInfo,
    api_models,
    chat_model_of,
)
from ._rules import address, choice, flag, number, one_of, secret, text
from .gateway import GatewayConfig, ServerConfig
from .section import Section, rules_of

__all__ = [
    "AgentConfig",
    "Config",
    "Engine",
    "Language",
    "SlackConfig",
    "ToolsConfig",
    "WebSearchConfig",
]

Engine = Literal["strands", "claude-code"]
SearchDepth = Literal["basic", "advanced"]
Untrusted = Literal["fence", "off"]


@dataclass(frozen=True)
class WebSearchConfig(Section):
    """The web search; off unless `enabled`."""

    enabled: bool = field(default=False, metadata=flag())
    """Whether the tools are offered at all."""
    api_key: str | None = field(default=None, repr=False, metadata=secret("the provider's key"))
    """The key of Tavily; the local index and SearXNG need none."""
    search_depth: SearchDepth = field(default="basic", metadata=one_of(SearchDepth))
    """Summaries of pages, or passages out of them; with Tavily, advanced costs two credits."""
    max_results: int = field(default=5, metadata=number(1, 20))
    """How many results a search gives at most."""
    max_content_length: int = field(default=500, metadata=number(0, note=" (0 is unlimited)"))
    """How many characters of each result are shown; 0 is unlimited."""
    _: KW_ONLY
    provider: str | None = field(default=None, metadata=choice(lambda: SEARCH_PROVIDERS))
    """The search provider; Tavily where nothing is written."""
    base_url: str | None = field(default=None, metadata=address())
    """Where SearXNG is, which has no address of its own; or another address than Tavily's."""
    index: str | None = field(default=None, metadata=text("the file of the local index"))
    """The file of the local index, relative to the config file; one in your data folder where nothing is written."""
    ranker: Ranker = field(default=DEFAULT_RANKER, metadata=one_of(Ranker))
    """How the local index ranks: by words, or with "hybrid" by meaning too, which needs the extra `semantic`."""

    @classmethod
    def conflicts(cls, given: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
        """A provider without an address of its own needs one."""
        info = SEARCH_PROVIDERS[given.get("provider") or DEFAULT_SEARCH_PROVIDER]
        if given.get("enabled") and info.address_variable and not given.get("base_url"):
            yield "base_url", f"is missing. Write the address of your {info.title}, such as {info.address_example}."

    @property
    def info(self) -> SearchProviderInfo:
        """The row of the provider in `hikidashi.providers`."""
        return SEARCH_PROVIDERS[self.provider or DEFAULT_SEARCH_PROVIDER]

    @property
    def needs_key(self) -> bool:
        """Whether the search is on and lacks a key that its provider needs."""
        return self.enabled and not self.api_key and self.info.key_variable is not None

    @property
    def usable(self) -> bool:
        """Whether the tools can be offered: on, and with a key where one is needed."""
        return self.enabled and not self.needs_key


@dataclass(frozen=True, kw_only=True)
class AgentConfig(Section):
    """The model that answers."""

    engine: Engine = field(default="strands", metadata=one_of(Engine))
    """What runs the model and its tools: strands with an API, or Claude Code with a subscription or a key."""
    provider: str = field(default="anthropic", metadata=choice(api_models))
    """The API that strands asks; openai is also every server that is compatible with it."""
    model: str | None = field(default=None, metadata=text("the model's name"))
    """The default model of the provider where nothing is written."""
    api_key: str | None = field(default=None, repr=False, metadata=secret("the provider's key"))
    """The key of the provider; its environment variable where nothing is written."""
    base_url: str | None = field(default=None, metadata=address())
    """Another address than the provider's own: a compatible server, or a proxy."""
    region: str | None = field(default=None, metadata=text("the AWS region"))
    """Where Bedrock runs; for no other provider."""
    max_tokens: int = field(default=4096, metadata=number(1))
    """The most tokens of one response."""
    system_prompt: str | None = field(default=None, metadata=text("what the model is told first"))
    """The system prompt; a prompt for web search where nothing is written."""
    language: Language = field(default="ja", metadata=choice(lambda: get_args(Language)[::-1]))
    """The language of the tools and of failure messages."""
    untrusted: Untrusted = field(default="fence", metadata=one_of(Untrusted))
    """Whether text from the web is fenced as data, against prompt injection."""

    @classmethod
    def conflicts(cls, given: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
        """Claude Code has one provider, and few providers have regions."""
        provider = given.get("provider") or "anthropic"
        if given.get("engine") == "claude-code" and provider != "anthropic":
            yield "provider", f"{provider!r} does not go with `engine: claude-code`. Leave it out, or use strands."
        if given.get("region") and not CHAT_MODELS[provider].has_regions:
            regional = ", ".join(row.name for row in CHAT_MODELS.values() if row.has_regions)
            yield "region", f"does not go with `provider: {provider}`. It goes with: {regional}."

    @property
    def info(self) -> ChatModel:
        """The row of the model in `hikidashi.providers`."""
        return chat_model_of(self)


@dataclass(frozen=True, kw_only=True)
class SlackConfig(Section):
    """The tokens of the Slack bot."""

    bot_token: str | None = field(
        default=None, repr=False, metadata=secret("the bot token (xoxb-…)", not_starting="xapp-")
    )
    """As whom the bot writes; SLACK_BOT_TOKEN where nothing is written."""
    app_token: str | None = field(
        default=None, repr=False, metadata=secret("the app-level token (xapp-…)", not_starting="xoxb-")
    )
    """By which the bot connects (Socket Mode); SLACK_APP_TOKEN where nothing is written."""
    base_url: str | None = field(default=None, metadata=address())
    """The address of a proxy or a test server; None is Slack."""


@dataclass(frozen=True, kw_only=True)
class ToolsConfig:
    """The tools of the model."""

    web_search: WebSearchConfig | None = None
    """None if the file has no such section: the tools are off."""


@dataclass(frozen=True, kw_only=True)
class Config:
    """A whole config; by default no tool is on."""

    tools: ToolsConfig = ToolsConfig()
    agent: AgentConfig = AgentConfig()
    slack: SlackConfig | None = None
    servers: Mapping[str, ServerConfig] | None = None
    """The MCP servers of the gateway by name; None if the file has no such section."""
    gateway: GatewayConfig | None = None
    path: str | None = None
    """The file it was loaded from; None for a config made in code."""

    @property
    def secrets(self) -> tuple[str, ...]:
        """The keys and tokens that are set, which logs and messages must not contain."""
        sections: tuple[Section | None, ...] = (self.tools.web_search, self.agent, self.slack)
        values = (
            getattr(section, name)
            for section in sections
            if section is not None
            for name, rule in rules_of(type(section)).items()
            if rule.secret
        )
        return tuple(value for value in values if value)
