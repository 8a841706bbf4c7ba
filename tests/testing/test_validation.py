"""What the Messages API refuses, with the status and the words of the real one."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

import pytest

from hikidashi.testing import MessagesServer

HELLO: dict[str, Any] = {"role": "user", "content": "Hello?"}
CALLED: dict[str, Any] = {
    "role": "assistant",
    "content": [{"type": "tool_use", "id": "toolu_1", "name": "add", "input": {}}],
}
RESULT: dict[str, Any] = {
    "role": "user",
    "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "3"}],
}
GOOD: dict[str, Any] = {"model": "claude-test", "max_tokens": 100, "messages": [HELLO]}
KEY = {"x-api-key": "sk-test"}


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
