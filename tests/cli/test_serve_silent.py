"""A gateway that accepts connections and does not answer is told of, with its process and the remedy."""

from __future__ import annotations

import json
import os
import socket
import tempfile
from collections.abc import Generator
from pathlib import Path

import pytest

from hikidashi.cli.serve.status import print_status, stop_all
from hikidashi.gateway.shim import sockets_folder

SILENCE = (
    f"gateway {os.getpid()}: it does not answer. If that stays so, end it: kill -9 {os.getpid()}; the next client "
    "starts another."
)


@pytest.fixture(autouse=True)
def silent_gateway(monkeypatch: pytest.MonkeyPatch) -> Generator[None]:
    """A socket of this process among those of the gateways: connections to it wait for ever."""
    monkeypatch.setattr("hikidashi.gateway.shim._ANSWER_SECONDS", 0.01)
    with tempfile.TemporaryDirectory(prefix="hk-") as folder, socket.socket(socket.AF_UNIX) as listener:
        monkeypatch.setenv("XDG_RUNTIME_DIR", folder)
        sockets = Path(sockets_folder())
        sockets.mkdir(parents=True, exist_ok=True)
        listener.bind(str(sockets / "silent.sock"))
        listener.listen()
        yield


def test_status_says_which_gateway_does_not_answer(capsys: pytest.CaptureFixture[str]) -> None:
    assert print_status(as_json=False) == 1
    assert capsys.readouterr().out == f"{SILENCE}\n"


def test_status_as_json_says_it_too(capsys: pytest.CaptureFixture[str]) -> None:
    assert print_status(as_json=True) == 1
    assert json.loads(capsys.readouterr().out) == [{"pid": os.getpid(), "servers": [], "problem": SILENCE}]


def test_stop_says_which_gateway_does_not_answer(capsys: pytest.CaptureFixture[str]) -> None:
    stop_all()
    told = capsys.readouterr()
    assert (told.out, " ".join(told.err.split())) == ("Stopped 0 gateways.\n", SILENCE)
