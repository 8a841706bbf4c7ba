"""What a model reads of a search that is unsure, too long for its budget, or in front of a server that is gone."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from anthropic import Anthropic
from claude_agent_sdk import ClaudeAgentOptions, query
from mcp.client import Client
from tests.mcp_support import call as call_tool
from tests.mcp_support import search, text_of
from tests.support import Heard, Unsure, saying_its_name

from hikidashi import Tool, ToolResult, from_function
from hikidashi.convert.wire import WireNames
from hikidashi.errors import ToolConnectionError
from hikidashi.search import ToolRun, run_anthropic_search, search_tool_names, to_claude_search, to_mcp_search
from hikidashi.search.answers import found_names, tokens_of
from hikidashi.testing import MessagesServer, call, say, turn

Server = Callable[..., MessagesServer]
Environment = Callable[[MessagesServer], dict[str, str]]


def send_mail(to: str) -> str:
    """Send a mail to somebody."""
    return f"sent to {to}"


MAIL = from_function(send_mail)


def long_tool(name: str, words: int) -> Tool:
    return replace(MAIL, name=name, description="Write a report. " + "word " * words)


REPORTS = [long_tool(f"report_{n}", 900) for n in range(8)]
HUGE = long_tool("huge", 100_000)


# The pair of tools: an MCP server, and Claude Code


@pytest.mark.parametrize(
    ("language", "said"),
    [
        ("en", "No tool surely fits 'send mail'. These are the nearest, perhaps not what you need: call one with"),
        ("ja", "'send mail' に確実に合うツールはありません。次は近いものですが、必要なものではないかもしれません。"),
    ],
)
async def test_the_nearest_are_shown_as_such_and_can_be_called(language: Any, said: str) -> None:
    heard = Heard()
    async with Client(to_mcp_search(Unsure([MAIL]), language=language, record=heard)) as client:
        answer = text_of(await search(client, "send mail"))
        assert answer.startswith(said)
        assert found_names(answer) == ["send_mail"]
        assert text_of(await call_tool(client, "send_mail", {"to": "Ada"})) == "sent to Ada"
        assert text_of(await search(client, "xyzzy")).startswith(("No tool fits 'xyzzy'.", "'xyzzy' に合うツールは"))
    assert heard.searches == [("send mail", "nearest", ["send_mail"]), ("xyzzy", "words", [])]


async def test_an_answer_shows_what_fits_and_names_and_counts_the_rest() -> None:
    async with Client(to_mcp_search(REPORTS, budget=2_500), mode="legacy") as client:
        answer = text_of(await search(client, "write a report"))
        assert answer.startswith("Found 8. Call one with call_tool(name, arguments).\n")
        assert len(found_names(answer)) == 2
        assert "\nIn short, 3 more." in answer
        short = [json.loads(line)["tool"] for line in answer.split("\n") if line.startswith('{"tool":')]
        assert len(short) == 3
        assert answer.endswith("\n3 further tools match: other or more words tell them apart.")
        assert tokens_of(answer) <= 2_500

        guessed = await call_tool(client, short[0], {"to": "Ada"})
        assert guessed.is_error
        assert found_names(text_of(await search(client, f"select:{','.join(short)}"))) == short[:2]


@pytest.mark.parametrize(
    ("language", "said"),
    [
        ("en", "No tool is named 'nope', 'send_mial'. Look for what it should do by words."),
        ("ja", "'nope', 'send_mial' という名前のツールはありません。必要なことを言葉で検索してください。"),
    ],
)
async def test_selected_names_that_no_tool_has_are_named(language: Any, said: str) -> None:
    async with Client(to_mcp_search([MAIL], language=language)) as client:
        answer = text_of(await search(client, "select:nope, send_mail,send_mial,send_mail"))
        assert found_names(answer) == ["send_mail"]
        assert answer.endswith(f"\n{said}")


async def test_many_unknown_names_are_counted() -> None:
    async with Client(to_mcp_search([MAIL])) as client:
        answer = text_of(await search(client, "select:send_mail," + ",".join(f"no_{n}" * 50 for n in range(30))))
        assert found_names(answer) == ["send_mail"]
        assert "… (+25)" in answer
        assert len(answer) < 1_500
        alone = await search(client, "select:" + ",".join(f"no_{n}" for n in range(30)))
        assert alone.is_error
        assert "'no_4'" in text_of(alone)
        assert "'no_5'" not in text_of(alone)


async def test_names_as_long_as_servers_have_them_can_be_selected_together_up_to_fifty() -> None:
    many = [replace(MAIL, name=f"{n:03}_{'long_name_' * 12}") for n in range(60)]
    async with Client(to_mcp_search(many)) as client:
        answer = text_of(await search(client, "select:" + ",".join(tool.name for tool in many)))
        assert answer.startswith("Found 60.")
        assert len(found_names(answer)) > 10
        assert tokens_of(answer) <= 5_000
        refused = await search(client, "send a mail " * 50)
        assert refused.is_error
        assert "the limit is 500" in text_of(refused)


async def test_one_tool_that_is_longer_than_the_budget_is_cut_and_can_be_called() -> None:
    async with Client(to_mcp_search([HUGE])) as client:
        answer = text_of(await search(client, "select:huge"))
        shown = json.loads(answer.split("\n")[1])
        assert shown["description"].endswith(" of 500,016 characters]")
        assert shown["input_schema"]["required"] == ["to"]
        assert tokens_of(answer) <= 5_000
        assert text_of(await call_tool(client, "huge", {"to": "Ada"})) == "sent to Ada"


async def test_a_list_of_found_tools_keeps_to_the_budget_too() -> None:
    async with Client(to_mcp_search([HUGE]), mode="legacy") as client:
        await search(client, "select:huge")
        (listed,) = (tool for tool in (await client.list_tools()).tools if tool.name == "huge")
        assert (listed.description or "").endswith(" of 500,016 characters]")
        assert listed.input_schema == HUGE.input_schema


async def test_a_found_tool_that_mcp_cannot_list_leaves_the_list_of_the_others_whole() -> None:
    schema: dict[str, Any] = {"type": "string"}
    for level in range(150):
        schema = {"type": "object", "properties": {f"level_{level}": schema}}
    deep, odd = (
        replace(MAIL, name="deep", input_schema=schema),
        replace(MAIL, name="odd", input_schema={"$ref": "#/$defs/x"}),
    )
    async with Client(to_mcp_search([deep, odd, MAIL]), mode="legacy") as client:
        answer = text_of(await search(client, "select:deep,odd,send_mail"))
        assert found_names(answer) == ["deep", "odd", "send_mail"]
        assert "Deeper levels are left out here." in answer
        listed = [tool.name for tool in (await client.list_tools()).tools]
        assert listed == ["search_tools", "call_tool", "deep", "send_mail"]
        assert text_of(await call_tool(client, "odd", {"to": "Ada"})) == "sent to Ada"


async def test_more_matches_than_are_looked_for_are_told_as_such() -> None:
    many = [replace(MAIL, name=f"send_mail_{n}") for n in range(80)]
    async with Client(to_mcp_search(many)) as client:
        answer = text_of(await search(client, "/send_mail/"))
        assert answer.startswith("Found 50.")
        assert answer.endswith("45 further tools match, or more: other or more words tell them apart.")


@pytest.mark.cli
async def test_claude_code_shows_a_long_answer_to_the_model_and_keeps_it_out_of_files(
    messages_server: Server, claude_code_env: Environment, tmp_path: Path
) -> None:
    server = messages_server([call("search_tools", {"query": "write a report"}), say("done")])
    config = to_claude_search([long_tool(f"report_{n}", 20_000) for n in range(5)])
    options = ClaudeAgentOptions(
        mcp_servers={"tools": config},
        allowed_tools=search_tool_names(),
        setting_sources=[],
        tools=[],
        cwd=tmp_path,
        env=claude_code_env(server),
    )
    async for _ in query(prompt="?", options=options):
        pass
    (answer,) = server.requests[1].tool_result_texts
    assert len(found_names(answer)) == 1
    assert "In short, 4 more." in answer
    assert "saved to" not in answer


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "`name` is missing, and a call needs one: give the name of a tool as search_tools gave it, and its"),
        ({"name": 5, "arguments": {}}, "`name` is 5, and a call needs one"),
        ({"name": None}, "`name` is missing"),
    ],
)
async def test_a_call_without_a_name_is_told_what_it_lacks(given: dict[str, Any], said: str) -> None:
    async with Client(to_mcp_search([MAIL])) as client:
        assert text_of(await client.call_tool("call_tool", given)).startswith(said)


async def lost(_: dict[str, Any]) -> ToolResult:
    raise ToolConnectionError("send_mail", "the MCP session is closed")


GONE = (
    "'send_mail' could not be called: its server does not answer at the moment. The arguments are not the reason. "
    "Go on without it, or try again later."
)


@pytest.mark.parametrize("always_loaded", [[], ["send_mail"]])
async def test_a_tool_whose_server_is_gone_says_so_in_words_for_a_model(always_loaded: list[str]) -> None:
    tools = [replace(MAIL, call=lost)]
    async with Client(to_mcp_search(tools, always_loaded=always_loaded)) as client:
        await search(client, "send a mail")
        assert text_of(await call_tool(client, "send_mail", {"to": "Ada"})) == GONE
        if always_loaded:
            assert text_of(await client.call_tool("send_mail", {"to": "Ada"})) == GONE


# The loop for the anthropic client


QUESTION = {"role": "user", "content": "?"}


def run(server: MessagesServer, tools: Any, **options: Any) -> ToolRun:
    with Anthropic(base_url=server.url, api_key="sk-test", max_retries=0) as client:
        asked: dict[str, Any] = {"model": "claude-opus-5-5", "max_tokens": 100, "force": True, "messages": [QUESTION]}
        start: Any = run_anthropic_search
        return start(client, tools, **asked | options)


def texts(message: dict[str, Any]) -> str:
    return json.dumps(message, ensure_ascii=False)


@pytest.mark.parametrize("expand", ["references", "tools"])
def test_the_loop_says_that_the_nearest_are_uncertain(messages_server: Server, expand: str) -> None:
    server = messages_server(
        [call("search_tools", {"query": "send mail"}), call("send_mail", {"to": "Ada"}), say("ok")]
    )
    heard = Heard()
    ended = run(server, Unsure([MAIL]), expand=expand, record=heard)
    assert "perhaps not what you need" in texts(server.requests[1].messages[-1])
    assert server.requests[2].tool_result_texts == ["sent to Ada"]
    assert (ended.loaded, heard.searches[0][1]) == (("send_mail",), "nearest")
    again = messages_server([say("ok")])
    run(again, [MAIL], expand="tools" if expand == "references" else "references", messages=[*ended.messages, QUESTION])
    assert again.refusals == []


@pytest.mark.parametrize("expand", ["references", "tools"])
def test_the_loop_loads_what_fits_the_budget_and_names_the_rest(messages_server: Server, expand: str) -> None:
    server = messages_server(
        [call("search_tools", {"query": "write a report"}), call("search_tools", {"query": "select:huge"}), say("ok")]
    )
    ended = run(server, [*REPORTS, HUGE], expand=expand, budget=2_500)
    said = server.requests[1].messages[-1]
    assert len(ended.searches[0].references or ()) == 2
    assert "In short, 3 more." in texts(said)
    assert "further tools match" in texts(said)
    assert ended.searches[1].references == ("huge",)
    (sent,) = (tool for tool in server.requests[2].tools if tool["name"] == "huge")
    assert sent["description"].endswith(" of 500,016 characters]")
    assert tokens_of(texts(sent)) <= 2_500


@pytest.mark.parametrize("as_sent", [False, True])
def test_the_loop_calls_tools_of_any_name(messages_server: Server, as_sent: bool) -> None:
    names = ["メール送信", "予定を追加", "n" * 200]
    wire = WireNames(names, longest=128)
    tools = [saying_its_name(name) for name in names]
    shown = [wire.of(name) for name in names]
    search_all = call("search_tools", {"query": f"select:{','.join(shown if as_sent else names)}"})
    server = messages_server([search_all, turn(*(call(name) for name in shown[1:])), say("ok")])
    heard = Heard()
    ended = run(server, tools, record=heard, always_loaded=["メール送信"])
    assert ended.searches[0].references == tuple(shown)
    assert server.requests[2].tool_result_texts == [f"{name}: done" for name in names[1:]]
    assert (sorted(heard.calls), heard.searches[0][2]) == (sorted(names[1:]), names)


def test_the_loop_tells_the_model_of_a_server_that_is_gone(messages_server: Server) -> None:
    server = messages_server([call("send_mail", {"to": "Ada"}), say("ok")])
    run(server, [replace(MAIL, call=lost)], always_loaded=["send_mail"])
    assert server.requests[1].tool_result_texts == [GONE]


@pytest.mark.parametrize(
    "arguments",
    [
        {"name": "z" * 100_000, "arguments": {}},
        {"name": {"deep": "z" * 100_000}},
        {"name": "send_mail", "arguments": "z" * 100_000},
        {"name": "send_mail", "arguments": ["z" * 100_000]},
    ],
)
async def test_what_a_model_gave_in_place_of_a_call_is_repeated_in_short(arguments: dict[str, Any]) -> None:
    async with Client(to_mcp_search([MAIL])) as client:
        await search(client, "select:send_mail")
        answer = await client.call_tool("call_tool", arguments)
        asked = await client.call_tool("search_tools", {"query": ["z" * 100_000]})
    assert answer.is_error
    assert len(text_of(answer)) < 500
    assert "zzz…" in text_of(answer)
    assert len(text_of(asked)) < 500
