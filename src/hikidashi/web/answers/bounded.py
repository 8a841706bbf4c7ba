"""Answers limited in tokens: long pages in parts, long hits cut, each with a note on how to get the rest."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ...tokens import estimate_tokens
from ..messages import message
from ..passages import short_line
from ..results import ExtractResults, FailedPage, SearchContext, SearchHit, SearchResults

__all__ = [
    "ANSWER_TOKENS",
    "LONGEST_ERROR",
    "LONGEST_TITLE",
    "LONGEST_URL",
    "MOST_CONTEXT_TOKENS",
    "Part",
    "bounded_context",
    "bounded_hits",
    "bounded_pages",
    "part_of",
    "short_labels",
]

ANSWER_TOKENS = 8_000
"""Default limit for the answer of a tool, in estimated tokens."""
MOST_CONTEXT_TOKENS = 20_000
"""The largest `max_tokens` that a model may ask a context for."""
LONGEST_TITLE = 300
"""Limit of a title in characters; a server may send one of any length."""
LONGEST_URL = 2_000
"""Limit of an address in characters; a longer one is cut, and cannot be fetched."""
LONGEST_ERROR = 1_000
"""Limit of an error or reason in characters."""

_MOST_FAILURES = 50
_SHARE_OF_ANSWER = 0.25
_LEAST_TOKENS = 50
"""Minimum for each page or hit, however many there are."""
# A long word counts as one or two tokens, so a text of long words or of blanks is cut by its length.
_MOST_CHARACTERS_PER_TOKEN = 8
_WORTH_A_SENTENCE = 0.7
_GOOD_END = re.compile(r"\n\s*\n|[。！？][」』）]*|[.!?][\"')\]]*(?=\s)|\n")
_WORD_END = re.compile(r"\s+|(?<=[\u3040-\u30ff\u3400-\u9fff])")


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a text, and the offset of the next one."""

    text: str
    next: int | None
    """None for the last part."""


def part_of(text: str, *, offset: int = 0, max_tokens: int) -> Part:
    """The part of `text` from `offset` on, at most about `max_tokens` tokens, cut after a sentence or a word."""
    ahead = text[offset : offset + max_tokens * _MOST_CHARACTERS_PER_TOKEN]
    fits_whole = len(ahead) <= max_tokens // 2 or estimate_tokens(ahead) <= max_tokens
    if fits_whole and offset + len(ahead) >= len(text):
        return Part(ahead, None)
    length = len(ahead) if fits_whole else _longest_fitting(ahead, max_tokens)
    end = _good_end(ahead, max(length, 1))
    return Part(ahead[:end], offset + end)


def bounded_pages(
    results: ExtractResults, *, max_tokens: int, offset: int = 0, tool: str
) -> tuple[ExtractResults, list[str]]:
    """`results` with at most about `max_tokens` tokens of text, and a note for each page that was cut."""
    texts = [page.raw_content[offset:] for page in results.results]
    notes: list[str] = []
    pages = list(results.results)
    for at, limit in enumerate(_shares(texts, max_tokens)):
        page = pages[at]
        part = part_of(page.raw_content, offset=offset, max_tokens=limit)
        pages[at] = replace(page, url=short_line(page.url, LONGEST_URL), raw_content=part.text)
        length = len(page.raw_content)
        if part.next is not None:
            left = length - part.next
            shown = short_line(page.url, LONGEST_URL)
            notes.append(message("page_cut", url=shown, left=left, tool=tool, offset=part.next))
        elif offset and offset >= length:
            shown = short_line(page.url, LONGEST_URL)
            notes.append(message("offset_past_end", url=shown, offset=offset, length=length))
    failed = tuple(_short_failure(page) for page in results.failed_results[:_MOST_FAILURES])
    if left_out := len(results.failed_results) - len(failed):
        notes.append(message("failures_cut", count=left_out))
    return replace(results, results=tuple(pages), failed_results=failed), notes


def bounded_hits(results: SearchResults, *, max_tokens: int, tool: str) -> tuple[SearchResults, list[str]]:
    """`results` with at most about `max_tokens` tokens of text, and a note where hits were cut."""
    cut = 0
    hits: list[SearchHit] = []
    limits = _shares([hit.content for hit in results.results], max_tokens)
    for hit, limit in zip(results.results, limits, strict=True):
        part = part_of(hit.content, max_tokens=limit)
        cut += part.next is not None
        content = hit.content if part.next is None else f"{part.text.rstrip()} …"
        hits.append(replace(hit, content=content))
    notes: list[str] = [message("hits_cut", count=cut, tool=tool)] if cut else []
    return short_labels(replace(results, results=tuple(hits)), max_tokens=max_tokens), notes


def short_labels(results: SearchResults, *, max_tokens: int = ANSWER_TOKENS) -> SearchResults:
    """`results` with titles and addresses of limited length, and an answer of a quarter of `max_tokens`."""
    hits = tuple(
        replace(hit, title=short_line(hit.title, LONGEST_TITLE), url=short_line(hit.url, LONGEST_URL))
        for hit in results.results
    )
    answer = results.answer and _beginning(results.answer, max(int(max_tokens * _SHARE_OF_ANSWER), _LEAST_TOKENS))
    return replace(results, results=hits, answer=answer)


def bounded_context(context: SearchContext, *, max_tokens: int) -> SearchContext:
    """`context` with at most about `max_tokens` tokens, even if its provider returned more."""
    return replace(context, text=_beginning(context.text, max_tokens))


def _beginning(text: str, max_tokens: int) -> str:
    part = part_of(text, max_tokens=max_tokens)
    return text if part.next is None else f"{part.text.rstrip()} …"


def _short_failure(page: FailedPage) -> FailedPage:
    # Our own reasons are short, so `short_line` returns them unchanged, with their translations.
    return replace(page, url=short_line(page.url, LONGEST_URL), error=short_line(page.error, LONGEST_ERROR))


def _shares(texts: Sequence[str], max_tokens: int) -> list[int]:
    """The token limit of each text; what short texts leave unused goes to the long ones."""
    need = [_estimate(text, max_tokens) for text in texts]
    left, waiting = max_tokens, len(texts)
    shares = [0] * len(texts)
    for at in sorted(range(len(texts)), key=lambda at: need[at]):
        shares[at] = max(min(need[at], left // waiting), _LEAST_TOKENS)
        left = max(left - shares[at], 0)
        waiting -= 1
    return shares


def _estimate(text: str, most: int) -> int:
    """Estimated tokens of `text`, or `most + 1` if it is certainly longer than `most`."""
    longest = most * _MOST_CHARACTERS_PER_TOKEN
    return most + 1 if len(text) > longest else estimate_tokens(text)


def _longest_fitting(text: str, max_tokens: int) -> int:
    """The length of the longest prefix of `text` with at most `max_tokens` tokens."""
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        if estimate_tokens(text[:middle]) <= max_tokens:
            low = middle
        else:
            high = middle - 1
    return low


def _good_end(text: str, length: int) -> int:
    """The last end of a sentence before `length`, else of a word, unless that would drop more than 30 %."""
    for pattern in (_GOOD_END, _WORD_END):
        start = int(length * _WORTH_A_SENTENCE)
        ends = [match.end() for match in pattern.finditer(text, start, length) if start < match.end() <= length]
        if ends:
            return ends[-1]
    return length
