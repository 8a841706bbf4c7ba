"""Each fault reaches the anthropic client as the error it should be."""

from __future__ import annotations

import json
from collections.abc import Callable

import anthropic
import httpx2
import pytest
from anthropic import Anthropic
from anthropic.types import Message, MessageParam

from hikidashi.testing import Answer, MessagesServer, fault, say

QUESTION: list[MessageParam] = [{"role": "user", "content": "Hello?"}]


def plain(client: Anthropic) -> Message:
    return client.messages.create(model="claude-test", max_tokens=100, messages=QUESTION)


def streamed(client: Anthropic) -> Message:
    with client.messages.stream(model="claude-test", max_tokens=100, messages=QUESTION) as stream:
        return stream.get_final_message()


Ask = Callable[[Anthropic], Message]
both_ways = pytest.mark.parametrize("ask", [plain, streamed])


def asked(ask: Ask, answer: Answer, *, timeout: float = 30) -> Message:
    with (
        MessagesServer([answer]) as server,
        Anthropic(base_url=server.url, api_key="sk-test", max_retries=0, timeout=timeout) as client,
    ):
        return ask(client)


@both_ways
@pytest.mark.parametrize(
    ("answer", "error", "status", "kind"),
    [
        (fault.rate_limited(retry_after=7), anthropic.RateLimitError, 429, "rate_limit_error"),
        (fault.server_error(), anthropic.InternalServerError, 500, "api_error"),
        (fault.overloaded(), anthropic.InternalServerError, 529, "overloaded_error"),
        (fault.status(403, "permission_error", "Not yours."), anthropic.PermissionDeniedError, 403, "permission_error"),
    ],
)
def test_a_status_raises_its_own_error(
    ask: Ask, answer: Answer, error: type[anthropic.APIStatusError], status: int, kind: str
) -> None:
    with pytest.raises(error) as raised:
        asked(ask, answer)
    assert (raised.value.status_code, raised.value.type) == (status, kind)
    assert raised.value.request_id == raised.value.response.json()["request_id"]


def test_a_rate_limit_says_when_to_come_back() -> None:
    with pytest.raises(anthropic.RateLimitError) as raised:
        asked(plain, fault.rate_limited(retry_after=7))
    assert raised.value.response.headers["retry-after"] == "7"


def test_a_rate_limit_without_a_time_has_no_retry_after() -> None:
    with pytest.raises(anthropic.RateLimitError) as raised:
        asked(plain, fault.rate_limited())
    assert "retry-after" not in raised.value.response.headers


def test_a_cut_plain_answer_is_a_connection_error() -> None:
    with pytest.raises(anthropic.APIConnectionError):
        asked(plain, fault.cut(reply="This sentence is never finished."))


def test_a_cut_stream_breaks_off_after_so_many_events() -> None:
    with (
        MessagesServer([fault.cut(after_events=5, reply=say("abcdef", chunk=2))]) as server,
        Anthropic(base_url=server.url, api_key="sk-test", max_retries=0) as client,
        client.messages.stream(model="claude-test", max_tokens=100, messages=QUESTION) as stream,
    ):
        with pytest.raises(httpx2.RemoteProtocolError):
            stream.until_done()
        assert stream.current_message_snapshot.content[0].to_dict()["text"] == "abcd"


@both_ways
def test_malformed_json_is_a_decode_error(ask: Ask) -> None:
    with pytest.raises(json.JSONDecodeError):
        asked(ask, fault.malformed())


@both_ways
def test_a_server_that_hangs_is_a_timeout(ask: Ask) -> None:
    with pytest.raises(anthropic.APITimeoutError):
        asked(ask, fault.hang(), timeout=0.2)


@both_ways
def test_a_slow_server_answers_in_the_end(ask: Ask) -> None:
    answer = asked(ask, fault.slow(0.01, then=say("at last", delay=0.01, pause=0.001)))
    assert answer.content[0].to_dict() == {"type": "text", "text": "at last"}


def test_a_slow_server_is_a_timeout_for_a_client_that_does_not_wait() -> None:
    with pytest.raises(anthropic.APITimeoutError):
        asked(plain, fault.slow(60, then="never"), timeout=0.2)


def test_a_slow_server_may_fail_in_the_end() -> None:
    with pytest.raises(anthropic.InternalServerError, match="Overloaded"):
        asked(plain, fault.slow(0.01, then=fault.overloaded()))
