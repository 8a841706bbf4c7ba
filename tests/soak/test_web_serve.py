"""`web serve` under clients that mean harm: slow ones, silent ones, floods. Slow, so `make soak` only."""

from __future__ import annotations

import asyncio
import os
import re
import socket
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import ExitStack, suppress
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

from hikidashi.web.local import LocalIndex, ingest

pytestmark = pytest.mark.soak

KEY = "tvly-test"
SLOW, CLIENTS = 3_000, 200


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[tuple[str, int]]:
    """The address and process id of `hikidashi web serve` over two documents."""
    (tmp_path / "a.md").write_text("# Drawers\n\nA drawer holds every tool an agent has.\n", encoding="utf-8")
    index = tmp_path / "web.db"
    async for _ in ingest(LocalIndex(index), [tmp_path / "a.md"]):
        pass
    command = [sys.executable, "-m", "hikidashi", "web", "serve", "--port", "0", "--index", str(index)]
    environment = {**os.environ, "HIKIDASHI_WEB_API_KEY": KEY, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stdout is not None
        found = re.search(r"http://\S+", process.stdout.readline())
        assert found
        yield found[0], process.pid
        process.terminate()


def status(pid: int, name: str) -> int:
    """A number of `/proc/PID/status`, such as VmRSS in KB, or Threads."""
    found = re.search(rf"^{name}:\s+(\d+)", Path(f"/proc/{pid}/status").read_text(), re.MULTILINE)
    assert found
    return int(found[1])


async def test_everyone_with_a_key_is_answered_between_floods_and_memory_stays(server: tuple[str, int]) -> None:
    url, pid = server
    address = urlsplit(url)
    before = status(pid, "VmRSS")
    head = b"POST /search HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n"

    def flood() -> None:
        for _ in range(20):
            with socket.create_connection((str(address.hostname), address.port), timeout=30) as raw, suppress(OSError):
                raw.sendall(head + b"transfer-encoding: chunked\r\n\r\n")
                for _ in range(20):
                    raw.sendall(b"1" * 1_000_000)

    def slow() -> None:
        with ExitStack() as stack:
            for _ in range(SLOW):
                with suppress(OSError):
                    raw = stack.enter_context(
                        socket.create_connection((str(address.hostname), address.port), timeout=30)
                    )
                    raw.sendall(b"GET / HT")

    async def ask(client: httpx.AsyncClient) -> int:
        for _ in range(400):  # a server that has no room says so, and is asked again
            with suppress(httpx.HTTPError):
                answer = await client.post(f"{url}/search", json={"query": "drawer"})
                if answer.status_code != 503:
                    return answer.status_code
        return 0

    async with httpx.AsyncClient(
        headers={"authorization": f"Bearer {KEY}"},
        trust_env=False,
        timeout=60,
        limits=httpx.Limits(max_connections=CLIENTS),
    ) as client:
        floods = asyncio.gather(asyncio.to_thread(flood), asyncio.to_thread(slow))
        answers = await asyncio.gather(*(ask(client) for _ in range(CLIENTS)))
        threads = status(pid, "Threads")
        await floods
        again = await asyncio.gather(*(ask(client) for _ in range(CLIENTS)))
    grown = status(pid, "VmHWM") - before
    assert answers.count(200) == again.count(200) == CLIENTS
    assert threads < 600
    assert grown < 150 * 1024
