"""The sections of a config: frozen dataclasses whose fields have rules, and whose `repr` omits secrets."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from dataclasses import KW_ONLY, dataclass, field, fields
from typing import Any, Literal, get_args

from ..errors import ConfigError
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
from .rules import (
    RULE,
    Rule,
    address,
    amount,
    choice,
    flag,
    named_texts,
    number,
    one_of,
    one_of_on_off,
    patterns,
    secret,
    text,
    texts,
)

__all__ = [
    "AgentConfig",
    "Config",
    "ConfigSection",
    "Engine",
    "GatewayConfig",
    "Language",
    "ServerConfig",
    "SlackConfig",
    "ToolsConfig",
    "WebSearchConfig",
    "joined",
    "rules_of",
    "web_search_to_offer",
]


@dataclass(frozen=True, kw_only=True)
class ConfigSection:
    """A section of the config: a frozen dataclass whose fields have rules, validated on creation."""

    def __post_init__(self) -> None:
        """Validate all values.

        Raises:
            ConfigError: values are not allowed; the error names each field and what is allowed.
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
        """Each key whose value conflicts with another key, and why."""
        yield from ()


def rules_of(section: type[ConfigSection]) -> dict[str, Rule]:
    """The keys of `section` and their rules."""
    return {item.name: item.metadata[RULE] for item in fields(section)}


def joined(problems: list[ConfigError]) -> ConfigError:
    """The first of `problems` as an error that lists the others, one to a line."""
    first, *others = problems
    return ConfigError(first.path, "\n".join([first.reason, *map(str, others)]), first.key, first.line)


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


_CONFIRM = ("never", "destructive")
_ENTRY = ("command", "args", "env", "cwd", "url", "type", "headers")
_OF_PROCESS = ("args", "env", "cwd")
_OF_ADDRESS = ("type", "headers")


@dataclass(frozen=True, kw_only=True)
class ServerConfig(ConfigSection):
    """An MCP server behind the gateway: a `command` or a `url`, and its options beside them.

    `${NAME}`, `${NAME:-default}` and `${keyring:SERVICE/NAME}` are filled in when the server starts, so one that is
    missing concerns this server alone.
    """

    command: str | None = field(default=None, metadata=text("the program to start", raw=True))
    """The program to start, which speaks MCP over stdio."""
    args: tuple[str, ...] | None = field(default=None, metadata=texts("[-y, some-server]"))
    """Its arguments."""
    env: Mapping[str, str] | None = field(default=None, repr=False, metadata=named_texts("{API_KEY: '${API_KEY}'}"))
    """Environment variables for it."""
    cwd: str | None = field(default=None, metadata=text("a folder", raw=True))
    """Its working folder, relative to the folder of the config file, which is also the default."""
    url: str | None = field(default=None, repr=False, metadata=text("an address", raw=True))
    """The address of a server that runs elsewhere."""
    type: Literal["http", "sse"] | None = field(default=None, metadata=one_of(Literal["http", "sse"]))
    """How to talk to the address: streamable HTTP by default, or SSE for old servers."""
    headers: Mapping[str, str] | None = field(
        default=None, repr=False, metadata=named_texts("{Authorization: 'Bearer ${TOKEN}'}")
    )
    """HTTP headers for the address."""
    disabled: bool = field(default=False, metadata=flag())
    """Whether the server is left out."""
    lazy: bool | None = field(default=None, metadata=flag())
    """Whether it is connected when a tool is first called, if its tools are known from before; true for processes."""
    start_seconds: float = field(default=30.0, metadata=amount())
    """How long it may take to start and to list what it has."""
    call_seconds: float = field(default=300.0, metadata=amount())
    """How long a call may take; progress restarts the limit."""
    at_once: int = field(default=16, metadata=number(1))
    """How many calls run at the same time; more wait."""
    result_characters: int = field(default=100_000, metadata=number(1))
    """How long a result may be before it is cut and the rest is read with `read_result`."""
    memory_mb: int | None = field(default=None, metadata=number(1))
    """How much memory its processes may use together; no limit by default."""
    idle_seconds: float = field(default=900.0, metadata=amount(zero=True, note=" (0 is never)"))
    """After how long without a call a process is stopped; 0 is never."""
    read_only: tuple[str, ...] = field(default=(), metadata=patterns("['get_*', 'list_*']"))
    """Patterns of tools that only read, whatever their annotations say."""
    confirm: Literal["never", "destructive"] | tuple[str, ...] | None = field(
        default=None, metadata=patterns("['delete_*']", words=_CONFIRM)
    )
    """Which calls a person must confirm, or patterns of tools; by default as `gateway.confirm`."""

    @classmethod
    def conflicts(cls, given: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
        """A server is a process or an address, and has the keys of that kind."""
        command, url = given.get("command"), given.get("url")
        if command and url:
            yield "url", "does not go with `command`. Keep one of them."
        elif not command and not url:
            yield "command", "is missing. Write `command` with `args` and `env`, or `url` with `headers`."
        else:
            for key in _OF_ADDRESS if command else _OF_PROCESS:
                if given.get(key) is not None:
                    yield key, f"does not go with `{'command' if command else 'url'}`. Leave it out."

    @property
    def entry(self) -> dict[str, Any]:
        """How to reach it, in the form of an entry of `.mcp.json`."""
        given = {key: getattr(self, key) for key in _ENTRY if getattr(self, key) is not None}
        return given if self.args is None else {**given, "args": list(self.args)}

    @property
    def options(self) -> dict[str, Any]:
        """Its options that were written, or have a default."""
        names = [item.name for item in fields(self) if item.name not in (*_ENTRY, "disabled")]
        return {name: getattr(self, name) for name in names if getattr(self, name) is not None}


@dataclass(frozen=True, kw_only=True)
class GatewayConfig(ConfigSection):
    """How `hikidashi serve` shows the tools of its servers; options of the command line come first."""

    names: Literal["prefixed", "plain"] = field(default="prefixed", metadata=one_of(Literal["prefixed", "plain"]))
    """`server__tool`, or the tool's own name where only one server has it."""
    search: Literal["auto", "on", "off"] = field(default="auto", metadata=one_of_on_off(Literal["auto", "on", "off"]))
    """Whether tools are searched instead of listed; auto decides by their number and size."""
    promote: bool = field(default=False, metadata=flag())
    """Whether a found tool is listed from then on, for clients up to 2025-11-25."""
    pin: tuple[str, ...] = field(default=(), metadata=patterns("['files__*']"))
    """Patterns of tools that are always listed; `most-used` or `most-used:10` are those most called by `record`."""
    record: str | None = field(default=None, metadata=text("a file"))
    """The file that records searches and calls, relative to the config file; by default none."""
    most_listed: int = field(default=10, metadata=number(0))
    """With `search: auto`, how many tools are listed at most."""
    most_tokens: int = field(default=3_000, metadata=number(0))
    """With `search: auto`, how many tokens their definitions may cost."""
    confirm: Literal["never", "destructive"] | tuple[str, ...] = field(
        default="never", metadata=patterns("['delete_*']", words=_CONFIRM)
    )
    """Which calls a person must confirm, unless a server says otherwise."""


logger = logging.getLogger("hikidashi.config")


def web_search_to_offer(search: WebSearchConfig | None) -> WebSearchConfig | None:
    """`search` if its tools can be offered, else None; a missing key is logged as a warning."""
    if search is None or not search.enabled:
        return None
    if search.needs_key:
        logger.warning("tools.web_search is enabled but %s", search.info.missing_key("config"))
        return None
    return search
