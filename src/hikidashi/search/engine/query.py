"""Query analysis: a question becomes weighted terms, with translations, synonyms and corrected spellings.

The glossaries read it first: its language, translations, synonyms and stop words (`Understanding`). Each word in Latin
letters is a vote for the languages that have it. A word that English has too is half a vote for either, so that `chat`,
`plan` and `die` decide nothing; a possible name is half a vote. A tie is English.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache

from .analyzer import (
    EVERYDAY,
    FUNCTION,
    REQUEST,
    WEAK,
    Analyzer,
    fold,
    is_everyday,
    is_han,
    is_request,
    is_weak,
    spelling,
    stem,
)
from .entry import Entry
from .glossary import (
    LATIN,
    Found,
    Glossary,
    bases,
    everyday_words,
    homographs,
    is_stop_word,
    lexicon,
    plain_letters,
    scan,
    scan_single_words,
    scan_words,
    stop_lexicon,
    stop_words,
)
from .index import Vocabulary
from .statement import is_clear_request, is_clear_request_in, is_statement, is_statement_in

__all__ = ["Query", "languages_of", "literals", "read_query", "understand", "without_literals"]

_KANA = re.compile("[\u3041-\u309f\u30a1-\u30fa\u30fd-\u30ff]")
_HAN = re.compile("[\u3005\u3400-\u4dbf\u4e00-\u9fff]")
_HANGUL = re.compile("[\uac00-\ud7a3]")
_TOKEN = re.compile("[0-9A-Za-z\u00c0-\u024f]+")
_DIGIT = re.compile("[0-9]")


@dataclass(slots=True)
class Understanding:
    """Language, translations, synonyms and stop words of a question."""

    translations: list[tuple[str, tuple[str, ...]]] = field(default_factory=list[tuple[str, tuple[str, ...]]])
    """Words in other languages, and those of the user's own glossary, with their English meanings."""
    everyday: list[Found] = field(default_factory=list[Found])
    """English words and phrases that have synonyms."""
    words: list[str] = field(default_factory=list[str])
    """The words of the question in plain Latin letters; `everyday` has positions in this list."""
    stop_words: set[str] = field(default_factory=set[str])
    """The stop words of the question's language."""
    explained: set[str] = field(default_factory=set[str])
    """Words in Latin letters that are translated."""
    foreign: bool = False
    """Whether the question is in a language other than English that is written in Latin letters."""
    is_statement: bool | None = None
    """Whether it is a statement in German, Spanish, French or Korean; None for other languages."""
    is_clear_request: bool | None = None
    """Whether it asks for something in so many words, in the same languages."""
    everyday_words: set[str] = field(default_factory=set[str])
    """Words of everyday talk in another language than English, in plain letters: no values, unlike unknown words."""
    nouns_have_capitals: bool = False
    """Whether common nouns are capitalised, as in German."""


def understand(
    text: str,
    is_known: Callable[[str], bool],
    own: Glossary | None = None,
    *,
    bundled: bool = True,
    is_short: bool = True,
    is_misspelled: Callable[[str], bool] = lambda word: False,
) -> Understanding:
    """How the glossaries read `text`.

    Args:
        text: A question.
        is_known: Whether some tool has a word.
        own: A glossary of the user's.
        bundled: Whether to use the glossaries and stop words that come with hikidashi.
        is_short: Whether to look for synonyms of all English words and phrases; in a long question, only for words that
            no tool has.
        is_misspelled: Whether a word is a misspelling of one that some tool has.
    """
    found = Understanding()
    folded = fold(text)
    if own is not None:
        for word, english in own.found_in(folded):
            found.translations.append((word, english))
            found.explained.update(plain_letters(word).split())
    if bundled:
        if not text.isascii():
            _read_unspaced(folded, found)
        _read_latin(text, found, is_known, is_misspelled, is_short=is_short)
    return found


def _read_unspaced(folded: str, found: Understanding) -> None:
    """Read other scripts than Latin. Han without kana is Chinese if it has Chinese stop words, else either."""
    languages: list[str] = []
    words: list[Found] = []
    if _KANA.search(folded):
        languages = ["ja"]
    elif _HAN.search(folded):
        words = list(scan(folded, [lexicon("zh")], [stop_lexicon("zh")]))
        languages = ["zh"] if any(not word.english for word in words) else ["zh", "ja"]
    if _HANGUL.search(folded):
        languages.append("ko")
        found.is_statement = is_statement_in(folded, (), lexicon("ko"))
        found.is_clear_request = is_clear_request_in(folded, (), lexicon("ko"))
    if languages and languages != ["zh"]:
        words = list(scan(folded, [*map(lexicon, languages)], [*map(stop_lexicon, languages)]))
    for language in languages:
        found.everyday_words.update(word for word in everyday_words(language) if word in folded)
    found.translations += [(word.word, word.english) for word in words if word.english]
    found.stop_words.update(word.word for word in words if not word.english)


def _read_latin(
    text: str,
    found: Understanding,
    is_known: Callable[[str], bool],
    is_misspelled: Callable[[str], bool],
    *,
    is_short: bool,
) -> None:
    tokens = _TOKEN.findall(text if text.isascii() else unicodedata.normalize("NFC", text))
    spelled = [token for token in tokens if not _DIGIT.search(token)]  # `pm` in `8pm` is no word
    words = found.words = [plain_letters(word) for word in spelled]
    if not words:
        return
    capital = {place for place, word in enumerate(spelled) if word[0].isupper()}
    for language in languages_of(words, spelled, is_known, is_misspelled):
        found.foreign = True
        found.nouns_have_capitals |= language == "de"
        found.is_statement = found.is_statement or is_statement_in(text, words, lexicon(language))
        found.is_clear_request = found.is_clear_request or is_clear_request_in(text, words, lexicon(language))
        stops = {place for place, word in enumerate(words) if is_stop_word(word, spelled[place], language)}
        for hit in scan_words(words, lexicon(language), capital):
            if not stops.issuperset(hit.places):
                found.translations.append((hit.word, hit.english))
                found.explained.update(words[place] for place in hit.places)
        explained = {words[place] for place in range(len(words)) if place not in stops} & found.explained
        found.stop_words.update(words[place] for place in stops if words[place] not in explained)
        found.everyday_words.update(_everyday(words, language))
    if not found.foreign:
        unknown = [place for place, word in enumerate(words) if not is_short and not is_known(word)]
        every = scan_words(words, lexicon("en")) if is_short else scan_single_words(words, lexicon("en"), unknown)
        found.everyday = [hit for hit in every if not _is_name(hit, spelled)]


def _is_name(hit: Found, spelled: Sequence[str]) -> bool:
    """Whether the match is capitalised and not the first word, as `Bill` or `Mark`."""
    return len(hit.places) == 1 and hit.places[0] > 0 and spelled[hit.places[0]].istitle()


def _everyday(words: Sequence[str], language: str) -> set[str]:
    known = everyday_words(language)
    return {word for word in words if word in known or not known.isdisjoint(bases(word, language))}


_OFTEN = FUNCTION | REQUEST


def languages_of(
    words: Sequence[str],
    spelled: Sequence[str],
    is_known: Callable[[str], bool],
    is_misspelled: Callable[[str], bool] = lambda word: False,
) -> list[str]:
    """The languages other than English with the most votes; none for an English question.

    Args:
        words: The words in plain lower-case letters.
        spelled: The same words as written.
        is_known: Whether some tool has a word.
        is_misspelled: Whether a word is a misspelling of one that some tool has.
    """
    grammar = _grammar()
    surely_english = 0
    undecided = 0
    for word, written in zip(words, spelled, strict=True):
        if word in _OFTEN and word not in grammar:
            surely_english += 1
        elif not written.isascii() or not _is_english(word):
            undecided += 1
    if undecided <= surely_english:  # no other language can win
        return []
    # Stop words decide most questions, without reading the glossaries of the other languages.
    languages = [language for language in LATIN if not stop_words(language).isdisjoint(words)] or LATIN
    votes = dict.fromkeys(languages, 0.0)
    english = float(surely_english)
    for place, (word, written) in enumerate(zip(words, spelled, strict=True)):
        if word in _OFTEN and word not in grammar:
            continue
        may_be_name = place > 0 and written[0].isupper()
        having = [
            language
            for language in languages
            if is_stop_word(word, written, language) or (len(word) > 1 and _has(language, word, exactly=may_be_name))
        ]
        is_english = written.isascii() and (_is_english(word) or (not having and is_known(word)))
        english += 0.5 * is_english
        for language in having:
            votes[language] += 0.5 if is_english or may_be_name else 1.0
    most = max(votes.values())
    if most > english and languages is LATIN:  # without stop words, it may be misspelled English: `shedule payent`
        listed = [word for word in words if any(word in lexicon(language).meanings for language in languages)]
        english += sum(is_misspelled(word) for word in words if word not in listed)
    return [language for language, count in votes.items() if count == most > english]


def _has(language: str, word: str, *, exactly: bool) -> bool:
    glossary = lexicon(language)
    if exactly:
        return word in glossary.meanings
    return glossary.base_of(word) is not None or len(glossary.parts_of(word)) > 1


@cache
def _grammar() -> frozenset[str]:
    """The stop words of all languages."""
    return frozenset[str]().union(*map(stop_words, LATIN))


@lru_cache(16_384)
def _is_english(word: str) -> bool:
    if word in _OFTEN or word in WEAK:
        return True
    english = _english_words()
    return len(word) > 1 and any(base in english for base in bases(word, "en"))


@cache
def _english_words() -> frozenset[str]:
    """All words in the English glossary, and English words that other languages have too."""
    meanings = lexicon("en").meanings
    words = {*" ".join(meanings).split(), *" ".join(meanings.values()).replace("|", " ").split()}
    return frozenset(words) | homographs()


# Weights of terms that are not words of the question itself. A translation or a corrected spelling may be wrong. A
# synonym counts little beside a word that some tool has, and more in place of a phrase or of a word that none has.
_TRANSLATED = 0.7
_FURTHER = 0.65  # a further meaning of a translated word: glossaries have the likeliest first
_RESPELLED = 0.7
_BESIDE = 0.2
_IN_PLACE = 0.5
_IN_PHRASE = 0.6  # for `get` in `get rid of`
_SHORT = 10  # terms: in a longer question, synonyms for all words do more harm than good
# File names, addresses, quotations: values, but their words say something about what is wanted.
_IN_LITERAL = 0.3

_VALUE = re.compile(r"\d|[^\W_][._][^\W_]")  # numbers, dates, identifiers, addresses, names of files
_JOINED = re.compile(r"\w+(?:-\w+)+")
_FILE = re.compile(
    r"\.(?:avi|bak|csv|docx?|eml|gif|gz|html?|ics|jpe?g|json|log|md|mov|mp[34]|pdf|png|pptx?|srt|svg|tar|tgz|tsv|txt"
    r"|vtt|wav|webp|xlsx?|xml|ya?ml|zip)$",
    re.IGNORECASE,
)
_FILE_NAME = re.compile(r"(?<!\S)\S+" + _FILE.pattern.removesuffix("$") + r"(?!\w)", re.IGNORECASE)


@dataclass(slots=True)
class Query:
    """The weighted terms of a question, and where each comes from."""

    weights: dict[str, float] = field(default_factory=dict[str, float])
    """The terms that some tool has, with their weights."""
    missing: list[str] = field(default_factory=list[str])
    """The words that no tool has in any form. Names and numbers are left out: they are values."""
    everyday: set[str] = field(default_factory=set[str])
    """Those of them that mean an everyday word of English."""
    sources: dict[str, str] = field(default_factory=dict[str, str])
    """The token of the question that each term comes from."""
    translations: dict[str, str] = field(default_factory=dict[str, str])
    """For translated terms: the English word."""
    respelled: set[str] = field(default_factory=set[str])
    """The terms that are corrected spellings."""
    synonyms: dict[str, str] = field(default_factory=dict[str, str])
    """For synonyms: the term of the word they stand for, or the phrase."""
    phrases: dict[str, str] = field(default_factory=dict[str, str])
    """For terms of a phrase that has synonyms as a whole: the phrase."""
    optional: set[str] = field(default_factory=set[str])
    """The terms that a tool need not have: synonyms, and values such as names and numbers."""
    glossed: list[str] = field(default_factory=list[str])
    """The words that a glossary translates to a term that some tool has."""
    is_statement: bool = False
    """Whether it is a statement rather than a request."""
    is_clear_request: bool = False
    """Whether it asks for something in so many words."""
    understanding: Understanding = field(default_factory=Understanding)
    """How the glossaries read it."""
    version: int = 0
    """The version of the index whose terms these are."""

    def word_of(self, term: str) -> str:
        """The word of the question that `term` stands for."""
        if term in self.translations or term in self.respelled:
            return self.sources[term]
        if term in self.synonyms:
            return self.synonyms[term]
        if term in self.phrases:
            return self.phrases[term]
        if term.isascii():
            return term
        return next((word for word in self.glossed if term in word), term)

    def is_everyday(self, word: str) -> bool:
        """Whether `word`, which no tool has, is one of everyday talk rather than a value."""
        if is_everyday(stem(word)) or word in self.everyday:
            return True
        words = self.understanding.everyday_words
        return word in words if word.isascii() else any(word in one for one in words)

    @property
    def has_talk(self) -> bool:
        """Whether it has words of everyday talk in another language than English that no tool has."""
        words = self.understanding.everyday_words
        return bool(words) and any(word in words for word in self.missing)

    @property
    def unknown(self) -> float:
        """The share of the words of the question that no tool has, from 0 to 1."""
        known = len(self.weights.keys() - self.optional - self.respelled)
        return len(self.missing) / ((len(self.missing) + known) or 1)

    def words_in(self, entry: Entry) -> dict[str, tuple[str, ...]]:
        """The words of the question that match, by field of a tool; `送信→send` for a translated word."""
        analyzer = Analyzer()
        reasons: dict[str, tuple[str, ...]] = {}
        for name, texts in entry.texts():
            there: dict[str, str] = {}
            for text in texts:
                there.update(analyzer.sources(text))
            words = [self.shown(term, there[term]) for term in self.weights if term in there]
            if words:
                reasons[name] = tuple(dict.fromkeys(words))
        return reasons

    def shown(self, term: str, there: str = "") -> str:
        """The word of the question that `term` comes from, and what it became; `there` is the token of a tool."""
        if term in self.translations:
            return f"{self.sources[term]}→{self.translations[term]}"
        if term in self.respelled:
            return f"{self.sources[term]}→{spelling(term, there)}" if there else self.sources[term]
        if term in self.synonyms:
            return f"{self.sources[term]}→{spelling(term, there)}" if there else self.sources[term]
        return spelling(term, self.sources[term])


def read_query(text: str, vocabulary: Vocabulary, *, own: Glossary | None = None, bundled: bool = True) -> Query:
    """The distinct terms of `text` with their weights; polite phrases are dropped unless there is nothing else.

    Args:
        text: A question.
        vocabulary: The terms that some tool has.
        own: A glossary of the user's.
        bundled: Whether to use the glossaries that come with hikidashi.
    """
    analyzer = vocabulary.analyzer
    sources = analyzer.sources(text)
    is_short = sum(not is_request(term) for term in sources) <= _SHORT
    understanding = understand(
        _FILE_NAME.sub(" ", text),  # file names say nothing about the language
        lambda word: stem(word) in vocabulary,
        own,
        bundled=bundled,
        is_short=is_short,
        is_misspelled=lambda word: bool(vocabulary.nearest(word) or vocabulary.nearest(stem(word))),
    )
    for term in _stop_terms(understanding, analyzer):
        sources.pop(term, None)
    asked = [term for term in sources if not is_request(term)] or list(sources)
    literal = _literal_terms(text, asked, analyzer)
    query = Query(
        is_statement=is_statement(text) if understanding.is_statement is None else understanding.is_statement,
        is_clear_request=is_clear_request(text)
        if understanding.is_clear_request is None
        else understanding.is_clear_request,
        understanding=understanding,
        version=vocabulary.version,
    )
    translated = {stem(word) for word in understanding.explained}
    hinted = _add_synonyms(query, understanding, asked, vocabulary)
    # `billing-api`, `suzuki-san`: hyphenated with a word that no tool has, unlike `follow-up`.
    joined = {source for term, source in sources.items() if term not in vocabulary and _JOINED.fullmatch(source)}
    first = next(iter(sources.values()), "")  # a capital letter does not make the first word a name
    for term in asked:
        source = sources[term]
        is_file = _FILE.search(source) is not None
        is_name = source[0].isupper() and not understanding.nouns_have_capitals
        is_literal = is_file or term in literal
        is_value = is_name or is_literal or _VALUE.search(source) is not None
        if term in vocabulary:
            query.weights[term] = _IN_LITERAL if is_literal else _IN_PHRASE if term in query.phrases else 1.0
            query.sources[term] = source
            if (is_value and (source is not first or is_literal)) or source in joined:
                query.optional.add(term)
            continue
        if term in translated:
            continue
        word = spelling(term, source)
        # `never` is not a misspelled `newer`; words of a glossary or of another language are not misspelled English.
        may_be_typo = (source is first or not is_value) and not is_weak(term) and not understanding.foreign
        may_be_typo = may_be_typo and term not in hinted
        respelled = may_be_typo and _add_corrections(query, term, word, vocabulary)
        if not respelled and not is_value and source not in joined:
            query.missing.append(word)
    _add_translations(query, text, understanding, vocabulary)
    # Words of the question itself come first in explanations.
    query.weights = dict(sorted(query.weights.items(), key=lambda item: item[0] in query.synonyms))
    return query


def _literal_terms(text: str, asked: list[str], analyzer: Analyzer) -> set[str]:
    """The terms that are only in literal values of a question; none if the rest does not say what is wanted."""
    rest = without_literals(text, kinds=False)
    if rest == text:
        return set()
    outside = set(analyzer.terms(rest))
    inside = {term for term in asked if term not in outside}
    return inside if any(term in outside and not is_weak(term) for term in asked) else set()


def _stop_terms(understanding: Understanding, analyzer: Analyzer) -> set[str]:
    """The terms of the stop words of the question's language."""
    words = set(understanding.stop_words)
    if understanding.foreign:  # `come` and `son` are not English words then
        words.update(word for word in understanding.words if word in EVERYDAY and word not in understanding.explained)
    return {term for word in words for term in analyzer.terms(word)}


def _add_translations(query: Query, text: str, understanding: Understanding, vocabulary: Vocabulary) -> None:
    """Add the translations of words in other languages."""
    analyzer = vocabulary.analyzer
    unexplained = fold(text)
    nowhere: list[str] = []
    for word, english in understanding.translations:
        unexplained = unexplained.replace(word, " ")
        meanings: dict[str, tuple[str, float]] = {}
        for meaning in english:
            terms = analyzer.sources(meaning)
            # The words of a further meaning, such as `address book` beside `contact`, count as one word together.
            weight = _FURTHER / max(len(terms), 1) if meanings else _TRANSLATED
            for term, piece in terms.items():
                if term in vocabulary and (term not in meanings or meanings[term][1] < weight):
                    meanings[term] = piece, weight
        if meanings:
            query.glossed.append(word)
        elif word.isascii() and not any(map(analyzer.terms, english)):  # `tous`, `todo el mundo`: grammar in English
            for term in analyzer.terms(word):
                query.weights.pop(term, None)
        elif not any(term in vocabulary for term in analyzer.terms(word)):
            nowhere.append(word)
            if any(all(map(is_everyday, analyzer.terms(meaning))) for meaning in english):
                query.everyday.add(word)
        for term, (piece, weight) in meanings.items():
            if term not in query.weights:
                query.weights[term] = weight
                query.sources[term] = word
                query.translations[term] = spelling(term, piece)
    if not text.isascii():  # a translated word need not occur untranslated
        for word in understanding.stop_words:
            unexplained = unexplained if word.isascii() else unexplained.replace(word, " ")
        rest = dict.fromkeys(analyzer.terms(unexplained))
        query.missing = [word for word in query.missing if word.isascii() or word in rest]
        # A bigram of the end of one word and the beginning of the next is not what is asked for.
        between = [term for term in query.weights if not term.isascii() and term not in rest]
        query.optional.update(term for term in between if not any(term in word for word in query.glossed))
        query.missing += [term for term in rest if len(term) == 1 and is_han(term) and term not in vocabulary]
    query.missing += nowhere


def _add_synonyms(query: Query, understanding: Understanding, asked: list[str], vocabulary: Vocabulary) -> set[str]:
    """Add synonyms; the terms of the question that have some."""
    terms_of, idf = vocabulary.analyzer.terms, vocabulary.idf
    understood: set[str] = set()
    for found in understanding.everyday:
        own = [term for place in found.places for term in terms_of(understanding.words[place])]
        others = [term for meaning in found.english for term in terms_of(meaning) if term in vocabulary]
        others = [term for term in dict.fromkeys(others) if term not in own and term not in asked]
        is_phrase = len(found.places) > 1
        stands = not is_phrase and bool(own) and own[0] in vocabulary
        if not own or not others:
            continue
        understood.update(own)
        if is_phrase:
            query.phrases.update((term, found.word) for term in own if is_weak(term) or term not in vocabulary)
        for term in others:
            if term not in query.weights:
                query.weights[term] = _BESIDE * min(1.0, idf(own[0]) / idf(term)) if stands else _IN_PLACE
                query.sources[term] = found.word
                query.synonyms[term] = found.word if is_phrase else own[0]
                query.optional.add(term)
    return understood


def _add_corrections(query: Query, term: str, word: str, vocabulary: Vocabulary) -> bool:
    """Add the terms that `word` may be a misspelling of; False if there are none."""
    guesses = vocabulary.nearest(word) or (vocabulary.nearest(term) if term != word else [])
    for guess in guesses:
        if guess not in query.weights:
            query.weights[guess] = _RESPELLED / len(guesses) ** 0.5
            query.sources[guess] = word
            query.respelled.add(guess)
    return bool(guesses)


# Literal values: addresses, ids, paths, long numbers and quotations. They say what to work on, not what to do, and
# match the example values in descriptions by chance.
_FEWEST_WORDS = 5  # of a quotation: a shorter one may be the name of a tool, or what to search for
_FEWEST_LETTERS = 13  # of a quotation in a script without spaces
_LITERAL = re.compile(
    r"""
      (?P<text>
          "[^"\n]{1,2000}" | “[^”\n]{1,2000}” | «[^»\n]{1,2000}» | „[^“”\n]{1,2000}[“”]
        | 「[^」\n]{1,2000}」 | 『[^』\n]{1,2000}』 | (?<!\w)'[^'\n]{1,2000}'(?!\w)
      )
    | (?P<link>\b[a-z][a-z0-9+.-]{1,20}://[^\s"'<>「」『』]{1,2000})
    | (?P<address>(?<![\w.+-])[\w.+-]{1,64}@\w[\w-]{0,63}(?:\.[\w-]{1,63}){1,8})
    | (?P<path>
          (?<![\w/~.])(?:~|\.{1,2})?(?:/[\w.@+-]{1,255}){2,40}/?
        | (?<![\w/~.])(?:~|\.{1,2})/[\w.@+-]{1,255}/?
        | (?<!\w)[A-Z]:\\[^\s"'<>|]{1,255}
      )
    | (?P<id>
          (?<![\w-])[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}(?![\w-])
        | (?<![\w-])(?=[a-z]{0,64}\d)(?=\d{0,64}[a-z])[0-9a-f]{7,64}(?![\w-])
      )
    | (?P<number>(?<![\w.])\+?\d(?:[\d,.()\s-]{3,40}\d)(?!\w))
    """,
    re.IGNORECASE | re.VERBOSE,
)
_LONG_NUMBER = 5  # digits
_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_WORD = re.compile(r"\w+")
_JOINED_NAME = re.compile(r"\w+(?:[-./:]\w+)+")  # more likely a name than a text, however many words it has


def without_literals(text: str, *, kinds: bool = True) -> str:
    """`text` with each literal value replaced by its kind, such as `address`; unchanged if it has nothing else.

    Args:
        text: A question.
        kinds: If false, literal values are left out.
    """
    rest = _LITERAL.sub(lambda match: " " if _is_literal(match) else match[0], text)
    if rest == text or not _WORD.search(rest):
        return text
    if not kinds:
        return rest
    return _LITERAL.sub(lambda match: str(match.lastgroup) if _is_literal(match) else match[0], text)


def literals(text: str) -> list[str]:
    """The literal values in `text`, and all that is in quotes but single short words; without the quotes."""
    found = [match[0][1:-1] if match.lastgroup == "text" else match[0] for match in _LITERAL.finditer(text)]
    return [one for one in found if not one.isalpha() or len(one) >= _FEWEST_LETTERS]


def _is_literal(match: re.Match[str]) -> bool:
    if match.lastgroup == "text":
        inside = match[0][1:-1]
        if _JOINED_NAME.fullmatch(inside) and not _LITERAL.fullmatch(inside):
            return False
        words = _WORD.findall(match[0])
        return len(words) >= _FEWEST_WORDS or (
            not match[0].isascii() and max(map(len, words), default=0) >= _FEWEST_LETTERS
        )
    if match.lastgroup == "number":
        return sum(map(str.isdigit, match[0])) >= _LONG_NUMBER and not _DATE.fullmatch(match[0])
    return True
