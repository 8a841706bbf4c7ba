"""The tests with coverage, which `make test COVERAGE=1` runs: of this process, and of every Python that tests start.

    python -m tests.measured -n 3      arguments are pytest's

Tests start the gateway, the command line and workers in environments of their own, which hand nothing down: so a `.pth`
file in this environment begins the measuring of each process, and is taken away at the end.
"""

from __future__ import annotations

import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
FLOOR = 80
"""The total in percent, lines and branches, below which the run fails."""


def begin_in_each_process(data: Path) -> str:
    """The line of a `.pth` file that measures a process; no variable of it is left for tests to see."""
    given = {"COVERAGE_PROCESS_START": str(ROOT / "pyproject.toml"), "COVERAGE_FILE": str(data)}
    return (
        f"import os, coverage; os.environ.update({given!r}); coverage.process_startup();"
        f" [os.environ.pop(name) for name in {list(given)!r}]\n"
    )


def main() -> None:
    """Run the tests, and print the total and each file with lines or branches that no test reaches."""
    start = Path(sysconfig.get_path("purelib")) / "a_measure_each_process.pth"
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "coverage"
        start.write_text(begin_in_each_process(data), encoding="utf-8")
        try:
            failed = subprocess.run([sys.executable, "-m", "pytest", *sys.argv[1:]], cwd=ROOT, check=False).returncode
        finally:
            start.unlink(missing_ok=True)
        coverage = [sys.executable, "-m", "coverage"]
        subprocess.run([*coverage, "combine", "--quiet", f"--data-file={data}", folder], cwd=ROOT, check=True)
        report = [*coverage, "report", f"--data-file={data}", f"--fail-under={FLOOR}", "--sort=cover"]
        low = subprocess.run(report, cwd=ROOT, check=False).returncode
    sys.exit(failed or low)


if __name__ == "__main__":
    main()
