"""Hits of a search packed into a number of tokens, ready for a prompt: what `context` gives, with every provider."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence

from ...tokens import estimate_tokens
from ..pages.address import readable_url
from ..results import SearchContext, SearchHit

__all__ = ["DEFAULT_MAX_TOKENS", "pack_context"]

DEFAULT_MAX_TOKENS = 4_000
"""How many tokens a context has where the caller does not say."""

_BETWEEN = "\n\n"
_CUT = " …"
# Letters of scripts that put no spaces between words: a text may be cut after any of them.
_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U000323af"
_WORD_END = re.compile(rf"(?<=\S)(?=\s)|(?<=[{_UNSPACED}])(?=[{_UNSPACED}])|(?<=[、。，．！？])(?=\S)|\Z")
_SENTENCE_END = re.compile(r"[。！？][」』）]*|[.!?][\"')\]]*(?=\s)|\n(?=\s*\n)")
# A whole sentence is worth this much of the text that would fit; below it, a few more words are.
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

    The passage that does not fit any more is cut after a sentence or a word. What another passage says already is
    left out. Where the limit is too small for the best passage's own address, only `sources` names it.

    Args:
        query: What was asked.
        hits: What was found; those of the same score keep their order.
        max_tokens: The most that `text` may be, by `estimate_tokens`; 4,000 if None.
        provider: Who found it.
        cached: Whether the hits came from a cache.
        credits: What they cost.
    """
    limit = DEFAULT_MAX_TOKENS if max_tokens is None else max_tokens
    text = ""
    sources: dict[str, None] = {}
    for hit in _distinct(sorted(hits, key=lambda hit: -hit.score)):
        before = text + _BETWEEN if text else ""
        whole = _entry(hit, with_title=True) + hit.content.strip()
        if estimate_tokens(before + whole) <= limit:
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


def _distinct(hits: Sequence[SearchHit]) -> list[SearchHit]:
    """The hits that say something, without those whose text an earlier one contains."""
    kept: list[SearchHit] = []
    said: list[str] = []
    for hit in hits:
        words = " ".join(hit.content.split()).casefold()
        if words and not any(words in earlier for earlier in said):
            kept.append(hit)
            said.append(words)
    return kept


def _entry(hit: SearchHit, *, with_title: bool) -> str:
    """What stands above a passage."""
    title = " ".join(hit.title.split())
    address = readable_url(hit.url)
    return f"### {title}\n{address}\n\n" if with_title and title else f"{address}\n\n"


def _cut_to_fit(before: str, hit: SearchHit, limit: int) -> str:
    """`before` and as much of `hit` as `limit` allows; empty if not even its address and a word fit behind others."""
    content = hit.content.strip()
    for with_title in (True, False):
        head = before + _entry(hit, with_title=with_title)
        if estimate_tokens(head) < limit and (part := _longest_part(head, content, limit)):
            return head + part
    return "" if before else _longest_part("", content, limit) or _first_letters(content, limit)


def _longest_part(head: str, content: str, limit: int) -> str:
    """The longest beginning of `content` that fits behind `head`, cut after a sentence if that keeps most of it."""
    ends = [match.start() for match in _WORD_END.finditer(content)]
    fitting = bisect_right(ends, limit, key=lambda end: estimate_tokens(head + _cut_at(content, end)))
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
    """The beginning of a word that is longer than `limit` by itself."""
    ends = range(1, len(content) + 1)
    return content[: bisect_right(ends, limit, key=lambda end: estimate_tokens(content[:end]))].rstrip()


def _cut_at(content: str, end: int) -> str:
    return content if end == len(content) else content[:end].rstrip() + _CUT
