"""What a person reads, and what the log says, of each way to fail."""

from __future__ import annotations

import typing

import pytest
from botocore.exceptions import (  # pyright: ignore[reportMissingTypeStubs]
    ClientError,
    EndpointConnectionError,
    NoCredentialsError,
)
from hypothesis import given
from hypothesis import strategies as st

from hikidashi.apps.failures import Kind, UnansweredError, cause_of, kind_of, sentence, short_cause
from hikidashi.apps.responder import Message, turns_of
from hikidashi.errors import ClaudeCodeAPIError, ConfigError, MissingExtra


def caused(by: BaseException) -> Exception:
    error = RuntimeError("it failed")
    error.__cause__ = by
    return error


def throttled() -> ClientError:
    answer: typing.Any = {"Error": {"Code": "ThrottlingException"}, "ResponseMetadata": {"HTTPStatusCode": 429}}
    return ClientError(answer, "ConverseStream")


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (TimeoutError("late"), "late"),
        (ConnectionRefusedError("no"), "unreachable"),
        (caused(by=ConnectionResetError("gone")), "unreachable"),
        (ExceptionGroup("several", [TimeoutError("late"), ValueError("x")]), "late"),
        (ClaudeCodeAPIError("no", 403), "refused"),
        (ClaudeCodeAPIError("no", 504), "late"),
        (ClaudeCodeAPIError("no", 418), "other"),
        (throttled(), "busy"),
        (NoCredentialsError(), "refused"),
        (EndpointConnectionError(endpoint_url="https://x"), "unreachable"),
        (MissingExtra("tavily-python", "tavily"), "setup"),
        (ConfigError("config.yaml", "is odd"), "setup"),
        (UnansweredError("turns", "too many"), "turns"),
        (KeyError("x"), "other"),
    ],
)
def test_a_failure_is_known_by_its_status_its_class_or_its_cause(error: Exception, kind: Kind) -> None:
    assert kind_of(error) == kind


def test_every_kind_has_a_sentence_in_both_languages_and_no_two_are_alike() -> None:
    kinds: tuple[Kind, ...] = typing.get_args(Kind)
    assert len({sentence(kind, "ja") for kind in kinds} | {sentence(kind, "en") for kind in kinds}) == 2 * len(kinds)
    assert all(sentence(kind, "ja").endswith("。") and sentence(kind, "en").endswith(".") for kind in kinds)


def test_the_log_has_the_whole_chain_on_one_line_without_secrets() -> None:
    try:
        raise caused(by=OSError("key sk-test\nis refused"))
    except RuntimeError as error:
        told = cause_of(error, ["sk-test", None, ""])
    assert told.startswith("RuntimeError: it failed <- OSError: key *** is refused (at ")
    assert told.count("\n") == 0


def test_keys_of_the_environment_are_not_in_the_log_either(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    monkeypatch.setenv("SHORT_KEY", "is")
    assert cause_of(ValueError("sk-test is wrong"), []) == "ValueError: *** is wrong"


def test_a_chain_that_bites_its_tail_ends() -> None:
    one, two = ValueError("one"), ValueError("two")
    one.__cause__, two.__cause__ = two, one
    assert cause_of(one, []) == "ValueError: one <- ValueError: two"


MESSAGES = st.builds(
    Message,
    role=st.sampled_from(["user", "assistant"]),
    text=st.text(max_size=5),
    author=st.none() | st.text(max_size=3),
)


@given(st.lists(MESSAGES, max_size=8), st.text(min_size=1).filter(str.strip))
def test_turns_alternate_from_user_to_user_and_lose_nothing(before: list[Message], question: str) -> None:
    conversation = [*before, Message(role="user", text=question)]
    turns = turns_of(conversation)
    assert [turn.role for turn in turns] == [("user", "assistant")[number % 2] for number in range(len(turns))]
    assert turns[-1].role == "user"
    assert turns[-1].text.endswith(question)
    whole = "\n".join(turn.text for turn in turns)
    assert all(message.text in whole for message in conversation if message.text.strip())
    assert all(turn.text.strip() for turn in turns)


def test_half_a_character_does_not_keep_a_turn_from_being_sent() -> None:
    (turn,) = turns_of([Message(role="user", text="caf\udce9?")])
    assert turn.text == "caf\ufffd?"


@pytest.mark.parametrize("said", ["Not logged in · Please run /login", "Invalid API key · Please run /login"])
def test_claude_code_without_a_login_is_known(said: str) -> None:
    assert kind_of(ClaudeCodeAPIError(said)) == "login"
    assert kind_of(ClaudeCodeAPIError("GET https://a.example/login failed")) == "other"


def test_whoever_runs_it_is_told_what_to_do_and_nobody_else_is_named() -> None:
    for kind in typing.get_args(Kind):
        for language in ("ja", "en"):
            told = sentence(kind, language, "operator", cause="OSError: disk full")
            assert "the operator" not in told
            assert "管理者" not in told
            assert "{" not in told
    assert sentence("other", "en", "operator", cause="disk full").endswith("disk full")
    assert sentence("other", "en", "operator") == sentence("other", "en")
    assert "the operator" in sentence("refused", "en")


def test_a_cause_is_one_line_without_keys_and_not_too_long() -> None:
    assert short_cause(OSError("key sk-test\nis refused"), ["sk-test"]) == "key *** is refused"
    assert short_cause(OSError(), []) == "OSError"
    assert len(short_cause(OSError("x" * 1000), [])) == 300
