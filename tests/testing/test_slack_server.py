"""The loopback Slack as slack-sdk sees it: Web API and Socket Mode."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from typing import Any, cast

import pytest
from aiohttp import ClientError, ClientSession, WSMsgType, WSServerHandshakeError
from slack_sdk.errors import SlackApiError
from slack_sdk.socket_mode.aiohttp import SocketModeClient
from slack_sdk.web.async_client import AsyncWebClient

from hikidashi.testing import SlackServer

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
    async with ClientSession() as session:
        async with session.ws_connect(url) as connection:
            assert (await connection.receive_json())["type"] == "hello"
        with pytest.raises(WSServerHandshakeError, match="403"):
            await session.ws_connect(url)


async def test_what_is_no_websocket_is_turned_away_and_keeps_its_address(slack: SlackServer) -> None:
    url = slack.socket.ticket()
    async with ClientSession() as session:
        async with session.get(url.replace("ws:", "http:")) as answer:
            assert answer.status == 400
        assert slack.socket.opened == 0
        async with session.ws_connect(url):
            await slack.until(lambda: slack.socket.opened == 1)


async def test_an_acknowledgement_that_names_no_envelope_changes_nothing_and_no_json_is_cut_off(
    slack: SlackServer,
) -> None:
    slack.emit({"type": "app_mention"})
    async with ClientSession() as session, session.ws_connect(slack.socket.ticket()) as connection:
        assert [(await connection.receive_json())["type"] for _ in range(2)] == ["hello", "events_api"]
        for text in ('{"envelope_id": "unknown"}', "[]", "{"):
            await connection.send_str(text)
        assert (await connection.receive()).type is WSMsgType.CLOSE
    await slack.until(lambda: slack.socket.connected == 0)
    assert not slack.socket.deliveries[0].acknowledged


async def test_a_server_that_closes_hangs_up_and_a_held_call_too() -> None:
    slack = SlackServer().start().start()
    slack.hold("auth.test", threading.Event())
    waiting = asyncio.create_task(client_of(slack).auth_test())
    async with ClientSession() as session, session.ws_connect(slack.socket.ticket()) as connection:
        await slack.until(lambda: slack.socket.connected == 1 and slack.held == 1)
        slack.close()
        assert (await connection.receive_json())["type"] == "hello"
        assert (await connection.receive()).type is WSMsgType.CLOSED
    with pytest.raises(ClientError):
        await waiting
    slack.close()


async def test_a_mistake_in_a_call_fails_the_test() -> None:
    slack = SlackServer().start()
    with pytest.raises(SlackApiError):
        await client_of(slack).conversations_history(channel=GENERAL, limit="many")
    with pytest.raises(ValueError, match="many"):
        slack.__exit__(None, None, None)


async def test_waiting_for_what_never_happens_says_what_did(slack: SlackServer) -> None:
    slack.say(GENERAL, HANAKO, "only this")
    with pytest.raises(TimeoutError, match="only this"):
        await slack.until(lambda: False, seconds=0.01)


def test_a_server_that_is_not_running_says_so() -> None:
    with pytest.raises(RuntimeError, match="not running"):
        SlackServer().emit({"type": "app_mention"})
