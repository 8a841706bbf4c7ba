"""The doctor: what it finds, what counts as a problem, and what it never shows."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from collections.abc import Callable, Mapping
from importlib.machinery import ModuleSpec
from pathlib import Path

import pytest
from rich.console import Console
from typer.testing import CliRunner

from hikidashi.cli import doctor
from hikidashi.cli.app import app
from hikidashi.cli.doctor import (
    Check,
    Need,
    check_extras,
    check_keys,
    known_keys,
    needs_by_extra,
    print_checks,
)

Command = Callable[..., "subprocess.CompletedProcess[str]"]

SECRETS = {name: f"https://secret.example/{name.lower()}" for name in known_keys()}


@pytest.mark.cli
def test_a_whole_installation_is_fine_and_its_cli_runs(command: Command, tmp_path: Path) -> None:
    done = command("doctor", "--json", CLAUDE_CONFIG_DIR=str(tmp_path))
    assert (done.returncode, done.stderr) == (0, "")
    report = json.loads(done.stdout)
    assert report["ok"] is True
    by_name = {check["name"]: check for check in report["checks"]}
    assert [name for name, check in by_name.items() if check["area"] == "extra" and check["status"] == "ok"] == [
        "anthropic",
        "chat",
        "claude",
        "fast",
        "keyring",
        "otel",
        "pydantic-ai",
        "slack",
        "strands",
        "tavily",
        "web",
    ]
    assert by_name["Claude Code CLI"]["status"] == "ok"
    assert by_name["Claude Code CLI"]["found"][0].isdigit()
    assert by_name["login"]["status"] == "absent"
    assert all(by_name[name] == by_name[name] | {"status": "absent", "found": "not set"} for name in known_keys())
    assert list(tmp_path.iterdir()) == []


@pytest.mark.cli
def test_keys_are_named_and_their_values_never_shown(command: Command) -> None:
    for arguments in (["doctor"], ["doctor", "--json"]):
        done = command(*arguments, **SECRETS)
        assert done.returncode == 0
        assert "secret.example" not in done.stdout + done.stderr
        assert all(name in done.stdout for name in known_keys())


def test_without_any_framework_the_doctor_still_works(command: Command) -> None:
    frameworks = ("pydantic_ai", "claude_agent_sdk", "mcp", "strands", "anthropic", "tavily")
    done = command("doctor", "--json", without=frameworks, TAVILY_API_KEY="tvly-test", PATH="")
    assert done.returncode == 1
    problems = [check for check in json.loads(done.stdout)["checks"] if check["status"] == "problem"]
    assert problems == [
        {
            "area": "key",
            "name": "TAVILY_API_KEY",
            "status": "problem",
            "found": "set, but tavily-python is not installed",
            "remedy": "pip install 'hikidashi[tavily]'",
        }
    ]


@pytest.mark.parametrize(
    ("name", "value", "found"),
    [
        ("ANTHROPIC_API_KEY", "", "set, but empty"),
        ("ANTHROPIC_API_KEY", "  ", "set, but empty"),
        ("CLAUDE_CODE_OAUTH_TOKEN", "sk-test\n", "set, with white space around it"),
        ("ANTHROPIC_BASE_URL", "api.anthropic.com", "set, but no http(s) address"),
        ("ANTHROPIC_BASE_URL", "http://[::1", "set, but no http(s) address"),
        ("ANTHROPIC_BASE_URL", "ftp://files", "set, but no http(s) address"),
    ],
)
def test_a_key_that_cannot_work_is_a_problem_with_a_remedy(name: str, value: str, found: str) -> None:
    checks = {check.name: check for check in check_keys({name: value})}
    assert (checks[name].status, checks[name].found) == ("problem", found)
    assert name in checks[name].remedy
    assert all(check.status == "absent" for check in checks.values() if check.name != name)


@pytest.mark.parametrize(
    ("installed", "status", "found", "remedy"),
    [
        ({"sdk": "2.0", "mcp": "2.1.1"}, "ok", "sdk 2.0, mcp 2.1.1", ""),
        ({"sdk": "2.0.0", "mcp": "2.1"}, "ok", "sdk 2.0.0, mcp 2.1", ""),
        ({"sdk": "10.1", "mcp": "2.1.9"}, "ok", "sdk 10.1, mcp 2.1.9", ""),
        ({}, "absent", "not installed: sdk, mcp", "pip install 'hikidashi[x]'"),
        ({"mcp": "2.1.1"}, "absent", "not installed: sdk", "pip install 'hikidashi[x]'"),
        (
            {"sdk": "1.9.9", "mcp": "2.1.1"},
            "problem",
            "sdk 1.9.9 is too old, sdk>=2 is needed",
            "pip install 'hikidashi[x]' --upgrade",
        ),
        (
            {"sdk": "2", "mcp": "2.2.0"},
            "problem",
            "mcp 2.2.0 is too new, mcp>=2.1,<2.2 is needed",
            "pip install 'hikidashi[x]' --upgrade",
        ),
        (
            {"mcp": "2.0"},
            "problem",
            "mcp 2.0 is too old, mcp>=2.1,<2.2 is needed",
            "pip install 'hikidashi[x]' --upgrade",
        ),
    ],
)
def test_an_extra_is_there_or_missing_or_of_the_wrong_version(
    installed: Mapping[str, str], status: str, found: str, remedy: str
) -> None:
    (check,) = check_extras({"x": [Need("sdk", "2"), Need("mcp", "2.1", "2.2")]}, installed)
    assert (check.status, check.found, check.remedy) == (status, found, remedy)


def test_versions_are_those_of_this_environment() -> None:
    (check,) = check_extras({"x": [Need("rich"), Need("hikidashi-no-such-package")]})
    assert (check.status, check.found) == ("absent", "not installed: hikidashi-no-such-package")


@pytest.mark.parametrize(
    ("there", "status", "found"),
    [
        (True, "ok", "set, for web search with Tavily"),
        (False, "problem", "set, but tavily-python is not installed"),
    ],
)
def test_a_key_needs_the_package_that_reads_it(
    monkeypatch: pytest.MonkeyPatch, there: bool, status: str, found: str
) -> None:
    if not there:
        monkeypatch.setitem(sys.modules, "tavily", None)
    check = {check.name: check for check in check_keys({"TAVILY_API_KEY": "tvly-test"})}["TAVILY_API_KEY"]
    assert (check.status, check.found) == (status, found)


def test_needs_are_read_from_package_metadata() -> None:
    assert needs_by_extra(
        [
            "rich>=14",
            "mcp<2.2,>=2.1; extra == 'claude'",
            'claude-agent-sdk (>=0.2.182) ; extra == "claude"',
            "hikidashi[claude]; extra == 'all'",
            "zz-top[beard]; extra == 'a.b'",
        ]
    ) == {"a.b": [Need("zz-top")], "claude": [Need("mcp", "2.1", "2.2"), Need("claude-agent-sdk", "0.2.182")]}
    (own,) = needs_by_extra()["pydantic-ai"]
    assert own.package == "pydantic-ai-slim"
    assert own.at_least


def test_a_source_folder_that_was_never_installed_has_no_extras(monkeypatch: pytest.MonkeyPatch) -> None:
    def nowhere(name: str) -> list[str]:
        raise doctor.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(doctor.metadata, "requires", nowhere)
    assert needs_by_extra() == {}


def test_a_version_without_numbers_is_older_than_any() -> None:
    assert Need("sdk", "0.1").verdict("unknown") == "too old"
    assert Need("sdk").verdict("unknown") == "ok"


def script(tmp_path: Path, body: str) -> Path:
    path = tmp_path / "claude"
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return path


def test_the_cli_gets_a_home_of_its_own(tmp_path: Path) -> None:
    path = script(tmp_path, 'test "$HOME" = "$CLAUDE_CONFIG_DIR" && touch "$HOME/mark" && echo "9.9 $1"')
    check = doctor.check_cli(path, needed=True)
    assert (check.status, check.found) == ("ok", f"9.9 at {path}")


def test_a_cli_that_says_nothing_still_runs(tmp_path: Path) -> None:
    assert doctor.check_cli(script(tmp_path, "true"), needed=True).found.startswith("an unknown version")


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ("echo first; echo 'no such library' >&2; exit 127", "ended with exit code 127 and printed: no such library"),
        ("exit 1", "ended with exit code 1 and printed: nothing"),
        ("exec sleep 60", "did not answer within 0.2 s"),
    ],
)
def test_a_cli_that_does_not_work_is_a_problem(tmp_path: Path, body: str, found: str) -> None:
    check = doctor.check_cli(script(tmp_path, body), needed=True, seconds=0.2 if "sleep" in body else 10)
    assert check.status == "problem"
    assert check.found == f"{tmp_path / 'claude'} {found}"
    assert check.remedy


def test_a_cli_that_cannot_be_started_is_a_problem(tmp_path: Path) -> None:
    path = tmp_path / "claude"
    path.touch(mode=0o644)
    check = doctor.check_cli(path, needed=False)
    assert (check.status, check.found) == ("problem", f"{path} cannot be started: Permission denied")


def test_a_missing_cli_is_a_problem_only_for_those_who_have_the_sdk() -> None:
    assert doctor.check_cli(None, needed=True).status == "problem"
    missing = doctor.check_cli(None, needed=False)
    assert (missing.status, missing.remedy) == ("absent", "pip install 'hikidashi[claude]'")


def test_the_cli_on_path_is_found_where_the_sdk_has_none(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def bare_sdk(name: str) -> ModuleSpec:
        spec = ModuleSpec(name, None, is_package=True)
        spec.submodule_search_locations = [str(tmp_path / name)]
        return spec

    monkeypatch.setattr(doctor, "find_spec", bare_sdk)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert doctor.find_cli() is None
    path = script(tmp_path, "true")
    assert doctor.find_cli() == path


@pytest.mark.parametrize(("platform", "hint"), [("linux", False), ("darwin", True)])
def test_a_login_is_a_file_that_is_there(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, platform: str, hint: bool
) -> None:
    monkeypatch.setattr(doctor.sys, "platform", platform)
    monkeypatch.setenv("HOME", str(tmp_path))
    absent = doctor.check_login({})
    assert (absent.status, "keychain" in absent.found) == ("absent", hint)
    (tmp_path / ".claude").mkdir()
    (tmp_path / ".claude" / ".credentials.json").write_text('{"token": "sk-test"}')
    assert doctor.check_login({}).found == "there is one in ~/.claude"
    assert doctor.check_login({"CLAUDE_CONFIG_DIR": str(tmp_path)}).status == "absent"


def test_problems_are_counted_and_marked_for_people() -> None:
    checks = (
        Check(area="base", name="Python", status="ok", found="3.14"),
        Check(
            area="extra", name="mcp", status="absent", found="not installed: mcp", remedy="pip install 'hikidashi[mcp]'"
        ),
        Check(area="key", name="A_KEY", status="problem", found="set, but empty", remedy="unset A_KEY"),
    )
    file = io.StringIO()
    print_checks(checks, Console(file=file, width=60, highlight=False))
    assert file.getvalue() == (
        "\nBase\n  ✓ Python  3.14\n"
        "\nExtras\n  · mcp     not installed: mcp\n            pip install 'hikidashi[mcp]'\n"
        "\nClaude Code\n"
        "\nProviders\n"
        "\nEnvironment variables\n  ✗ A_KEY   set, but empty\n            unset A_KEY\n"
        "\n1 problem: see what is marked ✗.\n"
    )


@pytest.mark.cli
@pytest.mark.parametrize(("key", "code"), [("sk-test", 0), ("", 1)])
def test_the_exit_code_says_whether_all_is_well(monkeypatch: pytest.MonkeyPatch, key: str, code: int) -> None:
    for name in known_keys():
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("ANTHROPIC_API_KEY", key)
    done = CliRunner().invoke(app, ["doctor"])
    assert done.exit_code == code
    assert ("Everything that is set up can work." in done.stdout) is (code == 0)
    report = json.loads(CliRunner().invoke(app, ["doctor", "--json"]).stdout)
    assert report["ok"] is (code == 0)
    assert {check["area"] for check in report["checks"]} == {"base", "extra", "claude", "provider", "key"}


def test_where_only_the_cli_inside_the_sdk_is_there_the_login_names_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    claude = tmp_path / "claude"
    claude.write_text("#!/bin/sh\n")
    claude.chmod(0o755)
    environment = {"CLAUDE_CONFIG_DIR": str(tmp_path)}
    monkeypatch.setenv("PATH", str(tmp_path))
    assert doctor.check_login(environment).remedy == "To use a subscription, run `claude` and log in."
    monkeypatch.setenv("PATH", str(tmp_path / "nowhere"))
    assert (
        doctor.check_login(environment).remedy == "To use a subscription, run the CLI above, by its path, and log in."
    )
