"""Glossaries: words in other languages, and the English that tools are described in.

`glossaries/` has one file per language, `<language>.tsv`: a word, a tab, English words for it (alternatives divided by
`|`); `#` starts a comment. `en.tsv` has synonyms for everyday English: ticket, deck, get rid of. `stopwords/` has stop
words, `everyday/` words of everyday talk. A file is read when a question first needs it; tests check them, not the
reading, which takes a few milliseconds each. Users' own glossaries are `Glossary`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from operator import itemgetter
from pathlib import Path
from typing import Any

from ...errors import ToolSearchError
from .analyzer import FUNCTION, fold

__all__ = [
    "LATIN",
    "Found",
    "Glossary",
    "Lexicon",
    "bases",
    "everyday_words",
    "homographs",
    "is_grammar",
    "is_stop_word",
    "lexicon",
    "plain_letters",
    "scan",
    "scan_single_words",
    "scan_words",
    "stop_lexicon",
    "stop_words",
]

_LINE = "write a word, a tab, and English words divided by `|`"


class Glossary:
    """Words and their English meanings; the longest match in a text wins."""

    def __init__(self, meanings: Mapping[str, Iterable[str]]) -> None:
        folded = {fold(word).strip(): "|".join(english) for word, english in meanings.items()}
        self._lexicon = Lexicon({word: english for word, english in folded.items() if word})

    def __len__(self) -> int:
        return len(self._lexicon)

    @classmethod
    def read(cls, source: str, name: str = "glossary") -> Glossary:
        """The glossary in tab-separated lines.

        Raises:
            ToolSearchError: a line has no word, or no English for it.
        """
        meanings: dict[str, tuple[str, ...]] = {}
        for number, line in enumerate(source.splitlines(), 1):
            if not line.strip() or line[0] == "#":
                continue
            word, _, rest = line.partition("\t")
            english = tuple(part for part in map(str.strip, rest.partition("\t")[0].split("|")) if part)
            if not word.strip() or not english:
                raise ToolSearchError("invalid_tool_input", f"Line {number} of {name} is {line!r}: {_LINE}.")
            meanings[word] = meanings.get(word, ()) + english
        return cls(meanings)

    @classmethod
    def of(cls, source: Mapping[str, str | Iterable[str]] | str | Path) -> Glossary:
        """The glossary in a mapping from words to English, or in a file.

        Raises:
            ToolSearchError: the file cannot be read, or what was given is no glossary.
        """
        if isinstance(source, Mapping):
            return cls({_texts(word)[0]: _texts(english) for word, english in source.items()})
        try:
            content = Path(source).read_text(encoding="utf-8-sig")
        except (OSError, TypeError, ValueError) as error:
            raise ToolSearchError(
                "unavailable", f"The glossary {str(source)!r} cannot be read ({error}). Name a text file in UTF-8."
            ) from error
        return cls.read(content, str(source))

    def found_in(self, text: str) -> Iterator[tuple[str, tuple[str, ...]]]:
        """The glossary words in folded `text` from left to right, with their meanings."""
        for found in scan(text, (self._lexicon,)):
            yield found.word, found.english


def _texts(given: Any) -> list[str]:
    """One text, or several."""
    texts: list[Any] = [given] if isinstance(given, str) or not isinstance(given, Iterable) else [*given]
    for text in texts:
        if not isinstance(text, str):
            raise ToolSearchError("invalid_tool_input", f"The glossary has {text!r} where text should be: write text.")
    return texts


LATIN = ("de", "es", "fr")
"""The languages in Latin letters that have a glossary, besides English."""

_HERE = Path(__file__).parent / "glossaries"
_LETTERS = (("ß", "ss"), ("œ", "oe"), ("Œ", "oe"), ("æ", "ae"), ("ø", "o"))


def plain_letters(text: str) -> str:
    """Latin `text` in plain lower-case letters: `Arrière-plan` is `arriere plan`, `Größe` is `grosse`."""
    if not text.isascii():
        for letter, plain in _LETTERS:
            text = text.replace(letter, plain)
        text = text.replace("’", " ").replace("‑", " ").replace("ʼ", " ")
        text = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode("ascii")
    return text.replace("-", " ").replace("'", " ").lower()


@cache
def lexicon(language: str) -> Lexicon:
    """The glossary of a language; empty if there is none."""
    fields = _content(_HERE / f"{language}.tsv", language).replace("\n", "\t").split("\t")
    return Lexicon(dict(zip(fields[::2], fields[1::2], strict=False)), language)


@cache
def stop_words(language: str) -> frozenset[str]:
    """The stop words of a language."""
    return _words(_HERE / "stopwords" / f"{language}.txt", language)


@cache
def stop_lexicon(language: str) -> Lexicon:
    """The stop words of a language, for text without spaces."""
    return Lexicon(dict.fromkeys(stop_words(language), ""), language)


def is_stop_word(word: str, written: str, language: str) -> bool:
    """Whether `word`, in plain letters, is a stop word; accents must agree if they are written: not `ändere`."""
    return word in stop_words(language) and (written.isascii() or written.lower() in _accented(language))


def is_grammar(text: str) -> bool:
    """Whether `text` is a stop word of some language in Latin letters."""
    word = plain_letters(text.strip())
    return word in FUNCTION or any(word in stop_words(language) for language in LATIN)


@cache
def _accented(language: str) -> frozenset[str]:
    text = (_HERE / "stopwords" / f"{language}.txt").read_text(encoding="utf-8")
    return frozenset(line.strip(" '’") for line in text.lower().split("\n"))


@cache
def everyday_words(language: str) -> frozenset[str]:
    """The words of everyday talk that no tool is about."""
    return frozenset(_content(_HERE / "everyday" / f"{language}.txt", language).split())


@cache
def homographs() -> frozenset[str]:
    """English words that other languages have too, and that do not tell them apart."""
    return _words(_HERE / "homographs.txt", "en")


def _words(file: Path, language: str) -> frozenset[str]:
    return frozenset(word for word in map(str.strip, _content(file, language).split("\n")) if word)


def _content(file: Path, language: str) -> str:
    """The lines of a file that are neither empty nor comments; several times faster than line by line."""
    try:
        text = file.read_text(encoding="utf-8")
    except FileNotFoundError:
        return ""
    first, *others = ("\n" + text).split("\n#")
    text = "\n".join((first, *(after.partition("\n")[2] for after in others)))
    while "\n\n" in text:
        text = text.replace("\n\n", "\n")
    return _plain(text.strip("\n")) if language == "en" or language in LATIN else text.strip("\n")


def _plain(text: str) -> str:
    """The same as `plain_letters`, several times faster, for long texts in Latin-1."""
    for letter, plain in (*_LETTERS, ("’", " ")):
        if letter in text:
            text = text.replace(letter, plain)
    return text.encode("latin-1").translate(_LATIN_1).decode("ascii")


_LATIN_1 = bytes(ord((plain_letters(chr(code)) or " ")[0]) for code in range(256))


# Final consonants that endings add to the last syllable of a stem: 보낸, 보낼, 보냅니다, 보냈어 all have 보내.
_KO_FINALS = (4, 8, 17, 20)
_LINKS = ("", "s", "es", "n", "en", "e", "er")  # linking elements of German compounds
_PART = 4  # letters of the shortest part of a compound
_HEAD = 4  # letters of the shortest head that may stand for a compound with an unknown first part


@dataclass(frozen=True, slots=True)
class Found:
    """A match of a glossary word in a text."""

    word: str
    """The word as it is in the text."""
    english: tuple[str, ...]
    """Its translations or synonyms; empty for a stop word."""
    places: tuple[int, ...] = ()
    """The positions of its words in the text, for scripts with spaces."""


class Lexicon:
    """Words of one language and their English meanings, with alternatives divided by `|`."""

    def __init__(self, meanings: dict[str, str], language: str = "") -> None:
        self.language = language
        self.meanings = meanings

    def __len__(self) -> int:
        return len(self.meanings)

    def english(self, word: str) -> tuple[str, ...]:
        """The meanings of `word`; empty if it is unknown."""
        found = self.meanings.get(word)
        return () if found is None else tuple(part for part in map(str.strip, found.split("|")) if part)

    @cached_property
    def lengths(self) -> dict[str, list[int]]:
        """The lengths of the words by first letter, longest first."""
        found: dict[str, list[int]] = {}
        for first, length in sorted(set(zip(map(itemgetter(0), self.meanings), map(len, self.meanings), strict=True))):
            found.setdefault(first, []).insert(0, length)
        return found

    @cached_property
    def phrases(self) -> dict[str, int]:
        """For each first word of a phrase, the number of words in the longest phrase."""
        phrases = [word for word in self.meanings if " " in word]
        longest = max((phrase.count(" ") + 1 for phrase in phrases), default=0)
        return dict.fromkeys((phrase.partition(" ")[0] for phrase in phrases), longest)

    def meaning_at(self, text: str, at: int, size: int) -> tuple[str, ...]:
        """The meanings of the `size` letters from `at`; empty if they are no word of this language."""
        word = text[at : at + size]
        found = self.english(word)
        if not found and size > 1 and self.language == "ko":
            found = self.english(_without_final(word))
        return found

    def base_of(self, word: str) -> str | None:
        """The base form of `word` that is known; None if there is none."""
        return next((base for base in bases(word, self.language) if base in self.meanings), None)

    def parts_of(self, word: str, *, is_noun: bool = False) -> tuple[str, ...]:
        """The known parts of a German compound: `rechnungsversand` is `rechnung` and `versand`.

        If the first part of a noun is unknown, its head alone: `lieblingslied` is a `lied`.
        """
        if self.language != "de" or len(word) < 2 * _PART:
            return ()
        head: tuple[str, ...] = ()
        for at in range(_PART, len(word) - _PART + 1):
            last = self.base_of(word[at:])
            if last is None or " " in last:
                continue
            first = self._first_part(word[:at])
            if first:
                return (*first, last)
            if is_noun and not head and len(word) - at >= _HEAD:
                head = (last,)
        return head

    def _first_part(self, word: str) -> tuple[str, ...]:
        for link in _LINKS:
            part = word.removesuffix(link) if link else word
            if len(part) >= _PART - 1 and part in self.meanings:
                return (part,)
        return self.parts_of(word) if len(word) >= 3 * _PART else ()


def _without_final(word: str) -> str:
    syllable = ord(word[-1]) - 0xAC00
    if not 0 <= syllable < 11_172 or syllable % 28 not in _KO_FINALS:
        return word
    return word[:-1] + chr(0xAC00 + syllable - syllable % 28)


_KATAKANA = re.compile("[\u30a0-\u30ff]")
_HANGUL = re.compile("[\uac00-\ud7a3]")
_SPACED = re.compile("[^\\W\u0e00-\U0010ffff]")  # letters of scripts with spaces between words: Latin, Greek, Arabic, …
_KO_PARTICLES_LISTED = """
    은 는 이 가 을 를 에 의 도 와 과 로 으로 에서 에게 한테 께 만 까지 부터 이나 나 랑 이랑 하고 처럼 보다 마다
    들 들을 들이 들은 에는 에서는 에도 으로는 로는 이라는 라는 이야 야 입니다 이에요 예요 에게서
"""
_KO_PARTICLES = frozenset(_KO_PARTICLES_LISTED.split())


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


_ADVERBS = "up down off out over in on away back through along around together"
_PARTICLES = frozenset(_ADVERBS.split())
# Separable prefixes that are prepositions too, and words that follow a prefix but not a preposition.
_ALSO_PREPOSITIONS = "ab an auf aus bei durch mit nach uber um unter vor zu"
_PREPOSITIONS = frozenset(_ALSO_PREPOSITIONS.split())
_NEXT = """
    aber am bevor bitte damit danach dann dass denn falls fur heute im in jetzt mal morgen oder sobald sofort sowie und
    weil wenn zum zur
"""
_AFTER_PREFIX = _PREPOSITIONS | frozenset(_NEXT.split())
_GAP = 4  # words between a verb and its particle: `hand the old ticket over`


def scan_words(words: Sequence[str], lexicon: Lexicon, capital: Container[int] = ()) -> Iterator[Found]:
    """The words and phrases of `lexicon` in a text, in any inflected form; the longest phrase wins.

    Args:
        words: The words in plain lower-case letters.
        lexicon: The glossary.
        capital: The positions of capitalised words.
    """
    used: set[int] = set()
    for at, word in enumerate(words):
        if at in used:
            continue
        found = _phrase(words, at, lexicon, used)
        if found is None and len(word) > 1:
            found = _word(word, at, lexicon, is_noun=at in capital)
        if found is not None:
            used.update(found.places)
            yield found


def scan_single_words(words: Sequence[str], lexicon: Lexicon, places: Iterable[int]) -> Iterator[Found]:
    """The words at `places` that `lexicon` has in some inflected form."""
    for at in places:
        found = _word(words[at], at, lexicon, is_noun=False)
        if found is not None:
            yield found


def _word(word: str, at: int, lexicon: Lexicon, *, is_noun: bool) -> Found | None:
    base = lexicon.base_of(word)
    parts = (base,) if base is not None else lexicon.parts_of(word, is_noun=is_noun)
    english = tuple(dict.fromkeys(meaning for part in parts for meaning in lexicon.english(part)))
    return Found(word, english, (at,)) if english else None


def _phrase(words: Sequence[str], at: int, lexicon: Lexicon, used: set[int]) -> Found | None:
    """The longest phrase that starts at `at`; its first and its last word may be inflected."""
    phrases = lexicon.phrases
    forms = bases(words[at], lexicon.language)
    starts = [form for form in forms if form in phrases]
    for first in starts:
        for size in range(min(phrases[first], len(words) - at), 1, -1):
            middle = words[at + 1 : at + size - 1]
            for last in bases(words[at + size - 1], lexicon.language):
                english = lexicon.english(" ".join((first, *middle, last)))
                if english:
                    return Found(" ".join(words[at : at + size]), english, tuple(range(at, at + size)))
    if lexicon.language == "de":
        return _german_verb(words, at, lexicon, used)
    return _english_verb(words, at, lexicon, starts) if starts and lexicon.language == "en" else None


def _english_verb(words: Sequence[str], at: int, lexicon: Lexicon, starts: Sequence[str]) -> Found | None:
    """A phrasal verb with words in between: `hand it over`."""
    for place in range(at + 2, min(len(words), at + 2 + _GAP)):
        if words[place] in _PARTICLES:
            for start in starts:
                english = lexicon.english(f"{start} {words[place]}")
                if english:
                    return Found(f"{words[at]} … {words[place]}", english, (at, place))
    return None


def _is_preposition(words: Sequence[str], place: int) -> bool:
    """Whether a word that may be a separable prefix has a noun after it: `mit` in `teile das Dokument mit Maria`."""
    return words[place] in _PREPOSITIONS and place + 1 < len(words) and words[place + 1] not in _AFTER_PREFIX


def _german_verb(words: Sequence[str], at: int, lexicon: Lexicon, used: set[int]) -> Found | None:
    """A verb with its separable prefix at the end of the clause: `lade die Datei hoch`."""
    for place in range(len(words) - 1, at, -1):
        if place in used or not separable(words[place]) or _is_preposition(words, place):
            continue
        prefix = "wieder" + words[place] if words[place - 1] == "wieder" and place - 1 > at else words[place]
        for base in bases(words[at], "de"):
            english = lexicon.english(prefix + base)
            if english:
                shown = f"{words[at]} {prefix}" if place == at + 1 else f"{words[at]} … {prefix}"
                return Found(shown, english, (at, place))
    return None


# Lemmatisation by suffix rules: `bases` gives the forms under which a glossary may have a word, the likeliest first. It
# overgenerates: forms that are no words are in no glossary.
_IRREGULAR = {
    form: base
    for base, forms in {
        "be": "am is are was were been being",
        "bring": "brought",
        "buy": "bought",
        "catch": "caught",
        "choose": "chose chosen",
        "come": "came",
        "do": "did done does doing",
        "draw": "drew drawn",
        "drive": "drove driven",
        "eat": "ate eaten",
        "find": "found",
        "fly": "flew flown",
        "forget": "forgot forgotten",
        "get": "got gotten",
        "give": "gave given",
        "go": "went gone goes",
        "have": "has had having",
        "hear": "heard",
        "keep": "kept",
        "know": "knew known",
        "leave": "left",
        "let": "letting",
        "lose": "lost",
        "make": "made",
        "meet": "met",
        "owe": "owed owing",
        "pay": "paid",
        "read": "reading",
        "ride": "rode ridden",
        "ring": "rang rung",
        "run": "ran",
        "say": "said",
        "see": "saw seen",
        "sell": "sold",
        "send": "sent",
        "shoot": "shot",
        "show": "shown",
        "sign": "signed",
        "speak": "spoke spoken",
        "spend": "spent",
        "spin": "spun",
        "steal": "stole stolen",
        "stick": "stuck",
        "take": "took taken",
        "teach": "taught",
        "tell": "told",
        "think": "thought",
        "throw": "threw thrown",
        "wear": "wore worn",
        "win": "won",
        "write": "wrote written",
    }.items()
    for form in forms.split()
}

_STRONG = {
    form: base
    for base, forms in {
        "brechen": "brich bricht",
        "fahren": "fahrt",
        "geben": "gib gibt gab",
        "halten": "halt",
        "helfen": "hilf hilft",
        "laden": "ladt",
        "lassen": "lasst",
        "laufen": "lauft",
        "lesen": "lies liest",
        "messen": "miss misst",
        "nehmen": "nimm nimmt",
        "sehen": "sieh sieht",
        "sprechen": "sprich spricht",
        "treffen": "triff trifft",
        "treten": "tritt",
        "werfen": "wirf wirft",
    }.items()
    for form in forms.split()
}
_CLITICS = "melos melas melo mela selos selas selo sela noslo nosla nos los las les me te se lo la le"
_ES_CLITICS = _CLITICS.split()
_ES_VERBS = {
    "ar": "o as a amos ais an e es emos en ando ado ada ados adas aste aron aba aban ad are ara",
    "er": "o es e emos en a as an iendo ido ida io ieron ia ian ed ere era",
    "ir": "o es e imos en a as an iendo ido ida idos idas io ieron ia ian id ire ira",
}
_FR_VERBS = {
    "er": "e es ons ez ent ee ees ant ais ait aient erai era eras erez erait a ai",
    "ir": "is it issons issez issent issant i ie ies irai ira irez",
    "re": "s t ons ez ent u ue us ues ant rai ra",
    "oir": "ois oit oyons oyez",
}
# Separable prefixes of German verbs, which stand at the end of the clause: `lade ... hoch` is `hochladen`.
_SEPARABLE = """
    ab an auf aus bei bereit durch ein entgegen fest fort frei gegenuber gleich her heraus herunter hervor hin hinaus
    hinzu hoch kennen los mit nach nieder raus rein runter statt teil uber um unter vor voran voraus vorbei weg weiter
    wieder zu zuruck zurecht zusammen
"""
_DE_PREFIXES = frozenset(_SEPARABLE.split())


@lru_cache(4_096)
def bases(word: str, language: str) -> tuple[str, ...]:
    """The possible base forms of `word`, which is folded; itself first."""
    more = _LANGUAGES.get(language)
    return (word,) if more is None else tuple(dict.fromkeys([word, *more(word)]))


def separable(prefix: str) -> bool:
    """Whether `prefix` is a separable prefix of German verbs."""
    return prefix in _DE_PREFIXES


def _english(word: str) -> Iterator[str]:
    if word in _IRREGULAR:
        yield _IRREGULAR[word]
    if len(word) < 3:
        return
    if word.endswith("s") and not word.endswith(("ss", "us", "is")):
        if word.endswith("ies"):
            yield word[:-3] + "y"
        if word.endswith(("ses", "xes", "zes", "ches", "shes", "oes")):
            yield word[:-2]
        yield word[:-1]
    for ending in ("ing", "ed"):
        rest = word.removesuffix(ending)
        if rest != word and len(rest) >= 2:
            yield rest
            yield rest + "e"
            if len(rest) > 2 and rest[-1] == rest[-2]:
                yield rest[:-1]
            if rest.endswith("i"):
                yield rest[:-1] + "y"


def _german(word: str) -> Iterator[str]:
    plain = word.replace("ae", "a").replace("oe", "o").replace("ue", "u")
    if plain != word:
        yield plain
        word = plain
    if word in _STRONG:
        yield _STRONG[word]
    if len(word) < 3:
        return
    yield from (word + "n", word + "en")
    if len(word) < 4:
        return
    for ending in ("en", "er", "es", "em", "e", "n", "s", "st", "t", "et", "est", "te", "ten", "test"):
        rest = word.removesuffix(ending)
        if rest != word and len(rest) >= 3:
            yield rest
            yield from (rest + "en", rest + "n", rest + "e")
    for at in (0, *(len(prefix) for prefix in _DE_PREFIXES if word.startswith(prefix))):
        if word.startswith("ge", at) and len(word) - at > 5:  # `gesendet`, `hochgeladen`
            rest = word[:at] + word[at + 2 :]
            yield rest
            for ending in ("t", "et"):
                if rest.endswith(ending):
                    yield rest.removesuffix(ending) + "en"
        if at and word.startswith("zu", at):  # `hochzuladen`
            yield word[:at] + word[at + 2 :]


def _spanish(word: str) -> Iterator[str]:
    if len(word) < 4:
        return
    yield from _plural(word)
    forms = [word, *(word.removesuffix(clitic) for clitic in _ES_CLITICS if word.endswith(clitic))]
    for form in forms:
        if len(form) >= 3:
            yield form
            yield from _infinitives(form, _ES_VERBS_BY_ENDING)
    for singular in (*_plural(word), word):
        if singular.endswith("a"):
            yield singular[:-1] + "o"


def _french(word: str) -> Iterator[str]:
    if len(word) < 4:
        return
    if word.endswith("aux"):
        yield word[:-3] + "al"
        yield word[:-1]
    yield from _plural(word)
    if word.endswith("x"):
        yield word[:-1]
    yield from _infinitives(word, _FR_VERBS_BY_ENDING)
    for singular in (*_plural(word), word):
        if singular.endswith("e"):
            yield singular[:-1]


def _plural(word: str) -> Iterator[str]:
    if word.endswith("ces"):
        yield word[:-3] + "z"
    if word.endswith("es"):
        yield word[:-2]
    if word.endswith("s"):
        yield word[:-1]


def _infinitives(word: str, verbs: dict[str, tuple[str, ...]]) -> Iterator[str]:
    for ending, infinitives in verbs.items():
        rest = word.removesuffix(ending)
        if rest != word and len(rest) >= 3:
            for infinitive in infinitives:
                yield rest + infinitive


def _by_ending(verbs: dict[str, str]) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for infinitive, endings in verbs.items():
        for ending in endings.split():
            found[ending] = (*found.get(ending, ()), infinitive)
    return dict(sorted(found.items(), key=lambda item: -len(item[0])))


_ES_VERBS_BY_ENDING = _by_ending(_ES_VERBS)
_FR_VERBS_BY_ENDING = _by_ending(_FR_VERBS)
_LANGUAGES: dict[str, Callable[[str], Iterator[str]]] = {
    "en": _english,
    "de": _german,
    "es": _spanish,
    "fr": _french,
}
