"""Keys that a server repeats, taken out of what is shown."""

from __future__ import annotations

import base64
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hikidashi.web.redact import redacted

KEY = "tvly-test+key/1"


@pytest.mark.parametrize(
    "form",
    [KEY, KEY.upper(), quote(KEY, safe=""), base64.b64encode(KEY.encode()).decode().rstrip("=")],
)
def test_a_key_is_hidden_in_each_form_in_which_servers_repeat_it(form: str) -> None:
    assert redacted(f"bad key '{form}' ({form})", [None, "", KEY]) == "bad key '***' (***)"


def test_a_key_that_was_cut_off_is_hidden_too() -> None:
    assert redacted(f"your key is {KEY[:-3]}", [KEY]) == "your key is ***"
    assert redacted("your key is tvl", [KEY]) == "your key is tvl"


def test_what_is_too_short_to_be_a_key_hides_nothing() -> None:
    assert redacted("this is it", ["is", " it "]) == "this is it"


def test_keys_of_the_environment_are_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", "sk-test-1")
    monkeypatch.setenv("SOME_NAME", "sk-test-2")
    assert redacted("sk-test-1 sk-test-2") == "*** sk-test-2"


@given(st.text(), st.text(min_size=6).filter(lambda key: len(key.strip()) >= 6 and "*" not in key), st.text())
def test_no_text_around_it_brings_a_key_out(before: str, key: str, after: str) -> None:
    assert key.strip() not in redacted(before + key + after, [key])


@given(st.text(alphabet="xyz .,"))
def test_a_text_without_keys_stays_as_it_is(text: str) -> None:
    assert redacted(text, [KEY]) == text


def test_a_key_with_bytes_that_are_no_utf_8_is_redacted_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ODD_API_KEY", "sk-test-\udcff-odd")
    assert redacted("sent sk-test-\udcff-odd and more") == "sent *** and more"
