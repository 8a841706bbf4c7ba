"""Choose the search provider: the one that is named, else the preferred one of `hikidashi.providers`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from ...errors import ErrorType, TavilyAPIError
from ...providers import (
    DEFAULT_RANKER,
    DEFAULT_SEARCH_PROVIDER,
    SEARCH_PROVIDERS,
    Option,
    Ranker,
    SearchProviderInfo,
    load,
    names_taking,
    preferred_search_provider,
)
from ...texts import Language, in_language, localized
from ..provider import SearchProvider

if TYPE_CHECKING:
    from ...config import WebSearchConfig
    from .cache import ResultCache


def provider_name(provider: str | None = None) -> str:
    """The name of the provider that `choose_provider` makes.

    Raises:
        TavilyAPIError: there is no provider of that name; VALIDATION_ERROR.
    """
    return _row(provider, None, "ja").name


def choose_provider(
    provider: str | None = None,
    *,
    api_key: str | None = None,
    base_url: str | None = None,
    index: str | os.PathLike[str] | None = None,
    ranker: Ranker = DEFAULT_RANKER,
    cache: ResultCache | None = None,
    keyless: bool = False,
    timeout: float | None = None,
    language: Language = "ja",
) -> SearchProvider:
    """The provider that is named; else the first whose key is set (TAVILY_API_KEY); else the local index.

    Tavily without a key is used only with both `provider="tavily"` and `keyless=True`. Options of other providers
    are ignored, so one configuration may hold those of all.

    Args:
        provider: A name in `hikidashi.providers.SEARCH_PROVIDERS`: "tavily", "local" or "searxng".
        api_key: The provider's key; None reads the provider's environment variable.
        base_url: The address of the provider's API. SearXNG's may also be in SEARXNG_URL.
        index: The file of the local index; None is the one in the user's data folder.
        ranker: How the local index ranks: "lexical" by words, "hybrid" by meaning too.
        cache: A cache for answers that cost money; None keeps none.
        keyless: Whether Tavily may be asked without a key.
        timeout: Seconds for each attempt; None is the provider's default.
        language: The language of error messages.

    Raises:
        TavilyAPIError: the provider is unknown or lacks its address (VALIDATION_ERROR), or its key (AUTH_ERROR).
        MissingExtra: its packages are not installed.
    """
    row = _row(provider, api_key, language)
    if keyless and "keyless" not in row.options:
        raise _refused("keyless", language, provider=row.name, takers=" / ".join(names_taking("keyless")))
    if base_url and not provider and "base_url" not in row.options:
        takers = ", ".join(map(repr, names_taking("base_url")))
        raise _refused("whose_address", language, value=repr(base_url), takers=takers)
    if row.key_variable and not keyless:
        api_key = api_key or row.key_in(os.environ)
        if not api_key:
            raise TavilyAPIError(in_language(row.missing_key("caller"), language), ErrorType.AUTH_ERROR)
    if row.address_variable:
        base_url = base_url or row.address_in(os.environ)
        if not base_url:
            example, variable = row.address_example, row.address_variable
            raise _refused("no_address", language, title=row.title, example=example, variable=variable)
    given: dict[Option, object] = {
        "api_key": api_key,
        "base_url": base_url,
        "index": index,
        "ranker": ranker,
        "cache": cache,
        "keyless": keyless or None,
        "timeout": timeout,
    }
    options: dict[str, Any] = {
        parameter: given[option] for option, parameter in row.options.items() if given[option] is not None
    }
    return load(row.provider)(**options, language=language)


def configured_provider(config: WebSearchConfig, *, language: Language = "ja") -> SearchProvider:
    """The provider that a section of the config describes; Tavily where it names none.

    Raises:
        TavilyAPIError: it has no key (AUTH_ERROR), or no address (VALIDATION_ERROR).
        MissingExtra: its packages are not installed.
    """
    return choose_provider(
        config.provider or DEFAULT_SEARCH_PROVIDER,
        api_key=config.api_key,
        base_url=config.base_url,
        index=config.index,
        ranker=config.ranker,
        language=language,
    )


def _row(provider: str | None, api_key: str | None, language: Language) -> SearchProviderInfo:
    if provider is None or provider == "":
        return preferred_search_provider(os.environ, has_key=bool(api_key))
    if not isinstance(provider, str) or provider not in SEARCH_PROVIDERS:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise _refused("unknown", language, value=repr(provider), allowed=", ".join(map(repr, SEARCH_PROVIDERS)))
    return SEARCH_PROVIDERS[provider]


def _refused(key: str, language: Language, **values: object) -> TavilyAPIError:
    return TavilyAPIError(localized("web", f"provider.{key}", language, **values), ErrorType.VALIDATION_ERROR)
