"""A run that finds a CLI waiting (`ClaudeCodeModel(warm=1)`), beside `claude_agent_sdk.query`, which starts its own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Literal

from pydantic_ai import Agent

from hikidashi import ClaudeCodeModel

from ..registry import Case, Measurement, Plan, Sample
from .runs import PEER, PROMPT, SYSTEM, add, finished, loopback, raw_run, timed

GROUP = "warm"
MEANING = "an agent run on a CLI that waits ÷ `claude_agent_sdk.query`, start to exit of the process"

_AIM = 0.6


def _on_a_waiting_cli(
    runner: asyncio.Runner, model: ClaudeCodeModel, *, tools: bool
) -> tuple[Callable[[], float], list[float]]:
    """A contestant, and the memory of the CLI that waited before each of its runs."""
    agent = Agent(model, system_prompt=SYSTEM, tools=[add] if tools else [])
    memory: list[float] = []

    async def run() -> str:
        return (await agent.run(PROMPT)).output

    async def ready() -> None:
        if not await model._warm.ready():
            await finished(run)
            await model._warm.ready()
        memory.append(sum(map(_resident, _children())))

    def once() -> float:
        runner.run(ready())
        start = perf_counter()
        runner.run(finished(run))
        return perf_counter() - start

    return once, memory


def _children() -> list[int]:
    """The processes below this one; on a system without `/proc` there are none to see."""
    return [int(pid) for task in Path("/proc/self/task").glob("*/children") for pid in task.read_text().split()]


def _resident(pid: int) -> int:
    """Bytes that a process and those below it hold in memory."""
    status = Path(f"/proc/{pid}/status").read_text().splitlines()
    own = next((int(line.split()[1]) * 1024 for line in status if line.startswith("VmRSS")), 0)
    below = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return own + sum(_resident(int(child)) for child in below)


def _measured(plan: Plan, mode: Literal["mcp", "agent"], *, tools: bool) -> Iterable[Measurement]:
    with loopback() as (env, folder), asyncio.Runner() as runner:
        model = ClaudeCodeModel("sonnet", tool_execution=mode, env=env, working_directory=folder, warm=1)
        ours, memory = _on_a_waiting_cli(runner, model, tools=tools)
        peer = timed(runner, raw_run(env, folder, tools=tools))
        figures = plan.alternate({"ours": ours, "peer": peer}, plan.rounds(25))
        runner.run(model._warm.close())
    yield Measurement(
        group=GROUP,
        name=f'one tool call, tool_execution="{mode}"' if tools else "plain answer, no tools",
        unit="s",
        ours=figures["ours"],
        peer=figures["peer"],
        peer_name=PEER,
        aim_ratio=_AIM,
    )
    yield Measurement(
        group=GROUP, name="memory of the CLI that waits (RSS)", unit="bytes", ours=Sample(tuple(memory[1:]))
    )


CASES = (
    Case(GROUP, "one tool call", partial(_measured, mode="agent", tools=True)),
    Case(GROUP, "plain answer", partial(_measured, mode="agent", tools=False)),
)
