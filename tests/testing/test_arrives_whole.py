"""Whatever a reply holds arrives whole at the anthropic client, plain and streamed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from anthropic import Anthropic
from anthropic.types import MessageParam
from hypothesis import given, settings
from hypothesis import strategies as st

from hikidashi.testing import MessagesServer, Reply, call, say, think, turn

QUESTION: list[MessageParam] = [{"role": "user", "content": "Hello?"}]

json_values: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
parts = st.one_of(
    st.builds(say, st.text()),
    st.builds(think, st.text()),
    st.builds(call, st.just("add"), st.dictionaries(st.text(), json_values), id=st.just("toolu_1")),
)


class Echo:
    """A server that gives each reply it is handed, and a client that asks for it."""

    def __init__(self, client: Anthropic, replies: list[Reply]) -> None:
        self._client = client
        self._replies = replies

    def plain(self, reply: Reply) -> list[dict[str, Any]]:
        self._replies.append(reply)
        message = self._client.messages.create(model="claude-test", max_tokens=9, messages=QUESTION)
        return [block.to_dict() for block in message.content]

    def streamed(self, reply: Reply) -> list[dict[str, Any]]:
        self._replies.append(reply)
        with self._client.messages.stream(model="claude-test", max_tokens=9, messages=QUESTION) as stream:
            return [block.to_dict() for block in stream.get_final_message().content]


@pytest.fixture(scope="module")
def echo() -> Iterator[Echo]:
    replies: list[Reply] = []
    with (
        MessagesServer(lambda _: replies.pop()) as server,
        Anthropic(base_url=server.url, api_key="sk-test") as client,
    ):
        yield Echo(client, replies)


@given(pieces=st.lists(parts, min_size=1, max_size=4), chunk=st.none() | st.integers(1, 9))
@settings(max_examples=60)
def test_any_reply_arrives_whole(echo: Echo, pieces: list[Reply], chunk: int | None) -> None:
    reply = turn(*pieces) if chunk is None else turn(*pieces, chunk=chunk)
    assert echo.plain(reply) == list(reply.content)
    assert echo.streamed(reply) == list(reply.content)


@pytest.mark.parametrize(
    "text", ["行\u2028\u2029\x85\r\n\x00\ufeff", "👨‍👩‍👧‍👦" * 3, 'data: {"type": "message_stop"}\n\n']
)
def test_text_that_looks_like_the_protocol_arrives_whole(echo: Echo, text: str) -> None:
    assert echo.streamed(say(text, chunk=1)) == [{"type": "text", "text": text}]


def test_a_block_that_has_no_deltas_arrives_whole(echo: Echo) -> None:
    block = {"type": "redacted_thinking", "data": "c2VjcmV0"}
    assert echo.streamed(Reply(content=(block,))) == [block]


def test_half_of_a_surrogate_pair_does_not_break_the_stream(echo: Echo) -> None:
    assert echo.streamed(turn("before", "\ud83d", "after"))[2]["text"] == "after"


def test_a_megabyte_arrives_in_few_pieces(echo: Echo) -> None:
    text = "あ" * 350_000
    assert echo.plain(say(text)) == echo.streamed(say(text)) == [{"type": "text", "text": text}]
