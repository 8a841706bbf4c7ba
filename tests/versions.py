"""The tests on each Python that the project supports, as far as it is installed here.

    python -m tests.versions                               all that pyproject.toml names
    python -m tests.versions --only 3.12 3.13 -- -k names  some, with arguments for pytest

Each version gets an environment of its own, with the pinned packages, in a folder that git ignores. A version that is
not installed is reported and is not a failure, unless there is none at all.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

from rich.console import Console

ROOT = Path(__file__).parent.parent


def supported() -> list[str]:
    """The versions among the classifiers of the project, such as `3.12`."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    found = (re.fullmatch(r"Programming Language :: Python :: (\d+\.\d+)", one) for one in project["classifiers"])
    return [match[1] for match in found if match]


def interpreter(version: str) -> str | None:
    """The Python of this version: the one on the PATH, else the newest that pyenv has."""
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    installed = sorted(pyenv.glob(f"versions/{version}.*/bin/python"), key=_numbers, reverse=True)
    # A name on the PATH may be a shim of pyenv, which fails where the version is not selected.
    return next((python for python in (f"python{version}", *map(str, installed)) if _is(python, version)), None)


def _numbers(python: Path) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", python.parent.parent.name)]


def _is(python: str, version: str) -> bool:
    try:
        ran = subprocess.run([python, "--version"], capture_output=True, text=True, check=False)
    except OSError:
        return False
    return ran.returncode == 0 and ran.stdout.startswith(f"Python {version}.")


def main() -> None:
    """Run the tests on each version; exit with 1 if any fails or none is found."""
    parser = argparse.ArgumentParser(prog="python -m tests.versions", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--only", nargs="*", default=[], metavar="VERSION")
    parser.add_argument("arguments", nargs="*", help="arguments for pytest, after --")
    given = parser.parse_args()
    console = Console(highlight=False, soft_wrap=True)
    results: dict[str, str] = {}
    for version in given.only or supported():
        if (python := interpreter(version)) is None:
            results[version] = "not installed, so not tested"
            continue
        console.print(f"##### Python {version}: {python}")
        make = [os.environ.get("MAKE", "make"), "test", f"PYTHON={python}", f"VENV=.venvs/{version}"]
        failed = subprocess.run([*make, f"ARGS={shlex.join(given.arguments)}"], cwd=ROOT, check=False).returncode
        results[version] = "failed" if failed else "passed"
    for version, result in results.items():
        console.print(f"Python {version}: {result}")
    sys.exit("failed" in results.values() or "passed" not in results.values())


if __name__ == "__main__":
    main()
