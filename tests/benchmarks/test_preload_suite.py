"""Preloading is measured as users meet it, and its figures reach the documentation."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from benchmarks.preload import SUITE
from benchmarks.preload.tasks import WAYS, Stage, Task, tasks
from benchmarks.search import figures, languages, vectors
from benchmarks.search.__main__ import main
from benchmarks.search.data import Dataset, Definition, Question
from benchmarks.search.engines import OURS, WORDS
from benchmarks.search.preload import COUNTS, preloaded
from benchmarks.search.run import updated

from hikidashi.search import ToolCatalog


def tool(name: str, description: str) -> Definition:
    return {"name": name, "description": description, "input_schema": {"type": "object", "properties": {}}}


@pytest.mark.cli
def test_a_task_takes_a_turn_less_with_preloading_than_with_a_search_and_sends_less_than_with_all_tools() -> None:
    stage = Stage(200)
    task = Task("assign the issue MOB-9 to Ines", "assignIssue")
    with asyncio.Runner() as runner:
        costs = {way: stage.run(runner, task, way) for way in WAYS}
    assert {way: (one.turns, one.requests) for way, one in costs.items()} == {
        "preload": (2, 2),
        "search": (3, 3),
        "all": (2, 2),
    }
    assert costs["preload"].sent < costs["search"].sent < costs["all"].sent


def test_every_task_has_one_tool_and_the_suite_has_a_meaning_for_each_figure() -> None:
    assert len({task.tool for task in tasks(8)}) == 8
    assert list(SUITE.groups) == ["turns", "requests", "sent", "time"]
    assert len(SUITE.only(["preload"])) == 1


def test_a_hit_is_any_or_all_of_the_tools_that_a_question_needs_and_talk_should_load_nothing() -> None:
    tools = [tool("book_room", "Book a meeting room"), tool("send_message", "Send a message to a person")]
    questions = [
        Question("book a meeting room", frozenset({"book_room"})),
        Question("book a meeting room", frozenset({"book_room", "send_message"})),
        Question("thanks", frozenset()),
    ]
    rows = list(preloaded(Dataset("tiny", tools, questions), WORDS, ToolCatalog(tools, ranker="lexical"), ["thanks"]))
    assert [row.count for row in rows] == list(COUNTS)
    assert {(row.questions, row.any, row.all, row.loaded, row.talk_loads) for row in rows} == {(2, 1.0, 0.5, 1.0, 0.0)}


def test_the_questions_in_other_languages_are_about_tools_that_are_there() -> None:
    asked = languages.asked()
    names = {tool["name"] for tool in asked.tools}
    assert len(names) == len(asked.tools)
    assert {name for question in asked.questions for name in question.gold} <= names
    assert {question.split for question in asked.questions} == {"ja", "zh", "ko", "de", "fr", "es"}


def test_embedding_is_measured_with_nothing_kept_and_then_kept() -> None:
    (row,) = vectors.measure((5,), lambda _: None)
    assert row.size == 5
    assert min(row.seconds, row.cpu, row.build, row.kept, row.bytes) > 0


def test_the_parts_of_search_run_quickly_and_parts_can_be_left_out(tmp_path: Path) -> None:
    target = tmp_path / "search.json"
    arguments = ["languages", "preload", "tokens", "--without", "tokens", "--quick", "--no-plot", "--json", str(target)]
    assert main([*arguments, "--vectors", str(tmp_path / "vectors")]) == 0
    run = json.loads(target.read_text("utf-8"))
    assert (run["tokens"], {row["engine"] for row in run["preload"]}) == ([], {OURS, WORDS})
    assert {row["engine"] for row in run["languages"]} == {OURS, WORDS}
    assert (tmp_path / "vectors").exists()


def test_a_part_that_is_measured_again_leaves_the_other_parts_as_they_were() -> None:
    before = json.dumps({"machine": 1, "speed": ["old"], "regex": ["old"]})
    now = json.dumps({"machine": 2, "speed": ["new"], "regex": []})
    assert json.loads(updated(before, now, ["speed"])) == {"machine": 2, "speed": ["new"], "regex": ["old"]}


def accuracy(engine: str, share: float) -> dict[str, Any]:
    return {
        "dataset": "drawer",
        "tools": 175,
        "questions": 300,
        "engine": engine,
        "recall": {"5": share},
        "splits": {"ja": share},
        "empty_splits": {"talk-en": share},
    }


ENGINES = {OURS: 0.75, WORDS: 0.5, "bm25s": 0.25}
SEARCH: dict[str, Any] = {
    "accuracy": [accuracy(engine, share) for engine, share in ENGINES.items()],
    "languages": [accuracy(engine, share) for engine, share in ENGINES.items()],
    "confidence": [
        {"catalogue": "made up", "size": 10_000, "engine": engine, "split": f"value-{code}", "found": share}
        for engine, share in ENGINES.items()
        for code in ("en", "ja")
    ],
    "preload": [
        {"engine": engine, "count": count, "any": ENGINES[engine], "talk_loads": 0.01}
        for engine in (OURS, WORDS)
        for count in COUNTS
    ],
    "first": [{}],
    "speed": [
        {"engine": engine, "size": size, "figures": {"p50": 0.002, "build": 0.1}}
        for engine in ENGINES
        for size in (1_000, 10_000)
    ],
    "vectors": [{"size": 10_000, "seconds": 50.0, "cpu": 90.0, "bytes": 8_000_000}],
    "regex": [
        {"engine": OURS, "slowest": 0.05, "outcome": "found"},
        {"engine": "re", "slowest": 5.0, "outcome": "killed"},
    ],
}
PRELOAD: dict[str, Any] = {
    "measurements": [
        {"group": group, "unit": "count", "ours": {"median": 2}, "peer": {"median": peer}, "peer_name": name}
        for group in ("turns", "requests", "sent", "time")
        for name, peer in (("search", 3), ("all", 4))
    ]
}


@pytest.mark.parametrize("language", figures.PAGES)
def test_the_pages_show_the_figures_of_the_last_whole_runs(language: figures.Language) -> None:
    page = figures.PAGES[language].read_text("utf-8")
    runs = figures.last_run("search"), figures.last_run("preload")
    assert page == figures.with_figures(page, *runs, language)


@pytest.mark.parametrize("language", figures.PAGES)
def test_the_tables_show_the_default_beside_words_only_and_the_peers(language: figures.Language) -> None:
    page = figures.with_figures(figures.PAGES[language].read_text("utf-8"), SEARCH, PRELOAD, language)
    assert "| 75.0 % | 50.0 % | bm25s, 25.0 % |" in page
    assert "| 2.00 ms | 2.00 ms | bm25s 2.00 ms |" in page
    assert "| 2.00 | 3.00 | 4.00 |" in page
    assert "CPU 90.0 s" in page
    assert page == figures.with_figures(page, SEARCH, PRELOAD, language)
    tables = [figures.search_table(SEARCH, language), figures.preload_table(PRELOAD, language)]
    assert {line.count("|") for table in tables for line in table.splitlines()} == {5}
    assert {line.count("|") for line in figures.readme_rows(SEARCH, language).splitlines()} == {4}


def test_a_run_without_everything_that_the_tables_show_changes_no_page() -> None:
    page = figures.PAGES["en"].read_text("utf-8")
    assert figures.with_figures(page, None, None, "en") == page
