"""Measurements as one picture: a panel per group, a bar per ratio, a line where ours and the peer are equal."""

# matplotlib leaves its keyword arguments untyped.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
from matplotlib.ticker import LogLocator, NullLocator

from .machine import Machine
from .registry import Measurement, Suite
from .report import aim, amount, times

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_BETTER, _WORSE, _INK, _FAINT = "#2a9d8f", "#e07a5f", "#22223b", "#6c757d"

# Inches: the picture is as high as its rows need, and as wide as its longest words.
_LEAST_WIDTH, _LEFT, _BARS_AT, _BARS_WIDE = 13.4, 0.2, 3.6, 4.4
_WORDS_AT, _GAP, _WORDS_SIZE = 8.15, 0.25, 8.5
_HEAD, _GROUP_HEAD, _ROW, _GROUP_FOOT = 0.95, 0.4, 0.35, 0.5


def draw(suite: Suite, measurements: Sequence[Measurement], machine: Machine, path: Path) -> None:
    """Draw the run into a PNG at `path`."""
    mpl.use("Agg")
    from matplotlib import pyplot

    groups = {group: [row for row in measurements if row.group == group] for group in suite.groups}
    groups = {group: rows for group, rows in groups.items() if rows}
    high = _HEAD + len(measurements) * _ROW + len(groups) * (_GROUP_HEAD + _GROUP_FOOT)
    columns, wide = _columns(measurements)
    with pyplot.rc_context({"font.size": 9, "font.family": "DejaVu Sans", "text.color": _INK, "ytick.color": _INK}):
        figure = pyplot.figure(figsize=(wide, high))

        def write(x: float, y: float, words: str, **style: Any) -> None:
            figure.text(x / wide, y / high, words, va="center", **style)

        write(_LEFT, high - 0.25, suite.title, fontsize=14, weight="bold")
        write(_LEFT, high - 0.5, "Ours ÷ peer, medians of rounds taken in turns. Left of the line is better.")
        write(_LEFT, high - 0.72, _where(machine), color=_FAINT, fontsize=8)
        top = high - _HEAD
        for group, rows in groups.items():
            top -= _GROUP_HEAD
            write(_LEFT, top + 0.17, f"{group}: ", fontsize=10.5, weight="bold")
            write(_LEFT + 1.05, top + 0.17, suite.groups[group].replace("`", ""), color=_FAINT)
            tall = len(rows) * _ROW
            top -= tall
            _panel(figure.add_axes((_BARS_AT / wide, top / high, _BARS_WIDE / wide, tall / high)), rows)
            for place, row in enumerate(rows):
                for x, (words, style) in zip(columns, _words(row), strict=True):
                    write(x, top + tall - (place + 0.5) * _ROW, words, fontsize=_WORDS_SIZE, **style)
            top -= _GROUP_FOOT
        path.parent.mkdir(parents=True, exist_ok=True)
        # Without the software's version the same figures give the same bytes.
        figure.savefig(path, dpi=110, metadata={"Software": None})
        pyplot.close(figure)


def _columns(rows: Sequence[Measurement]) -> tuple[list[float], float]:
    """Where the ratio, the two amounts, the peer and the aim are written, and the width of the picture."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import TextPath

    def inches(words: str, weight: str = "normal", **_: Any) -> float:
        font = FontProperties(family="DejaVu Sans", weight=weight)
        return TextPath((0, 0), words, size=_WORDS_SIZE, prop=font).get_extents().width / 72 if words else 0.0

    places, at = list[float](), _WORDS_AT
    for column in zip(*map(_words, rows), strict=True):
        places.append(at)
        at += max(inches(words, **style) for words, style in column) + _GAP
    return places, max(_LEAST_WIDTH, at)


def _panel(axes: Axes, rows: Sequence[Measurement]) -> None:
    ratios = [row.ratio for row in rows if row.ratio is not None] or [1.0]
    # Far from 1, only a logarithmic axis shows both 0.05 and 40; there a bar begins where ours and the peer are equal.
    logarithmic = max(ratios) > 6 or (len(rows) > 4 and min(ratios) < 0.2)
    axes.set_xscale("log" if logarithmic else "linear")
    if logarithmic:
        axes.set_xlim(min(*ratios, 1) / 1.5, max(*ratios, 1) * 1.5)
        wide = max(ratios) / min(*ratios, 1) > 100
        axes.xaxis.set_major_locator(LogLocator(subs=(1,) if wide else (1, 2, 5)))
        axes.xaxis.set_minor_locator(NullLocator())
    else:
        axes.set_xlim(0, max(*ratios, 1.15) * 1.08)
    axes.set_ylim(len(rows) - 0.5, -0.5)
    for place, row in enumerate(rows):
        if row.ratio is None or row.ratio_quartiles is None:
            continue
        start = 1.0 if logarithmic else 0.0
        axes.barh(place, row.ratio - start, left=start, height=0.6, color=_color(row))
        axes.plot(row.ratio_quartiles, [place, place], color=_INK, linewidth=1.2, alpha=0.7)
    axes.axvline(1.0, color=_INK, linewidth=1)
    labels = [f"{row.name}\n{row.note}" if row.note else row.name for row in rows]
    axes.set_yticks(range(len(rows)), labels, fontsize=8.2, linespacing=1.15)
    axes.tick_params(axis="y", length=0)
    axes.tick_params(axis="x", colors=_FAINT, labelsize=8)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}×")
    axes.set_axisbelow(True)
    axes.grid(axis="x", color="#e9ecef")
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.spines["bottom"].set_color("#ced4da")


def _words(row: Measurement) -> list[tuple[str, dict[str, Any]]]:
    ours = amount(row.ours.median, row.unit)
    wish = {None: "", True: f"aim {aim(row)} ✓", False: f"aim {aim(row)} ✗"}[row.met]
    return [
        ("" if row.ratio is None else times(row.ratio), {"weight": "bold"}),
        (ours if row.peer is None else f"{ours} ÷ {amount(row.peer.median, row.unit)}", {}),
        (row.peer_name.replace("`", ""), {"color": _FAINT}),
        (wish, {"color": _BETTER if row.met else _WORSE}),
    ]


def _color(row: Measurement) -> str:
    good = row.met if row.aim_ratio is not None else (row.ratio or 0) <= 1
    return _BETTER if good else _WORSE


def _where(machine: Machine) -> str:
    versions = ", ".join(f"{name} {number}" for name, number in machine["versions"].items())
    load = "" if machine["load"] is None else f", load {machine['load']} before the run"
    return f"{machine['system']}, {machine['cores']} cores{load}, Python {machine['python']}, {versions}"
