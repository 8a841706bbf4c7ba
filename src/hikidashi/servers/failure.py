"""Why a connection to a server failed: whether it is lost, and the end of what the server wrote about it."""

from __future__ import annotations

import signal
from types import TracebackType
from typing import Self

from ..common.exceptions import first_problem, is_closed_session, is_group
from ..errors import ToolConnectionError
from .config import McpServer

_LONGEST = 10_000  # bytes that are kept
_LONGEST_LINE = 500  # characters of a line that are shown
_MOST_LINES = 3
_CLOSED = "it closed the connection"


class Diagnostics:
    """The standard error of a server, or the status lines of its HTTP errors; only the end of it is kept.

    Args:
        server: The server that writes it.
    """

    def __init__(self, server: McpServer) -> None:
        self.server = server
        """The server whose secrets are masked."""
        self.exit_code: int | None = None
        """The exit code of its process, where it ended by itself; that of a signal is negative."""
        self._end = b""
        self._is_cut = False

    def ended(self, exit_code: int | None) -> None:
        """Take note of how its process ended; None if it was ended."""
        self.exit_code = exit_code

    def feed(self, data: bytes) -> None:
        """Add what the server wrote."""
        self._is_cut |= len(self._end) + len(data) > _LONGEST
        self._end = (self._end + data[-_LONGEST:])[-_LONGEST:]

    def write(self, line: str) -> None:
        """Add a line."""
        self.feed(f"\n{line}\n".encode())

    @property
    def last_lines(self) -> tuple[str, ...]:
        """The last lines that are not blank, oldest first, without secrets."""
        kept = self._end
        if self._is_cut:  # it may begin in the middle of a secret
            _, newline, rest = kept.partition(b"\n")
            kept = rest if newline and rest.strip() else kept[_LONGEST_LINE:]
        text = self.server.without_secrets(kept.decode("utf-8", "replace"))
        lines = [" ".join(line.split()) for line in text.splitlines() if line.strip()]
        return tuple(map(_cut, lines[-_MOST_LINES:]))

    @property
    def refuses_post(self) -> bool:
        """Whether the last HTTP error is one that a server with the older SSE transport sends, which takes no POST."""
        return self.server.transport == "http" and "".join(self.last_lines[-1:]).startswith(("400 ", "404 ", "405 "))

    def explain(self, failure: BaseException | str) -> str:
        """`failure` and the last lines of the diagnostics, in one line and without secrets."""
        reason = self.server.without_secrets(failure if isinstance(failure, str) else _one_line(failure))
        if reason == _CLOSED and self.exit_code is not None:
            reason = f"{reason} ({_shown_code(self.exit_code)})"
        if lines := self.last_lines:
            source = "stderr ended with" if self.server.transport == "stdio" else "last HTTP error"
            shown = lines if self.server.transport == "stdio" else lines[-1:]
            reason = f"{reason}; {source}: {' | '.join(shown)}"
        return reason

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end = b""


def _cut(line: str) -> str:
    return line if len(line) <= _LONGEST_LINE else f"{line[:_LONGEST_LINE]}…"


def _shown_code(code: int) -> str:
    if code >= 0:
        return f"exit code {code}"
    known = {sent.value: sent.name for sent in signal.Signals}
    return f"ended by {known.get(-code, f'signal {-code}')}"


def _one_line(error: BaseException) -> str:
    """The first error inside nested exception groups, in one line."""
    from mcp import MCPError  # `is_lost_connection` is asked without it
    from pydantic import ValidationError

    while is_group(error):
        error = error.exceptions[0]
    if isinstance(error, ToolConnectionError):
        return _CLOSED
    if isinstance(error, OSError) and error.strerror and error.filename:
        return f"{error.strerror}: {error.filename!r}"
    if isinstance(error, ValidationError):  # its text has values, and addresses of pages about pydantic
        return f"it sent an invalid {error.title}: {first_problem(error)}"
    message = " ".join(str(error).split()).removesuffix(".")
    if isinstance(error, MCPError):
        return _CLOSED if is_closed_session(error.code, error.message) else f"it answered with an error: {message}"
    return f"{type(error).__name__}: {message}" if message else type(error).__name__


# By name: which of these libraries is installed depends on the tools, and none is imported here.
_LOST = frozenset(
    {
        "builtins.ConnectionError",
        "anyio.BrokenResourceError",
        "anyio.ClosedResourceError",
        "anyio.EndOfStream",
        "httpx.TransportError",
        "httpx2.TransportError",
    }
)


def is_lost_connection(error: BaseException) -> bool:
    """Whether `error` means that the connection to a server is lost, not that the call failed."""
    if any(_is_lost(kind) for kind in type(error).__mro__):
        return True
    is_closed = is_closed_session(getattr(error, "code", None), getattr(error, "message", None))
    if is_closed and type(error).__module__.startswith("mcp"):
        return True
    return is_group(error) and all(map(is_lost_connection, error.exceptions))


def is_refusal(error: BaseException) -> bool:
    """Whether a server answered a call with an error of the protocol, such as that it has no such tool."""
    return any(kind.__name__ == "MCPError" and kind.__module__.startswith("mcp") for kind in type(error).__mro__)


def _is_lost(kind: type) -> bool:
    package = kind.__module__.partition(".")[0]
    return f"{package}.{kind.__name__}" in _LOST
