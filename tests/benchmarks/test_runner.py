"""The benchmark runner: what it makes of figures. How fast anything is, no test says."""

from __future__ import annotations

import json
from collections.abc import Iterable
from io import StringIO
from pathlib import Path

import pytest
from benchmarks.__main__ import SUITES, main, reasons, run
from benchmarks.machine import Machine
from benchmarks.registry import Case, Measurement, Plan, Sample, Suite
from rich.console import Console

from benchmarks import plot, report

MACHINE = Machine(system="Linux x86_64", cores=2, load=0.5, python="3.11.7", versions={"hikidashi": "0.1.0"})

FAST = Measurement(
    group="speed",
    name="one call",
    unit="s",
    ours=Sample((0.001, 0.003, 0.002)),
    peer=Sample((0.002, 0.004, 0.005)),
    peer_name="by hand",
    aim_ratio=1.05,
)
BIG = Measurement(
    group="memory",
    name="10 tools",
    unit="bytes",
    ours=Sample((3e6,)),
    peer=Sample((1e6,)),
    peer_name="by hand",
    note="RSS",
)
ALONE = Measurement(group="memory", name="--help", unit="bytes", ours=Sample((2048,)), aim=1000)


def suite(*cases: Case) -> Suite:
    return Suite(name="tiny", title="A tiny suite", groups={"speed": "ours ÷ theirs", "memory": "bytes"}, cases=cases)


def quiet() -> Console:
    return Console(file=StringIO(), width=120)


def printed(measurements: list[Measurement]) -> list[str]:
    console = quiet()
    for table in report.tables(suite(), measurements):
        console.print(table)
    assert isinstance(console.file, StringIO)
    return [" ".join(line.split()) for line in console.file.getvalue().splitlines() if line.strip(" ─")]


def test_contestants_take_turns_and_the_warm_up_does_not_count() -> None:
    order: list[str] = []

    def contestant(name: str, first: float) -> float:
        order.append(name)
        return first + order.count(name)

    figures = Plan().alternate({"a": lambda: contestant("a", 0), "b": lambda: contestant("b", 10)}, 2)
    assert order == ["a", "b", "a", "b", "b", "a"]
    assert figures == {"a": Sample((2, 3)), "b": Sample((12, 13))}


def test_a_ratio_is_our_median_over_the_peers_and_its_spread_comes_from_pairs() -> None:
    assert FAST.ratio == 0.5
    assert FAST.ratio_quartiles == pytest.approx((0.45, 0.625))
    assert (FAST.n, FAST.met) == (3, True)


@pytest.mark.parametrize(
    ("aim", "aim_ratio", "met"),
    [
        (None, None, None),
        (3.0, None, True),
        (2.0, None, False),
        (None, 2.0, True),
        (None, 1.99, False),
        (3.0, 1.0, False),
    ],
)
def test_an_aim_is_met_or_missed(aim: float | None, aim_ratio: float | None, met: bool | None) -> None:
    row = Measurement(group="g", name="n", unit="s", ours=Sample((2,)), peer=Sample((1,)), aim=aim, aim_ratio=aim_ratio)
    assert row.met is met


@pytest.mark.parametrize(
    ("value", "unit", "shown"),
    [
        (1.5, "s", "1.50 s"),
        (0.0123, "s", "12.3 ms"),
        (2.5e-5, "s", "25.0 µs"),
        (0, "s", "0.00 ns"),
        (123e6, "bytes", "123 MB"),
    ],
)
def test_amounts_have_three_digits_and_a_fitting_unit(value: float, unit: report.Unit, shown: str) -> None:
    assert report.amount(value, unit) == shown


def test_the_tables_have_a_row_per_measurement_and_skip_groups_without_any() -> None:
    assert printed([FAST]) == [
        "speed: ours ÷ theirs",
        "ours peer ratio spread aim n peer",
        "one call 2.00 ms 4.00 ms 0.50× [0.45, 0.62] ≤ 1.05× 3 by hand",
    ]
    assert printed([BIG, ALONE]) == [
        "memory: bytes",
        "ours peer ratio spread aim n peer",
        "10 tools 3.00 MB 1.00 MB 3.00× [3.00, 3.00] 1 by hand",
        "RSS",
        "--help 2.05 kB < 1.00 kB 1",
    ]


def test_the_json_says_everything_with_four_digits_and_ends_in_a_newline() -> None:
    text = report.as_json(suite(), [FAST, ALONE], MACHINE)
    assert text.endswith("}\n")
    assert json.loads(text) == {
        "suite": "tiny",
        "machine": MACHINE,
        "measurements": [
            {
                "group": "speed",
                "name": "one call",
                "unit": "s",
                "ours": {"median": 0.002, "low": 0.0015, "high": 0.0025, "best": 0.001},
                "peer": {"median": 0.004, "low": 0.003, "high": 0.0045, "best": 0.002},
                "peer_name": "by hand",
                "ratio": 0.5,
                "ratio_spread": [0.45, 0.625],
                "n": 3,
                "aim": None,
                "aim_ratio": 1.05,
                "met": True,
                "note": "",
            },
            {
                "group": "memory",
                "name": "--help",
                "unit": "bytes",
                "ours": {"median": 2048.0, "low": 2048.0, "high": 2048.0, "best": 2048.0},
                "peer": None,
                "peer_name": "",
                "ratio": None,
                "ratio_spread": None,
                "n": 1,
                "aim": 1000,
                "aim_ratio": None,
                "met": False,
                "note": "",
            },
        ],
    }


def test_the_same_figures_draw_the_same_picture(tmp_path: Path) -> None:
    first, second = tmp_path / "new folder" / "a.png", tmp_path / "b.png"
    for path in (first, second):
        plot.draw(suite(), [FAST, BIG, ALONE], MACHINE, path)
    assert first.read_bytes().startswith(b"\x89PNG")
    assert first.read_bytes() == second.read_bytes()


def test_a_case_that_fails_does_not_cost_the_figures_of_the_others() -> None:
    def fails(_: Plan) -> Iterable[Measurement]:
        raise OSError("no such thing")

    def works(plan: Plan) -> Iterable[Measurement]:
        plan.progress(0.5)
        yield FAST

    broken = Case("speed", "broken", fails)
    measurements, failures = run([broken, Case("speed", "works", works)], Plan(quick=True), quiet())
    assert measurements == [FAST]
    assert [(case, str(error)) for case, error in failures] == [(broken, "no such thing")]


@pytest.mark.parametrize(
    ("patterns", "chosen"),
    [
        (["tiny"], ["a", "b"]),
        (["tiny.memory"], ["b"]),
        (["*.speed"], ["a"]),
        (["other"], []),
        (["tiny.s*", "x"], ["a"]),
    ],
)
def test_suites_and_groups_are_chosen_by_name(patterns: list[str], chosen: list[str]) -> None:
    def nothing(_: Plan) -> Iterable[Measurement]:
        return []

    cases = suite(Case("speed", "a", nothing), Case("memory", "b", nothing)).only(patterns)
    assert [case.name for case in cases] == chosen


def test_the_command_lists_its_suites_and_refuses_unknown_names(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--list"]) == 0
    listed = capsys.readouterr().out
    assert all(name in listed for name in SUITES)
    assert main(["no-such-suite"]) == 2
    assert "No benchmark is called no-such-suite" in capsys.readouterr().out


def test_the_reason_of_a_failure_is_the_error_inside_the_groups_with_its_causes() -> None:
    def lost() -> Exception:
        error = RuntimeError("no answer")
        error.__cause__ = ConnectionResetError("closed")
        return error

    group = ExceptionGroup("outer", [ExceptionGroup("inner", [lost(), ValueError("x")]), lost()])

    assert reasons(group) == "RuntimeError: no answer, caused by ConnectionResetError: closed; ValueError: x"
