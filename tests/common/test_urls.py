"""Loopback hosts and base URLs."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hikidashi.common.urls import is_loopback, is_loopback_url, split_base_url


@pytest.mark.parametrize(
    "host",
    ["localhost", "LOCALHOST.", "api.localhost", "127.0.0.1", "127.8.9.10", "::1", "::1%lo", "::ffff:127.0.0.1"],
)
def test_these_hosts_are_this_machine(host: str) -> None:
    assert is_loopback(host)


@pytest.mark.parametrize(
    "host",
    ["", "localhost.example.com", "notlocalhost", "0.0.0.0", "::", "10.0.0.1", "::ffff:10.0.0.1", "127.0.0.1.nip.io"],
)
def test_these_hosts_are_not(host: str) -> None:
    assert not is_loopback(host)


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://127.0.0.1:8080/x", True),
        ("http://[::1]:80", True),
        ("//localhost:9", True),
        ("https://example.com", False),
        ("http://user@127.0.0.1@evil.example", False),
        ("http://[", False),
        ("localhost:80", False),
    ],
)
def test_a_url_is_judged_by_its_host(url: str, expected: bool) -> None:
    assert is_loopback_url(url) is expected


@pytest.mark.parametrize("url", ["http://host", "https://host:8443/base?q=1", "http://[::1]:1/", "http://u:p@host"])
def test_a_base_url_is_split(url: str) -> None:
    assert split_base_url(url).geturl() == url


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("", "is not an http:// or https:// URL"),
        ("example.com", "is not an http:// or https:// URL"),
        ("ftp://host", "is not an http:// or https:// URL"),
        ("http://", "is not an http:// or https:// URL"),
        ("http://:80", "is not an http:// or https:// URL"),
        ("http://[", "is not a URL"),
        ("http://host:port", "is not a URL"),
        ("http://host:99999", "is not a URL"),
        ("http://host:0", "has port 0"),
        ("http://ho\nst", "has white space or control characters in it"),
        ("http://host/a b", "has white space or control characters in it"),
        ("http://host\x00", "has white space or control characters in it"),
        ("http://host\ud800", "has white space or control characters in it"),
    ],
)
def test_anything_else_is_refused_with_the_reason(url: str, reason: str) -> None:
    with pytest.raises(ValueError, match=f"^{reason}$"):
        split_base_url(url)


@given(st.text() | st.from_regex(r"https?://[^/]*(/.*)?"))
def test_no_text_raises_anything_else_and_no_secret_is_repeated(text: str) -> None:
    is_loopback_url(text)
    is_loopback(text)
    with suppress(ValueError):
        assert split_base_url(text).scheme in ("http", "https")
