"""The gateway beside its real counterparts: other people's servers, and clients of other versions.

    python -m tests.gateway.real [PYTEST OPTION]…

Installs them into `.counterparts/`, then runs the tests that need them. Returns 75 if npm cannot be reached.
"""

from __future__ import annotations

import subprocess
import sys

from tests.gateway.real.counterparts import install_old_python
from tests.npm import COUNTERPARTS, ROOT


def main(options: list[str]) -> int:
    """Install and test; return the exit code."""
    COUNTERPARTS.install()
    install_old_python()
    command = [sys.executable, "-m", "pytest", "-m", "counterparts", "tests/gateway/real", *options]
    return subprocess.run(command, cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
