"""Whether a question in German, Spanish, French or Korean is a request or a statement.

A statement shares words with tools by chance. It has a subject or a finite verb, and begins neither with a question
word nor with a verb, as requests do.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ._inflection import bases
from ._lexicon import Lexicon

__all__ = ["is_statement"]

_STATEMENT = {
    "de": """er sie es wir man ich du niemand jemand jeder keiner alle war waren hat hatte hatten ist sind wurde
        wurden bin bist habe hast mir dir mich dich immer nie niemals manchmal fruher einmal nicht kein
        keine keinen schon doch""",
    "es": """ella ellos ellas nadie alguien todos siempre nunca jamas era eran estaba estaban habia fue fueron es esta
        estan son soy se me le les yo tu nos creo ni""",
    "fr": """il elle ils elles on nous je j tu personne rien toujours jamais etait etaient avait avaient est sont ont
        fut ne n c""",
    "ko": "",
}
_REQUEST = {
    "de": """bitte mochte mochten will wollen brauche brauchen kann kannst konnen konntest konnte soll sollen zeig zeige
        gib hilf""",
    "es": "favor quiero quisiera necesito puedes puede podrias podria dame dime",
    "fr": """plait veux voudrais voudrait souhaite souhaiterais dois aimerais peux peut pouvez pourrais pourriez
        besoin""",
}
# Question words, if first or second: later they join clauses.
_FIRST = {
    "de": "wie was wo wann welche welcher welches welchen wer warum wieviel wieviele",
    "es": "como cual cuales que donde cuanto cuanta cuantos cuantas cuando quien",
    "fr": "quel quelle quels quelles comment combien quand ou qui",
}
# Before a sentence, they say nothing about it.
_GREETINGS = {
    "de": "danke hallo hey hi guten gute tag morgen abend servus moin vielen dank liebe lieber grusse na ja nein",
    "es": "hola gracias mil muchas buenos buenas dias tardes noches si no bueno pues oye",
    "fr": "bonjour bonsoir salut merci mille fois beaucoup coucou oui non bon ah oh",
}
_IMPERFECT = {"de": (), "es": ("aba", "aban", "abamos"), "fr": ("ait", "aient")}
_INFINITIVES = {"de": ("en", "ern", "eln"), "es": ("ar", "er", "ir"), "fr": ("er", "ir", "re", "oir")}
_QUESTION = re.compile(r"[?？¿]")
_KOREAN_STATEMENT = re.compile(r"(?:다|네|군|구나|지|어|아|요)[.!…~\s]*$")
_KOREAN_REQUEST = re.compile(
    r"줘|주세요|주십|주실|바랍|부탁|싶|알려|보여|찾아|까요|나요|을까|ㄹ까|어때|얼마|어디|무엇|뭐|언제|하기|해라"
)

_STATEMENT_WORDS = {language: frozenset(words.split()) for language, words in _STATEMENT.items()}
_REQUEST_WORDS = {language: frozenset(words.split()) for language, words in _REQUEST.items()}
_GREETING_WORDS = {language: frozenset(words.split()) for language, words in _GREETINGS.items()}
_LONG = 5  # letters: `fait`, `lait`
_FIRST_WORDS = {language: frozenset(words.split()) for language, words in _FIRST.items()}


def is_statement(text: str, words: Sequence[str], lexicon: Lexicon) -> bool:
    """Whether `text` in the language of `lexicon` is a statement.

    Args:
        text: A question.
        words: Its words in plain lower-case letters; not used for Korean.
        lexicon: The glossary of the language.
    """
    if _QUESTION.search(text):
        return False
    language = lexicon.language
    if language == "ko":
        return _KOREAN_STATEMENT.search(text) is not None and _KOREAN_REQUEST.search(text) is None
    words = _without_greetings(words, language)
    if not words or _REQUEST_WORDS[language].intersection(words):
        return not words
    if not _STATEMENT_WORDS[language].intersection(words) and not _is_told(words, lexicon):
        return False
    return not _FIRST_WORDS[language].intersection(words[:2]) and not _is_verb(words[0], lexicon)


def _without_greetings(words: Sequence[str], language: str) -> Sequence[str]:
    first = next((place for place, word in enumerate(words) if word not in _GREETING_WORDS[language]), len(words))
    return words[first:]


def _is_told(words: Sequence[str], lexicon: Lexicon) -> bool:
    """Whether a verb is in the imperfect, the tense of stories: `ma grand-mère chantait`."""
    endings = _IMPERFECT[lexicon.language]
    return any(len(word) > _LONG and word.endswith(endings) and word not in lexicon.meanings for word in words[1:])


def _is_verb(word: str, lexicon: Lexicon) -> bool:
    endings = _INFINITIVES[lexicon.language]
    return any(base.endswith(endings) and base in lexicon.meanings for base in bases(word, lexicon.language))
