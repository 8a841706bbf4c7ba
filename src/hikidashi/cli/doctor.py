"""`hikidashi doctor`: what is installed, what runs, which providers can be used, and which keys are set.

Frameworks are looked up, not imported. Requirements are read from the package metadata of hikidashi, so pyproject.toml
is their only source. Keys are named; a value is checked for visible mistakes, and never shown.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.console import Console
from rich.text import Text

from hikidashi import __version__
from hikidashi.common.urls import split_base_url
from hikidashi.errors import ClaudeCodeError
from hikidashi.providers import CHAT_MODELS, SEARCH_PROVIDERS, Package

from .output import print_beside, print_json, stdout

EXAMPLES = """\b
Examples:
  hikidashi doctor                    what is there, and what to do
  hikidashi doctor --json | jq .ok    for programs
"""

Status = Literal["ok", "absent", "problem"]
"""`absent` is not set up, which is fine; `problem` is set up and cannot work."""

_MARKS = {"ok": ("✓", "green"), "absent": ("·", "dim"), "problem": ("✗", "bold red")}
_HEADINGS = {
    "base": "Base",
    "extra": "Extras",
    "claude": "Claude Code",
    "provider": "Providers",
    "key": "Environment variables",
}

_REQUIREMENT = re.compile(r"^(?P<name>[\w.-]+)(?:\[.*?\])?\s*\(?(?P<limits>[^;)]*)\)?\s*(?:;(?P<marker>.*))?$")
_EXTRA = re.compile(r"""extra\s*==\s*['"](?P<extra>[\w.-]+)['"]""")

_SECONDS = 10.0
_REINSTALL = "pip install --force-reinstall 'hikidashi[claude]'"

_SLACK = {"SLACK_APP_TOKEN": "Slack", "SLACK_BOT_TOKEN": "Slack"}


def doctor(
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
) -> None:
    """Show what is installed, which Claude Code CLI runs, and which keys are set.

    Keys are named, their values are never shown. Exit code 1 means that something that is set up
    cannot work; each such line says what to do.
    """
    checks = examine()
    ok = not any(check.status == "problem" for check in checks)
    if as_json:
        print_json({"ok": ok, "checks": [asdict(check) for check in checks]})
    else:
        print_checks(checks, stdout())
    if not ok:
        raise typer.Exit(1)


@dataclass(frozen=True, kw_only=True)
class Check:
    """The result of one check."""

    area: Literal["base", "extra", "claude", "provider", "key"]
    name: str
    status: Status
    found: str
    """What was found, in a few words; never the value of a key."""
    remedy: str = ""
    """What to do; empty if there is nothing to do."""


def examine() -> list[Check]:
    """What is found in this environment; frameworks are looked up, not imported."""
    return [
        Check(area="base", name="Python", status="ok", found=platform.python_version()),
        Check(area="base", name="hikidashi", status="ok", found=__version__),
        *check_extras(needs_by_extra()),
        check_cli(find_cli(), needed=find_spec("claude_agent_sdk") is not None),
        check_login(os.environ),
        *check_providers(os.environ),
        *check_keys(os.environ),
    ]


def print_checks(checks: Sequence[Check], console: Console) -> None:
    """Print a table of `checks` with a verdict below."""
    names = max(len(check.name) for check in checks)
    for area, heading in _HEADINGS.items():
        console.print(Text(f"\n{heading}", "bold"))
        for check in checks:
            if check.area == area:
                _print_check(console, check, names)
    console.print()
    if count := sum(check.status == "problem" for check in checks):
        console.print(Text(f"{count} problem{'s' if count > 1 else ''}: see what is marked ✗.", "bold red"))
    else:
        console.print(Text("Everything that is set up can work.", "green"))


def _print_check(console: Console, check: Check, names: int) -> None:
    mark, style = _MARKS[check.status]
    beside = "" if check.status == "ok" else style
    start = Text.assemble("  ", (mark, style), " ", (check.name.ljust(names), beside), "  ")
    remedy = [Text(check.remedy, "cyan")] if check.remedy else []
    print_beside(console, start, Text(check.found, beside), *remedy)


# Python, hikidashi and its extras.


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


def check_extras(needs: Mapping[str, Iterable[Need]], installed: Mapping[str, str] | None = None) -> Iterator[Check]:
    """Check each extra against the `installed` versions; by default those of this environment."""
    for extra, packages in needs.items():
        yield _check_extra(extra, packages, installed)


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


def _check_extra(extra: str, needs: Iterable[Need], installed: Mapping[str, str] | None) -> Check:
    install = f"pip install 'hikidashi[{extra}]'"
    look_up = _installed_version if installed is None else installed.get
    versions = {need: look_up(need.package) for need in needs}
    found = [f"{need.package} {version}" for need, version in versions.items() if version is not None]
    missing = [need.package for need, version in versions.items() if version is None]
    wrong = [
        f"{need.package} {version} is {verdict}, {need} is needed"
        for need, version in versions.items()
        if version is not None and (verdict := need.verdict(version)) != "ok"
    ]
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


# The Claude Code CLI and its login.


def find_cli() -> Path | None:
    """The CLI bundled with claude-agent-sdk or, like the SDK, the one on PATH; the SDK is not imported."""
    name = "claude.exe" if sys.platform == "win32" else "claude"
    spec = find_spec("claude_agent_sdk")
    for folder in (spec and spec.submodule_search_locations) or ():
        if (bundled := Path(folder) / "_bundled" / name).is_file():
            return bundled
    found = shutil.which("claude")
    return Path(found) if found else None


def check_cli(path: Path | None, *, needed: bool, seconds: float = _SECONDS) -> Check:
    """Whether the CLI at `path` runs; a missing one is a problem only if it is `needed`."""
    if path is None:
        remedy = (
            "Install Claude Code so that `claude` is on PATH: this build of claude-agent-sdk has none inside."
            if needed
            else "pip install 'hikidashi[claude]'"
        )
        return _cli("problem" if needed else "absent", "not found", remedy)
    try:
        version = _cli_version(path, seconds)
    except subprocess.TimeoutExpired:
        return _cli("problem", f"{path} did not answer within {seconds:g} s", f"Run it yourself: {path} --version")
    except subprocess.CalledProcessError as error:
        output = ((error.stderr or error.stdout or "").strip().splitlines() or ["nothing"])[-1][:200]
        return _cli("problem", f"{path} ended with exit code {error.returncode} and printed: {output}", _REINSTALL)
    except OSError as error:
        return _cli("problem", f"{path} cannot be started: {error.strerror or error}", _REINSTALL)
    return _cli("ok", f"{version} at {_from_home(path)}")


def require_cli(path: Path | None) -> None:
    """Raise unless the CLI at `path` runs; by default the one that `ClaudeCodeModel` starts.

    Raises:
        ClaudeCodeError: it does not run, with the reason and the remedy.
    """
    if path is not None and not path.exists():
        raise ClaudeCodeError(f"Claude Code was not found at {path}. Check the path, or leave `--cli-path` out.")
    check = check_cli(path or find_cli(), needed=True)
    if check.status != "ok":
        raise ClaudeCodeError(f"Claude Code does not run: {check.found}. {check.remedy}")


def check_login(environment: Mapping[str, str]) -> Check:
    """Whether there is a login file; it is not read."""
    folder = Path(environment.get("CLAUDE_CONFIG_DIR") or Path.home() / ".claude")
    if (folder / ".credentials.json").is_file():
        return Check(area="claude", name="login", status="ok", found=f"there is one in {_from_home(folder)}")
    elsewhere = " (macOS keeps it in the keychain, which is not checked)" if sys.platform == "darwin" else ""
    # The CLI inside the SDK is not on PATH.
    command = "`claude`" if shutil.which("claude") or find_cli() is None else "the CLI above, by its path,"
    return Check(
        area="claude",
        name="login",
        status="absent",
        found=f"none in {_from_home(folder)}{elsewhere}",
        remedy=f"To use a subscription, run {command} and log in.",
    )


def _cli(status: Status, found: str, remedy: str = "") -> Check:
    return Check(area="claude", name="Claude Code CLI", status=status, found=found, remedy=remedy)


def _cli_version(path: Path, seconds: float) -> str:
    """The version that `claude --version` prints, run in a temporary home."""
    with tempfile.TemporaryDirectory(prefix="hikidashi-doctor-", ignore_cleanup_errors=True) as home:
        private = {"HOME": home, "CLAUDE_CONFIG_DIR": home, "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"}
        done = subprocess.run(
            [path, "--version"],
            env={**os.environ, **private},
            cwd=home,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            encoding="utf-8",
            errors="replace",
            timeout=seconds,
            check=True,
        )
    return done.stdout.strip().partition(" ")[0] or "an unknown version"


def _from_home(path: Path) -> str:
    return f"~/{path.relative_to(Path.home())}" if path.is_relative_to(Path.home()) else str(path)


# Search providers and chat models.


def check_providers(environment: Mapping[str, str]) -> Iterator[Check]:
    """One check per search provider and chat model: ready, or what is missing."""
    for row in SEARCH_PROVIDERS.values():
        variables = [name for name in (row.key_variable, row.address_variable) if name]
        yield _check_provider(f"search: {row.name}", row.packages, variables, environment)
    for model in CHAT_MODELS.values():
        a_set_one = [name for name in model.key_variables if environment.get(name)]
        yield _check_provider(
            f"chat: {model.name}", model.packages, (a_set_one or model.key_variables)[:1], environment
        )


def _check_provider(
    name: str, packages: Sequence[Package], variables: Sequence[str], environment: Mapping[str, str]
) -> Check:
    if missing := [package for package in packages if not package.is_installed]:
        found = f"not installed: {', '.join(package.name for package in missing)}"
        remedy = " && ".join(dict.fromkeys(package.install_command for package in missing))
        return Check(area="provider", name=name, status="absent", found=found, remedy=remedy)
    if unset := [variable for variable in variables if not environment.get(variable, "").strip()]:
        found = f"{', '.join(unset)} not set"
        return Check(area="provider", name=name, status="absent", found=found)
    has = ", ".join([*(package.name for package in packages), *variables])
    return Check(area="provider", name=name, status="ok", found=f"has {has}" if has else "needs nothing")


# Keys and addresses in the environment.


def known_keys() -> dict[str, str]:
    """Each environment variable the doctor checks, and what reads it."""
    readers: dict[str, list[str]] = {}
    for model in CHAT_MODELS.values():
        for name in (*model.key_variables, *model.other_variables):
            readers.setdefault(name, []).append(model.title)
    for provider in SEARCH_PROVIDERS.values():
        for name in filter(None, (provider.key_variable, provider.address_variable)):
            readers.setdefault(name, []).append(f"web search with {provider.title}")
    return dict(sorted(({name: " and ".join(titles) for name, titles in readers.items()} | _SLACK).items()))


def check_keys(environment: Mapping[str, str]) -> Iterator[Check]:
    """Each known key: set, not set, or set to something that cannot work."""
    for name, purpose in known_keys().items():
        value = environment.get(name)
        if value is None:
            yield Check(area="key", name=name, status="absent", found="not set")
        elif mistake := _mistake(name, value):
            yield Check(area="key", name=name, status="problem", found=mistake[0], remedy=mistake[1])
        else:
            yield Check(area="key", name=name, status="ok", found=f"set, for {purpose}")


def _mistake(name: str, value: str) -> tuple[str, str] | None:
    if not value.strip():
        return "set, but empty", f"Give it a value, or: unset {name}"
    if value != value.strip():
        return "set, with white space around it", f"Set {name} again without the spaces or the newline."
    if name.endswith("_URL") and not _is_web_address(value):
        return "set, but no http(s) address", f"Set {name} to an address such as https://host:8080"
    if package := _missing_package(name):
        return f"set, but {package.name} is not installed", package.install_command
    return None


def _missing_package(name: str) -> Package | None:
    """The missing package of the search provider with this key; keys of models are for other programs too."""
    readers = [row for row in SEARCH_PROVIDERS.values() if name in (row.key_variable, row.address_variable)]
    return next((package for row in readers for package in row.packages if not package.is_installed), None)


def _is_web_address(value: str) -> bool:
    try:
        split_base_url(value)
    except ValueError:
        return False
    return True
