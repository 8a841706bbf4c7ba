"""The files that a gateway reads: servers of clients in JSON, and `config.yaml`."""

from __future__ import annotations

import contextlib
import json
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hikidashi.config import GatewayConfig, ServerConfig
from hikidashi.errors import ConfigError, ToolSourceError
from hikidashi.gateway import Gateway, GatewayOptions, GatewayServer, ServerOptions
from hikidashi.gateway.auth.logins import Logins
from hikidashi.gateway.config import identity_of, read_servers, read_setup
from hikidashi.gateway.options import ServerProblem
from hikidashi.servers.config import McpServer

WHOLE = "Write the whole address."

YAML = """
servers:
  files:
    command: npx
    args: [-y, server-filesystem, 8080]
    env: {LOG: debug, TOKEN: "${FILES_TOKEN}", PRICE: "5$$"}
    cwd: notes
    call_seconds: 60
    at_once: 4
    read_only: ["list_*"]
    confirm: destructive
  issues:
    url: https://issues.example/mcp
    type: sse
    headers: {Authorization: "Bearer ${ISSUES_TOKEN:-none}"}
  unused:
    command: x
    disabled: true
gateway:
  names: plain
  search: on
  pin: ["files__*"]
  confirm: ["delete_*"]
  record: searches.db
"""

TOML = """
[servers.files]
command = "npx"
args = ["-y", "server-filesystem", 8080]
env = {LOG = "debug", TOKEN = "${FILES_TOKEN}", PRICE = "5$$"}
cwd = "notes"
call_seconds = 60
at_once = 4
read_only = ["list_*"]
confirm = "destructive"

[servers.issues]
url = "https://issues.example/mcp"
type = "sse"
headers = {Authorization = "Bearer ${ISSUES_TOKEN:-none}"}

[servers.unused]
command = "x"
disabled = true

[gateway]
names = "plain"
search = "on"
pin = ["files__*"]
confirm = ["delete_*"]
record = "searches.db"
"""


def written(folder: Path, name: str, content: Any) -> Path:
    file = folder / name
    file.write_text(content if isinstance(content, str) else json.dumps(content))
    return file


@pytest.mark.parametrize(("name", "text"), [("config.yaml", YAML), ("config.toml", TOML)])
def test_config_yaml_has_servers_with_their_options_and_those_of_the_gateway(
    name: str, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FILES_TOKEN", "sk-test")
    setup = read_setup([written(tmp_path, name, text)])
    files, issues = setup.servers
    assert (files.server.command, files.server.args) == ("npx", ("-y", "server-filesystem", "8080"))
    assert files.server.env == {"LOG": "debug", "TOKEN": "sk-test", "PRICE": "5$"}
    assert files.server.cwd == str(tmp_path / "notes")
    assert files.options == ServerOptions(call_seconds=60, at_once=4, read_only=("list_*",), confirm="destructive")
    assert (issues.server.transport, issues.server.url) == ("sse", "https://issues.example/mcp")
    assert issues.server.headers == {"Authorization": "Bearer none"}
    assert issues.options == ServerOptions(confirm=("delete_*",))
    expected = GatewayConfig(names="plain", search="on", pin=("files__*",), confirm=("delete_*",), record="searches.db")
    assert (setup.gateway, setup.folder) == (expected, tmp_path)


@pytest.mark.parametrize(
    ("server", "line", "key", "said"),
    [
        ("{}", 3, "command", "is missing. Write `command` with `args` and `env`, or `url` with `headers`."),
        ("{command: x, url: 'http://x'}", 3, "url", "does not go with `command`. Keep one of them."),
        ("{url: 'http://x', args: [a]}", 3, "args", "does not go with `url`. Leave it out."),
        ("{command: x, headers: {A: b}}", 3, "headers", "does not go with `command`. Leave it out."),
        ("{command: x, call_secs: 1}", 3, "call_secs", "is not a key here. Did you mean `call_seconds`? Known: "),
        ("{command: x, hikidashi: {lazy: true}}", 3, "hikidashi", "is not a key here. Known: command, args"),
        ("{command: x, call_seconds: -1}", 3, "call_seconds", "-1 is out of range. Write a number above 0."),
        ("{command: x, call_seconds: soon}", 3, "call_seconds", "'soon' is not a number."),
        ("{command: x, at_once: 1.5}", 3, "at_once", "1.5 is not a whole number."),
        ("{command: x, lazy: sometimes}", 3, "lazy", "'sometimes' is text, not a boolean."),
        ("{command: x, confirm: always}", 3, "confirm", "'always' is not allowed. Write never or destructive, or a"),
        ("{command: x, read_only: 'get_*'}", 3, "read_only", "'get_*' is not a list of patterns."),
        ("{command: x, args: --port 1}", 3, "args", "the value is not a list of texts. Write a list such as "),
        ("{command: x, args: [[a]]}", 3, "args", "the value is not a list of texts."),
        ("{command: x, env: [A=1]}", 3, "env", "the value is not a section of texts."),
        ("{command: x, env: {A: {B: c}}}", 3, "env", "the value is not a section of texts."),
        ("{command: 5}", 3, "command", "the value is not text."),
        ("{url: 'http://x', type: ws}", 3, "type", "'ws' is not allowed. Allowed: http, sse."),
        ("npx", 3, "", "'npx' is not a section. Write `command` with `args` and `env`, or `url` with"),
    ],
)
def test_what_is_wrong_with_a_server_in_config_yaml_is_named_with_file_line_and_remedy(
    server: str, line: int, key: str, said: str, tmp_path: Path
) -> None:
    file = written(tmp_path, "config.yaml", f"servers:\n  right: {{command: y}}\n  wrong: {server}\n")
    with pytest.raises(ConfigError) as caught:
        read_servers([file])
    where = "servers.wrong" + (f".{key}" if key else "")
    assert (caught.value.path, caught.value.line, caught.value.key) == (str(file), line, where)
    assert caught.value.reason.startswith(said)


@pytest.mark.parametrize("servers", ["[a, b]", "npx", "5"])
def test_servers_that_are_no_section_are_refused(servers: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"`servers`: .* is not a section. Write the name of each server"):
        read_servers([written(tmp_path, "config.yaml", f"servers: {servers}\n")])


@pytest.mark.parametrize(
    ("entry", "reason", "remedy"),
    [
        (
            {"command": "x", "env": {"KEY": "${NOT_SET_HERE}"}},
            "it needs the environment variable NOT_SET_HERE, which is not set",
            "Set NOT_SET_HERE, or write ${NOT_SET_HERE:-default}.",
        ),
        (
            {"url": "https://x/${NOT_SET_HERE}"},
            "it needs the environment variable NOT_SET_HERE, which is not set",
            "Set NOT_SET_HERE, or write ${NOT_SET_HERE:-default}.",
        ),
        (
            {},
            "it has neither a `command` nor a `url`",
            "Give it a `command` with `args` and `env`, or a `url` with `headers`.",
        ),
        ({"command": "x", "url": "http://x"}, "it has both a `command` and a `url`", "Keep one of them."),
        ({"command": "x", "args": "a"}, "it has `args` that is not a list of strings", 'Write "args": ["one", "two"].'),
        ({"url": "http://x", "type": "ws"}, "it has the unknown type 'ws'", 'Use "http" or "sse".'),
        (
            {"command": ["npx", "-y"]},
            "it has a `command` that is not a string",
            'Write "command": "program", and its arguments as "args": ["one", "two"].',
        ),
        (
            {"command": "x", "envFile": "no/.env"},
            "it has the `envFile` 'no/.env', which cannot be read (No such file or directory)",
            "Check the path and its permissions, or write the variables into `env`.",
        ),
        (
            {"command": "x", "envFile": 3},
            "it has an `envFile` that is not the path of a file",
            'Write "envFile": ".env".',
        ),
        (
            {"command": "x", "env": {"KEY": "${input:key}"}},
            "it has `${input:key}`, which only the client that it was written for can fill in",
            "Write ${NAME} in its place, and set that environment variable.",
        ),
        ({"url": "x.example/mcp"}, "it has a `url` that does not begin with http:// or https://", WHOLE),
        ({"url": "http://:80/mcp"}, "it has a `url` without a host, or with a space", WHOLE),
        ({"url": "http://x:99999/mcp"}, "it has a `url` whose host or port is invalid", "Correct it."),
        ({"url": "http://["}, "it has a `url` whose host or port is invalid", "Correct it."),
        (
            {"url": "http://x", "headers": {"Key": "a\nb"}},
            "it has a header 'Key' with a line break, or a character outside of ASCII",
            "Take it out.",
        ),
        (
            {"url": "http://x", "headers": {"a b": "c"}},
            "it has `headers` with 'a b', which cannot be the name of a header",
            "Rename it.",
        ),
        ({"command": "x\0y"}, "it has `command` with a character that no process can be given", "Take it out."),
        (
            {"command": "x", "args": ["\ud800"]},
            "it has `args` with a character that no process can be given",
            "Take it out.",
        ),
        (
            {"command": "x", "env": {"A=B": "c"}},
            "it has `env` with 'A=B', which cannot be the name of a variable",
            "Rename it.",
        ),
        (
            "x",
            "it has neither a `command` nor a `url`",
            "Give it a `command` with `args` and `env`, or a `url` with `headers`.",
        ),
    ],
)
def test_an_entry_that_cannot_be_used_concerns_its_server_alone(
    entry: Any, reason: str, remedy: str, tmp_path: Path
) -> None:
    file = written(tmp_path, "mcp.json", {"mcpServers": {"broken": entry, "right": {"command": "y"}}})
    broken, right = read_servers([file])
    assert broken.problem == ServerProblem(reason, remedy)
    assert (right.problem, right.server.command) == (None, "y")


async def test_a_server_made_in_code_that_cannot_be_used_concerns_itself_alone(tmp_path: Path) -> None:
    servers = [
        McpServer(name="broken", transport="http", url="http://x:99999/mcp"),
        McpServer(name="", transport="stdio", command="x"),
    ]
    async with Gateway(servers, logins=Logins(tmp_path / "logins")) as gateway:
        assert [state.reason for state in gateway.states] == [
            "it has a `url` whose host or port is invalid",
            "it has an empty name",
        ]


def test_the_files_that_clients_have_are_read_as_the_clients_read_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOKEN_OF_A", "sk-test")
    file = tmp_path / ".vscode" / "mcp.json"
    file.parent.mkdir()
    file.write_bytes(
        b"""\xef\xbb\xbf{\r
  // What the project needs
  "inputs": [],
  "servers": {
    "files": {"type": "stdio", "command": "~/bin/files", "args": ["${workspaceFolder}/docs", /* both */ "a",]},
    "api": {"type": "http", "url": " https://x/mcp", "headers": {"Authorization": "Bearer ${env:TOKEN_OF_A}"}},
    "windsurf": {"serverUrl": "https://y/mcp"},
    "gemini": {"httpUrl": "https://z/mcp"},
    "streamed": {"type": "streamable-http", "url": "https://s/mcp"},
    "off": {"command": "x", "disabled": true},
    "off too": {"command": "x", "enabled": false},
    "on": {"command": "x", "disabled": "false", "enabled": true, "gallery": true},
  },
}\r
"""
    )
    servers = {one.name: one.server for one in read_servers([file]) if one.problem is None}
    assert list(servers) == ["files", "api", "windsurf", "gemini", "streamed", "on"]
    assert (servers["files"].command, servers["files"].args) == (
        str(Path.home() / "bin" / "files"),
        (f"{tmp_path}/docs", "a"),
    )
    assert servers["files"].cwd == str(tmp_path)
    assert servers["api"].headers == {"Authorization": "Bearer sk-test"}
    assert [servers[name].url for name in ("api", "windsurf", "gemini")] == [
        "https://x/mcp",
        "https://y/mcp",
        "https://z/mcp",
    ]


def test_a_file_with_both_tables_has_the_servers_of_both(tmp_path: Path) -> None:
    one, other = {"command": "x"}, {"command": "y"}
    both = written(tmp_path, "both.json", {"mcpServers": {"a": one, "b": other}, "servers": {"b": other, "c": one}})
    assert [server.name for server in read_servers([both])] == ["a", "b", "c"]
    written(tmp_path, "both.json", {"mcpServers": {"a": one}, "servers": {"a": other}})
    with pytest.raises(ToolSourceError, match="has another server 'a' under `servers` than under `mcpServers`"):
        read_servers([both])


@pytest.mark.parametrize("key", ["mcp", "mcp.servers"])
def test_the_settings_of_vs_code_have_their_servers_one_level_deeper(key: str, tmp_path: Path) -> None:
    servers = {"a": {"command": "x"}}
    file = written(
        tmp_path, "settings.json", {"editor.fontSize": 12, key: {"servers": servers} if key == "mcp" else servers}
    )
    assert [server.name for server in read_servers([file])] == ["a"]


def test_servers_of_single_folders_alone_are_refused_by_name_with_the_remedy(tmp_path: Path) -> None:
    kept = {"mcpServers": {"a": {"command": "x"}}}
    file = written(tmp_path, ".claude.json", {"projects": {"/srv/a": kept, "/srv/b": {"mcpServers": {}}}})
    with pytest.raises(ToolSourceError) as caught:
        read_servers([file])
    assert str(caught.value) == (
        f"{file}: has servers under `projects` alone, each for one folder: /srv/a. Choose some with "
        "`hikidashi serve import`, which writes a file for the gateway."
    )
    written(tmp_path, ".claude.json", {**kept, "projects": {"/srv/a": kept}})
    assert [server.name for server in read_servers([file])] == ["a"]


@pytest.mark.parametrize("comment", ["", "// with a comment"])
@pytest.mark.parametrize(
    ("text", "named"),
    [
        ('{"mcpServers": {"a": {"command": "x"}, "b": {"command": "x"}, "a": {"command": "y"}}}', "'a'"),
        ('{"mcpServers": {"a": {"command": "x"}}, "mcpServers": {"b": {"command": "x"}}}', "'mcpServers'"),
        ('{"mcp": {"servers": {}, "servers": {"b": {"command": "x"}}}}', "'servers'"),
    ],
)
def test_a_name_that_is_there_twice_is_refused(text: str, named: str, comment: str, tmp_path: Path) -> None:
    file = tmp_path / "mcp.json"
    file.write_text(f"{text}{comment}")
    with pytest.raises(ToolSourceError, match=f"has {named} more than once"):
        read_servers([file])


def test_a_key_that_is_there_twice_elsewhere_does_not_matter(tmp_path: Path) -> None:
    file = tmp_path / "mcp.json"
    file.write_text('{"theme": 1, "theme": 2, "mcpServers": {"a": {"command": "x", "command": "y"}}}')
    assert [server.server.command for server in read_servers([file])] == ["y"]


@pytest.mark.parametrize("text", ["", "{", "[]", "servers:", '{"mcpServers": []}', "\xff"])
def test_a_file_that_is_no_list_of_servers_is_refused_as_a_whole(text: str, tmp_path: Path) -> None:
    file = tmp_path / "mcp.json"
    file.write_bytes(text.encode("latin-1"))
    with pytest.raises(ToolSourceError) as caught:
        read_servers([file])
    assert caught.value.source == str(file)


@pytest.mark.parametrize(
    "options",
    [{"read_only": "get_*"}, {"confirm": "always"}, {"lazy": "yes"}, {"at_once": 1.5}, {"confirm": [1]}, {"pin": []}],
)
def test_options_of_a_wrong_type_are_refused(options: dict[str, Any], tmp_path: Path) -> None:
    file = written(tmp_path, "mcp.json", {"mcpServers": {"a": {"command": "x", "hikidashi": options}}})
    with pytest.raises(ToolSourceError, match="server 'a' has `hikidashi` options that cannot be used"):
        read_servers([file])


def test_files_may_share_a_server_and_must_not_mean_another_by_its_name(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    one = written(tmp_path, "a.json", {"mcpServers": {"s": {"command": "x"}}})
    same = written(tmp_path / "b", "b.json", {"mcpServers": {"s": {"command": "x"}}})
    other = written(tmp_path, "c.yaml", "servers: {s: {command: y}}\n")
    assert len(read_servers([one, same])) == 1
    with pytest.raises(ToolSourceError, match="server 's' differs from the one in an earlier file"):
        read_servers([one, other])


def test_only_one_file_says_how_the_gateway_shows_its_tools(tmp_path: Path) -> None:
    files = [written(tmp_path, name, "gateway: {names: plain}\n") for name in ("a.yaml", "b.yaml")]
    with pytest.raises(ToolSourceError, match="is the second file with `gateway`"):
        read_setup(files)


def test_calls_of_all_servers_are_asked_for_as_the_gateway_says_unless_a_server_says_otherwise(tmp_path: Path) -> None:
    options = written(tmp_path, "config.yaml", "gateway: {confirm: destructive}\n")
    entries = {"plain": {"command": "x"}, "own": {"command": "y", "hikidashi": {"confirm": "never"}}}
    servers = read_servers([options, written(tmp_path, "mcp.json", {"mcpServers": entries})])
    assert {one.name: one.options.confirm for one in servers} == {"plain": "destructive", "own": "never"}


def test_a_process_runs_in_the_folder_of_its_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "settings"))
    own = tmp_path / "settings" / "hikidashi"
    own.mkdir(parents=True)
    entries = {"plain": {"command": "x"}, "rel": {"command": "x", "cwd": "sub"}, "home": {"command": "x", "cwd": "~/n"}}
    project = written(tmp_path, ".mcp.json", {"mcpServers": entries})
    of_user = written(own, "mcp.json", {"mcpServers": {"plain": {"command": "x"}}})
    folders = {one.name: one.server.cwd for one in read_servers([project])}
    home = tmp_path / "home"
    assert folders == {"plain": str(tmp_path), "rel": str(tmp_path / "sub"), "home": str(home / "n")}
    assert read_servers([of_user])[0].server.cwd == str(home)


def test_gateways_are_one_only_if_all_they_are_told_is_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = written(tmp_path, "mcp.json", {"mcpServers": {"a": {"command": "x", "env": {"K": "${K_OF_A}"}}}})

    def identity(**options: Any) -> str:
        return identity_of(read_servers([file]), GatewayOptions(**options))

    unset = identity()
    monkeypatch.setenv("K_OF_A", "sk-test-one")
    one, pinned = identity(), identity(pin=("a",))
    monkeypatch.setenv("K_OF_A", "sk-test-two")
    assert len({unset, one, pinned, identity()}) == 4
    assert identity() == identity()


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=5)
    | st.sampled_from(["${A}", "${keyring:a/b}"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=5,
)


def _json(value: Any) -> bytes:
    return json.dumps({"mcpServers": value}).encode()


keys = st.sampled_from(
    [*(field.name for field in fields(ServerConfig)), "hikidashi", "x", "serverUrl", "httpUrl", "enabled", "envFile"]
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.dictionaries(st.text(max_size=4), st.dictionaries(keys, json_values, max_size=4), max_size=3))
def test_any_entry_is_a_server_or_one_with_a_problem_or_refused_by_name(
    tmp_path: Path, entries: dict[str, dict[str, Any]]
) -> None:
    for name, content in (("mcp.json", {"mcpServers": entries}), ("config.yaml", {"servers": entries})):
        with contextlib.suppress(ToolSourceError, ConfigError):
            for one in read_servers([written(tmp_path, name, content)]):
                assert isinstance(one, GatewayServer)
                assert (one.problem is None) == bool(one.server.command or one.server.url)
                Gateway([one], logins=Logins(tmp_path / "logins"))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=40) | st.text('{}[]",:/*ns\n 1', max_size=40).map(str.encode) | json_values.map(_json))
def test_any_file_has_servers_or_is_refused_by_name(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "mcp.json"
    file.write_bytes(content)
    refused: list[str] = []
    try:
        servers = read_servers([file])
    except ToolSourceError as error:
        servers, refused = [], [error.source]
    assert all(isinstance(one, GatewayServer) for one in servers)
    assert refused in ([], [str(file)])
