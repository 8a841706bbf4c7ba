"""Results as text for a model: the formats of spec 000, fences around text from the web, limits in tokens, contexts.

Pure functions. Titles, addresses, reasons and queries are kept on one line; the text of a page is unchanged.
"""

from __future__ import annotations

import re
import secrets
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from ..common.unicode import well_formed
from ..errors import ErrorType, TavilyAPIError
from ..texts import Language, in_language, texts
from ..tokens import estimate_tokens
from .messages import message
from .pages.address import readable_url
from .results import ExtractResults, FailedPage, SearchContext, SearchHit, SearchResults


def format_search(results: SearchResults, *, language: Language = "ja") -> str:
    """The hits as a numbered list (section 2.4), or a sentence that there are none."""
    words = texts("web", language)
    hits = [_hit(number, hit, words) for number, hit in enumerate(results.results, start=1)]
    heading = f"## {words['format.search']}: {_line(results.query)}"
    return "\n\n".join([heading, *(hits or [words["format.nothing_found"]])])


def format_extract(results: ExtractResults, *, language: Language = "ja") -> str:
    """The text of each page, then the URLs that failed with their reasons (section 3.4)."""
    words = texts("web", language)
    parts = [f"### URL: {_line(page.url)}\n{well_formed(page.raw_content)}" for page in results.results]
    failed = [_failures(results.failed_results, language)] if results.failed_results else []
    if not parts:
        return "\n\n".join([f"## {words['format.extract']}", words["format.nothing_extracted"], *failed])
    # A `---` follows each page except the last part of the answer.
    return f"## {words['format.extract']}\n\n" + "\n\n---\n\n".join([*parts, *failed])


def format_context(context: SearchContext, *, language: Language = "ja") -> str:
    """The passages under a heading (section 4.4), or a sentence that there are none."""
    words = texts("web", language)
    passages = well_formed(context.text) or words["format.nothing_found"]
    return f"## {words['format.context']}: {_line(context.query)}\n\n{passages}"


def format_results(results: SearchResults | ExtractResults | SearchContext, *, language: Language = "ja") -> str:
    """`results` in the format of their kind."""
    if isinstance(results, SearchResults):
        return format_search(results, language=language)
    if isinstance(results, ExtractResults):
        return format_extract(results, language=language)
    return format_context(results, language=language)


def format_error(error: TavilyAPIError, *, language: Language = "ja") -> str:
    """The error message and its type (section 5.3)."""
    words = texts("web", language)
    message = _line(in_language(error.message, language))
    return f"{words['format.error']}: {message}\n{words['format.error_type']}: {ErrorType(error.error_type).value}"


def _hit(number: int, hit: SearchHit, words: Mapping[str, str]) -> str:
    head = f"### {number}. {_line(hit.title)}\nURL: {_line(hit.url)}\n{words['format.score']}: {hit.score:.2f}"
    return f"{head}\n{well_formed(hit.content)}"


def _failures(failed: tuple[FailedPage, ...], language: Language) -> str:
    reasons = (f"- {_line(page.url)}: {_line(in_language(page.error, language))}" for page in failed)
    return "\n".join([f"## {texts('web', language)['format.failed']}", *reasons])


def _line(text: str) -> str:
    """`text` on one line, so that a title cannot imitate the next result."""
    lines = text.splitlines()
    if len(lines) <= 1 and text == "".join(lines):
        return well_formed(text)
    return well_formed(" ".join(filter(None, (line.strip() for line in lines))))


Untrusted = Literal["fence"] | None
"""What to do with text from the web: `"fence"` marks it as data, `None` leaves it as it is."""

_TAG = "web-data"
_FENCED = re.compile(rf"^<({_TAG}-[0-9a-f]{{16}})>\n(.*)\n</\1>$", re.DOTALL | re.MULTILINE)
# Any such tag, with any number, in any spelling that a model might take for one.
_LOOKALIKE = re.compile(r"[<＜](?=[\s/／\\]{0,8}web[-_‐‑–—－\s]?data)", re.IGNORECASE)


def fence(text: str, *, language: Language = "ja") -> str:
    """`text` between two tags it cannot contain, after one line that marks it as data for the model."""
    tag = f"{_TAG}-{secrets.token_hex(8)}"
    notice = texts("web", language)["fence.notice"].format(tag=tag)
    return f"{notice}\n<{tag}>\n{_LOOKALIKE.sub('&lt;', text)}\n</{tag}>"


def unfenced(text: str) -> str:
    """The text between the tags, for display to a person; `text` unchanged if it has none."""
    found = _FENCED.search(text)
    return found[2] if found else text


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
class TextPart:
    """A part of a text, and the offset of the next one."""

    text: str
    next: int | None
    """None for the last part."""


def part_of(text: str, *, offset: int = 0, max_tokens: int) -> TextPart:
    """The part of `text` from `offset` on, at most about `max_tokens` tokens, cut after a sentence or a word."""
    ahead = text[offset : offset + max_tokens * _MOST_CHARACTERS_PER_TOKEN]
    fits_whole = len(ahead) <= max_tokens // 2 or estimate_tokens(ahead) <= max_tokens
    if fits_whole and offset + len(ahead) >= len(text):
        return TextPart(ahead, None)
    longest = len(ahead)
    if not fits_whole:
        longest = bisect_right(range(1, longest + 1), max_tokens, key=lambda end: estimate_tokens(ahead[:end]))
    end = _good_end(ahead, max(longest, 1))
    return TextPart(ahead[:end], offset + end)


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
    # Our own reasons are short, so `short_line` returns them unchanged, with their translations.
    failed = tuple(
        replace(page, url=short_line(page.url, LONGEST_URL), error=short_line(page.error, LONGEST_ERROR))
        for page in results.failed_results[:_MOST_FAILURES]
    )
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


def _good_end(text: str, length: int) -> int:
    """The last end of a sentence before `length`, else of a word, unless that would drop more than 30 %."""
    for pattern in (_GOOD_END, _WORD_END):
        start = int(length * _WORTH_A_SENTENCE)
        ends = [match.end() for match in pattern.finditer(text, start, length) if start < match.end() <= length]
        if ends:
            return ends[-1]
    return length


DEFAULT_MAX_TOKENS = 4_000
"""Default token budget of a context."""

_MOST_LETTERS_PER_TOKEN = 16
_BETWEEN = "\n\n"
_CUT = " …"
# Scripts without spaces between words: a text may be cut after any character.
_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U000323af"
_WORD_END_IN_CONTEXT = re.compile(rf"(?<=\S)(?=\s)|(?<=[{_UNSPACED}])(?=[{_UNSPACED}])|(?<=[、。，．！？])(?=\S)|\Z")
_SENTENCE_END = re.compile(r"[。！？][」』）]*|[.!?][\"')\]]*(?=\s)|\n(?=\s*\n)")
# Cut after a sentence if that keeps this share of what fits, else after a word.
_WORTH_A_SENTENCE_IN_CONTEXT = 0.6


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
    most = limit * _MOST_LETTERS_PER_TOKEN
    for hit in _distinct([_no_longer_than(hit, most) for hit in sorted(hits, key=lambda hit: -hit.score)]):
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


def _no_longer_than(hit: SearchHit, most: int) -> SearchHit:
    """`hit` with no more text than could fit, so that megabytes are not processed."""
    content = hit.content.strip()
    return hit if len(content) <= most else replace(hit, content=content[:most].rstrip() + _CUT)


def _cost(text: str) -> int:
    """About how many tokens `text` has; one word of a thousand letters is not one token."""
    return max(estimate_tokens(text), len(text) // _MOST_LETTERS_PER_TOKEN)


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
    title = " ".join(short_line(hit.title, LONGEST_TITLE).split())
    address = readable_url(short_line(hit.url, LONGEST_URL))
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
    ends = [match.start() for match in _WORD_END_IN_CONTEXT.finditer(content)]
    fitting = bisect_right(ends, limit, key=lambda end: _cost(head + _cut_at(content, end)))
    if not fitting:
        return ""
    end = ends[fitting - 1]
    if end == len(content):
        return content
    sentences = [match.end() for match in _SENTENCE_END.finditer(content, 0, end + 1) if match.end() <= end]
    if sentences and sentences[-1] >= end * _WORTH_A_SENTENCE_IN_CONTEXT:
        return content[: sentences[-1]].rstrip()
    return _cut_at(content, end)


def _first_letters(content: str, limit: int) -> str:
    """The beginning of a word that is longer than `limit`."""
    ends = range(1, len(content) + 1)
    return content[: bisect_right(ends, limit, key=lambda end: _cost(content[:end]))].rstrip()


def _cut_at(content: str, end: int) -> str:
    return content if end == len(content) else content[:end].rstrip() + _CUT


def short_line(text: str, longest: int) -> str:
    """`text` unchanged if it has at most `longest` characters; else its beginning on one line, with an ellipsis."""
    if len(text) <= longest:
        return text
    # Only as much as needed: a text of megabytes is not split into words.
    return " ".join(text[: longest * 4].split())[: longest - 1].rstrip() + "…"
