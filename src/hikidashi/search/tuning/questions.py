"""Labelled questions: from a JSONL file, or from the searches that a `SearchLog` recorded."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Any, TypeVar, cast

from ...common.json import no_such_file, parsed, text_of, unreadable
from ...common.unicode import well_formed
from ...errors import ToolSourceError
from ..engine.analyzer import fold, visible
from ..log_report import BY_WORDS, missed_searches
from ..log_sqlite import SearchLog

_T = TypeVar("_T")

# The names of the two fields, and other usual ones, which count only where these are missing.
_TEXT_KEYS = ("query", "question"), ("text", "prompt", "input")
_TOOL_KEYS = ("gold", "tools"), ("tool", "expected", "answers", "answer", "labels", "label", "names", "name")
_LONGEST = 2_000  # characters of a question, as a `SearchLog` keeps them
_HELD_OUT = 0.3  # of the questions are held out of training
_MOST = 3_000  # questions: more do not make the map better, and take longer
_PRELOADED = "preload"  # the kind of a record of tools that were loaded for a message, without a search
_SELECT = "select:"
_SQLITE = b"SQLite format 3\0"
_SHAPE = 'Write one object per line: {"query": "zap the order", "tools": ["refund_payment"]}.'


@dataclass(frozen=True, slots=True)
class Labelled:
    """A question, and the tools that answer it."""

    text: str
    tools: tuple[str, ...]
    """Empty if no tool answers it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Selection:
    """The distinct questions about tools of a catalogue, and what was left out."""

    questions: list[Labelled]
    """Those that are held out come first. The order depends on their texts alone, not on the order of the file."""
    held_out: int = 0
    """How many of the questions are held out of training."""
    unanswered: list[str] = field(default_factory=list[str])
    """Questions that are labelled as answered by no tool, in the same order."""
    unanswered_held_out: int = 0
    """How many of these are held out of training."""
    unknown: list[str] = field(default_factory=list[str])
    """Tools of the questions that the catalogue does not have, sorted."""
    without_tool: int = 0
    """Questions that were left out because the catalogue has none of their tools."""
    beyond: int = 0
    """Questions that were left out because there are more than are used."""
    repeated: int = 0
    """Questions that have the words of another one; their tools count as its tools."""


def is_recorded(path: Path) -> bool:
    """Whether a file is a search log rather than text.

    Raises:
        ToolSourceError: it cannot be read.
    """
    try:
        with path.open("rb") as file:
            return file.read(len(_SQLITE)) == _SQLITE
    except FileNotFoundError as error:
        raise no_such_file(str(path), "Name a file of labelled questions, or a search log.") from error
    except OSError as error:
        raise unreadable(path, error) from error


def read_questions(path: Path) -> list[Labelled]:
    """The questions of a file: JSONL, a JSON list, or a search log.

    Each object has its question as `query` or `question`, and its tools as `gold` or `tools`; other usual names of
    these work too, and further keys are ignored. Of a search log, a search by words counts with the tools of it that
    were called, and one that missed a tool with the tool that was found and called shortly after in the same session.

    Raises:
        ToolSourceError: the file cannot be read, or a line is not a labelled question; it names line and value.
        SearchLogError: the search log cannot be read.
    """
    if is_recorded(path):
        return _recorded(path)
    text, source = text_of(path, _SHAPE), str(path)
    if text.lstrip().startswith("["):
        items: Any = parsed(text, source)
        return [_labelled(item, source, f"number {place}: ") for place, item in enumerate(items, 1)]
    lines = [(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
    if not lines:
        raise ToolSourceError(source, "is empty", _SHAPE)
    return [_labelled(parsed(line, source, number, remedy=_SHAPE), source, "", number) for number, line in lines]


def select(questions: Iterable[Labelled], names: Collection[str]) -> Selection:
    """The distinct questions about the tools `names`, with the tools of all questions of the same text.

    Whether a question is held out depends on its text alone, so one that is held out is never trained on in a run with
    more questions or with other tools.
    """
    merged: dict[str, tuple[str, dict[str, None]]] = {}
    given = list(questions)
    for question in given:
        _, tools = merged.setdefault(_key(question.text), (question.text, {}))
        tools.update(dict.fromkeys(question.tools))
    ordered = [(_place(key), *merged[key]) for key in sorted(merged, key=lambda key: (_place(key), key))]
    known = [
        (place, Labelled(text, kept))
        for place, text, tools in ordered
        if (kept := tuple(sorted(tool for tool in tools if tool in names)))
    ]
    unanswered = [(place, text) for place, text, tools in ordered if not tools]
    (tested, trained), (tested_unanswered, trained_unanswered) = _split(known), _split(unanswered)
    used = len(tested) + len(trained) + len(tested_unanswered) + len(trained_unanswered)
    return Selection(
        questions=tested + trained,
        held_out=len(tested),
        unanswered=tested_unanswered + trained_unanswered,
        unanswered_held_out=len(tested_unanswered),
        unknown=sorted({tool for _, _, tools in ordered for tool in tools if tool not in names}),
        without_tool=len(ordered) - len(known) - len(unanswered),
        beyond=len(known) + len(unanswered) - used,
        repeated=len(given) - len(ordered),
    )


def _split(placed: list[tuple[float, _T]]) -> tuple[list[_T], list[_T]]:
    """What is held out, and what is trained on: of each as many as are used."""
    held_out = round(_HELD_OUT * _MOST)
    return (
        [one for place, one in placed if place < _HELD_OUT][:held_out],
        [one for place, one in placed if place >= _HELD_OUT][: _MOST - held_out],
    )


def _key(text: str) -> str:
    """The same for questions that differ in case, width, spaces and punctuation only."""
    folded = fold(text)
    return " ".join("".join(letter if letter.isalnum() else " " for letter in folded).split()) or folded.strip()


def _place(key: str) -> float:
    """A pseudo-random number from 0 to 1 that depends on the text alone."""
    digest = blake2b(well_formed(key).encode(), digest_size=8, person=b"tools tune").digest()
    return int.from_bytes(digest, "big") / 2**64


def _recorded(path: Path) -> list[Labelled]:
    with SearchLog(path, must_exist=True) as log:
        searches = log.searches()
    if searches and all(search.query is None for search in searches):
        raise ToolSourceError(
            str(path), "has no questions: its SearchLog has `keep_queries=False`", "Record some with the words kept."
        )
    found = [(search, search.called) for search in searches if search.called and search.kind in (*BY_WORDS, _PRELOADED)]
    by_model = (search for search in searches if search.kind != _PRELOADED)
    found += [(missed, (name,)) for missed, _, name, called in missed_searches(by_model) if called]
    questions = [
        Labelled(search.query, tuple(dict.fromkeys(called)))
        for search, called in found
        # A list of names needs no ranking, and raises where one of them is gone.
        if search.query and (asked := visible(search.query).strip()) and not asked.startswith(_SELECT)
    ]
    if not questions:
        raise ToolSourceError(
            str(path), "has no search after which a tool was called", "Record conversations that call what they found."
        )
    return questions


def _labelled(item: Any, source: str, place: str, line: int | None = None) -> Labelled:
    def refused(reason: str) -> ToolSourceError:
        return ToolSourceError(source, place + reason, _SHAPE, line)

    if not isinstance(item, dict):
        raise refused(f"{item!r:.100} is not an object")
    given = cast("dict[str, Any]", item)
    key, text = _one_of(given, _TEXT_KEYS, "question", refused)
    if not isinstance(text, str):
        raise refused(f"`{key}` is {text!r:.100}, not text")
    if not visible(text).strip():
        raise refused(f"`{key}` is {text!r:.100}: the question is empty")
    if len(text) > _LONGEST:
        raise refused(f"`{key}` has {len(text):,} characters, and a question has at most {_LONGEST:,}")
    if visible(text).lstrip().startswith(_SELECT):
        raise refused(f"`{key}` is {text!r:.100}: a list of names, which needs no ranking")
    key, tools = _one_of(given, _TOOL_KEYS, "tools", refused)
    return Labelled(text, tuple(dict.fromkeys(_names(tools, key, refused))))


def _one_of(
    item: dict[str, Any], keys: tuple[tuple[str, str], tuple[str, ...]], what: str, refused: Any
) -> tuple[str, Any]:
    """The key of `keys` that an object has, and its value."""
    usual, others = keys
    there = [key for key in usual if key in item] or [key for key in others if key in item][:1]
    if not there:
        named = ", ".join(map(repr, item)) or "none"
        raise refused(f"has no {what} under `{usual[0]}` or `{usual[1]}` (its keys: {named:.200})")
    if item[there[0]] != item[there[-1]]:
        raise refused(f"has `{there[0]}` and `{there[-1]}`, which differ: keep the one with the {what}")
    return there[0], item[there[0]]


def _names(value: Any, key: str, refused: Any) -> Iterator[str]:
    """The names in the value of a label: a name, or a list of names or of objects with a `name`."""
    for one in cast("list[Any]", value) if isinstance(value, list) else [value]:
        name = cast("dict[str, Any]", one).get("name") if isinstance(one, dict) else one
        if not isinstance(name, str) or not name.strip():
            raise refused(f"`{key}` has {one!r:.100}, not the name of a tool")
        yield name.strip()
