"""A conservative stemmer for English: `creates`, `creating` and `creation` have the stem `creat`.

A rule applies only if a stem of some length with a vowel remains: overstemming (`flower`, `flow`) harms a search more
than understemming (`payment`, `pay`).
"""

from __future__ import annotations

import re
from functools import lru_cache

from ._variants import SAME

__all__ = ["IRREGULAR", "stem"]

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


IRREGULAR.update({form: IRREGULAR.get(base) or _regular(base) for form, base in SAME.items()})
