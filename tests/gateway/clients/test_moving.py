"""Servers that hikidashi serves, moved out of a client's file with our entry, and put back."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.gateway.clients.machines import filled, fixture_of, machine_in
from tests.gateway.clients.test_installing import EVERY_CLIENT, LINE, files_of, servers_in
from tests.gateway.clients.test_json_edit import documents

from hikidashi.errors import ToolSourceError
from hikidashi.gateway.clients.edits import content_of
from hikidashi.gateway.clients.install import (
    FileChange,
    Line,
    Records,
    apply,
    diff_of,
    plan_install,
    plan_uninstall,
    put_back,
    table_of,
    take_out,
)
from hikidashi.gateway.clients.servers import find_servers
from hikidashi.gateway.clients.takeover import not_served, shared_servers
from hikidashi.gateway.config import read_servers
from hikidashi.gateway.options import GatewayServer
from hikidashi.servers.clients import Client, ClientName, Machine, client_named

OTHER = Line(name="drawer", command="/b/hikidashi", args=["serve"], hook=["serve", "hook"])
MOVED: dict[ClientName, list[str]] = {
    "claude-desktop": ["filesystem", "github"],
    "claude-code": ["sentry", "github"],
    "claude-code-project": ["docs"],
    "cursor": ["tavily", "linear"],
    "vscode": ["playwright"],
    "windsurf": ["remote"],
    "codex": ["context7"],
    "gemini": ["maps", "git", "events"],
    "zed": ["postgres", "older"],
}
"""What the fixture of each client has that can be served, and is not disabled."""


def served_from(client: Client, machine: Machine, **more: Any) -> list[GatewayServer]:
    """The servers of `client` as the gateway has them after `serve import`."""
    file = machine.home.parent / "mcp.json"
    entries = {one.name: one.entry for one in find_servers([client], machine=machine).found if not one.taken.problem}
    file.write_text(json.dumps({"mcpServers": {**entries, **more}}), encoding="utf-8")
    return read_servers([file])


def movable(client: Client, machine: Machine, servers: list[GatewayServer]) -> list[str]:
    return [one.found.name for one in shared_servers(client, servers, machine=machine) if one.movable]


def install(client: Client, machine: Machine, move: list[str], line: Line = LINE) -> list[FileChange]:
    records = Records(machine.home.parent / "state" / "installed.json")
    changes = plan_install(client, line, records, move=move, machine=machine)
    apply(changes, records)
    return changes


def uninstall(client: Client, machine: Machine) -> list[FileChange]:
    records = Records(machine.home.parent / "state" / "installed.json")
    changes = plan_uninstall(client, records, machine=machine)
    apply(changes, records)
    return changes


def main_file(client: Client, machine: Machine) -> Path:
    return client.main(machine).file(machine)


@EVERY_CLIENT
def test_the_servers_that_the_gateway_serves_are_moved_and_come_back_byte_for_byte(
    tmp_path: Path, client: Client
) -> None:
    machine = filled(machine_in(tmp_path))
    before = files_of(machine)
    known = servers_in(client, machine)
    move = movable(client, machine, served_from(client, machine))
    assert move == MOVED[client.name]
    (change, *_) = install(client, machine, move)
    assert (change.taken_out, change.left) == (move, {})
    assert list(servers_in(client, machine)) == [*(name for name in known if name not in move), "hikidashi"]
    kept = content_of(change.file, fixture_of(client), client.format)
    now = content_of(change.file, change.file.read_bytes(), client.format)
    key = client.main(machine).key[0]
    assert {name: value for name, value in now.items() if name != key} == {
        name: value for name, value in kept.items() if name != key
    }
    (change, *_) = uninstall(client, machine)
    assert (change.how, change.put_back) == ("restore", move)
    assert files_of(machine) == before


@EVERY_CLIENT
def test_a_file_that_was_changed_since_gets_its_servers_back_as_they_were_written(
    tmp_path: Path, client: Client
) -> None:
    machine = filled(machine_in(tmp_path))
    known = servers_in(client, machine)
    move = movable(client, machine, served_from(client, machine))
    install(client, machine, move)
    file = main_file(client, machine)
    more = b"\n[other]\na = 1\n" if client.format == "toml" else b"\n"
    file.write_bytes(file.read_bytes() + more)
    (change, *_) = uninstall(client, machine)
    assert (change.how, change.put_back, change.left) == ("remove", move, {})
    assert servers_in(client, machine) == known
    text = file.read_text(encoding="utf-8")
    assert ("// a key" in text) == (client.name == "cursor")
    assert ("# [mcp_servers.hikidashi]" in text) == (client.name == "codex")
    assert plan_uninstall(client, Records(tmp_path / "state" / "installed.json"), machine=machine) == []


@EVERY_CLIENT
def test_installing_again_changes_nothing_and_what_was_moved_can_still_be_restored(
    tmp_path: Path, client: Client
) -> None:
    machine = filled(machine_in(tmp_path))
    before = files_of(machine)
    servers = served_from(client, machine)
    install(client, machine, [])
    install(client, machine, movable(client, machine, servers))
    there = files_of(machine)
    for move in (movable(client, machine, servers), MOVED[client.name], []):
        changes = install(client, machine, move)
        assert [(change.changes, change.taken_out) for change in changes] == [(False, [])] * len(changes)
        assert list(changes[0].moved) == MOVED[client.name]
        assert files_of(machine) == there
    install(client, machine, [], OTHER)
    assert [name for name in MOVED[client.name] if name in servers_in(client, machine)] == []
    uninstall(client, machine)
    assert files_of(machine) == before


@EVERY_CLIENT
def test_a_changed_file_that_is_installed_into_again_still_gets_all_of_its_servers_back(
    tmp_path: Path, client: Client
) -> None:
    machine = filled(machine_in(tmp_path))
    known = servers_in(client, machine)
    first, *rest = movable(client, machine, served_from(client, machine))
    install(client, machine, [first])
    file = main_file(client, machine)
    file.write_bytes(file.read_bytes() + b"\n")
    install(client, machine, rest, OTHER)
    assert [name for name in MOVED[client.name] if name in servers_in(client, machine)] == []
    uninstall(client, machine)
    assert servers_in(client, machine) == known


@EVERY_CLIENT
def test_a_file_that_is_gone_is_made_again_with_its_servers(tmp_path: Path, client: Client) -> None:
    machine = filled(machine_in(tmp_path))
    known = servers_in(client, machine)
    install(client, machine, MOVED[client.name])
    main_file(client, machine).unlink()
    uninstall(client, machine)
    assert servers_in(client, machine) == {name: known[name] for name in MOVED[client.name]}


def test_a_server_that_somebody_put_back_is_left_as_it_is_now(tmp_path: Path) -> None:
    machine = filled(machine_in(tmp_path))
    client = client_named("gemini")
    known = servers_in(client, machine)
    install(client, machine, ["maps", "git", "events"])
    own = {"maps": known["maps"], "git": {"command": "mine"}}
    main_file(client, machine).write_text(json.dumps({"mcpServers": own}))
    (change,) = uninstall(client, machine)
    assert (change.put_back, list(change.left)) == (["events"], ["git"])
    assert servers_in(client, machine) == {**own, "events": known["events"]}
    backups = [file.read_bytes() for file in change.file.parent.glob("*.hikidashi-backup")]
    assert fixture_of(client) in backups


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("windsurf", '{"mcpServers": []}', "`mcpServers` is not an object"),
        ("codex", "mcp_servers = 1", "`mcp_servers` is not a table"),
        ("codex", "mcp_servers = {}", "write it as tables, such as"),
    ],
)
def test_a_file_that_cannot_be_added_to_keeps_its_record(
    tmp_path: Path, name: ClientName, text: str, reason: str
) -> None:
    machine = filled(machine_in(tmp_path))
    client = client_named(name)
    known = servers_in(client, machine)
    (one,) = MOVED[name]
    install(client, machine, [one])
    file = main_file(client, machine)
    file.write_text(text)
    with pytest.raises(ToolSourceError, match=reason):
        uninstall(client, machine)
    assert file.read_text() == text
    file.write_text("")
    uninstall(client, machine)
    assert servers_in(client, machine) == {one: known[one]}


def test_a_lost_backup_costs_only_the_bytes(tmp_path: Path) -> None:
    machine = filled(machine_in(tmp_path))
    client = client_named("gemini")
    known = servers_in(client, machine)
    install(client, machine, MOVED["gemini"])
    for backup in main_file(client, machine).parent.glob("*.hikidashi-backup"):
        backup.unlink()
    uninstall(client, machine)
    assert servers_in(client, machine) == known


def test_taking_out_another_entry_of_ours_keeps_what_was_moved(tmp_path: Path) -> None:
    machine = filled(machine_in(tmp_path))
    client = client_named("cursor")
    known = servers_in(client, machine)
    install(client, machine, MOVED["cursor"])
    file = main_file(client, machine)
    file.write_text(
        file.read_text().replace(
            '"hikidashi": {', '"by-hand": {"command": "hikidashi", "args": ["serve"]}, "hikidashi": {'
        )
    )
    records = Records(tmp_path / "state" / "installed.json")
    apply(plan_uninstall(client, records, name="by-hand", machine=machine), records)
    assert list(servers_in(client, machine)) == ["hikidashi"]
    uninstall(client, machine)
    assert servers_in(client, machine) == known


def test_our_entry_may_have_the_name_of_a_server_that_is_moved(tmp_path: Path) -> None:
    machine = filled(machine_in(tmp_path))
    client = client_named("cursor")
    known = servers_in(client, machine)
    install(client, machine, MOVED["cursor"], Line(name="tavily", command="/b/hikidashi", args=["serve"], hook=[]))
    file = main_file(client, machine)
    file.write_text(file.read_text() + "\n")
    uninstall(client, machine)
    assert servers_in(client, machine) == known


def test_only_what_the_gateway_serves_as_it_is_can_be_moved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("UNSET_KEY", raising=False)
    machine = machine_in(tmp_path)
    client = client_named("claude-desktop")
    file = main_file(client, machine)
    file.parent.mkdir(parents=True)
    names = ("same", "differs", "disabled-there", "disabled-here")
    entries: dict[str, Any] = {name: {"command": name} for name in names}
    entries["disabled-here"]["disabled"] = True
    file.write_text(json.dumps({"mcpServers": {**entries, "neither": {"args": []}}}))
    gateway = tmp_path / "mcp.json"
    served = {
        **entries,
        "differs": {"command": "differs", "args": ["more"]},
        "disabled-there": {"command": "disabled-there", "disabled": True},
        "disabled-here": {"command": "disabled-here"},
    }
    gateway.write_text(json.dumps({"mcpServers": served}))
    assert movable(client, machine, read_servers([gateway])) == ["same"]


def test_a_server_that_the_gateway_cannot_start_stays_and_it_is_said_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("UNSET_KEY", raising=False)
    machine = machine_in(tmp_path)
    client = client_named("windsurf")
    file = main_file(client, machine)
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps({"mcpServers": {"a": {"command": "a", "env": {"KEY": "${UNSET_KEY}"}}}}))
    (one,) = shared_servers(client, served_from(client, machine), machine=machine)
    assert (one.movable, "UNSET_KEY" in one.reason) == (False, True)
    assert one.reason.startswith("hikidashi cannot start it: it ")


def test_servers_in_files_that_we_do_not_edit_are_named_with_what_to_do(tmp_path: Path) -> None:
    machine = filled(machine_in(tmp_path))
    code, project, cursor = map(client_named, ("claude-code", "claude-code-project", "cursor"))
    own = machine.project / ".cursor" / "mcp.json"
    own.parent.mkdir()
    own.write_text('{"mcpServers": {"a": {"url": "https://a.example/mcp"}}}')
    remove = "claude mcp remove"

    def left(client: Client, servers: list[GatewayServer], *sources: Path) -> dict[str, str]:
        shared = shared_servers(client, servers, sources=sources, machine=machine)
        return {one.found.name: one.command or one.reason for one in shared if not one.movable}

    both = [*served_from(code, machine), *served_from(project, machine)]
    local = f"cd /srv/shop && {remove} database --scope local"
    assert left(code, both) == {"database": local, "docs": f"{remove} docs --scope project"}
    user = {name: f"{remove} {name} --scope user" for name in ("sentry", "github")}
    assert left(project, both) == {**user, "database": local}
    servers = served_from(cursor, machine)
    assert left(cursor, servers) == {"a": "`serve install` does not change this file. Remove it there."}
    assert left(cursor, servers, own) == {"a": "hikidashi serve import"}


def test_what_was_moved_and_is_not_served_any_more_is_named(tmp_path: Path) -> None:
    for client in map(client_named, ("codex", "claude-code-project", "gemini")):
        folder = tmp_path / client.name
        folder.mkdir()
        machine = filled(machine_in(folder))
        servers = served_from(client, machine)
        (change, *_) = install(client, machine, MOVED[client.name])
        assert not_served(client, change.moved, servers, machine=machine) == []
        assert not_served(client, change.moved, servers[1:], machine=machine) == MOVED[client.name][:1]


def test_a_form_of_toml_that_cannot_be_changed_stays_and_the_rest_is_moved(tmp_path: Path) -> None:
    machine = machine_in(tmp_path)
    client = client_named("codex")
    file = main_file(client, machine)
    file.parent.mkdir(parents=True)
    file.write_text('mcp_servers.a = { command = "a" } # mine\n\n[mcp_servers.b]\ncommand = "b"\n')
    (change,) = install(client, machine, ["a", "b"])
    remedy = "it is written in a form that cannot be moved; write it as a table, [mcp_servers.a]"
    assert (change.taken_out, change.left) == (["b"], {"a": remedy})
    assert "# mine" in file.read_text()
    assert list(servers_in(client, machine)) == ["a", "hikidashi"]


@EVERY_CLIENT
def test_the_difference_shows_what_is_moved_and_no_key(tmp_path: Path, client: Client) -> None:
    machine = filled(machine_in(tmp_path))
    records = Records(tmp_path / "installed.json")
    shown = diff_of(plan_install(client, LINE, records, move=MOVED[client.name], machine=machine)[0])
    assert all(name in shown for name in MOVED[client.name])
    assert [secret for secret in ("sk-test", "ghp-test", "plainword") if secret in shown] == []


def test_a_comment_that_repeats_a_key_of_a_moved_server_is_masked(tmp_path: Path) -> None:
    machine = machine_in(tmp_path)
    client = client_named("cursor")
    file = main_file(client, machine)
    file.parent.mkdir(parents=True)
    file.write_text(
        '{"mcpServers": {\n  // plainword1 is the key\n  "a": {"command": "a", "env": {"K": "plainword1"}}\n}}'
    )
    (change,) = plan_install(client, LINE, Records(tmp_path / "installed.json"), move=["a"], machine=machine)
    assert b"plainword1 is the key" in (change.after or b"")
    assert "plainword1" not in diff_of(change)


def test_the_record_with_the_moved_servers_is_for_its_owner_only_and_not_in_a_repr(tmp_path: Path) -> None:
    machine = filled(machine_in(tmp_path))
    client = client_named("claude-desktop")
    (change,) = install(client, machine, ["github"])
    file = tmp_path / "state" / "installed.json"
    assert file.stat().st_mode & 0o777 == 0o600
    record = Records(file).of(client.name, change.file)
    assert record is not None
    assert "ghp-test" in record.moved["github"]
    assert "ghp-test" not in repr(record)


names = st.text(alphabet='ab.-_"é \n', min_size=1, max_size=4).filter(lambda name: name != "hikidashi")


@st.composite
def tables(draw: Any) -> str:
    """A file of Codex as somebody might have written it."""
    newline = draw(st.sampled_from(["\n", "\r\n"]))
    blank = st.sampled_from(["", newline, f"# note{newline}", f"{newline}# note [x.y]{newline}{newline}"])
    parts = [draw(st.sampled_from(["", "\ufeff"])) + draw(blank)]
    for name in draw(st.lists(names, unique=True, max_size=4)):
        key = json.dumps(name, ensure_ascii=False)
        parts += [f"[mcp_servers.{key}] # c{newline}", draw(blank), f'command = "x"{newline}', draw(blank)]
        if draw(st.booleans()):
            parts += [f"args = [{newline} 'a', # [b]{newline}]{newline}", draw(blank)]
        if draw(st.booleans()):
            parts += [f"[mcp_servers.{key}.env]{newline}A = '''{newline}[c]'''{newline}", draw(blank)]
        if draw(st.booleans()):
            parts += [f"[other.{key}]{newline}a = 1{newline}", draw(blank)]
    text = "".join(parts)
    return text if draw(st.booleans()) else text.rstrip("\r\n")


def goes_and_comes(client: Client, data: bytes, more: bytes) -> None:
    """Move all servers out of a file with the content `data`, and uninstall, with and without a change in between."""
    with TemporaryDirectory() as folder:
        machine = machine_in(Path(folder))
        file = main_file(client, machine)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
        key = client.main(machine).key[0]
        value = content_of(file, data, client.format)
        servers = value.get(key, {})
        moved = [name for name, one in servers.items() if isinstance(one, dict)]
        (change, *_) = install(client, machine, moved)
        assert (change.taken_out, change.left) == (moved, {})
        left = [name for name in servers if name not in moved]
        assert list(servers_in(client, machine)) == [*left, "hikidashi"]
        uninstall(client, machine)
        assert file.read_bytes() == data
        install(client, machine, moved)
        file.write_bytes(file.read_bytes() + more)
        uninstall(client, machine)
        after = content_of(file, file.read_bytes(), client.format)
        assert {key: {}, **after} == {key: {}, **value}
        assert file.read_bytes().count(b"note") == data.count(b"note")


@given(documents())
def test_any_json_with_comments_is_the_same_after_install_and_uninstall(document: tuple[str, dict[str, Any]]) -> None:
    text, value = document
    if isinstance(value.get("mcpServers", {}), dict):
        goes_and_comes(client_named("cursor"), text.encode("utf-8"), b"\n// more\n")


@given(tables())
def test_any_tables_of_toml_are_the_same_after_install_and_uninstall(text: str) -> None:
    goes_and_comes(client_named("codex"), text.encode("utf-8"), b"\n# more\n")


@given(documents())
def test_what_is_taken_out_and_put_back_has_its_values_and_comments(
    document: tuple[str, dict[str, Any]],
) -> None:
    text, value = document
    client = client_named("cursor")
    place = client.places[0]
    servers: Any = value.get("mcpServers")
    names: list[str] = list(servers) if isinstance(servers, dict) else []  # pyright: ignore[reportUnknownArgumentType]
    table = table_of(client, place)
    without, moved, left = take_out(table, text, names)
    assert left == {}
    again, back, _ = put_back(table, without, moved)
    assert back == [name for name in names if servers[name] is not None]
    assert content_of(Path(), again.encode(), "jsonc") == value
    for note in ("// a note", "/* note */", "/* two\nlines */"):  # what is put back has the line ends of the file
        assert again.replace("\r\n", "\n").count(note) == text.replace("\r\n", "\n").count(note)


def test_a_name_that_is_there_twice_is_not_moved(tmp_path: Path) -> None:
    machine = machine_in(tmp_path)
    client = client_named("cursor")
    file = main_file(client, machine)
    file.parent.mkdir(parents=True)
    file.write_text('{"mcpServers": {"a": {"command": "a"}, "a": {"command": "b"}, "c": {"command": "c"}}}')
    (change,) = install(client, machine, ["a", "c"])
    assert (change.taken_out, change.left) == (["c"], {"a": "`a` is there more than once"})
