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
import signal
import socket as socket_module
import time
from collections.abc import AsyncGenerator, Callable
from pathlib import Path
from typing import Any

from ..common.files import private_folder
from ..servers.messages import LONGEST_MESSAGE, MessageReader, MessageWriter
from .calls import CallAnswers, LineCalls
from .gateway import Gateway, tokens_of
from .names import server_prefix
from .server import GatewayMCPServer
from .upstream.upstream import Upstream

logger = logging.getLogger("hikidashi.gateway")

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
        if await _answered(command, writer, self._gateway, clients=self._clients) and command == b"stop":
            self._stop.set()

    async def _speak(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        incoming = MessageReader(reader, longest=LONGEST_MESSAGE)
        outgoing = MessageWriter(writer, on_gone=incoming.end)
        with self._server.connection() as state:
            calls = LineCalls(incoming, outgoing, CallAnswers(self._server, self._gateway, state))
            await self._server.run(calls, outgoing, self._server.create_initialization_options())


_PROCESS = "process-"


async def _answered(
    command: bytes,
    writer: asyncio.StreamWriter,
    gateway: Gateway,
    *,
    clients: int | None,
    address: str | None = None,
) -> bool:
    """Answer a command with JSON; False if there is no such command. Stopping is left to the caller."""
    results: dict[bytes, Callable[[Gateway], dict[str, Any]]]
    results = {b"status": status_of, b"progress": progress_of, b"stop": lambda _: {}}
    if command not in results:
        return False
    result = {**results[command](gateway), "pid": os.getpid(), "clients": clients, "address": address}
    writer.write(json.dumps(result).encode() + b"\n")
    await writer.drain()
    return True


@contextlib.asynccontextmanager
async def control_socket(gateway: Gateway, path: Path, *, address: str | None = None) -> AsyncGenerator[None]:
    """Answer commands about `gateway` on the socket `path`; `stop` sends SIGTERM to this process.

    If the socket cannot be created, a warning is logged, and the gateway serves without it.
    """

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, ValueError, asyncio.IncompleteReadError):
            command = (await reader.readline()).strip()
            if await _answered(command, writer, gateway, clients=None, address=address) and command == b"stop":
                os.kill(os.getpid(), signal.SIGTERM)
        writer.close()

    try:
        private_folder(path.parent)
        _remove_stale(path.parent)
        lock = open_lock(path)
    except OSError as error:
        logger.warning("`hikidashi serve status` does not see this gateway: %s", error)
        yield
        return
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)  # held until the servers have ended, which `serve stop` waits for
        server = await owner_only_server(accept, path)
        try:
            yield
        finally:
            server.close()
            remove_socket(path)
    finally:
        remove_socket(path.with_suffix(".lock"))
        os.close(lock)


def process_socket_name() -> str:
    """The name of the socket of a gateway in this process, without its suffix."""
    return f"{_PROCESS}{os.getpid()}"


def _remove_stale(folder: Path) -> None:
    """Remove the sockets of processes that were killed."""
    for socket in folder.glob(f"{_PROCESS}*.sock"):
        try:
            os.kill(int(socket.stem.removeprefix(_PROCESS)), 0)
        except (ProcessLookupError, ValueError):
            remove_socket(socket)
            remove_socket(socket.with_suffix(".lock"))
        except OSError:
            continue


def open_lock(socket: Path) -> int:
    """The lock file of a socket, created if missing."""
    return os.open(socket.with_suffix(".lock"), os.O_RDWR | os.O_CREAT, 0o600)


def remove_socket(path: Path) -> None:
    """Remove the file of a socket, if there is one."""
    path.unlink(missing_ok=True)


async def owner_only_server(accept: Any, path: Path) -> asyncio.Server:
    """A server on a socket that has its permissions from the first moment on."""
    before = os.umask(0o177)
    try:
        return await asyncio.start_unix_server(accept, str(path))
    finally:
        os.umask(before)


def status_of(gateway: Gateway) -> dict[str, Any]:
    """Each server with its state and figures, how tools are shown, and names that differ from the server's own."""
    places = gateway.merged.tool_places.items()
    return {
        "searching": gateway.searching,
        "servers": [_server(upstream) for upstream in gateway.upstreams.values()],
        "names": {
            shown: {"server": place.server, "name": place.name} for shown, place in places if shown != place.name
        },
        "shortened": sorted(
            shown for shown, place in places if shown not in (place.name, server_prefix(place.server) + place.name)
        ),
    }


def progress_of(gateway: Gateway) -> dict[str, Any]:
    """The progress of the servers that are starting; cheap enough to poll."""
    return {"servers": [_state(upstream) for upstream in gateway.upstreams.values()]}


def _state(upstream: Upstream) -> dict[str, Any]:
    state, listing = upstream.state, upstream.listing
    return {
        "name": state.name,
        "transport": upstream.given.server.transport,
        "status": state.status,
        "listed": upstream.listed.is_set(),
        "tools": 0 if listing is None else len(listing.tools),
        "reason": state.reason,
        "remedy": state.remedy,
        "last_error": state.last_error,
    }


def _server(upstream: Upstream) -> dict[str, Any]:
    state, listing = upstream.state, upstream.listing
    tools = () if listing is None else listing.tools
    return {
        **_state(upstream),
        "protocol": state.protocol,
        "tokens": sum(map(tokens_of, tools)),
        "calls": state.calls,
        "errors": state.errors,
        "restarts": state.restarts,
        "notes": [] if listing is None else list(listing.notes),
    }
