"""The training data in `packages/hikidashi-encoder` is well-formed, and as large as its README says."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

PACKAGE = Path(__file__).parents[2] / "packages" / "hikidashi-encoder"


def test_the_data_has_no_faults_and_the_size_that_is_stated() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "encoder_training", "check"], cwd=PACKAGE, capture_output=True, text=True, check=False
    )
    assert done.stdout.endswith("no faults\n"), done.stdout[-2_000:] + done.stderr
    counted = re.search(r"(\d+) servers, (\d+) tools, (\d+) questions\n.*; (\d+) negatives\n(.*)", done.stdout)
    assert counted is not None
    servers, tools, questions, negatives = (f"{int(number):,}" for number in counted.groups()[:4])
    foreign = sum(int(number) for number in re.findall(r"[a-z]{2} (\d+)", counted[5]))
    stated = (PACKAGE / "README.md").read_text(encoding="utf-8")
    assert f"{servers} servers modelled on real MCP servers, {tools} tools, {questions} questions" in stated
    assert f"{negatives} utterances" in stated
    assert f"{foreign} questions in" in stated
