"""A question becomes weighted index terms, and keeps the words they stand for."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from ._wording import is_told
from .analyzer import Analyzer, fold, is_han, is_request, is_weak, spelling
from .entry import Entry
from .glossary import Glossary, Understanding, understand
from .stem import stem
from .stopwords import EVERYDAY
from .vocabulary import Vocabulary

__all__ = ["Query", "read_query"]

# A translation may be the wrong one of several, and a guess at spelling may be wrong: either counts, but a word
# that stands there as it was asked for counts more. What tools call a thing that people call otherwise is a hint:
# a weak one beside a word that some tool has, a stronger one in place of a phrase or of a word that none has.
_TRANSLATED = 0.7
_RESPELLED = 0.7
_BESIDE = 0.2
_IN_PLACE = 0.5
_IN_PHRASE = 0.6  # for `get` in `get rid of`
_SHORT = 10  # terms: a longer question says itself what it means, and hints for its words would only blur it
# The name of a file is what to do it with, and has words that tell of its content.
_IN_FILE_NAME = 0.3

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
    """What to look up."""

    weights: dict[str, float] = field(default_factory=dict[str, float])
    """The terms that some tool has, and how much each counts."""
    missing: list[str] = field(default_factory=list[str])
    """The words that no tool has in any form. Names and numbers are left out: they are values rather than wishes."""
    sources: dict[str, str] = field(default_factory=dict[str, str])
    """The piece of the question that each term comes from."""
    translations: dict[str, str] = field(default_factory=dict[str, str])
    """For terms that come from a glossary: the English word looked up."""
    respelled: set[str] = field(default_factory=set[str])
    """The terms that are guesses at what a misspelled word should be."""
    relatives: dict[str, str] = field(default_factory=dict[str, str])
    """For terms that mean nearly what a word or phrase of the question does: the term of that word, or the phrase."""
    phrases: dict[str, str] = field(default_factory=dict[str, str])
    """For terms that stand in a phrase which is understood as a whole: that phrase."""
    optional: set[str] = field(default_factory=set[str])
    """The terms that a tool may well lack: relatives, and names and numbers, which are what to do it with."""

    glossed: list[str] = field(default_factory=list[str])
    """The words that a glossary explains, and that some tool has in English."""
    is_told: bool = False
    """Whether it is worded as something told rather than asked for."""

    def word_of(self, term: str) -> str:
        """The word of the question that `term` stands for, alone or with others."""
        if term in self.translations or term in self.respelled:
            return self.sources[term]
        if term in self.relatives:
            return self.relatives[term]
        if term in self.phrases:
            return self.phrases[term]
        if term.isascii():
            return term
        return next((word for word in self.glossed if term in word), term)

    @property
    def unknown(self) -> float:
        """How much of the question is in words that no tool has, from 0 to 1."""
        known = len(self.weights.keys() - self.optional - self.respelled)
        return len(self.missing) / ((len(self.missing) + known) or 1)

    def words_in(self, entry: Entry) -> dict[str, tuple[str, ...]]:
        """Which words of the question are in which field of a tool; `送信→send` for one that was translated."""
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
        """The word of the question that `term` comes from, and what it became; `there` is how a tool writes it."""
        if term in self.translations:
            return f"{self.sources[term]}→{self.translations[term]}"
        if term in self.respelled:
            return f"{self.sources[term]}→{spelling(term, there)}" if there else self.sources[term]
        if term in self.relatives:
            return f"{self.sources[term]}→{spelling(term, there)}" if there else self.sources[term]
        return spelling(term, self.sources[term])


def read_query(text: str, vocabulary: Vocabulary, *, own: Glossary | None = None, bundled: bool = True) -> Query:
    """The terms of `text`, each once; phrases of politeness are dropped unless there is nothing else.

    Args:
        text: A question.
        vocabulary: The terms that some tool has.
        own: A glossary of the user's.
        bundled: Whether to use the glossaries that come with hikidashi.
    """
    analyzer = vocabulary.analyzer
    sources = analyzer.sources(text)
    is_short = sum(not is_request(term) for term in sources) <= _SHORT
    heard = understand(
        _FILE_NAME.sub(" ", text),  # what a file is called says nothing about the language
        lambda word: stem(word) in vocabulary,
        own,
        bundled=bundled,
        is_short=is_short,
        is_misspelled=lambda word: bool(vocabulary.nearest(word) or vocabulary.nearest(stem(word))),
    )
    for term in _silent(heard, analyzer):
        sources.pop(term, None)
    asked = [term for term in sources if not is_request(term)] or list(sources)
    query = Query(is_told=is_told(text) if heard.is_told is None else heard.is_told)
    translated = {stem(word) for word in heard.explained}
    hinted = _hint(query, heard, asked, vocabulary)
    # `billing-api`, `suzuki-san`: joined by a hyphen to what no tool has, unlike `follow-up`.
    joined = {source for term, source in sources.items() if term not in vocabulary and _JOINED.fullmatch(source)}
    first = next(iter(sources.values()), "")  # a capital letter there does not make it a name
    for term in asked:
        source = sources[term]
        is_file = _FILE.search(source) is not None
        is_name = source[0].isupper() and not heard.nouns_have_capitals
        is_value = is_name or _VALUE.search(source) is not None
        if term in vocabulary:
            query.weights[term] = _IN_FILE_NAME if is_file else _IN_PHRASE if term in query.phrases else 1.0
            query.sources[term] = source
            if (is_value and (source is not first or is_file)) or source in joined:
                query.optional.add(term)
            continue
        if term in translated:
            continue
        word = spelling(term, source)
        # Nobody means `newer` by `never`, and what a glossary knows or another language has is no misspelled English.
        may_be_typo = (source is first or not is_value) and not is_weak(term) and not heard.foreign
        may_be_typo = may_be_typo and term not in hinted
        respelled = may_be_typo and _respell(query, term, word, vocabulary)
        if not respelled and not is_value and source not in joined:
            query.missing.append(word)
    _translate(query, text, heard, vocabulary)
    # What stands there as it was asked for is told first.
    query.weights = dict(sorted(query.weights.items(), key=lambda item: item[0] in query.relatives))
    return query


def _silent(heard: Understanding, analyzer: Analyzer) -> set[str]:
    """The terms that are not to be searched: stop words of the question's language."""
    words = set(heard.silent)
    if heard.foreign:  # `come` and `son` are no English there
        words.update(word for word in heard.words if word in EVERYDAY and word not in heard.explained)
    return {term for word in words for term in analyzer.terms(word)}


def _translate(query: Query, text: str, heard: Understanding, vocabulary: Vocabulary) -> None:
    """Look up what words of other languages mean."""
    analyzer = vocabulary.analyzer
    unexplained = fold(text)
    nowhere: list[str] = []
    for word, english in heard.translations:
        unexplained = unexplained.replace(word, " ")
        meanings = [
            found for meaning in english for found in analyzer.sources(meaning).items() if found[0] in vocabulary
        ]
        if meanings:
            query.glossed.append(word)
        elif not any(term in vocabulary for term in analyzer.terms(word)):
            nowhere.append(word)
        for term, piece in meanings:
            if term not in query.weights:
                query.weights[term] = _TRANSLATED
                query.sources[term] = word
                query.translations[term] = spelling(term, piece)
    if not text.isascii():  # what is explained need not be there in its own letters
        for word in heard.silent:
            unexplained = unexplained if word.isascii() else unexplained.replace(word, " ")
        rest = set(analyzer.terms(unexplained))
        query.missing = [word for word in query.missing if word.isascii() or word in rest]
        query.missing += [term for term in rest if len(term) == 1 and is_han(term) and term not in vocabulary]
    query.missing += nowhere


def _hint(query: Query, heard: Understanding, asked: list[str], vocabulary: Vocabulary) -> set[str]:
    """Look up what tools call the things that people call otherwise; the terms of the question that were understood."""
    terms_of, idf = vocabulary.analyzer.terms, vocabulary.idf
    understood: set[str] = set()
    for found in heard.everyday:
        own = [term for place in found.places for term in terms_of(heard.words[place])]
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
                query.relatives[term] = found.word if is_phrase else own[0]
                query.optional.add(term)
    return understood


def _respell(query: Query, term: str, word: str, vocabulary: Vocabulary) -> bool:
    """Look up the words that `word` may be a misspelling of; False where there are none."""
    guesses = vocabulary.nearest(word) or (vocabulary.nearest(term) if term != word else [])
    for guess in guesses:
        if guess not in query.weights:
            query.weights[guess] = _RESPELLED / len(guesses) ** 0.5
            query.sources[guess] = word
            query.respelled.add(guess)
    return bool(guesses)
