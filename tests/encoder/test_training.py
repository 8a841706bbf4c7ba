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
MARKED = "1\n<!-- figures -->\nold\n<!-- /figures -->\n2\n<!-- settings -->\n<!-- /settings -->\n3\n"
CARD = (PACKAGE / "README.md").read_text(encoding="utf-8")


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """The command, in a copy of its package."""
    shutil.copytree(PACKAGE / "encoder_training", folder / "encoder_training", dirs_exist_ok=True)
    command = [sys.executable, "-m", "encoder_training", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("command", ["train", "measure"])
def test_without_the_labelled_sets_it_says_which_are_missing_and_what_can_be_done(tmp_path: Path, command: str) -> None:
    data = tmp_path / "data"
    (data / "bfcl").mkdir(parents=True)
    for name in ("tools.jsonl", "queries.jsonl"):
        (data / "bfcl" / name).touch()
    (data / "restbench").mkdir()
    (data / "restbench" / "tools.jsonl").touch()

    done = run(tmp_path, command, "--data", str(data))

    assert done.returncode == 1
    assert done.stderr.startswith(
        f"These sets are not in {data}:\n  sealtools/ (tools.jsonl, queries.jsonl): Seal-Tools"
    )
    named = re.findall(r"^  (\w+)/", done.stderr, re.MULTILINE)
    assert named == ["sealtools", "stabletoolbench", "metatool", "restbench", "acebench_zh", "openapi_ops"]
    last = done.stderr.splitlines()[-1]
    assert ("--own-only trains on" in last) if command == "train" else ("nothing to measure" in last)


def test_of_several_commands_each_gets_the_options_that_it_has(tmp_path: Path) -> None:
    shutil.copytree(PACKAGE / "data", tmp_path / "data")
    checkpoint = tmp_path / "mine.pt"
    done = run(tmp_path, "check", "export", "--checkpoint", str(checkpoint), "--own-only")
    assert done.stdout.endswith("no faults\n")
    assert done.stderr == f"{checkpoint} does not exist. Run first: make encoder DO=train\n"
    assert done.returncode == 1


def test_a_command_that_fails_is_the_last(tmp_path: Path) -> None:
    done = run(tmp_path, "train", "export", "--steps=20", "--data", str(tmp_path / "none"))
    assert done.returncode == 1
    assert done.stderr.startswith(f"These sets are not in {tmp_path / 'none'}:\n")
    assert "checkpoint.pt" not in done.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ["export", "card", "--steps", "20"],
            "'--steps' is an option of train and of measure, not of export or card. Run: make encoder DO=train\n",
        ),
        (["train", "export", "--stepz=20"], "There is no command or option '--stepz'. Run: make encoder ARGS=--help\n"),
        (["train", "card", "exprot"], "There is no command or option 'exprot'. Run: make encoder ARGS=--help\n"),
    ],
)
def test_an_option_that_no_command_has_is_refused_before_anything_is_done(
    tmp_path: Path, words: list[str], said: str
) -> None:
    done = run(tmp_path, *words)
    assert (done.returncode, done.stdout, done.stderr) == (1, "", said)


def test_an_unknown_fold_is_refused_with_those_there_are(tmp_path: Path) -> None:
    done = run(tmp_path, "measure", "--fold", "restbench")
    assert done.returncode == 2
    assert "'restbench' is no fold. There are: bfcl, metatool, sealtools." in done.stderr


def test_every_set_of_the_card_is_left_out_in_one_fold_and_the_card_names_those_that_share_one() -> None:
    folds: list[list[str]] = json.loads((PACKAGE / "figures.json").read_text(encoding="utf-8"))["folds"]
    sets = re.findall(r"^\| (\w+) \| [\d,]+ \| [\d,]+ \|", CARD, re.MULTILINE)
    assert sorted(name for fold in folds for name in fold) == sorted(sets)
    for fold in folds:
        if len(fold) > 1:
            assert f"without {', '.join(f'`{name}`' for name in fold[:-1])} and `{fold[-1]}`" in CARD


def test_an_export_without_a_trained_network_names_the_step_before(tmp_path: Path) -> None:
    done = run(tmp_path, "export")
    assert done.returncode == 1
    checkpoint = tmp_path / "work" / "train" / "checkpoint.pt"
    assert done.stderr == f"{checkpoint} does not exist. Run first: make encoder DO=train\n"


def figures(**above: list[float]) -> dict[str, Any]:
    recall = {"lexical": 80.04, "base": 84.0, "tuned": 86.46, "tuned_float": 86.5}
    one = {"tools": 1_853, "questions": 1_500, "recall": recall, "above": {"lexical": [6.42, 5.0, 7.9], **above}}
    other = {
        "tools": 94,
        "questions": 155,
        "recall": recall | {"static": 81.0},
        "above": {"lexical": [-0.42, -1.5, 0.7], "base": [2.46, 1.0, 4.0]},
    }
    chinese = {**one, "recall": recall | {"tuned": 80.04}, "above": {"lexical": [0.0, 0.0, 0.0], **above}}
    sets = {"bfcl": one, "restbench": other, "acebench_zh": chinese}
    return {"own_only": False, "settings": {"steps": 900, "rate": 3e-5}, "folds": [], "sets": sets}


def test_the_card_gets_the_table_of_the_figures_between_its_markers(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text(MARKED, encoding="utf-8")
    (tmp_path / "figures.json").write_text(json.dumps(figures(base=[2.46, 1.0, 4.0])), encoding="utf-8")
    first, second = run(tmp_path, "card"), run(tmp_path, "card")
    assert (first.returncode, second.returncode) == (0, 0), first.stderr
    assert (tmp_path / "README.md").read_text(encoding="utf-8") == snapshot("""\
1
<!-- figures -->
| set | tools | questions | words | + static vectors | + untuned MiniLM | + this encoder | gain on words | on untuned |
| --- | --- | --- | --- | --- | --- | --- | --- | --- |
| bfcl | 1,853 | 1,500 | 80.0 | – | 84.0 | 86.5 | +6.4 (+5.0 to +7.9) | +2.5 (+1.0 to +4.0) |
| restbench | 94 | 155 | 80.0 | 81.0 | 84.0 | 86.5 | -0.4 (-1.5 to +0.7) | +2.5 (+1.0 to +4.0) |
| acebench_zh | 1,853 | 1,500 | 80.0 | – | 84.0 | 80.0 | +0.0 (+0.0 to +0.0) | +2.5 (+1.0 to +4.0) |
| mean of the English sets |  |  | 80.0 | – | 84.0 | 86.5 | +3.0 (+2.1 to +3.9) | +2.5 (+1.4 to +3.5) |
| mean of all sets |  |  | 80.0 | – | 84.0 | 84.3 | +2.0 (+1.4 to +2.6) | +2.5 (+1.6 to +3.3) |
<!-- /figures -->
2
<!-- settings -->
| setting | value |
| --- | --- |
| `steps` | 900 |
| `rate` | 3e-05 |
<!-- /settings -->
3
""")


def test_a_card_without_figures_or_markers_is_refused(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("no markers\n", encoding="utf-8")
    missing = run(tmp_path, "card")
    (tmp_path / "figures.json").write_text(json.dumps(figures()), encoding="utf-8")
    unmarked = run(tmp_path, "card")
    assert (missing.returncode, unmarked.returncode) == (1, 1)
    assert "figures.json does not exist. Run: make encoder DO=measure" in missing.stderr
    assert "has no lines <!-- figures --> and <!-- /figures -->" in unmarked.stderr
    assert (tmp_path / "README.md").read_text(encoding="utf-8") == "no markers\n"


def test_the_tables_of_the_card_are_those_of_the_figures(tmp_path: Path) -> None:
    if not (PACKAGE / "figures.json").exists():
        assert "<!-- figures -->\nNot measured yet.\n<!-- /figures -->" in CARD
        return
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
