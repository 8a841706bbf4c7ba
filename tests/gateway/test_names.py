"""Names of tools of many servers: unique, short enough, and the same every time."""

from __future__ import annotations

import re
from typing import get_args

from hypothesis import given
from hypothesis import strategies as st
from inline_snapshot import snapshot

from hikidashi.config.gateway import NameStyle
from hikidashi.gateway.names import LONGEST_CLIENT_NAME, exposed_names, longest_name_with

NAMES = st.text(min_size=1, max_size=80)
SERVERS = st.dictionaries(NAMES, st.lists(NAMES, max_size=6), max_size=5)


@given(SERVERS, st.sampled_from(get_args(NameStyle)), st.text(min_size=1, max_size=LONGEST_CLIENT_NAME))
def test_every_name_is_unique_and_short_enough_for_a_client(
    servers: dict[str, list[str]], style: NameStyle, client_name: str
) -> None:
    shown = exposed_names(servers, style, longest=longest_name_with(client_name))
    assert len(set(shown.values())) == len(shown) == sum(len(set(names)) for names in servers.values())
    assert all(len(f"mcp__{client_name}__{name}") <= 64 for name in shown.values())
    assert style == "plain" or all(name.isascii() for name in shown.values())
    assert exposed_names(servers, style, longest=longest_name_with(client_name)) == shown


def test_a_name_has_its_server_in_front() -> None:
    assert exposed_names({"git hub": ["list_issues"]}) == {("git hub", "list_issues"): "git_hub__list_issues"}


def test_plain_names_stay_where_no_two_servers_collide() -> None:
    shown = exposed_names({"a": ["read", "write"], "b": ["read"]}, "plain", reserved=["search_tools"])
    assert shown == {("a", "read"): "a__read", ("a", "write"): "write", ("b", "read"): "b__read"}


def test_a_plain_name_never_takes_that_of_the_gateways_own_tools() -> None:
    assert exposed_names({"a": ["search_tools"]}, "plain", reserved=["search_tools"]) == {
        ("a", "search_tools"): "a__search_tools"
    }


def test_long_names_stay_apart() -> None:
    names = ["x" * 100 + "1", "x" * 100 + "2"]
    assert len(set(exposed_names({"server": names}).values())) == 2


def test_names_of_other_scripts_can_be_told_apart_and_copied() -> None:
    shown = exposed_names({"天気 サーバ": ["東京の天気", "大阪の天気"], "日本news": ["検索", "get_検索"]})
    assert list(shown.values()) == snapshot(
        [
            "server_ef8187__tool_748812",
            "server_ef8187__tool_432d17",
            "news_e76c90__tool_1b6b1a",
            "news_e76c90__get_92ddcf",
        ]
    )
    assert all(re.fullmatch("[A-Za-z0-9_-]+", name) and "___" not in name for name in shown.values())
