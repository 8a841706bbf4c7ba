"""The thin end that a client starts."""

from __future__ import annotations

import os
import socket
import sys
import tempfile
import threading
from pathlib import Path

import pytest

from hikidashi.gateway.attach import socket_path
from hikidashi.gateway.shim import Shim


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
        os.write(write, asked)
        assert heard.readline() == asked
        os.close(write)
        running.join()
    for ours, other in pairs:
        ours.close()
        other.close()

    assert '"id":0,"result"' in capfd.readouterr().out
