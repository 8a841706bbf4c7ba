"""The gateway suite compares like with like: every way reaches the same tool. How fast, no test says."""

from __future__ import annotations

import pytest
from anyio.from_thread import start_blocking_portal
from benchmarks.gateway import SUITE, figures
from benchmarks.gateway.calls import added
from benchmarks.gateway.stage import Way, contestants, echo, stage
from benchmarks.registry import Plan, Sample
from mcp.types import CallToolResult
from tests.mcp_support import text_of


def test_every_group_is_explained_and_has_cases() -> None:
    assert [group for group in SUITE.groups if not SUITE.only([f"gateway.{group}"])] == []
    assert {case.group for case in SUITE.cases} == SUITE.groups.keys()


@pytest.mark.soak
def test_every_way_to_call_gives_the_same_answer() -> None:
    answers: dict[Way, CallToolResult] = {}
    with (
        stage() as here,
        start_blocking_portal() as portal,
        contestants(portal, here, 40, route="stdio", search=True) as clients,
    ):
        for way, client in clients.items():
            answers[way] = portal.call(client.call_tool, *echo(way, search=True))
    assert {way: text_of(answer) for way, answer in answers.items()} == dict.fromkeys(answers, "hello")
    assert {"direct", "ours"} <= answers.keys()


@pytest.mark.soak
@pytest.mark.parametrize("name", ["calls: HTTP, listed tool", "faults: first list", "listing: 40 tools"])
def test_a_quick_run_measures_ours(name: str) -> None:
    (case,) = [case for case in SUITE.cases if f"{case.group}: {case.name}" == name]
    rows = list(case.run(Plan(quick=True)))
    assert {row.group for row in rows} == {case.group}
    assert all(row.ours.median for row in rows)


def test_what_a_way_adds_is_taken_round_by_round() -> None:
    assert added(Sample((3.0, 5.0)), Sample((1.0, 1.5))) == Sample((2.0, 3.5))


@pytest.mark.parametrize("language", figures.PAGES)
def test_the_pages_show_the_figures_of_the_last_whole_run(language: figures.Language) -> None:
    page = figures.PAGES[language].read_text("utf-8")
    assert page == figures.with_figures(page, figures.last_run(), language)


@pytest.mark.parametrize("language", figures.PAGES)
def test_the_table_has_a_line_for_each_measurement_that_is_shown(language: figures.Language) -> None:
    figure = {"unit": "s", "ours": {"median": 0.002}, "peer": {"median": 0.004}, "ratio": 0.5}
    rows = [
        {**figure, "group": group, "name": name, "peer_name": figures.PEERS[peer]}
        for _, _, group, name, peer in figures.SHOWN
    ]
    head, rule, *lines = figures.table(rows, language).splitlines()
    assert (head.count("|"), rule, len(lines)) == (5, "|---|---|---|---|", len(figures.SHOWN))
    assert all(line.count("|") == 5 and "| 2.00 ms |" in line and line.endswith("4.00 ms | 0.50 |") for line in lines)
