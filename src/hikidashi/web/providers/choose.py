"""Which provider answers: the one that was named, else Tavily if there is a key, else the local index."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, get_args

from ...common.language import Language, localized
from ...errors import ErrorType, TavilyAPIError
from ..provider import ProviderName, SearchProvider

if TYPE_CHECKING:
    from ...config import WebSearchConfig
    from .cache import ResultCache
    from .local import Ranker

__all__ = ["KEY_VARIABLE", "SEARXNG_VARIABLE", "choose_provider", "configured_provider", "provider_name"]

KEY_VARIABLE = "TAVILY_API_KEY"
SEARXNG_VARIABLE = "SEARXNG_URL"

_SAYINGS: dict[str, tuple[str, str]] = {
    "unknown": (
        "プロバイダー {value} はありません。{allowed} のいずれかを指定してください。",
        "There is no provider {value}. Choose one of {allowed}.",
    ),
    "no_key": (
        f"Tavily の API キーがありません。環境変数 {KEY_VARIABLE} を設定するか、api_key を指定してください。"
        'キーなしで使うには provider="local" または keyless=True を指定してください。',
        f"There is no Tavily API key. Set {KEY_VARIABLE}, or pass `api_key`. "
        'Without one, use provider="local", or ask for `keyless=True`.',
    ),
    "no_address": (
        f"SearXNG のアドレスがありません。base_url に http://127.0.0.1:8080 のように指定するか、環境変数 "
        f"{SEARXNG_VARIABLE} を設定してください。",
        f"There is no address of a SearXNG. Pass `base_url`, such as http://127.0.0.1:8080, or set {SEARXNG_VARIABLE}.",
    ),
    "keyless": (
        'keyless=True は Tavily だけのオプションで、{provider} では使えません。provider="tavily" を指定してください。',
        '`keyless=True` means nothing to {provider}: it is Tavily without a key. Pass provider="tavily" with it.',
    ),
    "whose_address": (
        'base_url {value} がどのプロバイダーのものか分かりません。provider に "tavily" または "searxng" を'
        "指定してください。",
        'Whose address is {value}? Pass provider="tavily" or provider="searxng" with `base_url`.',
    ),
}


def provider_name(
    provider: str | None = None, *, api_key: str | None = None, language: Language = "ja"
) -> ProviderName:
    """The provider that `choose_provider` takes.

    Raises:
        TavilyAPIError: there is none of that name; VALIDATION_ERROR.
    """
    if not provider:
        return "tavily" if api_key or os.environ.get(KEY_VARIABLE, "").strip() else "local"
    for name in get_args(ProviderName):
        if provider == name:
            return name
    allowed = ", ".join(map(repr, get_args(ProviderName)))
    raise _refused("unknown", language, value=repr(provider), allowed=allowed)


def choose_provider(
    provider: ProviderName | str | None = None,
    *,
    api_key: str | None = None,
    base_url: str | None = None,
    index: str | os.PathLike[str] | None = None,
    ranker: Ranker = "lexical",
    cache: ResultCache | None = None,
    keyless: bool = False,
    timeout: float | None = None,
    language: Language = "ja",
) -> SearchProvider:
    """The provider that was named; else Tavily if there is a key, here or in TAVILY_API_KEY; else the local index.

    Tavily without a key is used only when both `provider="tavily"` and `keyless=True` say so. Options of another
    provider than the chosen one are not looked at, so one configuration may hold them all.

    Args:
        provider: "tavily", "local" or "searxng".
        api_key: Tavily's key; that of the environment if None.
        base_url: Where the API of Tavily or SearXNG is. SearXNG's may stand in SEARXNG_URL.
        index: The file of the local index; the one in the user's data folder if None.
        ranker: How the local index ranks: "lexical" by words, "hybrid" by meaning too (extra `semantic`).
        cache: Where Tavily's answers are kept; None is nowhere. The others answer at no cost.
        keyless: Whether Tavily may be asked without a key.
        timeout: Seconds for each try, with Tavily and SearXNG.
        language: The language of error messages.

    Raises:
        TavilyAPIError: no such provider or no address of it (VALIDATION_ERROR), or no key (AUTH_ERROR).
        MissingExtra: its packages are not installed.
    """
    name = provider_name(provider, api_key=api_key, language=language)
    options: dict[str, Any] = {"language": language, **({} if timeout is None else {"timeout": timeout})}
    if keyless and name != "tavily":
        raise _refused("keyless", language, provider=name)
    match name:
        case "tavily":
            if not (keyless or api_key or os.environ.get(KEY_VARIABLE, "").strip()):
                raise _refused("no_key", language, ErrorType.AUTH_ERROR)
            from .tavily.client import TavilyAPIClient

            return TavilyAPIClient(api_key, base_url=base_url, cache=cache, keyless=keyless, **options)
        case "searxng":
            address = base_url or os.environ.get(SEARXNG_VARIABLE, "").strip()
            if not address:
                raise _refused("no_address", language)
            from .searxng import SearxngProvider

            return SearxngProvider(address, **options)
        case "local":  # pragma: no branch - there is no other
            if base_url and not provider:
                raise _refused("whose_address", language, value=repr(base_url))
            from .local import LocalSearchProvider

            return LocalSearchProvider(index, language=language, ranker=ranker)


def configured_provider(config: WebSearchConfig, *, language: Language = "ja") -> SearchProvider:
    """The provider that a config section means: where it names none, Tavily.

    Raises:
        TavilyAPIError: it has no key (AUTH_ERROR), or no address (VALIDATION_ERROR).
        MissingExtra: its packages are not installed.
    """
    return choose_provider(
        config.provider or "tavily",
        api_key=config.api_key,
        base_url=config.base_url,
        index=config.index,
        ranker=config.ranker,
        language=language,
    )


def _refused(
    key: str, language: Language, error_type: ErrorType = ErrorType.VALIDATION_ERROR, **values: object
) -> TavilyAPIError:
    japanese, english = _SAYINGS[key]
    return TavilyAPIError(localized({"ja": japanese, "en": english}, language, **values), error_type)
