"""`hikidashi tools tune`: what it learns, what it refuses, and what it leaves as it was."""

from __future__ import annotations

import json
import os
import random
import re
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.cells import cell_len
from tests.search.tuning.company import EVERYDAY, JAPANESE, QUESTIONS, TOOLS
from typer.testing import CliRunner, Result

from hikidashi import ToolCatalog
from hikidashi.cli.app import app
from hikidashi.errors import MissingExtra, ToolSourceError
from hikidashi.search import SearchLog
from hikidashi.search.engine import embeddings
from hikidashi.search.engine.adapter import (
    Adapter,
    adapter_path,
    load_adapter,
    previous_path,
    save_adapter,
)
from hikidashi.search.engine.embeddings import default_embedder

Tune = Callable[..., Result]
ERRANDS = Path(__file__).parents[2] / "benchmarks/data/errands/queries.jsonl"


@pytest.fixture(scope="module", autouse=True)
def one_cache(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Sentences are embedded once for all tests of this file."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(autouse=True)
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file in which an adapter is installed."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.delenv("HIKIDASHI_RANKER")
    forget()
    return adapter_path(default_embedder().id)


def forget() -> None:
    """Load the encoder and its adapter again, as a new process does."""
    embeddings._loaded.cache_clear()


@pytest.fixture
def catalog(tmp_path: Path) -> str:
    path = tmp_path / "tools.json"
    path.write_text(json.dumps(TOOLS), encoding="utf-8")
    return str(path)


@pytest.fixture
def tune(tmp_path: Path, catalog: str) -> Tune:
    """`tune(questions, "--json")` runs `hikidashi tools tune` on them."""

    def run(questions: Sequence[Any], *options: str, columns: int = 80) -> Result:
        path = tmp_path / "questions.jsonl"
        path.write_text("\n".join(map(json.dumps, questions)), encoding="utf-8")
        return invoke("tune", str(path), "--catalog", catalog, *options, columns=columns)

    return run


def invoke(*arguments: str, columns: int = 80) -> Result:
    return CliRunner().invoke(app, ["tools", *arguments], env={"COLUMNS": str(columns), "NO_COLOR": "1"})


def found(catalog: ToolCatalog, questions: dict[str, str]) -> list[bool]:
    catalog.ready()
    return [tool in [match.name for match in catalog.search(question)] for question, tool in questions.items()]


def test_slang_is_learnt_installed_and_used_and_other_questions_find_what_they_found(
    tune: Tune, catalog: str, data: Path
) -> None:
    before = [found(ToolCatalog(TOOLS), asked) for asked in (EVERYDAY, JAPANESE)]
    unknown: list[Any] = [{"query": "polish the moon", "tools": ["moon\x1b[2J", "sun"]}, {"query": "hi", "gold": []}]
    first = tune([*QUESTIONS, *unknown])
    assert first.exit_code == 0, first.output
    lines = first.stdout.splitlines()
    assert max(cell_len(line) for line in lines if line != str(data)) <= 80
    assert lines[0] == "126 questions about 9 of 20 tools: 87 to train on, 39 held out."
    assert "1 question that no tool answers stays as it is." in lines
    assert "that the questions name: moon, sun. 1 question left out." in " ".join(lines)
    assert [line.split()[0] for line in lines if "% (" in line] == ["recall@5", "first"]
    assert "Better: installed." in first.stdout
    assert lines[-1] == str(data)
    everyday = r"^Everyday sentences that find a tool with confidence: \d+ of 300 before, \d+ after\.$"
    assert re.search(everyday, first.stdout, re.MULTILINE)
    assert "\x1b" not in first.stdout

    forget()
    tuned = ToolCatalog(TOOLS)
    paraphrases = {"could you zap order 99 for her": "refund_payment", "feed that beast of ours": "start_build"}
    assert found(tuned, paraphrases) == [True, True]
    assert [found(tuned, asked) for asked in (EVERYDAY, JAPANESE)] == before
    assert before[1] == [True] * len(JAPANESE)
    searched = invoke("search", "zap it for the lady", "--catalog", catalog, "--json")
    assert "refund_payment" in [match["name"] for match in json.loads(searched.stdout)["matches"]]

    installed = data.read_bytes()
    again = tune(random.Random(1).sample([*QUESTIONS, *unknown], len(QUESTIONS) + 2), "--json")
    assert again.exit_code == 0
    assert data.read_bytes() == installed  # the same questions in any order give the same file
    answer = json.loads(again.stdout)
    assert (answer["questions"], answer["trained_on"], answer["held_out"]) == (126, 87, 39)
    assert (answer["better"], answer["refusal"], answer["installed_as"]) == (True, None, str(data))
    assert (answer["unknown_tools"], answer["left_out"]["without_tool"]) == (["moon\x1b[2J", "sun"], 1)
    assert answer["installed"] == answer["after"]
    assert answer["in_use"]["questions"] == 126
    assert not previous_path(data).exists()  # it is the same
    assert answer["after"]["recall_at_5"]["mean"] >= answer["before"]["recall_at_5"]["mean"] + 0.3
    assert answer["change"]["beyond_chance"]["low"] > 0.2
    assert answer["everyday_kept"] > 0.75
    assert answer["everyday_found"]["rise"]["low"] <= 0.01


def test_random_labels_are_refused(tune: Tune, data: Path) -> None:
    names = random.Random(5)
    labelled = [{**question, "tools": [names.choice(TOOLS)["name"]]} for question in QUESTIONS]
    result = tune(labelled)
    assert result.exit_code == 1
    assert "Not installed. On the held-out questions" in " ".join(result.stdout.split())
    assert not data.exists()


def test_errands_with_the_tools_of_something_else_are_refused(tmp_path: Path, data: Path) -> None:
    names = ["refund_payment", "start_build", "send_email", "book_room"]
    path, questions = tmp_path / "four.json", tmp_path / "wrong.jsonl"
    path.write_text(json.dumps([tool for tool in TOOLS if tool["name"] in names]), encoding="utf-8")
    asked = [json.loads(line) for line in ERRANDS.read_text(encoding="utf-8").splitlines()]
    wrong = [
        {"query": errand["query"], "tools": [names[sum(errand["gold"][0].encode()) % 4]]}
        for errand in asked
        if errand["gold"]
    ]
    questions.write_text("\n".join(map(json.dumps, wrong)), encoding="utf-8")
    result = invoke("tune", str(questions), "--catalog", str(path))
    assert result.exit_code == 1
    text = " ".join(result.stdout.split())
    assert "Not installed. Sentences that ask for something else find your tools: before " in text
    assert not data.exists()


def test_too_few_questions_are_measured_but_not_trained_on(tune: Tune, data: Path) -> None:
    result = tune(QUESTIONS[:20] * 3)
    assert result.exit_code == 1
    text = " ".join(result.stdout.split())
    repeated = "40 further questions ask the same as another: each counts once."
    assert text.startswith(f"20 questions about 2 of 20 tools. {repeated} all, untuned recall@5 ")
    assert "Not installed. There are 20 questions about tools of the catalogue, and 50 are needed" in text
    assert not data.exists()
    measured = tune(QUESTIONS[:20], "--dry-run", "--json")
    assert measured.exit_code == 0
    answer = json.loads(measured.stdout)
    assert (answer["held_out"], answer["before"], answer["better"]) == (0, None, False)
    assert 0 <= answer["all_questions"]["recall_at_5"]["mean"] <= 1


def test_questions_about_no_tool_of_the_catalogue_are_refused(tune: Tune) -> None:
    result = tune([{"query": "zap", "tools": [f"tool_{number}"]} for number in range(15)])
    assert result.exit_code == 1
    text = " ".join(result.stdout.split())
    assert (
        "0 questions about 0 of 20 tools. The catalogue does not have 15 tools that the questions name: tool_0," in text
    )
    assert "tool_9 …" not in text  # ten are named, in the order of the alphabet
    assert "tool_4 …" in text
    assert "There are 0 questions about tools of the catalogue, and 50 are needed" in text


def test_recorded_searches_are_questions_too_and_a_dry_run_installs_nothing(
    tmp_path: Path, catalog: str, data: Path
) -> None:
    with SearchLog(tmp_path / "searches.db") as log:
        for place, question in enumerate(QUESTIONS):
            with log.session(f"conversation {place}"):
                log.searched(question["query"], "words", ["play_music", *question["tools"]])
                log.called(question["tools"][0])
    result = invoke("tune", str(tmp_path / "searches.db"), "--catalog", catalog, "--dry-run")
    assert result.exit_code == 0
    assert result.stdout.startswith("126 questions about 9 of 20 tools: 87 to train on, 39 held out.\n")
    assert "Better. Nothing was installed; without --dry-run it would be." in " ".join(result.stdout.split())
    assert not data.exists()


def test_remove_takes_away_what_was_installed(data: Path) -> None:
    identity = Adapter(np.zeros((384, 1), np.float32), np.zeros((1, 384), np.float32))
    older = save_adapter("an-older-encoder", identity)
    save_adapter(default_embedder().id, identity)
    assert json.loads(invoke("tune", "--remove", "--dry-run", "--json").stdout) == {
        "removed": [str(older), str(data)],
        "in_use_again": {},
        "dry_run": True,
    }
    assert load_adapter("an-older-encoder") is not None
    assert invoke("tune", "--remove").stdout == f"Removed {older}\nRemoved {data}\n"
    assert load_adapter("an-older-encoder") is None
    assert invoke("tune", "--remove").stdout == "No tune is installed.\n"


def test_a_tune_says_which_one_it_replaces_and_remove_brings_that_back(tune: Tune, data: Path) -> None:
    identity = Adapter(np.zeros((384, 1), np.float32), np.zeros((1, 384), np.float32))
    save_adapter(default_embedder().id, identity, questions=68)
    first = datetime(2026, 1, 2, 3, 4).astimezone()
    os.utime(data, (first.timestamp(), first.timestamp()))
    before = data.read_bytes()
    result = tune(QUESTIONS, columns=60)
    assert result.exit_code == 0, result.output
    assert " ".join(result.stdout.splitlines()[:3]) == (
        "In use is the tune of 2026-01-02 03:04 (68 questions). A better one replaces it for all catalogues; "
        "hikidashi tools tune --remove then brings it back."
    )
    assert data.read_bytes() != before
    assert "…" not in result.stdout
    narrow = tune(QUESTIONS, "--dry-run", columns=30).stdout.splitlines()
    assert max(map(cell_len, narrow)) <= 30
    assert [line for line in narrow if line in ("untuned", "in use", "after", "change in points")] == [
        "untuned",
        "in use",
        "after",
        "change in points",
    ]
    assert len([line for line in narrow if line.startswith(("recall@5   ", "first hit  "))]) == 8

    would = invoke("tune", "--remove", "--dry-run", columns=60).stdout
    assert "would be in use again: the tune of 2026-01-02 03:04 (68 questions)" in " ".join(would.split())
    removed = json.loads(invoke("tune", "--remove", "--json").stdout)
    assert removed["in_use_again"] == {str(data): {"made": first.isoformat(timespec="seconds"), "questions": 68}}
    assert data.read_bytes() == before
    assert invoke("tune", "--remove").stdout == f"Removed {data}\n"
    assert invoke("tune", "--remove").stdout == "No tune is installed.\n"


def test_where_nothing_is_trained_the_tune_in_use_is_measured_too(tune: Tune) -> None:
    asked: list[Any] = [*QUESTIONS[:20], {"query": "the moon is nice tonight", "tools": []}]
    untuned = tune(asked, "--dry-run")
    text = " ".join(untuned.stdout.split())
    assert "Not better" not in text  # nothing was trained
    assert "Not installed. There are 20 questions about tools of the catalogue, and 50 are needed" in text
    assert "Questions that no tool answers and that find one with confidence: 0 of 1. " in text
    assert "With the tune in use" not in text

    size = (384, 1)
    save_adapter(default_embedder().id, Adapter(np.zeros(size, np.float32), np.zeros(size[::-1], np.float32)))
    text = " ".join(tune(asked, "--dry-run").stdout.split())
    assert re.search(r"With the tune in use: recall@5 \d+%, first hit \d+%\. Questions that no tool", text)
    assert "find one with confidence: 0 of 1 untuned, 0 with the tune in use. " in text
    answer = json.loads(tune(asked, "--dry-run", "--json").stdout)
    assert answer["all_questions_installed"] == answer["all_questions"]  # this tune changes nothing
    assert (answer["dry_run"], answer["in_use"]["questions"]) == (True, None)


def test_a_damaged_adapter_is_ignored_and_named(data: Path, caplog: pytest.LogCaptureFixture) -> None:
    data.parent.mkdir(parents=True)
    data.write_bytes(b"damaged")
    forget()
    catalog = ToolCatalog(TOOLS)
    assert found(catalog, {"send a mail": "send_email"}) == [True]
    found(catalog, {"send a mail": "send_email"})
    assert len([message for message in caplog.messages if "is ignored" in message]) == 1


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ((), "name a file of labelled questions, or use --remove."),
        (("--remove", "questions.jsonl"), "--remove takes no questions."),
        (("--remove", "--catalog", "tools.json"), "it removes what was installed for all tools: name none."),
        (("questions.jsonl", "--catalog", "a", "--mcp", "b"), "questions.jsonl: there is no such file"),
    ],
)
def test_wrong_usage_is_named(arguments: tuple[str, ...], why: str) -> None:
    result = invoke("tune", *arguments)
    assert why in " ".join(result.output.replace("│", " ").split()) + str(result.exception)


def test_a_wrong_line_is_named_before_anything_is_embedded(tune: Tune, tmp_path: Path) -> None:
    result = tune([*QUESTIONS[:3], {"query": "zap", "tools": [4]}])
    assert isinstance(result.exception, ToolSourceError)
    assert str(result.exception).startswith(f"{tmp_path / 'questions.jsonl'}, line 4: `tools` has 4, not the name of a")


def test_without_the_extra_the_command_to_run_is_named(
    tune: Tune, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(embeddings, "is_installed", lambda: False)
    result = tune(QUESTIONS)
    assert isinstance(result.exception, MissingExtra)
    assert str(result.exception).endswith("Run: pip install hikidashi")
    assert invoke("tune", "--remove").stdout == "No tune is installed.\n"


def test_explain_shows_the_part_of_words_and_of_meaning_in_each_score(catalog: str) -> None:
    result = invoke(
        "search", "send the customer a message about the payment", "--explain", "--catalog", catalog, "--limit", "2"
    )
    lines = result.stdout.splitlines()
    assert max(map(cell_len, lines)) <= 80
    shares = [line.split() for line in lines if " score: " in line]
    assert len(shares) == 2
    for first, score in zip(
        shares, [line.split()[2] for line in lines if line[:3] in (" 1 ", " 2 ", " ? ")], strict=True
    ):
        assert first[2:4] == ["by", "words"]
        assert round(float(first[1]) + float(first[5]), 2) == float(score)
    assert "by meaning" in result.stdout.partition("Held back")[2]
    answer = json.loads(invoke("search", "mail", "--explain", "--catalog", catalog, "--json").stdout)
    for match in [*answer["matches"], *answer["held_back"]]:
        assert match["by_words"] + match["by_meaning"] == pytest.approx(1.0)
    lexical = invoke("search", "mail", "--explain", "--catalog", catalog, "--ranker", "lexical").stdout
    assert "by meaning" not in lexical
