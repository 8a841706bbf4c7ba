"""A request can be followed: it passes few files, and the package stays within its limits."""

from __future__ import annotations

import subprocess
import sys

import pytest
from tests.pages_support import ROOT


@pytest.mark.cli
@pytest.mark.parametrize("name", ["call", "model", "strands"])
def test_a_request_passes_few_files(name: str) -> None:
    command = [sys.executable, "-m", "benchmarks.walks", name, "--route"]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert ran.stdout.startswith(name)
