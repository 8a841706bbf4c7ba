"""Help, version, usage errors and expected failures of the command line."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from rich.console import Console

from hikidashi import __version__
from hikidashi.cli import output

Command = Callable[..., "subprocess.CompletedProcess[str]"]

FRAMEWORKS = ("pydantic_ai", "claude_agent_sdk", "mcp", "strands", "anthropic", "tavily")


def test_the_version_is_the_package_version(command: Command) -> None:
    done = command("--version")
    assert (done.returncode, done.stdout) == (0, f"hikidashi {__version__}\n")


@pytest.mark.parametrize("arguments", [("--help",), ("tour", "--help"), ("doctor", "--help")])
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


def test_lines_stay_readable_on_a_wide_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    assert output.stdout().width == 100
    monkeypatch.setenv("COLUMNS", "80")
    assert output.stdout().width == 80


def test_an_error_is_one_line_also_when_its_text_has_several(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(output, "stderr", lambda: Console(stderr=True, highlight=False, soft_wrap=True))
    output.print_error(ValueError("it [bold]broke[/bold]\n  in two"))
    assert capsys.readouterr().err == "error: it [bold]broke[/bold] in two\n"
