"""The training data in `packages/hikidashi-encoder` is well-formed, and as large as its README says."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "packages" / "hikidashi-encoder"


def test_the_data_has_no_faults_and_the_size_that_is_stated() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "encoder_training", "check"], cwd=PACKAGE, capture_output=True, text=True, check=False
    )
    assert done.stdout.endswith("no faults\n"), done.stdout[-2_000:] + done.stderr
    counted = re.search(
        r"(\d+) servers, (\d+) tools, (\d+) questions\n.*; (\d+) negatives\n(\d+) tasks.*\n(.*)\n"
        r"(\d+) questions to train with in 8 other languages, (\d+) utterances of talk",
        done.stdout,
    )
    assert counted is not None
    servers, tools, questions, negatives, tasks = (f"{int(number):,}" for number in counted.groups()[:5])
    foreign = sum(int(number) for number in re.findall(r"[a-z]{2} (\d+)", counted[6]))
    stated = (PACKAGE / "README.md").read_text(encoding="utf-8")
    assert f"{servers} servers modelled on real MCP servers, {tools} tools, {questions} questions" in stated
    assert f"{negatives} utterances" in stated
    assert f"{tasks} tasks" in stated
    assert f"{foreign} questions in" in stated
    assert f"{counted[7]} everyday questions" in stated
    assert f"{counted[8]} utterances of talk" in stated


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("what is she singing", "tasks/spotify.txt:2: not '<text> -> <tool>, <tool>': 'what is she singing'"),
        ("what is she singing -> get_lyrics", "tasks/spotify: not 2 to 4 different tools: 'what is she singing'"),
        ("sing it -> get_lyrics, sing", "tasks/spotify: unknown tool sing: 'sing it'"),
        ("sing it -> get_lyrics, get_lyrics", "tasks/spotify: not 2 to 4 different tools: 'sing it'"),
    ],
)
def test_a_task_that_is_wrong_is_named(tmp_path: Path, line: str, fault: str) -> None:
    for name in ("data", "encoder_training"):
        shutil.copytree(PACKAGE / name, tmp_path / name)
    (tmp_path / "data" / "tasks" / "spotify.txt").write_text(f"# spotify\n{line}\n", encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "encoder_training", "check"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert fault in done.stdout.splitlines()
