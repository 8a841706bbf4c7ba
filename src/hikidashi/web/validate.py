"""Validation of arguments before anything is sent."""

from __future__ import annotations

import logging
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar, cast

from ..errors import FetchRefused
from .messages import reason, validation_error
from .pages.address import parse_url
from .provider import SearchDepth
from .results import FailedPage

__all__ = [
    "LONGEST_QUERY",
    "MOST_RESULTS",
    "MOST_URLS",
    "CheckedUrls",
    "as_list",
    "check_choice",
    "check_instance",
    "check_max_results",
    "check_max_tokens",
    "check_offset",
    "check_positive",
    "check_query",
    "check_search_depth",
    "check_texts",
    "check_urls",
]

logger = logging.getLogger("hikidashi")

LONGEST_QUERY = 1000
MOST_RESULTS = 20
MOST_URLS = 20
_SHOWN = 60  # characters of a refused value shown in a message

_Choice = TypeVar("_Choice", bound=str)
_Object = TypeVar("_Object")


def check_query(query: str) -> str:
    """`query`, unchanged; raises unless it has 1 to 1,000 characters and is not blank.

    Raises:
        TavilyAPIError: VALIDATION_ERROR.
    """
    given = cast("Any", query)  # a model may send anything
    if not isinstance(given, str):
        raise validation_error("query_type", value=_shown(given))
    if not given.strip():
        raise validation_error("query_empty", value=_shown(given), limit=LONGEST_QUERY)
    if len(given) > LONGEST_QUERY:
        raise validation_error("query_long", value=_shown(given), length=len(given), limit=LONGEST_QUERY)
    return given


def check_search_depth(depth: str, *, quick: bool = False) -> SearchDepth:
    """`depth`; raises unless it is "basic" or "advanced", or with `quick` "fast" or "ultra-fast".

    Raises:
        TavilyAPIError: VALIDATION_ERROR.
    """
    allowed: tuple[SearchDepth, ...] = ("basic", "advanced", "fast", "ultra-fast")
    return check_choice(depth, "search_depth", allowed if quick else allowed[:2])


def check_max_results(max_results: int) -> int:
    """`max_results`; raises unless it is an integer from 1 to 20.

    Raises:
        TavilyAPIError: VALIDATION_ERROR.
    """
    if not _is_integer(max_results) or not 1 <= max_results <= MOST_RESULTS:
        value = _shown(max_results)
        raise validation_error("integer_between", name="max_results", value=value, low=1, high=MOST_RESULTS)
    return max_results


def check_max_tokens(max_tokens: int | None) -> int | None:
    """`max_tokens`; raises unless it is None or a positive integer.

    Raises:
        TavilyAPIError: VALIDATION_ERROR.
    """
    if max_tokens is not None and (not _is_integer(max_tokens) or max_tokens < 1):
        raise validation_error("integer_from", name="max_tokens", value=_shown(max_tokens), low=1)
    return max_tokens


def check_offset(offset: int) -> int:
    """`offset`; raises unless it is a non-negative integer.

    Raises:
        TavilyAPIError: VALIDATION_ERROR.
    """
    if not _is_integer(offset) or offset < 0:
        raise validation_error("integer_from", name="offset", value=_shown(offset), low=0)
    return offset


def check_choice(value: str, name: str, allowed: Sequence[_Choice]) -> _Choice:
    """`value`; raises unless it is one of `allowed`.

    Raises:
        TavilyAPIError: VALIDATION_ERROR naming `name`.
    """
    for choice in allowed:
        if value == choice:
            return choice
    words = ", ".join(f'"{choice}"' for choice in allowed)
    raise validation_error("choice", name=name, value=_shown(value), allowed=words)


def check_instance(value: object, kind: type[_Object], name: str) -> _Object:
    """`value`; raises unless it is a `kind`.

    Raises:
        TavilyAPIError: VALIDATION_ERROR naming `name`.
    """
    if not isinstance(value, kind):
        raise validation_error("object", name=name, value=_shown(value), kind=kind.__name__)
    return value


def check_positive(value: float, name: str) -> float:
    """`value`; raises unless it is a number above 0.

    Raises:
        TavilyAPIError: VALIDATION_ERROR naming `name`.
    """
    given = cast("object", value)  # a caller may pass anything
    if not isinstance(given, int | float) or isinstance(given, bool) or not given > 0:
        raise validation_error("positive", name=name, value=_shown(given))
    return value


def check_texts(values: Iterable[str] | None, name: str) -> tuple[str, ...]:
    """`values` as a tuple without duplicates; a string counts as a list of one, None as an empty list.

    Raises:
        TavilyAPIError: an item is not a non-blank string; VALIDATION_ERROR naming `name`.
    """
    if values is None:
        return ()
    given = as_list(values)
    if given is None or not all(isinstance(value, str) and value.strip() for value in given):
        raise validation_error("texts", name=name, value=_shown(values))
    return tuple(dict.fromkeys(value.strip() for value in given))


@dataclass(frozen=True, slots=True)
class CheckedUrls:
    """Valid and invalid URLs, each without duplicates and in the order given."""

    valid: tuple[str, ...]
    failed: tuple[FailedPage, ...]
    asked: tuple[str, ...] = ()
    """All URLs, in the order given."""

    def all_failed(self, more: Iterable[FailedPage]) -> tuple[FailedPage, ...]:
        """`failed` and `more`, in the order the URLs were given."""
        places = {url: place for place, url in enumerate(self.asked)}
        return tuple(sorted((*self.failed, *more), key=lambda page: places.get(page.url, len(places))))


def check_urls(
    urls: Sequence[str],
    *,
    allowed_hosts: Iterable[str] = frozenset(),
    any_port: bool = False,
    at_hand: Container[str] = frozenset(),
) -> CheckedUrls:
    """`urls` divided into valid ones, at most 20, and invalid ones with the reason.

    Two spellings of an address count once. `http://` is accepted with a warning in the log.

    Args:
        urls: The URLs; a string counts as a list of one.
        allowed_hosts: Private hosts to allow, as for `check_url`.
        any_port: Whether to allow other ports than 80 and 443.
        at_hand: URLs of pages that are not fetched, and therefore not checked.

    Raises:
        TavilyAPIError: `urls` is empty; VALIDATION_ERROR.
    """
    given = as_list(urls)
    if not given:
        raise validation_error("urls_empty", value=_shown(urls), limit=MOST_URLS)
    parse = partial(parse_url, allowed_hosts=allowed_hosts, any_port=any_port)
    valid: dict[str, str] = {}
    surplus: set[str] = set()
    failed: dict[str, str] = {}
    for url in given:
        text = _text_of(url)
        try:
            spelling = text if text in at_hand else parse(text).canonical if isinstance(url, str) else None
        except FetchRefused as refused:
            failed.setdefault(text, refused.reason)
            continue
        if spelling is None:
            failed.setdefault(text, reason("url_type"))
        elif spelling in valid or spelling in surplus:
            continue
        elif len(valid) < MOST_URLS:
            valid[spelling] = text
        else:
            surplus.add(spelling)
            failed.setdefault(text, reason("url_surplus", limit=MOST_URLS))
    plain = sum(spelling.startswith("http://") for spelling in valid)
    if plain:
        logger.warning(
            "%d of %d addresses use http://, which others can read and change; prefer https://", plain, len(valid)
        )
    return CheckedUrls(
        valid=tuple(valid.values()),
        failed=tuple(FailedPage(url=url, error=why) for url, why in failed.items()),
        asked=tuple(dict.fromkeys(map(_text_of, given))),
    )


def _text_of(url: object) -> str:
    return url.strip() if isinstance(url, str) else _shown(url)


def as_list(values: object) -> list[Any] | None:
    """`values` as a list, a string as a list of one; None if it is neither."""
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
