"""What the Messages API refuses and how it fails, with the status and the words of the real one."""

from __future__ import annotations

import http.client
import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

import anthropic
import httpx2
import pytest
from anthropic import Anthropic
from anthropic.types import Message, MessageParam

from hikidashi.testing import Answer, MessagesServer, fault, say

HELLO: dict[str, Any] = {"role": "user", "content": "Hello?"}
CALLED: dict[str, Any] = {
    "role": "assistant",
    "content": [{"type": "tool_use", "id": "toolu_1", "name": "add", "input": {}}],
}
RESULT: dict[str, Any] = {
    "role": "user",
    "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "3"}],
}
TEXT = {"type": "text", "text": "3"}
PICTURE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AA=="}}
TIFF = {"type": "base64", "media_type": "image/tiff", "data": "AA=="}
OBJECT = {"type": "object"}
GOOD: dict[str, Any] = {"model": "claude-test", "max_tokens": 100, "messages": [HELLO]}
KEY = {"x-api-key": "sk-test"}


def result_of(content: list[Any], **fields: Any) -> dict[str, Any]:
    return {
        "role": "user",
        "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": content, **fields}],
    }


@pytest.fixture
def server() -> Iterator[MessagesServer]:
    with MessagesServer(["fine"]) as server:
        yield server


def sent(
    server: MessagesServer,
    body: bytes | dict[str, Any],
    *,
    headers: Mapping[str, str] = KEY,
    path: str = "/v1/messages",
    method: str = "POST",
) -> tuple[int, dict[str, Any]]:
    connection = http.client.HTTPConnection(urlsplit(server.url).netloc)
    try:
        connection.request(method, path, body if isinstance(body, bytes) else json.dumps(body), dict(headers))
        response = connection.getresponse()
        return response.status, json.loads(response.read())
    finally:
        connection.close()


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"{", "The request body is not a JSON object"),
        (b"[]", "The request body is not a JSON object"),
        ({**GOOD, "messages": "Hello?"}, "messages: Input should be a valid list"),
        ({**GOOD, "messages": []}, "messages: at least one message is required"),
        ({**GOOD, "messages": [CALLED, RESULT]}, 'messages: first message must use the "user" role'),
        (
            {**GOOD, "messages": [HELLO, {"role": "assistant", "content": "Hm."}, RESULT]},
            "messages.2: unexpected `tool_use_id` found in `tool_result` blocks: toolu_1. Each `tool_result` block "
            "must have a corresponding `tool_use` block in the previous message.",
        ),
        (
            {**GOOD, "messages": [HELLO, CALLED, HELLO]},
            "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_1. Each "
            "`tool_use` block must have a corresponding `tool_result` block in the next message.",
        ),
        (
            {**GOOD, "messages": [HELLO, CALLED]},
            "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_1. Each "
            "`tool_use` block must have a corresponding `tool_result` block in the next message.",
        ),
        ({**GOOD, "tools": [{"name": "add"}, {"name": "add"}]}, "tools: Tool names must be unique."),
        ({**GOOD, "tools": {"name": "add"}}, "tools: Input should be a valid list"),
        (
            {**GOOD, "messages": [HELLO, CALLED, result_of([TEXT, PICTURE], is_error=True)]},
            "messages.2.content.0: all content must be type `text` if `is_error` is true",
        ),
        (
            {**GOOD, "messages": [HELLO, CALLED, result_of([TEXT, {**PICTURE, "source": TIFF}])]},
            "messages.2.content.0.tool_result.content.1.image.source.base64.media_type: Input should be 'image/jpeg', "
            "'image/png', 'image/gif' or 'image/webp'",
        ),
    ],
)
def test_an_invalid_request_is_refused_and_takes_no_answer(
    server: MessagesServer, body: bytes | dict[str, Any], message: str
) -> None:
    status, answer = sent(server, body)
    assert (status, answer["type"]) == (400, "error")
    assert answer["error"] == {"type": "invalid_request_error", "message": message}
    assert answer["request_id"].startswith("req_")
    assert (server.refusals, server.remaining, len(server.requests)) == ([message], 1, 1)


NAMES = "String should match pattern '^[a-zA-Z0-9_-]{1,128}$'"
KEYS = "Property keys should match pattern '^[a-zA-Z0-9_.-]{1,64}$'"
ROOT = "input_schema does not support oneOf, allOf, or anyOf at the top level"


@pytest.mark.parametrize(
    ("tool", "problem"),
    [
        ({"input_schema": OBJECT}, "name: Field required"),
        ({"name": 3, "input_schema": OBJECT}, "name: Input should be a valid string"),
        ({"name": "", "input_schema": OBJECT}, f"name: {NAMES}"),
        ({"name": "a.b", "input_schema": OBJECT}, f"name: {NAMES}"),
        ({"name": "検索", "input_schema": OBJECT}, f"name: {NAMES}"),
        ({"name": "a\n", "input_schema": OBJECT}, f"name: {NAMES}"),
        ({"name": "a" * 129, "input_schema": OBJECT}, "name: String should have at most 128 characters"),
        ({"name": "t", "description": 3, "input_schema": OBJECT}, "description: Input should be a valid string"),
        ({"name": "t"}, "input_schema: Field required"),
        ({"name": "t", "input_schema": True}, "input_schema: Input should be a valid dictionary"),
        ({"name": "t", "input_schema": {}}, "input_schema.type: Field required"),
        ({"name": "t", "input_schema": {"$ref": "#/$defs/A"}}, "input_schema.type: Field required"),
        ({"name": "t", "input_schema": {"type": ["object", "null"]}}, "input_schema.type: Input should be 'object'"),
        ({"name": "t", "input_schema": {**OBJECT, "anyOf": [OBJECT]}}, f"input_schema: {ROOT}"),
        ({"name": "t", "input_schema": {**OBJECT, "oneOf": [OBJECT]}}, f"input_schema: {ROOT}"),
        ({"name": "t", "input_schema": {**OBJECT, "allOf": [OBJECT]}}, f"input_schema: {ROOT}"),
        (
            {"name": "t", "input_schema": {**OBJECT, "properties": []}},
            "input_schema.properties: Input should be a valid dictionary",
        ),
        ({"name": "t", "input_schema": {**OBJECT, "properties": {"$top": {}}}}, f"input_schema.properties: {KEYS}"),
        ({"name": "t", "input_schema": {**OBJECT, "properties": {"a" * 65: {}}}}, f"input_schema.properties: {KEYS}"),
        (
            {"name": "t", "input_schema": {**OBJECT, "required": "a"}},
            "input_schema.required: Input should be a valid list",
        ),
    ],
)
def test_a_tool_that_the_api_does_not_take_is_refused_with_its_place(
    server: MessagesServer, tool: dict[str, Any], problem: str
) -> None:
    good: dict[str, Any] = {
        "name": "good-1",
        "type": "custom",
        "input_schema": {**OBJECT, "properties": {"a.b": {"anyOf": [{}]}}},
    }
    status, answer = sent(server, {**GOOD, "tools": [good, tool]})
    assert (status, answer["error"]["type"]) == (400, "invalid_request_error")
    assert answer["error"]["message"] == f"tools.1.custom.{problem}"
    assert sent(server, {**GOOD, "tools": [good, {"type": "web_search_20250305", "name": "web_search"}]})[0] == 200


@pytest.mark.parametrize("field", ["model", "max_tokens", "messages"])
def test_a_missing_field_is_named(server: MessagesServer, field: str) -> None:
    status, answer = sent(server, {name: value for name, value in GOOD.items() if name != field})
    assert (status, answer["error"]["message"]) == (400, f"{field}: Field required")


def test_a_request_without_a_key_is_refused(server: MessagesServer) -> None:
    status, answer = sent(server, GOOD, headers={})
    assert (status, answer["error"]["type"]) == (401, "authentication_error")


@pytest.mark.parametrize("headers", [KEY, {"Authorization": "Bearer sk-test"}])
def test_a_key_or_a_token_opens_the_door(server: MessagesServer, headers: Mapping[str, str]) -> None:
    status, answer = sent(server, GOOD, headers=headers, path="/v1/messages?beta=true")
    assert (status, answer["content"]) == (200, [{"type": "text", "text": "fine"}])
    assert server.requests[0].path == "/v1/messages?beta=true"


@pytest.mark.parametrize("results", [[RESULT], [RESULT, HELLO], [HELLO, RESULT]])
def test_a_tool_call_with_its_result_is_taken(server: MessagesServer, results: list[dict[str, Any]]) -> None:
    status, _ = sent(server, {**GOOD, "messages": [HELLO, CALLED, *results]})
    assert status == 200


def test_counting_tokens_needs_no_limit_but_a_model(server: MessagesServer) -> None:
    counting = {"model": "claude-test", "messages": [HELLO]}
    assert sent(server, counting, path="/v1/messages/count_tokens")[0] == 200
    status, answer = sent(server, {"messages": [HELLO]}, path="/v1/messages/count_tokens")
    assert (status, answer["error"]["message"]) == (400, "model: Field required")


@pytest.mark.parametrize(("method", "path"), [("POST", "/v1/complete"), ("GET", "/v1/messages"), ("DELETE", "/")])
def test_an_unknown_address_is_not_found(server: MessagesServer, method: str, path: str) -> None:
    status, answer = sent(server, b"", method=method, path=path)
    assert (status, answer["error"]["type"]) == (404, "not_found_error")
    assert f"{method} {path}" in answer["error"]["message"]


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
