"""The tools that the MCP conformance suite calls, for both eras of the protocol."""

from __future__ import annotations

import base64
import json
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import mcp_types as types
from mcp import MCPError
from mcp.server import ServerRequestContext
from mcp.server.subscriptions import InMemorySubscriptionBus
from mcp.shared.message import ServerMessageMetadata
from mcp.shared.subscriptions import PromptsListChanged, ServerEvent, ToolsListChanged
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="  # one pixel
WAV = base64.b64encode(
    b"RIFF\x24\x00\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00\x40\x1f\x00\x00\x80\x3e\x00\x00\x02\x00\x10\x00"
    b"data\x00\x00\x00\x00"
).decode()
PAUSE = 0.05  # seconds between two messages of one call, as the suite asks

Context = ServerRequestContext[Any, Any]
ToolCall = Callable[[Context, types.CallToolRequestParams], Awaitable[types.CallToolResult | types.InputRequiredResult]]

TOOLS: dict[str, tuple[types.Tool, ToolCall]] = {}
EXTRA_TOOLS: list[types.Tool] = []
EXTRA_PROMPTS: list[types.Prompt] = []
BUS = InMemorySubscriptionBus()


# Asking the client, in the way of its revision


class Asked(Exception):  # noqa: N818 - it carries questions, and is no error
    """The client has to answer first (2026-07-28)."""

    def __init__(self, requests: dict[str, types.InputRequest], state: str | None) -> None:
        super().__init__(list(requests))
        self.result = types.InputRequiredResult(input_requests=requests, request_state=state)


async def ask(
    ctx: Context,
    params: types.CallToolRequestParams | types.GetPromptRequestParams,
    requests: dict[str, types.InputRequest],
    *,
    state: str | None = None,
) -> dict[str, Any]:
    """The client's answers to `requests`."""
    if ctx.protocol_version in MODERN_PROTOCOL_VERSIONS:
        given = params.input_responses or {}
        if not set(requests) <= set(given):
            raise Asked(requests, state)
        return {key: given[key] for key in requests}
    related = ServerMessageMetadata(related_request_id=ctx.request_id)
    results: dict[type[Any], type[Any]] = {
        types.ElicitRequest: types.ElicitResult,
        types.CreateMessageRequest: types.CreateMessageResult,
        types.ListRootsRequest: types.ListRootsResult,
    }
    return {
        key: await ctx.session.send_request(request, results[type(request)], metadata=related)
        for key, request in requests.items()
    }


def form(message: str, **properties: Any) -> types.ElicitRequest:
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    return types.ElicitRequest(params=types.ElicitRequestFormParams(message=message, requested_schema=schema))


def prompt_model(text: str, most: int = 100) -> types.CreateMessageRequest:
    message = types.SamplingMessage(role="user", content=types.TextContent(text=text))
    return types.CreateMessageRequest(params=types.CreateMessageRequestParams(messages=[message], max_tokens=most))


def require_sampling(ctx: Context) -> None:
    capabilities = ctx.session.client_capabilities
    if capabilities is None or capabilities.sampling is None:
        raise MCPError(
            types.MISSING_REQUIRED_CLIENT_CAPABILITY,
            "The client did not declare sampling, which this tool needs.",
            data={"requiredCapabilities": {"sampling": {}}},
        )


# Tools


def tool(schema: dict[str, Any] | None = None, name: str | None = None) -> Callable[[ToolCall], ToolCall]:
    """Offer the decorated function as a tool of its docstring; its name is `test_` and the function's unless given."""

    def offer(call: ToolCall) -> ToolCall:
        shown_as = name or f"test_{call.__name__}"
        shown = types.Tool(name=shown_as, description=call.__doc__, input_schema=schema or {"type": "object"})
        TOOLS[shown_as] = (shown, call)
        return call

    return offer


def said(*content: Any) -> types.CallToolResult:
    blocks = [types.TextContent(text=one) if isinstance(one, str) else one for one in content]
    return types.CallToolResult(content=blocks)


def field(answer: types.ElicitResult, name: str) -> Any:
    return (answer.content or {}).get(name)


def answered(answer: types.ElicitResult) -> types.CallToolResult:
    return said(f"Elicitation completed: action={answer.action}, content={json.dumps(answer.content)}")


@tool()
async def simple_text(_: Context, __: types.CallToolRequestParams) -> types.CallToolResult:
    """Say something."""
    return said("This is a simple text response for testing.")


@tool()
async def image_content(_: Context, __: types.CallToolRequestParams) -> types.CallToolResult:
    """Show a pixel."""
    return said(types.ImageContent(data=PNG, mime_type="image/png"))


@tool()
async def audio_content(_: Context, __: types.CallToolRequestParams) -> types.CallToolResult:
    """Play silence."""
    return said(types.AudioContent(data=WAV, mime_type="audio/wav"))


def embedded(uri: str, mime_type: str, text: str) -> types.EmbeddedResource:
    return types.EmbeddedResource(resource=types.TextResourceContents(uri=uri, mime_type=mime_type, text=text))


@tool()
async def embedded_resource(_: Context, __: types.CallToolRequestParams) -> types.CallToolResult:
    """Hand over a resource."""
    return said(embedded("test://embedded-resource", "text/plain", "This is an embedded resource content."))


@tool()
async def multiple_content_types(_: Context, __: types.CallToolRequestParams) -> types.CallToolResult:
    """Answer in three kinds of content."""
    data = json.dumps({"test": "data", "value": 123})
    return said(
        "Multiple content types test:",
        types.ImageContent(data=PNG, mime_type="image/png"),
        embedded("test://mixed-content-resource", "application/json", data),
    )


async def log(ctx: Context, text: str) -> None:
    await ctx.session.send_log_message("info", text, related_request_id=ctx.request_id)  # pyright: ignore[reportDeprecated] - the suite asks for it


@tool()
async def tool_with_logging(ctx: Context, _: types.CallToolRequestParams) -> types.CallToolResult:
    """Write to the log while it works."""
    await log(ctx, "Tool execution started")
    await anyio.sleep(PAUSE)
    await log(ctx, "Tool processing data")
    await anyio.sleep(PAUSE)
    await log(ctx, "Tool execution completed")
    return said("Logged three messages.")


@tool()
async def logging_tool(ctx: Context, _: types.CallToolRequestParams) -> types.CallToolResult:
    """Write one line to the log."""
    await log(ctx, "Only for those who asked for it")
    return said("Logged one message.")


@tool()
async def tool_with_progress(ctx: Context, _: types.CallToolRequestParams) -> types.CallToolResult:
    """Report progress."""
    for done in (0, 50, 100):
        await ctx.session.report_progress(done, 100)
        await anyio.sleep(PAUSE)
    return said("Reported progress.")


@tool()
async def error_handling(_: Context, __: types.CallToolRequestParams) -> types.CallToolResult:
    """Fail."""
    text = types.TextContent(text="This tool intentionally returns an error for testing")
    return types.CallToolResult(content=[text], is_error=True)


@tool({"type": "object", "properties": {"prompt": {"type": "string"}}, "required": ["prompt"]})
async def sampling(ctx: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
    """Ask the client's model."""
    answers = await ask(ctx, params, {"answer": prompt_model((params.arguments or {})["prompt"])})
    return said(f"LLM response: {answers['answer'].content.text}")


@tool({"type": "object", "properties": {"message": {"type": "string"}}, "required": ["message"]})
async def elicitation(ctx: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
    """Ask the person for a name and an address."""
    text = {"type": "string"}
    wanted = form((params.arguments or {})["message"], username=text, email=text)
    answer = (await ask(ctx, params, {"person": wanted}))["person"]
    return said(f"User response: action={answer.action}, content={json.dumps(answer.content)}")


@tool()
async def elicitation_sep1034_defaults(ctx: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
    """Ask with a default of each kind."""
    wanted = form(
        "Please check these values.",
        name={"type": "string", "default": "John Doe"},
        age={"type": "integer", "default": 30},
        score={"type": "number", "default": 95.5},
        status={"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
        verified={"type": "boolean", "default": True},
    )
    return answered((await ask(ctx, params, {"values": wanted}))["values"])


@tool()
async def elicitation_sep1330_enums(ctx: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
    """Ask with each kind of choice."""
    options = ["option1", "option2", "option3"]
    titled = [{"const": f"value{at}", "title": f"{word} Option"} for at, word in enumerate(["First", "Second"], 1)]
    wanted = form(
        "Please choose.",
        untitledSingle={"type": "string", "enum": options},
        titledSingle={"type": "string", "oneOf": titled},
        legacyEnum={
            "type": "string",
            "enum": ["opt1", "opt2", "opt3"],
            "enumNames": ["Option One", "Option Two", "Option Three"],
        },
        untitledMulti={"type": "array", "items": {"type": "string", "enum": options}},
        titledMulti={"type": "array", "items": {"anyOf": titled}},
    )
    return answered((await ask(ctx, params, {"choices": wanted}))["choices"])


@tool()
async def missing_capability(ctx: Context, _: types.CallToolRequestParams) -> types.CallToolResult:
    """Refuse clients without sampling."""
    require_sampling(ctx)
    return said("The client has sampling.")


@tool()
async def streaming_elicitation(ctx: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
    """Ask the person in the middle of a call."""
    await ctx.session.report_progress(1, 2)
    answer = (await ask(ctx, params, {"go_on": form("Go on?", sure={"type": "boolean"})}))["go_on"]
    return answered(answer)


async def changed(ctx: Context, event: ServerEvent) -> None:
    await BUS.publish(event)
    if ctx.protocol_version not in MODERN_PROTOCOL_VERSIONS:
        tools = isinstance(event, ToolsListChanged)
        await (ctx.session.send_tool_list_changed() if tools else ctx.session.send_prompt_list_changed())


@tool()
async def trigger_tool_change(ctx: Context, _: types.CallToolRequestParams) -> types.CallToolResult:
    """Have one tool more."""
    name = f"added_{len(EXTRA_TOOLS) + 1}"
    EXTRA_TOOLS.append(types.Tool(name=name, description="A tool that was added.", input_schema={"type": "object"}))
    await changed(ctx, ToolsListChanged())
    return said(f"Added {name}.")


@tool()
async def trigger_prompt_change(ctx: Context, _: types.CallToolRequestParams) -> types.CallToolResult:
    """Have one prompt more."""
    name = f"added_{len(EXTRA_PROMPTS) + 1}"
    EXTRA_PROMPTS.append(types.Prompt(name=name, description="A prompt that was added."))
    await changed(ctx, PromptsListChanged())
    return said(f"Added {name}.")


TEXT = {"type": "string"}
CONFIRM = {"confirm": form("Please confirm", ok={"type": "boolean"})}


@tool()
async def input_required_result_elicitation(ctx: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
    """Greet the person."""
    answer = (await ask(ctx, params, {"user_name": form("What is your name?", name=TEXT)}))["user_name"]
    return said(f"Hello, {field(answer, 'name')}!")


@tool()
async def input_required_result_sampling(ctx: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
    """Have the client's model name a capital."""
    requests: dict[str, types.InputRequest] = {"capital_question": prompt_model("What is the capital of France?")}
    return said((await ask(ctx, params, requests))["capital_question"].content.text)


@tool()
async def input_required_result_list_roots(ctx: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
    """Name the client's roots."""
    roots = (await ask(ctx, params, {"client_roots": types.ListRootsRequest()}))["client_roots"].roots
    return said("Roots: " + ", ".join(str(root.uri) for root in roots))


@tool()
async def input_required_result_request_state(
    ctx: Context, params: types.CallToolRequestParams
) -> types.CallToolResult:
    """Have a state brought back."""
    await ask(ctx, params, dict(CONFIRM), state="asked")
    kept = params.request_state == "asked" or ctx.protocol_version not in MODERN_PROTOCOL_VERSIONS
    return said("state-ok" if kept else "the state is missing")


@tool()
async def input_required_result_tampered_state(
    ctx: Context, params: types.CallToolRequestParams
) -> types.CallToolResult:
    """Have a state brought back as it was."""
    await ask(ctx, params, dict(CONFIRM), state="sealed")
    return said("The state is whole.")


@tool()
async def input_required_result_multiple_inputs(
    ctx: Context, params: types.CallToolRequestParams
) -> types.CallToolResult:
    """Ask for three things at once."""
    requests: dict[str, types.InputRequest] = {
        "user_name": form("What is your name?", name=TEXT),
        "greeting": prompt_model("Generate a greeting", 50),
        "client_roots": types.ListRootsRequest(),
    }
    answers = await ask(ctx, params, requests, state="all three")
    return said(f"{answers['greeting'].content.text} {len(answers['client_roots'].roots)} roots.")


@tool()
async def input_required_result_multi_round(ctx: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
    """Ask one thing after the other."""
    first: dict[str, types.InputRequest] = {"step1": form("Step 1: What is your name?", name=TEXT)}
    second: dict[str, types.InputRequest] = {"step2": form("Step 2: What is your favorite color?", color=TEXT)}
    state = json.loads(params.request_state or "{}")
    if "name" not in state:
        state["name"] = field((await ask(ctx, params, first, state="{}"))["step1"], "name")
    colour = field((await ask(ctx, params, second, state=json.dumps(state)))["step2"], "color")
    return said(f"{state['name']} likes {colour}.")


@tool()
async def input_required_result_capabilities(ctx: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
    """Ask only for what the client can give."""
    can = ctx.session.client_capabilities or types.ClientCapabilities()
    requests: dict[str, types.InputRequest] = {}
    if can.elicitation is not None:
        requests["user_name"] = form("What is your name?", name=TEXT)
    if can.sampling is not None:
        requests["greeting"] = prompt_model("Generate a greeting", 50)
    await ask(ctx, params, requests)
    return said(f"Asked for {', '.join(requests) or 'nothing'}.")


@tool({"type": "object", "properties": {"region": {"type": "string", "x-mcp-header": "Region"}}})
async def header_parameter(_: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
    """Take an argument that travels in a header, too."""
    return said(f"Region: {(params.arguments or {}).get('region')}")


@tool(
    {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {"address": {"$anchor": "addressDef", "type": "object", "properties": {"street": TEXT, "city": TEXT}}},
        "properties": {
            "name": TEXT,
            "address": {"$ref": "#/$defs/address"},
            "contactMethod": {"type": "string", "enum": ["phone", "email"]},
            "phone": TEXT,
            "email": TEXT,
        },
        "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
        "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
        "then": {"required": ["phone"]},
        "else": {"required": ["email"]},
        "additionalProperties": False,
    },
    name="json_schema_2020_12_tool",
)
async def json_schema_2020_12_tool(_: Context, __: types.CallToolRequestParams) -> types.CallToolResult:
    """Take arguments that need all of JSON Schema."""
    return said("ok")


async def call_tool(
    ctx: Context, params: types.CallToolRequestParams
) -> types.CallToolResult | types.InputRequiredResult:
    if params.name not in TOOLS:
        raise MCPError(types.INVALID_PARAMS, f"Unknown tool: {params.name}")
    try:
        return await TOOLS[params.name][1](ctx, params)
    except Asked as asked:
        return asked.result


async def list_tools(_: Context, __: types.PaginatedRequestParams | None) -> types.ListToolsResult:
    return types.ListToolsResult(tools=[*(shown for shown, _ in TOOLS.values()), *EXTRA_TOOLS])
