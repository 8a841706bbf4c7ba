"""How many files one request passes on its way, and how large the package is, beside the limits of both.

    python -m benchmarks.walks                     a line for each request, and one for the package
    python -m benchmarks.walks words model house   some of them
    python -m benchmarks.walks --route             and the files in the order in which they are passed

Exits with 1 where a limit is exceeded.
"""

from __future__ import annotations

import argparse
import ast
import asyncio
import json
import os
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

import hikidashi
from hikidashi import ClaudeCodeModel, Tool, ToolResult
from hikidashi.search import ToolCatalog
from hikidashi.search.catalog import Ranker
from hikidashi.testing import MessagesServer, TavilyPage, TavilyServer, call, say

PACKAGE = Path(hikidashi.__file__).parent
LIMITS = {"words": 8, "meaning": 11, "call": 12, "model": 15, "strands": 14}
"""The most files that a request may pass: as many as a stranger reads to follow it."""
HOUSE = {"modules": 260, "lines": 58_000, "folders": 30, "casts": 100}
"""The most that the package may have."""
# Rooms that are read alone: the counterparts of tests, and what an agent's run shares with everything else.
BESIDE_A_RUN = ("testing", "common", "search")


@dataclass
class Walk:
    """The files of the package whose functions ran during a request, in order."""

    beside: tuple[str, ...] = ("testing",)
    """Rooms that are not counted."""
    steps: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    """File and function of each call, one row each."""

    @property
    def files(self) -> set[str]:
        """Each file that was passed."""
        return {file for file, _ in self.steps}

    @property
    def route(self) -> list[str]:
        """The files in order, one entry for each change of file."""
        return [file for n, (file, _) in enumerate(self.steps) if n == 0 or self.steps[n - 1][0] != file]

    def add(self, filename: str, function: str) -> None:
        """Note a call, unless it is not of the package or only loads a module."""
        place = Path(filename)
        if function != "<module>" and place.is_relative_to(PACKAGE):
            inside = place.relative_to(PACKAGE)
            if inside.parts[0] not in self.beside:
                self.steps.append((inside.as_posix(), function))


@contextmanager
def traced(*beside: str) -> Generator[Walk]:
    """The walk of what runs in the block, on all threads that start in it, without the rooms `beside`."""
    walk = Walk(beside)

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            walk.add(frame.f_code.co_filename, frame.f_code.co_qualname)

    before, in_threads = sys.gettrace(), threading.gettrace()
    threading.settrace(note)
    sys.settrace(note)
    try:
        yield walk
    finally:
        sys.settrace(before)
        threading.settrace(in_threads)  # pyright: ignore[reportArgumentType] - typeshed leaves out None


def forty_tools() -> Iterator[Tool]:
    """Four things that can be done with each of ten."""

    async def run(_: dict[str, Any]) -> ToolResult:
        return ToolResult.of("done")

    for noun in ["booking", "customer", "document", "driver", "garden", "invoice", "lamp", "parcel", "song", "ticket"]:
        for verb in ["create", "find", "list", "remove"]:
            yield Tool(name=f"{verb}_{noun}", description=f"{verb.title()} a {noun}.", input_schema={}, call=run)


def search(ranker: Ranker) -> Walk:
    """A search of a catalogue whose index, and vectors if it has any, are ready."""
    catalog = ToolCatalog(list(forty_tools()), ranker=ranker)
    catalog.search("list the parcels")
    catalog.ready()
    with traced() as walk:
        catalog.search("get rid of the ticket of a customer")
    return walk


def model(home: Path) -> Walk:
    """A run of an agent on Claude Code that calls one tool."""
    from pydantic_ai import Agent

    def double(number: int) -> int:
        """Twice a number."""
        return 2 * number

    with MessagesServer([call("double", {"number": 21}), say("42")]) as server:
        agent = Agent(ClaudeCodeModel("sonnet", env=server.env(home)), tools=[double])
        with traced(*BESIDE_A_RUN) as walk:
            assert asyncio.run(agent.run("Twice 21?")).output == "42"
    return walk


def web_search() -> Walk:
    """A run of a strands agent that searches the web once."""
    from strands import Agent
    from strands.models.anthropic import AnthropicModel

    from hikidashi.config import WebSearchConfig
    from hikidashi.web.strands import WebToolsFactory

    page = TavilyPage(url="https://example.com/tea", title="Tea of Uji", content="Tea is grown in Uji.")
    script = [call("web_search", {"query": "tea"}), say("In Uji.")]
    with TavilyServer([page]) as tavily, MessagesServer(script) as server:
        config = WebSearchConfig(enabled=True, api_key="tvly-test", base_url=tavily.url)
        tools = WebToolsFactory(config, language="en")
        anthropic = {"base_url": server.url, "api_key": "sk-test"}
        agent = Agent(
            model=AnthropicModel(client_args=anthropic, model_id="scripted", max_tokens=64),
            tools=list(tools.tools),
            callback_handler=None,
        )
        with traced(*BESIDE_A_RUN) as walk:
            agent("Where is tea grown?", invocation_state=tools.get_invocation_state())
        assert "Tea is grown in Uji." in str(agent.messages)
    return walk


# Loaded by each Python that finds it on its path: writes down what the processes of the gateway run, and when.
TRACE_A_PROCESS = """
import os, sys, threading, time
out = open(os.path.join(os.path.dirname(__file__), f"calls.{os.getpid()}"), "a", buffering=1)
def note(frame, event, _):
    if event == "call" and "hikidashi" in frame.f_code.co_filename:
        out.write(f"{time.time():.6f}\\t{frame.f_code.co_filename}\\t{frame.f_code.co_qualname}\\n")
sys.settrace(note)
threading.settrace(note)
"""

ONE_TOOL = """
from mcp.server.mcpserver import MCPServer
server = MCPServer("clock")
@server.tool()
def add_hours(hours: int) -> str:
    "The time so many hours after noon."
    return f"{12 + hours}:00"
server.run("stdio")
"""


def gateway_call(home: Path) -> Walk:
    """A `tools/call` from a client over stdio, through the daemon, to a server over stdio, and back.

    The shortest of three: what the gateway does beside a call, such as listing, may fall into one.
    """
    from mcp import Client, StdioServerParameters
    from mcp.client.stdio import stdio_client

    (home / "sitecustomize.py").write_text(TRACE_A_PROCESS)
    (home / "clock.py").write_text(ONE_TOOL)
    config = home / "mcp.json"
    server = {"command": sys.executable, "args": [str(home / "clock.py")]}
    config.write_text(json.dumps({"mcpServers": {"clock": server}}))
    environment = {
        "HOME": str(home),
        "PATH": os.environ["PATH"],
        "PYTHONPATH": str(home),
        "XDG_RUNTIME_DIR": str(home),
    }
    program = [sys.executable, "-m", "hikidashi", "serve"]
    serve = StdioServerParameters(
        command=program[0], args=[*program[1:], "--config", str(config), "--yes"], env=environment
    )

    async def during() -> list[tuple[float, float]]:
        async with Client(stdio_client(serve)) as client:
            (tool,) = (await client.list_tools()).tools
            await client.call_tool(tool.name, {"hours": 1})
            spans: list[tuple[float, float]] = []
            for hours in (2, 3, 4):
                await asyncio.sleep(0.5)  # what a call still does afterwards is not on the way of the next
                begin = time.time()
                answer = await client.call_tool(tool.name, {"hours": hours})
                spans.append((begin, time.time()))
                assert f"{12 + hours}:00" in str(answer.content)
            return spans

    async def stop() -> None:
        ended = await asyncio.create_subprocess_exec(
            *program, "stop", env=environment, stdout=asyncio.subprocess.DEVNULL
        )
        await ended.wait()

    try:
        spans = asyncio.run(during())
    finally:
        asyncio.run(stop())
    rows = [line.split("\t") for file in home.glob("calls.*") for line in file.read_text().splitlines()]
    calls = sorted((float(row[0]), row[1], row[2]) for row in rows if len(row) == 3)
    found = [Walk() for _ in spans]
    for walk, (begin, end) in zip(found, spans, strict=True):
        for at, file, function in calls:
            if begin <= at <= end:
                walk.add(file, function)
    return min(found, key=lambda walk: len(walk.files))


def walks(home: Path) -> dict[str, Callable[[], Walk]]:
    """Each request by its name; `home` is for the files of those that start processes."""
    return {
        "words": lambda: search("lexical"),
        "meaning": lambda: search("hybrid"),
        "call": lambda: gateway_call(home),
        "model": lambda: model(home),
        "strands": web_search,
    }


def house() -> dict[str, int]:
    """The package in numbers: modules, lines, folders with modules, and casts."""
    sources = {file: file.read_text(encoding="utf-8") for file in PACKAGE.rglob("*.py")}
    calls = [node for text in sources.values() for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call)]
    return {
        "modules": len(sources),
        "lines": sum(len(text.splitlines()) for text in sources.values()),
        "folders": len({file.parent for file in sources}),
        "casts": sum(isinstance(node.func, ast.Name) and node.func.id == "cast" for node in calls),
    }


def main() -> None:
    """Print the walks and the size; exit with 1 where one exceeds its limit."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.walks", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("walks", nargs="*", choices=[*LIMITS, "house", []], default=[], metavar="WALK")
    parser.add_argument("--route", action="store_true", help="print the files in the order in which they are passed")
    given = parser.parse_args()
    asked: list[str] = given.walks or [*LIMITS, "house"]
    fine = True
    with tempfile.TemporaryDirectory() as home:
        requests = walks(Path(home))
        for name in (one for one in asked if one != "house"):
            walk = requests[name]()
            short = 0 < len(walk.files) <= LIMITS[name]
            print(
                f"{name:8} {len(walk.files):3} files (limit {LIMITS[name]}) {len(set(walk.steps)):4} functions"
                f" {len(walk.route):4} changes of file{'' if short else '   TOO FAR'}"
            )
            if given.route:
                print("    " + " > ".join(walk.route))
            fine = fine and short
    if "house" in asked:
        size = house()
        print("house    " + ", ".join(f"{count:,} {what} (limit {HOUSE[what]:,})" for what, count in size.items()))
        fine = fine and all(count <= HOUSE[what] for what, count in size.items())
    sys.exit(not fine)


if __name__ == "__main__":
    main()
