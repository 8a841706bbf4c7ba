"""Report on a search log: failed searches, unused and most used tools, missing words, and how tools had been found.

Everything is counted, without a model: the same log and catalogue give the same report.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from itertools import chain
from typing import Any

from .catalog import ToolCatalog
from .engine.analyzer import FUNCTION, REQUEST, Analyzer, fold, stem
from .engine.entry import entry_of
from .engine.index import Index, Vocabulary
from .engine.question import read_question
from .log import PRELOAD, CallLog, FoundBy, RecordedCall, RecordedSearch, usage_in

_SAME_GOAL = 600.0  # seconds within which a later search has the same goal
_SAME_MOMENT = 0.05  # seconds: searches at the same moment have different goals
_MIN_GOALS = 2  # goals that must share a word: a single one may name a place or a person
_MIN_SHARE = 1 / 10  # of the goals for which a search missed a tool
_PERSON = re.compile("(?:さん|様|氏|君|ちゃん)")  # behind a name

_FAVOURITES = 5
_FAVOURITE_CALLS = 3

# Letters of one script; hiragana alone is mostly inflection, and numbers do not describe a tool.
_WORD = re.compile(
    "[\u3400-\u4dbf\u4e00-\u9fff\u3005]{2,20}|[\u30a1-\u30fa\u30fc]{2,30}|[\uac00-\ud7af]{1,20}|[\u0e00-\u0e7f]{3,40}"
    "|[^\\W\\d_\u0e00-\u0e7f\u3005\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]{2,40}"
)


# Words that come with any question: generic verbs and nouns of tools, times and numbers.
_ANY_QUESTION_WORDS = """
    add build call change check contain create current data delete detail display do edit example execute fetch
    find generate get handle help include information item list look manage modify need obtain offer perform
    provide put remove request result retrieve return run save search set show start stop support update use user
    value view
    day days night nights morning evening afternoon noon midnight week weeks month months year years hour hours
    minute minutes moment today tomorrow yesterday tonight now soon late later early always never often sometimes
    ago forever age time times monday tuesday wednesday thursday friday saturday sunday january february march
    april june july august september october november december
    zero one two three four five six seven eight nine ten eleven twelve twenty thirty forty fifty hundred thousand
    million dozen first second third last next twice half several few pair
"""
_ANY_QUESTION = frozenset(map(stem, _ANY_QUESTION_WORDS.split()))

_MOST_LISTED = 100
_ORDER: tuple[FoundBy | None, ...] = ("search", "nothing", None, "preload", "listed")
"""A conversation counts as the first of these that one of its calls has: a search and a guess cost a turn of the model,
so one with both a preloaded and a searched tool needed a search."""


@dataclass(frozen=True, kw_only=True, slots=True)
class FoundByCounts:
    """Number of calls, or of conversations, by how the called tools were found."""

    total: int = 0
    preload: int = 0
    """Loaded for the user's message, before the model was asked."""
    search: int = 0
    """Found by a search of the model."""
    listed: int = 0
    """In the model's list of tools from the start."""
    nothing: int = 0
    """Found by nothing: the model guessed the name."""
    not_recorded: int = 0
    """Called when another version kept the records, which did not say how, or in words that this one does not know."""


@dataclass(frozen=True, slots=True)
class PreloadedTool:
    """A tool that preloading loaded."""

    name: str
    loaded: int
    """Number of conversations for which it was loaded."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PreloadCounts:
    """What preloading loaded, and what came of it."""

    messages: int = 0
    """Number of messages for which something was loaded."""
    loaded: int = 0
    """Number of tools that it loaded; a tool counts once per conversation."""
    called: int = 0
    """Number of these that were called in the same conversation."""
    never_called: tuple[PreloadedTool, ...] = ()
    """Tools that were loaded and not called in any conversation, the most loaded first; at most 100."""
    never_called_count: int = 0
    """Number of such tools in all."""


@dataclass(frozen=True, slots=True)
class EmptySearch:
    """Searches that found nothing, or only uncertain matches that were not called."""

    query: str | None
    """In the latest spelling; None if the log keeps no queries."""
    kind: str
    count: int


@dataclass(frozen=True, slots=True)
class FoundTool:
    """A tool that searches found."""

    name: str
    found: int
    """Number of searches that found it."""
    best_rank: int
    """Its best rank, from 1."""


@dataclass(frozen=True, slots=True)
class CalledTool:
    """A tool that is called often."""

    name: str
    calls: int
    share: float
    """Share of all calls, from 0 to 1."""


@dataclass(frozen=True, slots=True)
class Missed:
    """A search that should have found the tool, and the later one that did."""

    query: str
    later: str | None
    """The query that found it; None for a pattern or a list of names."""
    count: int
    called: bool
    """Whether the tool was then called, or only found."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """Words that, added to a tool, would have let several searches find it."""

    tool: str
    words: tuple[str, ...]
    """Words that several independent searches used, the most frequent first."""
    because: tuple[Missed, ...]

    @property
    def count(self) -> int:
        """Number of searches that support it."""
        return sum(missed.count for missed in self.because)


@dataclass(frozen=True, kw_only=True, slots=True)
class Report:
    """Report on a search log and a catalogue."""

    searches: int
    calls: int
    tools: int
    found_nothing: tuple[EmptySearch, ...]
    """The most frequent first."""
    never_found: tuple[str, ...]
    """Tools that were neither found, nor preloaded, nor called, in catalogue order."""
    never_called: tuple[FoundTool, ...]
    """Tools that were found but never called, the most found first."""
    often_called: tuple[CalledTool, ...]
    """At most five tools to keep loaded, with `always_loaded=`."""
    proposals: tuple[Proposal, ...]
    """Those with the most searches first."""
    gone: tuple[str, ...]
    """Names in the log that the catalogue does not have."""
    conversations_found_by: FoundByCounts = field(default_factory=FoundByCounts)
    """The conversations in which a tool was called, by what found the tools: a search, if any of them needed one."""
    calls_found_by: FoundByCounts = field(default_factory=FoundByCounts)
    """The calls, by what found the tool."""
    preloading: PreloadCounts = field(default_factory=PreloadCounts)
    """What preloading loaded, and which of these tools were never called."""

    def as_json(self) -> dict[str, Any]:
        """The report as a JSON object."""
        return asdict(self)


def report(log: CallLog, catalog: ToolCatalog) -> Report:
    """A report on `log` for the tools of `catalog`.

    Raises:
        SearchLogError: a `SearchLog` cannot be read.
    """
    recorded, calls = log.searches(), log.calls()
    searches = [search for search in recorded if search.kind != PRELOAD]
    usage = usage_in(calls)
    names = catalog.names
    found = _found(searches)
    known = set(names)
    seen = {*usage, *chain.from_iterable(search.names for search in recorded)}
    return Report(
        searches=len(searches),
        calls=len(calls),
        tools=len(names),
        found_nothing=_found_nothing(searches),
        never_found=tuple(name for name in names if name not in seen),
        never_called=tuple(
            sorted(
                (tool for name, tool in found.items() if name in known and name not in usage),
                key=lambda tool: (-tool.found, tool.name),
            )
        ),
        often_called=tuple(
            CalledTool(name, count, count / sum(usage.values()))
            for name, count in usage.items()
            if name in known and count >= _FAVOURITE_CALLS
        )[:_FAVOURITES],
        proposals=_proposals(searches, dict(zip(names, catalog, strict=True))),
        gone=tuple(sorted(seen - known)),
        conversations_found_by=_conversations_by_finder(calls),
        calls_found_by=_counted(call.found_by for call in calls),
        preloading=_preloading(recorded, calls),
    )


def _found(searches: Sequence[RecordedSearch]) -> dict[str, FoundTool]:
    counts = Counter(chain.from_iterable(set(search.names) for search in searches))
    best: dict[str, int] = {}
    for search in searches:
        for rank, name in enumerate(search.names, 1):
            if rank < best.setdefault(name, rank):
                best[name] = rank
    return {name: FoundTool(name, count, best[name]) for name, count in counts.items()}


def _found_nothing(searches: Iterable[RecordedSearch]) -> tuple[EmptySearch, ...]:
    groups: dict[tuple[str, str | None], EmptySearch] = {}
    for search in searches:
        if not search.names or (search.kind == "nearest" and not search.called):
            kind = "words" if search.kind == "nearest" else search.kind
            key = kind, None if search.query is None else _alike(search.query, kind)
            count = groups[key].count + 1 if key in groups else 1
            groups[key] = EmptySearch(search.query, kind, count)
    return tuple(sorted(groups.values(), key=lambda empty: (-empty.count, empty.query or "", empty.kind)))


def _alike(query: str, kind: str) -> str:
    return " ".join(fold(query).split()) if kind == "words" else query


_Goal = tuple[str, float]
"""Session and time of the search that found the tool; the searches that missed it before had the same goal."""

_Cases = dict[tuple[str, str | None, bool], list[_Goal]]
"""Goals by the query that missed the tool, the query that found it, and whether the tool was called."""

BY_WORDS = ("words", "nearest")
"""The kinds of searches that have a question; `nearest` ones were confident of no tool."""


def _proposals(searches: Iterable[RecordedSearch], tools: dict[str, Any]) -> tuple[Proposal, ...]:
    evidence: dict[str, _Cases] = {}
    for missed, finder, name, called in missed_searches(searches):
        if name in tools and missed.query:
            later = finder.query if finder.kind in BY_WORDS else None
            evidence.setdefault(name, {}).setdefault((missed.query, later, called), []).append(
                (finder.session, finder.at)
            )
    vocabulary = _Wording(tools if evidence else {})
    proposals = (_proposal(name, cases, vocabulary) for name, cases in evidence.items())
    return tuple(sorted(filter(None, proposals), key=lambda proposal: (-proposal.count, proposal.tool)))


def missed_searches(searches: Iterable[RecordedSearch]) -> Iterator[tuple[RecordedSearch, RecordedSearch, str, bool]]:
    """Searches by words that missed a tool, the search that found it, the tool, and whether it was called."""
    sessions: dict[str, list[RecordedSearch]] = {}
    for search in searches:
        sessions.setdefault(search.session, []).append(search)
    for session in sessions.values():
        earlier: list[RecordedSearch] = []
        for search in session:
            if search.called:
                for missed in _recent(earlier, search):
                    yield from (
                        (missed, search, name, True)
                        for name in dict.fromkeys(search.called)
                        if name not in missed.names
                    )
                earlier.clear()
            else:
                earlier.append(search)
        yield from _found_later(earlier)


def _found_later(searches: list[RecordedSearch]) -> Iterator[tuple[RecordedSearch, RecordedSearch, str, bool]]:
    """Searches that found nothing, and the first hit of the next search with a match, if no tool was called."""
    later: RecordedSearch | None = None
    for search in reversed(searches):
        if search.names and search.kind != "nearest":
            later = search
        elif later is not None and _recent([search], later):
            yield search, later, later.names[0], False


def _recent(searches: list[RecordedSearch], later: RecordedSearch) -> list[RecordedSearch]:
    return [one for one in searches if one.kind in BY_WORDS and _SAME_MOMENT < later.at - one.at <= _SAME_GOAL]


def _proposal(name: str, cases: _Cases, vocabulary: _Wording) -> Proposal | None:
    used_for: dict[str, set[_Goal]] = {}
    new = {
        query: [word for word in vocabulary.words(query) if not vocabulary.matches(word, name)] for query, _, _ in cases
    }
    for (query, _, _), goals in cases.items():
        for word in new[query]:
            used_for.setdefault(word, set()).update(goals)
    needed = max(_MIN_GOALS, _MIN_SHARE * len({goal for goals in cases.values() for goal in goals}))
    agreed = {word: len(goals) for word, goals in used_for.items() if len(goals) >= needed}
    if not agreed:
        return None
    because = [
        Missed(query, later, len(goals), called)
        for (query, later, called), goals in cases.items()
        if not agreed.keys().isdisjoint(new[query])
    ]
    return Proposal(
        name,
        tuple(sorted(agreed, key=lambda word: (-agreed[word], word))),
        tuple(sorted(because, key=lambda missed: (-missed.count, missed.query, missed.later or ""))),
    )


class _Wording:
    """The words of a catalogue as the search engine reads them, with a cache of the words of queries."""

    def __init__(self, tools: dict[str, Any]) -> None:
        analyzer, index = Analyzer(), Index()
        terms = {name: analyzer.terms(_text(tool)) for name, tool in tools.items()}
        index.extend([(1, found)] for found in terms.values())
        self._vocabulary = Vocabulary(index, analyzer)
        self._of_tool = {name: frozenset(found) for name, found in terms.items()}
        self._looked_up: dict[str, frozenset[str]] = {}
        self._words: dict[str, tuple[str, ...]] = {}

    def matches(self, word: str, tool: str) -> bool:
        """Whether a search for `word` matches the tool: as it is, or respelled."""
        if word not in self._looked_up:
            # Without synonyms: a search that matched only by one missed the tool.
            self._looked_up[word] = frozenset(read_question(word, self._vocabulary, with_synonyms=False).weights)
        return not self._looked_up[word].isdisjoint(self._of_tool[tool])

    def words(self, query: str) -> tuple[str, ...]:
        """The distinct content words of a query, without those of any question if it has others."""
        if query not in self._words:
            text = fold(query)
            found = (match for match in _WORD.finditer(text) if _PERSON.match(text, match.end()) is None)
            words = (match.group() for match in found)
            content = dict.fromkeys(word for word in words if word not in FUNCTION and word not in REQUEST)
            self._words[query] = tuple(word for word in content if stem(word) not in _ANY_QUESTION) or tuple(content)
        return self._words[query]


def _text(tool: Any) -> str:
    return "\n".join(text for _, texts in entry_of(tool).texts() for text in texts)


def _conversations_by_finder(calls: Iterable[RecordedCall]) -> FoundByCounts:
    """The conversations in which a tool was called, each counted once: by a search if any of its tools needed one."""
    conversations: dict[str, set[FoundBy | None]] = {}
    for call in calls:
        conversations.setdefault(call.session, set()).add(call.found_by)
    return _counted(next(each for each in _ORDER if each in found) for found in conversations.values())


def _preloading(searches: Iterable[RecordedSearch], calls: Sequence[RecordedCall]) -> PreloadCounts:
    """What preloading loaded, and whether it was called."""
    preloads = [search for search in searches if search.kind == PRELOAD]
    loaded = {(search.session, name) for search in preloads for name in search.names}
    called = {(call.session, call.name) for call in calls}
    used = {name for _, name in called}
    counts = Counter(name for _, name in loaded if name not in used)
    never_called = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return PreloadCounts(
        messages=len(preloads),
        loaded=len(loaded),
        called=len(loaded & called),
        never_called=tuple(PreloadedTool(name, count) for name, count in never_called[:_MOST_LISTED]),
        never_called_count=len(never_called),
    )


def _counted(found: Iterable[FoundBy | None]) -> FoundByCounts:
    counts = Counter(found)
    return FoundByCounts(
        total=counts.total(),
        preload=counts["preload"],
        search=counts["search"],
        listed=counts["listed"],
        nothing=counts["nothing"],
        not_recorded=counts[None],
    )
