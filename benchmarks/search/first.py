"""What somebody waits for who has just built a catalogue: the build, then the first question of each kind.

`python -m benchmarks.search.first ENGINE [FOLDER ...]` is one process that measures one engine once.
"""

from __future__ import annotations

import gc
import json
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter, thread_time

from .catalogue import catalogue
from .data import Definition, load
from .engines import OURS, WORDS, Searcher, all_engines
from .ours import Lexical

SIZE = 10_000
QUICK_SIZE = 500
PEER = "FastMCP"
KINDS = {
    "returns": "the constructor returns; peer: built",
    "asked at once": "the first question, asked as soon as it returns",
    "build": "both together",
    "bound": "saved, loaded with the tools, first question; peer: built",
    "words": "the first question",
    "misspelled": "the first with a misspelled word",
    "japanese": "the first in Japanese",
    "pattern": "the first pattern",
    "after a change": "the first pattern after one more tool",
}
_QUESTIONS = {"words": "send the report to bob", "misspelled": "sennd the reprot", "japanese": "請求書を送信"}


@dataclass(frozen=True, slots=True)
class First:
    """What one engine needed, in seconds of processor time, in its best round; `None` is what it does not do.

    "asked at once" and "build" are elapsed time instead: other threads may take part. Tools that are embedded in the
    background do not count: nobody waits for that.
    """

    catalogue: str
    size: int
    engine: str
    figures: dict[str, float | None]


def measure(folders: Sequence[Path], size: int, rounds: int, progress: Callable[[str], None]) -> Iterable[First]:
    """Ours and FastMCP in turns, over made-up tools and over the tools in `folders`."""
    engines = [name for name in (OURS, WORDS, PEER) if all_engines()[name].missing is None]
    for title, given in [("made up", []), *([("data sets", list(folders))] if folders else [])]:
        every: dict[str, list[dict[str, float | None]]] = {name: [] for name in engines}
        for _ in range(rounds):
            for name in engines:
                progress(f"{title}, {name}")
                every[name].append(_probed(name, size, given))
        for name, figures in every.items():
            yield First(title, size, name, {kind: _best([one[kind] for one in figures]) for kind in KINDS})


def measured(name: str, tools: Sequence[Definition]) -> dict[str, float | None]:
    """What the engine needs for `tools`."""
    engine = all_engines()[name]
    *tools, one_more = tools
    prepared = engine.prepare(tools)
    warm = engine.searching(tools[:10])  # imports are not what is measured
    warm.search("warm up", 5)
    if isinstance(warm, Lexical):
        warm.search_regex("warm", 5)
    gc.collect()
    figures: dict[str, float | None] = dict.fromkeys(KINDS)
    asked, start = perf_counter(), thread_time()
    searcher = engine.build(prepared)
    figures["returns"] = thread_time() - start
    returned = perf_counter()
    searcher.search(_QUESTIONS["words"], 5)
    figures["asked at once"] = perf_counter() - returned
    figures["build"] = perf_counter() - asked
    searcher = engine.build(prepared)  # which no question was asked of
    if isinstance(searcher, Lexical):
        searcher.wait_for_index()
    for kind, question in _QUESTIONS.items():
        figures[kind] = _timed(searcher, question)
    if isinstance(searcher, Lexical):
        figures["pattern"] = _pattern(searcher)
        searcher.add(one_more)
        figures["after a change"] = _pattern(searcher)
        figures["bound"] = _bound(searcher, [*tools, one_more])
    else:
        figures["bound"] = figures["returns"]
    return figures


def _bound(searcher: Lexical, tools: Sequence[Definition]) -> float:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "saved"
        searcher.save(path)
        start = thread_time()
        searcher.load(path, tools).search(_QUESTIONS["words"], 5)
        return thread_time() - start


def _timed(searcher: Searcher, question: str) -> float:
    start = thread_time()
    searcher.search(question, 5)
    return thread_time() - start


def _pattern(searcher: Lexical) -> float:
    start = thread_time()
    searcher.search_regex("no_such_tool_anywhere", 5)
    return thread_time() - start


def _probed(name: str, size: int, folders: Sequence[Path]) -> dict[str, float | None]:
    command = [sys.executable, "-m", "benchmarks.search.first", name, str(size), *map(str, folders)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"The probe of {name} failed: {done.stderr.strip()[-300:]}")
    return json.loads(done.stdout)


def _tools(size: int, folders: Sequence[Path]) -> list[Definition]:
    """So many tools and one more: made-up ones, or those in `folders`, each name once."""
    if not folders:
        return catalogue(size + 1)
    named = {tool["name"]: tool for folder in folders for tool in load(folder).tools}
    return list(named.values())[: size + 1]


def _best(values: Sequence[float | None]) -> float | None:
    return min((value for value in values if value is not None), default=None)


if __name__ == "__main__":
    engine, size, *folders = sys.argv[1:]
    sys.stdout.write(json.dumps(measured(engine, _tools(int(size), [Path(folder) for folder in folders]))))
