"""The tests, and those that failed once more, alone: what fails only beside others is named, and is no failure.

    python -m tests.again -n 3      arguments are pytest's

For CI, where a busy machine can make one of ten thousand tests wait too long. `make test` itself repeats nothing.
"""

from __future__ import annotations

import subprocess
import sys

import pytest

MOST = 10
"""Failures that are repeated; more of them are no accident."""


class Failures:
    """A plugin of pytest that remembers which tests failed."""

    def __init__(self) -> None:
        self.tests: dict[str, None] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Called for each phase of each test, in the process that gathers the results."""
        if report.failed:
            self.tests[report.nodeid] = None


def main() -> None:
    """Run the tests; exit with the code of pytest, or with that of the repetition of a few that failed."""
    failures = Failures()
    code = pytest.main(sys.argv[1:], plugins=[failures])
    if code != pytest.ExitCode.TESTS_FAILED or not 0 < len(failures.tests) <= MOST:
        sys.exit(code)
    print(f"##### Once more, alone: {len(failures.tests)} that failed", flush=True)  # noqa: T201 - this is the output
    again = subprocess.run([sys.executable, "-m", "pytest", *failures.tests], check=False).returncode
    if not again:
        print(f"##### They pass alone: {', '.join(failures.tests)}", flush=True)  # noqa: T201
    sys.exit(again)


if __name__ == "__main__":
    main()
