"""`Tokens`: which of many tokens have a term, without analyzing them all.

A token is what stands between two spaces. Its pieces (`get`, `User` in `getUser`) are looked up by their first letters;
only those that may have the stem that is asked for are stemmed.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from ..text.analyzer import ASCII_PIECE, Analyzer, fold
from ..text.stem import IRREGULAR, stem

__all__ = ["Tokens", "add_places", "beginning"]

_PREFIX = 3  # letters by which pieces are looked up
_SHORT = 2  # letters: pieces as short as this may belong together, as in `mp3` and `iOS`
_PIECE_OR_END = re.compile(rf"{ASCII_PIECE.pattern}|\n")
_SPACED = "".join(letter if letter.isalnum() or letter == "\n" else " " for letter in map(chr, range(128)))
_NO_DIACRITICS = "\u0900"  # from here on, scripts have none that people leave out

_FORMS: defaultdict[str, list[str]] = defaultdict(list)
for _form, _stem in IRREGULAR.items():
    _FORMS[_stem].append(_form)


class Tokens:
    """Distinct tokens, by place.

    Args:
        tokens: The tokens.
        analyzer: Turns them into terms.
    """

    def __init__(self, tokens: Sequence[str], analyzer: Analyzer) -> None:
        self._tokens = tokens
        self._analyzer = analyzer
        plain = [place for place, token in enumerate(tokens) if token.isascii()]
        others = [place for place, token in enumerate(tokens) if not token.isascii()]
        written = list(tokens)
        for place in others:
            if max(tokens[place]) < _NO_DIACRITICS:
                plain.append(place)
                written[place] = fold(tokens[place])
        self._others = _Joined("\n".join([tokens[place] for place in others]).lower(), others)
        self._words = _Joined(_words("\n".join([written[place] for place in plain])), plain)
        self._places: dict[str, int | list[int]] = {}
        """By piece, the tokens that have it."""
        place = 0
        pieces: list[str] = []
        for piece in _PIECE_OR_END.findall("\n".join(written)):
            if piece == "\n":
                add_places(self._places, pieces, place)
                pieces.clear()
                place += 1
            else:
                pieces.append(piece)
        add_places(self._places, pieces, place)
        self._pieces: defaultdict[str, list[str]] = defaultdict(list)
        """The pieces by their first letters."""
        for piece in self._places:
            self._pieces[piece[:_PREFIX].lower()].append(piece)

    def with_term(self, term: str) -> Iterator[int]:
        """The tokens that have `term`."""
        if not term.isascii():
            for place in self._others.having(term):
                if len(term) > 1 or self._has(place, term):
                    yield place
            return
        found: set[int] = set()
        is_sure = len(term) > _SHORT and not term.isdigit()
        for form in (beginning(term), *_FORMS.get(term, ())):
            for piece in self._pieces.get(form[:_PREFIX], ()):
                lower = piece.lower()
                if lower.startswith(form) and stem(lower) == term:
                    places = self._places[piece]
                    for place in (places,) if isinstance(places, int) else places:
                        if place not in found and (is_sure or self._has(place, term)):
                            found.add(place)
                            yield place
        # `github` is also a term of `GitHub`, and `cafe` of `café`.
        for place in self._words.having(f" {term} "):
            if place not in found and self._has(place, term):
                yield place

    def stems(self, first: str) -> Iterable[str]:
        """The stems of the pieces that begin with a letter."""
        pieces = [piece.lower() for prefix, some in self._pieces.items() if prefix[0] == first for piece in some]
        return dict.fromkeys(map(stem, pieces))

    def _has(self, place: int, term: str) -> bool:
        return term in self._analyzer.terms(self._tokens[place])


class _Joined:
    """Lines of text that are searched together, and the place that each stands for."""

    def __init__(self, text: str, places: Sequence[int]) -> None:
        self._text = text
        self._starts = array("L", [0])
        self._starts.extend([found.end() for found in re.finditer("\n", text)])
        self._places = places

    def having(self, part: str) -> Iterator[int]:
        """The places of the lines that have `part`."""
        text, starts = self._text, self._starts
        at = text.find(part)
        while at >= 0:
            row = bisect_right(starts, at) - 1
            yield self._places[row]
            at = text.find(part, starts[row + 1]) if row + 1 < len(starts) else -1


def _words(lines: str) -> str:
    """Lines in lower case, with names as one word, and a space before and after each word."""
    for separator in "-_.":
        lines = lines.replace(separator, "")
    return lines.lower().translate(_SPACED).replace("\n", " \n ").join("  ")


def add_places(places: dict[str, int | list[int]], texts: Iterable[str], place: int) -> None:
    """Add a place to those of each text.

    A lone place is kept without a list: tens of thousands of lists would cause a run of the garbage collector, which
    takes as long as all the rest.
    """
    for text in texts:
        known = places.get(text)
        if known is None:
            places[text] = place
        elif isinstance(known, int):
            places[text] = [known, place]
        else:
            known.append(place)


def beginning(term: str) -> str:
    """What all words with a stem begin with, but for irregular ones."""
    return term[:-1] if term.isascii() and len(term) > _PREFIX else term
