"""The short way of the process that a client starts: it reads what typer reads, and leaves the rest to it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from tests.gateway.processes import HIKIDASHI, home
from tests.gateway.servers import MODERN, program
from typer.main import get_command

from hikidashi.cli.serve.commands import serve
from hikidashi.cli.serve.options import ServeOptions, options_of, read_arguments

_VALUES = st.sampled_from(
    [
        "a.json",
        "plain",
        "prefixed",
        "auto",
        "on",
        "off",
        "PLAIN",
        "",
        "-",
        "-x",
        "--yes",
        "github__*",
        "ほ げ",
        "a=b",
        "\n",
    ]
) | st.text(max_size=5)
_NAMES = st.sampled_from(
    [
        *("--config", "--names", "--search", "--promote", "--pin", "--record", "--client-name", "--yes"),
        *("--http", "--no-daemon", "--token-env", "--oauth-issuer", "--as-daemon", "--help", "-h", "--", "--conf"),
        *("status", "stop", "import", "something", "--nothing", "-c"),
    ]
)
_PART = st.one_of(
    _NAMES.map(lambda name: [name]),
    st.tuples(_NAMES, _VALUES).map(list),
    st.tuples(_NAMES, _VALUES).map(lambda both: ["=".join(both)]),
    _VALUES.map(lambda value: [value]),
)


def _read_by_typer(argv: list[str]) -> ServeOptions | None:
    """What typer reads; None where it reports an error, shows help, or runs another command."""
    command = get_command(serve)
    try:
        with command.make_context("serve", list(argv)) as context:
            if context.args or context._protected_args:  # pyright: ignore[reportPrivateUsage]
                return None
            return options_of(context.params)
    except (Exception, SystemExit):
        return None


@given(st.lists(_PART, max_size=5).map(lambda parts: [word for part in parts for word in part]))
def test_both_readers_agree_on_every_option_and_typer_gets_what_the_short_one_does_not_know(argv: list[str]) -> None:
    read = read_arguments(["serve", *argv])
    assert read is None or read == _read_by_typer(argv)


def test_every_documented_option_of_a_plain_start_is_read_and_passed_on_to_the_daemon() -> None:
    argv = [
        *("--config", "/a.json", "--config", "/b.yaml", "--names", "plain", "--search", "off", "--promote"),
        *("--pin", "github__*", "--pin", "most-used:5", "--record", "/calls.db", "--client-name", "tools", "--yes"),
    ]
    shown = {
        "names": "plain",
        "search": "off",
        "promote": True,
        "pin": ("github__*", "most-used:5"),
        "record": Path("/calls.db"),
    }
    read = read_arguments(["serve", *argv])
    assert read == ServeOptions(config=(Path("/a.json"), Path("/b.yaml")), gateway=shown, client_name="tools", yes=True)
    assert read is not None
    assert read.to_argv() == argv


_ATTACHED = """
import sys
from hikidashi.cli import main
heavy = ("mcp", "pydantic", "rich", "typer", "yaml")
try:
    main()
finally:
    print(*[name for name in heavy if name in sys.modules], file=sys.stderr)
"""


def test_with_a_daemon_that_runs_the_process_of_a_client_loads_no_typer_and_without_one_it_starts_it(
    tmp_path: Path,
) -> None:
    hello = {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    }
    request = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}
    with home(tmp_path) as machine:
        command = [sys.executable, "-c", _ATTACHED, *machine.serve()[1:]]

        def start() -> tuple[dict[str, Any], str, int]:
            with subprocess.Popen(
                command,
                env=machine.environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            ) as process:
                assert process.stdin is not None
                assert process.stdout is not None
                process.stdin.write(json.dumps(request) + "\n")
                process.stdin.flush()
                answer = json.loads(process.stdout.readline())
                _, errors = process.communicate()
                return answer["result"]["serverInfo"], errors.strip(), process.returncode

        (first, loaded_by_first, _), (second, loaded_by_second, code) = start(), start()

    assert first["name"] == second["name"] == "hikidashi"
    assert "typer" in loaded_by_first.split()
    assert (loaded_by_second, code) == ("", 0)


def test_what_the_short_way_cannot_do_fails_as_before(tmp_path: Path) -> None:
    server = program(tmp_path, "modern", MODERN)
    config = tmp_path / "new.json"
    config.write_text(json.dumps({"mcpServers": {"new": {"command": server.command, "args": list(server.args)}}}))
    environment = {**os.environ, "HOME": str(tmp_path), "XDG_STATE_HOME": str(tmp_path / "state"), "COLUMNS": "200"}

    def run(*argv: str) -> tuple[int, str]:
        done = subprocess.run(
            [HIKIDASHI, "serve", *argv], env=environment, input="", capture_output=True, text=True, check=False
        )
        return done.returncode, done.stderr

    unapproved, unknown = run("--config", str(config)), run("--config", str(config), "--nothing")
    long_name = run("--config", str(config), "--client-name", "x" * 60)
    assert unapproved[0] == 1
    assert "run the command once in a terminal or with --yes" in unapproved[1]
    assert unknown[0] == 2
    assert "No such option: --nothing" in unknown[1]
    assert long_name[0] == 2
    assert "--client-name" in long_name[1]
