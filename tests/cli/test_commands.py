"""Help, version, wrong usage, and inputs or outputs that fail: one line that says why, and never a traceback."""

from __future__ import annotations

import io
import json
import os
import pty
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from rich.cells import cell_len
from tests.cli.conftest import Web

from hikidashi import __version__
from hikidashi.cli import main

Command = Callable[..., "subprocess.CompletedProcess[str]"]

FRAMEWORKS = ("pydantic_ai", "claude_agent_sdk", "mcp", "strands", "anthropic", "tavily")


def test_the_version_is_the_package_version(command: Command) -> None:
    done = command("--version")
    assert (done.returncode, done.stdout) == (0, f"hikidashi {__version__}\n")


_HELPS = """
import contextlib, io, json, sys
sys.modules.update(dict.fromkeys({frameworks!r}))
import typer
from hikidashi.cli.app import app

def names(command, path):
    if not command.hidden:
        yield path
    for name in command.list_commands(None) if hasattr(command, "commands") else ():
        yield from names(command.get_command(None, name), [*path, name])

def help_of(path):
    with contextlib.redirect_stdout(io.StringIO()) as printed, contextlib.suppress(SystemExit):
        app([*path, "--help"])
    return printed.getvalue()

print(json.dumps([[path, help_of(path)] for path in names(typer.main.get_command(app), [])]))
"""


def test_every_command_has_help_with_examples_that_fits_80_columns_and_needs_no_framework() -> None:
    script = _HELPS.format(frameworks=FRAMEWORKS)
    environment = {**os.environ, "COLUMNS": "80"}
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True)
    helps = json.loads(done.stdout)
    assert len(helps) > 25
    for path, text in helps:
        assert "Examples:\n    hikidashi " in text or path in (["serve", "status"], ["serve", "stop"]), path
        assert max(map(cell_len, text.splitlines())) <= 80, path


def test_help_loads_neither_rich_nor_pydantic(command: Command) -> None:
    assert command("--help", without=("rich", "pydantic")).returncode == 0


def test_no_command_shows_the_help_and_is_wrong_usage(command: Command) -> None:
    done = command()
    assert done.returncode == 2
    assert "Commands:" in done.stdout + done.stderr


@pytest.mark.parametrize("arguments", [("tuor",), ("tour", "--lang", "fr"), ("doctor", "--loud")])
def test_wrong_usage_ends_with_2_and_no_traceback(command: Command, arguments: tuple[str]) -> None:
    done = command(*arguments)
    assert done.returncode == 2
    assert "Error: " in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("missing", "install"),
    [
        (FRAMEWORKS, "pip install 'hikidashi[pydantic-ai,claude]'"),
        (("claude_agent_sdk",), "pip install 'hikidashi[claude]'"),
    ],
)
def test_a_tour_without_its_extras_says_what_to_install(
    command: Command, missing: tuple[str, ...], install: str
) -> None:
    done = command("tour", without=missing)
    assert done.returncode == 1
    assert done.stderr.startswith("error: ")
    assert done.stderr.endswith(f"Run: {install}\n")
    assert done.stderr.count("\n") == 1


@pytest.mark.cli
def test_a_tour_on_a_cli_that_is_not_there_says_so(command: Command, tmp_path: Path) -> None:
    done = command("tour", "--cli-path", str(tmp_path / "claude"))
    assert done.returncode == 1
    assert "not found" in done.stderr
    assert str(tmp_path / "claude") in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.cli
def test_a_tour_on_a_cli_that_cannot_run_says_why(command: Command, tmp_path: Path) -> None:
    broken = tmp_path / "claude"
    broken.write_text("#!/bin/sh\necho 'wrong kind of machine' >&2\nexit 3\n")
    broken.chmod(0o755)
    done = command("tour", "--cli-path", str(broken))
    assert done.returncode == 1
    assert "wrong kind of machine" in done.stderr
    assert done.stderr.count("\n") == 1


def test_main_ends_the_process_with_the_code_of_the_command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["hikidashi", "--version"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert (ended.value.code, capsys.readouterr().out) == (0, f"hikidashi {__version__}\n")


def test_main_prints_an_expected_error_and_ends_with_1(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    empty = tmp_path / "mcp.json"
    empty.write_text("{}")
    monkeypatch.setattr(sys, "argv", ["hikidashi", "serve", "--config", str(empty)])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 1
    assert capsys.readouterr().err.startswith(f"error: {empty}: has no `mcpServers`")


def test_an_output_that_lacks_a_character_gets_a_question_mark(monkeypatch: pytest.MonkeyPatch) -> None:
    ascii_only = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", ascii_only)
    monkeypatch.setattr(sys, "stderr", io.StringIO())  # an output without an encoding is left as it is
    monkeypatch.setattr(sys, "argv", ["hikidashi", "--version"])
    with pytest.raises(SystemExit):
        main()
    ascii_only.write("引き出し")
    ascii_only.flush()
    assert ascii_only.buffer.getvalue().endswith(b"????")  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]


@pytest.mark.parametrize("arguments", [("serve", "install", "claude-code"), ("web", "search", "a trip")])
def test_on_a_terminal_the_lines_of_an_error_end_at_a_space(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    ours, theirs = pty.openpty()
    environment = {"HOME": str(tmp_path), "PATH": os.defpath, "COLUMNS": "60", "LANG": "C.UTF-8", "TERM": "dumb"}
    command = [sys.executable, "-m", "hikidashi", *arguments]
    done = subprocess.run(command, env=environment, cwd=tmp_path, stdout=theirs, stderr=theirs, check=False)
    os.close(theirs)
    shown = os.read(ours, 65_536).decode().replace("\r\n", "\n")
    os.close(ours)
    assert done.returncode in (1, 2)
    lines = re.split(r"\n(?=error:|Error:)", f"\n{shown}")[-1].splitlines()
    assert len(lines) > 2
    assert [line for line in lines if len(line) > 60 and " " in line] == []  # a path alone may be longer
    assert "Run `hikidashi" in " ".join(lines)


def test_help_lists_first_what_a_new_user_needs(command: Command) -> None:
    listed = re.findall(r"^  (\w+)  ", command("--help").stdout.partition("Commands:")[2], re.MULTILINE)
    assert listed[:5] == ["tour", "doctor", "serve", "tools", "web"]
    assert sorted(listed) == ["chat", "config", "doctor", "serve", "slack", "tools", "tour", "web"]


Shell = Callable[[str], "subprocess.CompletedProcess[str]"]


@pytest.fixture
def shell(home: dict[str, str], tmp_path: Path) -> Shell:
    """`shell("doctor > /dev/full")` runs `hikidashi doctor > /dev/full`."""
    (tmp_path / "tools.json").write_text('[{"name": "send_mail", "input_schema": {"type": "object"}}]')

    def run(line: str) -> subprocess.CompletedProcess[str]:
        script = f'"$0" -m hikidashi {line}'
        return subprocess.run(
            ["sh", "-c", script, sys.executable], cwd=tmp_path, env=home, capture_output=True, text=True, check=False
        )

    return run


@pytest.mark.parametrize(
    "line", ["doctor", "doctor --json", "tools search mail --catalog tools.json", "tools tokens --catalog tools.json"]
)
def test_a_full_disk_is_reported_in_one_line(shell: Shell, line: str) -> None:
    done = shell(f"{line} > /dev/full")
    assert (done.returncode, done.stderr) == (
        1,
        "error: the output cannot be written: No space left on device. Free some space, or use another file\n",
    )


@pytest.mark.parametrize("closed", ["<&-", ">&-"])
def test_the_mcp_server_needs_stdin_and_stdout(shell: Shell, closed: str) -> None:
    done = shell(f"web mcp --provider local {closed}")
    assert done.returncode == 2
    assert "stdin or stdout is closed. An MCP client starts this command with both open." in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("source", ["", " "])
def test_an_empty_path_is_not_the_current_folder(web: Web, source: str) -> None:
    done = web("index", source)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"error: `sources` is ['{source}']. It must be a list of strings.\n"


@pytest.mark.parametrize("option", ["--catalog", "--mcp"])
def test_a_folder_is_not_a_file_of_tools(shell: Shell, option: str) -> None:
    done = shell(f"tools search mail {option} .")
    assert (done.returncode, done.stderr) == (1, "error: .: is a folder. Name a file in it.\n")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("serve --names foo", "'--names': 'foo' is not one of 'prefixed', 'plain'.\n"),
        ("serve --search foo", "'--search': 'foo' is not one of 'auto', 'on', 'off'.\n"),
        ("tour --lang fr", "'--lang': 'fr' is not one of 'en', 'ja'.\n"),
    ],
)
def test_a_wrong_choice_is_named_with_those_that_there_are(shell: Shell, line: str, said: str) -> None:
    done = shell(line)
    assert (done.returncode, done.stderr.endswith(f"Error: Invalid value for {said}")) == (2, True)


def test_a_sealing_key_that_could_be_guessed_is_refused_without_being_shown(tmp_path: Path) -> None:
    (tmp_path / "mcp.json").write_text('{"mcpServers": {}}')
    done = subprocess.run(
        [sys.executable, "-m", "hikidashi", "serve", "--config", "mcp.json", "--http", "1"],
        cwd=tmp_path,
        env={"HIKIDASHI_SEAL_KEY": "sk-test-short", "PATH": os.environ["PATH"], "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, "sk-test-short" in done.stderr) == (2, False)
    assert "HIKIDASHI_SEAL_KEY: has 13 bytes: give it at least 32 random ones" in done.stderr
