"""The provider that the options of a command select."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import typer

from hikidashi.common.files import cache_folder
from hikidashi.errors import ErrorType, TavilyAPIError
from hikidashi.providers import DEFAULT_RANKER, SEARCH_PROVIDERS, Option, Ranker, names_taking
from hikidashi.texts import in_language
from hikidashi.web.provider import SearchProvider
from hikidashi.web.providers.choose import choose_provider, provider_name

from ..output import Language, language_of_environment
from .options import ProviderOptions

__all__ = ["Choice", "choice_of", "language_of"]


@dataclass(frozen=True, kw_only=True)
class Choice:
    """The provider of a command, and the language of its output."""

    name: str
    base_url: str | None
    index: Path | None
    ranker: Ranker
    keyless: bool
    cache: bool
    timeout: float | None
    language: Language

    def open(self) -> SearchProvider:
        """A new provider; the caller closes it."""
        from hikidashi.web.providers.cache import ResultCache

        kept = self.cache and "cache" in SEARCH_PROVIDERS[self.name].options
        return choose_provider(
            self.name,
            base_url=self.base_url,
            index=self.index,
            ranker=self.ranker,
            keyless=self.keyless,
            cache=ResultCache(cache_path()) if kept else None,
            timeout=self.timeout,
            language=self.language,
        )


def cache_path() -> Path:
    """The cache file: `hikidashi/web-cache.db` in the cache folder of the user."""
    return cache_folder() / "web-cache.db"


def language_of(lang: Language | None) -> Language:
    """`lang`, or the language of the environment."""
    return lang or language_of_environment()


def choice_of(asked: ProviderOptions) -> Choice:
    """The choice that the options describe.

    Raises:
        typer.BadParameter: options contradict each other, or the address of the provider is missing.
        TavilyAPIError: the provider needs a key, and there is none.
    """
    named = asked.provider or (names_taking("index")[0] if asked.index is not None else None)
    row = SEARCH_PROVIDERS[provider_name(named)]
    if asked.index is not None and "index" not in row.options:
        raise typer.BadParameter(f"--index belongs to {_providers('index')}, not {row.name}.")
    if asked.ranker != DEFAULT_RANKER and "ranker" not in row.options:
        raise typer.BadParameter(f"--ranker belongs to {_providers('ranker')}, not {row.name}.")
    if asked.keyless and (named is None or "keyless" not in row.options):
        raise typer.BadParameter(f"--keyless belongs to {_providers('keyless')}.")
    if asked.base_url and "base_url" not in row.options:
        raise typer.BadParameter(f"--base-url needs {_providers('base_url')}.")
    if row.address_variable and not (asked.base_url or row.address_in(os.environ)):
        raise typer.BadParameter(f"--provider {row.name} needs --base-url URL, or {row.address_variable}.")
    if row.key_variable and not (asked.keyless or row.key_in(os.environ)):
        raise TavilyAPIError(in_language(row.missing_key("command"), "en"), ErrorType.AUTH_ERROR)
    return Choice(
        name=row.name,
        base_url=asked.base_url,
        index=asked.index,
        ranker=asked.ranker,
        keyless=asked.keyless,
        cache=asked.cache,
        timeout=asked.timeout,
        language=language_of(asked.lang),
    )


def _providers(option: Option) -> str:
    """The values of --provider that go with `option`."""
    return " or ".join(f"--provider {name}" for name in names_taking(option))
