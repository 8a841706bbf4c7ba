"""MCP servers as processes, and the lines of JSON-RPC that they read and write.

The transport of the `mcp` package passes each message through a memory stream to a task that writes it, and another the
other way: four tasks that wake each other for one call. These streams read and write in the task that uses them. It
also waits up to six seconds for a server that ignores the end of its input; this one kills the whole process group
after a grace period that the caller sets, and reports when the process has closed its output.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import tempfile
from asyncio.subprocess import SubprocessStreamProtocol
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

import anyio
from mcp.client.stdio import StdioServerParameters, get_default_environment, stdio_client

from .config import McpServer
from .failure import Diagnostics
from .messages import GONE, LONGEST_MESSAGE, MessageReader, MessageWriter

Streams = tuple[Any, Any]
"""What the `mcp` package reads messages from, and what it writes them to."""

_PIECE = 1 << 16
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
    loop = asyncio.get_running_loop()
    started = None
    with anyio.CancelScope(shield=True):  # of a start that is cancelled, asyncio leaves the process and its pipes
        started = await loop.subprocess_exec(
            lambda: SubprocessStreamProtocol(limit=_PIECE, loop=loop),
            server.command,
            *server.args,
            env=get_default_environment() | dict(server.env),
            stderr=subprocess.PIPE,  # never a file: a server may write more than a disk holds
            cwd=server.cwd,
            start_new_session=True,
        )
    assert started is not None
    process, streams = started
    stdin, stdout, stderr = streams.stdin, streams.stdout, streams.stderr
    assert stdin is not None
    assert stdout is not None
    assert stderr is not None
    on_start(process.get_pid())

    def ended(too_long: bool) -> None:
        if too_long:
            diagnostics.write(f"it sent a message of more than {LONGEST_MESSAGE:,} bytes")
        on_end()

    incoming = MessageReader(stdout, longest=LONGEST_MESSAGE, on_end=ended)
    outgoing = MessageWriter(stdin, on_gone=incoming.end)  # a request that cannot be sent is not waited for
    errors = asyncio.create_task(_read_to_end(stderr, diagnostics.feed))
    try:
        yield incoming, outgoing
    finally:
        with anyio.CancelScope(shield=True):
            await outgoing.aclose()
            await incoming.aclose()
            rest = asyncio.create_task(_read_to_end(stdout))  # a pipe that is not read to its end is never closed
            diagnostics.ended(await _end(process, stdin, grace()))
            await asyncio.wait((rest, errors), timeout=_DRAIN_SECONDS)
            for task in (rest, errors):
                task.cancel()
            await asyncio.gather(rest, errors, return_exceptions=True)
            if stdin.transport.get_write_buffer_size():
                stdin.transport.abort()  # what the process did not read: a child may hold the other end open
            process.close()
            with suppress(*GONE):  # of a write to a dead process: up to Python 3.11.4, it is logged unless it is seen
                await stdin.wait_closed()


async def _read_to_end(stream: asyncio.StreamReader, take: Callable[[bytes], None] = lambda _: None) -> None:
    with suppress(*GONE):
        while piece := await stream.read(_PIECE):
            take(piece)


async def _end(process: asyncio.SubprocessTransport, stdin: asyncio.StreamWriter, grace: float) -> int | None:
    """End the process and its children: close its input, then send TERM, then KILL.

    Returns:
        Its exit code, if it ended without a signal from here.
    """
    stdin.close()
    code: int | None = None
    for sent in (signal.SIGTERM, signal.SIGKILL):
        await _exited(process, grace / 2)
        if sent is signal.SIGTERM:
            code = process.get_returncode()
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.get_pid(), sent)  # the leader may have ended, and left others in its group
    await _exited(process, 1.0)  # only a process in uninterruptible I/O survives SIGKILL
    return code


async def _exited(process: asyncio.SubprocessTransport, seconds: float) -> None:
    """Return when the process has ended, or after `seconds`."""
    with anyio.move_on_after(seconds):
        # Not `wait()`: that waits for the pipes as well, which a child of the process may hold open.
        while process.get_returncode() is None:  # noqa: ASYNC110
            await anyio.sleep(_POLL)
