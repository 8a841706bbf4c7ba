"""A whole agent run on the real Claude Code CLI, beside `claude_agent_sdk.query` with the same script.

Both talk to one loopback Messages API, with the same system prompt, the same tool and a private home. The clock
runs from the call until the answer is there and the CLI process is gone.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Awaitable, Callable, Generator, Iterable
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from time import perf_counter, process_time
from typing import Any, Literal

from claude_agent_sdk import ClaudeAgentOptions, McpSdkServerConfig, ResultMessage, create_sdk_mcp_server, query, tool
from pydantic_ai import Agent

from hikidashi import ClaudeCodeModel
from hikidashi.testing import MessagesServer, RecordedRequest, Reply, call, say

from ..registry import Case, Measurement, Plan

GROUP = "runs"
MEANING = "an agent run on the real CLI ÷ `claude_agent_sdk.query`, start to exit of the process"

PROMPT = "How much is 19 + 23?"
SYSTEM = "You add numbers. Use the tool."
_ANSWER = "It is 42."
PEER = "raw `query`"
_AIM = 1.05

Run = Callable[[], Awaitable[str]]
Clock = Callable[[], float]


async def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def answered(request: RecordedRequest) -> Reply:
    """The script: call the tool if there is one, then answer."""
    return say(_ANSWER) if request.tool_results or not request.tools else call("add", {"a": 19, "b": 23})


def agent_run(env: dict[str, str], folder: Path, tool_execution: Literal["mcp", "agent"], *, tools: bool) -> Run:
    """A pydantic-ai agent on `ClaudeCodeModel`."""
    model = ClaudeCodeModel("sonnet", tool_execution=tool_execution, env=env, working_directory=folder)
    agent = Agent(model, system_prompt=SYSTEM, tools=[add] if tools else [])
    model.set_agent_toolsets(agent._function_toolset)

    async def run() -> str:
        return (await agent.run(PROMPT)).output

    return run


def raw_run(env: dict[str, str], folder: Path, *, tools: bool) -> Run:
    """The Claude Agent SDK by itself."""

    async def run() -> str:
        options = ClaudeAgentOptions(
            model="sonnet",
            system_prompt=SYSTEM,
            tools=[],
            mcp_servers={"pydantic_tools": _by_hand()} if tools else {},
            allowed_tools=["mcp__pydantic_tools"] if tools else [],
            permission_mode="dontAsk",
            setting_sources=[],
            cwd=folder,
            env=env,
        )
        result = ""
        async for message in query(prompt=PROMPT, options=options):
            if isinstance(message, ResultMessage):
                result = message.result or ""
        return result

    return run


def _by_hand() -> McpSdkServerConfig:
    integer = {"type": "integer"}
    schema = {"type": "object", "properties": {"a": integer, "b": integer}, "required": ["a", "b"]}

    @tool("add", "Add two numbers.", schema)
    async def add_by_hand(arguments: dict[str, Any]) -> dict[str, Any]:
        return {"content": [{"type": "text", "text": str(await add(**arguments))}]}

    return create_sdk_mcp_server("pydantic_tools", tools=[add_by_hand])


@contextmanager
def loopback() -> Generator[tuple[dict[str, str], Path]]:
    """The environment of a CLI that talks to the script, and a folder to run it in."""
    with tempfile.TemporaryDirectory() as folder, MessagesServer(answered) as server:
        yield server.env(folder), Path(folder)


def timed(runner: asyncio.Runner, run: Run, clock: Clock = perf_counter) -> Callable[[], float]:
    """A contestant whose score is the time of one run."""

    def once() -> float:
        start = clock()
        runner.run(finished(run))
        return clock() - start

    return once


async def finished(run: Run) -> None:
    """Nothing, once `run` has given the answer of the script."""
    said = await run()
    if said != _ANSWER:
        raise RuntimeError(f"The run was to answer {_ANSWER!r}, and answered {said!r}.")


def _with_tool(plan: Plan, rounds: int, clock: Clock, note: str = "") -> Iterable[Measurement]:
    with loopback() as (env, folder), asyncio.Runner() as runner:
        figures = plan.alternate(
            {
                "mcp": timed(runner, agent_run(env, folder, "mcp", tools=True), clock),
                "peer": timed(runner, raw_run(env, folder, tools=True), clock),
                "agent": timed(runner, agent_run(env, folder, "agent", tools=True), clock),
            },
            plan.rounds(rounds),
        )
    for mode in ("mcp", "agent"):
        yield Measurement(
            group=GROUP,
            name=f'one tool call, tool_execution="{mode}"',
            unit="s",
            ours=figures[mode],
            peer=figures["peer"],
            peer_name=PEER,
            aim_ratio=_AIM if clock is perf_counter else None,
            note=note,
        )


def _text_only(plan: Plan) -> Iterable[Measurement]:
    with loopback() as (env, folder), asyncio.Runner() as runner:
        figures = plan.alternate(
            {
                "ours": timed(runner, agent_run(env, folder, "mcp", tools=False)),
                "peer": timed(runner, raw_run(env, folder, tools=False)),
            },
            plan.rounds(25),
        )
    yield Measurement(
        group=GROUP,
        name="plain answer, no tools",
        unit="s",
        ours=figures["ours"],
        peer=figures["peer"],
        peer_name=PEER,
        aim_ratio=_AIM,
    )


CASES = (
    Case(GROUP, "one tool call", partial(_with_tool, rounds=25, clock=perf_counter)),
    Case(GROUP, "plain answer", _text_only),
    Case(
        GROUP,
        "one tool call, CPU",
        partial(_with_tool, rounds=10, clock=process_time, note="CPU of this process and its loopback API"),
    ),
)
