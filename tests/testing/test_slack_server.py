"""The loopback Slack as slack-sdk sees it: Web API, Socket Mode, and frames as RFC 6455 has them."""

from __future__ import annotations

import asyncio
import io
import json
import socket
import struct
import threading
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from typing import Any, cast
from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st
from slack_sdk.errors import SlackApiError
from slack_sdk.socket_mode.aiohttp import SocketModeClient
from slack_sdk.web.async_client import AsyncWebClient

from hikidashi.testing import SlackServer
from hikidashi.testing.slack._websocket import Opcode, accept_key, frame, read_frame

GENERAL, HANAKO, TARO, DIRECT = "C0GENERAL", "U0HANAKO", "U0TARO", "D0HANAKO"


@pytest.fixture
def slack() -> Iterator[SlackServer]:
    with SlackServer() as server:
        yield server


def client_of(slack: SlackServer, token: str | None = "xoxb-test") -> Any:
    return AsyncWebClient(token=token, base_url=slack.api_url, retry_handlers=[])


async def refusal(call: Any) -> dict[str, Any]:
    with pytest.raises(SlackApiError) as caught:
        await call
    return cast("dict[str, Any]", cast("Any", caught.value).response.data)


async def test_the_bot_token_says_who_the_bot_is(slack: SlackServer) -> None:
    who = await client_of(slack).auth_test()
    assert (who["user"], who["user_id"], who["bot_id"], who["team"]) == ("hikidashi", "U0BOT", "B0BOT", "Loopback")


@pytest.mark.parametrize(
    ("token", "error"),
    [(None, "not_authed"), ("xoxb-other", "invalid_auth"), ("xapp-test", "not_allowed_token_type")],
)
async def test_a_wrong_token_is_refused(slack: SlackServer, token: str | None, error: str) -> None:
    assert await refusal(client_of(slack, token).auth_test()) == {"ok": False, "error": error}


async def test_only_the_app_token_opens_a_socket(slack: SlackServer) -> None:
    client = client_of(slack)
    assert (await refusal(client.apps_connections_open(app_token="xoxb-test")))["error"] == "not_allowed_token_type"
    opened = await client.apps_connections_open(app_token="xapp-test")
    assert opened["url"].startswith("ws://127.0.0.1:")


async def test_people_see_replies_their_edits_and_reactions(slack: SlackServer) -> None:
    client = client_of(slack)
    question = slack.say(GENERAL, HANAKO, "Anybody there?")
    await client.reactions_add(channel=GENERAL, timestamp=question.ts, name="eyes")
    posted = await client.chat_postMessage(channel=GENERAL, thread_ts=question.ts, text="One moment")
    await client.chat_update(channel=GENERAL, ts=posted["ts"], text="Yes")
    asked, answered = slack.thread(GENERAL, question.ts)
    assert (asked.thread_ts, asked.reactions) == (question.ts, (("eyes", "U0BOT"),))
    assert (answered.user, answered.bot_id, answered.text) == ("U0BOT", "B0BOT", "Yes")
    assert answered.history == ("One moment", "Yes")
    await client.reactions_remove(channel=GENERAL, timestamp=question.ts, name="eyes")
    assert slack.thread(GENERAL, question.ts)[0].reactions == ()
    assert slack.ever_reacted(question) == ["eyes"]
    await client.chat_delete(channel=GENERAL, ts=answered.ts)
    assert [one.text for one in slack.messages(GENERAL)] == ["Anybody there?"]


async def test_what_slack_refuses_is_refused(slack: SlackServer) -> None:
    client = client_of(slack)
    theirs = slack.say(GENERAL, HANAKO, "Mine")
    own = (await client.chat_postMessage(channel=GENERAL, text="Ours"))["ts"]
    await client.reactions_add(channel=GENERAL, timestamp=own, name="eyes")
    refused = {
        "channel_not_found": client.chat_postMessage(channel="C0NOWHERE", text="x"),
        "no_text": client.api_call("chat.postMessage", json={"channel": GENERAL, "text": " "}),
        "msg_too_long": client.chat_update(channel=GENERAL, ts=own, text="x" * 4001),
        "message_not_found": client.chat_update(channel=GENERAL, ts="1.0", text="x"),
        "cant_update_message": client.chat_update(channel=GENERAL, ts=theirs.ts, text="x"),
        "cant_delete_message": client.chat_delete(channel=GENERAL, ts=theirs.ts),
        "already_reacted": client.reactions_add(channel=GENERAL, timestamp=own, name="eyes"),
        "no_reaction": client.reactions_remove(channel=GENERAL, timestamp=own, name="wave"),
        "invalid_name": client.reactions_add(channel=GENERAL, timestamp=own, name=":eyes:"),
        "thread_not_found": client.conversations_replies(channel=GENERAL, ts="1.0"),
        "invalid_cursor": client.conversations_replies(channel=GENERAL, ts=own, cursor="%"),
        "user_not_found": client.users_info(user="U0NOBODY"),
        "unknown_method": client.api_call("chat.shout"),
    }
    assert [(await refusal(call))["error"] for call in refused.values()] == list(refused)


async def test_a_post_beyond_40000_characters_is_shortened(slack: SlackServer) -> None:
    posted = await client_of(slack).chat_postMessage(channel=GENERAL, text="x" * 40_010)
    assert len(posted["message"]["text"]) == 40_000


@pytest.mark.parametrize(
    ("channel", "needed"), [(GENERAL, "channels:history"), (DIRECT, "im:history"), ("G0TEAM", "groups:history")]
)
async def test_a_missing_scope_is_named(channel: str, needed: str) -> None:
    with SlackServer(scopes=frozenset({"chat:write"}), channels={channel: "one"}) as slack:
        message = slack.say(channel, HANAKO, "Hello")
        assert await refusal(client_of(slack).conversations_replies(channel=channel, ts=message.ts)) == {
            "ok": False,
            "error": "missing_scope",
            "needed": needed,
            "provided": "chat:write",
        }


async def test_a_thread_is_read_page_by_page(slack: SlackServer) -> None:
    root = slack.say(GENERAL, HANAKO, "0")
    for number in range(1, 5):
        slack.say(GENERAL, TARO, str(number), thread_ts=root.ts)
    slack.say(GENERAL, TARO, "elsewhere")
    replies = await client_of(slack).conversations_replies(channel=GENERAL, ts=root.ts, limit=2)
    pages = [[message["text"] for message in page["messages"]] async for page in replies]
    assert pages == [["0", "1"], ["2", "3"], ["4"]]


async def test_the_history_of_a_channel_is_newest_first_and_leaves_replies_out(slack: SlackServer) -> None:
    first = slack.say(GENERAL, HANAKO, "first")
    slack.say(GENERAL, TARO, "reply", thread_ts=first.ts)
    slack.join(GENERAL, TARO)
    slack.say(GENERAL, HANAKO, "second")
    history = await client_of(slack).conversations_history(channel=GENERAL)
    assert [(one.get("subtype"), one["text"]) for one in history["messages"]] == [
        (None, "second"),
        ("channel_join", "<@U0TARO> has joined the channel"),
        (None, "first"),
    ]


async def test_names_of_people_and_of_the_bot(slack: SlackServer) -> None:
    client = client_of(slack)
    people = [(await client.users_info(user=user))["user"] for user in (HANAKO, "U0BOT")]
    assert [(one["profile"]["display_name"], one["is_bot"]) for one in people] == [
        ("Hanako", False),
        ("hikidashi", True),
    ]


async def test_a_limit_says_how_long_and_notices_who_does_not_wait(slack: SlackServer) -> None:
    client = client_of(slack)
    slack.limit("auth.test", retry_after=60)
    for _ in range(2):
        with pytest.raises(SlackApiError) as caught:
            await client.auth_test()
        response = cast("Any", caught.value).response
        assert (response.status_code, response["error"]) == (429, "ratelimited")
        assert 59 <= int(response.headers["Retry-After"]) <= 60
    assert [call.method for call in slack.too_early] == ["auth.test"]
    assert len(slack.calls_of("auth.test")) == 2


async def test_planned_trouble_happens_once(slack: SlackServer) -> None:
    client = client_of(slack)
    slack.refuse("users.info", "account_inactive")
    slack.break_down("users.info", status=503)
    assert await refusal(client.users_info(user=HANAKO)) == {"ok": False, "error": "account_inactive"}
    with pytest.raises(SlackApiError) as caught:
        await client.users_info(user=HANAKO)
    assert cast("Any", caught.value).response.status_code == 503
    assert (await client.users_info(user=HANAKO))["ok"]


async def test_a_held_call_is_answered_when_it_is_released(slack: SlackServer) -> None:
    released = threading.Event()
    slack.hold("auth.test", released)
    waiting = asyncio.create_task(client_of(slack).auth_test())
    await client_of(slack).users_info(user=HANAKO)
    assert not waiting.done()
    released.set()
    assert (await waiting)["ok"]


class Listener:
    """A Socket Mode client that acknowledges what it is told to."""

    def __init__(self, slack: SlackServer, *, acknowledges: bool = True) -> None:
        self.heard: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self.acknowledges = acknowledges
        self.client: Any = SocketModeClient(
            app_token="xapp-test", web_client=client_of(slack), ping_interval=0.5, auto_reconnect_enabled=True
        )
        self.client.message_listeners.append(self._hear)

    async def _hear(self, client: Any, message: dict[str, Any], raw: str | None) -> None:
        if self.acknowledges and "envelope_id" in message:
            await client.send_message(json.dumps({"envelope_id": message["envelope_id"]}))
        self.heard.put_nowait(message)

    async def next(self) -> dict[str, Any]:
        return await asyncio.wait_for(self.heard.get(), 20)


@asynccontextmanager
async def listening(slack: SlackServer, *, acknowledges: bool = True) -> AsyncGenerator[Listener]:
    listener = Listener(slack, acknowledges=acknowledges)
    await listener.client.connect()
    try:
        yield listener
    finally:
        await listener.client.close()
        tasks = (
            listener.client.message_processor,
            listener.client.current_session_monitor,
            listener.client.message_receiver,
        )
        await asyncio.gather(*tasks, return_exceptions=True)


async def test_a_mention_arrives_as_an_event_and_is_acknowledged(slack: SlackServer) -> None:
    async with listening(slack) as listener:
        hello = await listener.next()
        assert (hello["type"], hello["num_connections"]) == ("hello", 1)
        message = slack.say(GENERAL, HANAKO, f"{slack.mention} 検索して")
        envelope = await listener.next()
        assert (envelope["type"], envelope["retry_attempt"]) == ("events_api", 0)
        event = envelope["payload"]["event"]
        assert (event["type"], event["text"], event["ts"]) == ("app_mention", "<@U0BOT> 検索して", message.ts)
        await slack.until(lambda: slack.socket.deliveries[0].acknowledged)


async def test_what_was_said_before_the_app_came_waits_for_it(slack: SlackServer) -> None:
    slack.say(DIRECT, HANAKO, "Hello?")
    async with listening(slack) as listener:
        assert (await listener.next())["type"] == "hello"
        event = (await listener.next())["payload"]["event"]
        assert (event["type"], event["channel_type"], event["text"]) == ("message", "im", "Hello?")


async def test_an_app_hears_only_what_it_subscribed_to() -> None:
    with SlackServer(events=frozenset({"app_mention", "message.channels"})) as slack:
        slack.say(DIRECT, HANAKO, "unheard")
        said = slack.say(GENERAL, HANAKO, f"{slack.mention} heard twice")
        slack.edit(said, "changed")
        async with listening(slack) as listener:
            await listener.next()
            events = [(await listener.next())["payload"]["event"] for _ in range(3)]
    assert [(event["type"], event.get("subtype")) for event in events] == [
        ("app_mention", None),
        ("message", None),
        ("message", "message_changed"),
    ]
    assert events[2]["previous_message"]["text"] == "<@U0BOT> heard twice"


async def test_the_bots_own_posts_and_edits_are_events_too(slack: SlackServer) -> None:
    client = client_of(slack)
    posted = await client.chat_postMessage(channel=DIRECT, text="one")
    await client.chat_update(channel=DIRECT, ts=posted["ts"], text="two")
    async with listening(slack) as listener:
        await listener.next()
        first, second = [(await listener.next())["payload"]["event"] for _ in range(2)]
    assert (first["bot_id"], first["text"]) == ("B0BOT", "one")
    assert (second["subtype"], second["message"]["text"]) == ("message_changed", "two")


async def test_an_event_is_delivered_again_with_the_same_id(slack: SlackServer) -> None:
    async with listening(slack) as listener:
        await listener.next()
        first = slack.emit({"type": "app_mention"})
        slack.deliver_again(first)
        one, two = await listener.next(), await listener.next()
    assert one["envelope_id"] != two["envelope_id"]
    assert one["payload"]["event_id"] == two["payload"]["event_id"] == first.event_id
    assert (two["retry_attempt"], two["retry_reason"]) == (1, "timeout")


async def test_what_was_not_acknowledged_before_a_lost_connection_comes_again(slack: SlackServer) -> None:
    async with listening(slack, acknowledges=False) as listener:
        await listener.next()
        delivery = slack.emit({"type": "app_mention"})
        await listener.next()
        listener.acknowledges = True
        slack.socket.cut_all()
        await slack.until(lambda: slack.socket.connected == 0)
        heard = [await listener.next(), await listener.next()]
        assert [message["type"] for message in heard] == ["hello", "events_api"]
        assert (heard[1]["payload"]["event_id"], heard[1]["retry_attempt"]) == (delivery.event_id, 1)
        await slack.until(lambda: slack.socket.deliveries[-1].acknowledged)


@pytest.mark.parametrize("end", ["ask_to_leave", "close_all"])
async def test_a_client_that_is_asked_to_leave_comes_back(slack: SlackServer, end: str) -> None:
    async with listening(slack) as listener:
        await listener.next()
        if end == "ask_to_leave":
            slack.ask_to_leave("refresh_requested")
        else:
            slack.socket.close_all()
        await slack.until(lambda: slack.socket.opened == 2 and slack.socket.connected == 1)


async def test_an_address_is_good_for_one_connection(slack: SlackServer) -> None:
    url = (await client_of(slack).apps_connections_open(app_token="xapp-test"))["url"]
    assert await asyncio.to_thread(handshake, url) == b"HTTP/1.1 101 Switching Protocols"
    assert await asyncio.to_thread(handshake, url) == b"HTTP/1.1 403 Forbidden"


KEY = "dGhlIHNhbXBsZSBub25jZQ=="  # the example of RFC 6455


def connect(url: str, head: str) -> socket.socket:
    parts = urlsplit(url)
    connection = socket.create_connection(("127.0.0.1", parts.port or 0), timeout=20)
    connection.sendall(head.format(target=f"{parts.path}?{parts.query}").encode())
    return connection


UPGRADE = (
    "GET {target} HTTP/1.1\r\nHost: loopback\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    f"Sec-WebSocket-Key: {KEY}\r\nSec-WebSocket-Version: 13\r\n\r\n"
)


def handshake(url: str) -> bytes:
    with connect(url, UPGRADE) as connection, connection.makefile("rb") as answer:
        return answer.readline().strip()


def masked(opcode: int, data: bytes, *, last: bool = True, mask: bytes = b"\x01\x02\x03\x04") -> bytes:
    plain = frame(Opcode(opcode), data)
    head, length = plain[0] if last else plain[0] & 0x7F, plain[1 : len(plain) - len(data)]
    hidden = bytes(byte ^ mask[at % 4] for at, byte in enumerate(data))
    return bytes([head, length[0] | 0x80]) + length[1:] + mask + hidden


def test_the_key_is_answered_as_in_the_rfc() -> None:
    assert accept_key(KEY) == "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="


@given(data=st.binary(max_size=70_000), mask=st.binary(min_size=4, max_size=4), last=st.booleans())
def test_a_masked_frame_is_read_as_it_was_meant(data: bytes, mask: bytes, last: bool) -> None:
    source = io.BytesIO(masked(Opcode.TEXT, data, last=last, mask=mask))
    assert read_frame(source) == (last, Opcode.TEXT, data)
    assert source.read() == b""


@pytest.mark.parametrize("size", [0, 125, 126, 65_535, 65_536, 200_000])
def test_frames_of_every_length_are_read(size: int) -> None:
    assert read_frame(io.BytesIO(masked(Opcode.BINARY, b"x" * size)))[2] == b"x" * size


@pytest.mark.parametrize("data", [frame(Opcode.TEXT, b"unmasked"), masked(Opcode.TEXT, b"cut")[:-1], b"\x81"])
def test_a_frame_that_is_not_masked_or_not_whole_ends_the_connection(data: bytes) -> None:
    with pytest.raises(ConnectionError):
        read_frame(io.BytesIO(data))


def test_a_message_may_come_in_fragments_with_a_ping_between(slack: SlackServer) -> None:
    delivery = slack.emit({"type": "app_mention"})
    with connect(slack.socket.ticket(), UPGRADE) as connection, connection.makefile("rb") as answer:
        while answer.readline().strip():
            pass
        hello, _event = server_frame(answer), server_frame(answer)
        assert json.loads(hello[1])["type"] == "hello"
        envelope = slack.socket.deliveries[0].envelope_id
        connection.sendall(masked(Opcode.TEXT, b'{"envelope_id": "unknown"}') + masked(Opcode.TEXT, b"[]"))
        half, rest = f'{{"envelope_id": "{envelope}'.encode(), b'"}'
        connection.sendall(masked(Opcode.TEXT, half, last=False) + masked(Opcode.PING, b"still there?"))
        connection.sendall(masked(Opcode.PONG, b"") + masked(Opcode.CONTINUATION, rest))
        assert server_frame(answer) == (Opcode.PONG, b"still there?")
        assert slack.wait_for(lambda: slack.socket.deliveries[0].acknowledged)
        connection.sendall(masked(Opcode.CLOSE, struct.pack("!H", 1000)))
        assert server_frame(answer) == (Opcode.CLOSE, struct.pack("!H", 1000))
    assert delivery.event_id == "Ev00000001"


def server_frame(source: Any) -> tuple[int, bytes]:
    first, length = source.read(2)
    if length == 126:
        (length,) = struct.unpack("!H", source.read(2))
    return first & 0x0F, source.read(length)


@pytest.mark.parametrize(
    ("head", "answer"),
    [
        ("GET {target} HTTP/1.1\r\nHost: loopback\r\n\r\n", b"HTTP/1.1 400 Bad Request"),
        ("hello\r\n\r\n", b""),
        ("GET {target} HTTP/1.1\r\nHost: loop", b""),
    ],
)
def test_what_is_no_websocket_is_turned_away(slack: SlackServer, head: str, answer: bytes) -> None:
    with connect(slack.socket.ticket(), head) as connection, connection.makefile("rb") as read:
        connection.shutdown(socket.SHUT_WR)
        assert read.readline().strip() == answer
    assert slack.socket.opened == 0


@pytest.mark.parametrize("broken", [b"\x83\x80\0\0\0\0", masked(Opcode.TEXT, b"{")])
def test_a_client_that_does_not_keep_to_the_protocol_is_cut_off(slack: SlackServer, broken: bytes) -> None:
    with connect(slack.socket.ticket(), UPGRADE) as connection, connection.makefile("rb") as answer:
        connection.sendall(broken)
        answer.read()
    assert slack.wait_for(lambda: slack.socket.connected == 0)


def test_a_server_that_closes_hangs_up() -> None:
    slack = SlackServer().start().start()
    with connect(slack.socket.ticket(), UPGRADE) as connection, connection.makefile("rb") as answer:
        assert slack.wait_for(lambda: slack.socket.connected == 1)
        slack.close()
        assert answer.read().startswith(b"HTTP/1.1 101")
    slack.close()


async def test_waiting_for_what_never_happens_says_what_did(slack: SlackServer) -> None:
    slack.say(GENERAL, HANAKO, "only this")
    with pytest.raises(TimeoutError, match="only this"):
        await slack.until(lambda: False, seconds=0.01)


def test_a_server_that_is_not_running_says_so() -> None:
    with pytest.raises(RuntimeError, match="not running"):
        SlackServer().emit({"type": "app_mention"})
