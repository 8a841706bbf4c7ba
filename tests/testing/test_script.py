"""How a script is followed, and what the server remembers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import anthropic
import pytest
from anthropic import Anthropic
from anthropic.types import Message, TextBlockParam

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


def test_a_block_of_any_other_kind_is_sent_as_it_is(chat_with: Chats) -> None:
    block = {"type": "redacted_thinking", "data": "c2VjcmV0"}
    assert dumped(chat_with([Reply(content=(block,))]).ask()) == [block]


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
