"""One gateway for all clients of a configuration: a process that listens on a socket only its owner can reach.

A connection begins with one line that says what it is for: `mcp` speaks the protocol from then on, `status`
and `progress` are answered with a line of JSON, `stop` ends the process.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import json
import logging
import os
import socket as socket_module
import time
from functools import partial
from pathlib import Path

from ...servers.process import MessageReader, MessageWriter
from ..direct.answering import CallAnswers
from ..direct.over_lines import LineCalls
from ..gateway import Gateway
from ..server import GatewayMCPServer
from .control import command_result, open_lock, owner_only_server, remove_socket

__all__ = ["run_daemon"]

logger = logging.getLogger("hikidashi.gateway")

_LONGEST_LINE = 64_000_000
_PIECE = 1 << 16
_POLL = 0.05  # seconds


async def run_daemon(gateway: Gateway, socket: Path, *, linger: float = 10.0) -> bool:
    """Serve clients on `socket` until the last one has been gone for `linger` seconds.

    A process before, whose servers are still ending, is waited for.

    Returns:
        False if another process already serves there.
    """
    lock = open_lock(socket)
    try:
        while not _is_locked(lock):
            if _is_served(socket):
                return False
            await asyncio.sleep(_POLL)
        remove_socket(socket)
        try:
            async with gateway:
                await _Daemon(gateway, linger).serve(socket)
        finally:
            remove_socket(socket)
        return True
    finally:
        os.close(lock)


def _is_locked(lock: int) -> bool:
    """Whether this process has the lock now."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _is_served(path: Path) -> bool:
    with socket_module.socket(socket_module.AF_UNIX) as connection:
        return connection.connect_ex(str(path)) == 0


class _Daemon:
    def __init__(self, gateway: Gateway, linger: float) -> None:
        self._gateway = gateway
        self._server = GatewayMCPServer(gateway)
        self._linger = linger
        self._clients = 0
        self._alone_since = time.monotonic()
        self._stop = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()

    async def serve(self, socket: Path) -> None:
        async with await owner_only_server(self._accept, socket) as listening:
            while not self._stop.is_set():
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._stop.wait(), 0.5)
                if not self._clients and time.monotonic() - self._alone_since > self._linger:
                    break
            listening.close()
            # Before the end of the block, which waits for open connections since Python 3.12.
            tasks = list(self._tasks)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            await self._answer(reader, writer)
        except (OSError, ValueError, asyncio.IncompleteReadError) as error:
            logger.debug("a client is gone: %s", error)
        finally:
            self._tasks.discard(task)
            writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        command = (await reader.readline()).strip()
        if command == b"mcp":
            self._clients += 1
            try:
                await self._speak(reader, writer)
            finally:
                self._clients -= 1
                self._alone_since = time.monotonic()
            return
        result = command_result(command, self._gateway, clients=self._clients)
        if result is None:
            return
        writer.write(json.dumps(result).encode() + b"\n")
        await writer.drain()
        if command == b"stop":
            self._stop.set()

    async def _speak(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        incoming = MessageReader(partial(reader.read, _PIECE), longest=_LONGEST_LINE)

        async def write(line: bytes) -> None:
            writer.write(line)
            await writer.drain()

        outgoing = MessageWriter(write, on_gone=incoming.end)
        with self._server.connection() as state:
            calls = LineCalls(incoming, outgoing, CallAnswers(self._server, self._gateway, state))
            await self._server.run(calls, outgoing, self._server.create_initialization_options())
