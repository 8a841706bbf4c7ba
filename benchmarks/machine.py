"""What a reader must know about the machine; nothing that names it or its folders."""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import TypedDict


class Machine(TypedDict):
    """Where the figures come from."""

    system: str
    cores: int
    load: float | None
    """Processes that wanted a core, over the last minute before the run; none of ours yet."""
    python: str
    versions: dict[str, str]


def machine(packages: Sequence[str]) -> Machine:
    """The machine as it is now, with the versions of `packages`."""
    return Machine(
        system=f"{platform.system()} {platform.machine()}",
        cores=len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1,
        load=round(os.getloadavg()[0], 1) if hasattr(os, "getloadavg") else None,
        python=platform.python_version(),
        versions={package: _version(package) for package in sorted(packages)},
    )


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"
