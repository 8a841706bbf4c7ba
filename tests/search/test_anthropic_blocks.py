"""Blocks of tool searches: read from dicts and from objects of the anthropic package, and written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from anthropic.types.beta import BetaMessage
from hypothesis import given
from hypothesis import strategies as st

from hikidashi.errors import ToolSearchError
from hikidashi.search.anthropic_blocks import (
    ToolSearchCall,
    ToolSearchFailure,
    reference_blocks,
    referenced_tools,
    search_requests,
    tool_searches,
)

FOUND = ToolSearchCall(id="srvtoolu_1", variant="regex", pattern="weather", references=("get_weather", "get_forecast"))
FAILED = ToolSearchCall(
    id="srvtoolu_2",
    variant="bm25",
    query="天気",
    limit=3,
    failure=ToolSearchFailure(code="too_many_requests", message="Slow down."),
)
NOTHING = ToolSearchCall(id="srvtoolu_3", variant="bm25", query="unicorn", references=())
TEXT = {"type": "text", "text": "I look for it."}


def message(*content: dict[str, Any]) -> dict[str, Any]:
    usage = {
        "input_tokens": 1024,
        "output_tokens": 256,
        "server_tool_use": {"web_search_requests": 0, "web_fetch_requests": 0, "tool_search_requests": 2},
    }
    head = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-opus-5-5",
        "stop_reason": "end_turn",
    }
    return {**head, "stop_sequence": None, "content": list(content), "usage": usage}


REPLY = message(TEXT, *FOUND.to_blocks(), *FAILED.to_blocks(), *NOTHING.to_blocks())
REPLY_OF_THE_CLIENT = BetaMessage.model_validate(REPLY)


@pytest.mark.parametrize("reply", [REPLY, REPLY_OF_THE_CLIENT, REPLY["content"], REPLY_OF_THE_CLIENT.content, [REPLY]])
def test_searches_are_read_from_messages_and_contents_of_either_kind(reply: object) -> None:
    assert tool_searches(reply) == [FOUND, FAILED, NOTHING]
    assert referenced_tools(reply) == ["get_weather", "get_forecast"]


@pytest.mark.parametrize("reply", [REPLY, REPLY_OF_THE_CLIENT, REPLY["usage"], REPLY_OF_THE_CLIENT.usage])
def test_the_count_of_searches_is_read_from_a_message_or_its_usage(reply: object) -> None:
    assert search_requests(reply) == 2


@pytest.mark.parametrize("usage", [None, {"input_tokens": 1}, {"server_tool_use": None}, {"server_tool_use": {}}])
def test_a_count_that_the_api_does_not_give_is_none(usage: dict[str, Any] | None) -> None:
    assert search_requests({"usage": usage}) is None


def test_a_search_without_its_answer_has_no_outcome_yet() -> None:
    [call] = tool_searches(FOUND.to_blocks()[:1])
    assert (call.asked, call.references, call.failure) == ("weather", None, None)


def test_a_regex_call_of_2025_has_its_pattern_in_query() -> None:
    block = {
        "type": "server_tool_use",
        "id": "srvtoolu_1",
        "name": "tool_search_tool_regex",
        "input": {"query": "mail"},
    }
    assert [call.asked for call in tool_searches([block])] == ["mail"]


def test_other_server_tools_and_plain_text_are_no_searches() -> None:
    web = {"type": "server_tool_use", "id": "srvtoolu_9", "name": "web_search", "input": {"query": "news"}}
    assert tool_searches([TEXT, web]) == []
    assert tool_searches("Hello") == []


def test_searches_by_the_client_are_read_across_two_turns() -> None:
    call = ToolSearchCall(id="toolu_1", variant="client", query="mail", references=("send_mail",))
    use, result = call.to_blocks(client_tool="find")
    conversation = [{"role": "assistant", "content": [use]}, {"role": "user", "content": [result]}]
    assert result["content"] == reference_blocks(["send_mail"])
    assert tool_searches(conversation, client_tool="find") == [call]
    assert referenced_tools(conversation) == ["send_mail"]
    assert tool_searches(conversation) == []


def test_a_search_by_the_client_that_failed_says_why() -> None:
    failure = ToolSearchFailure(code="invalid_tool_input", message="The query is empty.")
    call = ToolSearchCall(id="toolu_1", variant="client", query="", failure=failure)
    blocks = call.to_blocks(client_tool="find")
    assert blocks[1]["is_error"] is True
    assert tool_searches(blocks, client_tool="find") == [call]


@pytest.mark.parametrize(
    "code", ["invalid_tool_input", "execution_time_exceeded", "invalid_pattern", "pattern_too_long"]
)
def test_the_codes_of_both_dialects_become_the_same_error(code: str) -> None:
    error = ToolSearchFailure(code=code, message="Too long.").to_error()
    assert isinstance(error, ToolSearchError)
    assert (error.code, str(error)) == (code, "Too long.")


def test_an_error_without_words_and_a_code_nobody_knows_are_still_told() -> None:
    assert str(ToolSearchFailure(code="unavailable").to_error()) == "The search failed: unavailable."
    unknown = ToolSearchFailure(code="out_of_paper").to_error()
    assert (unknown.code, str(unknown)) == ("unavailable", "The search failed: out_of_paper.")


@pytest.mark.parametrize("read", [tool_searches, referenced_tools, search_requests])
def test_what_is_no_block_is_refused(read: Callable[[object], object]) -> None:
    with pytest.raises(TypeError, match="a dict or an object of the anthropic package, got 7"):
        read(7)


def test_references_are_read_by_themselves_and_a_call_is_written_without_its_answer() -> None:
    assert referenced_tools(reference_blocks(["a", "b", "a"])) == ["a", "b"]
    unanswered = ToolSearchCall(id="toolu_1", variant="client", query="mail")
    assert unanswered.to_blocks() == [
        {"type": "tool_use", "id": "toolu_1", "name": "search_tools", "input": {"query": "mail"}}
    ]


NAMES = st.from_regex(r"[a-zA-Z0-9_-]{1,64}", fullmatch=True)
FAILURES = st.builds(ToolSearchFailure, code=st.text(min_size=1), message=st.none() | st.text())
OUTCOMES: st.SearchStrategy[dict[str, Any]] = st.one_of(
    st.just(dict[str, Any]()),
    st.fixed_dictionaries({"references": st.lists(NAMES, max_size=5).map(tuple)}),
    st.fixed_dictionaries({"failure": FAILURES}),
)
LIMITS = st.none() | st.integers(1, 50)


@given(st.text(), LIMITS, OUTCOMES, st.booleans())
def test_what_is_written_is_read_again(asked: str, limit: int | None, outcome: dict[str, Any], regex: bool) -> None:
    question: dict[str, Any] = {"variant": "regex", "pattern": asked} if regex else {"variant": "bm25", "query": asked}
    call = ToolSearchCall(id="srvtoolu_1", limit=limit, **question, **outcome)
    blocks = call.to_blocks()
    assert tool_searches(blocks) == [call]
    assert tool_searches(BetaMessage.construct(role="assistant", content=blocks)) == [call]


@given(st.text(min_size=1), LIMITS, st.lists(NAMES, min_size=1, max_size=5))
def test_a_search_by_the_client_is_read_again(query: str, limit: int | None, names: list[str]) -> None:
    call = ToolSearchCall(id="toolu_1", variant="client", query=query, limit=limit, references=tuple(names))
    assert tool_searches(call.to_blocks(), client_tool="search_tools") == [call]
