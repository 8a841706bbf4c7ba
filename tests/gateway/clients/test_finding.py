"""The servers that the clients of a machine have."""

from __future__ import annotations

import json
from pathlib import Path, PurePosixPath

import pytest
from tests.gateway.clients.machines import FIXTURES, filled, machine_in

from hikidashi.gateway.clients.servers import (
    find_servers,
    is_ours,
    masked_args,
    masked_file_text,
    masked_text,
    masked_url,
)
from hikidashi.gateway.clients.takeover import name_all, servers_of, take_over
from hikidashi.gateway.config import read_servers
from hikidashi.servers.clients import CLIENTS, Machine, System, client_named

SECRETS = ("sk-test", "ghp-test", "plainword")


def test_every_client_is_searched_and_its_servers_are_brought_into_one_form(tmp_path: Path) -> None:
    machine = filled(machine_in(tmp_path))
    search = find_servers(machine=machine)
    assert search.problems == ()
    project = str(machine.project)
    assert {f"{one.client.name}/{one.name}": one.entry for one in search.found if not one.taken.problem} == {
        "claude-desktop/filesystem": {
            "command": "npx",
            "args": ["-y", "@modelcontextprotocol/server-filesystem", "/tmp"],
        },
        "claude-desktop/github": {
            "command": "docker",
            "args": ["run", "-i", "--rm", "-e", "GITHUB_TOKEN=ghp-test-desktop", "ghcr.io/github/github-mcp-server"],
            "env": {"GITHUB_TOKEN": "ghp-test-desktop"},
        },
        "claude-code/sentry": {
            "type": "http",
            "url": "https://mcp.sentry.example/mcp?token=sk-test-query",
            "headers": {"Authorization": "Bearer sk-test-header"},
        },
        "claude-code/github": {
            "command": "github-mcp",
            "args": ["--api-key", "plainword"],
            "env": {},
            "hikidashi": {"call_seconds": 60.0},
        },
        "claude-code/database": {
            "command": "./db-mcp",
            "args": [],
            "env": {"DATABASE_URL": "${DATABASE_URL:-none}"},
            "cwd": "/srv/shop",
        },
        "claude-code-project/docs": {"command": "./docs-mcp", "cwd": project},
        "cursor/tavily": {
            "command": "npx",
            "args": ["-y", "tavily-mcp"],
            "env": {"TAVILY_API_KEY": "${TAVILY_API_KEY:-}", "HOME_OF_IT": f"{machine.home}/x"},
        },
        "cursor/linear": {"url": "https://mcp.linear.example/sse", "type": "sse"},
        "vscode/playwright": {"command": "npx", "args": ["@playwright/mcp@latest"]},
        "windsurf/remote": {
            "url": "https://mcp.example.com/mcp",
            "headers": {"Authorization": "Bearer ${AUTH_TOKEN:-}"},
        },
        "windsurf/off": {"command": "off-mcp", "disabled": True},
        "codex/context7": {
            "command": "npx",
            "args": ["-y", "@upstash/context7-mcp"],
            "env": {"CONTEXT7_KEY": "${CONTEXT7_KEY:-}", "MODE": "test"},
            "hikidashi": {"start_seconds": 20.0, "call_seconds": 45.0},
        },
        "codex/figma": {
            "url": "https://mcp.figma.example/mcp",
            "headers": {"X-Figma-Region": "us-east-1", "Authorization": "Bearer ${FIGMA_TOKEN:-}"},
            "disabled": True,
        },
        "gemini/maps": {
            "url": "https://mcp.maps.example/mcp?key=sk-test-maps",
            "type": "http",
            "hikidashi": {"call_seconds": 5.0},
        },
        "gemini/git": {"command": "uvx", "args": ["mcp-server-git"], "env": {"API_KEY": "${MY_TOKEN:-}"}},
        "gemini/events": {"url": "http://127.0.0.1:9/sse", "type": "sse"},
        "zed/postgres": {"command": "pg-mcp", "args": ["--password=sk-test-zed"], "env": {}},
        "zed/older": {"command": "older-mcp", "args": ["run"], "env": {"KEY": "sk-test-older"}},
    }


def test_what_cannot_be_carried_over_is_named(tmp_path: Path) -> None:
    search = find_servers(machine=filled(machine_in(tmp_path)))
    assert {one.name: one.taken.problem for one in search.found if one.taken.problem} == {
        "figma": "it asks for `${input:key}`: write `${NAME}` and set that environment variable",
        "extension": "it belongs to an extension of Zed, which alone can start it",
    }
    assert {one.name: one.taken.ignored for one in search.found if one.taken.ignored} == {
        "playwright": ("dev",),
        "remote": ("disabledTools",),
        "maps": ("trust",),
        "git": ("includeTools",),
        "older": ("settings",),
    }


def test_what_is_taken_over_is_what_the_gateway_reads(tmp_path: Path) -> None:
    machine = filled(machine_in(tmp_path))
    to = tmp_path / "own" / "mcp.json"
    choices = name_all(find_servers(machine=machine).found, to)
    renamed = {choice.found.client.name: choice.name for choice in choices if choice.renamed}
    assert renamed == {"claude-code": "github-claude-code"}
    chosen = [choice for choice in choices if choice.status == "new"]
    take_over(chosen, to)
    assert to.stat().st_mode & 0o777 == 0o600
    names = [server.name for server in read_servers([to])]
    assert names == [choice.name for choice in chosen if not choice.found.entry.get("disabled")]
    servers, waiting = servers_of(chosen, to)
    assert ([server.name for server in servers], waiting) == (names, [])
    again = name_all(find_servers(machine=machine).found, to)
    assert {choice.status for choice in again} == {"there", "unusable"}


def test_a_server_that_two_clients_share_is_taken_once(tmp_path: Path) -> None:
    machine = machine_in(tmp_path)
    for name in ("claude-desktop", "cursor"):
        file = client_named(name).main(machine).file(machine)
        file.parent.mkdir(parents=True)
        servers = {"same": {"command": "same-mcp"}, "own": {"command": name}}
        file.write_text(json.dumps({"mcpServers": servers}))
    choices = name_all(find_servers(machine=machine).found, tmp_path / "mcp.json")
    assert [(choice.name, choice.status) for choice in choices] == [
        ("same", "new"),
        ("own", "new"),
        ("same", "there"),
        ("own-cursor", "new"),
    ]


def test_keys_are_in_nothing_that_is_shown(tmp_path: Path) -> None:
    search = find_servers(machine=filled(machine_in(tmp_path)))
    shown = json.dumps([one.shown() for one in search.found]) + repr(search)
    assert [secret for secret in SECRETS if secret in shown] == []
    for file in FIXTURES.iterdir():
        content = [one.entry for one in search.found]
        text = masked_file_text(file.read_text(encoding="utf-8"), [content, {"primaryApiKey": "sk-test-primary"}])
        assert [secret for secret in ("sk-test-", "ghp-test") if secret in text] == []


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("sk-test", "***"),
        ("API_KEY=abc", "API_KEY=***"),
        ("--api-key=abc", "--api-key=***"),
        ("Authorization: Bearer abc", "Authorization: ***"),
        ("sh -c 'TOKEN=abc run --port 1'", "sh -c 'TOKEN=*** run --port 1'"),
        ("https://me:pw@h.example/mcp?a=1&b", "https://***@h.example/mcp?a=***&***"),
        ("postgresql://me:pw@localhost/db", "postgresql://***@localhost/db"),
        ("a1b2c3d4e5f6a7b8c9d0e1f2", "***"),
        ("curl -u me:pw https://h.example", "curl -u me:*** https://h.example"),
        ("curl --user=me:pw -s x", "curl --user=me:*** -s x"),
        ("@modelcontextprotocol/server-github@2025.4.8", "@modelcontextprotocol/server-github@2025.4.8"),
        ("/home/me/keys/token-server.js", "/home/me/keys/token-server.js"),
        ("keyboard-server", "keyboard-server"),
    ],
)
def test_what_looks_like_a_key_is_hidden_and_nothing_else(given: str, shown: str) -> None:
    assert masked_text(given) == shown


def test_what_follows_an_option_for_a_key_is_hidden() -> None:
    assert masked_args(["--token", "abc", "--verbose", "abc"]) == ["--token", "***", "--verbose", "abc"]
    assert masked_args(["-H", "X-A: b c", "-e", "mode=x", "--header=A: b"]) == [
        "-H",
        "X-A: ***",
        "-e",
        "mode=***",
        "--header=A: ***",
    ]
    assert masked_url("https://h.example/sk-test-1/mcp#abc") == "https://h.example/***/mcp#***"


def test_our_own_line_is_left_out(tmp_path: Path) -> None:
    machine = machine_in(tmp_path)
    file = client_named("cursor").main(machine).file(machine)
    file.parent.mkdir()
    own = {"command": "/opt/bin/hikidashi", "args": ["serve", "--config", "x.json"]}
    file.write_text(json.dumps({"mcpServers": {"all": own, "other": {"command": "x"}}}))
    search = find_servers(machine=machine)
    assert ([one.name for one in search.found], [name for *_, name in search.own]) == (["other"], ["all"])
    for entry in (
        {"command": "python3", "args": ["-m", "hikidashi", "serve"]},
        {"command": {"path": "C:\\bin\\hikidashi.exe", "args": ["serve"]}},
    ):
        assert is_ours(entry)
    for entry in (
        {"command": "hikidashi", "args": ["web", "serve"]},
        {"command": "x", "args": ["serve"]},
        {},
        None,
        "hikidashi serve",
    ):
        assert not is_ours(entry)


@pytest.mark.parametrize("client", CLIENTS, ids=lambda client: client.name)
def test_a_broken_file_is_named_with_line_and_column_and_the_others_are_read(tmp_path: Path, client: object) -> None:
    machine = filled(machine_in(tmp_path))
    broken = next(one for one in CLIENTS if one is client)
    file = broken.main(machine).file(machine)
    file.write_bytes(b'a = "b"\n= 1\n' if broken.format == "toml" else b'{\n  "a": 1\n  "b": 2\n}')
    (problem,) = find_servers(machine=machine).problems
    assert (problem.source, problem.line) == (str(file), 2 if broken.format == "toml" else 3)
    assert "(column " in problem.reason
    others = {one.client.name for one in find_servers(machine=machine).found}
    assert others == {one.name for one in CLIENTS} - {broken.name}


@pytest.mark.parametrize(
    "content",
    [
        b"\xff\xfe",
        b"[]",
        b'{"mcpServers": []}',
        b'{"mcpServers": {"a": 1, "b": {"command": 2}, "c": {"url": []}}}',
        b"",
    ],
)
def test_odd_files_break_nothing(tmp_path: Path, content: bytes) -> None:
    machine = machine_in(tmp_path)
    file = client_named("cursor").main(machine).file(machine)
    file.parent.mkdir()
    file.write_bytes(content)
    search = find_servers(machine=machine)
    assert all(one.taken.problem for one in search.found)
    assert len(search.problems) == (content == b"\xff\xfe")


@pytest.mark.parametrize(
    ("system", "environ", "expected"),
    [
        (
            "linux",
            {},
            {
                "claude-desktop": ".config/Claude/claude_desktop_config.json",
                "claude-code": ".claude.json",
                "claude-code-project": "project/.mcp.json",
                "cursor": ".cursor/mcp.json",
                "vscode": ".config/Code/User/mcp.json",
                "windsurf": ".codeium/windsurf/mcp_config.json",
                "codex": ".codex/config.toml",
                "gemini": ".gemini/settings.json",
                "zed": ".config/zed/settings.json",
            },
        ),
        (
            "darwin",
            {},
            {
                "claude-desktop": "Library/Application Support/Claude/claude_desktop_config.json",
                "vscode": "Library/Application Support/Code/User/mcp.json",
                "zed": ".config/zed/settings.json",
            },
        ),
        (
            "win32",
            {"APPDATA": "/home/me/Roaming"},
            {
                "claude-desktop": "Roaming/Claude/claude_desktop_config.json",
                "vscode": "Roaming/Code/User/mcp.json",
                "zed": "Roaming/Zed/settings.json",
                "cursor": ".cursor/mcp.json",
            },
        ),
        (
            "linux",
            {
                "XDG_CONFIG_HOME": "/home/me/xdg",
                "CLAUDE_CONFIG_DIR": "/home/me/cc",
                "CODEX_HOME": "/home/me/cx",
                "GEMINI_CLI_HOME": "/home/me/gm",
            },
            {
                "zed": "xdg/zed/settings.json",
                "vscode": "xdg/Code/User/mcp.json",
                "claude-code": "cc/.claude.json",
                "codex": "cx/config.toml",
                "gemini": "gm/.gemini/settings.json",
            },
        ),
    ],
)
def test_files_are_where_each_system_has_them(
    system: System, environ: dict[str, str], expected: dict[str, str]
) -> None:
    home = PurePosixPath("/home/me")
    machine = Machine(system=system, environ=environ, home=Path(home), project=Path(home / "project"))
    found = {client.name: client.main(machine).file(machine).as_posix() for client in CLIENTS}
    assert {name: found[name] for name in expected} == {name: f"{home}/{path}" for name, path in expected.items()}
