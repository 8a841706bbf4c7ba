"""Python, hikidashi and its extras: which versions are installed, and which are needed.

Requirements are read from the package metadata of hikidashi, so pyproject.toml is their only source.
"""

from __future__ import annotations

import platform
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib import metadata

from hikidashi import __version__

from .report import Check

__all__ = ["Need", "check_base", "check_extras", "needs_by_extra"]

_REQUIREMENT = re.compile(r"^(?P<name>[\w.-]+)(?:\[.*?\])?\s*\(?(?P<limits>[^;)]*)\)?\s*(?:;(?P<marker>.*))?$")
_EXTRA = re.compile(r"""extra\s*==\s*['"](?P<extra>[\w.-]+)['"]""")


@dataclass(frozen=True)
class Need:
    """A package, its lowest version, and the first version that is too new."""

    package: str
    at_least: str = ""
    below: str = ""

    def verdict(self, version: str) -> str:
        """`ok`, `too old` or `too new`."""
        if self.at_least and _release(version) < _release(self.at_least):
            return "too old"
        if self.below and _release(version) >= _release(self.below):
            return "too new"
        return "ok"

    def __str__(self) -> str:
        limits = [f">={self.at_least}"] if self.at_least else []
        return self.package + ",".join([*limits, *([f"<{self.below}"] if self.below else [])])


def check_base() -> Iterator[Check]:
    """Python and hikidashi themselves."""
    yield Check(area="base", name="Python", status="ok", found=platform.python_version())
    yield Check(area="base", name="hikidashi", status="ok", found=__version__)


def check_extras(needs: Mapping[str, Iterable[Need]], installed: Mapping[str, str] | None = None) -> Iterator[Check]:
    """Check each extra against the `installed` versions; by default those of this environment."""
    for extra, packages in needs.items():
        yield _check_extra(extra, list(packages), installed)


def needs_by_extra(requirements: Iterable[str] | None = None) -> dict[str, list[Need]]:
    """The packages of each extra in `requirements`; by default those of hikidashi."""
    needs: defaultdict[str, list[Need]] = defaultdict(list)
    for line in _own_requirements() if requirements is None else requirements:
        found = _REQUIREMENT.match(line.strip())
        extra = _EXTRA.search((found and found["marker"]) or "")
        if found and extra and extra["extra"] != "all":
            limits = dict(re.findall(r"(>=|<)\s*([\w.]+)", found["limits"]))
            needs[extra["extra"]].append(Need(found["name"], limits.get(">=", ""), limits.get("<", "")))
    return dict(sorted(needs.items()))


def _own_requirements() -> list[str]:
    try:
        return metadata.requires("hikidashi") or []
    except metadata.PackageNotFoundError:  # run from a source folder that was never installed
        return []


def _check_extra(extra: str, needs: list[Need], installed: Mapping[str, str] | None) -> Check:
    install = f"pip install 'hikidashi[{extra}]'"
    found: list[str] = []
    wrong: list[str] = []
    missing: list[str] = []
    for need in needs:
        version = _installed_version(need.package) if installed is None else installed.get(need.package)
        if version is None:
            missing.append(need.package)
            continue
        verdict = need.verdict(version)
        found.append(f"{need.package} {version}")
        if verdict != "ok":
            wrong.append(f"{need.package} {version} is {verdict}, {need} is needed")
    if wrong:
        return Check(area="extra", name=extra, status="problem", found="; ".join(wrong), remedy=f"{install} --upgrade")
    if missing:
        return Check(
            area="extra", name=extra, status="absent", found=f"not installed: {', '.join(missing)}", remedy=install
        )
    return Check(area="extra", name=extra, status="ok", found=", ".join(found))


def _installed_version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _release(version: str) -> tuple[int, ...]:
    """The numbers of a version, without trailing zeros: `2.62.0rc1` is (2, 62)."""
    numbers = re.match(r"(?:\d+!)?(\d+(?:\.\d+)*)", version.lstrip("v"))
    release = [int(part) for part in numbers[1].split(".")] if numbers else []
    while release and release[-1] == 0:
        release.pop()
    return tuple(release)
