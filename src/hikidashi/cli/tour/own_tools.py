"""Your own tools: a pydantic-ai agent on Claude Code, and the same tools for any MCP client."""

from __future__ import annotations

from mcp import Client
from pydantic_ai import Agent, ModelRetry, RunContext

from hikidashi import from_pydantic_ai, to_mcp
from hikidashi.testing import call, say

from .stage import Stage

__all__ = ["own_tools_act"]

Diary = list[str]


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
