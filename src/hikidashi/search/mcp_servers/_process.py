"""MCP servers as processes: started, talked to over their pipes, and ended in a time that the caller sets.

The transport of the `mcp` package waits up to six seconds for a server that ignores being told to end. This one kills
the whole process group when its grace is over, and says when the process has closed its output.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from typing import TextIO

from ...errors import MissingExtra
from ._malformed import error_for
from .config import McpServer

try:
    import anyio
    from anyio.abc import Process
    from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
    from anyio.streams.text import TextReceiveStream
    from mcp import types
    from mcp.client.stdio import StdioServerParameters, get_default_environment, stdio_client
    from mcp.shared.message import SessionMessage
except ImportError as error:
    raise MissingExtra("mcp", "mcp") from error

__all__ = ["Streams", "stdio_transport"]

Streams = tuple[MemoryObjectReceiveStream[SessionMessage | Exception], MemoryObjectSendStream[SessionMessage]]

_LONGEST_MESSAGE = 64_000_000  # characters of one line, held in memory
_LAST_WORDS = 1.0  # seconds in which what a process that has ended has written is read; another may hold its pipe
_POLL = 0.01  # seconds between two looks at a process that should end
_GONE = (anyio.ClosedResourceError, anyio.BrokenResourceError, OSError)


@asynccontextmanager
async def stdio_transport(
    server: McpServer,
    *,
    stderr: TextIO,
    grace: Callable[[], float],
    on_start: Callable[[int], None] = lambda _: None,
    on_end: Callable[[], None] = lambda: None,
) -> AsyncGenerator[Streams]:
    """The streams of a server that is started here, for `mcp.Client`.

    Args:
        server: What to start.
        stderr: Where its standard error goes.
        grace: How many seconds it has to end by itself, asked when it should.
        on_start: Called with the id of the process, which is the leader of its group.
        on_end: Called when it has closed its output.

    Raises:
        OSError: it cannot be started.
    """
    if sys.platform == "win32":  # process groups and signals are others there, and the `mcp` package knows them
        parameters = StdioServerParameters(
            command=server.command, args=list(server.args), env=dict(server.env), cwd=server.cwd
        )
        async with stdio_client(parameters, errlog=stderr) as streams:
            yield streams
        return
    process = await anyio.open_process(
        [server.command, *server.args],
        env=get_default_environment() | dict(server.env),
        stderr=stderr,
        cwd=server.cwd,
        start_new_session=True,
    )
    on_start(process.pid)
    received, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    outgoing, to_send = anyio.create_memory_object_stream[SessionMessage](0)
    at_end = anyio.Event()

    async def receive() -> None:
        assert process.stdout is not None
        pieces: list[str] = []  # of a line that has not ended
        held = 0
        try:
            with suppress(*_GONE):
                async with received:
                    async for chunk in TextReceiveStream(process.stdout, errors="replace"):
                        *lines, rest = chunk.split("\n")
                        for line in lines:
                            await received.send(_message("".join((*pieces, line))))
                            pieces, held = [], 0
                        pieces.append(rest)
                        held += len(rest)
                        if held > _LONGEST_MESSAGE:
                            stderr.write(f"\nit sent a message of more than {_LONGEST_MESSAGE:,} characters\n")
                            break
            on_end()
            with suppress(*_GONE):
                async for _ in process.stdout:  # a pipe that is not read to its end is never closed
                    pass
        finally:
            at_end.set()  # also when it is cancelled: nobody reads any more, so there is nothing to wait for

    async def send() -> None:
        assert process.stdin is not None
        try:
            async with to_send:
                async for message in to_send:
                    text = message.message.model_dump_json(by_alias=True, exclude_unset=True)
                    await process.stdin.send(f"{text}\n".encode())
        except _GONE:
            await received.aclose()  # a request that cannot be sent is not waited for

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(receive)
        tasks.start_soon(send)
        try:
            yield incoming, outgoing
        finally:
            with anyio.CancelScope(shield=True):
                await outgoing.aclose()
                await incoming.aclose()
                await _end(process, grace())
                with anyio.move_on_after(_LAST_WORDS):
                    await at_end.wait()
                with suppress(*_GONE):
                    if process.stdout is not None:
                        await process.stdout.aclose()
                await received.aclose()
                await to_send.aclose()
            tasks.cancel_scope.cancel()


def _message(line: str) -> SessionMessage | Exception:
    try:
        return SessionMessage(types.jsonrpc_message_adapter.validate_json(line, by_name=False))
    except ValueError as error:
        return error_for(line) or error


async def _end(process: Process, grace: float) -> None:
    """End the process and all that it started: ask by closing its input, tell with TERM, then kill."""
    with suppress(*_GONE):
        if process.stdin is not None:
            await process.stdin.aclose()
    for sent in (signal.SIGTERM, signal.SIGKILL):
        await _exited(process, grace / 2)
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, sent)  # the leader may have ended, and left others in its group
    await _exited(process, 1.0)  # only a process that waits for a disk survives a kill


async def _exited(process: Process, seconds: float) -> None:
    """Return when the process has ended, or after `seconds`."""
    with anyio.move_on_after(seconds):
        # Not `wait()`: that waits for the pipes as well, which a child of the process may hold open.
        while process.returncode is None:  # noqa: ASYNC110
            await anyio.sleep(_POLL)
