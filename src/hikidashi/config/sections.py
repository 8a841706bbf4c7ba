"""The sections of a config: frozen dataclasses whose fields have rules, and whose `repr` omits secrets."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, Literal, get_args

from ..providers import (
    CHAT_MODELS,
    DEFAULT_RANKER,
    DEFAULT_SEARCH_PROVIDER,
    SEARCH_PROVIDERS,
    ChatModel,
    Engine,
    Ranker,
    SearchProviderInfo,
    api_models,
)
from ..texts import Language
from .gateway import GatewayConfig, ServerConfig
from .rules import (
    address,
    choice,
    flag,
    number,
    one_of,
    secret,
    text,
)
from .section import ConfigSection, rules_of

logger = logging.getLogger("hikidashi.config")

SearchDepth = Literal["basic", "advanced"]
Untrusted = Literal["fence", "off"]


@dataclass(frozen=True)
class WebSearchConfig(ConfigSection):
    """The web search; off unless `enabled`."""

    enabled: bool = field(default=False, metadata=flag())
    """Whether the tools are offered at all."""
    api_key: str | None = field(default=None, repr=False, metadata=secret("the provider's key"))
    """Tavily's API key; the local index and SearXNG need none."""
    search_depth: SearchDepth = field(default="basic", metadata=one_of(SearchDepth))
    """`basic` returns summaries of pages, `advanced` relevant passages; with Tavily, advanced costs two credits."""
    max_results: int = field(default=5, metadata=number(1, 20))
    """Maximum number of results of a search."""
    max_content_length: int = field(default=500, metadata=number(0, note=" (0 is unlimited)"))
    """Maximum number of characters of each result; 0 is unlimited."""
    _: KW_ONLY
    provider: str | None = field(default=None, metadata=choice(lambda: SEARCH_PROVIDERS))
    """The search provider; default: Tavily."""
    base_url: str | None = field(default=None, metadata=address())
    """URL of the SearXNG server, or of the Tavily API if it is not Tavily's own."""
    index: str | None = field(default=None, metadata=text("the file of the local index"))
    """Path of the local index, relative to the config file; default: a file in your data folder."""
    ranker: Ranker = field(default=DEFAULT_RANKER, metadata=one_of(Ranker))
    """How the local index ranks: "lexical" by words, "hybrid" also by meaning."""

    @classmethod
    def conflicts(cls, given: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
        """`base_url`, if the provider needs it and it is missing."""
        info = SEARCH_PROVIDERS[given.get("provider") or DEFAULT_SEARCH_PROVIDER]
        if given.get("enabled") and info.address_variable and not given.get("base_url"):
            yield "base_url", f"is missing. Write the address of your {info.title}, such as {info.address_example}."

    @property
    def info(self) -> SearchProviderInfo:
        """The row of the provider in `hikidashi.providers`."""
        return SEARCH_PROVIDERS[self.provider or DEFAULT_SEARCH_PROVIDER]

    @property
    def needs_key(self) -> bool:
        """Whether the search is on and the key that its provider needs is missing."""
        return self.enabled and not self.api_key and self.info.key_variable is not None

    @property
    def usable(self) -> bool:
        """Whether the tools can be offered: on, and with a key where one is needed."""
        return self.enabled and not self.needs_key


@dataclass(frozen=True, kw_only=True)
class AgentConfig(ConfigSection):
    """The model that answers."""

    engine: Engine = field(default="strands", metadata=one_of(Engine))
    """What runs the model and its tools: strands with an API, or Claude Code with a subscription or a key."""
    provider: str = field(default="anthropic", metadata=choice(api_models))
    """The API that strands calls; `openai` also for servers compatible with it."""
    model: str | None = field(default=None, metadata=text("the model's name"))
    """Name of the model; default: that of the provider."""
    api_key: str | None = field(default=None, repr=False, metadata=secret("the provider's key"))
    """The provider's API key; default: its environment variable."""
    base_url: str | None = field(default=None, metadata=address())
    """URL of a compatible server or a proxy; default: the provider's own."""
    region: str | None = field(default=None, metadata=text("the AWS region"))
    """AWS region; Bedrock only."""
    max_tokens: int = field(default=4096, metadata=number(1))
    """Maximum number of tokens of a response."""
    system_prompt: str | None = field(default=None, metadata=text("the system prompt"))
    """The system prompt; default: one for web search."""
    language: Language = field(default="ja", metadata=choice(lambda: get_args(Language)[::-1]))
    """The language of the tools and of failure messages."""
    untrusted: Untrusted = field(default="fence", metadata=one_of(Untrusted))
    """Whether text from the web is fenced as data, against prompt injection."""

    @classmethod
    def conflicts(cls, given: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
        """`provider`, if Claude Code does not support it; `region`, if the provider has none."""
        provider = given.get("provider") or "anthropic"
        if given.get("engine") == "claude-code" and provider != "anthropic":
            yield "provider", f"{provider!r} does not go with `engine: claude-code`. Leave it out, or use strands."
        if given.get("region") and not CHAT_MODELS[provider].has_regions:
            regional = ", ".join(row.name for row in CHAT_MODELS.values() if row.has_regions)
            yield "region", f"does not go with `provider: {provider}`. It goes with: {regional}."

    @property
    def info(self) -> ChatModel:
        """The row of the model in `hikidashi.providers`."""
        return CHAT_MODELS[self.provider if self.engine == "strands" else self.engine]

    def missing_key(self, environment: Mapping[str, str]) -> str | None:
        """The error that `agent.api_key` is missing, or None if there is a key or none is needed."""
        row = self.info
        if not row.key_variables or self.api_key or any(map(environment.get, row.key_variables)):
            return None
        if self.base_url and not row.needs_key_with_base_url:
            return None
        way_out = f", or {row.without_key}" if row.without_key else ""
        return f"is missing. Set {row.key_variables[0]}{way_out}."


@dataclass(frozen=True, kw_only=True)
class SlackConfig(ConfigSection):
    """The tokens of the Slack bot."""

    bot_token: str | None = field(
        default=None, repr=False, metadata=secret("the bot token (xoxb-…)", not_starting="xapp-")
    )
    """The bot token; default: SLACK_BOT_TOKEN."""
    app_token: str | None = field(
        default=None, repr=False, metadata=secret("the app-level token (xapp-…)", not_starting="xoxb-")
    )
    """The app-level token, for Socket Mode; default: SLACK_APP_TOKEN."""
    base_url: str | None = field(default=None, metadata=address())
    """URL of a proxy or a test server; default: Slack's own."""


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
        sections: tuple[ConfigSection | None, ...] = (self.tools.web_search, self.agent, self.slack)
        values = (
            getattr(section, name)
            for section in sections
            if section is not None
            for name, rule in rules_of(type(section)).items()
            if rule.secret
        )
        return tuple(value for value in values if value)


def web_search_to_offer(search: WebSearchConfig | None) -> WebSearchConfig | None:
    """`search` if its tools can be offered, else None; a missing key is logged as a warning."""
    if search is None or not search.enabled:
        return None
    if search.needs_key:
        logger.warning("tools.web_search is enabled but %s", search.info.missing_key("config"))
        return None
    return search
