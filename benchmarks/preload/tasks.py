"""Tasks for Claude Code with 1,000 tools, three ways: preloaded, searched for, and all in the prompt.

The model is a script that does what a sensible one does: it calls the tool that the task needs as soon as it has read
its definition; until then it searches, with the words of that tool, so that its first search finds it. That is the best
case of a search, and preloading, which has the words of the task alone, gets no such help. What a user pays for is
counted at the loopback Messages API.
"""

from __future__ import annotations

import asyncio
import re
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any, Literal

from claude_agent_sdk import ClaudeAgentOptions, ResultMessage, query

from hikidashi import Tool, ToolResult, to_claude
from hikidashi.convert.claude import shown_name
from hikidashi.search import ToolCatalog, search_hooks, search_tool_names, to_claude_search
from hikidashi.testing import MessagesServer, RecordedRequest, Reply, call, say

from ..registry import Case, Measurement, Plan, Sample, Unit
from ..search.catalogue import catalogue
from ..search.data import SHIPPED, Definition, load

Way = Literal["preload", "search", "all"]
WAYS: dict[Way, str] = {"preload": "preload=5", "search": "search by the model", "all": "all tools in the prompt"}
GROUPS = {
    "turns": "turns of the model for a task: with preloading ÷ otherwise",
    "requests": "requests to the Messages API for a task",
    "sent": "bytes sent to the Messages API for a task",
    "time": "a task, start to exit of the CLI; this model answers at once, a real one takes seconds for each turn",
}
UNITS: dict[str, Unit] = {"turns": "count", "requests": "count", "sent": "bytes", "time": "s"}

_COUNT = 5  # tools that a message may load
_SIZE = 1_000
_TASKS = 40
_ANSWER = "Done."
_SERVER = "tools"
_SYSTEM = "Do what you are asked to do, with tools."


@dataclass(frozen=True, slots=True)
class Task:
    """What a user asks for, and the tool that does it."""

    query: str
    tool: str


@dataclass(frozen=True, slots=True)
class Costs:
    """What one task took."""

    turns: float
    requests: float
    sent: float
    time: float


def tasks(how_many: int) -> list[Task]:
    """Questions of the shipped data set that one tool serves, spread evenly over the English ones."""
    asked = [one for one in load(SHIPPED).questions if one.split == "en" and len(one.gold) == 1]
    return [Task(one.query, min(one.gold)) for one in asked[:: len(asked) // how_many][:how_many]]


def offered(size: int) -> list[Definition]:
    """The tools of the shipped data set, and made-up ones up to `size`."""
    own = list(load(SHIPPED).tools)
    return [*own, *catalogue(max(0, size - len(own)))]


def script(task: Task, way: Way) -> Callable[[RecordedRequest], Reply]:
    """The model: calls the tool of the task once it has read its definition, and searches until then."""

    def answer(request: RecordedRequest) -> Reply:
        if any(f"{task.tool}: done" in text for text in request.tool_result_texts):
            return say(_ANSWER)
        if way == "all":
            return call(f"mcp__{_SERVER}__{shown_name(task.tool)}", {})
        if f'"name":"{task.tool}"' in str(request.messages).replace("\\", "").replace('": "', '":"'):
            return call("call_tool", {"name": task.tool, "arguments": {}})
        if request.tool_results:
            return say(f"Nothing found for {task.tool}.")
        return call("search_tools", {"query": _in_words(task.tool)})

    return answer


def _in_words(name: str) -> str:
    """`chat.postMessage` as `chat post message`."""
    return " ".join(re.findall(r"[A-Z]?[a-z0-9]+|[A-Z]+", name)).lower()


def _called(name: str) -> Callable[[dict[str, Any]], Any]:
    async def called(_: dict[str, Any]) -> ToolResult:
        return ToolResult.of(f"{name}: done")

    return called


def _tool(definition: Definition) -> Tool:
    schema: dict[str, Any] = {**definition["input_schema"], "required": []}
    name: str = definition["name"]
    return Tool(name=name, description=definition["description"], input_schema=schema, call=_called(name))


class Stage:
    """The tools, as each way offers them."""

    def __init__(self, size: int) -> None:
        self._tools = [_tool(definition) for definition in offered(size)]
        self._catalog = ToolCatalog(self._tools)
        self._catalog.ready()

    def run(self, runner: asyncio.Runner, task: Task, way: Way) -> Costs:
        """What `task` takes when its tool is offered in this `way`."""
        with tempfile.TemporaryDirectory() as folder, MessagesServer(script(task, way)) as server:
            start = perf_counter()
            turns = runner.run(self._asked(task, way, server.env(folder), Path(folder)))
            spent = perf_counter() - start
            asked = [request for request in server.requests if request.tools]
            return Costs(turns, len(asked), sum(request.size for request in asked), spent)

    async def _asked(self, task: Task, way: Way, env: dict[str, str], folder: Path) -> int:
        options = ClaudeAgentOptions(
            model="sonnet",
            system_prompt=_SYSTEM,
            tools=[],
            permission_mode="dontAsk",
            setting_sources=[],
            cwd=folder,
            env=env,
            **self._offered(way),
        )
        result: ResultMessage | None = None
        async for message in query(prompt=task.query, options=options):
            if isinstance(message, ResultMessage):
                result = message
        if result is None or result.result != _ANSWER:
            raise RuntimeError(f"{task.query!r} ({way}) was to end with {_ANSWER!r}, and ended with {result!r:.300}.")
        return result.num_turns

    def _offered(self, way: Way) -> dict[str, Any]:
        if way == "all":
            server = to_claude(self._tools, name=_SERVER, always_load=True)
            return {"mcp_servers": {_SERVER: server}, "allowed_tools": [f"mcp__{_SERVER}"]}
        server = to_claude_search(self._catalog, name=_SERVER, preload=_COUNT if way == "preload" else None)
        return {
            "mcp_servers": {_SERVER: server},
            "allowed_tools": search_tool_names(_SERVER),
            "hooks": search_hooks(server),
        }


def measured(plan: Plan, size: int, asked: Sequence[Task], rounds: int) -> dict[Way, list[Costs]]:
    """For each way the mean costs of a task, a figure per round; the ways take turns."""
    stage = Stage(size)
    found: dict[Way, list[Costs]] = {way: [] for way in WAYS}
    with asyncio.Runner() as runner:
        for done in range(rounds):
            for way in WAYS if done % 2 == 0 else reversed(WAYS):
                costs = [stage.run(runner, task, way) for task in asked]
                means = [sum(getattr(one, what) for one in costs) / len(costs) for what in GROUPS]
                found[way].append(Costs(*means))
            plan.progress((done + 1) / (rounds + 1))
    return found


def _measurements(plan: Plan) -> Iterable[Measurement]:
    size, how_many = (200, 2) if plan.quick else (_SIZE, _TASKS)
    found = measured(plan, size, tasks(how_many), plan.rounds(3, quick=1))
    for what in GROUPS:
        ours, *others = (Sample(tuple(getattr(one, what) for one in found[way])) for way in WAYS)
        for way, peer in zip(list(WAYS)[1:], others, strict=True):
            yield Measurement(
                group=what,
                name=f"{size:,} tools, mean of {how_many} tasks",
                unit=UNITS[what],
                ours=ours,
                peer=peer,
                peer_name=WAYS[way],
            )


CASES = (Case("turns", "tasks", _measurements),)
"""One run has the figures of all groups."""
