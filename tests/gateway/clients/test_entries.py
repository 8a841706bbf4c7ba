"""A client's description of a server, in the form of `.mcp.json`."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.gateway.clients.machines import machine_in

from hikidashi.errors import ToolSourceError
from hikidashi.gateway.clients.servers import ClientServer, find_servers, taken
from hikidashi.gateway.clients.takeover import name_all, servers_of, take_over
from hikidashi.gateway.config import read_servers
from hikidashi.servers.clients import CLIENTS, ClientName, client_named
from hikidashi.servers.config import server_from
from hikidashi.servers.references import References


@pytest.mark.parametrize(
    ("client", "entry", "problem"),
    [
        ("cursor", 3, "it is not an object"),
        ("cursor", {}, "it has neither a `command` nor a `url`"),
        ("cursor", {"command": ["npx"]}, "it has neither a `command` nor a `url`"),
        ("cursor", {"command": "x", "args": "y"}, "its `args` is not a list of strings"),
        ("cursor", {"command": "x", "env": []}, "its `env` is not an object of strings"),
        ("cursor", {"url": "x", "headers": {"A": None}}, "its `headers` is not an object of strings"),
        ("cursor", {"command": "x", "args": [None]}, "its `args` is not a list of strings"),
        ("cursor", {"command": "x", "cwd": 1}, "its `cwd` is not a string"),
        (
            "cursor",
            {"command": "x", "envFile": ".env"},
            "its `envFile` is '.env': write the whole path, or the variables into `env`",
        ),
        ("cursor", {"command": "x", "envFile": 1}, "its `envFile` is not a string, or it has no `command`"),
        ("claude-code", {"url": "x", "type": "ws"}, "its `type` is 'ws': only stdio, http and sse can be reached"),
        ("vscode", {"command": "${config:x}"}, "it uses `${config:x}`, which only vscode fills in: write the value"),
        (
            "cursor",
            {"command": "x", "hikidashi": {"at_once": 0}},
            "it has `hikidashi` options that cannot be used. "
            "`at_once`: 0 is out of range. Write a whole number of 1 or more.",
        ),
        (
            "vscode",
            {"command": "${workspaceFolder}/x"},
            "it uses `${workspaceFolder}`, which only vscode fills in: write the value",
        ),
    ],
)
def test_what_cannot_be_taken_over_says_why(client: ClientName, entry: Any, problem: str) -> None:
    one = taken(client, entry, home="/home/me", project=None)
    assert (one.entry, one.problem) == ({}, problem)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (".env", "/srv/app/.env"),
        ("${workspaceFolder}/.env", "/srv/app/.env"),
        ("/etc/keys", "/etc/keys"),
        ("~/keys", "~/keys"),
        ("${env:KEYS}", "${KEYS:-}"),
    ],
)
def test_a_file_of_variables_is_named_by_its_whole_path(given: str, expected: str) -> None:
    one = taken("vscode", {"command": "x", "envFile": given}, home="/home/me", project="/srv/app")
    assert one.entry == {"command": "x", "envFile": expected, "cwd": "/srv/app"}


@pytest.mark.parametrize(
    ("client", "entry", "expected"),
    [
        ("vscode", {"command": "${workspaceFolder}/x"}, {"command": "/p/x", "cwd": "/p"}),
        ("cursor", {"command": "a${pathSeparator}b"}, {"command": "a/b", "cwd": "/p"}),
        ("claude-code", {"url": "u", "transport": "sse"}, {"url": "u", "type": "sse"}),
        ("windsurf", {"serverUrl": "u", "url": "old"}, {"url": "u", "type": "http"}),
        ("cursor", {"url": "u", "type": "streamableHttp"}, {"url": "u", "type": "http"}),
        ("zed", {"command": "x", "args": None, "env": None, "enabled": True}, {"command": "x", "cwd": "/p"}),
        ("zed", {"url": "u", "timeout": 7}, {"url": "u", "hikidashi": {"call_seconds": 7.0}}),
        ("codex", {"url": "u", "env_http_headers": {"X": "Y"}}, {"url": "u", "headers": {"X": "${Y:-}"}}),
        (
            "codex",
            {"command": "x", "startup_timeout_ms": 500},
            {"command": "x", "cwd": "/p", "hikidashi": {"start_seconds": 0.5}},
        ),
        (
            "codex",
            {"url": "u", "tool_timeout_sec": 9, "hikidashi": {"call_seconds": 60, "read_only": ["${a}*"]}},
            {"url": "u", "hikidashi": {"call_seconds": 60, "read_only": ["${a}*"]}},
        ),
        ("claude-code-project", {"command": "x", "cwd": "/own", "disabled": False}, {"command": "x", "cwd": "/own"}),
    ],
)
def test_each_form_becomes_the_common_one(client: ClientName, entry: Any, expected: dict[str, Any]) -> None:
    one = taken(client, entry, home="/home/me", project="/p")
    assert (one.entry, one.problem) == (expected, "")


@pytest.mark.parametrize("client", ["claude-desktop", "codex", "zed"])
def test_clients_that_fill_in_no_variables_mean_the_text(client: ClientName) -> None:
    entry = {"command": "sh", "args": ["-c", "echo ${HOME} $${A} ${A:-b}"], "env": {"X": "${keyring:a/b}", "Y": "$5"}}
    one = taken(client, entry, home="/home/me", project=None)
    server = server_from("a", one.entry, References({}))
    assert server.args == ("-c", "echo ${HOME} $${A} ${A:-b}")
    assert server.env == {"X": "${keyring:a/b}", "Y": "$5"}


@pytest.mark.parametrize(
    ("client", "text"), [("claude-code", "$${A}"), ("cursor", "$${env:A}"), ("gemini", "$$A"), ("gemini", "$${A}")]
)
def test_a_dollar_before_a_variable_stays_one(client: ClientName, text: str) -> None:
    one = taken(client, {"command": "x", "args": [text]}, home="/home/me", project=None)
    assert server_from("a", one.entry, References({"A": "value"})).args == ("$value",)


odd = st.recursive(
    st.none() | st.booleans() | st.integers() | st.sampled_from(["", "x", "$A", "${A:-}", "${env:A}", "${"]),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["name", "path", "A"]), inner, max_size=2)
    ),
    max_leaves=4,
)
keys = st.sampled_from(
    [
        "command",
        "args",
        "env",
        "cwd",
        "url",
        "headers",
        "type",
        "httpUrl",
        "serverUrl",
        "timeout",
        "enabled",
        "disabled",
        "env_vars",
        "http_headers",
        "env_http_headers",
        "bearer_token_env_var",
        "tool_timeout_sec",
        "settings",
        "transport",
        "hikidashi",
    ]
)


@given(st.sampled_from([client.name for client in CLIENTS]), st.dictionaries(keys, odd, max_size=6))
def test_whatever_is_taken_over_is_a_server_that_the_gateway_reads(client: ClientName, entry: dict[str, Any]) -> None:
    one = taken(client, entry, home="/home/me", project=None)
    assert bool(one.problem) == (one.entry == {})
    if one.problem:
        return
    with tempfile.TemporaryDirectory() as folder, patch.dict(os.environ, {"A": "a"}):
        file = Path(folder) / "mcp.json"
        file.write_text(json.dumps({"mcpServers": {"a": one.entry}}))
        assert len(read_servers([file])) == (one.entry.get("disabled") is not True)
    found = ClientServer(client=client_named(client), file=Path("x"), name="a", taken=one)
    assert set(found.shown()) == set(one.entry)


def test_a_server_that_lacks_a_variable_is_written_and_told(tmp_path: Path) -> None:
    machine = machine_in(tmp_path)
    file = client_named("cursor").main(machine).file(machine)
    file.parent.mkdir(parents=True)
    file.write_text('{"mcpServers": {"a": {"command": "${NOT_SET_ANYWHERE}"}, "b": {"command": "b"}}}')
    choices = name_all(find_servers(machine=machine).found, tmp_path / "mcp.json")
    servers, waiting = servers_of(choices, tmp_path / "mcp.json")
    assert [server.name for server in servers] == ["b"]
    assert "needs the environment variable NOT_SET_ANYWHERE" in str(waiting[0])


@pytest.mark.parametrize("content", ["[]", '{"mcpServers": 1}', '{"mcpServers": {},}', "{"])
def test_a_file_of_our_own_that_is_broken_is_not_overwritten(tmp_path: Path, content: str) -> None:
    to = tmp_path / "mcp.json"
    to.write_text(content)
    for act in (name_all, take_over):
        with pytest.raises(ToolSourceError, match=r"mcp\.json"):
            act([], to)
    assert to.read_text() == content
