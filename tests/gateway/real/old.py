"""Programs for the environment with `mcp` before 2: a server and a client, as people wrote them then."""

from __future__ import annotations

OLD_SERVER = '''
import sys

from mcp.server.fastmcp import Context, FastMCP
from mcp.types import SamplingMessage, TextContent, ToolAnnotations
from pydantic import BaseModel

kind = sys.argv[1] if len(sys.argv) > 1 else "stdio"
server = FastMCP("old", instructions="A server of yesterday.", port=int(sys.argv[2]) if kind != "stdio" else 0)


class Colour(BaseModel):
    colour: str


@server.tool(annotations=ToolAnnotations(readOnlyHint=True, title="A sum"), meta={"example.com/kept": 1})
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@server.tool()
async def choose(context: Context) -> str:
    """Ask the person for a colour."""
    answer = await context.elicit("Which colour?", Colour)
    return f"{answer.action}: {answer.data.colour if answer.action == 'accept' else None}"


@server.tool()
async def think(context: Context, about: str) -> str:
    """Have the client's model think."""
    question = SamplingMessage(role="user", content=TextContent(type="text", text=about))
    return (await context.session.create_message([question], max_tokens=10)).content.text


@server.tool()
async def where(context: Context) -> str:
    """Name the roots of the client."""
    return ", ".join(str(root.uri) for root in (await context.session.list_roots()).roots)


@server.tool()
async def count(context: Context) -> str:
    """Count to three."""
    for done in (1, 2, 3):
        await context.report_progress(done, 3, f"at {done}")
        await context.info(f"counted {done}")
    return "three"


@server.tool()
def fail() -> str:
    """Fail."""
    raise ValueError("no such drawer")


@server.resource("note://old/{name}")
def note(name: str) -> str:
    """A note."""
    return f"note of {name}"


@server.prompt()
def greet(name: str) -> str:
    """Greet somebody."""
    return f"Hello {name}"


server.run({"stdio": "stdio", "http": "streamable-http", "sse": "sse"}[kind])
'''

# Takes where to connect to and what to do as JSON, and prints what it got: see `Visit`.
OLD_CLIENT = """
import asyncio, json, sys

from mcp import ClientSession, McpError, StdioServerParameters, types
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamablehttp_client

given = json.load(sys.stdin)
asked, progress, logged = [], [], []


def plain(model):
    return model.model_dump(mode="json", by_alias=True, exclude_none=True)


async def elicit(_, params):
    asked.append(plain(params))
    return types.ElicitResult(**given["elicit"])


async def sample(_, params):
    asked.append(plain(params))
    return types.CreateMessageResult(**given["sample"])


async def roots(_):
    return types.ListRootsResult(roots=given["roots"])


async def log(params):
    logged.append(plain(params))


async def report(done, total, message):
    progress.append([done, total, message])


async def one(session, method, arguments):
    if method == "call_tool":
        return await session.call_tool(*arguments, progress_callback=report)
    if method == "complete":
        reference, argument = arguments
        kind = types.PromptReference if reference["type"] == "ref/prompt" else types.ResourceTemplateReference
        return await session.complete(kind(**reference), argument)
    return await getattr(session, method)(*arguments)


async def main():
    if "url" in given:
        transport = streamablehttp_client(given["url"])
    else:
        transport = stdio_client(StdioServerParameters(**given["stdio"]))
    async with transport as (read, write, *_), ClientSession(
        read, write, elicitation_callback=elicit, sampling_callback=sample, list_roots_callback=roots,
        logging_callback=log,
    ) as session:
        revision = (await session.initialize()).protocolVersion
        results = {}
        for name, (method, *arguments) in given["steps"].items():
            try:
                results[name] = plain(await one(session, method, arguments))
            except McpError as error:
                results[name] = {"error": plain(error.error)}
    print(json.dumps({"results": results, "asked": asked, "progress": progress, "logged": logged,
                      "revision": revision}))

asyncio.run(main())
"""
