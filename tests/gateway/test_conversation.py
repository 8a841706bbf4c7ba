"""What a client is told, and a new daemon is told, when the daemon between them is lost."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from hikidashi.gateway.shim import Conversation

IDS = st.integers(0, 50) | st.text(max_size=5)


def line(**message: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", **message}, separators=(",", ":")).encode() + b"\n"


@given(st.lists(st.tuples(IDS, st.booleans(), st.booleans()), unique_by=lambda one: one[0]))
def test_each_request_is_answered_once_by_the_daemon_or_with_an_error(given: list[tuple[Any, bool, bool]]) -> None:
    spoken = Conversation()
    for id_, _, _ in given:
        assert spoken.client_sends(line(id=id_, method="tools/call", params={"name": "a"}))
    for id_, is_answered, in_order in given:
        if is_answered:  # the daemon writes its fields in one order, and another one would do
            result = {"result": {"id": "other", "method": "none"}}
            spoken.daemon_sends(line(id=id_, **result) if in_order else line(**result, id=id_))

    told = spoken.give_up("Gone.")

    assert [message["id"] for message in told] == [id_ for id_, is_answered, _ in given if not is_answered]
    assert all(message["error"]["code"] == -32603 for message in told)
    assert spoken.give_up("Gone.") == []


@given(st.binary() | st.recursive(st.none() | st.text(), st.lists).map(lambda value: json.dumps(value).encode()))
@example(b"[" * 100_000)
@example(b"{}")
@example(b'{"id": 5}')
def test_a_line_that_is_no_message_is_for_the_daemon_to_refuse(sent: bytes) -> None:
    spoken = Conversation()

    assert spoken.client_sends(sent)
    spoken.daemon_sends(sent)

    assert spoken.give_up("Gone.") == []


def test_an_answer_to_a_question_of_a_lost_daemon_does_not_reach_the_next_one() -> None:
    spoken = Conversation()
    spoken.daemon_sends(line(id=7, method="elicitation/create", params={}))
    (told,) = spoken.give_up("Gone.")

    assert told == {"method": "notifications/cancelled", "params": {"requestId": 7}}
    assert not spoken.client_sends(line(id=7, result={"action": "accept"}))
    spoken.daemon_sends(line(id=7, method="elicitation/create", params={}))
    assert spoken.client_sends(line(id=7, result={"action": "accept"}))


def test_a_new_daemon_is_told_of_the_session_as_it_is_now() -> None:
    spoken = Conversation()
    for id_, (method, params) in enumerate(
        [
            ("initialize", {"protocolVersion": "2025-06-18"}),
            ("logging/setLevel", {"level": "debug"}),
            ("logging/setLevel", {"level": "error"}),
            ("resources/subscribe", {"uri": "note://one"}),
            ("resources/subscribe", {"uri": "note://two"}),
            ("resources/unsubscribe", {"uri": "note://one"}),
        ]
    ):
        spoken.client_sends(line(id=id_, method=method, params=params))
    assert spoken.beginning("own") == []  # a daemon that answered no `initialize` leaves it to be sent as it is
    spoken.daemon_sends(line(id=0, result={}))
    spoken.client_sends(line(method="notifications/initialized"))

    assert spoken.beginning("own") == [
        {"jsonrpc": "2.0", "id": "own 0", "method": "initialize", "params": {"protocolVersion": "2025-06-18"}},
        {"method": "notifications/initialized"},
        {"id": "own 1", "method": "logging/setLevel", "params": {"level": "error"}},
        {"id": "own 2", "method": "resources/subscribe", "params": {"uri": "note://two"}},
    ]
    assert [change["method"] for change in spoken.changes()] == [
        f"notifications/{one}/list_changed" for one in ("tools", "prompts", "resources")
    ]


def test_a_client_without_a_session_has_nothing_to_tell_a_new_daemon() -> None:
    spoken = Conversation()
    spoken.client_sends(line(id=1, method="tools/list", params={"_meta": {}}))

    assert (spoken.beginning("own"), spoken.changes()) == ([], [])


def test_a_session_that_was_refused_is_not_opened_at_a_new_daemon() -> None:
    refused, granted = Conversation(), Conversation()
    for spoken in (refused, granted):
        spoken.client_sends(line(id=1, method="server/discover"))
        spoken.client_sends(line(id=2, method="initialize", params={}))
    granted.daemon_sends(line(id=1, error={"code": -32601, "message": "no"}))
    refused.daemon_sends(line(id=2, error={"code": -32600, "message": "no"}))
    granted.daemon_sends(line(id=2, result={}))

    assert refused.beginning("again") == []
    assert [message["method"] for message in granted.beginning("again")] == ["initialize"]
