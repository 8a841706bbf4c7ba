"""Search hits packed into a token budget, ready for a prompt: the `context` of every provider."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import replace

from ...tokens import estimate_tokens
from ..pages.address import readable_url
from ..passages import short_line
from ..results import SearchContext, SearchHit

__all__ = ["DEFAULT_MAX_TOKENS", "pack_context"]

DEFAULT_MAX_TOKENS = 4_000
"""Default token budget of a context."""

_LONGEST_TITLE, _LONGEST_URL = 300, 2_000  # characters; a server may send either in any length
_MOST_CHARACTERS_PER_TOKEN = 16
_BETWEEN = "\n\n"
_CUT = " …"
# Scripts without spaces between words: a text may be cut after any character.
_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U000323af"
_WORD_END = re.compile(rf"(?<=\S)(?=\s)|(?<=[{_UNSPACED}])(?=[{_UNSPACED}])|(?<=[、。，．！？])(?=\S)|\Z")
_SENTENCE_END = re.compile(r"[。！？][」』）]*|[.!?][\"')\]]*(?=\s)|\n(?=\s*\n)")
# Cut after a sentence if that keeps this share of what fits, else after a word.
_WORTH_A_SENTENCE = 0.6


def pack_context(
    query: str,
    hits: Sequence[SearchHit],
    max_tokens: int | None = None,
    *,
    provider: str,
    cached: bool = False,
    credits: float | None = None,  # noqa: A002 - the name it has in every result
) -> SearchContext:
    """The passages of `hits`, best first, each under its title and address, in at most `max_tokens` tokens.

    The first passage that does not fit is cut after a sentence or a word. Passages contained in an earlier one are left
    out. If the limit is too small for the best passage's address, only `sources` has it.

    Args:
        query: The query.
        hits: The hits; ties keep their order.
        max_tokens: Limit of `text`, by `estimate_tokens`; 4,000 if None.
        provider: The name of the provider.
        cached: Whether the hits came from a cache.
        credits: The cost of the search.
    """
    limit = DEFAULT_MAX_TOKENS if max_tokens is None else max_tokens
    text = ""
    sources: dict[str, None] = {}
    most = limit * _MOST_CHARACTERS_PER_TOKEN
    for hit in _distinct([_short(hit, most) for hit in sorted(hits, key=lambda hit: -hit.score)]):
        before = text + _BETWEEN if text else ""
        whole = _entry(hit, with_title=True) + hit.content.strip()
        if _cost(before + whole) <= limit:
            text = before + whole
            sources[hit.url] = None
            continue
        if cut := _cut_to_fit(before, hit, limit):
            text = cut
            sources[hit.url] = None
        break
    return SearchContext(
        query=query,
        text=text,
        sources=tuple(sources),
        tokens=estimate_tokens(text),
        provider=provider,
        cached=cached,
        credits=credits,
    )


def _short(hit: SearchHit, most: int) -> SearchHit:
    """`hit` with no more text than could fit, so that megabytes are not processed."""
    content = hit.content.strip()
    return hit if len(content) <= most else replace(hit, content=content[:most].rstrip() + _CUT)


def _cost(text: str) -> int:
    """About how many tokens `text` has; one word of a thousand letters is not one token."""
    return max(estimate_tokens(text), len(text) // _MOST_CHARACTERS_PER_TOKEN)


def _distinct(hits: Sequence[SearchHit]) -> list[SearchHit]:
    """The hits that have text, without those whose text an earlier one contains."""
    kept: list[SearchHit] = []
    texts: list[str] = []
    for hit in hits:
        words = " ".join(hit.content.split()).casefold()
        if words and not any(words in earlier for earlier in texts):
            kept.append(hit)
            texts.append(words)
    return kept


def _entry(hit: SearchHit, *, with_title: bool) -> str:
    """The heading of a passage: title and address."""
    title = " ".join(short_line(hit.title, _LONGEST_TITLE).split())
    address = readable_url(short_line(hit.url, _LONGEST_URL))
    return f"### {title}\n{address}\n\n" if with_title and title else f"{address}\n\n"


def _cut_to_fit(before: str, hit: SearchHit, limit: int) -> str:
    """`before` and as much of `hit` as fits into `limit`; empty if there is no room for its address and a word."""
    content = hit.content.strip()
    for with_title in (True, False):
        head = before + _entry(hit, with_title=with_title)
        if _cost(head) < limit and (part := _longest_part(head, content, limit)):
            return head + part
    return "" if before else _longest_part("", content, limit) or _first_letters(content, limit)


def _longest_part(head: str, content: str, limit: int) -> str:
    """The longest prefix of `content` that fits after `head`, cut after a sentence if that keeps most of it."""
    ends = [match.start() for match in _WORD_END.finditer(content)]
    fitting = bisect_right(ends, limit, key=lambda end: _cost(head + _cut_at(content, end)))
    if not fitting:
        return ""
    end = ends[fitting - 1]
    if end == len(content):
        return content
    sentences = [match.end() for match in _SENTENCE_END.finditer(content, 0, end + 1) if match.end() <= end]
    if sentences and sentences[-1] >= end * _WORTH_A_SENTENCE:
        return content[: sentences[-1]].rstrip()
    return _cut_at(content, end)


def _first_letters(content: str, limit: int) -> str:
    """The beginning of a word that is longer than `limit`."""
    ends = range(1, len(content) + 1)
    return content[: bisect_right(ends, limit, key=lambda end: _cost(content[:end]))].rstrip()


def _cut_at(content: str, end: int) -> str:
    return content if end == len(content) else content[:end].rstrip() + _CUT
