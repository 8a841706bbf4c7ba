"""Control of a gateway that runs: `status`, `progress` and `stop`, on a socket that only its owner can reach."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import json
import logging
import os
import signal
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

from ...common.private import private_folder
from ..gateway import Gateway
from ..status import progress_of, status_of

__all__ = ["command_result", "control_socket", "open_lock", "owner_only_server", "process_socket_name", "remove_socket"]

logger = logging.getLogger("hikidashi.gateway")

_PROCESS = "process-"


def command_result(
    command: bytes, gateway: Gateway, *, clients: int | None, address: str | None = None
) -> dict[str, Any] | None:
    """The result of a command as JSON values; None if there is no such command. Stopping is left to the caller."""
    process = {"pid": os.getpid(), "clients": clients, "address": address}
    match command:
        case b"status":
            return {**status_of(gateway), **process}
        case b"progress":
            return {**progress_of(gateway), **process}
        case b"stop":
            return process
        case _:
            return None


@contextlib.asynccontextmanager
async def control_socket(gateway: Gateway, path: Path, *, address: str | None = None) -> AsyncGenerator[None]:
    """Answer commands about `gateway` on the socket `path`; `stop` sends SIGTERM to this process.

    If the socket cannot be created, a warning is logged, and the gateway serves without it.
    """

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, ValueError, asyncio.IncompleteReadError):
            command = (await reader.readline()).strip()
            result = command_result(command, gateway, clients=None, address=address)
            if result is not None:
                writer.write(json.dumps(result).encode() + b"\n")
                await writer.drain()
            if command == b"stop":
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
