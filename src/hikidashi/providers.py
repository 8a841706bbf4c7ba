"""Tables of the search providers and chat models that a config, a command or an argument may name.

Everything that differs between providers is in their row: a new provider is one module and one row. Nothing is
imported before a provider is used. `config`, `web` and `apps` all read these tables.

Another package adds its rows as entry points, whose values are a `SearchProviderInfo` or a `ChatModel`:

    [project.entry-points."hikidashi.search_providers"]
    nebula = "nebula:SEARCH"
    [project.entry-points."hikidashi.chat_models"]
    nebula = "nebula:CHAT"
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from .errors import ConfigError, HikidashiError, MissingExtra
from .texts import LocalizedText, localized

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

logger = logging.getLogger("hikidashi.providers")


@dataclass(frozen=True, kw_only=True, slots=True)
class Package:
    """A package that a provider imports."""

    module: str
    """The name it is imported by."""
    name: str
    """The name it is installed by."""
    extra: str = ""
    """The extra of hikidashi that installs it; empty if none does."""

    @property
    def is_installed(self) -> bool:
        """Whether it can be imported; it is looked up, not imported."""
        return find_spec(self.module) is not None

    @property
    def install_command(self) -> str:
        """The command that installs it."""
        return f"pip install 'hikidashi[{self.extra}]'" if self.extra else f"pip install {self.name}"

    def missing(self, source: str, key: str) -> HikidashiError:
        """The error that it is not installed; `source` and `key` say which setting of a config needs it."""
        if self.extra:
            return MissingExtra(self.name, self.extra)
        return ConfigError(source, f"needs the package `{self.name}`. Run: {self.install_command}", key)


def load(reference: str) -> Any:
    """The object that `reference` names, as `package.module:attribute`; imports its module."""
    module, _, attribute = reference.partition(":")
    return getattr(import_module(module), attribute)


Option = Literal["api_key", "base_url", "index", "ranker", "cache", "keyless", "timeout"]
"""The options of `choose_provider`."""
Ranker = Literal["lexical", "hybrid"]
""""lexical" ranks by words, "hybrid" also by embedding similarity."""
Ability = Literal["crawl", "map", "all_filters", "all_crawl_options"]
"""What some providers can do besides search, extract and context: crawl or map a site, with every filter or option."""
Reader = Literal["client", "caller", "command", "config"]
"""The audience of the error about a missing key: a caller of the client or of `choose_provider`, the user of a command
or a config."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SearchProviderInfo:
    """What is known about a search provider without importing it."""

    name: str
    """Its name in configs, options and arguments."""
    title: str
    """Its name in messages."""
    provider: str
    """Its class, a `SearchProvider`, as `package.module:name`."""
    options: Mapping[Option, str]
    """The options it takes, and the parameter of the class that each is passed to."""
    packages: tuple[Package, ...] = ()
    ranker_packages: Mapping[Ranker, tuple[Package, ...]] = field(default_factory=dict[Ranker, tuple[Package, ...]])
    """The packages that a ranker needs besides."""
    key_variable: str | None = None
    """The environment variable of its key; None if it needs no key."""
    address_variable: str | None = None
    """The environment variable of its address; None if it has an address of its own, or needs none."""
    address_example: str = "http://127.0.0.1:8080"
    abilities: frozenset[Ability] = field(default_factory=frozenset[Ability])

    @property
    def needs_setup(self) -> bool:
        """Whether it cannot be used without a key or an address."""
        return self.key_variable is not None or self.address_variable is not None

    def key_in(self, environment: Mapping[str, str]) -> str | None:
        """Its key in `environment`; None if there is none."""
        return (environment.get(self.key_variable, "").strip() or None) if self.key_variable else None

    def address_in(self, environment: Mapping[str, str]) -> str | None:
        """Its address in `environment`; None if there is none."""
        return (environment.get(self.address_variable, "").strip() or None) if self.address_variable else None

    def packages_for(self, ranker: Ranker) -> tuple[Package, ...]:
        """The packages that it needs with `ranker`, which counts only if it takes one."""
        return (*self.packages, *self.ranker_packages.get(ranker, ()))

    def missing_key(self, reader: Reader) -> LocalizedText:
        """The error that its key is missing."""
        has_another_way = reader in ("caller", "command") and "keyless" in self.options
        return localized(
            "providers",
            f"missing_key.{reader}",
            "en",
            title=self.title,
            variable=self.key_variable,
            others=next(other.name for other in SEARCH_PROVIDERS.values() if not other.needs_setup),
            keyless=localized("providers", f"keyless.{reader}") if has_another_way else "",
        )


Engine = Literal["strands", "claude-code"]
"""What runs a chat model and its tools."""


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


Row = TypeVar("Row", SearchProviderInfo, ChatModel)


class ProviderTable(MutableMapping[str, Row]):
    """Rows by name: those of hikidashi, then those that other packages have as entry points of `group`.

    Entry points are read when the table is first used, not when it is made: the module of such a row imports this one.
    """

    def __init__(self, group: str, kind: type[Row], rows: Sequence[Row]) -> None:
        self._group = group
        self._kind = kind
        self._rows: dict[str, Row] = {row.name: row for row in rows}
        self._has_all = False

    def __getitem__(self, name: str) -> Row:
        return self._all()[name]

    def __setitem__(self, name: str, row: Row) -> None:
        self._all()[name] = row

    def __delitem__(self, name: str) -> None:
        del self._all()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())

    def _all(self) -> dict[str, Row]:
        if not self._has_all:
            self._has_all = True
            from importlib.metadata import entry_points  # 15 ms, for those who look something up

            for point in sorted(entry_points(group=self._group), key=lambda point: point.name):
                self._add(point)
        return self._rows

    def _add(self, point: EntryPoint) -> None:
        """Add the row of an entry point; one that cannot be used is left out, with a warning."""
        try:
            row: object = point.load()
        except Exception as error:  # whatever the code of another package raises
            problem = f"{type(error).__name__}: {error}"
        else:
            if not isinstance(row, self._kind):
                problem = f"it is not a {self._kind.__name__}"
            elif row.name in self._rows:
                problem = f"there is a row {row.name!r} already"
            else:
                self._rows[row.name] = row
                return
        logger.warning("The entry point %s = %s of %s is left out: %s", point.name, point.value, self._group, problem)


_HTTPX = Package(module="httpx", name="httpx", extra="web")
_ENCODER = Package(module="hikidashi_encoder", name="hikidashi-encoder")

SEARCH_PROVIDERS = ProviderTable(
    "hikidashi.search_providers",
    SearchProviderInfo,
    (
        SearchProviderInfo(
            name="tavily",
            title="Tavily",
            provider="hikidashi.web.providers.tavily:TavilyAPIClient",
            options={name: name for name in ("api_key", "base_url", "cache", "keyless", "timeout")},
            packages=(Package(module="tavily", name="tavily-python", extra="tavily"), _HTTPX),
            key_variable="TAVILY_API_KEY",
            abilities=frozenset({"crawl", "map", "all_filters", "all_crawl_options"}),
        ),
        SearchProviderInfo(
            name="local",
            title="the local index",
            provider="hikidashi.web.local:LocalSearchProvider",
            options={"index": "path", "ranker": "ranker"},
            ranker_packages={"hybrid": (_ENCODER,)},
            abilities=frozenset({"crawl", "map"}),
        ),
        SearchProviderInfo(
            name="searxng",
            title="SearXNG",
            provider="hikidashi.web.providers.searxng:SearxngProvider",
            options={"base_url": "base_url", "timeout": "timeout"},
            packages=(_HTTPX,),
            address_variable="SEARXNG_URL",
        ),
    ),
)

DEFAULT_SEARCH_PROVIDER = "tavily"
"""The provider if the config names none."""
DEFAULT_RANKER: Ranker = "lexical"


def preferred_search_provider(environment: Mapping[str, str], *, has_key: bool = False) -> SearchProviderInfo:
    """The provider to use if none is named: the first whose key is set, else the first that needs no setup.

    With `has_key`, a key was passed: the first provider that needs one is used.
    """
    rows = SEARCH_PROVIDERS.values()
    keyed = (row for row in rows if row.key_variable and (has_key or row.key_in(environment)))
    return next(keyed, None) or next(row for row in rows if not row.needs_setup)


def names_taking(option: Option) -> list[str]:
    """The names of the providers that take `option`."""
    return [row.name for row in SEARCH_PROVIDERS.values() if option in row.options]


def providers_that_can(ability: Ability) -> list[str]:
    """The names of the providers that have `ability`."""
    return [row.name for row in SEARCH_PROVIDERS.values() if ability in row.abilities]


_STRANDS = Package(module="strands", name="strands-agents", extra="strands")

CHAT_MODELS = ProviderTable(
    "hikidashi.chat_models",
    ChatModel,
    (
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
    ),
)


def api_models() -> list[str]:
    """The names that `agent.provider` may have."""
    return [row.name for row in CHAT_MODELS.values() if row.engine == "strands"]
