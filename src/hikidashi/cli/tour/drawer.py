"""Act three: the tools leave pydantic-ai, and any MCP client can use them."""

from __future__ import annotations

from mcp import Client
from mcp.types import TextContent

from hikidashi import from_pydantic_ai, to_mcp

from .events import ActStarted, Called, Offered, OfferedTool, Returned
from .stage import Stage
from .trip import trip_agent

__all__ = ["any_mcp_client_calls_them"]


async def any_mcp_client_calls_them(stage: Stage, number: int) -> None:
    """The official client, connected in memory, lists the tools and calls one."""
    words = stage.words
    await stage.tell(
        ActStarted(
            number=number,
            title=words.drawer_title,
            about=words.drawer_about,
            code="server = to_mcp(await from_pydantic_ai(agent, deps=diary))",
        )
    )
    server = to_mcp(await from_pydantic_ai(trip_agent(words), deps=stage.diary))
    async with Client(server) as client:
        tools = tuple(
            OfferedTool(
                name=tool.name,
                description=tool.description or "",
                arguments=tuple(tool.input_schema.get("properties", {})),
            )
            for tool in (await client.list_tools()).tools
        )
        await stage.tell(Offered(tools=tools))
        arguments = {"city": words.city, "day": words.sunday}
        await stage.tell(Called(id="1", tool="weather", arguments=arguments))
        result = await client.call_tool("weather", arguments)
        text = "\n".join(block.text for block in result.content if isinstance(block, TextContent))
        outcome = "failed" if result.is_error else "success"
        await stage.tell(Returned(id="1", tool="weather", content=text, outcome=outcome))
