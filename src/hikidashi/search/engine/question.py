"""A question: what may be asked, and how it is read.

It becomes weighted terms, with corrected spellings and synonyms, and a text for the encoder.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from math import isnan, nan
from numbers import Real
from typing import Any, Literal

from ...errors import ToolSearchError
from .analyzer import Analyzer, is_request, is_unspaced, share_of_word, spelling, visible
from .entry import Entry
from .glossary import Found, Glossary, synonyms
from .index import Index, Vocabulary
from .patterns import MAX_PATTERN
from .spelling import form_of

MAX_TOOLS = 10_000
MAX_QUERY = 500
MAX_LIMIT = 50
SELECT = "select:"
"""What a list of names begins with."""
_MAX_SELECT = 10_000
"""The maximum length of a query that lists names: 50 of 128 characters, which some servers use, and more."""
_LONGEST_WAIT = 1e9  # seconds: systems refuse to wait for some thousand times as long


def checked_question(query: object, most: int) -> str:
    """As `checked_query`, but a list of names (`select:a,b`) may be longer than a question."""
    is_list = isinstance(query, str) and query.lstrip().startswith(SELECT)
    return checked_query(query, max(most, _MAX_SELECT) if is_list else most)


def checked_query(query: object, most: int) -> str:
    """`query` without invisible characters and surrounding space.

    Raises:
        ToolSearchError: it is not text, is empty, or has more than `most` characters.
    """
    text = _checked_text("query", query)
    seen = visible(text).strip()
    if not seen:
        raise ToolSearchError("invalid_tool_input", "The query is empty. Say in a few words what the tool should do.")
    if len(text) > most:
        raise ToolSearchError(
            "invalid_tool_input",
            f"The query has {len(text)} characters, and the limit is {most}. "
            "Ask for one action in a few words, or search once per action.",
        )
    return seen


def checked_pattern(pattern: object) -> str:
    """`pattern` without invisible characters.

    Raises:
        ToolSearchError: it is not text, is empty, or is too long.
    """
    text = _checked_text("pattern", pattern)
    if len(text) > MAX_PATTERN:
        raise ToolSearchError(
            "pattern_too_long",
            f"The pattern has {len(text)} characters, and the limit is {MAX_PATTERN}. "
            "Use the rarest part of it, or search by words.",
        )
    seen = visible(text)
    if not seen:
        raise ToolSearchError("invalid_pattern", "The pattern is empty. Write a part of a name or description.")
    return seen


def check_limit(limit: object, tools: int) -> None:
    """Raise unless a catalogue with `tools` tools can be asked for `limit` results.

    Raises:
        ToolSearchError: `limit` is out of range, or there are no tools.
    """
    if type(limit) is not int or not 1 <= limit <= MAX_LIMIT:
        raise ToolSearchError(
            "invalid_tool_input", f"`limit` is {limit!r}: use a whole number from 1 to {MAX_LIMIT}; 5 is usual."
        )
    if not tools:
        raise ToolSearchError("unavailable", "The catalogue is empty. Add tools to it first.")


def check_count(option: str, value: object) -> int:
    """`value`, a limit of a catalogue.

    Raises:
        ToolSearchError: it is not a whole number of at least 0.
    """
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise ToolSearchError("invalid_tool_input", f"`{option}` is {value!r:.100}: use a whole number from 0 on.")
    return value


def checked_seconds(option: str, value: object) -> float | None:
    """`value`, how long to wait at most: None for no maximum, and not at all for less than 0.

    Raises:
        ToolSearchError: it is not a number.
    """
    if value is None:
        return None
    given: Any = value
    seconds = nan if isinstance(given, bool) or not isinstance(given, Real) else float(min(given, _LONGEST_WAIT))
    if isnan(seconds):
        raise ToolSearchError(
            "invalid_tool_input", f"`{option}` is {value!r:.100}: use a number of seconds, or None for no maximum."
        )
    return seconds


def full(most: int, why: str) -> ToolSearchError:
    """The error for more tools than `limit_tools`."""
    return ToolSearchError(
        "invalid_tool_input",
        f"The catalogue takes {most} tools, and {why}. Pass a higher `limit_tools`, or split the catalogue.",
    )


def _checked_text(name: str, text: object) -> str:
    if not isinstance(text, str):
        raise ToolSearchError("invalid_tool_input", f"`{name}` is {text!r}: it must be text.")
    return text


# Weights of terms that are not words of the question itself: a corrected spelling or a word of a glossary may be wrong.
# A synonym counts little beside a word that some tool has, and more in place of one that none has.
_CORRECTED = 0.7
_OWN = 0.7
_IN_PHRASE = 0.6  # for `running` in `running out of space`
_BESIDE = 0.2
_IN_PLACE = 0.5
# File names, addresses, quotations: values, but their words say something about what is wanted.
_IN_LITERAL = 0.3
_SHORT = 10  # terms: in a longer question, synonyms for words that tools have do more harm than good

_VALUE = re.compile(r"\d|[^\W_][._][^\W_]")  # numbers, dates, identifiers, addresses, names of files


Guess = Literal["glossary", "corrected", "synonym"]


@dataclass(slots=True)
class Question:
    """The terms of a question, with their weights, and where each comes from."""

    text: str = ""
    """What the encoder reads: without literal values, and with the spelling corrected where that leaves no choice."""
    weights: dict[str, float] = field(default_factory=dict[str, float])
    """The terms that some tool has."""
    sources: dict[str, str] = field(default_factory=dict[str, str])
    """The token of the question that each term comes from."""
    missing: list[str] = field(default_factory=list[str])
    """The words that no tool has in any form. Names and numbers are left out: they are values."""
    guesses: dict[str, Guess] = field(default_factory=dict[str, Guess])
    """What the terms are that are not the question's own."""
    glossed: dict[str, str] = field(default_factory=dict[str, str])
    """The words of the user's glossary, by term."""
    values: set[str] = field(default_factory=set[str])
    """The terms that are values, such as names and numbers: a tool need not have them."""
    version: int = 0
    """The version of the index whose terms these are."""

    @property
    def has_words(self) -> bool:
        """Whether it has a word that says what is asked for, and not only numbers, signs or grammar."""
        return bool(self.missing or self.weights.keys() - self.values)

    def ideal(self, index: Index) -> float:
        """The score by words of a tool that has every word of the question in its name."""
        words: dict[str, float] = {}
        for term, weight in self.weights.items():
            guess = self.guesses.get(term)
            if term not in self.values and guess != "synonym":
                word = term if guess is None else self.sources[term]  # of several guesses for a word, one counts
                words[word] = max(words.get(word, 0.0), weight * share_of_word(term) * index.idf(term))
        missing = sum(map(share_of_word, self.missing)) * index.idf_at(0)
        return (sum(words.values()) + missing) * index.saturation

    def words_in(self, entry: Entry) -> dict[str, tuple[str, ...]]:
        """The words of the question that match, by field of a tool; `送信→send` for another word of a glossary."""
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
        if term not in self.guesses:
            return spelling(term, self.sources[term])
        became = self.glossed.get(term) or (spelling(term, there) if there else "")
        return f"{self.sources[term]}→{became}" if became else self.sources[term]


def read_question(
    text: str,
    vocabulary: Vocabulary,
    *,
    own: Glossary | None = None,
    with_synonyms: bool = True,
    is_word: Callable[[str], bool] = lambda word: False,
) -> Question:
    """The distinct terms of `text` with their weights; polite phrases are dropped unless there is nothing else.

    Args:
        text: A question.
        vocabulary: The terms that some tool has.
        own: A glossary of the user's.
        with_synonyms: Whether everyday words also stand for the words that tools have for them.
        is_word: Whether a word is spelled right, though no tool has it: not `sense` for `send`.
    """
    analyzer = vocabulary.analyzer
    sources = analyzer.sources(text)
    asked = [term for term in sources if not is_request(term)] or list(sources)
    literal = _literal_terms(text, asked, analyzer)
    question = Question(text=without_literals(text), version=vocabulary.version)
    _add_glossary(question, [] if own is None else list(own.found_in(text)), vocabulary)
    glossed = {term for found in question.sources.values() for term in analyzer.terms(found)}
    similar = list(synonyms().found_in(text)) if with_synonyms and text.isascii() else []
    has_synonym = {term for found in similar for term in analyzer.terms(found.word)}
    first = next(iter(sources.values()), "")  # a capital letter does not make the first word a name
    for term in asked:
        source = sources[term]
        token = term if is_unspaced(source) else source  # without spaces, a token is a whole clause: 予定の30分前に
        is_name = source[0].isupper() and source is not first
        is_value = term in literal or is_name or _VALUE.search(token) is not None
        if term in vocabulary:
            if term not in question.weights:
                question.weights[term] = _IN_LITERAL if term in literal else 1.0
                question.sources[term] = source
            if is_value:
                question.values.add(term)
        elif term not in glossed and not is_value:
            word = spelling(term, source)
            may_be_typo = term not in has_synonym and not (is_word(word) or is_word(term))
            if not (may_be_typo and _add_corrections(question, term, word, vocabulary)):
                question.missing.append(word)
    question.text = _respelled(question)
    _add_synonyms(question, similar, vocabulary, is_short=len(asked) <= _SHORT)
    # Words of the question itself come first in explanations.
    question.weights = dict(sorted(question.weights.items(), key=lambda item: item[0] in question.guesses))
    return question


def _literal_terms(text: str, asked: list[str], analyzer: Analyzer) -> set[str]:
    """The terms that are only in literal values of a question; none if there is nothing else."""
    rest = without_literals(text, kinds=False)
    outside = set(analyzer.terms(rest))
    return {term for term in asked if term not in outside} if rest != text and not outside.isdisjoint(asked) else set()


def _add_glossary(question: Question, found: list[Found], vocabulary: Vocabulary) -> None:
    """Add the words of the user's own glossary."""
    for one in found:
        for other in one.others:
            for term, piece in vocabulary.analyzer.sources(other).items():
                if term in vocabulary:
                    question.weights[term] = _OWN
                    question.sources[term] = one.word
                    question.guesses[term] = "glossary"
                    question.glossed[term] = spelling(term, piece)


def _add_corrections(question: Question, term: str, word: str, vocabulary: Vocabulary) -> bool:
    """Add the terms that `word` may be a misspelling of; False if there are none."""
    guesses = vocabulary.nearest(word) or (vocabulary.nearest(term) if term != word else [])
    for guess in guesses:
        if guess not in question.weights:
            question.weights[guess] = _CORRECTED / len(guesses) ** 0.5
            question.sources[guess] = word
            question.guesses[guess] = "corrected"
    return bool(guesses)


def _respelled(question: Question) -> str:
    """The text with corrections, and with the words of the user's glossary in English.

    Of `sned`, an encoder reads pieces that are near to anything.
    """
    instead: dict[str, list[str]] = {}
    for term, guess in question.guesses.items():
        word = question.sources[term]
        if guess == "corrected":
            instead.setdefault(word, []).append(form_of(term, word))
        else:
            instead.setdefault(word, [question.glossed[term]])
    text = question.text
    for word, forms in instead.items():
        if len(forms) == 1:  # of several corrections, none is sure; of several meanings, the first is the likeliest
            text = re.sub(rf"\b{re.escape(word)}\b", forms[0], text, flags=re.IGNORECASE)
    return text


def _add_synonyms(question: Question, found: list[Found], vocabulary: Vocabulary, *, is_short: bool) -> None:
    terms_of, idf = vocabulary.analyzer.terms, vocabulary.idf
    for one in found:
        own = [term for term in terms_of(one.word) if term in vocabulary]
        if own and not is_short:
            continue
        if len(one.word.split()) > 1:
            question.weights.update((term, _IN_PHRASE) for term in own if question.weights.get(term) == 1)
        others = dict.fromkeys(term for other in one.others for term in terms_of(other) if term in vocabulary)
        for term in others:
            if term not in question.weights:
                weight = _BESIDE * min(1.0, idf(own[0]) / idf(term)) if len(own) == 1 else _IN_PLACE
                question.weights[term] = weight
                question.sources[term] = one.word
                question.guesses[term] = "synonym"


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


# The wishes in a question: `find a hotel and tell Ann` has two, and one vector would be near to neither.
_MOST = 5
_SHORTEST = 3  # words
_PER_CHARACTER = 3 / 4  # words, in a script without spaces
_BETWEEN = re.compile(
    r"(?<=[.!?;])\s+|(?<=[。！？；])|;\s*|\n+|(?<=[てで])、|[、，,]?\s*(?:それから|そして|次に|然后|并且|接着|그리고)\s*"
    r"|,?\s+(?:and|then|also|plus|as well as)\s+"
    r"|,\s+(?=(?:please|then|also|can|could|would|i|we|find|get|show|give|list|check|what|how|which|who|when|where|tell)\b)",
    re.IGNORECASE,
)


def clauses_of(question: str, shortest: int = _SHORTEST) -> list[str]:
    """The clauses of a question that has several, without those of fewer than `shortest` words; else an empty list."""
    parts = [part.strip(" ,.;!、，。；") for part in _BETWEEN.split(question)]
    clauses = [part for part in dict.fromkeys(parts) if _words_in(part) >= shortest]
    return clauses[:_MOST] if len(parts) > 1 else []


def _words_in(text: str) -> int:
    return int(len(text) * _PER_CHARACTER) if is_unspaced(text) else len(text.split())
