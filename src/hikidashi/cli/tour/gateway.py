"""The gateway: a thousand tools behind `hikidashi serve`, for the official MCP client and for Claude Code."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from mcp import Client
from mcp.client.stdio import StdioServerParameters
from mcp.types import CallToolResult, TextContent
from pydantic_ai import Agent

import hikidashi
from hikidashi.testing import call, say
from hikidashi.tokens import definition_tokens, estimate_tokens

from .stage import Stage, found_in

__all__ = ["gateway_act"]

_OWN_TOOLS = ("search_tools", "call_read_tool", "call_tool", "read_result")
_DEFINITION = {"name", "description", "input_schema"}
_QUESTIONS = {
    "Remind me 30 minutes before the dentist.": {"event_id": 2, "minutes_before": 30},
    "予算はあとどれくらい?": {},
}


async def gateway_act(stage: Stage) -> None:
    """The official client finds tools and calls them; Claude Code then sees what the client has changed."""
    text = stage.text
    await stage.begin_act(
        text("All your MCP servers behind one", "MCP サーバーを、すべてひとつに"),
        text("The official MCP client has one line for four servers.", "公式クライアントに、サーバー4つで1行。"),
        code="hikidashi serve --config examples/mcp.json",
    )
    with _private_machine() as environment:
        with stage.waiting(text("The servers start …", "サーバーを起動しています …")):
            async with Client(_serve(environment, "--no-daemon", "--search", "off")) as client, asyncio.timeout(60):
                while len(stage.servers) < 4:  # a slow one may come after the first list
                    await asyncio.sleep(0.3 if stage.tools else 0)
                    stage.tools = [x.model_dump(include=_DEFINITION) for x in (await client.list_tools()).tools]
        async with Client(_serve(environment)) as client:
            await _a_client_asks(stage, client)
            await _claude_code_asks(stage, _serve(environment))


async def _a_client_asks(stage: Stage, client: Client) -> None:
    """An English and a Japanese question each find a tool, which is called."""
    columns = (stage.text("server", "サーバー"), stage.text("tools", "ツール"))
    await stage.tell("table", label="servers", columns=columns, rows=list(stage.servers.items()))
    note = stage.text(", with loading the index", "（索引の読み込みを含む）")  # by the first search
    for question, arguments in _QUESTIONS.items():
        await stage.tell("asked", text=question)
        started = time.perf_counter()
        hits = found_in(_text_of(await client.call_tool("search_tools", {"query": question})))
        seconds = time.perf_counter() - started
        await stage.tell("found", hits=hits, among=len(stage.tools), seconds=seconds, note=note)
        note = ""
        given = {"name": hits[0]["name"], "arguments": arguments}
        await stage.tell("called", tool=hits[0]["call_with"], arguments=given)
        result = await client.call_tool(hits[0]["call_with"], given)
        await stage.tell_result(hits[0]["name"], _text_of(result), "failed" if result.is_error else "success")


async def _claude_code_asks(stage: Stage, serve: StdioServerParameters) -> None:
    """Claude Code starts `hikidashi serve` itself; then, what its prompt holds with and without it."""
    text = stage.text
    await stage.begin_act(
        text("Claude Code sees four tools, not 1,040", "Claude Code に見えるのは 1,040 個ではなく 4 個"),
        text("The real CLI starts it, and shares the servers.", "本物の CLI が起動し、サーバーは共有します。"),
        code="hikidashi serve install claude-code",
    )
    question = text("When is my dentist? Put the insurance card on my list.", "歯医者はいつ? 保険証をリストに。")
    task = {"title": text("Take the insurance card to the dentist", "歯医者に保険証を持っていく")}
    answer = text(
        "Tomorrow at three, and you will be reminded half an hour before. The insurance card is on your list.",
        "明日の15時です。30分前にお知らせします。保険証はやることリストに入れました。",
    )
    script = [
        call("search_tools", {"query": text("find an event in the calendar", "予定を探す")}),
        call("call_read_tool", {"name": "calendar__find_events", "arguments": {"text": "dentist"}}),
        call("search_tools", {"query": text("put it on the to-do list", "やることリストに入れる")}),
        call("call_tool", {"name": "tasks__add_task", "arguments": task}),
        say(answer),
    ]
    requests = await stage.run_agent(
        Agent(),
        question,
        script,
        mcp_servers={"hikidashi": {"command": serve.command, "args": serve.args, "env": serve.env}},
        allowed_tools=[f"mcp__hikidashi__{name}" for name in _OWN_TOOLS],
    )
    sent, search = requests[0].tools, requests[1].tool_result_texts[0]
    rows = [
        (text("without hikidashi", "hikidashi なし"), len(stage.tools), definition_tokens(stage.tools)),
        (text("with hikidashi", "hikidashi あり"), len(sent), definition_tokens(sent)),
        (text("and for one search", "ほかに検索 1 回"), "", estimate_tokens(search)),
    ]
    columns = (text("in every request", "毎回のリクエスト"), text("tools", "ツール"), text("tokens", "トークン"))
    await stage.tell("table", label="prompt", columns=columns, rows=rows)


@contextmanager
def _private_machine() -> Generator[dict[str, str]]:
    """The environment of a machine of its own, whose gateway and servers end with it."""
    with TemporaryDirectory(prefix="hikidashi-tour-", ignore_cleanup_errors=True) as home:
        homes = ("HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR", "XDG_STATE_HOME")
        path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
        # TTY_COMPATIBLE: the gateway shows no progress of its own.
        environment = {**os.environ, **dict.fromkeys(homes, home), "PATH": path, "TTY_COMPATIBLE": "0"}
        try:
            yield environment
        finally:
            stop = [sys.executable, "-m", "hikidashi", "serve", "stop"]
            subprocess.run(stop, env=environment, check=False, capture_output=True)


def _serve(environment: dict[str, str], *options: str) -> StdioServerParameters:
    package = Path(hikidashi.__file__).parent
    packed = package / "examples"  # where a wheel has them
    config = (packed if packed.exists() else package.parents[1] / "examples") / "mcp.json"
    arguments = ["-m", "hikidashi", "serve", "--config", str(config), "--yes", *options]
    return StdioServerParameters(command=sys.executable, args=arguments, env=environment)


def _text_of(result: CallToolResult) -> str:
    return "\n".join(block.text for block in result.content if isinstance(block, TextContent))
