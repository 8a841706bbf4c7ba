"""The throughput of searches compares like with like: every contestant gets the same hits from the same server."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from benchmarks.registry import Plan
from benchmarks.web.server import HITS
from benchmarks.web.throughput import CACHED, CASES, OURS, PER_CALL, SHARED, contestants, load, running_server


async def test_every_contestant_finds_the_same_pages(tmp_path: Path) -> None:
    with running_server() as url:
        async with contestants(url, tmp_path) as searches:
            answers = {name: await search("tea") for name, search in searches.items()}
            again = await searches[CACHED]("tea")
    expected = [hit.url for hit in HITS]
    assert [hit.url for hit in answers[OURS].results] == expected
    assert [[hit["url"] for hit in answers[name]["results"]] for name in (SHARED, PER_CALL)] == [expected] * 2
    assert (answers[OURS].cached, again.cached) == (False, True)


async def test_a_load_is_as_many_different_searches_as_asked_for() -> None:
    seen: list[str] = []

    async def search(query: str) -> Any:
        seen.append(query)

    await load(search, 50, 8)
    assert len(set(seen)) == len(seen) == 50


@pytest.mark.soak
def test_a_quick_run_measures_ours_beside_both_peers_and_the_cache() -> None:
    (case,) = [case for case in CASES if case.name == "1 at once"]
    rows = list(case.run(Plan(quick=True)))
    assert [(row.name, row.peer_name, row.n) for row in rows] == [
        ("1 at once", SHARED, 2),
        ("1 at once", PER_CALL, 2),
        ("1 at once, from the cache", SHARED, 2),
    ]
