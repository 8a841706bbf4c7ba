"""The official conformance suite of MCP, straight on a server and through `hikidashi serve` in front of it.

    python -m tests.conformance

Prints which scenarios pass, and returns 1 if one that passes straight fails through the gateway, 75 if the suite cannot
be fetched from npm.
"""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from tests.npm import CONFORMANCE, ROOT, node

REVISIONS = ("2025-11-25", "2026-07-28")
OLD_REVISION = REVISIONS[0]
START_SECONDS = 60.0
RUN_SECONDS = 300.0
WIDTH = 165  # of the table, where the output is no terminal

_RESULT = re.compile(r"^([✓✗]) ([\w-]+): \d+ passed, \d+ failed", re.MULTILINE)
_NOT_SCORED = re.compile(r"^  [✓✗] ([\w-]+) \(", re.MULTILINE)


@dataclass(frozen=True, kw_only=True)
class Way:
    """One way to the server."""

    name: str
    server: tuple[str, ...] = ()
    """Options of the server behind the gateway."""
    search: str | None = None
    """How the gateway shows the tools; None is no gateway."""
    required: tuple[str, ...] = REVISIONS
    """For which revisions it has to pass what passes straight."""


STRAIGHT = Way(name="straight")
WAYS = (
    STRAIGHT,
    Way(name="listed", search="off"),
    Way(name="searched", search="on"),
    # It cannot pass all of a revision that is younger than itself.
    Way(name="old server", search="off", server=("--handshake",), required=(OLD_REVISION,)),
)


@dataclass(frozen=True)
class Run:
    """What one run of the suite said."""

    passed: dict[str, bool]
    not_scored: frozenset[str]


def main() -> int:
    """Run everything; return the exit code."""
    console = Console()
    console.width = max(console.width, WIDTH)
    CONFORMANCE.install()
    began = time.monotonic()
    with ThreadPoolExecutor(2) as pool:
        runs = dict(zip((way.name for way in WAYS), pool.map(runs_of, WAYS), strict=True))
    lost = [
        f"{scenario} ({revision}, {way.name})"
        for way in WAYS
        for revision in way.required
        for scenario, passed in runs[way.name][revision].passed.items()
        if not passed and is_scored(runs, revision, scenario) and runs[STRAIGHT.name][revision].passed.get(scenario)
    ]
    console.print(table(runs))
    console.print(f"{time.monotonic() - began:.0f} s. Lost on the way: {', '.join(lost) or 'nothing'}.")
    return int(bool(lost) or not any(runs[STRAIGHT.name][OLD_REVISION].passed.values()))


def is_scored(runs: dict[str, dict[str, Run]], revision: str, scenario: str) -> bool:
    """Whether the revision demands the scenario."""
    run = runs[STRAIGHT.name][revision]
    return scenario in run.passed and scenario not in run.not_scored


def table(runs: dict[str, dict[str, Run]]) -> Table:
    """Scenario by revision by way; what a revision does not demand is left out."""
    shown = Table(
        title="MCP conformance: straight, and through hikidashi serve",
        header_style="bold",
        box=SIMPLE_HEAD,
        padding=(0, 1),
    )
    shown.add_column("scenario", no_wrap=True)
    columns = [(revision, way) for revision in REVISIONS for way in WAYS]
    for revision, way in columns:
        shown.add_column(f"{revision}\n{way.name}", justify="center", no_wrap=True)
    scenarios = dict.fromkeys(name for revision in REVISIONS for name in runs[STRAIGHT.name][revision].passed)
    marks = {True: "[green]✓[/]", False: "[red]✗[/]", None: ""}
    totals = [0] * len(columns)
    for scenario in scenarios:
        cells: list[str] = []
        for at, (revision, way) in enumerate(columns):
            passed = runs[way.name][revision].passed.get(scenario) if is_scored(runs, revision, scenario) else None
            totals[at] += passed is True
            cells.append(marks[passed])
        if any(cells):
            shown.add_row(scenario, *cells)
    shown.add_section()
    shown.add_row("passed", *map(str, totals))
    return shown


def runs_of(way: Way) -> dict[str, Run]:
    """What the suite says of one way, for each revision."""
    with tempfile.TemporaryDirectory() as folder, serving(way, Path(folder)) as url:
        return {revision: suite(url, revision, Path(folder)) for revision in REVISIONS}


def suite(url: str, revision: str, folder: Path) -> Run:
    """Run the suite against `url`."""
    program = CONFORMANCE.program("@modelcontextprotocol/conformance/dist/index.js")
    command = [node(), program, "server", "--url", url, "--requirements", revision, "-o", str(folder / revision)]
    said = subprocess.run(command, capture_output=True, text=True, timeout=RUN_SECONDS, check=False, cwd=folder)
    results = {name: mark == "✓" for mark, name in _RESULT.findall(said.stdout)}
    if not results:
        raise SystemExit(f"The suite said nothing of {url}: {said.stdout[-2000:]}{said.stderr[-2000:]}")
    _, _, rest = said.stdout.partition("\nNot scored for ")
    return Run(results, frozenset(_NOT_SCORED.findall(rest)))


@contextmanager
def serving(way: Way, folder: Path) -> Generator[str]:
    """The address of the server, or of the gateway in front of it, as long as the context is open."""
    port = free_port()
    server = ["-m", "tests.conformance.server", *way.server]
    if way.search is None:
        command = [sys.executable, *server, "--http", str(port)]
    else:
        config = folder / "mcp.json"
        entry = {"command": sys.executable, "args": server, "cwd": str(ROOT)}
        config.write_text(json.dumps({"mcpServers": {"fixture": entry}}), encoding="utf-8")
        command = [sys.executable, "-m", "hikidashi", "serve", "--config", str(config), "--yes", "--names", "plain"]
        command += ["--search", way.search, "--http", str(port)]
    homes = {name: str(folder) for name in ("HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR")}
    with (folder / "log").open("w+b") as log:
        process = subprocess.Popen(command, cwd=ROOT, env={**os.environ, **homes}, stdout=log, stderr=log)
        try:
            wait_for(port, process, folder / "log")
            yield f"http://127.0.0.1:{port}/mcp"
        finally:
            process.terminate()
            process.wait()


def wait_for(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    """Return when somebody listens on `port`."""
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        with socket.socket() as attempt:
            if attempt.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    raise SystemExit(f"The server did not start: {log.read_text(encoding='utf-8', errors='replace')[-2000:]}")


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


if __name__ == "__main__":
    sys.exit(main())
