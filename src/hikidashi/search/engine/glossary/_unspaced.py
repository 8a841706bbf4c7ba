"""Glossary words in text without spaces between words (Chinese, Japanese, Korean), and of users' own glossaries."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ._lexicon import Found, Lexicon

__all__ = ["scan"]

_KATAKANA = re.compile("[\u30a0-\u30ff]")
_HANGUL = re.compile("[\uac00-\ud7a3]")
_SPACED = re.compile("[^\\W\u0e00-\U0010ffff]")  # letters of scripts with spaces between words: Latin, Greek, Arabic, …
_PARTICLES = """
    은 는 이 가 을 를 에 의 도 와 과 로 으로 에서 에게 한테 께 만 까지 부터 이나 나 랑 이랑 하고 처럼 보다 마다
    들 들을 들이 들은 에는 에서는 에도 으로는 로는 이라는 라는 이야 야 입니다 이에요 예요 에게서
"""
_KO_PARTICLES = frozenset(_PARTICLES.split())


def scan(text: str, lexicons: Sequence[Lexicon], stop_words: Sequence[Lexicon] = ()) -> Iterator[Found]:
    """The words of `lexicons` in folded `text` from left to right; stop words have no meanings.

    Longest match wins. A katakana word starts where a run of katakana does, or
    after another word: ライン is no part of オンライン. The same holds for Korean. In scripts with spaces only
    whole words match: art is no part of start.
    """
    at = 0
    free = 0
    while at < len(text):
        size, english = _longest(text, at, lexicons, at == free)
        stopped = max((_longest_stop_word(text, at, words, at == free) for words in stop_words), default=0)
        if stopped > size:
            size, english = stopped, ()
        if size:
            yield Found(text[at : at + size], english)
            at = free = at + size
        else:
            at += 1


def _longest_stop_word(text: str, at: int, words: Lexicon, free: bool) -> int:
    """The length of the longest stop word at `at`. In Korean it ends a word, or is one: not 할 in 할머니."""
    for size in words.lengths.get(text[at], ()):
        if text[at : at + size] in words.meanings:
            follows = _joined(text, at, _HANGUL)
            ends = not _joined(text, at + size, _HANGUL)
            if ends or (free if follows else size > 1):
                return size
    return 0


def _longest(text: str, at: int, lexicons: Sequence[Lexicon], free: bool) -> tuple[int, tuple[str, ...]]:
    """The length and the meanings of the longest word at `at`."""
    best = 0
    english: tuple[str, ...] = ()
    for lexicon in lexicons:
        for size in lexicon.lengths.get(text[at], ()):
            if size < best:
                break
            found = lexicon.meaning_at(text, at, size)
            if found and _may_stand(text, at, size, free, lexicon.language):
                english = found if size > best else tuple(dict.fromkeys(english + found))
                best = size
                break
    return best, english


def _may_stand(text: str, at: int, size: int, free: bool, language: str) -> bool:
    if not free and _joined(text, at, _KATAKANA):
        return False
    if language == "ko":
        if not free and _joined(text, at, _HANGUL):
            return False
        if size == 1 and _joined(text, at + 1, _HANGUL):
            end = at + 1
            while end < len(text) and _HANGUL.match(text, end):
                end += 1
            return text[at + 1 : end] in _KO_PARTICLES
    return not _joined(text, at, _SPACED) and not _joined(text, at + size, _SPACED)


def _joined(text: str, at: int, letters: re.Pattern[str]) -> bool:
    """Whether there are such letters on both sides of `at`."""
    return at > 0 and letters.match(text, at - 1) is not None and letters.match(text, at) is not None
