"""A run as two pictures: how often the tool is found, and how the time grows with the catalogue."""

# matplotlib leaves its keyword arguments untyped.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

import textwrap
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter, NullLocator

from ..machine import Machine
from ..report import amount
from .accuracy import Accuracy
from .data import SHIPPED
from .engines import OURS, STATIC, WORDS
from .run import Run
from .speed import AIMED_AT, AIMS, Speed

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_LINE_HIGH = 0.13  # inches, of the small print
_LETTERS_PER_INCH = 15
_INK, _FAINT, _LINE = "#22223b", "#6c757d", "#e9ecef"
_COLOURS = {
    OURS: "#14544d",
    WORDS: "#2a9d8f",
    "bm25s": "#e9b44c",
    "rank-bm25": "#e07a5f",
    STATIC: "#a3b18a",
    "FastMCP": "#7189bf",
    "pydantic-ai": "#b5739d",
    "tantivy": "#8d99ae",
    "SQLite FTS5": "#5c5470",
}

_TRAINED_ON = {"acebench_zh", "bfcl", "metatool", "restbench", "sealtools", "stabletoolbench"}

_SPLITS = {
    "en": "asked in English,\ntool in English",
    "ja": "asked in Japanese,\ntool in Japanese",
    "ja-en": "asked in Japanese,\ntool in English",
    "en-ja": "asked in English,\ntool in Japanese",
}


def draw(run: Run, folder: Path) -> list[Path]:
    """Draw what was measured into `search-accuracy.png` and `search-speed.png` in `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    drawn: list[Path] = []
    if run.accuracy:
        drawn.append(folder / "search-accuracy.png")
        _accuracy(run.accuracy, run.machine, drawn[-1])
    if run.speed:
        drawn.append(folder / "search-speed.png")
        _speed(run.speed, run.machine, drawn[-1])
    return drawn


def _accuracy(rows: Sequence[Accuracy], machine: Machine, path: Path) -> None:
    engines = list(dict.fromkeys(row.engine for row in rows))
    panels = {
        _every_set(rows): _by_dataset(rows),
        "the shipped set, by language": _by_language(rows),
        "everyday talk in English: percent with nothing found, or nothing certain, as is right": _talk(rows),
    }
    panels = {title: groups for title, groups in panels.items() if groups}
    group = 0.35 + 0.22 * len(engines)
    wide = max(7.5, 0.85 + group * max(map(len, panels.values())))
    head = 1.02 + _LINE_HIGH * len(_versions(machine, wide))
    high = head + 2.75 * len(panels)
    with _figure(path, (wide, high)) as figure:
        _title(figure, machine, "Is the right tool among the first five?", "recall@5 in percent; higher is better.")
        for place, (title, groups) in enumerate(panels.items()):
            bottom = high - head - 2.75 * (place + 1) + 0.6
            axes = figure.add_axes((0.6 / wide, bottom / high, len(groups) * group / wide, 1.8 / high))
            axes.set_title(title, fontsize=9.5, loc="left", color=_INK)
            _bars(axes, groups, engines)
        handles = [Patch(color=_COLOURS[engine], label=engine) for engine in engines]
        corner = (0.5 / wide, 1 - (head - 0.35) / high)
        figure.legend(handles=handles, loc="upper left", bbox_to_anchor=corner, ncols=8, frameon=False, fontsize=8.5)


def _bars(axes: Axes, groups: dict[str, dict[str, float]], engines: Sequence[str]) -> None:
    bar = 0.84 / len(engines)
    for place, engine in enumerate(engines):
        at = [group - 0.42 + (place + 0.5) * bar for group in range(len(groups))]
        heights = [100 * figures[engine] for figures in groups.values()]
        axes.bar(at, heights, width=bar * 0.92, color=_COLOURS[engine])
        for x, height in zip(at, heights, strict=True):
            weight = "bold" if engine.startswith(OURS) else "normal"
            axes.text(x, height + 1.5, f"{height:.0f}", ha="center", fontsize=7.2, weight=weight)
    axes.set_ylim(0, 108)
    axes.set_xlim(-0.5, len(groups) - 0.5)
    axes.set_xticks(range(len(groups)), list(groups))
    axes.set_yticks(range(0, 101, 25))
    _plain(axes, "y")
    axes.tick_params(axis="x", length=0)


def _every_set(rows: Sequence[Accuracy]) -> str:
    seen = sorted({row.dataset for row in rows} & _TRAINED_ON)
    return "every data set" + (f"; the encoder was trained on {', '.join(seen)}" if seen else "")


def _by_dataset(rows: Sequence[Accuracy]) -> dict[str, dict[str, float]]:
    groups: dict[str, dict[str, float]] = {}
    for row in rows:
        if row.questions:
            groups.setdefault(f"{row.dataset}\n{row.tools:,} tools", {})[row.engine] = row.recall[5]
    return groups


def _by_language(rows: Sequence[Accuracy]) -> dict[str, dict[str, float]]:
    shipped = {row.engine: row.splits for row in rows if row.dataset == SHIPPED.name}
    return {
        words: {engine: splits[split] for engine, splits in shipped.items()}
        for split, words in _SPLITS.items()
        if all(split in splits for splits in shipped.values())
    }


def _talk(rows: Sequence[Accuracy]) -> dict[str, dict[str, float]]:
    groups: dict[str, dict[str, float]] = {}
    for row in rows:
        if (empty := row.empty_splits.get("talk-en")) is not None:
            groups.setdefault(f"{row.dataset}\n{row.tools:,} tools", {})[row.engine] = empty
    return groups


def _speed(rows: Sequence[Speed], machine: Machine, path: Path) -> None:
    panels = {"p50": "a search, median", "p99": "a search, 99th percentile", "build": "building the index"}
    with _figure(path, (13.4, 4.6)) as figure:
        _title(figure, machine, "How the time grows with the catalogue", "Both axes logarithmic; lower is better.")
        for place, (what, title) in enumerate(panels.items()):
            axes = figure.add_axes((0.048 + place * 0.328, 0.09, 0.222, 0.64))
            axes.set_title(title, fontsize=9.5, loc="left", color=_INK)
            _growth(axes, rows, what)


def _growth(axes: Axes, rows: Sequence[Speed], what: str) -> None:
    axes.set_xscale("log")
    axes.set_yscale("log")
    ends: list[tuple[float, float, str]] = []
    sizes = sorted({row.size for row in rows})
    for engine in dict.fromkeys(row.engine for row in rows):
        points = [(row.size, row.figures[what]) for row in rows if row.engine == engine]
        xs, ys = [x for x, _ in points], [y or 0 for _, y in points]
        ours = engine.startswith(OURS)
        axes.plot(
            xs, ys, color=_COLOURS[engine], linewidth=2.6 if ours else 1.4, marker="o", markersize=4 if ours else 3
        )
        ends.append((xs[-1], ys[-1], engine))
    if what in AIMS[WORDS] and AIMED_AT in sizes:
        aim = AIMS[WORDS][what]
        axes.plot([AIMED_AT], [aim], marker="v", markersize=6, color=_INK, linestyle="none")
        words, above = f"aim {amount(aim, 's')}", (-6, 5)
        axes.annotate(words, (AIMED_AT, aim), above, textcoords="offset points", ha="right", fontsize=7.5, color=_INK)
    _label_ends(axes, ends)
    axes.set_xticks(sizes, [f"{size:,}" for size in sizes])
    axes.xaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(FuncFormatter(_tick))
    _plain(axes, "both")


def _tick(seconds: float, _: int) -> str:
    return amount(seconds, "s").replace(".00", "").replace(".0", "")


def _label_ends(axes: Axes, ends: list[tuple[float, float, str]]) -> None:
    """Write each engine's name where its line ends, names that would overlap pushed apart."""
    axes.get_figure().canvas.draw()  # pyright: ignore[reportOptionalMemberAccess]
    place = axes.transData
    ends.sort()
    heights = [place.transform((x, y))[1] for x, y, _ in ends]
    apart = 13.0
    for index in range(1, len(heights)):
        if ends[index][0] == ends[index - 1][0]:
            heights[index] = max(heights[index], heights[index - 1] + apart)
    for height, (x, y, engine) in zip(heights, ends, strict=True):
        away = (height - place.transform((x, y))[1]) * 72 / axes.figure.dpi
        axes.annotate(
            engine.removeprefix(f"{OURS}, "),
            (x, y),
            (7, away - 3),
            textcoords="offset points",
            fontsize=8,
            color=_COLOURS[engine],
            weight="bold" if engine.startswith(OURS) else "normal",
            annotation_clip=False,
        )


@contextmanager
def _figure(path: Path, size: tuple[float, float]) -> Generator[Figure]:
    mpl.use("Agg")
    from matplotlib import pyplot

    with pyplot.rc_context({"font.size": 9, "font.family": "DejaVu Sans", "text.color": _INK}):
        figure = pyplot.figure(figsize=size)
        yield figure
        # Without the software's version the same figures give the same bytes.
        figure.savefig(path, dpi=110, metadata={"Software": None})
        pyplot.close(figure)


def _title(figure: Figure, machine: Machine, title: str, meaning: str) -> None:
    wide, high = figure.get_size_inches()

    def write(down: float, words: str, **style: Any) -> None:
        figure.text(0.2 / wide, 1 - down / high, words, va="center", **style)

    write(0.25, f"Tool search: {title}", fontsize=14, weight="bold")
    write(0.5, meaning)
    for place, line in enumerate(_versions(machine, wide)):
        write(0.7 + place * _LINE_HIGH, line, color=_FAINT, fontsize=7.5)


def _versions(machine: Machine, wide: float) -> list[str]:
    """What was installed, in lines that fit a picture so many inches wide."""
    named = ", ".join(f"{name} {number}" for name, number in machine["versions"].items())
    return textwrap.wrap(named, int(wide * _LETTERS_PER_INCH), break_on_hyphens=False)


def _plain(axes: Axes, grid: Any) -> None:
    axes.set_axisbelow(True)
    axes.grid(axis=grid, color=_LINE)
    axes.tick_params(colors=_FAINT, labelsize=8)
    axes.tick_params(axis="x", labelcolor=_INK)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.spines["bottom"].set_color("#ced4da")
