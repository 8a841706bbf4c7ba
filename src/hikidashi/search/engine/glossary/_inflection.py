"""Lemmatisation by suffix rules: the base forms that an inflected word may have.

For a word of a question, `bases` gives the forms under which a glossary may have it, the likeliest first. It
overgenerates: forms that are no words are in no glossary.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache

__all__ = ["bases", "separable"]

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
