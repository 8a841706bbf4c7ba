"""MCP servers in a request: how each becomes a connection and a toolset, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from hikidashi import ToolValidationError
from hikidashi.search import to_anthropic_search
from hikidashi.search.anthropic_request import client_search_tool

MODEL = "claude-opus-5-5"
OLD = "claude-3-5-haiku-latest"
REGEX = {"type": "tool_search_tool_regex_20251119", "name": "tool_search_tool_regex"}
CACHE = {"type": "ephemeral"}
TOKEN = "sk-test-secret"


def test_an_mcp_server_becomes_a_connection_and_a_toolset() -> None:
    server = {
        "name": "db-server",
        "url": "https://mcp-db.example.com",
        "authorization_token": "sk-test",
        "configs": {"search_events": {"defer_loading": False}},
    }
    assert to_anthropic_search([], mcp_toolsets=[server], model=MODEL) == {
        "tools": [
            REGEX,
            {
                "type": "mcp_toolset",
                "mcp_server_name": "db-server",
                "default_config": {"defer_loading": True},
                "configs": {"search_events": {"defer_loading": False}},
            },
        ],
        "betas": ["advanced-tool-use-2025-11-20", "mcp-client-2025-11-20"],
        "mcp_servers": [
            {
                "type": "url",
                "name": "db-server",
                "url": "https://mcp-db.example.com",
                "authorization_token": "sk-test",
            }
        ],
    }


def test_a_toolset_of_a_server_that_is_connected_elsewhere_needs_no_address() -> None:
    given = {"type": "mcp_toolset", "mcp_server_name": "db", "default_config": {"enabled": True}}
    request = to_anthropic_search([], mcp_toolsets=[given], betas="off")
    assert request["tools"][1]["default_config"] == {"defer_loading": True, "enabled": True}
    assert request["betas"] == ["mcp-client-2025-11-20"]
    assert "mcp_servers" not in request


def test_a_newer_mcp_header_of_the_caller_is_enough() -> None:
    request = to_anthropic_search([], mcp_toolsets=[{"name": "db"}], betas=["mcp-client-2026-09-15"])
    assert request["betas"] == ["mcp-client-2026-09-15"]


@pytest.mark.parametrize(
    ("toolset", "said"),
    [
        ({"url": "https://x.example", "authorization_token": TOKEN}, "needs the `name` of its server; this one has"),
        ({"name": "db", "uri": TOKEN}, r"has 'uri'\. Known"),
        ({"name": "db", "authorization_token": TOKEN}, "'authorization_token' but no `url` to use it with"),
        ({"name": "db", "default_config": True}, "`default_config` of MCP toolset 'db' is True, not a dict"),
        ({"name": "db", "configs": ["a"]}, r"`configs` of MCP toolset 'db' is \['a'\], not a dict"),
        ({"name": "db", "configs": {"a": False}}, "of MCP toolset 'db' is False, not a dict"),
        ("db", "An MCP toolset is a dict such as .* got 'db'"),
    ],
)
def test_an_mcp_toolset_that_cannot_be_right_is_refused_without_telling_its_token(toolset: Any, said: str) -> None:
    with pytest.raises(ToolValidationError, match=said) as refused:
        to_anthropic_search([], mcp_toolsets=[toolset])
    assert TOKEN not in str(refused.value)


def test_two_toolsets_of_one_server_are_refused() -> None:
    with pytest.raises(ToolValidationError, match="Two MCP toolsets are for the server 'db'"):
        to_anthropic_search([], mcp_toolsets=[{"name": "db"}, {"name": "db", "url": "https://x.example"}])


def test_fields_that_are_none_count_as_left_out() -> None:
    empty = {"name": "db", "url": None, "authorization_token": None, "default_config": None, "configs": None}
    assert to_anthropic_search([], mcp_toolsets=[empty]) == to_anthropic_search([], mcp_toolsets=[{"name": "db"}])


def test_a_toolset_among_the_tools_is_one_of_the_mcp_toolsets() -> None:
    toolset = {"type": "mcp_toolset", "mcp_server_name": "db", "configs": {"a": {"defer_loading": False}}}
    assert to_anthropic_search([toolset]) == to_anthropic_search([], mcp_toolsets=[toolset])
    assert to_anthropic_search([toolset])["betas"] == ["advanced-tool-use-2025-11-20", "mcp-client-2025-11-20"]


def test_the_client_variant_loads_what_only_the_search_of_the_api_would_find() -> None:
    request = to_anthropic_search([], variant="client", model=MODEL, mcp_toolsets=[{"name": "db"}])
    assert request["tools"][1]["default_config"] == {"defer_loading": False}
    wished = {"name": "db", "default_config": {"defer_loading": True}}
    request = to_anthropic_search([], variant="client", model=MODEL, mcp_toolsets=[wished])
    assert request["tools"][1]["default_config"] == {"defer_loading": True}


def test_a_model_that_cannot_search_gets_every_tool_that_is_enabled_and_no_other() -> None:
    given = {
        "name": "db",
        "default_config": {"enabled": False, "defer_loading": True},
        "configs": {"a": {"enabled": True, "defer_loading": True}},
    }
    assert to_anthropic_search([], variant="client", model=OLD, mcp_toolsets=[given]) == {
        "tools": [
            client_search_tool(),
            {
                "type": "mcp_toolset",
                "mcp_server_name": "db",
                "default_config": {"enabled": False, "defer_loading": False},
                "configs": {"a": {"enabled": True, "defer_loading": False}},
            },
        ],
        "betas": ["mcp-client-2025-11-20"],
    }


def test_a_cache_breakpoint_moves_away_from_a_deferred_toolset() -> None:
    request = to_anthropic_search([], mcp_toolsets=[{"name": "db", "cache_control": CACHE}])
    assert request["tools"][0] == {**REGEX, "cache_control": CACHE}
    assert "cache_control" not in request["tools"][1]
