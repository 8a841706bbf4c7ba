"""Passages: documents split by headings and paragraphs, those that answer a query, snippets and plain text."""

from __future__ import annotations

import math
import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from ..tokens import estimate_tokens
from .request import ExtractOptions
from .results import ExtractedPage
from .words import Term, spelled, terms_of

Markup = Literal["markdown", "rst", "plain"]
"""The syntax of headings."""

_MAX_TOKENS = 400
# Shorter texts cannot exceed the limit, so their tokens need no counting.
_SURELY_FITS = _MAX_TOKENS // 2

_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})")
_ATX = re.compile(r"^ {0,3}(#{1,6})[ \t]+(.*?)[ \t]*#*[ \t]*$")
_ATTRIBUTES = re.compile(r"[ \t]*\{:?[ \t]*[#.][^{}]*\}$")  # `## Install { #install }`
_SETEXT = re.compile(r"^ {0,3}(=+|-{3,})[ \t]*$")
_UNDERLINE = re.compile(r"^([=\-`:'\"~^_*+#<>])\1{2,}[ \t]*$")
_BLANK_LINES = re.compile(r"\n[ \t]*\n\s*")
_SENTENCE_END = re.compile(r"(?<=[。！？])|(?<=[.!?])\s+|\n")
# Underscores are emphasis only at the ends of a word.
_MARKS = re.compile(r"[*`]+|!?\[([^\]]*)\]\([^)]*\)|(?<!\w)_{1,3}(?=\S)(.*?)(?<=\S)_{1,3}(?!\w)|\\(?=[_*`\[\]#])")
_CODE_SPAN = re.compile(r"`([^`]+)`")


@dataclass(frozen=True, slots=True)
class Passage:
    """A part of a document, and the headings above it."""

    heading: str
    """The path of headings, such as `Install › Linux`; empty before the first."""
    body: str
    """The exact text: the concatenation of all bodies is the document."""


@dataclass(frozen=True, slots=True)
class _TextSection:
    heading: str
    body: str
    is_bare: bool
    """Whether it consists of the heading only."""


def split(text: str, markup: Markup = "plain") -> list[Passage]:
    """The passages of `text`, in order and without loss, of at most about 400 tokens each.

    A heading without text belongs to the passage after it.
    """
    passages: list[Passage] = []
    bare, heading = "", ""
    for section in _sections(text, markup):
        if section.is_bare and len(bare) + len(section.body) <= _SURELY_FITS:
            bare, heading = bare + section.body, section.heading
        else:
            passages += [Passage(section.heading, body) for body in _pieces(bare + section.body) if body]
            bare = ""
    return [*passages, Passage(heading, bare)] if bare else passages


def title_of(text: str, markup: Markup) -> str:
    """The first heading of `text`, or for plain text its first line if that is short; else empty."""
    for _, _, heading in _headings(text.splitlines(keepends=True), markup):
        if heading:
            return heading
    first = next((line.strip() for line in text.splitlines() if line.strip()), "")
    return first if markup == "plain" and len(first) <= 120 else ""


def _sections(text: str, markup: Markup) -> Iterator[_TextSection]:
    lines = text.splitlines(keepends=True)
    trail: list[tuple[int, str]] = []
    start = 0
    for line, level, heading in _headings(lines, markup):
        if line > start:
            yield _section(trail, lines[start:line], markup)
        start = line
        trail = [(depth, words) for depth, words in trail if depth < level] + [(level, heading)]
    yield _section(trail, lines[start:], markup)


def _section(trail: list[tuple[int, str]], lines: list[str], markup: Markup) -> _TextSection:
    written = [line for line in lines if line.strip()]
    of_heading = 0
    if trail and written:
        of_heading = 1 if markup == "markdown" and _ATX.match(written[0].rstrip("\r\n")) else 2
        of_heading += markup == "rst" and bool(_UNDERLINE.match(written[0].rstrip("\r\n")))  # also an overline
    path = " › ".join(words for _, words in trail if words)
    return _TextSection(path, "".join(lines), is_bare=bool(trail) and len(written) <= of_heading)


def _headings(lines: list[str], markup: Markup) -> Iterator[tuple[int, int, str]]:
    """Line number, level and text of each heading."""
    if markup == "markdown":
        return _markdown_headings(lines)
    return _rst_headings(lines) if markup == "rst" else iter(())


def _markdown_headings(lines: list[str]) -> Iterator[tuple[int, int, str]]:
    fence = ""
    for number, line in enumerate(lines):
        if mark := _FENCE.match(line):
            if not fence:
                fence = mark[1]
            elif mark[1].startswith(fence) and not line.strip(" \r\n`~"):
                fence = ""
        elif fence:
            continue
        elif heading := _ATX.match(line.rstrip("\r\n")):
            yield number, len(heading[1]), _plain(_ATTRIBUTES.sub("", heading[2]))
        elif number and (under := _SETEXT.match(line.rstrip("\r\n"))):
            above = lines[number - 1].strip()
            alone = number < 2 or not lines[number - 2].strip()
            if above and alone and not above.startswith(("#", "-", "*", ">", "|", "`")):
                yield number - 1, 1 if under[1].startswith("=") else 2, _plain(above)


def _rst_headings(lines: list[str]) -> Iterator[tuple[int, int, str]]:
    levels: dict[str, int] = {}
    for number in range(1, len(lines)):
        under = _UNDERLINE.match(lines[number].rstrip("\r\n"))
        words = lines[number - 1].rstrip()
        if not under or not words or words[0].isspace() or _UNDERLINE.match(words):
            continue
        over = number >= 2 and lines[number - 2].rstrip() == lines[number].rstrip()
        if over or number < 2 or not lines[number - 2].strip():
            style = under[1] + ("over" if over else "")
            yield number - (2 if over else 1), levels.setdefault(style, len(levels) + 1), words.strip()


def _plain(heading: str) -> str:
    code = _CODE_SPAN.split(heading)  # odd items are code spans, which stay as they are
    return "".join(
        piece if at % 2 else _MARKS.sub(lambda mark: mark[1] or mark[2] or "", piece) for at, piece in enumerate(code)
    ).strip()


def _pieces(section: str) -> Iterator[str]:
    """The paragraphs of `section`, merged up to the size of a passage."""
    held, tokens = "", 0
    for paragraph in _cut_after(_BLANK_LINES, section):
        for part in _fitting(paragraph):
            cost = _cost(part)
            if held and tokens + cost > _MAX_TOKENS:
                yield held
                held, tokens = "", 0
            held += part
            tokens += cost
    yield held


def _fitting(paragraph: str) -> Iterator[str]:
    """`paragraph`, split after sentences, else anywhere, if it is too long for a passage."""
    if len(paragraph) <= _SURELY_FITS or _cost(paragraph) <= _MAX_TOKENS:
        yield paragraph
        return
    for sentence in _cut_after(_SENTENCE_END, paragraph):
        if len(sentence) <= _SURELY_FITS or _cost(sentence) <= _MAX_TOKENS:
            yield sentence
        else:
            yield from _hard_cut(sentence)


def _hard_cut(text: str) -> Iterator[str]:
    start = 0
    while start < len(text):
        end = start + _MAX_TOKENS
        if end < len(text) and (space := text.rfind(" ", start + _MAX_TOKENS // 2, end)) > 0:
            end = space + 1
        yield text[start:end]
        start = end


def _cost(text: str) -> int:
    """Estimated tokens of `text`, with a minimum for encoded data, which the estimate undercounts."""
    return max(estimate_tokens(text), len(text) // 8)


def _cut_after(pattern: re.Pattern[str], text: str) -> Iterator[str]:
    start = 0
    for match in pattern.finditer(text):
        yield text[start : match.end()]
        start = match.end()
    if start < len(text):
        yield text[start:]


BETWEEN = " [...] "
"""Separator between passages, as in Tavily's responses."""

_DEFAULT_CHUNKS = 3
_SATURATION = 1.2  # k1 of BM25

_FENCE_LINE = re.compile(r"^ {0,3}(`{3,}|~{3,}).*\n?", re.MULTILINE)
_HEADING = re.compile(r"^ {0,3}#{1,6}[ \t]+|[ \t]+#+[ \t]*$", re.MULTILINE)
_RULE_LINE = re.compile(r"^ {0,3}(?:=+|-{3,}|\*{3,}|_{3,})[ \t]*$\n?", re.MULTILINE)
_QUOTE = re.compile(r"^(?: {0,3}>[ \t]?)+", re.MULTILINE)
_TABLE_RULE = re.compile(r"^[ \t]*\|?(?:[ \t]*:?-+:?[ \t]*\|)+[ \t]*:?-*:?[ \t]*$\n?", re.MULTILINE)
_TABLE_ROW = re.compile(r"^[ \t]*\|(.*?)\|?[ \t]*$", re.MULTILINE)
_LINK = re.compile(r"!?\[([^\[\]\n]*)\]\([^()\s]*(?:\([^()\s]*\)[^()\s]*)*(?:[ \t]+\"[^\"\n]*\")?\)")
_CODE = re.compile(r"(?<!`)(`{1,2})(?!`)([^`\n]+)\1(?!`)")
_STRONG = re.compile(r"(\*{1,3})(?=\S)([^*\n]+?)(?<=\S)\1|(?<!\w)(_{1,3})(?=\S)([^_\n]+?)(?<=\S)\3(?!\w)")
_ESCAPE = re.compile(r"\\([\\`*_{}\[\]()#+\-.!|>~])")


def extracted_as(page: ExtractedPage, options: ExtractOptions) -> ExtractedPage:
    """`page` reduced to the passages and in the format that `options` ask for."""
    chunks = [page.raw_content]
    if options.query:
        limit = options.chunks_per_source or _DEFAULT_CHUNKS
        chunks = relevant_passages(page.raw_content, options.query, limit=limit)
    if options.format == "text":
        chunks = [plain_text(chunk) for chunk in chunks]
    return replace(page, raw_content=BETWEEN.join(chunks))


def relevant_passages(text: str, query: str, *, limit: int) -> list[str]:
    """The `limit` most relevant passages of `text` for `query`, in the order of the text.

    If no passage has a word of the query, the first ones.
    """
    passages = [passage for passage in split(text, "markdown") if passage.body.strip()]
    patterns = [spelled(term) for term in terms_of(query)]
    counts = [[len(pattern.findall(passage.body)) for pattern in patterns] for passage in passages]
    having = [sum(1 for row in counts if row[column]) for column in range(len(patterns))]
    idf = [math.log(1 + (len(passages) - number + 0.5) / (number + 0.5)) for number in having]

    def score(row: list[int]) -> float:
        return sum(weight * count / (count + _SATURATION) for weight, count in zip(idf, row, strict=True))

    best = sorted(range(len(passages)), key=lambda at: (-score(counts[at]), at))
    matching = [at for at in best if any(counts[at])] or best
    return [passages[at].body.strip() for at in sorted(matching[:limit])]


def plain_text(markdown: str) -> str:
    """`markdown` without markup; links become their text, table rows tab-separated cells."""
    text = _TABLE_RULE.sub("", _FENCE_LINE.sub("", markdown))
    text = _RULE_LINE.sub("", _HEADING.sub("", _QUOTE.sub("", text)))
    text = _TABLE_ROW.sub(lambda row: "\t".join(cell.strip() for cell in row[1].split("|")), text)
    text = _STRONG.sub(lambda mark: mark[2] or mark[4], _CODE.sub(r"\2", _LINK.sub(r"\1", text)))
    return _ESCAPE.sub(r"\1", text).strip()


_LENGTH = 300
_SPACES = re.compile(r"\s+")
_SENTENCE_STOP = re.compile(r"[。！？]|[.!?](?=\s|$)")
# Headings, heading underlines and code fences, which are not part of sentences.
_MARKUP = re.compile(r"^ {0,3}#{1,6}[ \t].*$|^[ \t]*([=\-~^`:'\"*+#])\1{2,}[ \t]*\w*$", re.MULTILINE)


def snippet(text: str, terms: Sequence[Term], *, length: int = _LENGTH) -> str:
    """About `length` characters of `text` with the most distinct `terms`, on one line."""
    flat = _flat(text)
    if len(flat) <= length:
        return flat
    start = _best_start(flat, terms, length)
    start, end = _whole_words(flat, start, min(len(flat), start + length))
    return ("… " if start else "") + flat[start:end].strip() + (" …" if end < len(flat) else "")


def best_sentence(text: str, terms: Sequence[Term]) -> str | None:
    """The first sentence of `text` with the most distinct `terms`; None if none has any."""
    patterns = [spelled(term) for term in terms]
    flat = _flat(_MARKUP.sub(" ", text))
    best, most, start = None, 0, 0
    for end in [*(match.end() for match in _SENTENCE_STOP.finditer(flat)), len(flat)]:
        inside = sum(1 for pattern in patterns if pattern.search(flat, start, end))
        if inside > most:
            best, most = flat[start:end].strip(), inside
        start = end
    return best


def _flat(text: str) -> str:
    return _SPACES.sub(" ", text).strip()


def _best_start(text: str, terms: Sequence[Term], length: int) -> int:
    """The start of the first window of `length` characters with the most distinct `terms`."""
    found = sorted(
        (match.start(), number) for number, term in enumerate(terms) for match in spelled(term).finditer(text)
    )
    starts = [start for start, _ in found]
    best, most = 0, 0
    for at, start in enumerate(starts):
        inside = len({number for _, number in found[at : bisect_left(starts, start + length)]})
        if inside > most:
            best, most = start, inside
    lead = length // 5  # some context before the match
    return max(0, min(best - lead, len(text) - length))


def _whole_words(text: str, start: int, end: int) -> tuple[int, int]:
    if start and (space := text.find(" ", start, start + 20)) >= 0:
        start = space + 1
    if end < len(text) and (space := text.rfind(" ", end - 20, end)) > start:
        end = space
    return start, end
