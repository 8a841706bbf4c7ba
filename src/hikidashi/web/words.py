"""Tokenization for SQLite FTS5: texts as they are indexed, and queries as FTS5 expressions.

Japanese, Chinese, Korean and Thai are split into overlapping bigrams, katakana into trigrams, because `unicode61` takes
a whole clause for one word, and `trigram` finds no words of two letters.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

from ..common.unicode import well_formed

# Combining marks count as letters, or Thai and Hindi words would be split at every vowel sign.
TOKENIZER = "porter unicode61 remove_diacritics 2 categories 'L* N* Co Mn Mc'"
"""The FTS5 tokenizer for the output of `indexed`."""

HAN = "\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U000323af"
_HIRAGANA = "\u3041-\u3096\u309d\u309e"
KATAKANA = "\u30a1-\u30fa\u30fc-\u30fe"
_HANGUL = "\uac00-\ud7a3"
_THAI = "\u0e01-\u0e3a\u0e40-\u0e4e\u0e80-\u0eff\u1000-\u109f\u1780-\u17d3"
# Combining marks of Latin, Hebrew, Arabic and Indic scripts.
_MARKS = "\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u0900-\u0dff"
_UNSPACED_RUN = re.compile(rf"[{HAN}{_HIRAGANA}{KATAKANA}]+|[{_HANGUL}]+|[{_THAI}]+")
# One gram per letter; trigrams for katakana, because bigrams such as ーク or ント are in half of all texts.
_GRAMS = re.compile(rf"(?=([{KATAKANA}]{{3}}|..?))")
_KATAKANA_RUN = re.compile(rf"[{KATAKANA}]+")
_INNER_CAPITAL = re.compile(r"\b[A-Za-z]*[a-z][A-Z][A-Za-z]*\b")
_PARTS_OF_NAME = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")

# Kana inside a word such as 引き出し or 取り扱い, without those that are also particles (の, を, は …).
_OKURIGANA = "いえきくけげしじせちっつびべまみむめりるれ"
_PIECE = re.compile(
    rf"(?P<han>[{HAN}]+(?:[{_OKURIGANA}][{HAN}]+)*)|(?P<kata>[{KATAKANA}]+)|(?P<hira>[{_HIRAGANA}]+)"
    rf"|(?P<hangul>[{_HANGUL}]+)|(?P<thai>[{_THAI}]+)|(?P<word>(?:[^\W_{HAN}{_HIRAGANA}{KATAKANA}{_HANGUL}{_THAI}]|[{_MARKS}])+)"
)

_ENGLISH = (
    "a about am an and any are as at be been between but by can could did do does for from get had has have he her "
    "his how i if in into is it its me my of on or our she should so than that the their them then there these they "
    "this those to us use was we were what when where which who whom whose why will with would you your"
)
_QUESTION_WORDS = frozenset([*_ENGLISH.split(), "方法", "仕方", "教", "知", "何", "誰", "時"])
# Japanese function words: stripped from both ends of a run of hiragana, longest first.
_JAPANESE = (
    "です ます ました ません でした から まで より など について における とは する した "
    "して している される された しない できる できない できます ください ある ない なる "
    "なった なくなった いる いて いた ても たい たく ながら という といった ような ように "
    "ために ための どう どの どこ どれ なに なん なぜ いつ だれ ですか ますか でしょうか "
    "ましょう たら なら これ それ この その ここ とき こと もの ほう られ れる せる させ "
    "える"
)
_GRAMMAR = sorted(_JAPANESE.split(), key=len, reverse=True)
_PARTICLES = tuple("のをにはがでともへやかなたてねよだばさいうえきくけげしじせちっつびべまみむめりるれろわら")
_WAY_OF_DOING = re.compile(rf"(?<=[{HAN}])[{_OKURIGANA}]方$")  # 直し方 is about 直す
_ENDING = re.compile(r"(?:ies|ing|ed|es|s|e|y|ly)$")
_KOREAN_PARTICLES = re.compile(r"(?<=..)(?:에서|으로|에게|부터|까지|은|는|이|가|을|를|의|에|로|와|과|도|만)$")


@dataclass(frozen=True, slots=True)
class Term:
    """One term of a query, as an FTS5 expression and as letters to find in a text."""

    expression: str
    letters: str
    is_run: bool = False
    """Whether it is from a script without spaces, where a run of letters may be several words."""


def indexed(text: str) -> str:
    """`text` for the FTS5 index: with n-grams for scripts without spaces, and the parts of camelCase names."""
    text = _INNER_CAPITAL.sub(lambda name: f"{name[0]} {' '.join(_PARTS_OF_NAME.findall(name[0]))}", _folded(text))
    return text if text.isascii() else _UNSPACED_RUN.sub(lambda run: f" {' '.join(_GRAMS.findall(run[0]))} ", text)


def terms_of(question: str) -> list[Term]:
    """The content terms of `question`, without duplicates; FTS5 syntax in it has no effect."""
    terms = list({term.expression: term for term in _terms(_folded(question))}.values())
    # A query of stop words only is searched as it is, such as `about` for a page of that name.
    return [term for term in terms if term.letters.lower() not in _QUESTION_WORDS] or terms[:1]


def run_term(letters: str) -> Term:
    """A run of letters without spaces as a phrase of its n-grams."""
    size = 3 if _KATAKANA_RUN.fullmatch(letters) else 2
    if len(letters) < size:
        return Term(
            f'"{letters}" *', letters, is_run=True
        )  # a gram starts at every letter, so a prefix query finds all
    grams = " ".join(letters[at : at + size] for at in range(len(letters) - size + 1))
    return Term(f'"{grams}"', letters, is_run=True)


def beginning(term: Term) -> str:
    """The common prefix of the forms of `term`, in lower case: `creat` for `created`."""
    letters = term.letters.lower()
    return _ENDING.sub("", letters) if len(letters) > 4 and letters.isascii() else letters


def spelled(term: Term) -> re.Pattern[str]:
    """A pattern that finds `term` in a text, with other endings too."""
    letters = re.escape(beginning(term))
    return re.compile(letters if term.is_run else rf"(?<![^\W_]){letters}\w*", re.IGNORECASE)


def _terms(question: str) -> Iterator[Term]:
    for piece in _PIECE.finditer(question):
        letters = piece.group()
        match piece.lastgroup:
            case "word":
                yield Term(f'"{letters}"', letters)
            case "hira":
                letters = _without_grammar(letters)
                if len(letters) >= 2:
                    yield run_term(letters)
            case "hangul":
                yield run_term(_KOREAN_PARTICLES.sub("", letters))
            case _:
                yield run_term(_WAY_OF_DOING.sub("", letters))


def _without_grammar(letters: str) -> str:
    """A run of hiragana without function words and at most one particle of one letter."""
    stripped = _stripped(letters)
    return _stripped(stripped[:-1]) if stripped.endswith(_PARTICLES) else stripped


def _stripped(letters: str) -> str:
    before = ""
    while letters != before:
        before = letters
        for piece in _GRAMMAR:
            letters = letters.removesuffix(piece).removeprefix(piece)
    return letters


def _folded(text: str) -> str:
    """`text` in NFKC, without NUL, at which FTS5 would stop reading."""
    text = text.replace("\0", " ")
    return text if text.isascii() else unicodedata.normalize("NFKC", well_formed(text))
