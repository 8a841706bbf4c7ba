"""Commands whose input or output is closed, full or empty: one line that says why, and never a traceback."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.cli.conftest import Web

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
