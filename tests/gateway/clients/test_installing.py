"""Our line in the files of clients: put in, seen, taken out."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.gateway.clients.machines import filled, fixture_of, machine_in

from hikidashi.errors import ToolSourceError
from hikidashi.gateway.clients.claude_code import hook_command
from hikidashi.gateway.clients.edits import EditError, TomlError, content_of, parse_toml, put_table, remove_table
from hikidashi.gateway.clients.install import FileChange, Line, Records, apply, diff_of, plan_install, plan_uninstall
from hikidashi.gateway.clients.servers import find_servers
from hikidashi.servers.clients import CLIENTS, Client, Machine, client_named

LINE = Line(
    name="hikidashi",
    command="/opt/bin/hikidashi",
    args=["serve", "--config", "/srv/mcp.json"],
    hook=["serve", "hook", "--config", "/srv/mcp.json"],
)
STDIO = {"command": "/opt/bin/hikidashi", "args": ["serve", "--config", "/srv/mcp.json"]}
EVERY_CLIENT = pytest.mark.parametrize("client", CLIENTS, ids=[client.name for client in CLIENTS])


def files_of(machine: Machine) -> dict[str, bytes]:
    return {
        str(file): file.read_bytes()
        for folder in (machine.home, machine.project)
        for file in sorted(folder.rglob("*"))
        if file.is_file()
    }


def servers_in(client: Client, machine: Machine) -> dict[str, Any]:
    place = client.main(machine)
    file = place.file(machine)
    content = content_of(file, file.read_bytes(), client.format)
    for key in place.key:
        content = content[key]
    return content


def install(client: Client, machine: Machine, line: Line = LINE) -> list[FileChange]:
    records = Records(machine.home.parent / "state" / "installed.json")
    changes = plan_install(client, line, records, machine=machine)
    apply(changes, records)
    return changes


def uninstall(client: Client, machine: Machine, name: str | None = None) -> list[FileChange]:
    records = Records(machine.home.parent / "state" / "installed.json")
    changes = plan_uninstall(client, records, name=name, machine=machine)
    if changes:
        apply(changes, records)
    return changes


@EVERY_CLIENT
def test_what_is_installed_is_all_that_changes_and_uninstalling_restores_every_byte(
    tmp_path: Path, client: Client
) -> None:
    machine = filled(machine_in(tmp_path))
    before = files_of(machine)
    known = servers_in(client, machine)
    install(client, machine)
    entry = {
        "vscode": {"type": "stdio", **STDIO},
        "claude-code": {"type": "stdio", **STDIO},
        "claude-code-project": {"type": "stdio", **STDIO},
        "zed": {"source": "custom", **STDIO},
    }.get(client.name, STDIO)
    assert servers_in(client, machine) == {**known, "hikidashi": entry}
    text = client.main(machine).file(machine).read_text(encoding="utf-8")
    lines = iter(text.split("\n"))
    kept = [line for line in fixture_of(client).decode().split("\n") if line.strip()]
    if client.name != "claude-code-project":  # all in one line
        assert all(any(line in (one, one.removesuffix(",")) for one in lines) for line in kept)
    assert [name for _, _, name in find_servers([client], machine=machine).own] == ["hikidashi"]
    assert [change.how for change in uninstall(client, machine)][:1] == ["restore"]
    assert files_of(machine) == before


@EVERY_CLIENT
def test_a_file_that_was_not_there_is_gone_again(tmp_path: Path, client: Client) -> None:
    machine = machine_in(tmp_path)
    install(client, machine)
    assert list(servers_in(client, machine)) == ["hikidashi"]
    assert client.main(machine).file(machine).stat().st_mode & 0o777 == 0o600
    uninstall(client, machine)
    assert files_of(machine) == {}


@EVERY_CLIENT
def test_a_file_that_was_changed_since_loses_our_entry_only(tmp_path: Path, client: Client) -> None:
    machine = filled(machine_in(tmp_path))
    known = servers_in(client, machine)
    install(client, machine)
    file = client.main(machine).file(machine)
    more = b"\n[other]\na = 1\n" if client.format == "toml" else b"\n"
    file.write_bytes(file.read_bytes() + more)
    changes = uninstall(client, machine)
    assert (changes[0].how, changes[0].untouched) == ("remove", False)
    assert servers_in(client, machine) == known
    assert file.read_bytes().endswith(more)
    assert uninstall(client, machine) == []


def test_installing_again_with_another_config_replaces_our_line_and_restores_the_first_file(tmp_path: Path) -> None:
    machine = filled(machine_in(tmp_path))
    before = files_of(machine)
    for client in CLIENTS:
        install(client, machine)
        there = files_of(machine)
        assert not any(change.changes for change in install(client, machine))
        assert files_of(machine) == there
        other = Line(name="drawer", command="/b/hikidashi", args=["serve"], hook=["serve", "hook"])
        install(client, machine, other)
        names = list(servers_in(client, machine))
        assert ("drawer" in names, "hikidashi" in names) == (True, False)
        uninstall(client, machine)
    assert files_of(machine) == before


def test_another_name_takes_the_place_of_the_first_even_if_the_file_was_changed(tmp_path: Path) -> None:
    machine = filled(machine_in(tmp_path))
    for client in CLIENTS:
        known = servers_in(client, machine)
        install(client, machine)
        file = client.main(machine).file(machine)
        file.write_bytes(file.read_bytes() + b"\n")
        install(client, machine, Line(name="drawer", command="/b/hikidashi", args=["serve"], hook=["serve", "hook"]))
        assert list(servers_in(client, machine)) == [*known, "drawer"]
        uninstall(client, machine)
        assert servers_in(client, machine) == known


def test_a_backup_is_beside_the_file_with_its_permissions(tmp_path: Path) -> None:
    machine = filled(machine_in(tmp_path))
    client = client_named("cursor")
    file = client.main(machine).file(machine)
    file.chmod(0o640)
    install(client, machine)
    (backup,) = file.parent.glob("mcp.json.*.hikidashi-backup")
    assert backup.read_bytes() == fixture_of(client)
    assert [one.stat().st_mode & 0o777 for one in (file, backup)] == [0o640, 0o640]
    uninstall(client, machine)
    assert list(file.parent.iterdir()) == [file]
    assert file.stat().st_mode & 0o777 == 0o640


def test_a_link_to_a_file_stays_a_link(tmp_path: Path) -> None:
    machine = filled(machine_in(tmp_path))
    file = client_named("zed").main(machine).file(machine)
    real = tmp_path / "dotfiles.json"
    file.rename(real)
    file.symlink_to(real)
    before = real.read_bytes()
    install(client_named("zed"), machine)
    assert (file.is_symlink(), b"hikidashi" in real.read_bytes()) == (True, True)
    uninstall(client_named("zed"), machine)
    assert (file.is_symlink(), real.read_bytes()) == (True, before)


def test_a_lost_backup_costs_only_the_bytes(tmp_path: Path) -> None:
    machine = filled(machine_in(tmp_path))
    client = client_named("gemini")
    known = servers_in(client, machine)
    install(client, machine)
    for backup in client.main(machine).file(machine).parent.glob("*.hikidashi-backup"):
        backup.unlink()
    assert [change.how for change in uninstall(client, machine)] == ["remove"]
    assert servers_in(client, machine) == known


@EVERY_CLIENT
def test_another_server_under_our_name_is_not_touched(tmp_path: Path, client: Client) -> None:
    machine = filled(machine_in(tmp_path))
    name = next(iter(servers_in(client, machine)))
    before = files_of(machine)
    with pytest.raises(ToolSourceError, match=f"has another server that is called '{name}'.*--name"):
        install(client, machine, Line(name=name, command="/b/hikidashi", args=["serve"], hook=[]))
    assert uninstall(client, machine, name) == []
    assert files_of(machine) == before


@EVERY_CLIENT
def test_a_broken_file_is_refused_with_line_and_column_and_nothing_is_written(tmp_path: Path, client: Client) -> None:
    machine = filled(machine_in(tmp_path))
    for place in (client.main(machine), client.settings):
        if place is None:
            continue
        file = place.file(machine)
        file.parent.mkdir(exist_ok=True)
        good = file.read_bytes() if file.exists() else None
        file.write_bytes(b"a = 1\nb = \n" if client.format == "toml" else b'{\n  "a": tru\n}')
        before = files_of(machine)
        with pytest.raises(ToolSourceError, match=r", line 2: is not .* \(column \d+\)\. Nothing was written"):
            install(client, machine)
        assert files_of(machine) == before
        file.unlink() if good is None else file.write_bytes(good)


def test_a_file_that_cannot_be_written_leaves_the_others_as_they_were(tmp_path: Path) -> None:
    machine = filled(machine_in(tmp_path))
    (machine.home / ".claude").write_text("a file where a folder should be")
    before = files_of(machine)
    with pytest.raises(ToolSourceError, match="cannot be written"):
        install(client_named("claude-code"), machine)
    assert files_of(machine) == before


def test_a_change_by_another_program_meanwhile_is_not_overwritten(tmp_path: Path) -> None:
    machine = filled(machine_in(tmp_path))
    client = client_named("cursor")
    records = Records(tmp_path / "installed.json")
    changes = plan_install(client, LINE, records, machine=machine)
    file = client.main(machine).file(machine)
    file.write_text("{}")
    with pytest.raises(ToolSourceError, match="was changed by another program meanwhile"):
        apply(changes, records)
    assert file.read_text() == "{}"


@EVERY_CLIENT
def test_the_difference_shows_our_line_and_no_key(tmp_path: Path, client: Client) -> None:
    machine = filled(machine_in(tmp_path))
    changes = plan_install(client, LINE, Records(tmp_path / "installed.json"), machine=machine)
    shown = diff_of(changes[0])
    assert "/srv/mcp.json" in shown
    assert [secret for secret in ("sk-test", "ghp-test", "plainword") if secret in shown] == []
    assert shown.startswith(f"--- {client.main(machine).file(machine)}{os.linesep}")


def test_claude_code_gets_rules_and_a_hook_beside_its_own(tmp_path: Path) -> None:
    machine = filled(machine_in(tmp_path))
    client = client_named("claude-code")
    assert client.settings is not None
    file = client.settings.file(machine)
    file.parent.mkdir()
    own = '{"permissions": {"allow": ["Bash(ls:*)"], "deny": []}, "hooks": {"Stop": []}, "model": "x"}\n'
    file.write_text(own)
    install(client, machine)
    command = "/opt/bin/hikidashi serve hook --config /srv/mcp.json"
    settings = content_of(file, file.read_bytes(), "json")
    assert settings == {
        "permissions": {
            "allow": [
                "Bash(ls:*)",
                "mcp__hikidashi__search_tools",
                "mcp__hikidashi__call_read_tool",
                "mcp__hikidashi__read_result",
            ],
            "deny": [],
        },
        "hooks": {
            "Stop": [],
            "PreToolUse": [
                {
                    "matcher": "mcp__hikidashi__.*",
                    "hooks": [{"type": "command", "command": command, "timeout": 30}],
                }
            ],
        },
        "model": "x",
    }
    file.write_text(file.read_text().replace('"x"', '"y"'))
    uninstall(client, machine)
    assert content_of(file, file.read_bytes(), "json") == {
        "permissions": {"allow": ["Bash(ls:*)"], "deny": []},
        "hooks": {"Stop": []},
        "model": "y",
    }


def test_the_hook_is_a_line_that_each_shell_reads() -> None:
    assert hook_command("/o/my bin/hikidashi", ["serve", "hook"], windows=False) == "'/o/my bin/hikidashi' serve hook"
    windows = hook_command(r"C:\My Programs\hikidashi.exe", ["serve", "hook"], windows=True)
    assert windows == '"C:/My Programs/hikidashi.exe" serve hook'


keys = st.text(alphabet='ab.-_"é \n', min_size=1, max_size=5)
texts = st.text(alphabet="ab\"'\\é\n\t\x7f#[]", max_size=8)


@given(keys, texts, st.lists(texts, max_size=3), st.sampled_from(["", "\n", "# c", 'a = """\n[mcp_servers.x]\n"""\n']))
def test_a_table_comes_and_goes(name: str, command: str, args: list[str], before: str) -> None:
    entry = {"command": command, "args": args}
    text = put_table(before, ("mcp_servers", name), entry)
    assert text.startswith(before)
    assert parse_toml(text) == {**parse_toml(before), "mcp_servers": {name: entry}}
    more = text + "\n# another\n[mcp_servers.other] # c\ncommand = 'x'\n"
    if name != "other":
        assert parse_toml(remove_table(more, ("mcp_servers", name))) == {
            **parse_toml(before),
            "mcp_servers": {"other": {"command": "x"}},
        }
    assert parse_toml(remove_table(text, ("mcp_servers", name))) == parse_toml(before)


@given(st.text(alphabet="[]={}\"'#\n a.1", max_size=30))
def test_any_toml_is_changed_rightly_or_refused(text: str) -> None:
    try:
        before = parse_toml(text)
        changed = put_table(text, ("mcp_servers", "h"), {"command": "x"})
    except (TomlError, EditError):
        return
    assert parse_toml(changed) == {**before, "mcp_servers": {"h": {"command": "x"}}}


def test_an_inline_table_is_refused_with_the_remedy() -> None:
    with pytest.raises(EditError) as caught:
        put_table('mcp_servers = { a = { command = "x" } }\n', ("mcp_servers", "h"), {"command": "y"})
    assert "write it as tables, such as `[mcp_servers.name]`" in caught.value.reason
