"""A pseudo-terminal with `hikidashi chat` in it, and the model and the web it talks to on loopback."""

from __future__ import annotations

import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

from hikidashi.testing import MessagesServer, TavilyServer
from hikidashi.testing.script import Step
from hikidashi.testing.tavily import TavilyPage

_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b[()][A-Z0-9]|\x1b[=>]|[\x01\x02\r]")
_PATIENCE_SECONDS = 60.0

ASYNCIO = TavilyPage(
    title="Python asyncio documentation",
    url="https://docs.python.example/asyncio",
    content="asyncio は Python の非同期プログラミングの土台です。",
)


class Terminal:
    """A program in a pseudo-terminal: what it shows, and keys for it."""

    def __init__(self, arguments: list[str], environment: dict[str, str]) -> None:
        self._keys, end = pty.openpty()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "hikidashi", *arguments],
            stdin=end,
            stdout=end,
            stderr=end,
            env=environment,
            start_new_session=True,
            # The terminal controls the program, so that Ctrl-C is a signal as it is for a person.
            preexec_fn=lambda: _control(end),  # noqa: PLW1509 - no threads run in the child yet
        )
        os.close(end)
        self._raw = b""
        self._read_up_to = 0

    @property
    def text(self) -> str:
        """Everything shown so far, without colours and cursor movements."""
        return _ESCAPES.sub("", self._raw.decode(errors="replace"))

    @property
    def raw(self) -> str:
        """Everything shown so far, as the terminal got it."""
        return self._raw.decode(errors="replace")

    def shows(self, expected: str) -> str:
        """Waits until `expected` is shown after what was waited for before; what came up to there."""
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while (found := self.text.find(expected, self._read_up_to)) < 0:
            if time.monotonic() > deadline or not self._read_more():
                raise AssertionError(f"{expected!r} never came. The terminal shows:\n{self.text}")
        seen = self.text[self._read_up_to : found + len(expected)]
        self._read_up_to = found + len(expected)
        return seen

    def types(self, line: str) -> None:
        """Types `line` and Return."""
        self.presses(line + "\r")

    def presses(self, keys: str) -> None:
        """Presses keys; `\\x03` is Ctrl-C, `\\x04` Ctrl-D."""
        os.write(self._keys, keys.encode())

    def ends(self) -> int:
        """The exit code, once the program has ended."""
        while self._read_more():
            pass
        return self.process.wait(_PATIENCE_SECONDS)

    def close(self) -> None:
        if self.process.poll() is None:
            with suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait(_PATIENCE_SECONDS)
        os.close(self._keys)

    def _read_more(self) -> bool:
        ready, _, _ = select.select([self._keys], [], [], _PATIENCE_SECONDS)
        if not ready:
            return False
        try:
            data = os.read(self._keys, 65536)
        except OSError:  # Linux's way to say that the program has closed its end
            return False
        self._raw += data
        return bool(data)


def _control(terminal: int) -> None:
    import fcntl
    import termios

    fcntl.ioctl(terminal, termios.TIOCSCTTY, 0)


class Chat:
    """`hikidashi chat` with a scripted model and a small web; each start is a new process, the home stays."""

    def __init__(self, home: Path, script: list[Step], stack: ExitStack) -> None:
        self.home = home
        self.model = stack.enter_context(MessagesServer(script))
        self.web = stack.enter_context(TavilyServer([ASYNCIO], answer="asyncio を使います。"))
        self._stack = stack
        self.config = home / "config.yaml"
        self.config.write_text(
            f"""
tools:
  web_search:
    enabled: true
    api_key: ${{TAVILY_API_KEY}}
    base_url: {self.web.url}
agent:
  engine: strands
  provider: anthropic
  model: claude-opus-5-5
  api_key: sk-test
  base_url: {self.model.url}
  language: en
""",
            encoding="utf-8",
        )

    @property
    def environment(self) -> dict[str, str]:
        """A private home, and no key of the machine."""
        plain = {name: value for name, value in os.environ.items() if not name.endswith(("_KEY", "_TOKEN", "_URL"))}
        return {
            **plain,
            "HOME": str(self.home),
            "XDG_STATE_HOME": str(self.home / "state"),
            "TAVILY_API_KEY": "tvly-test",
            "TERM": "xterm-256color",
            "LANG": "C.UTF-8",
            "COLUMNS": "80",
            "LINES": "24",
        }

    def in_terminal(self, *options: str, **environment: str) -> Terminal:
        """The chat in a pseudo-terminal."""
        terminal = Terminal(["chat", "--config", str(self.config), *options], {**self.environment, **environment})
        self._stack.callback(terminal.close)
        return terminal

    def piped(self, *options: str, typed: str = "") -> subprocess.CompletedProcess[str]:
        """The chat between two pipes, run to its end."""
        return subprocess.run(
            [sys.executable, "-m", "hikidashi", "chat", "--config", str(self.config), *options],
            input=typed,
            env=self.environment,
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=_PATIENCE_SECONDS,
            check=False,
        )


@pytest.fixture
def chat(tmp_path: Path) -> Iterator[Callable[[list[Step]], Chat]]:
    """`chat(script)` is a chat whose model follows `script`."""
    with ExitStack() as stack:
        yield lambda script: Chat(tmp_path, script, stack)
