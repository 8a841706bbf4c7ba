"""A made-up catalogue of any size, the same on every machine: lengths and word frequencies like those of real ones."""

from __future__ import annotations

from itertools import accumulate, count
from random import Random

from .data import Definition


def _listed(words: str) -> list[str]:
    return words.split()


_VERBS = _listed("""
get list create update delete search send schedule cancel approve export import sync archive restore merge
assign publish validate convert compare estimate track notify invite revoke rotate enable disable preview duplicate
upload download rename tag share lock translate summarize classify forecast refund ship reserve book check resolve
escalate replay register verify""")

_THINGS = _listed("""
invoice message customer order ticket report document file user event payment contact project task account
product booking calendar channel subscription shipment comment folder template campaign deal device alert dashboard
webhook contract employee payroll expense receipt budget forecast inventory warehouse supplier coupon cart refund
review rating playlist track album recipe ingredient flight hotel itinerary passenger vehicle route station weather
map address location sensor meter firmware certificate domain record cluster container deployment pipeline build
artifact branch commit release issue sprint milestone survey form answer quiz course lesson student grade patient
appointment prescription allergy lab sample experiment dataset model prediction embedding transcript caption image
video thumbnail font palette theme translation glossary currency portfolio stock dividend loan mortgage policy claim
premium lead segment audience keyword advert impression session cookie permission role group secret token policy
backup snapshot volume queue topic schema table column query migration index""")

_QUALITIES = _listed("""
active archived pending overdue recent monthly weekly daily shared private public internal external
regional global primary default custom recurring failed completed scheduled draft final signed verified anonymous
bulk single nested linked duplicate expired upcoming partial full raw filtered sorted grouped encrypted""")

_DETAILS = (
    "Returns one page at a time, newest first.",
    "The caller needs permission to see it.",
    "Fails when the {thing} is locked by someone else.",
    "Use it when a person asks about a {quality} {other}.",
    "Large results are cut; ask for the next page with the cursor.",
    "Changes can be undone for thirty days.",
    "Notifies everyone who follows the {other}.",
    "Times are in UTC unless a zone is given.",
)

_ARGUMENTS = (
    ("{thing}_id", "Identifier of the {thing}"),
    ("{other}_id", "Identifier of the {other} it belongs to"),
    ("limit", "How many to return at most"),
    ("cursor", "Where the previous page ended"),
    ("since", "Only newer than this date, ISO 8601"),
    ("status", "Only {quality} ones"),
    ("owner", "Person responsible for the {thing}"),
    ("dry_run", "Say what would happen without doing it"),
    ("note", "Words for the {other}, shown to everyone"),
    ("{other}_name", "Name of the {other}, as people write it"),
)

_SYLLABLES = _listed("ba bel cor da del fen gra hal ix jo kel lu mar nor ol pra qui ros sta tal ur vex wil yan zo")

_ASKING = (
    "please {verb} the {thing} for the {other}",
    "I need to {verb} every {quality} {thing} in {service}",
    "can you {verb} my {thing} and tell me about the {other}?",
    "{verb} {quality} {thing}",
    "which {thing} of the {other} is {quality}?",
    "{service}: {verb} {thing}",
)


def catalogue(size: int, *, seed: int = 20) -> list[Definition]:
    """`size` tools with different names."""
    random, taken = Random(seed), set[str]()
    services = _services(random, max(8, size // 40))
    tools: list[Definition] = []
    while len(tools) < size:
        words = _words(random, services)
        stem = f"{words['service']}_{words['verb']}_{words['quality']}_{words['thing']}"
        name = next(name for n in count() if (name := f"{stem}_{n}" if n else stem) not in taken)
        taken.add(name)
        tools.append(_tool(random, name, words))
    return tools


def questions(size: int, how_many: int, *, seed: int = 21) -> list[str]:
    """`how_many` things to ask of the catalogue of that size."""
    random = Random(seed)
    services = _services(Random(20), max(8, size // 40))
    return [random.choice(_ASKING).format(**_words(random, services)) for _ in range(how_many)]


def _tool(random: Random, name: str, words: dict[str, str]) -> Definition:
    summary = "{verb} the {quality} {thing} of a {other} in {service}."
    written = words | {key: words[key].capitalize() for key in ("verb", "service")}
    sentences = [summary.format(**written)]
    sentences += [text.format(**words) for text in random.sample(_DETAILS, random.choice((0, 1, 1, 2, 3)))]
    arguments = random.sample(_ARGUMENTS, random.randint(1, 5))
    properties = {
        key.format(**words): {"type": "string", "description": text.format(**words)} for key, text in arguments
    }
    return {
        "name": name,
        "description": " ".join(sentences),
        "input_schema": {"type": "object", "properties": properties, "required": [next(iter(properties))]},
    }


def _words(random: Random, services: list[str]) -> dict[str, str]:
    return {
        "service": _often_early(random, services),
        "verb": _often_early(random, _VERBS),
        "thing": _often_early(random, _THINGS),
        "other": _often_early(random, _THINGS),
        "quality": random.choice(_QUALITIES),
    }


_WEIGHTS: dict[int, list[float]] = {}


def _often_early(random: Random, words: list[str]) -> str:
    """One of `words`, the first ones more often, as in any language (Zipf)."""
    if len(words) not in _WEIGHTS:
        _WEIGHTS[len(words)] = list(accumulate(1 / (place + 10) for place in range(len(words))))
    return random.choices(words, cum_weights=_WEIGHTS[len(words)])[0]


def _services(random: Random, how_many: int) -> list[str]:
    names: dict[str, None] = {}
    while len(names) < how_many:
        names["".join(random.choices(_SYLLABLES, k=random.choice((2, 3, 3, 4))))] = None
    return list(names)
