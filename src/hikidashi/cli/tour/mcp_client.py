"""The agent's tools for any MCP client."""

from __future__ import annotations

from mcp import Client
from mcp.types import TextContent

from hikidashi import from_pydantic_ai, to_mcp

from .stage import Stage

__all__ = ["an_mcp_client_calls_the_tools"]


async def an_mcp_client_calls_the_tools(stage: Stage) -> None:
    """The official client, connected in memory, lists the tools and calls one."""
    text, trip = stage.text, stage.trip
    await stage.begin_act(
        text("The same tools, for any MCP client", "同じツールを、どの MCP クライアントにも"),
        text(
            "Nothing is written twice: the official MCP client lists them, and calls one.",
            "書き直しはありません。公式の MCP クライアントが一覧を取り、ひとつ呼びます。",
        ),
        code="server = to_mcp(await from_pydantic_ai(agent, deps=diary))",
    )
    async with Client(to_mcp(await from_pydantic_ai(trip.agent, deps=trip.diary))) as client:
        tools = (await client.list_tools()).tools
        await stage.offer((tool.name, tool.description, tool.input_schema) for tool in tools)
        arguments = {"city": trip.city, "day": trip.sunday}
        await stage.tell("called", id="1", tool="weather", arguments=arguments)
        result = await client.call_tool("weather", arguments)
        content = "\n".join(block.text for block in result.content if isinstance(block, TextContent))
        outcome = "failed" if result.is_error else "success"
        await stage.tell("returned", id="1", tool="weather", content=content, outcome=outcome)
