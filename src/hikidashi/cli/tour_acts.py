"""The acts of the tour: the gateway, your own tools in Claude Code, tool search, and the web.

The model is scripted; servers, the official MCP client, the Claude Code CLI and every call are real.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import AsyncIterable, Generator
from contextlib import contextmanager
from importlib.metadata import metadata
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from mcp import Client
from mcp.client.stdio import StdioServerParameters
from mcp.types import CallToolResult, TextContent
from pydantic_ai import Agent, ModelRetry, RunContext
from pydantic_ai import messages as ai

import hikidashi
from hikidashi import ClaudeCodeModel, from_pydantic_ai, to_mcp
from hikidashi.search import ToolCatalog
from hikidashi.testing import MessagesServer, RecordedRequest, Reply, call, say
from hikidashi.tokens import definition_tokens, estimate_tokens
from hikidashi.web.local import LocalIndex, LocalSearchProvider, ingest
from hikidashi.web.passages import plain_text

from .tour import Bilingual, JsonLines, Reader

_OWN_TOOLS = ("search_tools", "call_read_tool", "call_tool", "read_result")
_DEFINITION = {"name", "description", "input_schema"}
_QUESTIONS = {
    "Remind me 30 minutes before the dentist.": {"event_id": 2, "minutes_before": 30},
    "予算はあとどれくらい?": {},
}

Diary = list[str]

_FOR_TOOLS = (
    "cancel my meeting room booking",
    "休暇申請を作成",
    "Termin verschieben",
    "exporter tous les contrats",
    "actualizar el ticket de soporte",
    "添加任务",
    "회의실 예약 취소",
    "why is the sky blue",
)
_FOR_DOCUMENTS = ("run pydantic-ai tools in Claude Code", "ツールを検索するには")

_LEFT_OUT = re.compile(r"\A#+ .*\n+|<!--[^>]*-->")  # a heading is in the title already, a comment is for programs


class Stage:
    """The state that all acts share."""

    def __init__(
        self, text: Bilingual, audience: Reader | JsonLines, *, cli_path: Path | None, documents: tuple[Path, ...]
    ) -> None:
        self.text = text
        self.tell, self.waiting = audience.show, audience.waiting
        self.documents = documents  # to be searched; none is hikidashi's own README
        self.tools: list[dict[str, Any]] = []  # behind the gateway, as definitions
        self._cli_path = cli_path
        self._acts = 0

    @property
    def servers(self) -> Counter[str]:
        """How many tools each server has."""
        return Counter(tool["name"].partition("__")[0] for tool in self.tools)

    async def begin_act(self, title: str, about: str, *, code: str) -> None:
        """Announce the next act; `code` is the line that it demonstrates."""
        self._acts += 1
        await self.tell("act_started", number=self._acts, title=title, about=about, code=code)

    async def run_agent(
        self, agent: Agent[Any], question: str, script: list[Reply], *, deps: Any = None, **options: Any
    ) -> list[RecordedRequest]:
        """Run the agent and show its events; return what the real CLI sent to the scripted API."""

        async def follow(_: RunContext[Any], events: AsyncIterable[ai.AgentStreamEvent]) -> None:
            async for event in events:
                match event:
                    case ai.PartStartEvent(part=ai.NativeToolCallPart() as part) | ai.FunctionToolCallEvent(part=part):
                        await self.tell("called", tool=part.tool_name, arguments=part.args_as_dict())
                    case (
                        ai.PartStartEvent(part=ai.NativeToolReturnPart() as part)
                        | ai.FunctionToolResultEvent(part=part)
                    ):
                        await self.tell_result(part.tool_name, part.model_response_str(), part.outcome)
                    case _:
                        pass

        await self.tell("asked", text=question)
        with (
            TemporaryDirectory(prefix="hikidashi-tour-", ignore_cleanup_errors=True) as home,
            MessagesServer(script) as server,
            self.waiting(self.text("Claude Code is at work …", "Claude Code が動いています …")),
        ):
            own = {"env": server.env(home), "working_directory": home, "cli_path": self._cli_path}
            model = ClaudeCodeModel(timeout=60, max_retries=0, **own, **options)
            result = await agent.run(question, model=model, deps=deps, event_stream_handler=follow)
            await self.tell("answered", text=result.output)
        return server.requests

    async def tell_result(self, tool: str, content: str, outcome: str) -> None:
        """Show the result of a tool: of a search, the tools that it found."""
        if tool.endswith("search_tools"):
            await self.tell("found", hits=found_in(content))
        else:
            await self.tell("returned", tool=tool, content=content, outcome=outcome)


def found_in(answer: str) -> list[dict[str, str]]:
    """The first tools in an answer of `search_tools`, which has one definition to a line."""
    definitions = [json.loads(line) for line in answer.splitlines() if line.startswith("{")][:3]
    return [{"name": x["name"], "text": x["description"], "call_with": x["call_with"]} for x in definitions]


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


async def own_tools_act(stage: Stage) -> None:
    """A call that is tried again, deps that the tool changes, and the tool as an MCP client sees it."""
    text = stage.text
    await stage.begin_act(
        text("Your own tools, in Claude Code and everywhere", "自分のツールを、Claude Code でもどこでも"),
        text("A pydantic-ai agent: retries, live deps.", "pydantic-ai の再試行も deps もそのまま動きます。"),
        code='agent.run(question, model=ClaudeCodeModel("sonnet"), deps=diary)\n'
        "to_mcp(await from_pydantic_ai(agent, deps=diary))",
    )
    agent = Agent(deps_type=Diary)

    @agent.tool(description=text("Book a table, and write it in the diary.", "席を予約し、手帳に書き込む。"))
    def book_table(ctx: RunContext[Diary], place: str, time: str, people: int) -> str:
        if time != "18:30":
            raise ModelRetry(text(f"Full at {time}. Free: 18:30.", f"{time}は満席です。空き: 18:30"))
        ctx.deps.append(text(f"{time}, {place}, table for {people}", f"{time} {place} {people}名"))
        return text("Booked.", "予約しました。")

    _ = book_table  # the decorator registered it
    diary = Diary()
    place = text("Nishiki", "錦")
    answer = text("Nishiki was full at six; you have a table at 18:30.", "「錦」は18時が満席で、18:30 に取りました。")
    tables = [call("book_table", {"place": place, "time": time, "people": 2}) for time in ("18:00", "18:30")]
    question = text("Book a table for two at Nishiki, at six.", "「錦」を18時に2名で予約してください。")
    await stage.run_agent(agent, question, [*tables, say(answer)], deps=diary)
    await stage.tell("table", label="diary", columns=(), rows=[(entry,) for entry in diary])
    async with Client(to_mcp(await from_pydantic_ai(agent, deps=diary))) as client:
        tools = (await client.list_tools()).tools
    await stage.tell("table", label="mcp", columns=(), rows=[(tool.name, tool.description) for tool in tools])


async def tool_search_act(stage: Stage) -> None:
    """The tools of the first act in a catalogue, which finds nothing where no tool fits."""
    text = stage.text
    await stage.begin_act(
        text("The same search, in your program", "同じ検索を、自分のプログラムで"),
        text("Described in English, found in 16 languages.", "英語のツールが 16 の言語で見つかります。"),
        code="ToolCatalog(tools).search(question)",
    )
    catalog = ToolCatalog(stage.tools)
    first = {question: [match.name for match in catalog.search(question, limit=1)] for question in _FOR_TOOLS}
    rows = [(question, *(names or [text("(nothing)", "(なし)")])) for question, names in first.items()]
    await stage.tell("table", label="found", columns=(), rows=rows)


async def web_act(stage: Stage) -> None:
    """The documents are indexed in a temporary folder, and searched in two languages."""
    text = stage.text
    await stage.begin_act(
        text("The web, without a key", "キーなしで、ウェブのツール"),
        text("Your own documents, indexed here; or Tavily.", "手元の文書を索引にします。または Tavily で。"),
        code="await choose_provider().search(question)",
    )
    with TemporaryDirectory(prefix="hikidashi-tour-", ignore_cleanup_errors=True) as folder:
        readme, path = Path(folder, "README.md"), Path(folder, "web.db")
        readme.write_text(str(metadata("hikidashi").json["description"]), encoding="utf-8")  # noqa: ASYNC240 - nothing else runs
        index = LocalIndex(path)
        async for _ in ingest(index, list(map(str, stage.documents or [readme]))):
            pass
        passages = index.totals().passages
        index.close()
        async with LocalSearchProvider(path) as provider:
            for question in _FOR_DOCUMENTS if stage.documents else _FOR_DOCUMENTS[:1]:
                await stage.tell("asked", text=question)
                started = time.perf_counter()
                found = await provider.search(question, search_depth="advanced", max_results=3)
                seconds = time.perf_counter() - started
                hits = [
                    {"name": hit.title, "text": plain_text(_LEFT_OUT.sub("", hit.content))} for hit in found.results
                ]
                await stage.tell("found", hits=hits, among=passages, seconds=seconds)


ACTS = (gateway_act, own_tools_act, tool_search_act, web_act)
"""In the order of the tour: the catalogue of the third has the tools that the first has found."""
