"""The search providers: one row each, in the order in which they are preferred."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from ..texts import LocalizedText, localized
from .package import Package

__all__ = [
    "DEFAULT_RANKER",
    "DEFAULT_SEARCH_PROVIDER",
    "SEARCH_PROVIDERS",
    "Ability",
    "Option",
    "Ranker",
    "SearchProviderInfo",
    "names_taking",
    "preferred_search_provider",
    "providers_that_can",
]

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


_HTTPX = Package(module="httpx", name="httpx", extra="web")
_ENCODER = Package(module="hikidashi_encoder", name="hikidashi-encoder")

SEARCH_PROVIDERS: dict[str, SearchProviderInfo] = {
    row.name: row
    for row in (
        SearchProviderInfo(
            name="tavily",
            title="Tavily",
            provider="hikidashi.web.providers.tavily.client:TavilyAPIClient",
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
    )
}

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
