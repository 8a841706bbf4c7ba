"""`python -m encoder_training`, as far as it goes without PyTorch; and that the model card says what the code has."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from inline_snapshot import snapshot

PACKAGE = Path(__file__).parents[2] / "packages" / "hikidashi-encoder"
MARKED = "1\n<!-- figures -->\nold\n<!-- /figures -->\n2\n"
CARD = (PACKAGE / "README.md").read_text(encoding="utf-8")


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """The command, in a copy of its package."""
    shutil.copytree(PACKAGE / "encoder_training", folder / "encoder_training", dirs_exist_ok=True)
    command = [sys.executable, "-m", "encoder_training", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def test_without_the_public_sets_it_says_which_are_missing(tmp_path: Path) -> None:
    data = tmp_path / "data"
    (data / "bfcl").mkdir(parents=True)
    for name in ("tools.jsonl", "queries.jsonl"):
        (data / "bfcl" / name).touch()

    done = run(tmp_path, "measure", "--data", str(data))

    assert done.returncode == 1
    assert done.stderr.startswith(
        f"These sets are not in {data}:\n  sealtools/ (tools.jsonl, queries.jsonl): Seal-Tools"
    )
    named = re.findall(r"^  (\w+)/", done.stderr, re.MULTILINE)
    assert named == ["sealtools", "stabletoolbench", "metatool", "restbench", "acebench_zh", "openapi_ops"]


def test_a_command_that_fails_is_the_last(tmp_path: Path) -> None:
    done = run(tmp_path, "train", "measure", "--steps=20", "--data", str(tmp_path / "none"))
    assert done.returncode == 1
    assert done.stderr.startswith(f"These sets are not in {tmp_path / 'none'}:\n  openapi_ops/")


def test_training_names_the_strings_that_it_lacks(tmp_path: Path) -> None:
    (tmp_path / "openapi_ops").mkdir()
    (tmp_path / "openapi_ops" / "ops.jsonl").touch()
    done = run(tmp_path, "train", "--data", str(tmp_path), "--strings", str(tmp_path / "none"))
    assert done.returncode == 1
    assert done.stderr.startswith(f"{tmp_path / 'none'} does not exist. It is a folder of <language>.tsv.gz")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ["measure", "card", "--steps", "20"],
            "'--steps' is an option of train, not of measure or card. Run: make encoder DO=train\n",
        ),
        (["train", "card", "--stepz=20"], "There is no command or option '--stepz'. Run: make encoder ARGS=--help\n"),
        (["train", "card", "measrue"], "There is no command or option 'measrue'. Run: make encoder ARGS=--help\n"),
    ],
)
def test_an_option_that_no_command_has_is_refused_before_anything_is_done(
    tmp_path: Path, words: list[str], said: str
) -> None:
    done = run(tmp_path, *words)
    assert (done.returncode, done.stdout, done.stderr) == (1, "", said)


def test_the_card_gets_the_table_of_the_figures_between_its_markers(tmp_path: Path) -> None:
    figures: dict[str, Any] = {"sets": [{"set": "bfcl", "tools": 1_853, "questions": 1_500, "recall": 80.04}]}
    (tmp_path / "README.md").write_text(MARKED, encoding="utf-8")
    (tmp_path / "figures.json").write_text(json.dumps(figures), encoding="utf-8")
    first, second = run(tmp_path, "card"), run(tmp_path, "card")
    assert (first.returncode, second.returncode) == (0, 0), first.stderr
    assert (tmp_path / "README.md").read_text(encoding="utf-8") == snapshot("""\
1
<!-- figures -->
| set | tools | questions | recall@5 |
| --- | --- | --- | --- |
| bfcl | 1,853 | 1,500 | 80.0 |
<!-- /figures -->
2
""")


def test_a_card_without_figures_or_markers_is_refused(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("no markers\n", encoding="utf-8")
    missing = run(tmp_path, "card")
    (tmp_path / "figures.json").write_text('{"sets": []}', encoding="utf-8")
    unmarked = run(tmp_path, "card")
    assert (missing.returncode, unmarked.returncode) == (1, 1)
    assert "figures.json does not exist. Run: make encoder DO=measure" in missing.stderr
    assert "has no lines <!-- figures --> and <!-- /figures -->" in unmarked.stderr
    assert (tmp_path / "README.md").read_text(encoding="utf-8") == "no markers\n"


def test_the_table_of_the_card_is_that_of_the_figures(tmp_path: Path) -> None:
    for name in ("README.md", "figures.json"):
        shutil.copy(PACKAGE / name, tmp_path)
    done = run(tmp_path, "card")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "README.md").read_text(encoding="utf-8") == CARD


def test_the_card_names_every_set_with_its_source_and_licence() -> None:
    source = (PACKAGE / "encoder_training" / "sources.py").read_text(encoding="utf-8")
    rows = re.findall(r'"(\w+)": Source\("([^"]+)", "([^"]+)", "([^"]+)"', source)
    assert len(rows) == 7
    for name, title, repository, licence in rows:
        row = rf"^\| `{name}` \| {re.escape(title)} \|.*\| {re.escape(repository)} \| {re.escape(licence)} \|$"
        assert re.search(row, CARD, re.MULTILINE), name
