"""Texts to the numbers of their pieces: SentencePiece's unigram model, without its library.

Of all ways to cut a word into pieces of the vocabulary, the likeliest is taken (Viterbi). A word carries the space
before it as `▁`, and no piece goes beyond a word, so words are cut one by one, and remembered.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache

__all__ = ["Tokenizer"]

_UNKNOWN, _START, _END = 0, 1, 2
_WORDS_REMEMBERED = 20_000
_UNKNOWN_COSTS = 10.0  # less likely than the least likely piece, as in SentencePiece
_CONTROL = re.compile("[\x00-\x08\x0b\x0e-\x1f\x7f-\x84\x86-\x9f\xad]")
_SPACE = re.compile("[\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]")


class Tokenizer:
    """Cuts texts into pieces.

    Args:
        pieces: The vocabulary, in the order of the numbers; the first three are unknown, start and end.
        scores: The logarithm of how likely each piece is.
    """

    def __init__(self, pieces: Sequence[str], scores: Sequence[float]) -> None:
        self._numbers = {piece: number for number, piece in enumerate(pieces) if number > _END}
        self._scores = list(scores)
        self._longest = max(map(len, self._numbers))
        self._unknown = min(self._scores[_END + 1 :]) - _UNKNOWN_COSTS
        self._of_word = lru_cache(_WORDS_REMEMBERED)(self._cut)

    def encode(self, text: str, most: int) -> list[int]:
        """The numbers of the first `most` pieces of a text, between those of start and end."""
        found: list[int] = [_START]
        for word in _normalized(text).split():
            for number in self._of_word("▁" + word):
                if number != _UNKNOWN or found[-1] != _UNKNOWN:  # unknown characters in a row are one piece
                    found.append(number)
            if len(found) > most:
                break
        return [*found[: most + 1], _END]

    def has(self, word: str) -> bool:
        """Whether a word is one piece."""
        return "▁" + word in self._numbers

    def _cut(self, word: str) -> tuple[int, ...]:
        numbers, scores, longest = self._numbers, self._scores, self._longest
        size = len(word)
        best = [0.0] + [float("-inf")] * size  # of the cuts that end here
        start, piece = [0] * (size + 1), [_UNKNOWN] * (size + 1)  # of the last piece of the best cut
        for place in range(size):
            here = best[place]
            if here + self._unknown > best[place + 1]:
                best[place + 1], start[place + 1], piece[place + 1] = here + self._unknown, place, _UNKNOWN
            for end in range(place + 1, min(size, place + longest) + 1):
                number = numbers.get(word[place:end])
                if number is not None and here + scores[number] > best[end]:
                    best[end], start[end], piece[end] = here + scores[number], place, number
        cut: list[int] = []
        end = size
        while end:
            cut.append(piece[end])
            end = start[end]
        return tuple(reversed(cut))


def _normalized(text: str) -> str:
    return unicodedata.normalize("NFKC", _SPACE.sub(" ", _CONTROL.sub("", text)))
