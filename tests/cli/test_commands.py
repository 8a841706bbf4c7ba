"""Help, version, usage errors and expected failures of the command line."""

from __future__ import annotations

import errno
import io
import os
import pty
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from hikidashi import __version__
from hikidashi.cli import main, output

Command = Callable[..., "subprocess.CompletedProcess[str]"]

FRAMEWORKS = ("pydantic_ai", "claude_agent_sdk", "mcp", "strands", "anthropic", "tavily")


def test_the_version_is_the_package_version(command: Command) -> None:
    done = command("--version")
    assert (done.returncode, done.stdout) == (0, f"hikidashi {__version__}\n")


@pytest.mark.parametrize("arguments", [("--help",), ("tour", "--help"), ("doctor", "--help"), ("chat", "--help")])
def test_every_command_has_help_with_examples_that_fits_80_columns(command: Command, arguments: tuple[str]) -> None:
    done = command(*arguments, without=FRAMEWORKS)
    assert (done.returncode, done.stderr) == (0, "")
    assert "Examples:\n    hikidashi" in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80


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


@pytest.mark.parametrize(
    ("environment", "language"),
    [
        ({}, "en"),
        ({"LANG": "ja_JP.UTF-8"}, "ja"),
        ({"LANG": "ja_JP.UTF-8", "LC_ALL": "C"}, "en"),
        ({"LANG": "de_DE.UTF-8", "LC_MESSAGES": "ja_JP"}, "ja"),
        ({"LANG": "ja_JP.UTF-8", "LC_ALL": ""}, "ja"),
    ],
)
def test_the_language_is_read_as_gettext_reads_it(
    monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], language: str
) -> None:
    for name in ("LC_ALL", "LC_MESSAGES", "LANG"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert output.language_of_environment() == language


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


def test_a_reader_who_is_gone_is_an_ordinary_error(monkeypatch: pytest.MonkeyPatch) -> None:
    class Gone(io.StringIO):
        def write(self, text: str, /) -> int:
            raise BrokenPipeError(len(text))

    monkeypatch.setattr(sys, "stdout", Gone())
    with pytest.raises(BrokenPipeError) as caught:
        output.stdout().print("Anybody there?")
    assert caught.value.errno == errno.EPIPE


def test_lines_stay_readable_on_a_wide_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    assert output.stdout().width == 100
    monkeypatch.setenv("COLUMNS", "80")
    assert output.stdout().width == 80


def test_an_error_is_one_line_also_when_its_text_has_several(capsys: pytest.CaptureFixture[str]) -> None:
    output.print_error(ValueError("it [bold]broke[/bold]\n  in two"))
    assert capsys.readouterr().err == "error: it [bold]broke[/bold] in two\n"


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
