"""The analyzer: text in any language to index terms.

Characters are folded (width, case, diacritics), identifiers split at `_`, `-`, `.`, case and digits, English words
stemmed, stop words dropped. Scripts without spaces between words are indexed as character n-grams.

Two kinds of common words: `FUNCTION` words are stop words, neither indexed nor searched. `REQUEST` words are polite
phrases ("I would like you to help me find …"): they are indexed, and a question drops them if it has other words.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from operator import add

_HAN = "\u2e80-\u2fdf\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U000323af"
_HIRAGANA = "\u3041-\u309f"
_KATAKANA = "\u30a0-\u30fa\u30fc-\u30ff\u31f0-\u31ff"
_HANGUL = "\u1100-\u11ff\u3130-\u318f\uac00-\ud7af"
# Thai, Lao, Tibetan, Myanmar, Khmer: no spaces between words, and vowel signs that `\w` does not match.
_UNSPACED = "\u0e00-\u0eff\u0f00-\u0fff\u1000-\u109f\u1780-\u17ff"
# Combining marks: Hebrew, Arabic, the scripts of India.
_MARKS = "\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u0900-\u0dff"
_SPACED = rf"(?:[^\W_{_HAN}{_HIRAGANA}{_KATAKANA}{_HANGUL}{_UNSPACED}]|[{_MARKS}])"

# Translation tables for ASCII. This one replaces all but letters, digits and the separators in names by a space.
_SPACES = "".join(letter if letter.isalnum() or letter in "-_." else " " for letter in map(chr, range(128)))
# This one replaces the separators too.
_SEPARATED = "".join(letter if letter.isalnum() else " " for letter in map(chr, range(128)))
# And this one also lowers the case.
_LETTERS = "".join(letter.lower() if letter.isalnum() else " " for letter in map(chr, range(128)))
_ANY = rf"[\w{_HAN}{_HIRAGANA}{_KATAKANA}{_HANGUL}{_UNSPACED}{_MARKS}]+"
_ANY_RUN = re.compile(rf"{_ANY}(?:[-.]+{_ANY})*")
_SCRIPT = re.compile(
    rf"(?P<han>[{_HAN}]+)|(?P<hira>[{_HIRAGANA}]+)|(?P<kata>[{_KATAKANA}]+)|(?P<hangul>[{_HANGUL}]+)"
    rf"|(?P<unspaced>[{_UNSPACED}]+)|(?P<word>{_SPACED}+(?:[-_.]+{_SPACED}+)*)"
)
_INFLECTION = re.compile(f"[{_HIRAGANA}]+")
_HAN_RUN = re.compile(f"[{_HAN}]+")
# Han and punctuation alone, as nearly all Chinese text. Combining marks are not punctuation.
_HAN_ALONE = re.compile(rf"(?:[{_HAN}]|[^\w{_HAN}{_HIRAGANA}{_KATAKANA}{_HANGUL}{_UNSPACED}{_MARKS}])*")
_SEPARATORS = re.compile(r"[-_.]+")
_ASCII_PIECE = re.compile(r"[A-Z]{2,}s(?![a-z])|[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")  # `URLs`, `HTML`, `Page`, `2`
_NOT_ALPHANUMERIC = re.compile(r"[\W_]+")
_UNSPACED_LETTER = re.compile(f"[{_HAN}{_HIRAGANA}{_KATAKANA}{_HANGUL}{_UNSPACED}]")
_UNSPACED_RUN = re.compile(f"[{_UNSPACED}]+")
_MAX_PARTS = 3
# The share of a word that one n-gram is: words have about two Han characters, and three or four katakana bigrams.
# Hiragana is mostly inflection.
_SHARE = {"han": 1 / 2, "hira": 1 / 4, "kata": 1 / 3, "hangul": 1 / 2, "unspaced": 1 / 4}
_REMEMBERED = 200_000  # tokens: bounds the memory


class _Folds(dict[int, str]):
    """A translation table for `fold`, filled as characters are met."""

    def __missing__(self, code: int) -> str:
        letter = chr(code)
        # Only alphabets in which people leave diacritics out: in Japanese or Hindi they make another letter.
        if code < 0x0900 or 0x1E00 <= code < 0x2000:
            decomposed = unicodedata.normalize("NFD", letter)
            letter = "".join(part for part in decomposed if not unicodedata.combining(part))
        self[code] = folded = letter.casefold()
        return folded


_FOLDS = _Folds()
# Invisible characters that copied text may have: soft hyphens, zero-width spaces and joiners, direction marks,
# variation selectors, tags, byte order marks.
_INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f"
    "\ufeff\uffa0\ufff9-\ufffb\U000e0000-\U000e0fff]+"
)


def visible(text: str) -> str:
    """`text` without invisible characters."""
    return text if text.isascii() else _INVISIBLE.sub("", text)


def fold(text: str) -> str:
    """`text` with width, case and diacritics normalised: `Ｃａｆé` and `CAFE` are both `cafe`."""
    if text.isascii():
        return text.lower()
    return unicodedata.normalize("NFKC", visible(text)).translate(_FOLDS)


def name_key(name: str) -> str:
    """A key for all spellings of a name: `getUser`, `get-user` and `Get User` have `getuser`."""
    if name.isascii():
        return "".join(name.translate(_LETTERS).split())
    return _NOT_ALPHANUMERIC.sub("", fold(name))


class Analyzer(dict[str, str]):
    """Text to index terms, with a cache of the terms of each ASCII token (what stands between two spaces).

    The terms of a token are cached as one string with spaces, which the garbage collector need not traverse.
    """

    def terms(self, text: str) -> list[str]:
        """The terms of `text` in order, without stop words."""
        return " ".join(map(self.__getitem__, visible(text).split())).split()

    def sources(self, text: str) -> dict[str, str]:
        """The distinct terms of `text` in order, and the first token each comes from."""
        found: dict[str, str] = {}
        for run in _runs(text):
            for term in self[run].split():
                found.setdefault(term, run)
        return found

    def __missing__(self, chunk: str) -> str:
        """The terms of a token."""
        if not chunk.isascii():  # not cached: without spaces, a token is a whole clause and seldom repeated
            return " ".join(_terms_of_any(chunk))
        if len(self) >= _REMEMBERED:
            self.clear()
        self[chunk] = found = " ".join(_ascii_terms(chunk))
        return found


def spelling(term: str, source: str) -> str:
    """How `source` spells `term`: in `getMessages`, `messag` is `messages`."""
    words = (part.group() for part in _SCRIPT.finditer(source) if part.lastgroup == "word")
    return next((piece for word in words for piece, known in _word_terms(word) if known == term), term)


def whole_words(words: tuple[str, ...]) -> tuple[str, ...]:
    """`words` with overlapping n-grams joined: 請求 and 求書 are 請求書."""
    whole: list[str] = []
    for word in words:
        before = whole[-1] if whole else ""
        piece = len(word) == 2 or (len(word) == 3 and _UNSPACED_RUN.fullmatch(word) is not None)
        if piece and not word.isascii() and "→" not in before and before.endswith(word[:-1]):
            whole[-1] += word[-1]
        else:
            whole.append(word)
    return tuple(whole)


def spaced_words(text: str) -> list[str]:
    """The words of `text` in scripts with spaces between words, without separators."""
    words = (part[0] for part in _SCRIPT.finditer(text) if part.lastgroup == "word")
    return [piece for word in words for piece in _SEPARATORS.split(word)]


def is_unspaced(text: str) -> bool:
    """Whether `text` has letters of Chinese, Japanese, Korean, or a script without spaces such as Thai."""
    return not text.isascii() and _UNSPACED_LETTER.search(text) is not None


def share_of_word(term: str) -> float:
    """The average share of a word that `term` is: 1, or less for n-grams."""
    if term.isascii():
        return 1.0
    script = _SCRIPT.match(term)
    return _SHARE.get(script.lastgroup or "", 1.0) if script else 1.0


def is_inflection(term: str) -> bool:
    """Whether `term` is in hiragana, which is mostly inflection."""
    return _INFLECTION.fullmatch(term) is not None


def is_request(term: str) -> bool:
    """Whether `term` is a polite phrase rather than a subject: `please`, `want`."""
    return term in _REQUEST_STEMS


def _runs(text: str) -> list[str]:
    """The tokens of `text`, without punctuation."""
    if text.isascii():
        return text.translate(_SPACES).split()  # several times faster than a pattern
    return _ANY_RUN.findall(unicodedata.normalize("NFKC", visible(text)))


def _terms_of_any(chunk: str) -> list[str]:
    """The terms of a token that may mix scripts."""
    chunk = unicodedata.normalize("NFKC", chunk)
    terms: list[str] = []
    if _HAN_ALONE.fullmatch(chunk):
        for letters in _HAN_RUN.findall(chunk):
            terms += _grams(letters, "han")
        return terms
    for part in _SCRIPT.finditer(chunk):
        kind, letters = part.lastgroup, part.group()
        terms += [term for _, term in _word_terms(letters)] if kind == "word" else _grams(letters, kind)
    return terms


def _ascii_terms(chunk: str) -> list[str]:
    """The terms of an ASCII token, with fast paths for plain words and for names of plain words."""
    if chunk.isalpha() and (chunk.islower() or chunk.istitle()):
        word = chunk.lower()
        return [] if word in FUNCTION else [stem(word)]
    terms: list[str] = []
    for word in chunk.translate(_SPACES).split():
        if word.islower():
            pieces = word.translate(_LETTERS).split()
            plain = "".join(pieces).isalpha()
        else:
            pieces = _ASCII_PIECE.findall(word)
            plain = len(min(pieces, key=len, default="")) > 2 and "".join(pieces).isalpha()
            pieces = [piece.lower() for piece in pieces]
        if not plain:  # digits or short pieces, some of which belong together
            terms += [term for _, term in _word_terms(word)]
            continue
        terms += [stem(piece) for piece in pieces if piece not in FUNCTION]
        if 1 < len(pieces) <= _MAX_PARTS:
            terms.append("".join(pieces))
    return terms


def _word_terms(word: str) -> list[tuple[str, str]]:
    """The parts of a word or name and their terms, and the whole if it has two or three parts."""
    if word.isascii():
        if word.isalpha() and (word.islower() or word.istitle()):  # nearly all words
            word = word.lower()
            return [] if word in FUNCTION else [(word, stem(word))]
        pieces = [piece.lower() for part in word.translate(_SEPARATED).split() for piece in _parts(part)]
    else:
        pieces = [folded for part in _SEPARATORS.split(word) if (folded := fold(part))]
    terms = [(piece, stem(piece)) for piece in pieces if piece not in FUNCTION]
    # `GitHub`, `e-mail`, `read_only` are words of their own; a longer name is not, and is found by its parts.
    if 1 < len(pieces) <= _MAX_PARTS:
        whole = "".join(pieces)
        terms.append((whole, whole))
    return terms


def _parts(part: str) -> list[str]:
    """A part of a name split at case and digits, unless all pieces are short: `mp3`, `iOS`."""
    pieces = _ASCII_PIECE.findall(part)
    if len(pieces) > 1 and all(len(piece) < 3 or piece.isdigit() for piece in pieces):
        return [part]
    return pieces


def _grams(letters: str, kind: str | None) -> list[str]:
    """Character bigrams, trigrams for scripts that write syllables with several characters; or a lone character."""
    if kind == "unspaced":
        return list(map("".join, zip(letters, letters[1:], letters[2:], strict=False))) or [letters]
    if kind == "hira":
        return [pair for pair in map(add, letters, letters[1:]) if pair not in FUNCTION_BIGRAMS]
    return list(map(add, letters, letters[1:])) or [letters]


# The stemmer is conservative: a rule applies only if a stem of some length with a vowel remains. Overstemming
# (`flower`, `flow`) harms a search more than understemming (`payment`, `pay`).
_HAS_VOWEL = re.compile("[aeiouy]")
# A syllable that ends with one vowel and one consonant: with an `e`, it is another word.
_SHORT = re.compile("[^aeiouy]+[aeiouy][^aeiouywx]")

# Irregular forms and words that the rules would overstem, of those that tools and questions use, by stem.
IRREGULAR = {
    form: base
    for base, forms in {
        "analysi": "analyses analysis",
        "analyz": "analyse analyze analysed analyzed analysing analyzing analyser analyzer",
        "apartment": "apartment apartments",
        "bought": "bought",
        "child": "children",
        "choos": "chose chosen",
        "container": "container containers",
        "data": "data datum",
        "dating": "dating",
        "driv": "drove driven",
        "find": "found",
        "forecast": "forecast forecasted forecasts",
        "id": "ids",
        "man": "men",
        "meet": "met",
        "mission": "mission missions",
        "news": "news",
        "pay": "paid payment payments",
        "person": "people persons",
        "range": "range ranges ranged ranging",
        "read": "reading",
        "saving": "savings",
        "send": "sent",
        "serie": "series",
        "ship": "shipment shipments",
        "setting": "settings",
        "speak": "spoke spoken",
        "station": "station stations",
        "statu": "statuses",
        "threat": "threat threats",
        "weath": "weather",
        "woman": "women",
        "write": "wrote written writing",
    }.items()
    for form in forms.split()
}


@lru_cache(65_536)
def stem(word: str) -> str:
    """The stem of `word`, which is in lower case; other than ASCII words are returned as they are."""
    known = IRREGULAR.get(word)
    return _regular(word) if known is None else known


def _regular(word: str) -> str:
    if len(word) < 4 or not word.isascii() or not word.isalpha():
        return word
    if word[-1] == "s":
        word = _singular(word)
    if word.endswith(("ing", "ed")):
        word = _inflected(word)
    return _derived(word)


def _singular(word: str) -> str:
    if word.endswith(("ss", "us", "is")):
        return word
    if word.endswith("ies"):
        return word[:-3] + "y" if len(word) > 4 else word[:-1]
    if word.endswith(("sses", "xes", "ches", "shes", "zzes")):
        return word[:-2]
    return word[:-1]


def _inflected(word: str) -> str:
    if word.endswith("eed"):
        return word
    rest = word[:-3] if word[-1] == "g" else word[:-2]
    if len(rest) < 3 or not _HAS_VOWEL.search(rest):
        return word
    return rest + "e" if _SHORT.fullmatch(rest) else _undoubled(rest)


def _undoubled(word: str) -> str:
    """`plann` is `plan`, but `call` and `process` stay."""
    return word[:-1] if word[-1] == word[-2] and word[-1] not in "lsz" else word


# By last letter: suffix, replacement, and the letters that must remain. Only the first match is applied.
_FAMILIES: dict[str, tuple[tuple[str, str, int], ...]] = {
    "n": (
        ("ization", "iz", 3),
        ("isation", "iz", 3),
        ("ification", "ifi", 2),
        ("ation", "", 4),
        ("sion", "s", 3),
        ("tion", "t", 3),
    ),
    "r": (("ator", "", 4), ("er", "", 5)),
    "e": (("ate", "", 4), ("ise", "iz", 4), ("e", "", 3)),
    "t": (("ment", "", 5), ("at", "", 4)),
    "y": (("ally", "al", 3), ("ly", "", 4), ("y", "i", 3)),
}


def _derived(word: str) -> str:
    for ending, instead, remaining in _FAMILIES.get(word[-1], ()):
        if word.endswith(ending) and len(word) - len(ending) >= remaining:
            rest = word[: -len(ending)]
            if ending == "e" and _SHORT.fullmatch(rest):  # `plane` is no `plan`
                return word
            if ending == "y" and rest[-1] in "aeou":  # `play`, `survey`
                return word
            return (_undoubled(rest) if ending == "er" else rest) + instead
    return word


# Spelling variants and short forms, which are indexed as one term. Synonyms are in `synonyms.tsv`.
_SAME = """
    administrator: admin admins
    advertisement: ad ads advert adverts
    application: app apps
    authentication: auth
    average: avg
    behavior: behaviour behaviours
    calculate: calc
    canceled: cancelled cancelling cancellation cancellations
    catalog: catalogue catalogues
    center: centre centres
    color: colour colours coloured
    configuration: config configs
    cryptocurrency: crypto cryptos
    database: db dbs
    description: desc
    development: dev
    dialog: dialogue dialogues
    directory: dir dirs
    document: doc docs
    environment: env envs
    favorite: favourite favourites fav
    flavor: flavour flavours
    gray: grey
    humor: humour
    image: img imgs
    information: info infos
    labor: labour
    language: lang
    latitude: lat
    license: licence licences
    longitude: lon lng
    mail: email emails emailed emailing emailer
    maximum: max
    message: msg msgs
    minimum: min
    neighbor: neighbour neighbours neighbourhood neighborhood
    notification: notif
    number: num nums
    organization: org orgs
    parameter: param params
    password: pwd passwd
    percent: percentage pct
    photo: photograph photographs
    picture: pic pics
    previous: prev
    program: programme programmes
    quantity: qty
    reference: ref refs
    repository: repo repos
    specification: spec specs
    statistic: stat stats
    synchronize: sync syncs
    telephone: phone phones
    television: tv
    temporary: tmp
    theater: theatre theatres
    tire: tyre tyres
    transaction: txn txns
    travel: traveller travellers travelled travelling
    vaccine: vaccination vaccinate
"""


_LINES = [line for line in map(str.strip, _SAME.splitlines()) if line]

SAME = {form: base for line in _LINES for base, _, forms in [line.partition(":")] for form in forms.split()}


_FUNCTION = """
    aren couldn didn doesn hadn hasn haven isn shouldn wasn weren wouldn
    a about after again all also although am an and any are as at be because been before being both but by
    can cannot could d did do does doing don done during each eg either else etc ever every for from further
    had has have having he her here hers herself him himself his how however i ie if in into is it its itself just
    ll m may me might mine more most must my myself neither no nor not of on once only onto or other our ours
    ourselves own per rather re s same shall she should so some such t than that the their theirs them themselves
    then there these they this those through thus to too under until up upon us ve very via was we were what when
    where whether which while who whom whose why will with within without would you your yours yourself yourselves
    actually apparently basically certainly definitely eventually finally honestly hopefully literally luckily obviously
    probably seriously suddenly surely unfortunately
"""

_REQUEST = """
    able additionally assist curious excited furthermore give going good great hello help helpful hey hi interested know
    lastly let like looking lot love make many moreover much need ok okay please provide really see something stuff sure
    take tell thank thanks thing things think tried try trying use using want wanted wants well wish wonder wondering
"""

_JAPANESE = """
    している してある してほしい しておく してくれる してください しました しません しましょう します したい した
    する される させる ください くれる くださいませ です でした でしょうか ます ました ません から まで など について
    における に対する ための ために ため こと もの これ それ あれ この その あの どの どこ ここ そこ という といった
    として とか ので のに には では とは への での からの までの なら ながら られる れる ない なし あり ある いる
    たい たら って また または および ほしい たく
"""

FUNCTION = frozenset(_FUNCTION.split())
REQUEST = frozenset(_REQUEST.split())
# Japanese inflection and particles, as bigrams.
FUNCTION_BIGRAMS = frozenset(word[at : at + 2] for word in _JAPANESE.split() for at in range(len(word) - 1))
_REQUEST_STEMS = frozenset(stem(word) for word in REQUEST)
IRREGULAR.update({form: IRREGULAR.get(base) or _regular(base) for form, base in SAME.items()})
