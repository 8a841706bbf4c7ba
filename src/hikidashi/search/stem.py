"""English words reduced to the part their forms share: `creates`, `creating`, `creation` -> `creat`.

Conservative on purpose: a rule applies only where a stem of some length with a vowel remains, because
two words that wrongly meet (`flower`, `flow`) cost a search more than two that do not (`payment`, `pay`).
"""

from __future__ import annotations

import re

__all__ = ["stem"]

_HAS_VOWEL = re.compile("[aeiouy]")

# Forms that no rule reaches, of words that tools and questions use.
_IRREGULAR = {
    form: base
    for base, forms in {
        "analysi": "analyses analysis",
        "analyz": "analyse analyze analysed analyzed analysing analyzing analyser analyzer",
        "bought": "bought",
        "child": "children",
        "choos": "chose chosen",
        "data": "data datum",
        "driv": "drove driven",
        "find": "found",
        "forecast": "forecast forecasted forecasts",
        "man": "men",
        "meet": "met",
        "new": "news",
        "pay": "paid payment payments",
        "person": "people persons",
        "read": "reading",
        "send": "sent",
        "serie": "series",
        "speak": "spoke spoken",
        "statu": "statuses",
        "weath": "weather",
        "woman": "women",
        "write": "wrote written writing",
    }.items()
    for form in forms.split()
}


def stem(word: str) -> str:
    """The part that the forms of `word` share; `word` is lower case, and returned as it is when not English."""
    if len(word) < 4 or not word.isascii() or not word.isalpha():
        return word
    known = _IRREGULAR.get(word)
    if known is not None:
        return known
    return _derived(_inflected(_singular(word)))


def _singular(word: str) -> str:
    if not word.endswith("s") or word.endswith(("ss", "us", "is")):
        return word
    if word.endswith("ies"):
        return word[:-3] + "y" if len(word) > 4 else word[:-1]
    if word.endswith(("sses", "xes", "ches", "shes", "zzes")):
        return word[:-2]
    return word[:-1]


def _inflected(word: str) -> str:
    for ending in ("ing", "ed"):
        if word.endswith(ending):
            rest = word[: -len(ending)]
            if len(rest) >= 3 and _HAS_VOWEL.search(rest) and not (ending == "ed" and rest.endswith("e")):
                return _undoubled(rest)
    return word


def _undoubled(word: str) -> str:
    """`plann` is `plan`, but `call` and `process` stay."""
    return word[:-1] if word[-1] == word[-2] and word[-1] not in "lsz" else word


# Ending, what takes its place, and the letters that must remain. The first that fits is the last applied.
_FAMILIES = (
    ("isation", "iz", 3),
    ("ization", "iz", 3),
    ("ification", "ifi", 2),
    ("ation", "", 4),
    ("ator", "", 4),
    ("ate", "", 4),
    ("at", "", 4),
    ("ion", "", 4),
    ("er", "", 4),
    ("ment", "", 5),
    ("ally", "al", 3),
    ("ly", "", 4),
    ("ise", "iz", 4),
    ("e", "", 3),
    ("y", "i", 3),
)


def _derived(word: str) -> str:
    for ending, instead, remaining in _FAMILIES:
        if word.endswith(ending) and len(word) - len(ending) >= remaining:
            rest = word[: -len(ending)]
            if ending == "ion" and rest[-1] not in "st":
                continue
            return _undoubled(rest) + instead if ending == "er" else rest + instead
    return word
