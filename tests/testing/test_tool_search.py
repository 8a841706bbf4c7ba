"""The API's side of tool search, asked by the real anthropic client."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import pytest
from anthropic import Anthropic, AsyncAnthropic, BadRequestError, InternalServerError

from hikidashi.search.anthropic_blocks import ToolSearchFailure, reference_blocks, search_requests, tool_searches
from hikidashi.search.anthropic_request import to_anthropic_search
from hikidashi.testing import MessagesServer, Reply, Script, call, fault, say, turn
from hikidashi.testing.tool_search import search_regex, search_words

StartServer = Callable[[Script], MessagesServer]

MODEL = "claude-opus-5-5"
QUESTION: list[Any] = [{"role": "user", "content": "Rain?"}]
SCHEMA = {"type": "object", "properties": {"city": {"type": "string", "description": "Name of a town"}}}
TOOLS: list[dict[str, Any]] = [
    {"name": "get_weather", "description": "Current weather in a city.", "input_schema": SCHEMA},
    {"name": "send_mail", "description": "Send a mail.", "input_schema": {"type": "object"}},
    {"name": "get_forecast", "description": "Weather of the next days.", "input_schema": SCHEMA},
]
REQUEST: dict[str, Any] = {"model": MODEL, "max_tokens": 100, "messages": QUESTION}
REGEX = REQUEST | to_anthropic_search(TOOLS, model=MODEL, force=True)
BM25 = REQUEST | to_anthropic_search(TOOLS, variant="bm25", model=MODEL, force=True)
WEATHER_TURN = turn(
    "I look for it.", search_regex("weather"), call("get_weather", {"city": "Tokyo"}, id="toolu_1"), chunk=4
)


def asked(client: Any, request: dict[str, Any]) -> Any:
    """A message, or with an async client something to await."""
    return client.beta.messages.create(**request)


def kinds(content: list[Any]) -> list[str]:
    return [block.type for block in content]


def check_weather_turn(message: Any) -> None:
    assert kinds(message.content) == ["text", "server_tool_use", "tool_search_tool_result", "tool_use"]
    [search] = tool_searches(message)
    assert (search.variant, search.pattern, search.references) == ("regex", "weather", ("get_weather", "get_forecast"))
    assert search.id.startswith("srvtoolu_")
    assert search_requests(message) == 1
    assert message.stop_reason == "tool_use"


def test_the_nearest_tools_are_references_too_and_no_match_is_an_empty_list(messages_server: StartServer) -> None:
    talk = "she said that the weather was awful"
    server = messages_server([turn(search_words(talk), "So it was."), turn(search_words("xyzzy"), "No such tool.")])
    with Anthropic(base_url=server.url, api_key="sk-test") as client:
        [nearest] = tool_searches(asked(client, BM25))
        [nothing] = tool_searches(asked(client, BM25))
    assert set(nearest.references or ()) == {"get_weather", "get_forecast"}
    assert (nothing.references, nothing.failure) == ((), None)


def test_a_search_by_pattern_is_carried_out_in_the_same_turn(messages_server: StartServer) -> None:
    server = messages_server([WEATHER_TURN])
    with Anthropic(base_url=server.url, api_key="sk-test") as client:
        check_weather_turn(asked(client, REGEX))


async def test_the_async_client_gets_the_same(messages_server: StartServer) -> None:
    server = messages_server([WEATHER_TURN])
    async with AsyncAnthropic(base_url=server.url, api_key="sk-test") as client:
        check_weather_turn(await asked(client, REGEX))


def test_a_stream_brings_the_blocks_one_after_another(messages_server: StartServer) -> None:
    server = messages_server([WEATHER_TURN])
    with (
        Anthropic(base_url=server.url, api_key="sk-test") as client,
        client.beta.messages.stream(**REGEX) as stream,
    ):
        events: list[Any] = list(stream)
        check_weather_turn(stream.get_final_message())
    begun = [event.content_block for event in events if event.type == "content_block_start"]
    assert kinds(begun) == ["text", "server_tool_use", "tool_search_tool_result", "tool_use"]
    assert begun[2].to_dict()["content"]["tool_references"] == reference_blocks(["get_weather", "get_forecast"])
    assert [event.index for event in events if event.type == "content_block_stop"] == [0, 1, 2, 3]


async def test_an_async_stream_gives_the_same_message(messages_server: StartServer) -> None:
    server = messages_server([WEATHER_TURN])
    async with (
        AsyncAnthropic(base_url=server.url, api_key="sk-test") as client,
        client.beta.messages.stream(**REGEX) as stream,
    ):
        check_weather_turn(await stream.get_final_message())


def test_a_search_by_words_ranks_the_deferred_tools_only(messages_server: StartServer) -> None:
    server = messages_server([turn(search_words("mail"), search_words("weather", limit=1), search_words("unicorn"))])
    request = REQUEST | to_anthropic_search(TOOLS, variant="bm25", always_loaded=["get_weather"], force=True)
    with Anthropic(base_url=server.url, api_key="sk-test") as client:
        message = asked(client, request)
    assert [search.references for search in tool_searches(message)] == [("send_mail",), ("get_forecast",), ()]
    assert (search_requests(message), message.stop_reason) == (3, "end_turn")


def test_a_raw_block_of_the_script_is_carried_out_too(messages_server: StartServer) -> None:
    block = {
        "type": "server_tool_use",
        "name": "tool_search_tool_regex",
        "input": {"query": "mail"},
        "id": "srvtoolu_1",
    }
    server = messages_server([Reply(content=(block,))])
    with Anthropic(base_url=server.url, api_key="sk-test") as client:
        [search] = tool_searches(asked(client, REGEX))
    assert (search.id, search.references) == ("srvtoolu_1", ("send_mail",))


def test_a_result_that_the_script_gives_itself_stays(messages_server: StartServer) -> None:
    block = {"type": "server_tool_use", "name": "tool_search_tool_regex", "input": {"pattern": "x"}, "id": "srvtoolu_1"}
    given = {"type": "tool_search_tool_search_result", "tool_references": reference_blocks(["send_mail"])}
    result = {"type": "tool_search_tool_result", "tool_use_id": "srvtoolu_1", "content": given}
    server = messages_server([Reply(content=(block, result))])
    with Anthropic(base_url=server.url, api_key="sk-test") as client:
        [search] = tool_searches(asked(client, REGEX))
    assert search.references == ("send_mail",)


@pytest.mark.parametrize(
    ("pattern", "dialect", "code"),
    [
        ("mail(", "2026", "invalid_tool_input"),
        ("mail(", "2025", "invalid_pattern"),
        ("x" * 201, "2026", "invalid_tool_input"),
        ("x" * 201, "2025", "pattern_too_long"),
    ],
)
def test_a_broken_pattern_is_an_error_block_in_the_dialect_asked_for(pattern: str, dialect: Any, code: str) -> None:
    script = [turn(search_regex(pattern), "Hm.")]
    with (
        MessagesServer(script, tool_search_dialect=dialect) as server,
        Anthropic(base_url=server.url, api_key="sk-test") as client,
    ):
        message = asked(client, REGEX)
    [search] = tool_searches(message)
    assert search.failure is not None
    assert (search.failure.code, search.references) == (code, None)
    assert search.failure.message


def test_too_many_words_are_an_error_block(messages_server: StartServer) -> None:
    server = messages_server([search_words("mail " * 101)])
    with Anthropic(base_url=server.url, api_key="sk-test") as client:
        [search] = tool_searches(asked(client, BM25))
    assert search.failure is not None
    assert search.failure.code == "invalid_tool_input"


@pytest.mark.parametrize(
    "given",
    [{}, {"pattern": ""}, {"pattern": 7}, {"pattern": "mail", "limit": 0}, {"pattern": "mail", "limit": "5"}],
)
def test_input_that_is_no_search_is_an_error_block(messages_server: StartServer, given: dict[str, Any]) -> None:
    block = {"type": "server_tool_use", "name": "tool_search_tool_regex", "input": given}
    server = messages_server([Reply(content=(block,))])
    with Anthropic(base_url=server.url, api_key="sk-test", max_retries=0) as client:
        [search] = tool_searches(asked(client, REGEX))
    assert search.failure is not None
    assert search.failure.code == "invalid_tool_input"


def test_names_by_select_are_words_to_the_api(messages_server: StartServer) -> None:
    server = messages_server([turn(search_words("select:send_mail"), search_words("select:unicorn"))])
    with Anthropic(base_url=server.url, api_key="sk-test", max_retries=0) as client:
        found = [search.references for search in tool_searches(asked(client, BM25))]
    assert found == [("send_mail",), ()]


def test_the_client_without_betas_reads_the_same(messages_server: StartServer) -> None:
    request: dict[str, Any] = REQUEST | to_anthropic_search(TOOLS, betas="off", force=True)
    server = messages_server([WEATHER_TURN, WEATHER_TURN])
    with Anthropic(base_url=server.url, api_key="sk-test") as client:
        check_weather_turn(client.messages.create(**request))
        with client.messages.stream(**request) as stream:
            check_weather_turn(stream.get_final_message())
    assert "anthropic-beta" not in server.requests[0].headers


def test_a_deferred_tool_costs_tokens_once_it_is_loaded(messages_server: StartServer) -> None:
    wordy = {"name": "archive", "description": "word " * 4000, "input_schema": {"type": "object"}}
    request = REQUEST | to_anthropic_search([wordy, *TOOLS], model=MODEL, force=True)
    counting = {name: value for name, value in request.items() if name not in ("max_tokens", "messages")}
    server = messages_server([turn(search_regex("archive"), "Found."), "Fine."])
    with Anthropic(base_url=server.url, api_key="sk-test") as client:
        first = asked(client, request)
        said: list[Any] = [*QUESTION, {"role": "assistant", "content": first.content}, *QUESTION]
        second = asked(client, request | {"messages": said})
        counts = [
            cast("Any", client.beta.messages.count_tokens)(**counting, messages=messages).input_tokens
            for messages in (QUESTION, said)
        ]
    assert first.usage.input_tokens < 1000 < 5000 < second.usage.input_tokens
    assert counts[0] < 1000 < 5000 < counts[1]


@pytest.mark.parametrize("code", ["unavailable", "too_many_requests", "execution_time_exceeded"])
def test_a_script_can_let_a_search_fail(messages_server: StartServer, code: str) -> None:
    server = messages_server([search_regex("mail", fails=code)])
    with Anthropic(base_url=server.url, api_key="sk-test") as client:
        message = asked(client, REGEX)
    [search] = tool_searches(message)
    assert search.failure == ToolSearchFailure(code=code)
    assert set(message.content[0].to_dict()) == {"type", "id", "name", "input"}


def test_searches_are_carried_out_behind_faults_and_by_functions(messages_server: StartServer) -> None:
    slow = fault.slow(0, turn(search_regex("mail"), "Found."))
    server = messages_server([slow, lambda request: search_regex("mail"), fault.cut(2, search_regex("mail"))])
    with Anthropic(base_url=server.url, api_key="sk-test", max_retries=0) as client:
        found = [tool_searches(asked(client, REGEX))[0].references for _ in range(2)]
        with client.beta.messages.create(**REGEX, stream=True) as stream, pytest.raises(Exception, match="peer closed"):
            list(stream)
    assert found == [("send_mail",), ("send_mail",)]


def test_nothing_is_found_where_nothing_is_deferred(messages_server: StartServer) -> None:
    server = messages_server([search_regex("mail")])
    tools = [{"type": "tool_search_tool_regex", "name": "tool_search_tool_regex"}, *TOOLS]
    request: dict[str, Any] = REQUEST | {"tools": tools}
    with Anthropic(base_url=server.url, api_key="sk-test") as client:
        [search] = tool_searches(asked(client, request))
    assert search.references == ()


def test_a_script_that_searches_with_a_tool_nobody_offered_fails_loudly() -> None:
    with (
        pytest.raises(LookupError, match="searches with `tool_search_tool_bm25`, but the request offers no such tool"),
        MessagesServer([search_words("mail")]) as server,
        Anthropic(base_url=server.url, api_key="sk-test") as client,
        pytest.raises(InternalServerError, match="The script raised LookupError"),
    ):
        asked(client, REGEX)


def test_a_call_of_a_tool_that_no_search_has_loaded_is_sent(messages_server: StartServer) -> None:
    server = messages_server([call("send_mail")])
    with Anthropic(base_url=server.url, api_key="sk-test") as client:
        assert kinds(asked(client, REGEX).content) == ["tool_use"]


def test_the_server_knows_which_tools_the_model_sees(messages_server: StartServer) -> None:
    server = messages_server([WEATHER_TURN, say("Rain.")])
    with Anthropic(base_url=server.url, api_key="sk-test") as client:
        first = asked(client, REGEX)
        answer = {"type": "tool_result", "tool_use_id": "toolu_1", "content": reference_blocks(["send_mail"])}
        said: list[dict[str, Any]] = [
            {"role": "assistant", "content": first.content},
            {"role": "user", "content": [answer]},
        ]
        later: dict[str, Any] = REGEX | {"messages": [*QUESTION, *said]}
        asked(client, later)
    search = "tool_search_tool_regex"
    assert [request.loaded_tools for request in server.requests] == [
        [search],
        [search, "get_weather", "get_forecast", "send_mail"],
    ]


CALLED: dict[str, Any] = {
    "role": "assistant",
    "content": [{"type": "tool_use", "id": "toolu_1", "name": "find", "input": {}}],
}
SEARCHED: dict[str, Any] = {
    "role": "assistant",
    "content": [{"type": "server_tool_use", "id": "srvtoolu_1", "name": "tool_search_tool_regex", "input": {}}],
}


def answered(call_id: str, content: object) -> dict[str, Any]:
    return {"role": "user", "content": [{"type": "tool_result", "tool_use_id": call_id, "content": content}]}


MCP: dict[str, Any] = {"type": "mcp_toolset", "mcp_server_name": "db", "default_config": {"defer_loading": True}}
KEPT: dict[str, Any] = {**MCP, "configs": {"a": {"defer_loading": False}}}
LATER: dict[str, Any] = {**TOOLS[0], "defer_loading": True}


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"tools": [LATER]}, "All tools have defer_loading set. At least one tool must be non-deferred."),
        ({"tools": [LATER, MCP]}, "All tools have defer_loading set. At least one tool must be non-deferred."),
        (
            {"tools": [TOOLS[1], {**LATER, "cache_control": {"type": "ephemeral"}}]},
            "Tool 'get_weather' cannot have both defer_loading=true and cache_control set. "
            "Tools with defer_loading cannot use prompt caching.",
        ),
        (
            {"tools": [TOOLS[1], *({**LATER, "name": f"t{number}"} for number in range(10_001))]},
            "tools: at most 10000 tools can have defer_loading set, got 10001",
        ),
        (
            {"messages": [*QUESTION, CALLED, answered("toolu_1", reference_blocks(["gone"]))]},
            "Tool reference 'gone' not found in available tools",
        ),
        (
            {"messages": [*QUESTION, SEARCHED, answered("srvtoolu_1", "get_weather")]},
            "messages.2: unexpected `tool_use_id` found in `tool_result` blocks: srvtoolu_1. Each `tool_result` block "
            "must have a corresponding `tool_use` block in the previous message.",
        ),
    ],
)
def test_what_the_api_refuses_is_refused(messages_server: StartServer, changed: dict[str, Any], said: str) -> None:
    server = messages_server(["fine"])
    with (
        Anthropic(base_url=server.url, api_key="sk-test") as client,
        pytest.raises(BadRequestError) as refused,
    ):
        asked(client, REGEX | changed)
    assert refused.value.status_code == 400
    assert server.refusals == [said]
    assert server.remaining == 1


@pytest.mark.parametrize(
    "changed",
    [
        {"tools": [LATER, KEPT]},
        {"tools": [TOOLS[1], MCP, {**MCP, "mcp_server_name": "other"}]},
        {
            "tools": [TOOLS[1], MCP],
            "messages": [*QUESTION, CALLED, answered("toolu_1", reference_blocks(["tool_of_the_server"]))],
        },
    ],
)
def test_tools_of_mcp_servers_are_taken(messages_server: StartServer, changed: dict[str, Any]) -> None:
    server = messages_server(["fine"])
    with Anthropic(base_url=server.url, api_key="sk-test") as client:
        asked(client, REGEX | changed)
    assert server.refusals == []
