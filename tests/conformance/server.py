"""An MCP server with everything that the conformance suite asks of one, for both eras of the protocol.

Run in the repository's folder:

    python -m tests.conformance.server                  on stdio
    python -m tests.conformance.server --http 8000      on http://127.0.0.1:8000/mcp
    python -m tests.conformance.server --handshake      on stdio, as a server before 2026-07-28
"""

from __future__ import annotations

import argparse
import json
from typing import Any

import anyio
import mcp_types as types
import uvicorn
from mcp import MCPError
from mcp.server import NotificationOptions, Server
from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity
from mcp.server.runner import serve_loop
from mcp.server.stdio import stdio_server
from mcp.server.subscriptions import ListenHandler
from mcp.shared.uri_template import UriTemplate
from tests.conformance.tools import (
    BUS,
    EXTRA_PROMPTS,
    PNG,
    TEXT,
    Asked,
    Context,
    ask,
    call_tool,
    embedded,
    field,
    form,
    list_tools,
)

NAME = "conformance-fixture"
TEMPLATE = "test://template/{id}/data"
SUBSCRIBED: set[str] = set()

# Resources

RESOURCES = [
    types.Resource(uri="test://static-text", name="Text", description="A text.", mime_type="text/plain"),
    types.Resource(uri="test://static-binary", name="Pixel", description="An image.", mime_type="image/png"),
    types.Resource(uri="test://watched-resource", name="Watched", description="May change.", mime_type="text/plain"),
]


async def list_resources(_: Context, __: types.PaginatedRequestParams | None) -> types.ListResourcesResult:
    return types.ListResourcesResult(resources=RESOURCES)


async def list_templates(_: Context, __: types.PaginatedRequestParams | None) -> types.ListResourceTemplatesResult:
    template = types.ResourceTemplate(
        uri_template=TEMPLATE, name="Data", description="Data of an id.", mime_type="application/json"
    )
    return types.ListResourceTemplatesResult(resource_templates=[template])


async def read_resource(_: Context, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
    uri = str(params.uri)
    content: types.TextResourceContents | types.BlobResourceContents
    if uri == "test://static-text":
        text = "This is the content of the static text resource."
        content = types.TextResourceContents(uri=uri, mime_type="text/plain", text=text)
    elif uri == "test://static-binary":
        content = types.BlobResourceContents(uri=uri, mime_type="image/png", blob=PNG)
    elif uri == "test://watched-resource":
        content = types.TextResourceContents(uri=uri, mime_type="text/plain", text="Watched resource content")
    elif (found := UriTemplate.parse(TEMPLATE).match(uri)) is not None:
        data = {"id": found["id"], "templateTest": True, "data": f"Data for ID: {found['id']}"}
        content = types.TextResourceContents(uri=uri, mime_type="application/json", text=json.dumps(data))
    else:
        raise MCPError(types.INVALID_PARAMS, "Resource not found", data={"uri": uri})
    return types.ReadResourceResult(contents=[content])


async def subscribe(_: Context, params: types.SubscribeRequestParams) -> types.EmptyResult:
    SUBSCRIBED.add(str(params.uri))
    return types.EmptyResult()


async def unsubscribe(_: Context, params: types.UnsubscribeRequestParams) -> types.EmptyResult:
    SUBSCRIBED.discard(str(params.uri))
    return types.EmptyResult()


# Prompts


def argument(name: str, description: str) -> types.PromptArgument:
    return types.PromptArgument(name=name, description=description, required=True)


PROMPTS = [
    types.Prompt(name="test_simple_prompt", description="Without arguments."),
    types.Prompt(
        name="test_prompt_with_arguments",
        description="With two arguments.",
        arguments=[argument("arg1", "First test argument"), argument("arg2", "Second test argument")],
    ),
    types.Prompt(
        name="test_prompt_with_embedded_resource",
        description="With a resource.",
        arguments=[argument("resourceUri", "URI of the resource to embed")],
    ),
    types.Prompt(name="test_prompt_with_image", description="With an image."),
    types.Prompt(name="test_input_required_result_prompt", description="Asks the person first."),
]


async def list_prompts(_: Context, __: types.PaginatedRequestParams | None) -> types.ListPromptsResult:
    return types.ListPromptsResult(prompts=[*PROMPTS, *EXTRA_PROMPTS])


async def get_prompt(
    ctx: Context, params: types.GetPromptRequestParams
) -> types.GetPromptResult | types.InputRequiredResult:
    given = params.arguments or {}
    content: list[types.ContentBlock]
    match params.name:
        case "test_simple_prompt":
            content = [types.TextContent(text="This is a simple prompt for testing.")]
        case "test_prompt_with_arguments":
            text = f"Prompt with arguments: arg1='{given.get('arg1')}', arg2='{given.get('arg2')}'"
            content = [types.TextContent(text=text)]
        case "test_prompt_with_embedded_resource":
            content = [
                embedded(given.get("resourceUri", ""), "text/plain", "Embedded resource content for testing."),
                types.TextContent(text="Please process the embedded resource above."),
            ]
        case "test_prompt_with_image":
            content = [
                types.ImageContent(data=PNG, mime_type="image/png"),
                types.TextContent(text="Please analyze the image above."),
            ]
        case "test_input_required_result_prompt":
            wanted = form("What context should the prompt use?", context=TEXT)
            try:
                answer = (await ask(ctx, params, {"user_context": wanted}))["user_context"]
            except Asked as asked:
                return asked.result
            content = [types.TextContent(text=f"Context: {field(answer, 'context')}")]
        case _:
            raise MCPError(types.INVALID_PARAMS, f"Unknown prompt: {params.name}")
    return types.GetPromptResult(messages=[types.PromptMessage(role="user", content=block) for block in content])


async def complete(_: Context, params: types.CompleteRequestParams) -> types.CompleteResult:
    words = [word for word in ("test", "tested", "testing") if word.startswith(params.argument.value)]
    return types.CompleteResult(completion=types.Completion(values=words, total=len(words), has_more=False))


# The server


async def set_level(_: Context, __: types.SetLevelRequestParams) -> types.EmptyResult:
    return types.EmptyResult()


def server() -> Server[Any]:
    """The server."""
    made = Server[Any](
        NAME,
        version="1.0.0",
        instructions="Everything that the conformance suite asks for.",
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=list_resources,
        on_list_resource_templates=list_templates,
        on_read_resource=read_resource,
        on_subscribe_resource=subscribe,
        on_unsubscribe_resource=unsubscribe,
        on_list_prompts=list_prompts,
        on_get_prompt=get_prompt,
        on_completion=complete,
        on_subscriptions_listen=ListenHandler(BUS),
    )
    made.add_request_handler("logging/setLevel", types.SetLevelRequestParams, set_level)
    made.middleware.append(RequestStateBoundary(RequestStateSecurity.ephemeral(), default_audience=NAME))
    return made


def main() -> None:
    """Serve as the command line says."""
    parser = argparse.ArgumentParser(description="An MCP server for the conformance suite.")
    parser.add_argument("--http", type=int, metavar="PORT")
    parser.add_argument("--handshake", action="store_true")
    given = parser.parse_args()
    made = server()
    if given.http:
        uvicorn.run(made.streamable_http_app(), host="127.0.0.1", port=given.http, log_level="warning")
        return

    async def stdio() -> None:
        async with stdio_server() as (read, write):
            options = made.create_initialization_options(NotificationOptions(True, True, True))
            if given.handshake:
                await serve_loop(made, read, write, lifespan_state={}, init_options=options)
            else:
                await made.run(read, write, options)

    anyio.run(stdio)


if __name__ == "__main__":
    main()
