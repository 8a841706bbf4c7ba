"""Shortening of a query to the API's limit, at a word boundary in any language."""

from __future__ import annotations

import re
import unicodedata

__all__ = ["shorten_query"]

_PUNCTUATION = r"、。，．・！？：；」』）】"
_KANJI_OR_KATAKANA = r"\u30a1-\u30fa\u3400-\u9fff\uf900-\ufaff"
# Word boundaries: around a space, after punctuation, where a Japanese word follows hiragana (a particle, an ending),
# and between Japanese and Latin letters.
_BETWEEN_WORDS = re.compile(
    rf"(?=\s)|(?<=[{_PUNCTUATION}])(?![{_PUNCTUATION}])|(?<=[\u3041-\u3096])(?=[{_KANJI_OR_KATAKANA}A-Za-z0-9])"
    rf"|(?<=[{_KANJI_OR_KATAKANA}])(?=[A-Za-z0-9])|(?<=[A-Za-z0-9])(?=[\u3041-\u3096{_KANJI_OR_KATAKANA}])"
)
_JOINER = "\u200d"
_FLAG = range(0x1F1E6, 0x1F200)
_SKIN = range(0x1F3FB, 0x1F400)
_DAKUTEN = "ﾞﾟ"


def shorten_query(query: str, limit: int) -> str:
    """`query`, stripped and cut to as many whole words as fit into `limit` characters."""
    text = query.strip()
    if len(text) <= limit:
        return text
    ends = [match.start() for match in _BETWEEN_WORDS.finditer(text, limit // 2, limit + 1)]
    whole = [end for end in ends if end <= limit and not _joined(text, end)]
    return text[: whole[-1] if whole else _between_characters(text, limit)].rstrip()


def _between_characters(text: str, limit: int) -> int:
    """The last position up to `limit` that is not inside a grapheme cluster."""
    for end in range(limit, 0, -1):
        if not _joined(text, end):
            return end
    return limit


def _joined(text: str, end: int) -> bool:
    """Whether `text[end]` belongs to the character before it."""
    before, here = text[end - 1], text[end]
    if _JOINER in (before, here) or here in _DAKUTEN or unicodedata.category(here).startswith("M"):
        return True
    if ord(here) in _SKIN or ("\ud800" <= before <= "\udbff" and "\udc00" <= here <= "\udfff"):
        return True
    if ord(here) in _FLAG and ord(before) in _FLAG:  # two letters make a flag: an odd number before means inside one
        start = end
        while start and ord(text[start - 1]) in _FLAG:
            start -= 1
        return (end - start) % 2 == 1
    return "\u1160" <= here <= "\u11ff"  # a vowel or final of a Korean syllable in parts
