"""The settings themselves: frozen values that check themselves, with the secrets left out of `repr`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import KW_ONLY, dataclass, field, fields
from typing import Any, Literal, get_args

from ..common.language import Language
from ..errors import ConfigError
from ._rules import RULE, Rule, address, choice, flag, number, secret, text

__all__ = [
    "AgentConfig",
    "Config",
    "Engine",
    "Language",
    "ModelProvider",
    "Section",
    "SlackConfig",
    "ToolsConfig",
    "WebSearchConfig",
    "joined",
    "rules_of",
]

Engine = Literal["strands", "claude-code"]
ModelProvider = Literal["anthropic", "openai", "bedrock", "ollama"]
SearchDepth = Literal["basic", "advanced"]
SearchProviderName = Literal["tavily", "local", "searxng"]
SearchRanker = Literal["lexical", "hybrid"]
Untrusted = Literal["fence", "off"]


@dataclass(frozen=True, kw_only=True)
class Section:
    """A section of the config: a frozen dataclass whose fields carry rules, checked when it is made."""

    def __post_init__(self) -> None:
        """Refuse wrong values, all of them at once.

        Raises:
            ConfigError: a value is not allowed; the error names the class, the field and what is allowed.
        """
        name = type(self).__name__
        given = {item.name: getattr(self, item.name) for item in fields(self)}
        optional = {item.name for item in fields(self) if item.default is None}
        wrong = [
            ConfigError(name, complaint, key)
            for key, rule in rules_of(type(self)).items()
            if not (given[key] is None and key in optional) and (complaint := rule.complaint(given[key]))
        ]
        if not wrong:
            wrong = [ConfigError(name, reason, key) for key, reason in type(self).conflicts(given)]
        if wrong:
            raise joined(wrong)

    @classmethod
    def conflicts(cls, given: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
        """Each key whose value, good in itself, does not go with the others; and why."""
        yield from ()


def rules_of(section: type[Section]) -> dict[str, Rule]:
    """The keys of `section`, and what each may hold."""
    return {item.name: item.metadata[RULE] for item in fields(section)}


def joined(problems: list[ConfigError]) -> ConfigError:
    """One error that is the first of `problems` and tells of the others, one to a line."""
    first, *others = problems
    return ConfigError(first.path, "\n".join([first.reason, *map(str, others)]), first.key, first.line)


@dataclass(frozen=True)
class WebSearchConfig(Section):
    """How the web is searched; off unless `enabled`."""

    enabled: bool = field(default=False, metadata=flag())
    """Whether the tools are offered at all."""
    api_key: str | None = field(default=None, repr=False, metadata=secret("Tavily's key"))
    """Tavily's key; without one, the local index or SearXNG can search."""
    search_depth: SearchDepth = field(default="basic", metadata=choice(get_args(SearchDepth)))
    """Summaries of pages, or passages out of them; with Tavily, advanced costs two credits."""
    max_results: int = field(default=5, metadata=number(1, 20))
    """How many results a search gives at most."""
    max_content_length: int = field(default=500, metadata=number(0, note=" (0 is unlimited)"))
    """How many characters of each result are shown; 0 is unlimited."""
    _: KW_ONLY
    provider: SearchProviderName | None = field(default=None, metadata=choice(get_args(SearchProviderName)))
    """Who searches; Tavily where nothing is written."""
    base_url: str | None = field(default=None, metadata=address())
    """Where SearXNG is, which has no address of its own; or another address than Tavily's."""
    index: str | None = field(default=None, metadata=text("the file of the local index"))
    """The file of the local index, relative to the config file; one in your data folder where nothing is written."""
    ranker: SearchRanker = field(default="lexical", metadata=choice(get_args(SearchRanker)))
    """How the local index ranks: by words, or with "hybrid" by meaning too, which needs the extra `semantic`."""

    @classmethod
    def conflicts(cls, given: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
        """SearXNG has no address of its own."""
        if given.get("enabled") and given.get("provider") == "searxng" and not given.get("base_url"):
            yield "base_url", "is missing. SearXNG is searched at an address of yours: write it here."

    @property
    def needs_key(self) -> bool:
        """Whether the search is on but lacks the key it needs; the local index and SearXNG need none."""
        return self.enabled and not self.api_key and self.provider not in ("local", "searxng")

    @property
    def usable(self) -> bool:
        """Whether the tools can be offered: switched on, and with a key where one is needed."""
        return self.enabled and not self.needs_key


@dataclass(frozen=True, kw_only=True)
class AgentConfig(Section):
    """Which model answers, and how."""

    engine: Engine = field(default="strands", metadata=choice(get_args(Engine)))
    """Who runs the tools: strands with a model's API, or Claude Code with a subscription."""
    provider: ModelProvider = field(default="anthropic", metadata=choice(get_args(ModelProvider)))
    """Whose API strands asks; openai is also every server that speaks like it."""
    model: str | None = field(default=None, metadata=text("the model's name"))
    """A good model of the provider where nothing is written."""
    api_key: str | None = field(default=None, repr=False, metadata=secret("the provider's key"))
    """The provider's key; its own environment variable where nothing is written."""
    base_url: str | None = field(default=None, metadata=address())
    """Another address than the provider's own: a compatible server, or a proxy."""
    region: str | None = field(default=None, metadata=text("the AWS region"))
    """Where Bedrock runs; for no other provider."""
    max_tokens: int = field(default=4096, metadata=number(1))
    """How long one reply of the model may be."""
    system_prompt: str | None = field(default=None, metadata=text("what the model is told first"))
    """What the model is told first; a prompt for web search where nothing is written."""
    language: Language = field(default="ja", metadata=choice(get_args(Language)[::-1]))
    """The language of the tools' texts, and of the sentence for a person when something fails."""
    untrusted: Untrusted = field(default="fence", metadata=choice(get_args(Untrusted)))
    """Whether text from the web is marked as data, so that it cannot give orders."""

    @classmethod
    def conflicts(cls, given: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
        """Claude Code has one provider; a region means Bedrock."""
        provider = given.get("provider") or "anthropic"
        if given.get("engine") == "claude-code" and provider != "anthropic":
            yield "provider", f"{provider!r} does not go with `engine: claude-code`. Leave it out, or use strands."
        if given.get("region") and provider != "bedrock":
            yield "region", f"does not go with `provider: {provider}`. Only bedrock has regions."


@dataclass(frozen=True, kw_only=True)
class SlackConfig(Section):
    """How the bot logs in to Slack."""

    bot_token: str | None = field(
        default=None, repr=False, metadata=secret("the bot token (xoxb-…)", not_starting="xapp-")
    )
    """As whom the bot writes; SLACK_BOT_TOKEN where nothing is written."""
    app_token: str | None = field(
        default=None, repr=False, metadata=secret("the app-level token (xapp-…)", not_starting="xoxb-")
    )
    """By which the bot connects (Socket Mode); SLACK_APP_TOKEN where nothing is written."""
    base_url: str | None = field(default=None, metadata=address())
    """Another address than Slack's own: a proxy, or a server of a test."""


@dataclass(frozen=True, kw_only=True)
class ToolsConfig:
    """The tools a model may get."""

    web_search: WebSearchConfig | None = None
    """None where the file has no such section: the tools are off."""


@dataclass(frozen=True, kw_only=True)
class Config:
    """A whole config; without any file, everything has its default and no tool is on."""

    tools: ToolsConfig = ToolsConfig()
    agent: AgentConfig = AgentConfig()
    slack: SlackConfig | None = None
    path: str | None = None
    """The file it came from."""

    @property
    def secrets(self) -> tuple[str, ...]:
        """The keys and tokens that are set: what no log and no message may hold."""
        sections: tuple[Section | None, ...] = (self.tools.web_search, self.agent, self.slack)
        values = (
            getattr(section, name)
            for section in sections
            if section is not None
            for name, rule in rules_of(type(section)).items()
            if rule.secret
        )
        return tuple(value for value in values if value)
