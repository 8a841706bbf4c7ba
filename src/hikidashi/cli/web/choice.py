"""The provider that the options of a command ask for."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from hikidashi.common.folders import cache_folder
from hikidashi.errors import ErrorType, TavilyAPIError
from hikidashi.web.provider import ProviderName, SearchProvider
from hikidashi.web.providers.choose import KEY_VARIABLE, SEARXNG_VARIABLE, choose_provider, provider_name

from ..output import Language, language_of_environment
from .options import ProviderOptions

if TYPE_CHECKING:
    from hikidashi.web.local import Ranker

__all__ = ["Choice", "choice_of", "language_of"]


@dataclass(frozen=True, kw_only=True)
class Choice:
    """Who answers, and in which language."""

    name: ProviderName
    base_url: str | None
    index: Path | None
    ranker: Ranker
    keyless: bool
    cache: bool
    timeout: float | None
    language: Language

    def opened(self) -> SearchProvider:
        """The provider itself; the caller closes it."""
        from hikidashi.web.providers.cache import ResultCache

        kept = self.cache and self.name == "tavily"
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
    """Where answers are kept: `hikidashi/web-cache.db` in the user's cache folder."""
    return cache_folder() / "web-cache.db"


def language_of(lang: Language | None) -> Language:
    """The language that was asked for, here or by the environment."""
    return lang or language_of_environment()


def choice_of(asked: ProviderOptions) -> Choice:
    """What the options say, refused where they contradict each other.

    Raises:
        TavilyAPIError: Tavily was asked for, and there is no key.
    """
    has_key = bool(os.environ.get(KEY_VARIABLE, "").strip())
    named = asked.provider or ("local" if asked.index is not None else None)
    name = provider_name(named)
    if asked.index is not None and name != "local":
        raise typer.BadParameter(f"--index belongs to --provider local, not {name}.")
    if asked.ranker != "lexical" and name != "local":
        raise typer.BadParameter(f"--ranker belongs to --provider local, not {name}.")
    if asked.keyless and named != "tavily":
        raise typer.BadParameter("--keyless belongs to --provider tavily.")
    if asked.base_url and name == "local":
        raise typer.BadParameter("--base-url needs --provider tavily or --provider searxng.")
    if name == "searxng" and not (asked.base_url or os.environ.get(SEARXNG_VARIABLE, "").strip()):
        raise typer.BadParameter(f"--provider searxng needs --base-url URL, or {SEARXNG_VARIABLE}.")
    if name == "tavily" and not (asked.keyless or has_key):
        raise TavilyAPIError(
            f"There is no Tavily API key. Set {KEY_VARIABLE}, or use --provider local, or --keyless.",
            ErrorType.AUTH_ERROR,
        )
    return Choice(
        name=name,
        base_url=asked.base_url,
        index=asked.index,
        ranker=asked.ranker,
        keyless=asked.keyless,
        cache=asked.cache,
        timeout=asked.timeout,
        language=language_of(asked.lang),
    )
