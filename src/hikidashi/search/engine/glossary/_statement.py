"""Whether a question in German, Spanish, French or Korean is a request or a statement.

A statement shares words with tools by chance. It has a subject or a finite verb, and begins neither with a question
word nor with a verb, as requests do. Exclamations and good
wishes are statements too: `qué pena`, `joyeux anniversaire`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ._inflection import bases
from ._lexicon import Lexicon
from .files import everyday_words, plain_letters

__all__ = ["is_clear_request", "is_statement"]

_STATEMENT = {
    "de": """er sie es wir man ich du niemand jemand jeder keiner alle war waren hat hatte hatten ist sind wurde
        wurden bin bist habe hast mir dir mich dich immer nie niemals manchmal fruher einmal nicht kein
        keine keinen schon doch seid warst wart hab musste mussten wollte durfte ging gingen kam kamen sah fiel stand
        lief sang sprach schrieb blieb blieben fand gab nahm trug sass lag rief roch hiess wuchs starb schlief dachte
        brachte kannte wusste dauerte machte sagte lachte weinte spielte wohnte kochte liebte lebte fragte""",
    "es": """ella ellos ellas nadie alguien todos siempre nunca jamas era eran estaba estaban habia fue fueron es esta
        estan son soy se me le les yo tu nos creo ni eres estoy estas estamos somos estuve estuvo estuvimos fui fuimos
        tuve tuvo hubo hizo hice dijo dije vino vine puso quiso supo dio dieron tenia queria podia decia vivia solia
        olia sentia parecia creia veia reia dormia naci perdi comi vivi sali volvi dormi rei""",
    "fr": """il elle ils elles on nous je j tu personne rien toujours jamais etait etaient avait avaient est sont ont
        fut ne n c ca suis es sommes etes etais etions ai as avons avez avais m t me te sera seront serai""",
    "ko": "",
}
_REQUEST = {
    "de": """bitte mochte mochten will wollen brauche brauchen kann kannst konnen konntest konnte soll sollen zeig zeige
        gib hilf benotige benotigen suche suchen""",
    "es": """favor quiero quisiera queremos querria necesito necesitamos puedes puede podrias podria podemos dame dime
        gustaria busco buscamos buscando deseo""",
    "fr": """plait veux voulons voudrais voudrait voudrions souhaite souhaiterais souhaitons dois devons aimerais
        aimerions peux peut pouvez pourrais pourriez besoin cherche cherchons""",
}
# Wishes in which letters with accents count: `wüsste` is a wish, `wusste` the past tense.
_WISH = {
    "de": re.compile(r"\b(?:wüssten?|bräuchten?|hätten?|würden?) |\bmuss\b"),
    "es": re.compile(r"\b(?:hacen? falta|tengo que|tenemos que|hay que)\b"),
    "fr": re.compile(r"\bil (?:me|nous) fau(?:t|drait)\b|\bil faudrait\b"),
}
# Past tenses, exclamations and good wishes to people: statements, also if they begin like a question or an order.
_TOLD = {
    "de": re.compile(
        r"\b(?:nichts|niemand|nie)\b|\bwas für ein|^(?:vielen )?danke? für|glückwunsch|^alles gute\b"
        r"|^gute (?:nacht|besserung)"
        r"|^viel (?:glück|spaß|erfolg)|tut mir leid|^bis (?:morgen|später|bald|dann)(?=\W*$|,)"
        r"|freut mich|schönes wochenende"
        r"|^frohe[sn]?\b|^(?:ha){2,}"
    ),
    "es": re.compile(
        r"\btodo el mundo\b|\b(?:nada|nadie|nunca|jamás)\b|\b\w{3,}ó\b|\bqué \w+ (?:tan|más)\b"
        r"|^(?:muchas |mil )?gracias por|^feliz|enhorabuena"
        r"|felicidades|^lo siento|^hasta (?:luego|mañana|pronto)|nos vemos|^(?:ja){2,}|^(?:je){2,}|^así es\b"
    ),
    "fr": re.compile(
        r"\btout le monde\b|\b(?:rien|jamais)\b"
        r"|\b(?:a|ont|ai|as|avons|avez) (?:\w+ )?(?:\w+(?:é|ée|és|ées)|fait|dit|ri|vu|pris|mis|eu|été|perdu)\b"
        r"|^merci (?:beaucoup )?(?:pour|de|d')|^joyeu(?:x|se)"
        r"|^bonne? (?:anniversaire|nuit|journée|soirée|chance|année|semaine)"
        r"|félicitations|^désolée?|^à (?:demain|bientôt|plus)|^enchantée?|^on verra"
    ),
}
# `mi abuela cocina de maravilla`: about people that one has.
_OWN = {
    "de": "mein meine dein deine unser unsere sein seine ihr ihre",
    "es": "mi mis tu tus su sus nuestro nuestra nuestros nuestras",
    "fr": "mon ma mes ton ta tes son sa ses notre nos",
}
_EXCLAMATION = {
    "de": re.compile(r"(?!)"),
    "es": re.compile(r"\bqué ((?:\w+ ?){1,3})(?=[^\w ]|$)"),
    "fr": re.compile(r"\bquel(?:le)?s? ((?:\w+ ?){1,3})(?=[^\w ]|$)"),
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
_NO_ORDER = {"de": (), "es": ("aba", "aban", "ia", "ian"), "fr": ("ait", "aient")}  # past tenses
_QUESTION = re.compile(r"[?？¿]")
_KOREAN_STATEMENT = re.compile(
    r"([가-힣]*(?:다|네|군|구나|지|어|아|요|야|더라|거든|는데|봐|축하해))[.!…~\s]*$"
    r"|[이가은는] (?:.* )?([가-힣]+해)[.!…~\s]*$"
)
_KOREAN_REQUEST = re.compile(
    r"줘|주세요|주십|주실|바랍|부탁|싶|알려|보여|찾아|까요|나요|을까|ㄹ까|어때|얼마|어디|무엇|뭐|언제(?!나)|하기|해라"
    r"|필요|몇|수 있|[을를] (?:.* )?[가-힣]+세요"
)

_STATEMENT_WORDS = {language: frozenset(words.split()) for language, words in _STATEMENT.items()}
_REQUEST_WORDS = {language: frozenset(words.split()) for language, words in _REQUEST.items()}
_GREETING_WORDS = {language: frozenset(words.split()) for language, words in _GREETINGS.items()}
_OWN_WORDS = {language: frozenset(words.split()) for language, words in _OWN.items()}
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
        told = _KOREAN_STATEMENT.search(text)
        if told is None or _KOREAN_REQUEST.search(text) is not None:
            return False
        last = told[1] or told[2]
        return last.endswith("세요") or last not in lexicon.meanings  # nouns end like verbs: 메시지, 영어
    words = _without_greetings(words, language)
    lower = text.lower().replace("’", "'").strip()
    if not words or _REQUEST_WORDS[language].intersection(words) or _WISH[language].search(lower):
        return not words
    if _TOLD[language].search(lower) or _is_exclamation(lower, language) or _is_about_people(words, language):
        return True
    if not _STATEMENT_WORDS[language].intersection(words) and not _is_told(words, lexicon):
        return False
    return not _FIRST_WORDS[language].intersection(words[:2]) and not _is_verb(words[0], lexicon)


def is_clear_request(text: str, words: Sequence[str], lexicon: Lexicon) -> bool:
    """Whether `text` asks for something in so many words: a question, a wish, or an order. False if in doubt."""
    if _QUESTION.search(text):
        return True
    language = lexicon.language
    if language == "ko":
        return _KOREAN_REQUEST.search(text) is not None
    words = _without_greetings(words, language)
    if not words or _REQUEST_WORDS[language].intersection(words) or _WISH[language].search(text.lower()):
        return bool(words)
    return words[0] in _FIRST_WORDS[language] or _is_verb(words[0], lexicon)


def _is_about_people(words: Sequence[str], language: str) -> bool:
    return len(words) > 2 and words[0] in _OWN_WORDS[language] and words[1] in everyday_words(language)


def _is_exclamation(lower: str, language: str) -> bool:
    """Whether a question word introduces everyday words alone, up to the end of the clause: `quelle belle surprise`."""
    known = everyday_words(language)
    clauses = (plain_letters(found[1]).split() for found in _EXCLAMATION[language].finditer(lower))
    return any(any(not known.isdisjoint(bases(word, language)) for word in words) for words in clauses)


def _without_greetings(words: Sequence[str], language: str) -> Sequence[str]:
    first = next((place for place, word in enumerate(words) if word not in _GREETING_WORDS[language]), len(words))
    return words[first:]


def _is_told(words: Sequence[str], lexicon: Lexicon) -> bool:
    """Whether a verb is in the imperfect, the tense of stories: `ma grand-mère chantait`."""
    endings = _IMPERFECT[lexicon.language]
    return any(len(word) > _LONG and word.endswith(endings) and word not in lexicon.meanings for word in words[1:])


def _is_verb(word: str, lexicon: Lexicon) -> bool:
    if word.endswith(_NO_ORDER[lexicon.language]):
        return False
    endings = _INFINITIVES[lexicon.language]
    return any(base.endswith(endings) and base in lexicon.meanings for base in bases(word, lexicon.language))
