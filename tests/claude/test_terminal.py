"""A program in a terminal and the CLI it started: whose keys are whose, and who goes when the terminal goes."""

from __future__ import annotations

import asyncio
import os
import pty
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from tests.support import cli_processes

from hikidashi.testing import Answer, MessagesServer, RecordedRequest, fault, say

pytestmark = pytest.mark.cli

PROGRAM = """
import asyncio, os, signal
from pydantic_ai import Agent
from hikidashi import ClaudeCodeModel

os.close(os.open(os.ttyname(0), os.O_RDWR))  # from now on this terminal's keys are signals
signal.signal(signal.SIGINT, lambda *_: print("heard", flush=True))
print(asyncio.run(Agent(ClaudeCodeModel("sonnet")).run("Go.")).output, flush=True)
"""


class Terminal:
    """A program that a pseudo-terminal controls."""

    def __init__(self, program: str, environment: dict[str, str]) -> None:
        self._keys, end = pty.openpty()
        self.process = subprocess.Popen(
            [sys.executable, "-c", program], env=environment, stdin=end, stdout=end, stderr=end, start_new_session=True
        )
        os.close(end)
        self._shown = b""
        self._open = True

    def shows(self, expected: str) -> None:
        """Waits until `expected` is shown."""
        while expected.encode() not in self._shown:
            try:
                self._shown += os.read(self._keys, 65536)
            except OSError as error:  # Linux's way to say that the program has closed its end
                raise AssertionError(f"{expected!r} never came: {self._shown.decode()}") from error

    def presses(self, keys: str) -> None:
        """Presses keys; `\\x03` is Ctrl-C."""
        os.write(self._keys, keys.encode())

    def close(self) -> None:
        """The window is closed."""
        if self._open:
            os.close(self._keys)
            self._open = False

    def end(self) -> None:
        """Nothing of it is left."""
        self.process.kill()
        self.process.wait()
        self.close()


Start = Callable[[Callable[[RecordedRequest], Answer]], Terminal]


@pytest.fixture
def program(
    messages_server: Callable[..., MessagesServer], claude_code_env: Callable[[MessagesServer], dict[str, str]]
) -> Iterator[Start]:
    """`program(script)` runs in a terminal and asks Claude Code one question."""
    with ExitStack() as stack:

        def start(script: Callable[[RecordedRequest], Answer]) -> Terminal:
            terminal = Terminal(PROGRAM, {**os.environ, **claude_code_env(messages_server(script))})
            stack.callback(terminal.end)
            return terminal

        yield start


async def test_ctrl_c_is_for_the_program_which_may_let_the_answer_finish(program: Start) -> None:
    asked, heard = threading.Event(), threading.Event()

    def answer(_: RecordedRequest) -> Answer:
        asked.set()
        heard.wait(60)
        return say("I am still here.")

    terminal = program(answer)
    assert await asyncio.to_thread(asked.wait, 60)
    terminal.presses("\x03")
    await asyncio.to_thread(terminal.shows, "heard")
    heard.set()
    await asyncio.to_thread(terminal.shows, "I am still here.")
    assert await asyncio.to_thread(terminal.process.wait, 60) == 0


async def test_a_closed_terminal_takes_program_and_cli_with_it(program: Start) -> None:
    asked = threading.Event()

    def answer(_: RecordedRequest) -> Answer:
        asked.set()
        return fault.hang()

    terminal = program(answer)
    assert await asyncio.to_thread(asked.wait, 60)
    (cli,) = cli_processes(terminal.process.pid)
    terminal.close()
    assert await asyncio.to_thread(terminal.process.wait, 60) < 0
    async with asyncio.timeout(30):
        while Path(f"/proc/{cli}").exists():
            await asyncio.sleep(0.05)
