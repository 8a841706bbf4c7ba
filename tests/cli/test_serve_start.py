"""What `hikidashi serve` does before it serves: a client waits for that at every start."""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
from typing import cast

from tests.gateway.servers import free_port

from hikidashi.cli.serve.run import _listening

_LOADED = """
import sys
import hikidashi.cli.app, hikidashi.cli.serve.run
print(*sorted(name for name in sys.modules if name in sys.argv or name.partition(".")[0] in sys.argv))
"""


def test_the_shim_loads_no_protocol_no_event_loop_and_no_search_engine() -> None:
    heavy = ("anyio", "asyncio", "hikidashi.search.catalog", "httpx2", "mcp", "mcp_types", "pydantic", "ssl")
    done = subprocess.run([sys.executable, "-c", _LOADED, *heavy], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


async def test_answers_over_http_do_not_wait_for_acknowledgements() -> None:
    seen: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    async def on_connection(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        accepted = cast("socket.socket", writer.get_extra_info("socket"))
        seen.set_result(accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
        writer.close()

    with _listening("127.0.0.1", free_port()) as listening:
        async with await asyncio.start_server(on_connection, sock=listening):
            reader, writer = await asyncio.open_connection(*listening.getsockname())
            assert await reader.read() == b""
            writer.close()
            await writer.wait_closed()
    assert seen.result() != 0
