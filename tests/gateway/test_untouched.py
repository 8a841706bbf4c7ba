"""What passes through the gateway is what the server sent: compared with a direct connection, for every revision."""

from __future__ import annotations

import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

import anyio
import pytest
from mcp import MCPError, types
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from pydantic import TypeAdapter
from tests.gateway.servers import free_port, program
from tests.gateway.test_gateway import MODES, Mode, connected, text_of

from hikidashi.servers.config import McpServer

RICH = r"""
import json, sys

ICONS = [{"src": "data:image/png;base64,AA==", "mimeType": "image/png", "sizes": ["48x48"]}]
ABOUT = {"audience": ["user"], "priority": 0.5, "lastModified": "2026-01-01T00:00:00Z"}
META = {"example.com/any": {"deep": [1, None, "x"]}}
PAGES = [
    [{"name": "all", "title": "Everything", "description": "All kinds.", "icons": ICONS, "_meta": META,
      "inputSchema": {"type": "object", "properties": {"region": {"type": "string", "x-mcp-header": "Region",
                                                                  "default": None}},
                      "$defs": {"a": {"enum": [1, None]}}, "additionalProperties": False},
      "outputSchema": {"type": "object", "properties": {"n": {"type": "integer"}}},
      "annotations": {"title": "T", "readOnlyHint": True, "destructiveHint": False, "idempotentHint": True,
                      "openWorldHint": False}}],
    [{"name": "fails", "inputSchema": {"type": "object"}}, {"name": "refuses", "inputSchema": {"type": "object"}}],
    [{"name": "counts", "inputSchema": {"type": "object"}}],
]
RESULT = {
    "content": [
        {"type": "text", "text": "a", "annotations": ABOUT, "_meta": META},
        {"type": "image", "data": "AA==", "mimeType": "image/png", "annotations": ABOUT},
        {"type": "audio", "data": "AA==", "mimeType": "audio/wav", "_meta": META},
        {"type": "resource_link", "uri": "note://one", "name": "one", "title": "One", "size": 3, "icons": ICONS,
         "mimeType": "text/plain", "annotations": ABOUT, "_meta": META},
        {"type": "resource", "resource": {"uri": "note://one", "text": "hi", "mimeType": "text/plain", "_meta": META}},
        {"type": "resource", "resource": {"uri": "note://two", "blob": "AA=="}, "annotations": ABOUT},
    ],
    "structuredContent": {"n": 1, "list": [None, {"a": 0.5}], "text": "\u3042\U0001f600"},
    "_meta": META,
}
RESOURCES = [{"uri": "note://one", "name": "one", "title": "One", "description": "d", "mimeType": "text/plain",
              "size": 3, "annotations": ABOUT, "icons": ICONS, "_meta": META}]
TEMPLATES = [{"uriTemplate": "note://{name}", "name": "notes", "title": "Notes", "annotations": ABOUT, "icons": ICONS,
              "_meta": META}]
PROMPTS = [{"name": "greet", "title": "Greet", "description": "d", "icons": ICONS, "_meta": META,
            "arguments": [{"name": "who", "title": "Who", "description": "d", "required": True}]}]

def send(message):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()

for line in sys.stdin:
    message = json.loads(line)
    method, asked, params = message.get("method"), message.get("id"), message.get("params") or {}
    name = params.get("name")
    result = error = None
    if method == "initialize":
        result = {"protocolVersion": "2025-11-25", "serverInfo": {"name": "rich", "version": "1"},
                  "instructions": "Use it.", "capabilities": {"tools": {}, "resources": {}, "prompts": {},
                  "completions": {}, "logging": {}}}
    elif method == "tools/list":
        page = int(params.get("cursor", 0))
        result = {"tools": PAGES[page], **({"nextCursor": str(page + 1)} if page + 1 < len(PAGES) else {})}
    elif method == "resources/list":
        result = {"resources": RESOURCES}
    elif method == "resources/templates/list":
        result = {"resourceTemplates": TEMPLATES}
    elif method == "prompts/list":
        result = {"prompts": PROMPTS}
    elif method == "resources/read" and params["uri"] == "note://none":
        error = {"code": -32002, "message": "Not here", "data": {"uri": params["uri"]}}
    elif method == "resources/read":
        result = {"contents": [{"uri": params["uri"], "text": "hi", "mimeType": "text/plain", "_meta": META},
                               {"uri": params["uri"], "blob": "AA=="}], "_meta": META}
    elif method == "prompts/get":
        result = {"description": "d", "_meta": META, "messages": [
            {"role": "user", "content": RESULT["content"][0]}, {"role": "assistant", "content": RESULT["content"][4]}]}
    elif method == "completion/complete":
        result = {"completion": {"values": [params["argument"]["value"] + "x", str(params.get("context"))],
                                 "total": 7, "hasMore": True}}
    elif method == "tools/call" and name == "all":
        result = {**RESULT, "structuredContent": {**RESULT["structuredContent"], "given": params["arguments"]}}
    elif method == "tools/call" and name == "fails":
        result = {"content": [{"type": "text", "text": "no"}], "isError": True, "_meta": META}
    elif method == "tools/call" and name == "refuses":
        error = {"code": -32099, "message": "Refused", "data": {"why": [1]}}
    elif method == "tools/call" and name == "counts":
        for done in (1, 2.5):
            send({"method": "notifications/progress", "params": {"progressToken": params["_meta"]["progressToken"],
                  "progress": done, "total": 3, "message": f"at {done}"}})
        result = {"content": []}
    elif asked is not None:
        error = {"code": -32601, "message": "Method not found"}
    if asked is not None:
        send({"id": asked, **({"error": error} if error else {"result": result})})
"""

RAW: Any = TypeAdapter(dict[str, Any])
SERVER_INFO = "io.modelcontextprotocol/serverInfo"


@pytest.fixture
def rich(tmp_path: Path) -> McpServer:
    return program(tmp_path, "rich", RICH)


async def everything(client: Client, prefix: str) -> dict[str, Any]:
    """All that a client can get of the server, as JSON."""
    reported: list[Any] = []

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        reported.append((progress, total, message))

    async def get(request: Any) -> Any:
        try:
            return await client.session.send_request(request, RAW)
        except MCPError as error:
            return error.error.model_dump()

    def call(name: str) -> types.CallToolRequest:
        given: dict[str, Any] = {"null": None, "deep": [{"null": None, "number": 1.0}], "empty": {}}
        return types.CallToolRequest(params=types.CallToolRequestParams(name=prefix + name, arguments=given))

    def read(uri: str) -> types.ReadResourceRequest:
        return types.ReadResourceRequest(params=types.ReadResourceRequestParams(uri=uri))

    def complete(ref: types.PromptReference | types.ResourceTemplateReference) -> types.CompleteRequest:
        argument = types.CompletionArgument(name="who", value="b")
        context = types.CompletionContext(arguments={"a": "1"})
        return types.CompleteRequest(params=types.CompleteRequestParams(ref=ref, argument=argument, context=context))

    found: dict[str, Any] = {name: await get(call(name)) for name in ("all", "fails", "refuses")}
    await client.call_tool(prefix + "counts", {}, progress_callback=on_progress)
    tools: list[types.Tool] = []
    cursor: str | None = None
    while True:
        page = await client.list_tools(cursor=cursor)
        tools += page.tools
        cursor = page.next_cursor
        if cursor is None:
            break
    prompt = types.GetPromptRequestParams(name=prefix + "greet", arguments={"who": "Bo"})
    found |= {
        "tools": [tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in tools],
        "resources": (await get(types.ListResourcesRequest())).get("resources"),
        "templates": (await get(types.ListResourceTemplatesRequest())).get("resourceTemplates"),
        "prompts": (await get(types.ListPromptsRequest())).get("prompts"),
        "read": await get(read("note://one")),
        "read by template": await get(read("note://other")),
        "not there": await get(read("note://none")),
        "prompt": await get(types.GetPromptRequest(params=prompt)),
        "completion": await get(complete(types.PromptReference(name=prefix + "greet"))),
        "completion of a template": await get(complete(types.ResourceTemplateReference(uri="note://{name}"))),
        "progress": reported,
    }
    return found


def as_direct(value: Any) -> Any:
    """`value` without what is the gateway's own: the prefix of names, and the fields of 2026-07-28."""
    if isinstance(value, list):
        return [as_direct(one) for one in cast("list[Any]", value)]
    if not isinstance(value, dict):
        return value
    own = {"resultType", "ttlMs", "cacheScope", SERVER_INFO}
    rest = {key: as_direct(one) for key, one in cast("dict[str, Any]", value).items() if key not in own}
    if isinstance(name := rest.get("name"), str):
        rest["name"] = name.removeprefix("rich__")
    return {key: one for key, one in rest.items() if (key, one) != ("_meta", {})}


@pytest.mark.parametrize("mode", MODES)
async def test_everything_of_an_older_server_passes_unchanged(mode: Mode, rich: McpServer) -> None:
    direct = stdio_client(StdioServerParameters(command=rich.command or "", args=list(rich.args)))
    async with Client(direct) as client:
        expected = await everything(client, "")
    async with connected([rich], mode) as (client, _):
        got = await everything(client, "rich__")

    assert expected["all"]["content"][0]["_meta"]["example.com/any"] == {"deep": [1, None, "x"]}
    assert expected["all"]["structuredContent"]["given"]["null"] is None
    assert [tool["name"] for tool in expected["tools"]] == ["all", "fails", "refuses", "counts"]
    assert as_direct(got) == as_direct(expected)


async def test_a_read_of_an_older_server_is_never_shared_between_clients(rich: McpServer) -> None:
    async with connected([rich]) as (client, _):
        read = await client.session.send_request(
            types.ReadResourceRequest(params=types.ReadResourceRequestParams(uri="note://one")), RAW
        )
        tools = await client.session.send_request(types.ListToolsRequest(), RAW)
    assert (read["ttlMs"], read["cacheScope"]) == (0, "private")
    assert tools["cacheScope"] == "private"


HEADERS = '''
import json, sys
from mcp.server.mcpserver import Context, MCPServer
from pydantic import Field
from typing import Annotated

server = MCPServer("modern")

@server.tool()
def where(region: Annotated[str, Field(json_schema_extra={"x-mcp-header": "Region"})], context: Context) -> str:
    """Tell the headers of this call."""
    return json.dumps(dict(context.request_context.request.headers))

server.run("streamable-http", port=int(sys.argv[1]))
'''


@asynccontextmanager
async def headers_server(folder: Path) -> AsyncGenerator[McpServer]:
    """A server over HTTP with a tool that returns the headers of its request."""
    path, port = folder / "headers.py", free_port()
    path.write_text(HEADERS)
    process = await anyio.open_process([sys.executable, str(path), str(port)])
    try:
        with anyio.fail_after(60):
            while True:
                try:
                    await (await anyio.connect_tcp("127.0.0.1", port)).aclose()
                    break
                except OSError:
                    await anyio.sleep(0.02)
        yield McpServer(name="modern", transport="http", url=f"http://127.0.0.1:{port}/mcp")
    finally:
        process.terminate()
        await process.wait()


@pytest.mark.parametrize("mode", MODES)
async def test_an_argument_that_is_a_header_reaches_a_modern_server_as_both(mode: Mode, tmp_path: Path) -> None:
    async with headers_server(tmp_path) as server, connected([server], mode, search="on") as (client, gateway):
        given = {"name": "modern__where", "arguments": {"region": "eu-1"}}
        result = text_of(await client.call_tool("call_tool", given))
        listing = gateway.upstreams["modern"].listing
    assert '"mcp-param-region": "eu-1"' in result
    assert '"mcp-name": "where"' in result
    assert listing is not None
    assert listing.tools[0].input_schema["properties"]["region"]["x-mcp-header"] == "Region"
