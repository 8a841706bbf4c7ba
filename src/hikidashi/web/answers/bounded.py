"""Answers that fit into a model's context: long pages in parts, long hits cut, and a note of how to get the rest."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ...tokens import estimate_tokens
from ..results import ExtractResults, SearchHit, SearchResults
from ..wording.said import Language

__all__ = ["ANSWER_TOKENS", "MOST_CONTEXT_TOKENS", "Part", "bounded_hits", "bounded_pages", "part_of"]

ANSWER_TOKENS = 8_000
"""About how many tokens one answer of a tool has at most, unless the caller says otherwise."""
MOST_CONTEXT_TOKENS = 20_000
"""About how many tokens a model may ask a context to have."""

_LEAST_TOKENS = 50
"""Of each page or hit, however many there are."""
# No token is longer than this on average in any text, so nothing behind it can be within the limit.
_MOST_CHARACTERS_PER_TOKEN = 16
_WORTH_A_SENTENCE = 0.7
_GOOD_END = re.compile(r"\n\s*\n|[。！？][」』）]*|[.!?][\"')\]]*(?=\s)|\n")
_WORD_END = re.compile(r"\s+|(?<=[\u3040-\u30ff\u3400-\u9fff])")

_SAYINGS: dict[str, dict[Language, str]] = {
    "more": {
        "en": (
            "{url}: {left:,} more characters. For the next part call {tool} with this URL and offset={offset}; "
            "for the passages that matter, with a query."
        ),
        "ja": (
            "{url}: 残り {left:,} 文字。続きは {tool} にこの URL と offset={offset} を、"
            "必要な箇所だけなら query を指定してください。"
        ),
    },
    "past": {
        "en": "{url}: offset={offset} is past the end; the page has {length:,} characters.",
        "ja": "{url}: offset={offset} は末尾を過ぎています。ページは {length:,} 文字です。",
    },
    "hits": {
        "en": "{count} of the results were cut. For a whole page call {tool} with its URL.",
        "ja": "結果のうち {count} 件を途中で切りました。全文は {tool} に URL を指定してください。",
    },
}


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a text, and where the next one begins."""

    text: str
    next: int | None
    """None where this is the last part."""


def part_of(text: str, *, offset: int = 0, max_tokens: int) -> Part:
    """The part of `text` from `offset` on that has at most about `max_tokens` tokens, cut at a sentence or a word."""
    ahead = text[offset : offset + max_tokens * _MOST_CHARACTERS_PER_TOKEN]
    fits_whole = len(ahead) <= max_tokens // 2 or estimate_tokens(ahead) <= max_tokens
    if fits_whole and offset + len(ahead) >= len(text):
        return Part(ahead, None)
    length = len(ahead) if fits_whole else _longest_fitting(ahead, max_tokens)
    end = _good_end(ahead, max(length, 1))
    return Part(ahead[:end], offset + end)


def bounded_pages(
    results: ExtractResults, *, max_tokens: int, offset: int = 0, tool: str, language: Language
) -> tuple[ExtractResults, list[str]]:
    """`results` with at most about `max_tokens` tokens of text, and a note for each page that has more."""
    texts = [page.raw_content[offset:] for page in results.results]
    notes: list[str] = []
    pages = list(results.results)
    for at, limit in enumerate(_shares(texts, max_tokens)):
        page = pages[at]
        part = part_of(page.raw_content, offset=offset, max_tokens=limit)
        pages[at] = replace(page, raw_content=part.text)
        length = len(page.raw_content)
        if part.next is not None:
            left = length - part.next
            notes.append(_say("more", language, url=page.url, left=left, tool=tool, offset=part.next))
        elif offset and offset >= length:
            notes.append(_say("past", language, url=page.url, offset=offset, length=length))
    return replace(results, results=tuple(pages)), notes


def bounded_hits(
    results: SearchResults, *, max_tokens: int, tool: str, language: Language
) -> tuple[SearchResults, list[str]]:
    """`results` with at most about `max_tokens` tokens of text, and a note where hits were cut."""
    cut = 0
    hits: list[SearchHit] = []
    limits = _shares([hit.content for hit in results.results], max_tokens)
    for hit, limit in zip(results.results, limits, strict=True):
        part = part_of(hit.content, max_tokens=limit)
        cut += part.next is not None
        hits.append(hit if part.next is None else replace(hit, content=f"{part.text.rstrip()} …"))
    return replace(results, results=tuple(hits)), [_say("hits", language, count=cut, tool=tool)] if cut else []


def _shares(texts: Sequence[str], max_tokens: int) -> list[int]:
    """How many tokens each text may have: what short ones leave over goes to the long ones."""
    need = [_estimate(text, max_tokens) for text in texts]
    left, waiting = max_tokens, len(texts)
    shares = [0] * len(texts)
    for at in sorted(range(len(texts)), key=lambda at: need[at]):
        shares[at] = max(min(need[at], left // waiting), _LEAST_TOKENS)
        left = max(left - shares[at], 0)
        waiting -= 1
    return shares


def _estimate(text: str, most: int) -> int:
    """About how many tokens `text` has, counted no further than matters."""
    longest = most * _MOST_CHARACTERS_PER_TOKEN
    return most + 1 if len(text) > longest else estimate_tokens(text)


def _longest_fitting(text: str, max_tokens: int) -> int:
    """The length of the longest beginning of `text` that has at most `max_tokens` tokens."""
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        if estimate_tokens(text[:middle]) <= max_tokens:
            low = middle
        else:
            high = middle - 1
    return low


def _good_end(text: str, length: int) -> int:
    """The last end of a sentence before `length`, else of a word, unless that would throw much away."""
    for pattern in (_GOOD_END, _WORD_END):
        start = int(length * _WORTH_A_SENTENCE)
        ends = [match.end() for match in pattern.finditer(text, start, length) if start < match.end() <= length]
        if ends:
            return ends[-1]
    return length


def _say(key: str, language: Language, **values: object) -> str:
    return _SAYINGS[key][language].format(**values)
