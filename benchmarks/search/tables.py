"""A run as tables for the terminal."""

from __future__ import annotations

from collections.abc import Container, Hashable, Iterable, Mapping, Sequence
from typing import TypeVar

from rich.box import SIMPLE
from rich.table import Table
from rich.text import Text

from ..report import amount, times
from .ablation import Ablation
from .accuracy import DEPTHS, FEW, Accuracy
from .confidence import Confidence
from .engines import OURS, WORDS
from .first import KINDS, PEER, First
from .patterns import AIM, DEADLINE, Searched, worst
from .preload import COUNTS, Preloaded
from .run import PARTS, Run
from .speed import Speed
from .tokens import Tokens
from .vectors import AIMED_AT, AIMS, Vectors

_T = TypeVar("_T", bound=Hashable)


def tables(run: Run, parts: Container[str] = PARTS) -> Iterable[Table]:
    """A table for each thing that was measured in these parts."""
    if "accuracy" in parts and run.accuracy:
        yield overview(run.accuracy, run.missing)
        yield from by_split(run.accuracy)
        if any(row.unserved for row in run.accuracy):
            yield unserved(run.accuracy)
        yield details(run.accuracy)
    if "confidence" in parts and run.confidence:
        yield values(run.confidence)
        yield talk(run.confidence)
    if "languages" in parts and run.languages:
        yield from by_split(run.languages)
    if "preload" in parts and run.preload:
        yield hit_rates(run.preload)
    if "first" in parts and run.first:
        yield firsts(run.first)
    if "ablation" in parts and run.ablation:
        yield gains(run.ablation)
    if "speed" in parts and run.speed:
        yield speeds(run.speed, run.missing)
    if "vectors" in parts and run.vectors:
        yield embedding(run.vectors)
    if "regex" in parts and run.regex:
        yield searches(run.regex, run.missing)
    if "tokens" in parts and run.tokens:
        yield token_costs(run.tokens)


def overview(rows: Sequence[Accuracy], missing: dict[str, str]) -> Table:
    """recall@5, a row per data set and a column per engine."""
    engines = _unique(row.engine for row in rows)
    grid = _grid("accuracy", "recall@5 in percent: the mean share of the right tools among the first five")
    _columns(grid, ("data set", "tools", "questions", *engines))
    for dataset in _unique(row.dataset for row in rows if row.questions):
        here = {row.engine: row for row in rows if row.dataset == dataset}
        first = max(here.values(), key=lambda row: row.questions)
        figures = [here[engine].recall[5] for engine in engines]
        grid.add_row(dataset, f"{first.tools:,}", f"{first.questions:,}", *_best_bold(figures))
    return _with_missing(grid, missing, _fewer(rows))


def _fewer(rows: Sequence[Accuracy]) -> str:
    """Who was asked fewer questions than the others."""
    most = {row.dataset: max(one.questions for one in rows if one.dataset == row.dataset) for row in rows}
    few = _unique(row.engine for row in rows if row.questions < most[row.dataset])
    return f"At most {FEW} questions of each set, spread evenly over it: {', '.join(few)}." if few else ""


def by_split(rows: Sequence[Accuracy]) -> Iterable[Table]:
    """recall@5 for each split of the data sets that have a few."""
    for dataset in _unique(row.dataset for row in rows if 1 < len(row.splits) <= 6):
        here = [row for row in rows if row.dataset == dataset]
        grid = _grid(dataset, "recall@5 in percent for each kind of question")
        _columns(grid, ("questions", *(row.engine for row in here)))
        for split in here[0].splits:
            grid.add_row(split or "others", *_best_bold([row.splits.get(split, 0.0) for row in here]))
        yield grid


def unserved(rows: Sequence[Accuracy]) -> Table:
    """The share of the questions no tool serves that were left empty, a row per data set and kind of question."""
    engines = _unique(row.engine for row in rows)
    grid = _grid(
        "honesty",
        "questions that no tool serves: the percentage with nothing found, or marked as uncertain, as is right",
    )
    _columns(grid, ("data set", "questions", *engines), left=2)
    for dataset in _unique(row.dataset for row in rows if row.unserved):
        here = {row.engine: row for row in rows if row.dataset == dataset}
        for split in here[engines[0]].empty_splits:
            figures = [here[engine].empty_splits.get(split, 0.0) for engine in engines]
            grid.add_row(dataset, split or "all", *_best_bold(figures))
        grid.add_section()
    return grid


def details(rows: Sequence[Accuracy]) -> Table:
    """Every figure of every engine on every data set."""
    grid = _grid(
        "accuracy", "all figures, in percent; empty: nothing found though some tool serves; unsure: that, or uncertain"
    )
    _columns(grid, ("data set", "engine", *(f"recall@{depth}" for depth in DEPTHS), "nDCG@10", "empty", "unsure"))
    for dataset in _unique(row.dataset for row in rows if row.questions):
        for row in (row for row in rows if row.dataset == dataset):
            figures = [*(row.recall[depth] for depth in DEPTHS), row.ndcg, row.wrongly_empty, row.wrongly_unsure]
            grid.add_row(dataset, row.engine, *map(_percent, figures))
        grid.add_section()
    return grid


def values(rows: Sequence[Confidence]) -> Table:
    """The share of topics with a value that were found, and of which the engine is sure."""
    meaning = "a topic with a value: percentage found among the first five, then with confidence where that is less"
    shares = {row: (row.found, row.confident or 0.0) for row in rows if row.found is not None}
    return _shares("values", meaning, shares)


def talk(rows: Sequence[Confidence]) -> Table:
    """The share of everyday talk that was held back: nothing shown, or marked as uncertain."""
    meaning = (
        "everyday talk: percentage with nothing shown or marked as uncertain, then with nothing where that is less"
    )
    return _shares("talk", meaning, {row: (row.held_back, row.nothing) for row in rows if row.found is None})


def _shares(name: str, meaning: str, shares: Mapping[Confidence, tuple[float, float]]) -> Table:
    """Two shares for each engine, a row per catalogue and kind of question."""
    engines = _unique(row.engine for row in shares)
    grid = _grid(name, meaning)
    _columns(grid, ("catalogue", "tools", "questions", *engines))
    kinds: dict[tuple[str, int, str], dict[str, tuple[float, float]]] = {}
    counts = {(row.catalogue, row.size, row.split): row.questions for row in shares}
    for row, pair in shares.items():
        kinds.setdefault((row.catalogue, row.size, row.split), {})[row.engine] = pair
    for kind, here in kinds.items():
        cells = [_percent(more) + (f", {_percent(less)}" if less < more else "") for more, less in here.values()]
        grid.add_row(kind[0], f"{kind[1]:,}", f"{counts[kind]} {kind[2]}", *cells)
    return grid


def hit_rates(rows: Sequence[Preloaded]) -> Table:
    """A row per data set and ranker: the share of questions that need no search."""
    grid = _grid("preload", "percentage of questions with a right tool among those loaded, then with all they need")
    heads = [f"{count} loaded" for count in COUNTS]
    _columns(grid, ("data set", "engine", "tools", "questions", *heads, "talk that loads"))
    for dataset in _unique(row.dataset for row in rows):
        for engine in _unique(row.engine for row in rows):
            here = [row for row in rows if (row.dataset, row.engine) == (dataset, engine)]
            if here:
                cells = [f"{_percent(row.any)}, {_percent(row.all)}" for row in here]
                one = here[0]
                grid.add_row(
                    dataset, engine, f"{one.tools:,}", str(one.questions), *cells, f"{_percent(one.talk_loads)}"
                )
        grid.add_section()
    return grid


def embedding(rows: Sequence[Vectors]) -> Table:
    """A row per size of the catalogue; aims in green or red."""
    grid = _grid("vectors", "every tool embedded once, in the background; built: until it can be searched by words")
    _columns(grid, ("tools", "built", "embedded", "CPU", "from the cache", "cache", "in a saved catalogue"))
    for row in rows:
        styles = {
            what: "" if row.size != AIMED_AT else "green" if getattr(row, what) < AIMS[what] else "red" for what in AIMS
        }
        grid.add_row(
            f"{row.size:,}",
            amount(row.build, "s"),
            Text(amount(row.seconds, "s"), style=styles["seconds"]),
            amount(row.cpu, "s"),
            amount(row.kept, "s"),
            Text(amount(row.bytes, "bytes"), style=styles["bytes"]),
            amount(row.saved, "bytes"),
        )
    return grid


def firsts(rows: Sequence[First]) -> Table:
    """What comes first, ours beside the peer and as a ratio."""
    grid = _grid(
        "first",
        "seconds of processor time, elapsed until a question asked at once is answered; best of the rounds; "
        "ratio: words only to the peer in this run",
    )
    engines = _unique(row.engine for row in rows)
    _columns(grid, ("catalogue", "", *engines, *(["ratio"] if PEER in engines else [])), left=2)
    for title in _unique(row.catalogue for row in rows):
        here = {row.engine: row.figures for row in rows if row.catalogue == title}
        for kind, meaning in KINDS.items():
            figures = [here[name].get(kind) for name in engines]
            cells = ["–" if figure is None else amount(figure, "s") for figure in figures]
            ours, peer = here[WORDS].get(kind), here.get(PEER, {}).get(kind)
            if PEER in engines:
                cells.append("–" if ours is None or not peer else times(ours / peer))
            grid.add_row(title, meaning, *cells)
        grid.add_section()
    return grid


def gains(rows: Sequence[Ablation]) -> Table:
    """A row per data set and kind of question, a column per part of the engine that is left out."""
    without = _unique(row.without for row in rows)
    grid = _grid("ablation", "recall@5 in percent without a part of the engine; talk: how often it is held back")
    _columns(grid, ("data set", "questions", *(name or "all of it" for name in without)), left=2)
    for dataset in _unique(row.dataset for row in rows):
        here = [row for row in rows if row.dataset == dataset]
        for split in here[0].shares:
            grid.add_row(dataset, split, *_best_bold([row.shares[split] for row in here]))
        grid.add_section()
    return grid


_HEADINGS = {
    "build": "build",
    "add": "add one",
    "save": "save",
    "load": "load",
    "p50": "p50",
    "p99": "p99",
    "bytes": "memory",
}


def speeds(rows: Sequence[Speed], missing: dict[str, str]) -> Table:
    """A row per engine and size; aims in green or red."""
    grid = _grid("speed", "best of the rounds; add and load include a first search; – is what an engine does not do")
    _columns(grid, ("tools", "engine", *_HEADINGS.values(), "asked"))
    for size in _unique(row.size for row in rows):
        for row in (row for row in rows if row.size == size):
            grid.add_row(
                f"{size:,}", row.engine, *(_figure(row, what) for what in _HEADINGS), str(row.figures["asked"])
            )
        grid.add_section()
    few = "p99 of fewer than 100 questions is the slowest of them."
    return _with_missing(grid, missing, few, _growth(rows))


def _growth(rows: Sequence[Speed]) -> str:
    """How much more ours costs in the largest catalogue than in the one before it."""
    ours = [row for row in rows if row.engine == WORDS]
    if len(ours) < 2:
        return ""
    small, large = ours[-2:]
    shown = {**_HEADINGS, "words": "merely counting the words"}
    pairs = {
        what: (small.figures[what], large.figures[what]) for what in ("build", "load", "p50", "p99", "bytes", "words")
    }
    costs = [f"{shown[what]} {times(new / old)}" for what, (old, new) in pairs.items() if old and new]
    return f"{WORDS}, {times(large.size / small.size)} the tools ({large.size:,}): {', '.join(costs)}"


def _figure(row: Speed, what: str) -> Text:
    figure = row.figures[what]
    if figure is None:
        return Text("–", style="dim")
    style = {None: "", True: "green", False: "red"}[row.meets(what)]
    return Text(amount(figure, "bytes" if what == "bytes" else "s"), style=style)


def searches(rows: Sequence[Searched], missing: dict[str, str]) -> Table:
    """A row per pattern, a column per engine, and the worst of each."""
    engines = _unique(row.engine for row in rows)
    grid = _grid(
        "regex", f"median of the rounds, (hits), five at most; killed after {DEADLINE:g} s; worst: of all rounds"
    )
    _columns(grid, ("", "pattern", *engines), left=2)
    for kind in _unique(row.kind for row in rows):
        for pattern in _unique(row.pattern for row in rows if row.kind == kind):
            here = {row.engine: row for row in rows if row.pattern == pattern}
            grid.add_row(kind, Text(pattern), *(_outcome(here[engine]) for engine in engines))
        grid.add_section()
    verdict = {True: "green", False: "red"}[worst(rows, OURS).slowest < AIM]
    slowest = [
        Text(_worst(worst(rows, engine)), style=f"bold {verdict}" if engine == OURS else "bold") for engine in engines
    ]
    grid.add_row("worst", f"ours: aim < {amount(AIM, 's')}", *slowest)
    return _with_missing(grid, missing)


def _outcome(row: Searched) -> Text:
    if row.outcome == "killed":
        return Text(f"> {amount(row.seconds, 's')}", style="red")
    if row.outcome == "refused":
        return Text("refused", style="dim")
    return Text(f"{amount(row.seconds, 's')} ({row.hits})")


def _worst(row: Searched) -> str:
    return f"{'> ' if row.outcome == 'killed' else ''}{amount(row.slowest, 's')}"


def token_costs(rows: Sequence[Tokens]) -> Table:
    """A row per catalogue."""
    grid = _grid("tokens", "definitions in a model's context, estimated; each search loads five tools")
    _columns(grid, ("tools", "all loaded", "deferred", "1 search", "3 searches", "saved", "names listed"))
    for row in rows:
        costs = (row.all_loaded, row.deferred, row.one_search, row.three_searches)
        grid.add_row(f"{row.size:,}", *(f"{cost:,}" for cost in costs), f"{row.saved:.1%}", f"{row.names_listed:,}")
    return grid


def _grid(name: str, meaning: str) -> Table:
    return Table(title=Text.assemble((name, "bold"), f": {meaning}"), title_justify="left", title_style="", box=SIMPLE)


def _columns(grid: Table, headings: Iterable[str], left: int = 1) -> None:
    for place, heading in enumerate(headings):
        grid.add_column(heading, justify="left" if place < left or heading == "engine" else "right", no_wrap=True)


def _with_missing(grid: Table, missing: dict[str, str], *notes: str) -> Table:
    lines = [*filter(None, notes), *(f"{engine}: {how}" for engine, how in missing.items())]
    grid.caption = Text("\n".join(lines)) if lines else None
    grid.caption_justify = "left"
    return grid


def _best_bold(figures: Sequence[float]) -> list[Text]:
    best = max(figures)
    return [Text(_percent(figure), style="bold" if figure == best else "") for figure in figures]


def _percent(share: float) -> str:
    return f"{100 * share:.1f}"


def _unique(values: Iterable[_T]) -> list[_T]:
    return list(dict.fromkeys(values))
