"""The agent on Claude Code: its tools run by pydantic-ai, then by Claude Code."""

from __future__ import annotations

import time
from collections.abc import AsyncIterable

from pydantic_ai import RunContext
from pydantic_ai.messages import (
    AgentStreamEvent,
    FunctionToolCallEvent,
    FunctionToolResultEvent,
    NativeToolCallPart,
    NativeToolReturnPart,
    PartEndEvent,
    PartStartEvent,
    TextPart,
)

from hikidashi import ClaudeCodeModel
from hikidashi.testing import MessagesServer, call, say, turn

from .stage import Stage
from .trip import Diary

__all__ = ["claude_code_runs_the_tools", "pydantic_ai_runs_the_tools"]


async def pydantic_ai_runs_the_tools(stage: Stage) -> None:
    """Two calls at once, one that is tried again, and deps that the tools change."""
    text, trip = stage.text, stage.trip
    tables = [{"place": trip.place, "day": trip.saturday, "time": time, "people": 2} for time in ("18:00", "18:30")]
    thought = text("I look at the sky and the timetable first.", "まず空模様と時刻表を見ます。")
    answer = text(
        "Rain from three, so take an umbrella. Nozomi 19 leaves at 09:12 and is there at 11:27. "
        "Nishiki was full at six; you have a table at 18:30.",
        "15時から雨なので傘をお持ちください。のぞみ19号が 09:12 発、11:27 着です。"
        "「錦」は18時が満席だったので、18:30 に2名で取りました。",
    )
    script = [
        turn(
            thought,
            call("weather", {"city": trip.city, "day": trip.saturday}),
            call("trains", {"origin": trip.origin, "destination": trip.city, "after": "09:00"}),
        ),
        *(call("book_table", table) for table in tables),
        say(answer),
    ]
    await stage.begin_act(
        text("pydantic-ai runs the tools", "pydantic-ai がツールを実行する"),
        text(
            "Validation, retries and live deps as ever; one CLI process for the whole run.",
            "検証も再試行も deps もいつもの pydantic-ai のまま。CLI は 1 プロセスだけです。",
        ),
        code='model = ClaudeCodeModel("sonnet", tool_execution="agent")',
    )
    question = text(
        "We go to Kyoto on Saturday. How is the weather, which train leaves Tokyo after nine, "
        "and can Nishiki seat two of us at six?",
        "土曜に京都へ行きます。天気と、9時より後に東京を出る列車は? 18時に「錦」を2名で取れますか?",
    )
    async with stage.claude_code(script, "agent") as (model, server):
        await _run(stage, model, server, question)


async def claude_code_runs_the_tools(stage: Stage) -> None:
    """The same agent and diary, its tools registered with the model."""
    text, trip = stage.text, stage.trip
    answer = text(
        "Sunday is clear, 21 degrees. Lunch for two is booked for 12:00.",
        "日曜は一日じゅう晴れ、21度です。「錦」の昼食を 12:00 に2名で予約しました。",
    )
    script = [
        call("weather", {"city": trip.city, "day": trip.sunday}),
        call("book_table", {"place": trip.place, "day": trip.sunday, "time": "12:00", "people": 2}),
        say(answer),
    ]
    await stage.begin_act(
        text("Claude Code runs the tools", "Claude Code がツールを実行する"),
        text(
            "The same agent. An in-process MCP server runs each tool when it is called.",
            "エージェントは同じ。呼ばれたツールはプロセス内の MCP サーバーが実行します。",
        ),
        code="model.set_agent_toolsets(agent._function_toolset, deps=diary)",
    )
    question = text("If Sunday is dry, book us lunch there at noon.", "日曜が晴れなら、同じ店で正午に昼食を予約して。")
    async with stage.claude_code(script, "mcp") as (model, server):
        model.set_agent_toolsets(trip.agent._function_toolset, deps=trip.diary)  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - the name spec 002 gives
        await _run(stage, model, server, question)


async def _run(stage: Stage, model: ClaudeCodeModel, server: MessagesServer, question: str) -> None:
    said: str | None = None

    async def follow(_: RunContext[Diary], events: AsyncIterable[AgentStreamEvent]) -> None:
        nonlocal said
        async for event in events:
            if said is None:  # the first event: Claude Code has sent the tools to the model
                said = ""
                tools = server.requests[0].tools
                await stage.offer((tool["name"], tool.get("description"), tool["input_schema"]) for tool in tools)
            match event:
                case PartEndEvent(part=TextPart(content=said)):
                    pass
                case PartStartEvent(part=NativeToolCallPart() as part) | FunctionToolCallEvent(part=part):
                    if said:
                        await stage.tell("said", text=said)
                        said = ""
                    arguments = part.args_as_dict()
                    await stage.tell("called", id=part.tool_call_id, tool=part.tool_name, arguments=arguments)
                case PartStartEvent(part=NativeToolReturnPart() as part) | FunctionToolResultEvent(part=part):
                    outcome = {"success": "success", "retried": "retry"}.get(part.outcome, "failed")
                    result = {"content": part.model_response_str(), "outcome": outcome}
                    await stage.tell("returned", id=part.tool_call_id, tool=part.tool_name, **result)
                case _:
                    pass

    await stage.tell("asked", text=question)
    started = time.perf_counter()
    with stage.waiting():
        result = await stage.trip.agent.run(question, model=model, deps=stage.trip.diary, event_stream_handler=follow)
        used = {"api_requests": len(server.requests), "seconds": time.perf_counter() - started}
        usage = result.usage
        tokens = {"input_tokens": usage.input_tokens, "output_tokens": usage.output_tokens}
        await stage.tell("answered", text=result.output)
        await stage.tell("diary_read", entries=list(stage.trip.diary.entries))
        await stage.tell("used", **used, **tokens, cost_usd=float(usage.cost or 0))
