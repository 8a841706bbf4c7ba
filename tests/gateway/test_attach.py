"""The thin end that a client starts."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

import pytest

from hikidashi.errors import ServerUnavailableError
from hikidashi.gateway.shim import Shim, socket_path, start_daemon


def test_a_runtime_folder_that_is_too_long_for_a_socket_is_replaced_by_a_short_private_one(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    long = tmp_path / ("x" * 90)
    long.mkdir(mode=0o700)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(long))
    with tempfile.TemporaryDirectory(prefix="hk-") as short:
        monkeypatch.setattr(tempfile, "tempdir", short)
        path = socket_path("0123456789abcdef")
        assert path.parent.parent == Path(short)
        assert path.parent.stat().st_mode & 0o777 == 0o700
        assert len(str(path)) < 104


def test_daemons_that_take_a_connection_and_end_are_passed_over(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    pairs = [socket.socketpair() for _ in range(3)]
    for _, ending in pairs[:2]:
        ending.close()
    first, *others = (ours for ours, _ in pairs)
    hello = b'{"jsonrpc":"2.0","id":0,"method":"initialize","params":{}}\n'
    asked = b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}\n'
    read, write = os.pipe()
    attached = iter(others)
    with os.fdopen(read) as stdin, pairs[2][1] as daemon, daemon.makefile("rb") as heard:
        monkeypatch.setattr(sys, "stdin", stdin)
        running = threading.Thread(target=Shim(first, lambda: next(attached)).run)
        running.start()
        os.write(write, hello)
        assert [heard.readline(), heard.readline()] == [b"mcp\n", hello]
        daemon.sendall(b'{"jsonrpc":"2.0","id":0,"result":{}}\n')
        out = ""
        while '"id":0,"result"' not in out:
            out += capfd.readouterr().out
        os.write(write, asked)
        assert heard.readline() == asked
        os.close(write)
        running.join()
    for ours, other in pairs:
        ours.close()
        other.close()


def test_a_daemon_that_was_killed_is_replaced_though_its_socket_still_takes_connections(tmp_path: Path) -> None:
    with tempfile.TemporaryDirectory(prefix="hk-") as short, socket.socket(socket.AF_UNIX) as killed:
        path = Path(short) / "daemon.sock"
        killed.bind(str(path))
        killed.listen()
        threading.Thread(target=_ends_at_once, args=(killed,), daemon=True).start()
        new = f"import socket; s = socket.socket(socket.AF_UNIX); s.bind({str(path)!r}); s.listen(); s.accept()"
        script = f"import os; os.unlink({str(path)!r}); {new}"
        with start_daemon(path, [sys.executable, "-c", script], tmp_path / "log") as connection:
            assert connection.getpeername() == str(path)
        assert (tmp_path / "log").exists()


def _ends_at_once(listening: socket.socket) -> None:
    while True:
        try:
            listening.accept()[0].close()
        except OSError:
            return


_LISTENING = """
import os, socket, sys, time
while time.process_time() < 2: pass
made = socket.socket(socket.AF_UNIX)
made.bind(sys.argv[1])
made.listen()
made.accept()[0].recv(1)
"""


def test_a_daemon_is_waited_for_while_it_works_on_its_start(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("hikidashi.gateway.shim._QUIET_SECONDS", 1.2)
    with tempfile.TemporaryDirectory(prefix="hk-") as folder:
        path = Path(folder) / "s"
        with start_daemon(path, [sys.executable, "-c", _LISTENING, str(path)], tmp_path / "log") as connection:
            assert connection.getpeername() == str(path)


def test_a_daemon_that_hangs_at_its_start_is_ended_and_reported(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("hikidashi.gateway.shim._QUIET_SECONDS", 0.0)
    started: list[subprocess.Popen[bytes]] = []

    class Recorded(subprocess.Popen[bytes]):
        def __init__(self, *arguments: Any, **options: Any) -> None:
            super().__init__(*arguments, **options)
            started.append(self)

    monkeypatch.setattr(subprocess, "Popen", Recorded)
    with (
        tempfile.TemporaryDirectory(prefix="hk-") as folder,
        pytest.raises(ServerUnavailableError, match=r"it did not start within \d+ s. See .*log"),
    ):
        start_daemon(Path(folder) / "s", [sys.executable, "-c", "import time; time.sleep(3600)"], tmp_path / "log")
    assert [process.returncode for process in started] == [-signal.SIGKILL]
