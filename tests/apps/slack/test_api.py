"""Slack's Web API: limits, retries, errors; a message that grows with the answer."""

from __future__ import annotations

import asyncio
import importlib
import pickle
import socket
import sys
import threading
from collections.abc import AsyncGenerator, Iterator

import pytest

from hikidashi.apps.slack.answer import LiveMessage
from hikidashi.apps.slack.api import SlackAPI, _retry_after, proxy_for
from hikidashi.errors import HikidashiError, MissingExtra, SlackError
from hikidashi.testing import SlackMessage, SlackServer


@pytest.fixture
def slack() -> Iterator[SlackServer]:
    with SlackServer() as server:
        yield server


@pytest.fixture
async def api(slack: SlackServer) -> AsyncGenerator[SlackAPI]:
    api = SlackAPI(slack.bot_token, base_url=slack.api_url, patience=5)
    yield api
    await api.aclose()


async def test_a_limited_method_waits_for_everybody_and_others_go_on(slack: SlackServer, api: SlackAPI) -> None:
    slack.limit("auth.test", retry_after=1)
    with pytest.raises(SlackError, match="ratelimited"):
        await api.attempt("auth.test")
    assert 0 < api.wait_of("auth.test") <= 1
    assert api.wait_of("users.info") == 0
    assert (await api.call("users.info", user="U0HANAKO"))["ok"]
    assert (await api.call("auth.test"))["ok"]
    assert slack.too_early == []


async def test_nobody_waits_longer_than_patience(slack: SlackServer, api: SlackAPI) -> None:
    slack.limit("auth.test", retry_after=60)
    with pytest.raises(SlackError, match=r"ratelimited \(asks to wait 60 s\)\. Slack asked to wait for too long"):
        await api.call("auth.test")
    assert len(slack.calls) == 1


async def test_a_limit_without_a_time_is_a_second(slack: SlackServer, api: SlackAPI) -> None:
    slack.refuse("auth.test", "ratelimited")
    with pytest.raises(SlackError):
        await api.attempt("auth.test")
    assert 0 < api.wait_of("auth.test") <= 1


@pytest.mark.parametrize(("header", "seconds"), [("7", 7), ("soon", 1), ("-3", 0)])
def test_how_long_to_wait_is_read_from_the_header(header: str, seconds: float) -> None:
    assert _retry_after({"Retry-After": header}) == seconds


async def test_a_refusal_is_not_tried_again(slack: SlackServer, api: SlackAPI) -> None:
    with pytest.raises(SlackError) as caught:
        await api.call("chat.postMessage", channel="C0NOWHERE", text="hello")
    assert (caught.value.method, caught.value.code) == ("chat.postMessage", "channel_not_found")
    assert len(slack.calls) == 1


async def test_a_lost_connection_is_tried_again_unless_something_was_posted() -> None:
    with _Deaf() as deaf:
        api = SlackAPI("xoxb-test", base_url=deaf.url)
        try:
            for method, tries in (("chat.update", 3), ("chat.postMessage", 1)):
                deaf.accepted = 0
                with pytest.raises(SlackError) as caught:
                    await api.call(method)
                assert (caught.value.code, deaf.accepted) == ("connection_lost", tries)
        finally:
            await api.aclose()


class _Deaf:
    """Takes connections and hangs up without a word."""

    def __init__(self) -> None:
        self.accepted = 0
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}/api/"
        self._thread = threading.Thread(target=self._serve, daemon=True)

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self.accepted += 1
            connection.recv(65_536)
            connection.close()

    def __enter__(self) -> _Deaf:
        self._thread.start()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        self._listener.close()


def test_the_proxy_is_the_environments_except_where_it_says_none(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("https_proxy", "HTTPS_PROXY", "http_proxy", "HTTP_PROXY", "no_proxy", "NO_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    assert proxy_for("https://slack.com/api/") is None
    monkeypatch.setenv("https_proxy", "http://proxy.example:3128")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    assert proxy_for("https://slack.com/api/") == "http://proxy.example:3128"
    assert proxy_for("http://127.0.0.1:8000/api/") is None
    assert proxy_for("http://slack.example/api/") is None


def test_an_error_says_what_to_do_and_survives_a_pickle() -> None:
    error = SlackError("reactions.add", "missing_scope", "reactions:write")
    again = pickle.loads(pickle.dumps(error))
    assert isinstance(again, HikidashiError)
    assert (
        str(again)
        == str(error)
        == (
            "Slack: `reactions.add` failed with missing_scope. "
            "Add the scope `reactions:write` to the Slack app and install it again."
        )
    )
    assert str(SlackError("chat.update", "new_code")) == "Slack: `chat.update` failed with new_code."


@pytest.mark.parametrize("missing", ["slack_sdk.errors", "slack_bolt"])
def test_without_the_extra_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch, missing: str) -> None:
    for name in [name for name in sys.modules if name.startswith(missing)]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, missing, None)
    monkeypatch.delitem(sys.modules, "hikidashi.apps.slack.api", raising=False)
    with pytest.raises(MissingExtra, match=r"pip install 'hikidashi\[slack\]'"):
        importlib.import_module("hikidashi.apps.slack.api")


GENERAL = "C0GENERAL"


@pytest.fixture
def question(slack: SlackServer) -> SlackMessage:
    return slack.say(GENERAL, "U0HANAKO", "hello")


@pytest.fixture
async def patient(slack: SlackServer) -> AsyncGenerator[SlackAPI]:
    patient = SlackAPI(slack.bot_token, base_url=slack.api_url)
    yield patient
    await patient.aclose()


async def test_only_what_changed_is_sent(slack: SlackServer, question: SlackMessage, patient: SlackAPI) -> None:
    live = LiveMessage(patient, GENERAL, question.ts, pause=lambda: 0.01)
    await live.open("one")
    asked = asyncio.Event()

    def unchanged() -> str:
        asked.set()
        return "one"

    live.show(unchanged)
    await asked.wait()
    live.show(lambda: "two")
    await slack.until(lambda: slack.calls_of("chat.update"))
    assert await live.finish("three") == 1
    assert slack.thread(GENERAL, question.ts)[1].history == ("one", "two", "three")


async def test_an_update_in_between_waits_while_another_answer_is_limited(
    slack: SlackServer, question: SlackMessage, patient: SlackAPI
) -> None:
    live = LiveMessage(patient, GENERAL, question.ts, pause=lambda: 0.01)
    await live.open("one")
    slack.limit("chat.update", retry_after=1)
    with pytest.raises(SlackError, match="ratelimited"):
        await patient.attempt("chat.update", channel=GENERAL, ts=question.ts, text="of another answer")
    live.show(lambda: "two")
    await slack.until(lambda: "two" in slack.thread(GENERAL, question.ts)[1].history)
    await live.finish("three")
    assert slack.too_early == []


async def test_of_a_long_answer_people_see_the_end_and_then_all_of_it(
    slack: SlackServer, question: SlackMessage, patient: SlackAPI
) -> None:
    long = "\n\n".join(f"{number:04} " + "x" * 90 for number in range(100))
    live = LiveMessage(patient, GENERAL, question.ts, pause=lambda: 0.01)
    await live.open("one")
    live.show(lambda: long)
    await slack.until(lambda: slack.thread(GENERAL, question.ts)[1].text.endswith("0099 " + "x" * 90))
    assert await live.finish(long) == 3
    assert "\n\n".join(one.text for one in slack.thread(GENERAL, question.ts)[1:]) == long


async def test_a_message_may_be_finished_without_being_opened(
    slack: SlackServer, question: SlackMessage, patient: SlackAPI
) -> None:
    live = LiveMessage(patient, GENERAL, question.ts, pause=lambda: 0.01)
    assert await live.finish("all") == 1
    assert slack.thread(GENERAL, question.ts)[1].history == ("all",)
