"""MCP servers as processes, and the lines of JSON-RPC that they read and write.

The transport of the `mcp` package passes each message through a memory stream to a task that writes it, and another the
other way: four tasks that wake each other for one call. These streams read and write in the task that uses them. It
also waits up to six seconds for a server that ignores the end of its input; this one kills the whole process group
after a grace period that the caller sets, and reports when the process has closed its output.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

import anyio
from anyio.abc import Process
from mcp.client.stdio import StdioServerParameters, get_default_environment, stdio_client

from .config import McpServer
from .failure import Diagnostics
from .messages import GONE, LONGEST_MESSAGE, MessageReader, MessageWriter

__all__ = ["Streams", "stdio_transport"]

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
