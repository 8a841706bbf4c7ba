"""`hikidashi serve import`, `install`, `uninstall` and `hook`, as a user runs them."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.gateway.clients.machines import filled, fixture_of

from hikidashi.gateway.approval import Approvals
from hikidashi.gateway.config import read_servers
from hikidashi.servers.clients import CLIENTS, Client, Machine, client_named

Command = Callable[..., "subprocess.CompletedProcess[str]"]
Hikidashi = Callable[..., "subprocess.CompletedProcess[str]"]

FRAMEWORKS = ("pydantic_ai", "claude_agent_sdk", "mcp", "strands", "anthropic", "tavily")
SECRETS = ("sk-test", "ghp-test", "plainword")


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """A machine on which every client has servers."""
    (tmp_path / "home").mkdir()
    (tmp_path / "project").mkdir()
    return filled(Machine(system="linux", environ={}, home=tmp_path / "home", project=tmp_path / "project"))


@pytest.fixture
def hikidashi(machine: Machine) -> Hikidashi:
    """`hikidashi("import")` runs `hikidashi serve import` on that machine, and no key is in what it says."""

    def run(*arguments: str, given: str = "", terminal: bool = False) -> subprocess.CompletedProcess[str]:
        left_out = ("XDG_", "CLAUDE_", "CODEX_", "GEMINI_")
        plain = {name: value for name, value in os.environ.items() if not name.startswith(left_out)}
        command = [sys.executable, "-m", "hikidashi", "serve", *arguments]
        env = {**plain, "HOME": str(machine.home), "COLUMNS": "100", "LANG": "C.UTF-8"}
        if terminal:
            typed, seen = pty.openpty()
            os.write(typed, given.encode())
            with open(seen, "rb", closefd=True) as stdin:  # noqa: PTH123
                done = subprocess.run(
                    command, env=env, cwd=machine.project, stdin=stdin, capture_output=True, text=True, check=False
                )
            os.close(typed)
        else:
            done = subprocess.run(
                command, env=env, cwd=machine.project, input=given, capture_output=True, text=True, check=False
            )
        assert [secret for secret in SECRETS if secret in done.stdout + done.stderr] == []
        assert "Traceback" not in done.stderr
        return done

    return run


def own_file(machine: Machine) -> Path:
    return machine.home / ".config" / "hikidashi" / "mcp.json"


def names_in(file: Path) -> list[str]:
    return list(json.loads(file.read_text())["mcpServers"])


@pytest.mark.parametrize("arguments", [("import",), ("install",), ("uninstall",)])
def test_the_help_has_examples_and_fits_80_columns(command: Command, arguments: tuple[str, ...]) -> None:
    done = command("serve", *arguments, "--help", without=FRAMEWORKS)
    assert (done.returncode, done.stderr) == (0, "")
    assert "Examples:\n    hikidashi serve" in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80


def test_without_a_choice_the_servers_are_shown_and_nothing_is_written(hikidashi: Hikidashi, machine: Machine) -> None:
    done = hikidashi("import")
    assert (done.returncode, done.stderr) == (0, "")
    for client in CLIENTS:
        assert f"{client.title}  {client.main(machine).file(machine)}" in done.stdout.replace("\n", "")
    assert "sentry  https://mcp.sentry.example/mcp?token=***; headers Authorization=***" in done.stdout
    assert "becomes github-claude-code, since its name is taken" in " ".join(done.stdout.split())
    assert "cannot be taken over: it asks for `${input:key}`" in " ".join(done.stdout.split())
    assert done.stdout.endswith("Nothing was written. Choose servers by name, or all of them with --all.\n")
    assert not own_file(machine).exists()


def test_all_are_taken_over_and_may_run(hikidashi: Hikidashi, machine: Machine) -> None:
    done = hikidashi("import", "--all", "--yes")
    assert (done.returncode, done.stderr) == (0, "")
    assert own_file(machine).stat().st_mode & 0o777 == 0o600
    servers = read_servers([own_file(machine)])
    assert len(servers) == 16
    approvals = Approvals(machine.home / ".local" / "state" / "hikidashi" / "gateway" / "approved.json")
    assert approvals.missing(servers) == []
    for client in CLIENTS:
        assert client.main(machine).file(machine).read_bytes() == fixture_of(client)


def test_on_a_terminal_it_asks_which_ones(hikidashi: Hikidashi, machine: Machine) -> None:
    done = hikidashi("import", "--from", "gemini", "--from", "cursor", given="9\n1,3-4\n", terminal=True)
    assert done.returncode == 0
    assert "'9' is not a list of numbers from 1 to 5." in done.stderr
    assert names_in(own_file(machine)) == ["maps", "events", "tavily"]
    assert hikidashi("import", "--from", "zed", given="\n", terminal=True).returncode == 0
    assert hikidashi("import", "--all", given="n\n", terminal=True).returncode == 1
    assert names_in(own_file(machine)) == ["maps", "events", "tavily"]


def test_servers_are_chosen_by_name_into_a_file_of_ones_own(hikidashi: Hikidashi, machine: Machine) -> None:
    to = machine.project / "team.json"
    to.write_text('{"mcpServers": {"git": {"command": "mine"}}, "other": 1}')
    done = hikidashi("import", "git", "postgres", "--to", str(to), "--json")
    report = json.loads(done.stdout)
    assert [(one["name"], one["as"]) for one in report["servers"] if one["taken"]] == [
        ("git", "git-gemini"),
        ("postgres", "postgres"),
    ]
    assert (names_in(to), json.loads(to.read_text())["other"]) == (["git", "git-gemini", "postgres"], 1)
    assert to.stat().st_mode & 0o777 == 0o600


def test_a_broken_file_of_one_client_is_named_and_the_others_are_shown(hikidashi: Hikidashi, machine: Machine) -> None:
    file = client_named("zed").main(machine).file(machine)
    file.write_text('{\n  "context_servers": {,}\n}')
    done = hikidashi("import", "--all")
    assert done.returncode == 1
    assert f"error: {file}, line 2: is not JSON with comments: a name in double quotes is missing (column 23)." in (
        done.stderr
    )
    assert "tavily" in names_in(own_file(machine))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("import", "--from", "emacs"), "'emacs'. Use one of claude-desktop"),
        (("import", "nothing-of-that-name"), "there is no server 'nothing-of-that-name'"),
        (("import", "--to", ".mcp.json"), "is the file of Claude Code (project)"),
        (("install", "emacs"), "'emacs'. Use one of claude-desktop"),
        (("install",), "CLIENT"),
        (("install", "cursor", "--config", "none.json"), "there is no such file"),
        (("install", "cursor"), "Run `hikidashi serve import`"),
        (("install", "cursor", "--name", "a__b"), "is 'a__b'"),
    ],
)
def test_wrong_usage_ends_with_2_and_the_remedy(hikidashi: Hikidashi, arguments: tuple[str, ...], said: str) -> None:
    done = hikidashi(*arguments)
    assert done.returncode == 2
    assert said in " ".join(done.stderr.replace("│", " ").split())


def test_a_client_gets_our_line_and_loses_it_again(hikidashi: Hikidashi, machine: Machine) -> None:
    assert hikidashi("import", "--all").returncode == 0
    client = client_named("codex")
    file = client.main(machine).file(machine)
    shown = hikidashi("install", "codex", "--dry-run")
    assert (shown.returncode, file.read_bytes()) == (0, fixture_of(client))
    assert "+[mcp_servers.hikidashi]\n+command = " in shown.stdout
    done = json.loads(hikidashi("install", "codex", "--json").stdout)
    (change,) = done["files"]
    assert (change["action"], Path(change["backup"]).read_bytes()) == ("install", fixture_of(client))
    text = file.read_text()
    started = text.partition("[mcp_servers.hikidashi]")[2]
    command = json.loads(started.partition("command = ")[2].partition("\n")[0])
    assert (Path(command).is_absolute(), Path(command).name) == (True, "hikidashi")
    assert f'args = ["serve", "--config", "{own_file(machine)}"]' in started
    assert "nothing to change" in hikidashi("install", "codex").stdout
    gone = hikidashi("uninstall", "codex")
    assert "as it was before, byte for byte" in gone.stdout
    assert file.read_bytes() == fixture_of(client)
    again = hikidashi("uninstall", "codex")
    assert again.returncode == 1
    assert "Put it there with: hikidashi serve install codex" in again.stderr


def test_installing_names_the_servers_that_the_client_also_has_itself(hikidashi: Hikidashi, machine: Machine) -> None:
    hikidashi("import", "--from", "cursor", "--all", "--yes")
    assert json.loads(hikidashi("install", "zed", "--json", "--dry-run").stdout)["also_in_client"] == []
    both = json.loads(hikidashi("install", "cursor", "--json").stdout)["also_in_client"]
    assert sorted(both) == sorted(
        name
        for name, entry in json.loads(own_file(machine).read_text())["mcpServers"].items()
        if not entry.get("disabled")
    )
    said = " ".join(hikidashi("install", "cursor").stdout.split())
    assert f"Cursor itself also has {', '.join(both)}. The model sees these tools twice" in said
    assert said.endswith(": hikidashi serve install cursor --move")
    config = str(own_file(machine))
    said = hikidashi("install", "cursor", "--config", config, "--name", "my tools").stdout
    assert said.endswith(f":\n  hikidashi serve install cursor --config {config} --name 'my tools' --move\n")


@pytest.mark.parametrize("client", CLIENTS, ids=[client.name for client in CLIENTS])
def test_servers_are_moved_and_come_back(hikidashi: Hikidashi, machine: Machine, client: Client) -> None:
    hikidashi("import", "--from", client.name, "--all", "--yes")
    file = client.main(machine).file(machine)
    shown = json.loads(hikidashi("install", client.name, "--move", "--dry-run", "--json").stdout)
    assert file.read_bytes() == fixture_of(client)
    done = json.loads(hikidashi("install", client.name, "--move", "--json").stdout)
    assert done["moved"] == shown["moved"] != []
    elsewhere = ["database"] if client.name == "claude-code" else []
    assert (done["also_in_client"], [one["name"] for one in done["not_moved"]]) == (elsewhere, elsewhere)
    assert done["files"][0]["diff"] == shown["files"][0]["diff"]
    again = json.loads(hikidashi("install", client.name, "--json").stdout)
    assert (again["moved"], {one["action"] for one in again["files"]}) == (done["moved"], {"none"})
    gone = json.loads(hikidashi("uninstall", client.name, "--json").stdout)
    assert gone["put_back"] == done["moved"]
    assert file.read_bytes() == fixture_of(client)


def test_what_is_moved_is_said_with_what_gets_lost_and_how_it_comes_back(
    hikidashi: Hikidashi, machine: Machine
) -> None:
    hikidashi("import", "--from", "windsurf", "--all", "--yes")
    would = hikidashi("install", "windsurf", "--move", "--dry-run").stdout
    how = "(`hikidashi serve uninstall windsurf` puts back what was moved)"
    assert f"\n  would be moved out of it: remote {how}\n" in would
    said = hikidashi("install", "windsurf", "--move").stdout
    assert f"\n  moved out of it: remote {how}\n" in said
    assert said.endswith("hikidashi does not use these keys of remote: disabledTools.\n")
    empty = machine.project / "empty.json"
    empty.write_text('{"mcpServers": {}}')
    said = hikidashi("install", "windsurf", "--config", str(empty)).stdout
    assert "Moved before, and not served by hikidashi now: remote." in said
    assert said.endswith(":\n  hikidashi serve uninstall windsurf\n")
    file = client_named("windsurf").main(machine).file(machine)
    text = file.read_text()
    file.write_text(text + "\n")
    said = hikidashi("uninstall", "windsurf").stdout
    assert "it was changed since, so only our entry is removed.\n  put back: remote\n" in said
    assert sorted(names_in(file)) == ["off", "remote"]
    hikidashi("install", "windsurf", "--move")
    file.unlink()
    assert (
        "it was removed since, so it is made again, without our entry.\n" in hikidashi("uninstall", "windsurf").stdout
    )
    assert names_in(file) == ["remote"]
    hikidashi("install", "windsurf", "--move")
    file.write_text('{"mcpServers": {"remote": {"command": "mine"}}}')
    hikidashi("install", "windsurf", "--config", str(empty))
    said = hikidashi("uninstall", "windsurf").stdout
    assert "\n  stays as it is: remote, since the file has another server of that name now; backups" in said


def test_servers_elsewhere_are_named_with_the_command_that_removes_them(hikidashi: Hikidashi) -> None:
    hikidashi("import", "--all", "--yes")
    said = hikidashi("install", "claude-code", "--move").stdout
    assert "  cd /srv/shop && claude mcp remove database --scope local\n" in said
    assert said.endswith("  claude mcp remove docs --scope project\n")


def test_nothing_is_moved_where_the_servers_of_the_gateway_cannot_be_read(
    hikidashi: Hikidashi, machine: Machine
) -> None:
    config = machine.project / "servers.json"
    config.write_text('{"mcpServers": {"a": {"command": "a", "hikidashi": {"nothing": 1}}}}')
    done = hikidashi("install", "cursor", "--config", str(config), "--move")
    assert (done.returncode, "there is no nothing" in done.stderr) == (1, True)
    client = client_named("cursor")
    assert client.main(machine).file(machine).read_bytes() == fixture_of(client)
    assert hikidashi("install", "cursor", "--config", str(config)).returncode == 0


def test_installing_says_which_commands_nobody_has_agreed_to(hikidashi: Hikidashi, machine: Machine) -> None:
    config = machine.project / "servers.json"
    config.write_text('{"mcpServers": {"new": {"command": "new-mcp"}}}')
    done = hikidashi("install", "zed", "--config", str(config))
    said = f"Not approved yet: new. Read the file, then run: hikidashi serve --config {config}\n"
    assert done.stdout.endswith(said)


def test_a_file_that_was_changed_loses_our_entry_only_and_it_is_said(hikidashi: Hikidashi, machine: Machine) -> None:
    (machine.project / "servers.json").write_text('{"mcpServers": {}}')
    hikidashi("install", "vscode", "--config", "servers.json", "--name", "drawer")
    file = client_named("vscode").main(machine).file(machine)
    file.write_text(file.read_text() + "// mine\n")
    done = hikidashi("uninstall", "vscode")
    assert "it was changed since, so only our entry is removed" in done.stdout
    assert file.read_text() == fixture_of(client_named("vscode")).decode() + "// mine\n"


def test_a_client_is_not_given_its_own_file(hikidashi: Hikidashi, machine: Machine) -> None:
    done = hikidashi("install", "claude-code-project", "--config", ".mcp.json")
    assert done.returncode == 1
    assert "so hikidashi would start itself endlessly" in done.stderr
    assert (machine.project / ".mcp.json").read_bytes() == fixture_of(client_named("claude-code-project"))


def test_the_hook_answers_on_standard_output(hikidashi: Hikidashi) -> None:
    call = {"tool_name": "mcp__hikidashi__call_tool", "tool_input": {"name": "docs__add", "arguments": {"a": 1}}}
    done = hikidashi("hook", "--config", ".mcp.json", given=json.dumps(call))
    assert json.loads(done.stdout) == {
        "hookSpecificOutput": {
            "hookEventName": "PreToolUse",
            "permissionDecision": "ask",
            "permissionDecisionReason": "Tool 'add' of server 'docs' wants to be called. Arguments: {\"a\": 1}",
        }
    }
    wrong = hikidashi("hook", given="{")
    assert (wrong.returncode, wrong.stdout) == (1, "")
    assert "standard input: is not JSON" in wrong.stderr
