"""English sentences that tell something: verbs in the tenses of stories, exclamations, good wishes, personal questions.

None of them needs a subject that only statements have, as `I` or `she`: `the dog barked at an invoice all night`.
"""

from __future__ import annotations

import re
from collections.abc import Callable

__all__ = ["is_aside", "is_personal", "is_said", "is_told"]

# Past tenses that are no participles, and third persons of verbs that are neither nouns nor what a tool does.
_VERBS = re.compile(
    r"(?<!that )(?<!who )(?<!which )\b(?:ate|became|began|blew|broke|came|cried|drank|drove|fell|felt|flew|forgot"
    r"|fought|froze|gave|got|grew|heard|knew|laughed|looked like|meant|rang|said|sang|sat|saw|shone|slept|smelled|smelt"
    r"|smiled|spoke|stank|stood|stole|swam|tasted|thought|threw|told|took|tore|went|wept|whispered|woke|wore"
    r"|smells|tastes|feels|seems|hurts|loves|hates|says|thinks|sleeps|snores|laughs|smiles|cries|goes|comes|wears|barks"
    r"|(?:made|makes|make|keeps|kept|drives|drove) (?:me|us|him|her|them|you|everyone|everybody))\b"
)
# A noun phrase and a verb that ends in `ed`, unless it is what is done to the thing: `the orders shipped to Bonn`.
_PAST = re.compile(
    r"(?:^|[,.;!] )(?:the|my|our|your|his|her|their|an?|this|that|these|those|every|each|some|no|one|two) "
    r"(?:[a-z'-]+ ){1,4}?([a-z]{2,}ed)\b(?! (?:by|in \d))"
)
_THIRD_PERSON = re.compile(r"\b(?:he|she|they|(?:no|every|some)(?:body|one)) (?:\w+ly )?[a-z]{2,}ed\b")
_DONE_TO = """
    attach base bill bound charge connect date delay deliver expire fail hire host invoice link locate mention need owe
    own park price rate receive relate require ship store unread
"""
_DONE = frozenset(_DONE_TO.split())
_SAID = re.compile(
    r"^(?:oh |wow |ah )?what an? (?!(?:\w+ ){1,4}(?:costs?|does|means?|is|needs?)\b)"
    r"|^(?:congratulations|congrats|cheers)\b"
    r"|^happy (?:birthday|new year|holidays|anniversary|easter)(?=\W*$|,|!| to| my| dear)|^merry christmas"
    r"|^good (?:morning|evening|afternoon|night)(?=\W*$|,? (?:every|all|my|sir|dear|sleep|folks|world|sunshine))"
    r"|^(?:thanks|thank you)(?: so much| a lot| a million)?(?=\W*$| for|, (?:you|that|it)\b)"
    r"|^nice to meet|^see you\b|^sorry,"
    r"|^(?:lol|omg|(?:ha|he|hi|ja|je){2,})\b"
)
_PEOPLE = re.compile(
    r"^(?:my|our|your|his|her|their) (?:best |old |dear |little |big )?(?:mother|father|mum|mom|dad|parents|sister"
    r"|brother|son|daughter|kids?|wife|husband|aunt|uncle|cousins?|gran\w*|friends?|neighbou?rs?|boss|boyfriend"
    r"|girlfriend|roommate) (?:\S+ ){1,}\S+"
)
_ASIDE = re.compile(r"^(?:when|while|if|because|since|by the time) (?:i|we|he|she|they|you|it|my|our|the)\b")
_PERSONAL = re.compile(
    r"^(?:are you an? |do you (?:ever|like|love|feel|believe|dream|sleep|enjoy|prefer|hate)\b"
    r"|how (?:are|have) you\b|how do you feel|(?:who|what)(?:'s| is| are) your (?:favou?rite|name|mood|dream|opinion)"
    r"|tell me about (?:yourself|you)\b|what's up\b)"
)


def is_said(lower: str) -> bool:
    """Whether a sentence, in lower case, is an exclamation or a good wish."""
    return _SAID.search(lower) is not None


def is_personal(lower: str) -> bool:
    """Whether a question, in lower case, is about the one who is asked."""
    return _PERSONAL.search(lower) is not None


def is_aside(lower: str) -> bool:
    """Whether the question word that a sentence begins with joins clauses: `when I was seven`."""
    return _ASIDE.search(lower) is not None


def is_told(lower: str, is_order: Callable[[str], bool]) -> bool:
    """Whether a sentence has a verb that tells something.

    Args:
        lower: The sentence in lower case, with straight apostrophes.
        is_order: Whether a word is a verb that requests begin with.
    """
    if _VERBS.search(lower) or _PEOPLE.search(lower) or _THIRD_PERSON.search(lower):
        return True
    return any(not _is_participle(found[1], is_order) for found in _PAST.finditer(lower))


def _is_participle(verb: str, is_order: Callable[[str], bool]) -> bool:
    """Whether a verb that ends in `ed` is one that things of tools are described with: `created`, `shipped`."""
    stems = (verb[:-2], verb[:-1], verb[:-3], verb[:-3] + "y")
    return any(stem in _DONE or is_order(stem) for stem in stems)
