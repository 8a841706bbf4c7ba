"""MCP servers as processes, and the lines of JSON-RPC that they read and write.

The transport of the `mcp` package passes each message through a memory stream to a task that writes it, and another the
other way: four tasks that wake each other for one call. These streams read and write in the task that uses them. It
also waits up to six seconds for a server that ignores the end of its input; this one kills the whole process group
after a grace period that the caller sets, and reports when the process has closed its output.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any, cast

import anyio
from anyio.abc import Process
from mcp import types
from mcp.client.stdio import StdioServerParameters, get_default_environment, stdio_client
from mcp.shared.message import SessionMessage

from ..common.unicode import well_formed
from .config import McpServer
from .failure import Diagnostics
from .messages import Closing

__all__ = ["GONE", "LONGEST_MESSAGE", "MessageReader", "MessageWriter", "Streams", "error_for", "stdio_transport"]

_KINDS: tuple[tuple[type, str], ...] = ((dict, "an object"), (list, "an array"), (str, "a string"), (bool, "a boolean"))


def error_for(line: str) -> SessionMessage | None:
    """The error in place of a malformed response; None if `line` does not name its request."""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict) or "method" in value:
        return None
    answer = cast("dict[str, Any]", value)
    id_ = answer.get("id")
    if not isinstance(id_, str | int) or isinstance(id_, bool):
        return None
    shown = ", ".join(f"`{key}` is {_kind(answer[key])}" for key in ("result", "error") if key in answer)
    failure = types.ErrorData(
        code=types.INTERNAL_ERROR,
        message=f"The server sent an invalid response: {shown or 'it has neither `result` nor `error`'}.",
    )
    return SessionMessage(types.JSONRPCError(jsonrpc="2.0", id=id_, error=failure))


def _kind(value: object) -> str:
    for kind, name in _KINDS:
        if isinstance(value, kind):
            return name
    return "null" if value is None else "a number"


LONGEST_MESSAGE = 64_000_000
"""Maximum size of a message of a server, in bytes: it is held in memory."""

GONE = (anyio.ClosedResourceError, anyio.BrokenResourceError, anyio.EndOfStream, OSError)
"""What reading and writing raise when the other side is gone."""


class MessageReader(Closing):
    """Parses messages from chunks of bytes.

    Args:
        read: Returns the next chunk; at the end, returns nothing or raises one of `GONE`.
        longest: Maximum number of bytes of a line.
        on_end: Called once at the end, with whether a line was too long, after which nothing is read.
    """

    def __init__(
        self, read: Callable[[], Awaitable[bytes]], *, longest: int, on_end: Callable[[bool], None] = lambda _: None
    ) -> None:
        self._read = read
        self._longest = longest
        self._on_end = on_end
        self._lines: deque[bytes] = deque()
        self._rest: list[bytes] = []  # chunks of an incomplete line
        self._held = 0
        self._ended = False
        self._reading: anyio.CancelScope | None = None

    async def receive(self) -> SessionMessage | Exception:
        """The next message, or the error of a line that is not one.

        Raises:
            anyio.EndOfStream: there are no more messages.
        """
        while not self._lines:
            if self._ended:
                raise anyio.EndOfStream
            await self._fill()
        return _message(self._lines.popleft())

    def end(self) -> None:
        """End the stream, also for a pending `receive`."""
        if self._reading is None:
            self._finish(too_long=False)
        else:  # the pending `receive` finishes it
            self._reading.cancel()

    async def aclose(self) -> None:
        """Close the stream."""
        self.end()

    def __aiter__(self) -> MessageReader:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def _fill(self) -> None:
        piece = b""
        self._reading = scope = anyio.CancelScope()
        try:
            with scope, suppress(*GONE):
                piece = await self._read()
        finally:
            self._reading = None
        if not piece or scope.cancel_called:
            self._finish(too_long=False)
            return
        first, *more = piece.split(b"\n")
        self._rest.append(first)
        self._held += len(first)
        if more:
            self._lines.append(b"".join(self._rest))
            self._lines.extend(more[:-1])
            self._rest, self._held = [more[-1]], len(more[-1])
        if self._held > self._longest:
            self._finish(too_long=True)

    def _finish(self, *, too_long: bool) -> None:
        if not self._ended:
            self._ended = True
            self._on_end(too_long)


class MessageWriter(Closing):
    """Writes messages as bytes.

    Args:
        write: Writes the bytes of a line; waits while the other side is slow.
        on_gone: Called when the other side is gone.
    """

    def __init__(self, write: Callable[[bytes], Awaitable[None]], *, on_gone: Callable[[], None]) -> None:
        self._write = write
        self._on_gone = on_gone
        self._closed = False

    async def send(self, item: SessionMessage, /) -> None:
        """Write a message.

        Raises:
            anyio.ClosedResourceError: this end is closed.
            anyio.BrokenResourceError: the other side is gone.
        """
        if self._closed:
            raise anyio.ClosedResourceError
        line = item.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n"
        try:
            await self._write(line)
        except GONE as error:
            self._on_gone()
            raise anyio.BrokenResourceError from error

    async def aclose(self) -> None:
        """Close the stream."""
        self._closed = True


def _message(line: bytes) -> SessionMessage | Exception:
    try:
        return SessionMessage(types.jsonrpc_message_adapter.validate_json(line, by_name=False))
    except ValueError as error:
        text = line.decode("utf-8", "replace")
        try:  # invalid UTF-8 and escaped lone surrogates cost a character, not the message
            text = well_formed(json.dumps(json.loads(text), ensure_ascii=False))
            return SessionMessage(types.jsonrpc_message_adapter.validate_json(text, by_name=False))
        except (ValueError, RecursionError):
            return error_for(text) or error


Streams = tuple[Any, Any]
"""What the `mcp` package reads messages from, and what it writes them to."""

_DRAIN_SECONDS = 1.0  # seconds to read the remaining output of an ended process, whose pipe a child may hold open
_POLL = 0.01  # polling interval in seconds for a process that should end


@asynccontextmanager
async def stdio_transport(
    server: McpServer,
    *,
    diagnostics: Diagnostics,
    grace: Callable[[], float],
    on_start: Callable[[int], None] = lambda _: None,
    on_end: Callable[[], None] = lambda: None,
) -> AsyncGenerator[Streams]:
    """The streams of a server that is started here, for `mcp.Client`.

    Args:
        server: What to start.
        diagnostics: Keeps the end of its standard error.
        grace: Returns how many seconds it has to end by itself; called when the transport closes.
        on_start: Called with the id of the process, which is the leader of its group.
        on_end: Called when it has closed its output.

    Raises:
        OSError: it cannot be started.
    """
    if sys.platform == "win32":  # process groups and signals differ there, and the `mcp` package handles them
        parameters = StdioServerParameters(
            command=server.command, args=list(server.args), env=dict(server.env), cwd=server.cwd
        )
        with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as stderr:
            try:
                async with stdio_client(parameters, errlog=stderr) as streams:
                    yield streams
            finally:
                stderr.seek(0)
                diagnostics.feed(stderr.read().encode())
        return
    process = await anyio.open_process(
        [server.command, *server.args],
        env=get_default_environment() | dict(server.env),
        stderr=subprocess.PIPE,  # never a file: a server may write more than a disk holds
        cwd=server.cwd,
        start_new_session=True,
    )
    on_start(process.pid)
    at_end = anyio.Event()
    stderr_at_end = anyio.Event()

    async def read() -> bytes:
        assert process.stdout is not None
        return await process.stdout.receive()

    async def write(line: bytes) -> None:
        assert process.stdin is not None
        await process.stdin.send(line)

    def ended(too_long: bool) -> None:
        if too_long:
            diagnostics.write(f"it sent a message of more than {LONGEST_MESSAGE:,} bytes")
        on_end()
        tasks.start_soon(read_rest)

    async def read_rest() -> None:
        assert process.stdout is not None
        try:
            with suppress(*GONE):
                async for _ in process.stdout:  # a pipe that is not read to its end is never closed
                    pass
        finally:
            at_end.set()  # also when it is cancelled: nothing reads any more, so there is nothing to wait for

    async def read_stderr() -> None:
        assert process.stderr is not None
        try:
            with suppress(*GONE):
                async for chunk in process.stderr:
                    diagnostics.feed(chunk)
        finally:
            stderr_at_end.set()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(read_stderr)
        incoming = MessageReader(read, longest=LONGEST_MESSAGE, on_end=ended)
        outgoing = MessageWriter(write, on_gone=incoming.end)  # a request that cannot be sent is not waited for
        try:
            yield incoming, outgoing
        finally:
            with anyio.CancelScope(shield=True):
                await outgoing.aclose()
                await incoming.aclose()
                diagnostics.ended(await _end(process, grace()))
                with anyio.move_on_after(_DRAIN_SECONDS):
                    await at_end.wait()
                    await stderr_at_end.wait()
                for pipe in (process.stdout, process.stderr):
                    with suppress(*GONE):
                        if pipe is not None:
                            await pipe.aclose()
            tasks.cancel_scope.cancel()


async def _end(process: Process, grace: float) -> int | None:
    """End the process and its children: close its input, then send TERM, then KILL.

    Returns:
        Its exit code, if it ended without a signal from here.
    """
    with suppress(*GONE):
        if process.stdin is not None:
            await process.stdin.aclose()
    code: int | None = None
    for sent in (signal.SIGTERM, signal.SIGKILL):
        await _exited(process, grace / 2)
        if sent is signal.SIGTERM:
            code = process.returncode
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, sent)  # the leader may have ended, and left others in its group
    await _exited(process, 1.0)  # only a process in uninterruptible I/O survives SIGKILL
    return code


async def _exited(process: Process, seconds: float) -> None:
    """Return when the process has ended, or after `seconds`."""
    with anyio.move_on_after(seconds):
        # Not `wait()`: that waits for the pipes as well, which a child of the process may hold open.
        while process.returncode is None:  # noqa: ASYNC110
            await anyio.sleep(_POLL)
