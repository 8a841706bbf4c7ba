"""How a script is followed, what the server remembers, and that every reply arrives whole."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import anthropic
import pytest
from anthropic import Anthropic
from anthropic.types import Message, MessageParam, TextBlockParam
from hypothesis import given, settings
from hypothesis import strategies as st

from hikidashi.testing import Answer, MessagesServer, RecordedRequest, Reply, Script, TokenUsage, call, say, think, turn


def dumped(message: Message) -> list[dict[str, Any]]:
    return [block.to_dict() for block in message.content]


class Chat:
    """A client that asks short questions of one server."""

    def __init__(self, server: MessagesServer, client: Anthropic) -> None:
        self.server = server
        self._client = client

    def ask(
        self, question: str = "Hello?", *, offering: tuple[str, ...] = (), system: Sequence[TextBlockParam] = ()
    ) -> Message:
        return self._client.messages.create(
            model="claude-test",
            max_tokens=100,
            messages=[{"role": "user", "content": question}],
            tools=[{"name": name, "input_schema": {"type": "object"}} for name in offering],
            system=list(system),
        )

    def text(self, question: str = "Hello?") -> str:
        return dumped(self.ask(question))[0]["text"]


class Chats:
    def __init__(self) -> None:
        self._open: list[tuple[MessagesServer, Anthropic]] = []

    def __call__(self, script: Script) -> Chat:
        server = MessagesServer(script).start()
        client = Anthropic(base_url=server.url, api_key="sk-test")
        self._open.append((server, client))
        return Chat(server, client)

    def close(self) -> None:
        for server, client in self._open:
            client.close()
            server.close()


@pytest.fixture
def chat_with() -> Iterator[Chats]:
    chats = Chats()
    yield chats
    chats.close()


def test_answers_are_taken_in_order(chat_with: Chats) -> None:
    chat = chat_with([say("one"), "two", lambda request: f"three after {request.text}"])
    assert chat.server.remaining == 3
    assert [chat.text(), chat.text(), chat.text("you")] == ["one", "two", "three after you"]
    assert (chat.server.remaining, chat.server.exhausted) == (0, False)


def test_a_function_answers_every_request(chat_with: Chats) -> None:
    chat = chat_with(lambda request: request.text.upper())
    assert [chat.text("a"), chat.text("b")] == ["A", "B"]


@pytest.mark.parametrize("script", ["hello", say("hello")])
def test_a_single_answer_is_a_script_of_one(script: Script, chat_with: Chats) -> None:
    chat = chat_with(script)
    assert (chat.text(), chat.server.remaining) == ("hello", 0)


def test_a_script_that_is_used_up_says_so_at_once(chat_with: Chats) -> None:
    chat = chat_with(["one"])
    chat.ask()
    with pytest.raises(anthropic.InternalServerError, match="The script is used up: it had 1 answers"):
        chat.ask()
    assert chat.server.exhausted
    assert len(chat.server.requests) == 2  # the client was told not to try again


def test_what_a_script_raises_is_raised_again_when_the_block_ends() -> None:
    def picky(request: RecordedRequest) -> Answer:
        raise AssertionError(f"did not expect {request.text!r}")

    def ask_once() -> None:
        with MessagesServer(picky) as server, Anthropic(base_url=server.url, api_key="sk-test") as client:
            with pytest.raises(anthropic.InternalServerError, match="AssertionError: did not expect 'Hello"):
                Chat(server, client).ask()
            assert [str(error) for error in server.failures] == ["did not expect 'Hello?'"]

    with pytest.raises(AssertionError, match="did not expect"):
        ask_once()


def test_what_a_script_raises_is_noted_on_the_error_that_ends_the_block() -> None:
    def broken(_: RecordedRequest) -> Answer:
        raise LookupError("no such line")

    with (
        pytest.raises(anthropic.InternalServerError) as raised,
        MessagesServer(broken) as server,
        Anthropic(base_url=server.url, api_key="sk-test") as client,
    ):
        Chat(server, client).ask()
    note = "Earlier, answering a request to the MessagesServer raised LookupError('no such line')."
    assert raised.value.__notes__ == [note]


def test_an_answer_of_a_wrong_type_is_refused_when_the_script_is_given() -> None:
    with pytest.raises(TypeError, match="a Reply, a Fault or a str, got 3"):
        MessagesServer([3])  # pyright: ignore[reportArgumentType]


def test_an_answer_of_a_wrong_type_from_a_function_is_told_to_the_client(chat_with: Chats) -> None:
    chat = chat_with(lambda _: 3)  # pyright: ignore[reportArgumentType,reportReturnType]
    with pytest.raises(anthropic.InternalServerError, match="a Reply, a Fault or a str, got 3"):
        chat.ask()


@pytest.mark.parametrize(
    ("name", "offered", "sent"),
    [
        ("add", ("add", "mcp__x__add"), "add"),
        ("add", ("mcp__sums__add", "mcp__sums__sub"), "mcp__sums__add"),
        ("add", ("mcp__a__add", "mcp__b__add"), "add"),
        ("add", ("badd",), "add"),
        ("add", (), "add"),
    ],
)
def test_a_call_finds_the_offered_tool(name: str, offered: tuple[str, ...], sent: str, chat_with: Chats) -> None:
    message = chat_with([call(name)]).ask(offering=offered)
    assert dumped(message)[0]["name"] == sent


def test_each_call_has_an_id_of_its_own_unless_one_is_given(chat_with: Chats) -> None:
    reply = turn(call("add"), call("add"), call("add", id="toolu_mine"))
    chat = chat_with([reply, reply])
    ids = [block["id"] for _ in range(2) for block in dumped(chat.ask())]
    assert len(set(ids)) == 5
    assert ids[2] == ids[5] == "toolu_mine"
    assert all(tool_id.startswith("toolu_") for tool_id in ids)


def test_a_turn_joins_the_content_of_its_parts() -> None:
    joined = turn(think("Hm."), "Yes.", call("add", {"a": 1}), stop_reason="max_tokens", delay=1)
    assert joined == Reply(
        content=(*think("Hm.").content, *say("Yes.").content, *call("add", {"a": 1}).content),
        stop_reason="max_tokens",
        delay=1,
    )


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (say("x"), "end_turn"),
        (turn("x", call("add")), "tool_use"),
        (call("add", stop_reason="max_tokens"), "max_tokens"),
    ],
)
def test_the_stop_reason_follows_from_the_content(reply: Reply, reason: str, chat_with: Chats) -> None:
    assert chat_with([reply]).ask().stop_reason == reason


def test_usage_is_estimated_where_it_is_not_given(chat_with: Chats) -> None:
    chat = chat_with([say("x" * 400), say("x", usage=TokenUsage(input_tokens=7, cache_read_input_tokens=5))])
    estimated, given = chat.ask().usage, chat.ask().usage
    assert estimated.input_tokens == -(-chat.server.requests[0].size // 4)
    assert estimated.output_tokens > 100
    assert (given.input_tokens, given.cache_read_input_tokens, given.cache_creation_input_tokens) == (7, 5, 0)


@pytest.mark.parametrize("value", [float("nan"), object()])
def test_the_input_of_a_call_must_be_json(value: object) -> None:
    with pytest.raises(ValueError, match=r"The input of a call to 'add' is not JSON: .* Use plain JSON values"):
        call("add", {"a": value})


def test_a_chunk_has_at_least_one_character() -> None:
    with pytest.raises(ValueError, match="must be at least 1, got 0"):
        say("x", chunk=0)


def test_a_request_is_recorded_as_it_came(chat_with: Chats) -> None:
    chat = chat_with(["fine"])
    chat.ask("Hello?", offering=("add",), system=[{"type": "text", "text": "Be"}, {"type": "text", "text": "kind."}])
    (request,) = chat.server.requests
    assert (request.path, request.model, request.stream) == ("/v1/messages", "claude-test", False)
    assert request.messages == [{"role": "user", "content": "Hello?"}]
    assert (request.text, request.system_text) == ("Hello?", "Be\nkind.")
    assert request.tools == [{"name": "add", "input_schema": {"type": "object"}}]
    assert (request.tool_names, request.tool_results) == (["add"], [])
    assert request.headers["content-type"] == "application/json"
    assert request.size == int(request.headers["content-length"])


def test_the_environment_of_the_cli_is_private(chat_with: Chats, tmp_path: Path) -> None:
    server = chat_with([]).server
    env = server.env(tmp_path / "home")
    assert (env["HOME"], env["ANTHROPIC_BASE_URL"]) == (str(tmp_path / "home"), server.url)
    assert env["CLAUDE_CONFIG_DIR"].startswith(env["HOME"])
    assert (tmp_path / "home" / ".claude").is_dir()


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
    reply = Reply(content=(block,))
    assert echo.plain(reply) == echo.streamed(reply) == [block]


def test_half_of_a_surrogate_pair_does_not_break_the_stream(echo: Echo) -> None:
    assert echo.streamed(turn("before", "\ud83d", "after"))[2]["text"] == "after"


def test_a_megabyte_arrives_in_few_pieces(echo: Echo) -> None:
    text = "あ" * 350_000
    assert echo.plain(say(text)) == echo.streamed(say(text)) == [{"type": "text", "text": text}]
