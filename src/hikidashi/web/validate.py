"""What the web tools take: queries, depths, numbers and addresses, checked before anything is sent."""

from __future__ import annotations

import logging
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar, cast

from ..errors import ErrorType, FetchRefused, TavilyAPIError
from .pages.address import parse_url
from .pages.reasons import in_language
from .provider import SearchDepth
from .results import FailedPage
from .wording.messages import say
from .wording.said import Language

__all__ = [
    "LONGEST_QUERY",
    "MOST_RESULTS",
    "MOST_URLS",
    "SortedUrls",
    "as_list",
    "check_choice",
    "check_max_results",
    "check_max_tokens",
    "check_offset",
    "check_query",
    "check_search_depth",
    "check_texts",
    "sort_urls",
]

logger = logging.getLogger("hikidashi")

LONGEST_QUERY = 1000
MOST_RESULTS = 20
MOST_URLS = 20
_SHOWN = 60  # characters of a refused value that a message repeats

_Choice = TypeVar("_Choice", bound=str)


def check_query(query: str, *, language: Language = "ja") -> str:
    """`query`, unchanged, if it has 1 to 1,000 characters that are not all blank.

    Raises:
        TavilyAPIError: it has not; VALIDATION_ERROR.
    """
    given = cast("Any", query)  # a model may send anything
    if not isinstance(given, str):
        raise _refused("query_type", language, value=_shown(given))
    if not given.strip():
        raise _refused("query_empty", language, value=_shown(given), limit=LONGEST_QUERY)
    if len(given) > LONGEST_QUERY:
        raise _refused("query_long", language, value=_shown(given), length=len(given), limit=LONGEST_QUERY)
    return given


def check_search_depth(depth: str, *, language: Language = "ja", quick: bool = False) -> SearchDepth:
    """`depth` if it is "basic" or "advanced", or with `quick` also "fast" or "ultra-fast".

    Raises:
        TavilyAPIError: it is not; VALIDATION_ERROR.
    """
    allowed: tuple[SearchDepth, ...] = ("basic", "advanced", "fast", "ultra-fast")
    return check_choice(depth, "search_depth", allowed if quick else allowed[:2], language=language)


def check_max_results(max_results: int, *, language: Language = "ja") -> int:
    """`max_results` if it is an integer from 1 to 20.

    Raises:
        TavilyAPIError: it is not; VALIDATION_ERROR.
    """
    if not _is_integer(max_results) or not 1 <= max_results <= MOST_RESULTS:
        value = _shown(max_results)
        raise _refused("integer_between", language, name="max_results", value=value, low=1, high=MOST_RESULTS)
    return max_results


def check_max_tokens(max_tokens: int | None, *, language: Language = "ja") -> int | None:
    """`max_tokens` if it is None or an integer of 1 or more.

    Raises:
        TavilyAPIError: it is not; VALIDATION_ERROR.
    """
    if max_tokens is not None and (not _is_integer(max_tokens) or max_tokens < 1):
        raise _refused("integer_from", language, name="max_tokens", value=_shown(max_tokens), low=1)
    return max_tokens


def check_offset(offset: int, *, language: Language = "ja") -> int:
    """`offset` if it is an integer of 0 or more.

    Raises:
        TavilyAPIError: it is not; VALIDATION_ERROR.
    """
    if not _is_integer(offset) or offset < 0:
        raise _refused("integer_from", language, name="offset", value=_shown(offset), low=0)
    return offset


def check_choice(value: str, name: str, allowed: Sequence[_Choice], *, language: Language = "ja") -> _Choice:
    """`value` if it is one of `allowed`.

    Raises:
        TavilyAPIError: it is not; VALIDATION_ERROR naming `name`.
    """
    for choice in allowed:
        if value == choice:
            return choice
    words = ", ".join(f'"{choice}"' for choice in allowed)
    raise _refused("choice", language, name=name, value=_shown(value), allowed=words)


def check_texts(values: Iterable[str] | None, name: str, *, language: Language = "ja") -> tuple[str, ...]:
    """`values` as a tuple without repetitions; one string is a list of one, None an empty one.

    Raises:
        TavilyAPIError: something in it is not text; VALIDATION_ERROR naming `name`.
    """
    if values is None:
        return ()
    given = as_list(values)
    if given is None or not all(isinstance(value, str) and value.strip() for value in given):
        raise _refused("texts", language, name=name, value=_shown(values))
    return tuple(dict.fromkeys(value.strip() for value in given))


@dataclass(frozen=True, slots=True)
class SortedUrls:
    """Addresses that may be asked for, and those that may not, each without repetitions and in the order given."""

    valid: tuple[str, ...]
    failed: tuple[FailedPage, ...]
    asked: tuple[str, ...] = ()
    """All of them, in the order given."""

    def all_failed(self, more: Iterable[FailedPage]) -> tuple[FailedPage, ...]:
        """`failed` and what failed later, in the order the addresses were given."""
        places = {url: place for place, url in enumerate(self.asked)}
        return tuple(sorted((*self.failed, *more), key=lambda page: places.get(page.url, len(places))))


def sort_urls(
    urls: Sequence[str],
    *,
    language: Language = "ja",
    allowed_hosts: Iterable[str] = frozenset(),
    any_port: bool = False,
    at_hand: Container[str] = frozenset(),
) -> SortedUrls:
    """`urls` parted into those that may be asked for, at most 20, and those that may not, with the reason.

    The same address in two spellings counts once. `http://` is taken, with a warning in the log.

    Args:
        urls: The addresses; one may be a string.
        language: That of the reasons.
        allowed_hosts: Hosts that may be private, as for `check_url`.
        any_port: Whether other ports than 80 and 443 may be asked for, too.
        at_hand: Addresses of pages that need no fetching, and so no check.

    Raises:
        TavilyAPIError: there are none at all; VALIDATION_ERROR.
    """
    given = as_list(urls)
    if not given:
        raise _refused("urls_empty", language, value=_shown(urls), limit=MOST_URLS)
    parse = partial(parse_url, allowed_hosts=allowed_hosts, any_port=any_port)
    valid: dict[str, str] = {}
    surplus: set[str] = set()
    failed: dict[str, str] = {}
    for url in given:
        text = _text_of(url)
        try:
            spelling = text if text in at_hand else parse(text).canonical if isinstance(url, str) else None
        except FetchRefused as refused:
            failed.setdefault(text, in_language(refused.reason, language))
            continue
        if spelling is None:
            failed.setdefault(text, say("url_type", language))
        elif spelling in valid or spelling in surplus:
            continue
        elif len(valid) < MOST_URLS:
            valid[spelling] = text
        else:
            surplus.add(spelling)
            failed.setdefault(text, say("url_surplus", language, limit=MOST_URLS))
    plain = sum(spelling.startswith("http://") for spelling in valid)
    if plain:
        logger.warning(
            "%d of %d addresses use http://, which others can read and change; prefer https://", plain, len(valid)
        )
    return SortedUrls(
        valid=tuple(valid.values()),
        failed=tuple(FailedPage(url=url, error=why) for url, why in failed.items()),
        asked=tuple(dict.fromkeys(map(_text_of, given))),
    )


def _text_of(url: object) -> str:
    return url.strip() if isinstance(url, str) else _shown(url)


def as_list(values: object) -> list[Any] | None:
    """`values` as a list, one string as a list of one; None if it is neither."""
    if isinstance(values, str):
        return [values]
    if isinstance(values, Iterable) and not isinstance(values, bytes | dict):
        return list(cast("Iterable[Any]", values))
    return None


def _is_integer(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _shown(value: object) -> str:
    whole = repr(value)
    return whole if len(whole) <= _SHOWN else whole[: _SHOWN - 1] + "…"


def _refused(key: str, language: Language, **values: object) -> TavilyAPIError:
    return TavilyAPIError(say(key, language, **values), ErrorType.VALIDATION_ERROR)
