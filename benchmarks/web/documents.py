"""The local index on questions written by hand, beside SQLite's bm25() on the same passages.

Python's modules are documents made of their docstrings, and this project's own texts are read as they are: a hundred
questions are about these. Others are about the READMEs of the installed packages, which are a corpus of their own.
recall@5 is the share of questions with a right passage among the first five, MRR the mean of one divided by its place
among the first ten.
"""

from __future__ import annotations

import inspect
import re
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from importlib import import_module
from importlib.metadata import distributions
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from time import perf_counter
from types import ModuleType

from hikidashi.web.local import LocalIndex
from hikidashi.web.local.database import NewDocument
from hikidashi.web.passages import Passage, split, title_of

from ..registry import Case, Measurement, Plan, Sample
from .document_questions import ENGLISH, JAPANESE, Asked
from .index_peers import fts5_ranking
from .package_questions import PACKAGES

GROUP = "documents"
MEANING = "seconds of a question to documents ÷ those of SQLite's bm25(), with recall@5 and MRR of both"

_ROOT = Path(__file__).resolve().parents[2]
_TEXTS = ("README.md", "README.ja.md", "docs/architecture.md", "docs/en/*.md", "docs/ja/*.md")
_LOOKED_AT = 10
_SEPARATORS = re.compile(r"[-_.]+")


@dataclass(frozen=True, slots=True)
class Document:
    """A text with a name and a title, cut into passages."""

    name: str
    title: str
    passages: list[Passage]


Hit = tuple[str, str]
"""The name of a document, and the text of a passage."""


def documents() -> list[Document]:
    """The modules of this Python that can be read without running anything of note, and this project's texts."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what a later Python will not have
        made = [
            _cut(f"python/{name}", f"# {name}\n\n{text}")
            for name in sorted(sys.stdlib_module_names)
            if not name.startswith("_") and (text := _docstrings(name))
        ]
    texts = [path for pattern in _TEXTS for path in sorted(_ROOT.glob(pattern))]
    return made + [_cut(path.relative_to(_ROOT).as_posix(), path.read_text(encoding="utf-8")) for path in texts]


def packages() -> list[Document]:
    """The READMEs of the installed packages, but for this project's own."""
    texts = {
        _SEPARATORS.sub("-", one.metadata["Name"]).lower(): str(one.metadata.json.get("description", ""))
        for one in distributions()
        if not one.metadata["Name"].startswith("hikidashi")
    }
    made = (_cut(f"package/{name}/", text, name) for name, text in sorted(texts.items()))
    return [one for one in made if one.passages]


def answerable(asked: Sequence[Asked], corpus: Sequence[Document]) -> list[Asked]:
    """The questions that `corpus` still has an answer to."""
    return [
        one
        for one in asked
        if any(
            one.words in passage.body
            for document in corpus
            if document.name.startswith(one.document)
            for passage in document.passages
        )
    ]


def quality(search: Callable[[str], list[Hit]], asked: Sequence[Asked]) -> tuple[float, float]:
    """recall@5 and MRR."""
    places = [_place(search(one.question), one) for one in asked]
    recall = sum(place is not None and place <= 5 for place in places) / len(places)
    return recall, sum(1 / place for place in places if place) / len(places)


def _place(hits: Sequence[Hit], asked: Asked) -> int | None:
    right = (
        place for place, (name, body) in enumerate(hits, 1) if name.startswith(asked.document) and asked.words in body
    )
    return next(right, None)


def _cut(name: str, text: str, title: str = "") -> Document:
    return Document(name, title_of(text, "markdown") or title or name, split(text, "markdown"))


_NOT_IMPORTED = frozenset({"antigravity", "this", "idlelib", "lib2to3", "test", "tkinter", "turtle", "turtledemo"})


def _docstrings(name: str) -> str:
    if name in _NOT_IMPORTED or find_spec(name) is None:
        return ""
    try:
        module = import_module(name)
    except ImportError:
        return ""
    parts = [inspect.getdoc(module) or ""]
    parts += [f"## {member}\n\n{text}" for member, text in _members(module)]
    return "\n\n".join(part for part in parts if part)


def _members(module: ModuleType) -> Iterable[tuple[str, str]]:
    for name in sorted(vars(module)):
        member = getattr(module, name)
        is_own = getattr(member, "__module__", None) == module.__name__
        if is_own and not name.startswith("_") and (inspect.isclass(member) or inspect.isroutine(member)):
            text = inspect.getdoc(member)
            if text:
                yield name, text


def filled(index: LocalIndex, corpus: Sequence[Document]) -> None:
    """Puts `corpus` into `index`."""
    with index.writing() as writer:
        for one in corpus:
            text = "".join(passage.body for passage in one.passages)
            writer.put(
                NewDocument(
                    url=one.name,
                    title=one.title,
                    kind="markdown",
                    size=len(text),
                    mtime_ns=0,
                    hash=one.name.encode(),
                    passages=one.passages,
                )
            )
        writer.commit()


def ours(index: LocalIndex, *, hybrid: bool = False) -> Callable[[str], list[Hit]]:
    """A search of `index` that gives passages, ranked by words, or by meaning too."""
    semantic = None
    if hybrid:
        from hikidashi.web.local.semantic import SemanticRanker

        semantic = SemanticRanker()

    def search(question: str) -> list[Hit]:
        found = index.search(question, limit=_LOOKED_AT, passages=True, semantic=semantic)
        return [(one.url, one.body) for one in found]

    return search


def _measure(plan: Plan) -> Iterable[Measurement]:
    yield from _measured(plan, documents(), {"English questions": ENGLISH, "Japanese questions": JAPANESE})
    yield from _measured(plan, packages(), {"questions on installed packages": PACKAGES})


def _measured(
    plan: Plan, corpus: Sequence[Document], questions: Mapping[str, Sequence[Asked]]
) -> Iterable[Measurement]:
    with tempfile.TemporaryDirectory() as folder, closing(LocalIndex(Path(folder) / "web.db")) as index:
        filled(index, corpus)
        rows = [(one.name, one.title, passage.body) for one in corpus for passage in one.passages]
        peers = {f"FTS5 {name}": fts5_ranking(rows, name, _LOOKED_AT) for name in ("porter unicode61", "trigram")}
        engines = {"by words": ours(index)}
        if find_spec("hikidashi_encoder"):
            engines["by words and meaning"] = ours(index, hybrid=True)
        for name, all_asked in questions.items():
            asked = answerable(all_asked, corpus)
            gone = len(all_asked) - len(asked)
            for engine, peer in product(engines.items(), peers.items()):
                found = _compared(plan, engine, peer, asked)
                yield replace(
                    found,
                    name=f"{len(asked)} {name}, {engine[0]}",
                    note=found.note + (f"; {gone} questions left out, their answers are gone" if gone else ""),
                )


def _compared(
    plan: Plan,
    ours: tuple[str, Callable[[str], list[Hit]]],
    peer: tuple[str, Callable[[str], list[Hit]]],
    asked: Sequence[Asked],
) -> Measurement:
    (recall, mrr), (peer_recall, peer_mrr) = quality(ours[1], asked), quality(peer[1], asked)
    return Measurement(
        group=GROUP,
        name=ours[0],
        unit="s",
        ours=_timed(plan, ours[1], asked),
        peer=_timed(plan, peer[1], asked),
        peer_name=peer[0],
        note=f"recall@5 {recall:.2f}, peer {peer_recall:.2f}; MRR {mrr:.2f}, peer {peer_mrr:.2f}",
    )


def _timed(plan: Plan, search: Callable[[str], list[Hit]], asked: Sequence[Asked]) -> Sample:
    """The mean time of a question in each round."""
    rounds: list[float] = []
    for _ in range(plan.rounds(3)):
        start = perf_counter()
        for one in asked:
            search(one.question)
        rounds.append((perf_counter() - start) / len(asked))
    return Sample(tuple(rounds))


CASES = (Case(GROUP, "questions by hand", _measure),)
