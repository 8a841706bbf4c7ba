"""`to_claude_search` on the real Claude Code CLI: two tools for the model, however many there are."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from claude_agent_sdk import ClaudeAgentOptions, ClaudeSDKClient, ResultMessage
from mcp.client import Client
from mcp.types import CallToolResult, TextContent
from pydantic_ai import Agent
from tests.search.preload_support import ASK_AGAIN, ASK_MAIL, long_mails
from tests.support import Heard

from hikidashi import ClaudeCodeModel, Tool, ToolResult, ToolValidationError, from_function, to_claude
from hikidashi.search import SearchLog, ToolCatalog, report, search_hooks, search_tool_names, to_claude_search
from hikidashi.search.log_report import FoundByCounts
from hikidashi.testing import MessagesServer, call, say, turn

PLACEHOLDER = "DeferredToolPlaceholder"
"""What Claude Code's own tool search adds to a request, whether it has tools to defer or not."""

Server = Callable[..., MessagesServer]
Environment = Callable[[MessagesServer], dict[str, str]]


def send_mail(to: str) -> str:
    """Send a mail to somebody."""
    return f"sent to {to}"


async def nothing_to_say(_: dict[str, Any]) -> ToolResult:
    return ToolResult.of("")


def filler(count: int) -> list[Tool]:
    schema: dict[str, Any] = {"type": "object", "properties": {"id": {"type": "integer", "description": "Which."}}}
    return [
        Tool(name=f"archive_record_{n}", description=f"Archive record {n}.", input_schema=schema, call=nothing_to_say)
        for n in range(count)
    ]


async def ask(server: MessagesServer, config: Any, env: dict[str, str], cwd: Path, **options: Any) -> ResultMessage:
    """The CLI's last word on one question, or several."""
    answer: ResultMessage | None = None
    questions = options.pop("questions", ["Write to Ada."])
    given: dict[str, Any] = {"tools": [], **options}
    settings = ClaudeAgentOptions(
        mcp_servers={"tools": config},
        allowed_tools=search_tool_names(),
        setting_sources=[],
        system_prompt="Be brief.",
        cwd=cwd,
        env=env,
        **given,
    )
    async with ClaudeSDKClient(settings) as client:
        for question in questions:
            await client.query(question)
            async for message in client.receive_response():
                if isinstance(message, ResultMessage):
                    answer = message
    assert answer is not None
    assert server.refusals == []
    return answer


@pytest.mark.cli
async def test_the_model_sees_two_tools_and_no_request_grows_with_the_catalogue(
    messages_server: Server, claude_code_env: Environment, tmp_path: Path
) -> None:
    sizes: list[list[int]] = []
    for count in (50, 10_000):
        server = messages_server(
            [
                call("search_tools", {"query": "send a mail to somebody"}),
                call("call_tool", {"name": "send_mail", "arguments": {"to": "Ada"}}),
                say("done"),
            ]
        )
        heard = Heard()
        config = to_claude_search([*filler(count - 1), from_function(send_mail)], record=heard)
        answer = await ask(server, config, claude_code_env(server), tmp_path)

        assert answer.result == "done"
        assert all(set(request.tool_names) - {PLACEHOLDER} == set(search_tool_names()) for request in server.requests)
        assert (
            '{"name":"send_mail","description":"Send a mail to somebody.",' in server.requests[1].tool_result_texts[0]
        )
        assert server.requests[2].tool_result_texts[0].startswith("sent to Ada")
        assert (heard.searches, heard.calls) == ([("send a mail to somebody", "words", ["send_mail"])], ["send_mail"])
        sizes.append([request.size for request in server.requests])
    assert sizes[0] == sizes[1]


@pytest.mark.cli
async def test_the_first_request_is_smaller_than_with_the_cli_own_tool_search_which_grows(
    messages_server: Server, claude_code_env: Environment, tmp_path: Path
) -> None:
    async def first_request_with(config: Any, **options: Any) -> int:
        server = messages_server([say("done")])
        await ask(server, config, claude_code_env(server), tmp_path, **options)
        return server.requests[0].size

    ours = await first_request_with(to_claude_search(filler(50)))
    few = await first_request_with(to_claude(filler(50)), tools=["ToolSearch"])
    many = await first_request_with(to_claude(filler(1000)), tools=["ToolSearch"])
    assert ours < few
    assert many > few + 950 * len("archive_record_")


@pytest.mark.cli
async def test_a_tool_called_by_its_own_name_brings_the_advice_to_search(
    messages_server: Server, claude_code_env: Environment, tmp_path: Path
) -> None:
    own = call("mcp__tools__send_mail", {"to": "Ada"})
    server = messages_server(
        [
            turn(own, call("send_mail"), call("mcp__other__x"), call("search_tools", {"query": "send a mail"})),
            call("call_tool", {"name": "send_mail", "arguments": {"to": "Ada"}}),
            say("done"),
        ]
    )
    config = to_claude_search([from_function(send_mail)])
    await ask(server, config, claude_code_env(server), tmp_path, hooks=search_hooks())
    advised, went_on = str(server.requests[1].messages[-1]), str(server.requests[2].messages[-1])
    assert "'mcp__tools__send_mail' is not in your list of tools. Look for it with search_tools" in advised
    assert "'send_mail' is not in your list of tools." in advised
    assert "mcp__other__x" not in advised
    assert "is not in your list" not in went_on


@pytest.mark.cli
async def test_a_resumed_conversation_goes_on_with_what_it_had_found(
    messages_server: Server, claude_code_env: Environment, tmp_path: Path
) -> None:
    tools = [from_function(send_mail)]
    server = messages_server([call("search_tools", {"query": "send a mail"}), say("found")])
    env = claude_code_env(server)
    heard = Heard()
    session = (await ask(server, to_claude_search(tools, record=heard), env, tmp_path)).session_id

    use = call("call_tool", {"name": "send_mail", "arguments": {"to": "Ada"}})
    found = [name for _, _, names in heard.searches for name in names]
    later = messages_server([use, say("done")])
    env = {**env, "ANTHROPIC_BASE_URL": later.url}
    await ask(later, to_claude_search(tools, discovered=found), env, tmp_path, resume=session)
    assert "send a mail" in str(later.requests[0].messages)
    assert later.requests[1].tool_result_texts[0].startswith("sent to Ada")


@pytest.mark.cli
async def test_what_was_found_can_be_called_after_the_conversation_was_compacted(
    messages_server: Server, claude_code_env: Environment, tmp_path: Path
) -> None:
    server = messages_server(
        [
            call("search_tools", {"query": "send a mail"}),
            say("found"),
            say("<summary>They found send_mail.</summary>"),
            call("call_tool", {"name": "send_mail", "arguments": {"to": "Ada"}}),
            say("done"),
        ]
    )
    config = to_claude_search([from_function(send_mail)])
    questions = ["Look for it.", "/compact", "Write to Ada."]
    await ask(server, config, claude_code_env(server), tmp_path, questions=questions)
    assert server.requests[3].tool_results == []
    assert server.requests[4].tool_result_texts[0].startswith("sent to Ada")


@pytest.mark.cli
async def test_a_claude_code_model_searches_through_it_while_the_mcp_server_runs_the_tools(
    messages_server: Server, claude_code_env: Environment, tmp_path: Path
) -> None:
    server = messages_server(
        [
            call("search_tools", {"query": "send a mail"}),
            call("call_tool", {"name": "send_mail", "arguments": {"to": "Ada"}}),
            say("done"),
        ]
    )
    model = ClaudeCodeModel(
        mcp_servers={"tools": to_claude_search([*filler(50), from_function(send_mail)])},
        allowed_tools=search_tool_names(),
        env=claude_code_env(server),
        working_directory=tmp_path,
        max_retries=0,
        timeout=60.0,
    )
    assert (await Agent(model).run("Write to Ada.")).output == "done"
    assert server.requests[2].tool_result_texts[0].startswith("sent to Ada")


def get_weather(city: str) -> str:
    """The weather in a city."""
    return f"rain in {city}"


@pytest.mark.cli
async def test_with_preloading_a_message_brings_the_definitions_that_it_needs(
    messages_server: Server, claude_code_env: Environment, tmp_path: Path
) -> None:
    server = messages_server(
        [
            call("call_tool", {"name": "send_mail", "arguments": {"to": "Ada"}}),
            say("done"),
            say("gladly"),
            call("call_tool", {"name": "get_weather", "arguments": {"city": "Rome"}}),
            say("rain"),
        ]
    )
    heard = Heard()
    tools = [*filler(50), from_function(send_mail), from_function(get_weather)]
    config = to_claude_search(tools, preload=2, record=heard)
    questions = ["Send a mail to Ada.", "thanks, that was great", "What is the weather in Rome?"]
    hooks = search_hooks(config)
    await ask(server, config, claude_code_env(server), tmp_path, questions=questions, hooks=hooks)

    definition = '{"name":"send_mail","description":"Send a mail to somebody.",'
    sent = [str(request.messages).replace("\\", "") for request in server.requests]
    assert [text.count(definition) for text in sent] == [1] * 5
    assert ['"get_weather"' in text for text in sent] == [False, False, False, True, True]
    assert server.requests[1].tool_result_texts[0].startswith("sent to Ada")
    assert server.requests[4].tool_result_texts[-1].startswith("rain in Rome")
    assert heard.searches == [(questions[0], "preload", ["send_mail"]), (questions[2], "preload", ["get_weather"])]
    assert heard.calls == ["send_mail", "get_weather"]


# Without the CLI: the server alone


async def test_a_record_that_servers_share_says_for_each_conversation_what_found_the_tool(tmp_path: Path) -> None:
    tools = [from_function(send_mail), from_function(get_weather)]

    async def call_mail(config: Any, *, search: bool = False) -> None:
        async with connected(config) as client:
            if search:
                await client.call_tool("search_tools", {"query": "send a mail"})
            for _ in range(2):  # the first call of a tool that was not found shows its definition
                await client.call_tool("call_tool", {"name": "send_mail", "arguments": {"to": "Ada"}})

    with SearchLog(tmp_path / "log.db") as log:
        preloaded, searched, guessed = (to_claude_search(tools, record=log, preload=1) for _ in range(3))
        (hook,) = search_hooks(preloaded)["UserPromptSubmit"][0].hooks
        await hook({"prompt": "Send a mail to Ada."}, None, {"signal": None})  # pyright: ignore[reportArgumentType]
        await call_mail(preloaded)
        await call_mail(searched, search=True)
        await call_mail(guessed)
        await call_mail(to_claude_search(tools, record=log, discovered=["send_mail"]))
        async with connected(to_claude_search(tools, record=log, always_loaded=["send_mail"])) as client:
            await client.call_tool("send_mail", {"to": "Ada"})
        ways = [call.found_by for call in log.calls()]
        counts = report(log, ToolCatalog(tools)).conversations_found_by
    assert ways == ["preload"] * 2 + ["search"] * 2 + ["nothing"] + ["search"] * 2 + ["listed"]
    assert counts == FoundByCounts(total=5, preload=1, search=2, nothing=1, listed=1)


async def test_a_tool_beyond_the_budget_of_a_message_is_preloaded_for_a_later_one() -> None:
    tools = ToolCatalog(long_mails("send_mail", "send_mail_again", "send_mail_later"), ranker="lexical")
    heard = Heard()
    server = to_claude_search(tools, preload=3, preload_most=3, budget=200, record=heard)
    (hook,) = search_hooks(server)["UserPromptSubmit"][0].hooks
    for prompt in (ASK_MAIL, ASK_AGAIN):
        await hook({"prompt": prompt}, None, {"signal": None})  # pyright: ignore[reportArgumentType]
    assert heard.searches == [(ASK_MAIL, "preload", ["send_mail"]), (ASK_AGAIN, "preload", ["send_mail_again"])]


async def test_preloading_without_its_hooks_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    async with connected(to_claude_search([from_function(send_mail)], preload=2)) as client:
        for _ in range(2):
            await client.call_tool("search_tools", {"query": "send a mail"})
    assert caplog.text.count("Nothing is preloaded: pass `hooks=search_hooks(server)`") == 1


def text_of(result: CallToolResult) -> str:
    return "\n".join(block.text for block in result.content if isinstance(block, TextContent))


def connected(config: Any) -> Client:
    return Client(config["instance"], mode="legacy")


async def test_a_tool_called_without_a_search_is_shown_instead_and_can_be_called_then() -> None:
    use: dict[str, Any] = {"name": "send_mail", "arguments": {"to": "Ada"}}
    async with connected(to_claude_search([from_function(send_mail)], language="ja")) as client:
        refused = await client.call_tool("call_tool", use)
        assert refused.is_error
        assert text_of(refused).startswith("'send_mail' は呼び出していません。")
        assert '"input_schema"' in text_of(refused)
        assert text_of(await client.call_tool("call_tool", use)) == "sent to Ada"


async def test_tools_that_are_always_loaded_stand_beside_the_two() -> None:
    heard = Heard()
    tools = [*filler(9), from_function(send_mail).deferred()]
    config = to_claude_search(tools, always_loaded=["send_mail"], record=heard)
    async with connected(config) as client:
        tools = (await client.list_tools()).tools
        assert [tool.name for tool in tools] == ["search_tools", "call_tool", "send_mail"]
        assert all((tool.meta or {})["anthropic/alwaysLoad"] for tool in tools)
        assert text_of(await client.call_tool("send_mail", {"to": "Ada"})) == "sent to Ada"
        use = {"name": "send_mail", "arguments": {"to": "Bo"}}
        assert text_of(await client.call_tool("call_tool", use)) == "sent to Bo"
    assert heard.calls == ["send_mail", "send_mail"]


async def test_a_catalogue_may_grow_while_the_server_runs() -> None:
    catalog = ToolCatalog(filler(3))
    async with connected(to_claude_search(catalog)) as client:
        catalog.add(from_function(send_mail))
        assert "send_mail" in text_of(await client.call_tool("search_tools", {"query": "send a mail"}))


@pytest.mark.parametrize("name", ["search_tools", "call_tool"])
def test_a_tool_with_the_name_of_one_of_the_two_is_refused(name: str) -> None:
    with pytest.raises(ToolValidationError, match=name):
        to_claude_search([from_function(send_mail, name=name)])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"strategy": "bm25"}, "`strategy` is 'bm25'"),
        ({"max_results": 51}, "`max_results` is 51"),
        ({"preload": 21}, "`preload` is 21"),
        ({"language": "de"}, "`language` is 'de'"),
        ({"always_loaded": "send_mail"}, "`always_loaded` is 'send_mail'"),
        ({"discovered": "send_mail"}, "`discovered` is 'send_mail'"),
    ],
)
def test_options_that_could_not_work_are_refused_at_once(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        to_claude_search([from_function(send_mail)], **options)
