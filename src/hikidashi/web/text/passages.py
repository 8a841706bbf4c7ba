"""Applies `ExtractOptions`: the relevant passages of a page, and Markdown as plain text.

For providers that extract pages themselves; Tavily does this on its servers.
"""

from __future__ import annotations

import math
import re
from dataclasses import replace

from ..filters import ExtractOptions
from ..results import ExtractedPage
from .split import split
from .words import spelled, terms_of

__all__ = ["BETWEEN", "extracted_as", "plain_text", "relevant_passages"]

BETWEEN = " [...] "
"""Separator between passages, as in Tavily's responses."""

_DEFAULT_CHUNKS = 3
_SATURATION = 1.2  # k1 of BM25

_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,}).*\n?", re.MULTILINE)
_HEADING = re.compile(r"^ {0,3}#{1,6}[ \t]+|[ \t]+#+[ \t]*$", re.MULTILINE)
_UNDERLINE = re.compile(r"^ {0,3}(?:=+|-{3,}|\*{3,}|_{3,})[ \t]*$\n?", re.MULTILINE)
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
    text = _TABLE_RULE.sub("", _FENCE.sub("", markdown))
    text = _UNDERLINE.sub("", _HEADING.sub("", _QUOTE.sub("", text)))
    text = _TABLE_ROW.sub(lambda row: "\t".join(cell.strip() for cell in row[1].split("|")), text)
    text = _STRONG.sub(lambda mark: mark[2] or mark[4], _CODE.sub(r"\2", _LINK.sub(r"\1", text)))
    return _ESCAPE.sub(r"\1", text).strip()
