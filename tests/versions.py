"""The tests on each Python that the project supports, with pinned, lowest or newest packages.

    python -m tests.versions                               all that pyproject.toml names, with the pinned packages
    python -m tests.versions --only 3.12 3.13 -- -k names  some, with arguments for pytest
    python -m tests.versions --deps lowest                 the floors of pyproject.toml, on the oldest release here
    python -m tests.versions --deps newest                 what the package index has today, on the newest

Each gets an environment of its own, in a folder that git ignores. A version that is not installed is reported and is
not a failure, unless there is none at all.
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
# Those that a range of ours has kept apart from other packages, or whose behaviour the tests lean on.
SHOWN = ("mcp", "pydantic", "pydantic-ai-slim", "claude-agent-sdk", "strands-agents", "anthropic", "numpy", "typer")


def supported() -> list[str]:
    """The versions among the classifiers of the project, such as `3.12`."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    found = (re.fullmatch(r"Programming Language :: Python :: (\d+\.\d+)", one) for one in project["classifiers"])
    return [match[1] for match in found if match]


def interpreter(version: str, *, oldest: bool = False) -> tuple[str, str] | None:
    """The newest patch release of this version, or the oldest, and its place: on the PATH, of the system, in pyenv."""
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    places = [Path(folder) for folder in os.get_exec_path()] + sorted(pyenv.glob(f"versions/{version}.*/bin"))
    # A name on the PATH may be a shim of pyenv, which fails where the version is not selected.
    found = {patch: python for place in reversed(places) if (patch := _patch(python := place / f"python{version}"))}
    if not found:
        return None
    patch = (min if oldest else max)(found)
    return ".".join(map(str, patch)), str(found[patch])


def _patch(python: Path) -> tuple[int, ...] | None:
    try:
        ran = subprocess.run([python, "--version"], capture_output=True, text=True, check=False)
    except OSError:
        return None
    says = re.fullmatch(r"Python (\d+)\.(\d+)\.(\d+).*", ran.stdout.strip())
    return tuple(map(int, says.groups())) if says and ran.returncode == 0 else None


def installed(environment: Path) -> str:
    """The packages of an environment that matter for ranges, such as `mcp 2.1.0, pydantic 2.12.0`."""
    ask = "import importlib.metadata as m, sys; print(*(f'{n} {m.version(n)}' for n in sys.argv[1:]), sep=', ')"
    python = environment / "bin/python"
    ran = python.exists() and subprocess.run([python, "-c", ask, *SHOWN], capture_output=True, text=True, check=False)
    return ran.stdout.strip() if ran else "not installed"


def main() -> None:
    """Run the tests on each version; exit with 1 if any fails or none is found."""
    parser = argparse.ArgumentParser(prog="python -m tests.versions", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--only", nargs="*", default=[], metavar="VERSION")
    parser.add_argument("--deps", choices=["pinned", "lowest", "newest"], default="pinned")
    parser.add_argument("arguments", nargs="*", help="arguments for pytest, after --")
    given = parser.parse_args()
    console = Console(highlight=False, soft_wrap=True)
    ends = {"pinned": supported(), "lowest": supported()[:1], "newest": supported()[-1:]}
    results: dict[str, str] = {}
    for version in given.only or ends[given.deps]:
        if (found := interpreter(version, oldest=given.deps == "lowest")) is None:
            results[f"Python {version}, {given.deps} packages"] = "not installed, so not tested"
            continue
        release, python = found
        name = f"Python {release}, {given.deps} packages"
        console.print(f"##### {name}: {python}")
        environment = f".venvs/{version}" if given.deps == "pinned" else f".venvs/{given.deps}"
        make = [os.environ.get("MAKE", "make"), "test", f"PYTHON={python}", f"VENV={environment}", f"DEPS={given.deps}"]
        failed = subprocess.run([*make, f"ARGS={shlex.join(given.arguments)}"], cwd=ROOT, check=False).returncode
        results[f"{name} ({installed(ROOT / environment)})"] = "failed" if failed else "passed"
    for name, result in results.items():
        console.print(f"{name}: {result}")
    sys.exit("failed" in results.values() or "passed" not in results.values())


if __name__ == "__main__":
    main()
