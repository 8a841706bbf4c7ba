"""Tools for Claude Code."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from claude_agent_sdk import ClaudeAgentOptions, create_sdk_mcp_server, query
from mcp import types
from mcp.client import Client

from hikidashi import Tool, ToolAnnotations, ToolResult, ToolValidationError, Unsupported, from_function, to_claude
from hikidashi.convert.claude import allowed_tools, to_claude_tool
from hikidashi.testing import MessagesServer, call, say
from hikidashi.testing.script import blocks_of
from hikidashi.tool import audio, current_call_id, image, resource, text

PNG = bytes.fromhex("89504e470d0a1a0a")


def ping() -> str:
    """Answer."""
    return "pong"


PING = from_function(ping)


def giving(result: ToolResult, name: str = "give", **fields: Any) -> Tool:
    def give() -> ToolResult:
        return result

    return from_function(give, name=name, **fields)


async def listed(*tools: Tool, **options: Any) -> dict[str, types.Tool]:
    async with Client(to_claude(tools, **options)["instance"], mode="legacy") as client:
        return {tool.name: tool for tool in (await client.list_tools()).tools}


async def answered(tool: Tool, name: str | None = None, **options: Any) -> types.CallToolResult:
    async with Client(to_claude([tool], **options)["instance"], mode="legacy") as client:
        return await client.call_tool(name or tool.name, {})


def test_the_config_is_the_one_the_sdk_takes() -> None:
    config = to_claude([PING], name="mine", version="7")
    assert (config["type"], config["name"], config["instance"].name) == ("sdk", "mine", "mine")
    assert config["instance"].version == "7"
    assert ClaudeAgentOptions(mcp_servers={"mine": config}, allowed_tools=allowed_tools("mine", [PING]))


async def test_long_results_stay_in_the_conversation_unless_the_tool_says_otherwise() -> None:
    tools = await listed(PING, giving(ToolResult(), metadata={"anthropic/maxResultSizeChars": 9}))
    assert [tool.meta for tool in tools.values()] == [
        {"anthropic/maxResultSizeChars": 500_000},
        {"anthropic/maxResultSizeChars": 9},
    ]
    assert (await listed(PING, max_result_chars=None))["ping"].meta is None


async def test_always_load_pins_the_tools_that_are_not_deferred() -> None:
    tools = await listed(PING, giving(ToolResult(), defer_loading=True), always_load=True, max_result_chars=None)
    assert tools["ping"].meta == {"anthropic/alwaysLoad": True}
    assert tools["give"].meta == {"hikidashi/deferLoading": True}


async def test_names_are_those_that_claude_code_shows() -> None:
    tools = [PING, PING.renamed("検索.v2"), PING.renamed("a.b"), PING.renamed("a b"), PING.renamed("x" * 200)]
    shown = allowed_tools("my server", tools)
    assert shown[:1] + shown[2:3] == ["mcp__my_server__ping", "mcp__my_server__a_b"]
    assert [f"mcp__my_server__{name}" for name in await listed(*tools, name="my server")] == shown
    assert len(set(shown)) == 5
    assert max(map(len, shown)) == 128


async def test_a_tool_whose_name_says_nothing_any_more_is_described_by_it() -> None:
    (tool,) = (await listed(PING.renamed("検索"))).values()
    assert tool.description == "Answer."
    (tool,) = (await listed(replace(PING, name="検索", description=""))).values()
    assert tool.description == "検索"


def test_two_tools_of_one_name_are_refused() -> None:
    with pytest.raises(ToolValidationError, match="Two tools, 'ping' and 'ping', have the same name 'ping'"):
        to_claude([PING, PING])


def test_a_server_whose_name_leaves_no_room_for_tools_is_refused() -> None:
    assert to_claude([PING], name="x" * 105)
    with pytest.raises(ToolValidationError, match=r"has 106 characters, which leaves 15 of the 128"):
        to_claude([PING], name="x" * 106)


async def test_a_tool_is_found_by_the_name_shown_too() -> None:
    result = await answered(PING.renamed("a.b"), "a_b")
    assert result.content == [types.TextContent(type="text", text="pong")]


async def test_an_unknown_name_is_answered_with_the_closest_one() -> None:
    result = await answered(PING, "pin")
    assert (result.is_error, result.content) == (
        True,
        [types.TextContent(type="text", text="There is no tool 'pin'. Did you mean 'ping'?")],
    )
    assert "Known tools: ping." in str(await answered(PING, "xyz"))


async def test_sound_and_files_arrive_whole_where_the_session_can_read_files() -> None:
    content = (audio(b"RIFF", "audio/wav"), resource("a:b", b"%PDF", "application/pdf"), image(PNG, "image/png"))
    result = await answered(giving(ToolResult(content=content)), can_read_files=True)
    assert [block.model_dump(by_alias=True, exclude_none=True) for block in result.content] == list(content)


@pytest.mark.parametrize(
    ("content", "kept"),
    [
        ((text('{"n": 1}'),), True),
        ((text('{"n": 1}'), image(PNG, "image/png")), True),
        ((image(PNG, "image/png"),), True),
        ((text("One."),), False),
        ((text('{"n": 1}'), text("That is one.")), False),
        ((text('{"n": 1, "unit": "m"}'),), False),
    ],
    ids=["the same", "the same and a picture", "a picture", "other words", "more words", "more JSON"],
)
async def test_structured_content_never_hides_other_text(content: Any, kept: bool) -> None:
    tool = giving(ToolResult(content=content, structured_content={"n": 1}))
    result = await answered(tool)
    assert result.structured_content == ({"n": 1} if kept else None)
    said = [block.text for block in result.content if isinstance(block, types.TextContent)]
    assert kept or sum('{"n": 1' in words for words in said) == 1
    assert kept or set(said) >= {block["text"] for block in content} - {'{"n": 1}'}


async def test_text_that_structured_content_has_as_well_may_stay_behind_it() -> None:
    weather = {"city": "Roma", "degrees": 20}
    result = await answered(giving(ToolResult(content=(text("Roma"),), structured_content=weather)))
    assert result.structured_content == weather
    wrapped = await answered(giving(ToolResult(content=(text("3"),), structured_content={"result": 3})))
    assert (wrapped.structured_content, wrapped.content) == (None, [types.TextContent(type="text", text="3")])


# One by one, beside tools of the SDK's own


async def test_a_single_tool_joins_a_server_of_the_sdk() -> None:
    tool = giving(
        ToolResult(content=(text("no"), image(PNG, "image/png"), resource("a:b", "words")), is_error=True),
        annotations=ToolAnnotations(read_only=True),
    )
    config = create_sdk_mcp_server("theirs", tools=[to_claude_tool(tool)])
    async with Client(config["instance"], mode="legacy") as client:
        (wire,) = (await client.list_tools()).tools
        result = await client.call_tool("give", {})
    assert (wire.input_schema, wire.annotations and wire.annotations.read_only_hint) == (tool.input_schema, True)
    assert wire.meta == {"anthropic/maxResultSizeChars": 500_000}
    assert result.is_error
    assert [block.type for block in result.content] == ["text", "image", "text"]


@pytest.mark.parametrize("block", [audio(b"1", "audio/wav"), resource("a:b", b"1")], ids=["audio", "blob"])
async def test_what_the_sdk_would_drop_is_refused(block: Any) -> None:
    sdk_tool = to_claude_tool(giving(ToolResult(content=(block,))))
    with pytest.raises(Unsupported, match=f"the {block['type']} in the result of 'give'"):
        await sdk_tool.handler({})


def test_a_schema_that_the_sdk_would_misread_is_refused() -> None:
    bare = Tool(name="bare", description="", input_schema={"type": "object"}, call=PING.call)
    with pytest.raises(Unsupported, match="'bare' without `properties`"):
        to_claude_tool(bare)


# The real CLI


@pytest.mark.cli
async def test_the_real_cli_calls_the_tools_and_shows_all_they_say(tmp_path: Path) -> None:
    def which() -> str | None:
        return current_call_id.get()

    def fail() -> None:
        raise LookupError("mine")

    both = ToolResult(content=(text("Plain words."),), structured_content={"n": 1})
    tools = [from_function(which, name="which.one"), from_function(fail), giving(both)]
    names = allowed_tools("hk", tools)
    script: list[Any] = [*(call(name, {}) for name in names), say("done")]
    with MessagesServer(script) as server:
        options = ClaudeAgentOptions(
            mcp_servers={"hk": to_claude(tools, name="hk")},
            allowed_tools=names,
            tools=[],
            setting_sources=[],
            system_prompt="Be brief.",
            cwd=tmp_path,
            env=server.env(tmp_path),
        )
        async for _ in query(prompt="go", options=options):
            pass
        blocks = [block for turn in server.requests[-1].messages for block in blocks_of(turn["content"])]
    ids = [block["id"] for block in blocks if block["type"] == "tool_use"]
    results = {block["tool_use_id"]: block for block in blocks if block["type"] == "tool_result"}
    said = [(str(results[call_id]["content"]), results[call_id].get("is_error", False)) for call_id in ids]
    expected = [(ids[0], False), ("Tool 'fail' failed. LookupError: mine", True), ("Plain words.", False)]
    assert [(words in shown, failed) for (words, _), (shown, failed) in zip(expected, said, strict=True)] == [
        (True, failed) for _, failed in expected
    ]
