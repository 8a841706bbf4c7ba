"""A pseudo-terminal with `hikidashi chat` in it, and the model and the web it talks to on loopback."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

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


class Forks:
    """Starts `hikidashi` without waiting for its imports; see forks.py."""

    def __init__(self) -> None:
        plain = {name: value for name, value in os.environ.items() if not name.endswith(("_KEY", "_TOKEN", "_URL"))}
        self._server = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("forks.py"))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=plain,
        )

    def start(
        self, arguments: list[str], environment: dict[str, str], streams: list[str], *, anew: bool = False
    ) -> int:
        """The id of a new process; started `anew`, it waits for its imports after all."""
        return self._order("start", arguments, environment, streams, anew)

    def wait(self, process: int) -> int:
        """The exit code of a process, once it has ended."""
        return self._order("wait", process)

    def close(self) -> None:
        self._server.communicate(timeout=_PATIENCE_SECONDS)

    def _order(self, *order: object) -> int:
        assert self._server.stdin is not None
        assert self._server.stdout is not None
        self._server.stdin.write(json.dumps(order) + "\n")
        self._server.stdin.flush()
        return json.loads(self._server.stdout.readline())


class Terminal:
    """`hikidashi` in a pseudo-terminal: what it shows, and keys for it."""

    def __init__(self, forks: Forks, arguments: list[str], environment: dict[str, str], *, anew: bool) -> None:
        self._forks = forks
        self._keys, end = pty.openpty()
        self.resizes(80)  # before the start: a signal later would draw the prompt once more
        self._process = forks.start(arguments, environment, [os.ttyname(end)] * 3, anew=anew)
        self._code: int | None = None
        self._raw = b""
        self._read_up_to = 0
        self.shows(" ")  # it has opened the terminal, and would hear that nobody else has
        os.close(end)

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

    def pastes(self, text: str) -> None:
        """Pastes `text` as a terminal does that marks where a paste begins and ends."""
        self.presses(f"\x1b[200~{text}\x1b[201~")

    def resizes(self, columns: int, rows: int = 24) -> None:
        """Makes the window another size; the program hears of it."""
        fcntl.ioctl(self._keys, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def presses_until(self, keys: str, expected: str) -> None:
        """Presses keys, again when nothing comes of it, until `expected` is shown.

        A signal that arrives after readline has shown its prompt and before it waits is noticed with the next one.
        """
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while expected not in self.text[self._read_up_to :]:
            assert time.monotonic() < deadline, f"{expected!r} never came. The terminal shows:\n{self.text}"
            self.presses(keys)
            while expected not in self.text[self._read_up_to :] and self._read_more(seconds=1.0):
                pass
        self.shows(expected)

    def ends(self) -> int:
        """The exit code, once the program has ended."""
        while self._read_more():
            pass
        if self._code is None:
            self._code = self._forks.wait(self._process)
        return self._code

    def close(self) -> None:
        if self._code is None:
            os.killpg(self._process, signal.SIGKILL)
            self._forks.wait(self._process)
        os.close(self._keys)

    def _read_more(self, seconds: float = _PATIENCE_SECONDS) -> bool:
        ready, _, _ = select.select([self._keys], [], [], seconds)
        if not ready:
            return False
        try:
            data = os.read(self._keys, 65536)
        except OSError:  # Linux's way to say that the program has closed its end
            return False
        self._raw += data
        return bool(data)


class Ended(NamedTuple):
    """A program that has ended."""

    returncode: int
    stdout: str
    stderr: str


class Chat:
    """`hikidashi chat` with a scripted model and a small web; each start is a new process, the home stays."""

    def __init__(self, forks: Forks, home: Path, script: list[Step], stack: ExitStack) -> None:
        self.home = home
        self._forks = forks
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
        """A private home, and no key of the machine; nor a sign of a test, where pydantic-ai keeps its banner back."""
        hidden = ("_KEY", "_TOKEN", "_URL", "PYTEST_VERSION", "CI", "PYDANTIC_AI_NO_BANNER")
        return {
            **{name: value for name, value in os.environ.items() if not name.endswith(hidden)},
            "HOME": str(self.home),
            "XDG_STATE_HOME": str(self.home / "state"),
            "TAVILY_API_KEY": "tvly-test",
            "TERM": "xterm-256color",
            "LANG": "C.UTF-8",
            "COLUMNS": "80",
            "LINES": "24",
        }

    def in_terminal(self, *options: str, anew: bool = False, **environment: str) -> Terminal:
        """The chat in a pseudo-terminal; `anew`, with its imports before it."""
        arguments = ["chat", "--config", str(self.config), *options]
        terminal = Terminal(self._forks, arguments, {**self.environment, **environment}, anew=anew)
        self._stack.callback(terminal.close)
        return terminal

    def piped(self, *options: str, typed: bytes = b"", anew: bool = False, **environment: str) -> Ended:
        """The chat between files, run to its end; `anew`, with its imports before it."""
        files = [self.home / name for name in ("stdin", "stdout", "stderr")]
        for file, content in zip(files, (typed, b"", b""), strict=True):
            file.write_bytes(content)
        arguments = ["chat", "--config", str(self.config), *options]
        streams = [str(file) for file in files]
        process = self._forks.start(arguments, {**self.environment, **environment}, streams, anew=anew)
        return Ended(self._forks.wait(process), *(file.read_text(encoding="utf-8") for file in files[1:]))

    def as_a_user_runs_it(self, *options: str) -> subprocess.CompletedProcess[str]:
        """The chat in a process of its own from the start, between two pipes."""
        return subprocess.run(
            [sys.executable, "-m", "hikidashi", "chat", "--config", str(self.config), *options],
            env=self.environment,
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=_PATIENCE_SECONDS,
            check=False,
        )


@pytest.fixture(scope="session")
def forks() -> Iterator[Forks]:
    """What starts the chats of all tests."""
    forks = Forks()
    yield forks
    forks.close()


@pytest.fixture
def chat(forks: Forks, tmp_path: Path) -> Iterator[Callable[[list[Step]], Chat]]:
    """`chat(script)` is a chat whose model follows `script`."""
    with ExitStack() as stack:
        yield lambda script: Chat(forks, tmp_path, script, stack)
