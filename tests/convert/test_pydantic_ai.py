"""pydantic-ai tools and toolsets, in and out."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

import pytest
from mcp import Client, StdioServerParameters
from pydantic import BaseModel, ValidationError
from pydantic_ai import (
    Agent,
    ApprovalRequired,
    AudioUrl,
    BinaryContent,
    BinaryImage,
    CallDeferred,
    DocumentUrl,
    FunctionToolset,
    ImageUrl,
    ModelMessage,
    ModelResponse,
    ModelRetry,
    RunContext,
    TextContent,
    TextPart,
    ToolCallPart,
    ToolFailed,
    ToolReturn,
    ToolReturnPart,
    UploadedFile,
    VideoUrl,
)
from pydantic_ai import Tool as PydanticTool
from pydantic_ai.mcp import MCPToolset
from pydantic_ai.messages import CachePoint
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.models.test import TestModel
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.toolsets import AbstractToolset, CombinedToolset, DynamicToolset, ExternalToolset
from pydantic_ai.usage import RunUsage

from hikidashi import (
    Tool,
    ToolAnnotations,
    ToolResult,
    ToolValidationError,
    Unsupported,
    from_function,
    from_mcp,
    from_pydantic_ai,
    to_mcp,
    to_pydantic_ai,
)
from hikidashi.convert.pydantic_ai import from_block, from_result, to_result
from hikidashi.convert.wire import PYDANTIC_AI_META
from hikidashi.tool import audio, current_call_id, image, resource, text

PNG = b"\x89PNG"


class Place(BaseModel):
    city: str


def visit(place: Place, days: int = 1) -> str:
    """Go there."""
    return f"{place!r} {days}"


def tool_returning(value: Any) -> Tool:
    return from_pydantic_ai(PydanticTool(lambda: value, name="give"))


async def value_in_an_agent(tool: Tool) -> Any:
    """What an agent's run keeps of a call to `tool` without arguments."""

    def model(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        asked = any(isinstance(message, ModelResponse) for message in messages)
        return ModelResponse([TextPart("done")] if asked else [ToolCallPart(tool.name, {})])

    run = await Agent(FunctionModel(model), toolsets=[to_pydantic_ai([tool])]).run("go")
    (part,) = (part for message in run.all_messages() for part in message.parts if isinstance(part, ToolReturnPart))
    return part


# In: definitions


def test_a_tool_keeps_its_definition() -> None:
    source = PydanticTool(visit)
    tool = from_pydantic_ai(source)
    assert (tool.name, tool.description) == ("visit", "Go there.")
    assert tool.input_schema == source.tool_def.parameters_json_schema


def test_no_description_is_an_empty_one() -> None:
    assert tool_returning(1).description == ""


def test_what_has_no_place_in_a_neutral_tool_comes_back_to_pydantic_ai() -> None:
    source = PydanticTool(
        visit,
        strict=True,
        sequential=True,
        timeout=3,
        defer_loading=True,
        include_return_schema=True,
        metadata={"team": "maps", "annotations": {"readOnlyHint": True}, "meta": {"a/b": 1}},
    )
    tool = from_pydantic_ai(source)
    assert (tool.defer_loading, tool.annotations.read_only, tool.metadata["a/b"]) == (True, True, 1)
    assert definition_of(tool) == source.tool_def


def definition_of(tool: Tool) -> ToolDefinition:
    toolset = to_pydantic_ai([tool], id="mine")
    assert toolset.id == "mine"
    return asyncio.run(toolset.get_tools(context()))[tool.name].tool_def


def context(*, deps: Any = None, max_retries: int = 0) -> RunContext[Any]:
    return RunContext(deps=deps, model=TestModel(), usage=RunUsage(), max_retries=max_retries)


def test_a_tool_that_returns_a_result_or_a_file_promises_no_structure() -> None:
    def result() -> ToolResult: ...
    def picture() -> BinaryImage: ...
    def link() -> DocumentUrl: ...
    def place() -> Place: ...

    tools = from_pydantic_ai([result, picture, link, place])
    assert [tool.output_schema is None for tool in tools] == [True, True, True, False]
    assert [definition_of(tool).return_schema for tool in tools][1:] == [
        PydanticTool(function).tool_def.return_schema for function in (picture, link, place)
    ]


def test_aliases_title_and_output_schema_survive_the_round_trip() -> None:
    def find() -> Place: ...

    first = from_function(find, aliases=["search"], annotations=ToolAnnotations(title="Find"), metadata={"k": 1})
    definition = definition_of(first)
    assert definition.return_schema == first.output_schema
    again = from_pydantic_ai(to_pydantic_ai([first]))
    (second,) = asyncio.run(listing(again))
    assert replace(second, call=first.call) == first


async def listing(tools: Any) -> list[Tool]:
    return await tools


def test_a_prepare_function_sees_the_deps_and_changes_the_definition() -> None:
    async def prepare(ctx: RunContext[str], definition: ToolDefinition) -> ToolDefinition | None:
        return replace(definition, description=ctx.deps) if ctx.deps else None

    source = PydanticTool(visit, prepare=prepare)
    assert from_pydantic_ai(source, deps="For Ada.").description == "For Ada."
    assert list(from_pydantic_ai([source, PydanticTool(tell)], deps="")) != []
    with pytest.raises(Unsupported, match="'visit', because its `prepare` leaves it out"):
        from_pydantic_ai(source, deps="")


async def test_a_prepare_function_that_waits_needs_an_await() -> None:
    async def prepare(ctx: RunContext[Any], definition: ToolDefinition) -> ToolDefinition:
        await asyncio.sleep(0)
        return definition

    toolset = FunctionToolset[Any]([PydanticTool(visit, prepare=prepare)])
    with pytest.raises(Unsupported, match="Use `await from_pydantic_ai"):
        list(from_pydantic_ai(toolset))
    assert [tool.name for tool in await from_pydantic_ai(toolset)] == ["visit"]


# In: which sources, and how


async def tell(ctx: RunContext[str], times: int = 1) -> str:
    """Tell a secret."""
    return f"{ctx.deps * times} {ctx.tool_name} {ctx.retry}/{ctx.max_retries} {bool(ctx.tool_call_id)}"


async def test_a_tool_with_context_gets_deps_its_name_and_an_id() -> None:
    tool = from_pydantic_ai(PydanticTool(tell, max_retries=4), deps="psst")
    assert (await tool.call({})).text == "psst tell 0/4 True"


async def test_the_id_of_the_call_comes_from_the_target() -> None:
    def which(ctx: RunContext[Any]) -> str | None:
        return ctx.tool_call_id

    tool = from_pydantic_ai(PydanticTool(which))
    token = current_call_id.set("toolu_7")
    try:
        assert (await tool.call({})).text == "toolu_7"
    finally:
        current_call_id.reset(token)
    assert (await tool.call({})).text != (await tool.call({})).text


async def test_retries_are_counted_until_a_call_succeeds() -> None:
    def stubborn(ctx: RunContext[Any], ok: bool) -> int:
        if not ok:
            raise ModelRetry(f"{ctx.retry}")
        return ctx.retry

    tool = from_pydantic_ai(PydanticTool(stubborn))
    calls = [(await tool.call({"ok": ok})).text for ok in (False, False, True, True)]
    assert calls == ["0", "1", "2", "0"]


async def test_a_context_of_ones_own_is_used() -> None:
    tool = from_pydantic_ai(PydanticTool(tell), ctx=context(deps="mine", max_retries=9))
    assert (await tool.call({})).text == "mine tell 0/9 True"


async def test_outside_of_a_run_there_is_no_model_to_ask() -> None:
    async def ask(ctx: RunContext[Any]) -> str:
        return str((await Agent(cast("Any", ctx.model)).run("hello")).output)

    def name(ctx: RunContext[Any]) -> str:
        return f"{ctx.model.system}:{ctx.model.model_name}"

    with pytest.raises(Unsupported, match=r"a request to `ctx.model`.*Pass `ctx=`"):
        await from_pydantic_ai(PydanticTool(ask)).call({})
    assert (await from_pydantic_ai(PydanticTool(name)).call({})).text == "hikidashi:none"


async def test_functions_tools_toolsets_and_agents_mix_in_one_list() -> None:
    agent = Agent("test", tools=[PydanticTool(visit, name="from_agent")])
    tools = await from_pydantic_ai(
        [visit, PydanticTool(tell), FunctionToolset([PydanticTool(visit, name="third")]), agent]
    )
    assert [tool.name for tool in tools] == ["visit", "tell", "third", "from_agent"]


async def test_toolsets_alone_mix_too_and_an_empty_one_asks_for_no_approval() -> None:
    nothing = FunctionToolset[Any]().approval_required()
    assert [tool.name for tool in await from_pydantic_ai([nothing, FunctionToolset([visit])])] == ["visit"]


def test_a_list_of_functions_is_a_list_of_tools_at_once() -> None:
    tools = from_pydantic_ai([visit, tell])
    assert ([tool.name for tool in tools], tools[0].name, [tool.name for tool in tools[1:]]) == (
        ["visit", "tell"],
        "visit",
        ["tell"],
    )
    assert list(from_pydantic_ai([])) == []


@pytest.mark.parametrize("source", [visit, "visit", None])
def test_what_is_no_source_is_told(source: Any) -> None:
    with pytest.raises(ToolValidationError, match=r"takes a `pydantic_ai\.Tool`, a toolset, an agent"):
        from_pydantic_ai(source)


def test_an_agent_with_functions_only_is_listed_at_once() -> None:
    assert [tool.name for tool in from_pydantic_ai(Agent("test", tools=[visit]))] == ["visit"]


def test_a_toolset_that_cannot_be_listed_at_once_says_how() -> None:
    tools = from_pydantic_ai(CombinedToolset([FunctionToolset([visit])]))
    assert repr(tools) == "<tools of CombinedToolset(FunctionToolset)>"
    with pytest.raises(Unsupported, match="async with from_pydantic_ai"):
        len(tools)


async def test_an_mcp_server_must_stay_open() -> None:
    toolset = MCPToolset[Any](to_mcp([from_function(lambda: "pong", name="ping")]), id="pinger")
    with pytest.raises(Unsupported, match=r"'pinger', which must stay open.*`async with from_pydantic_ai"):
        await from_pydantic_ai(toolset.prefixed("my"))
    async with from_pydantic_ai(toolset.prefixed("my")) as (tool,):
        assert (tool.name, (await tool.call({})).text) == ("my_ping", "pong")
    assert not toolset.is_running
    async with toolset:
        (tool,) = await from_pydantic_ai(toolset)
        assert (await tool.call({})).text == "pong"


async def test_a_dynamic_toolset_is_made_for_the_deps() -> None:
    toolset = DynamicToolset[str](lambda ctx: FunctionToolset([visit]) if ctx.deps == "Ada" else None)
    async with from_pydantic_ai(toolset, deps="Ada") as tools:
        assert [tool.name for tool in tools] == ["visit"]
        assert not (await tools[0].call({"place": {"city": "Rome"}})).is_error
    async with from_pydantic_ai(toolset, deps="Bob") as tools:
        assert tools == []


async def test_a_toolset_that_fails_to_list_is_closed_again() -> None:
    @dataclass
    class Broken(FunctionToolset[Any]):
        closed: bool = False

        async def get_tools(self, ctx: RunContext[Any]) -> Any:
            raise LookupError("no tools")

        async def __aexit__(self, *args: object) -> None:
            self.closed = True

    toolset = Broken()
    with pytest.raises(LookupError):
        async with from_pydantic_ai(toolset):
            pass
    assert toolset.closed


def test_renamed_and_prepared_toolsets_are_respected() -> None:
    base = FunctionToolset[Any]([visit])

    def shout(_: RunContext[Any], tools: list[ToolDefinition]) -> list[ToolDefinition]:
        return [replace(tool, description="GO") for tool in tools]

    (tool,) = asyncio.run(listing(from_pydantic_ai(base.renamed({"go": "visit"}).prepared(shout))))
    assert (tool.name, tool.description) == ("go", "GO")
    assert asyncio.run(listing_call(tool)).text == "Place(city='Rome') 1"


async def listing_call(tool: Tool) -> ToolResult:
    return await tool.call({"place": {"city": "Rome"}})


# In: what cannot be run elsewhere


GUARDED = PydanticTool(visit, requires_approval=True)


@pytest.mark.parametrize(
    "source",
    [
        FunctionToolset[Any]([GUARDED]),
        FunctionToolset[Any]([visit]).approval_required(),
        CombinedToolset[Any]([FunctionToolset[Any]([visit]).approval_required().prefixed("a").prefixed("b")]),
    ],
    ids=["requires_approval", "approval_required", "deep inside"],
)
async def test_approval_is_refused_until_the_other_side_asks_for_it(source: AbstractToolset[Any]) -> None:
    with pytest.raises(Unsupported, match=r"'visit', which needs approval.*`approved=True`"):
        await from_pydantic_ai(source)
    (tool,) = await from_pydantic_ai(source, approved=True)
    assert (await listing_call(tool)).text == "Place(city='Rome') 1"


def test_a_single_tool_that_needs_approval_is_refused() -> None:
    with pytest.raises(Unsupported, match="needs approval"):
        from_pydantic_ai(GUARDED)


async def test_external_tools_are_refused_by_name() -> None:
    with pytest.raises(Unsupported, match=r"'far', which is run outside of pydantic-ai.*from_function"):
        await from_pydantic_ai(ExternalToolset([ToolDefinition(name="far")]))


@pytest.mark.parametrize(
    ("raised", "words"), [(ApprovalRequired(), "needs approval"), (CallDeferred(), "deferred its call")]
)
async def test_a_tool_that_defers_when_called_is_refused_then(raised: Exception, words: str) -> None:
    def defer() -> str:
        raise raised

    with pytest.raises(Unsupported, match=words):
        await from_pydantic_ai(PydanticTool(defer)).call({})


# In: calls


async def test_models_arrive_as_models() -> None:
    assert (
        await from_pydantic_ai(PydanticTool(visit)).call({"place": {"city": "Rome"}})
    ).text == "Place(city='Rome') 1"


async def test_the_text_about_bad_arguments_is_the_one_an_agent_gives() -> None:
    arguments: dict[str, Any] = {"place": {}, "days": "many"}

    def model(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        asked = any(isinstance(message, ModelResponse) for message in messages)
        return ModelResponse([TextPart("done")] if asked else [ToolCallPart("visit", arguments)])

    run = await Agent(FunctionModel(model), tools=[visit]).run("go")
    (part,) = (part for message in run.all_messages() for part in message.parts if isinstance(part, ToolReturnPart))
    result = await from_pydantic_ai(PydanticTool(visit)).call(arguments)
    assert result == ToolResult.error(part.model_response_str(wrap_if_error=False))
    assert "Field required" in result.text


async def no_rome(ctx: RunContext[Any], place: Place, days: int = 1) -> None:
    if place.city == "Rome":
        raise ModelRetry("Not Rome again.")


def no_weeks(ctx: RunContext[Any], place: Place, days: int = 1) -> None:
    if days > 6:
        raise ToolFailed("Too long.")


@pytest.mark.parametrize(
    ("validator", "arguments", "said"),
    [
        (no_rome, {"place": {"city": "Rome"}}, "Not Rome again."),
        (no_weeks, {"place": {"city": "Bonn"}, "days": 7}, "Too long."),
        (no_weeks, {"place": {"city": "Bonn"}}, "Place(city='Bonn') 1"),
    ],
)
async def test_a_validator_of_the_tools_own_has_its_say(
    validator: Callable[..., Any], arguments: dict[str, Any], said: str
) -> None:
    result = await from_pydantic_ai(PydanticTool(visit, args_validator=validator)).call(arguments)
    assert result.text == said


async def test_other_exceptions_are_raised_even_validation_errors_of_the_body() -> None:
    def parse() -> Place:
        return Place.model_validate({})

    with pytest.raises(ValidationError):
        await from_pydantic_ai(PydanticTool(parse)).call({})


async def test_a_timeout_is_told_to_the_model() -> None:
    async def wait() -> None:
        await asyncio.Event().wait()

    result = await from_pydantic_ai(PydanticTool(wait, timeout=0.01)).call({})
    assert (result.is_error, result.text) == (True, "Timed out after 0.01 seconds.")


async def test_a_failure_that_is_final_stays_final() -> None:
    def fail() -> str:
        raise ToolFailed("Gone for good.")

    part = await value_in_an_agent(from_pydantic_ai(PydanticTool(fail)))
    assert (part.outcome, part.content) == ("failed", "Gone for good.")


# In and out: content

FILES: list[Any] = [
    BinaryImage(PNG, media_type="image/png"),
    BinaryImage(PNG, media_type="image/png", vendor_metadata={"detail": "low"}),
    BinaryContent(b"RIFF", media_type="audio/wav"),
    BinaryContent(b"%PDF", media_type="application/pdf", identifier="file:///a.pdf"),
    ImageUrl("https://example.com/a.png"),
    ImageUrl("https://example.com/a.png", force_download=True, vendor_metadata={"detail": "low"}),
    AudioUrl("https://example.com/a.mp3"),
    VideoUrl("https://example.com/a.mp4"),
    DocumentUrl("https://example.com/a.pdf", media_type="application/pdf"),
]


@pytest.mark.parametrize("file", FILES, ids=[f"{number}-{file.kind}" for number, file in enumerate(FILES)])
async def test_files_come_back_as_they_went(file: Any) -> None:
    result = await tool_returning(file).call({})
    assert from_result(ToolResult.from_mcp(result.to_mcp())) == file
    assert from_result(await tool_returning(["look", file]).call({})) == ["look", file]


def test_a_url_without_a_known_type_is_still_a_link() -> None:
    (block,) = to_result(DocumentUrl("https://example.com/thing")).content
    assert (block["type"], "mimeType" in block) == ("resource_link", False)


def test_binary_content_without_a_uri_of_its_own_gets_one() -> None:
    (block,) = to_result(BinaryContent(b"x", media_type="application/zip", identifier="abc")).content
    assert block == {
        "type": "resource",
        "resource": {"uri": "attachment:abc", "mimeType": "application/zip", "blob": "eA=="},
    }


def test_a_file_in_a_providers_storage_is_refused() -> None:
    with pytest.raises(Unsupported, match="file 'f1' in the storage of 'openai'"):
        to_result(UploadedFile("f1", provider_name="openai"))


async def test_a_tool_return_keeps_its_value_its_content_and_its_metadata() -> None:
    secret = object()
    answer = ToolReturn(
        return_value={"n": 1},
        content=["see", TextContent("this"), BinaryImage(PNG, media_type="image/png"), CachePoint()],
        metadata={"secret": secret},
        tools=["other"],
    )
    result = await tool_returning(answer).call({})
    assert result.content == (text('{"n": 1}'), text("see"), text("this"), image(PNG, "image/png"))
    assert (result.structured_content, result.meta) == (
        {"n": 1},
        {PYDANTIC_AI_META: {"metadata": {"secret": secret}, "tools": ["other"]}},
    )
    back = from_result(result)
    assert (back.metadata, back.tools) == ({"secret": secret}, ["other"])
    assert back.return_value == [{"n": 1}, "see", "this", BinaryImage(PNG, media_type="image/png")]


async def test_a_tool_return_with_one_text_adds_it() -> None:
    result = await tool_returning(ToolReturn(return_value="a", content="b")).call({})
    assert result == ToolResult(content=(text("a"), text("b")))


async def test_an_mcp_shaped_value_passes_whole() -> None:
    shaped = {"content": [text("a"), image(PNG, "image/png")], "isError": True}
    assert (await tool_returning(shaped).call({})).to_mcp() == shaped


async def test_other_items_beside_a_file_are_json() -> None:
    result = await tool_returning([{"n": 1}, BinaryImage(PNG, media_type="image/png")]).call({})
    assert result.content == (text('{"n": 1}'), image(PNG, "image/png"))


# Out: results


async def gives(result: ToolResult) -> Any:
    async def call(_: dict[str, Any]) -> ToolResult:
        return result

    return await value_in_an_agent(
        Tool(name="give", description="", input_schema={"type": "object", "properties": {}}, call=call)
    )


@pytest.mark.parametrize(
    ("result", "content"),
    [
        (ToolResult(), ""),
        (ToolResult(content=(text(""),)), ""),
        (ToolResult(content=(text("x" * 1_000_000),)), "x" * 1_000_000),
        (ToolResult(content=(text("a"), text("b"))), ["a", "b"]),
        (ToolResult(structured_content={"n": 1}), {"n": 1}),
        (ToolResult(content=(text("One."),), structured_content={"n": 1}), [{"n": 1}, "One."]),
        (ToolResult(content=(text('{"n": 1}'),), structured_content={"n": 1}), {"n": 1}),
        (ToolResult(content=(resource("a:b", "words"),)), "words"),
        (ToolResult(content=(audio(b"RIFF", "audio/wav"),)), BinaryContent(b"RIFF", media_type="audio/wav")),
        (ToolResult(content=({"type": "resource_link", "uri": "a:b", "name": "n"},)), "n: a:b"),
    ],
    ids=[
        "nothing",
        "empty",
        "huge",
        "texts",
        "only structured",
        "structured and words",
        "structured",
        "resource",
        "audio",
        "link",
    ],
)
async def test_results_become_values(result: ToolResult, content: Any) -> None:
    assert (await gives(result)).content == content


async def test_the_meta_of_a_result_is_metadata_of_the_return() -> None:
    part = await gives(ToolResult(content=(text("a"),), meta={"k": 1}))
    assert (part.content, part.metadata) == ("a", {"k": 1})
    both = {"k": 1, PYDANTIC_AI_META: {"metadata": {"own": 2}}}
    assert from_result(ToolResult(content=(text("a"),), meta=both)).metadata == both


async def test_a_blob_without_a_type_is_still_a_file() -> None:
    (file,) = (await gives(ToolResult(content=(resource("a:b", b"x"),)))).files
    assert (file.data, file.media_type, file.identifier) == (b"x", "application/octet-stream", "a:b")


@pytest.mark.parametrize("said", ["nonsense", {"kind": "image-url", "force_download": "allow-local"}])
def test_what_a_remote_server_says_under_our_key_is_not_trusted(said: Any) -> None:
    link: Any = {"type": "resource_link", "uri": "http://10.0.0.1/", "name": "n", "_meta": {PYDANTIC_AI_META: said}}
    back = from_block(link)
    assert isinstance(back, str) or back.force_download is False  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]


@pytest.mark.parametrize("said", ["nonsense", {"strict": "maybe"}, {"metadata": "none"}, {"timeout": {}}])
def test_what_a_remote_server_says_about_a_tool_is_not_trusted_either(said: Any) -> None:
    tool = replace(from_function(visit), metadata={PYDANTIC_AI_META: said})
    assert definition_of(tool) == definition_of(from_function(visit))


def test_metadata_that_only_looks_like_mcps_is_the_users_own() -> None:
    source = PydanticTool(
        visit, metadata={"annotations": {"readOnlyHint": True, "cost": 3, "title": None}, "meta": "x"}
    )
    tool = from_pydantic_ai(source)
    assert tool.annotations == ToolAnnotations(read_only=True)
    assert definition_of(tool).metadata == {"annotations": {"readOnlyHint": True, "cost": 3}, "meta": "x"}


async def failing(result: ToolResult, **options: Any) -> str:
    async def call(_: dict[str, Any]) -> ToolResult:
        return result

    tool = Tool(name="fail", description="", input_schema={"type": "object"}, call=call)
    toolset = to_pydantic_ai([tool], **options)
    ctx = context(max_retries=3)
    tools = await toolset.get_tools(ctx)
    assert tools["fail"].max_retries == options.get("max_retries", 3)
    with pytest.raises((ModelRetry, ToolFailed)) as caught:
        await toolset.call_tool("fail", {}, ctx, tools["fail"])
    return f"{type(caught.value).__name__}: {caught.value}"


async def test_an_error_asks_for_another_try_or_tells_of_a_failure() -> None:
    assert await failing(ToolResult.error("no")) == "ModelRetry: no"
    assert await failing(ToolResult.error("no"), on_error="failed", max_retries=0) == "ToolFailed: no"


async def test_an_error_without_text_still_says_something() -> None:
    assert await failing(ToolResult(is_error=True)) == "ModelRetry: The tool failed without an error message."
    shown = ToolResult(content=(text("see"), image(PNG, "image/png")), is_error=True)
    assert await failing(shown) == "ModelRetry: see\n[image left out]"


async def test_the_exception_of_a_tool_ends_the_run() -> None:
    def fail() -> None:
        raise LookupError("mine")

    with pytest.raises(LookupError, match="mine"):
        await value_in_an_agent(from_function(fail))


MORTAL = """
import os, signal
from mcp.server.mcpserver import MCPServer
server = MCPServer("mortal")

@server.tool()
def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)

server.run("stdio")
"""


async def test_a_killed_mcp_server_is_an_error_that_the_model_reads_however_often_it_calls(tmp_path: Path) -> None:
    read: list[str] = []

    def model(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        read.extend(part.model_response_str() for part in messages[-1].parts if isinstance(part, ToolReturnPart))
        return ModelResponse([TextPart("without it")] if len(read) == 3 else [ToolCallPart("die", {})])

    program = tmp_path / "mortal.py"
    program.write_text(MORTAL)
    process = StdioServerParameters(command=sys.executable, args=[str(program)])
    async with Client(process) as client:
        agent = Agent(FunctionModel(model), toolsets=[to_pydantic_ai(await from_mcp(client))])
        assert (await agent.run("go")).output == "without it"
    assert all("Tool 'die' failed. ToolConnectionError: The connection to the server" in one for one in read)


async def test_the_id_of_the_call_reaches_the_tool() -> None:
    def which() -> str | None:
        return current_call_id.get()

    part = await value_in_an_agent(from_function(which))
    assert part.content == part.tool_call_id


@dataclass
class Hidden:
    seen: list[list[str]] = field(default_factory=list[list[str]])

    def model(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        self.seen.append([tool.name for tool in info.function_tools])
        return ModelResponse([TextPart("done")])


async def test_a_deferred_tool_is_hidden_behind_pydantic_ais_own_search() -> None:
    hidden = Hidden()
    tools = [from_function(visit, defer_loading=True), from_function(lambda: 1, name="open")]
    await Agent(FunctionModel(hidden.model), toolsets=[to_pydantic_ai(tools)]).run("go")
    (names,) = hidden.seen
    assert "open" in names
    assert "visit" not in names
