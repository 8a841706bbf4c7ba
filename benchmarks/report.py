"""Measurements as a table for the terminal and as JSON for programs and diffs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.box import SIMPLE
from rich.table import Table
from rich.text import Text

from .machine import Machine
from .registry import Measurement, Sample, Suite, Unit

_SCALES: dict[Unit, tuple[tuple[float, str], ...]] = {
    "s": ((1, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns")),
    "bytes": ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1, "B")),
    "count": ((1, ""),),
    "tokens": ((1e6, "M tokens"), (1e3, "k tokens"), (1, "tokens")),
}


def amount(value: float, unit: Unit) -> str:
    """`value` with three digits and the unit that suits it: `1.25 ms`."""
    scales = _SCALES[unit]
    factor, symbol = next(((factor, symbol) for factor, symbol in scales if abs(value) >= factor), scales[-1])
    scaled = value / factor
    decimals = 2 if abs(scaled) < 10 else 1 if abs(scaled) < 100 else 0
    return f"{scaled:.{decimals}f} {symbol}".rstrip()


def times(ratio: float) -> str:
    """A ratio for people: `1.05×`."""
    return f"{ratio:.2f}×" if ratio < 100 else f"{ratio:.0f}×"


def aim(measurement: Measurement) -> str:
    """What was aimed at, or nothing."""
    if measurement.aim is not None:
        return f"< {amount(measurement.aim, measurement.unit)}"
    return "" if measurement.aim_ratio is None else f"≤ {times(measurement.aim_ratio)}"


def tables(suite: Suite, measurements: Sequence[Measurement]) -> list[Table]:
    """A table per group that was measured, a row per measurement."""
    groups = {group: [row for row in measurements if row.group == group] for group in suite.groups}
    return [_table(group, suite.groups[group], rows) for group, rows in groups.items() if rows]


def _table(group: str, meaning: str, rows: Sequence[Measurement]) -> Table:
    grid = Table(title=Text.assemble((group, "bold"), f": {meaning}"), title_justify="left", title_style="", box=SIMPLE)
    grid.add_column("", ratio=1)
    for heading in ("ours", "peer", "ratio", "spread", "aim", "n"):
        grid.add_column(heading, justify="right", no_wrap=True)
    grid.add_column("peer")
    for row in rows:
        grid.add_row(*_cells(row))
    return grid


def _cells(row: Measurement) -> list[Text | str]:
    verdict = {None: "", True: "green", False: "red"}[row.met]
    spread = "" if row.ratio_quartiles is None else "[{:.2f}, {:.2f}]".format(*row.ratio_quartiles)
    return [
        Text.assemble(row.name, (f"\n  {row.note}" if row.note else "", "dim")),
        amount(row.ours.median, row.unit),
        "" if row.peer is None else amount(row.peer.median, row.unit),
        Text("" if row.ratio is None else times(row.ratio), style=verdict),
        Text(spread),
        Text(aim(row), style=verdict),
        str(row.n),
        row.peer_name,
    ]


def as_json(suite: Suite, measurements: Sequence[Measurement], machine: Machine) -> str:
    """The run as JSON text whose keys and digits do not wobble, so that two runs can be compared line by line."""
    document = {"suite": suite.name, "machine": machine, "measurements": [_record(row) for row in measurements]}
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def write(path: Path, text: str) -> None:
    """Put `text` into `path`, making its folder if needed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def _record(row: Measurement) -> dict[str, Any]:
    return {
        "group": row.group,
        "name": row.name,
        "unit": row.unit,
        "ours": _figures(row.ours),
        "peer": None if row.peer is None else _figures(row.peer),
        "peer_name": row.peer_name,
        "ratio": None if row.ratio is None else _digits(row.ratio),
        "ratio_spread": None if row.ratio_quartiles is None else [_digits(value) for value in row.ratio_quartiles],
        "n": row.n,
        "aim": row.aim,
        "aim_ratio": row.aim_ratio,
        "met": row.met,
        "note": row.note,
    }


def _figures(sample: Sample) -> dict[str, float]:
    low, high = sample.quartiles
    named = {"median": sample.median, "low": low, "high": high, "best": sample.best}
    return {name: _digits(value) for name, value in named.items()}


def _digits(value: float) -> float:
    return float(f"{value:.4g}")
