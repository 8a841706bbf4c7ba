"""Servers over HTTP that close connections at bad moments, flood, or do not speak HTTP: on real sockets."""

from __future__ import annotations

import asyncio
import gzip
import itertools
import json
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import pytest
from mcp import MCPError, types
from mcp.client import Client
from tests.gateway.servers import LEGACY, program
from tests.gateway.test_gateway import connected, text_of

from hikidashi.gateway.upstream.http_requests import HttpRequests
from hikidashi.gateway.upstream.state import NotSent
from hikidashi.servers.config import McpServer

_LIMIT = 1_000_000
_RESULT = {"content": [{"type": "text", "text": "fine"}], "isError": False, "resultType": "complete"}


@dataclass
class Requests:
    """What a raw server has seen."""

    connections: int = 0
    bodies: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    heads: list[bytes] = field(default_factory=list[bytes])


Answer = Callable[[dict[str, Any], asyncio.StreamWriter, int], Awaitable[bool]]
"""Answers the n-th request of a connection, whose body it gets; False closes the connection."""


@asynccontextmanager
async def raw_server(answer: Answer, host: str = "127.0.0.1") -> AsyncGenerator[tuple[McpServer, Requests]]:
    seen = Requests()

    serving: list[asyncio.Task[Any] | None] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        serving.append(asyncio.current_task())
        seen.connections += 1
        with suppress(OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            for place in itertools.count():
                head = await reader.readuntil(b"\r\n\r\n")
                length = next(int(line[15:]) for line in head.lower().split(b"\r\n") if line[:15] == b"content-length:")
                body = json.loads(await reader.readexactly(length))
                seen.bodies.append(body)
                seen.heads.append(head)
                if not await answer(body, writer, place):
                    break
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()

    async with await asyncio.start_server(serve, host, 0) as listening:
        port = listening.sockets[0].getsockname()[1]
        shown = f"[{host}]" if ":" in host else host
        yield McpServer(name="raw", transport="http", url=f"http://{shown}:{port}/mcp"), seen
        listening.close()
        for task in filter(None, serving):
            task.cancel()
        await asyncio.gather(*filter(None, serving))


async def _no_notification(_: str, __: dict[str, Any] | None) -> None:
    return None


async def _no_progress(progress: float, total: float | None, message: str | None) -> None:
    return None


@asynccontextmanager
async def requests_to(server: McpServer) -> AsyncGenerator[Callable[..., Awaitable[dict[str, Any]]]]:
    http = HttpRequests(server, seconds=10, on_notification=_no_notification, on_error=lambda _: None)

    async def request(repeatable: bool = True, headers: dict[str, str] | None = None) -> dict[str, Any]:
        params = {"name": "tell", "arguments": {}, "_meta": {types.PROTOCOL_VERSION_META_KEY: "2026-07-28"}}
        async with asyncio.timeout(60):
            return await http.request("tools/call", params, _no_progress, headers or {}, repeatable=repeatable)

    try:
        yield request
    finally:
        http.close()


def _result(body: dict[str, Any], **more: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": body["id"], "result": {**_RESULT, **more}}).encode()


async def _fine(body: dict[str, Any], writer: asyncio.StreamWriter, _: int = 0) -> bool:
    answer = _result(body)
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(answer))
    writer.write(answer)
    await writer.drain()
    return True


async def test_a_request_on_a_connection_that_the_server_is_closing_is_sent_again_only_if_that_is_safe() -> None:
    async def once(body: dict[str, Any], writer: asyncio.StreamWriter, place: int) -> bool:
        return place == 0 and await _fine(body, writer)  # the second request finds the connection closed too late

    async with raw_server(once) as (server, seen), requests_to(server) as request:
        assert await request() == _RESULT
        assert await request() == _RESULT
        assert (seen.connections, len(seen.bodies)) == (2, 3)
        with pytest.raises(MCPError) as lost:
            await request(repeatable=False)
        assert (lost.value.code, len(seen.bodies)) == (types.CONNECTION_CLOSED, 4)
        assert await request(repeatable=False) == _RESULT


async def test_a_connection_that_the_server_closed_while_it_was_idle_is_not_used() -> None:
    closed: list[asyncio.StreamWriter] = []

    async def fine_then_close(body: dict[str, Any], writer: asyncio.StreamWriter, _: int) -> bool:
        closed.append(writer)
        await _fine(body, writer)
        return False

    async with raw_server(fine_then_close) as (server, seen), requests_to(server) as request:
        for count in range(1, 4):
            assert await request(repeatable=False) == _RESULT
            await closed.pop().wait_closed()
            assert seen.connections == len(seen.bodies) == count


@pytest.mark.parametrize(
    ("repeatable", "limit"), [(True, "_IDLE_SECONDS"), (False, "_BRIEF_SECONDS")], ids=["repeatable", "not repeatable"]
)
async def test_a_connection_that_was_idle_for_long_is_not_used(
    repeatable: bool, limit: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with raw_server(_fine) as (server, seen), requests_to(server) as request:
        await request(repeatable)
        await request(repeatable)
        assert seen.connections == 1
        monkeypatch.setattr(f"hikidashi.gateway.upstream.http_requests.{limit}", -1.0)
        await request(repeatable)
        assert seen.connections == 2


async def test_a_server_that_keeps_connections_for_a_shorter_time_is_believed() -> None:
    async def fine(body: dict[str, Any], writer: asyncio.StreamWriter, _: int) -> bool:
        answer = _result(body)
        writer.write(
            b"HTTP/1.1 200 OK\r\nKeep-Alive: max=5, timeout=0\r\nContent-Type: application/json\r\n"
            b"Content-Length: %d\r\n\r\n%s" % (len(answer), answer)
        )
        return True

    async with raw_server(fine) as (server, seen), requests_to(server) as request:
        await request()
        await request()
        assert seen.connections == 2


async def test_a_request_that_reached_no_server_says_so() -> None:
    async with raw_server(_fine) as (server, _):
        pass
    async with requests_to(server) as request:
        with pytest.raises(NotSent):
            await request()


async def test_a_server_at_an_ipv6_address_is_reached_by_its_name() -> None:
    async with raw_server(_fine, "::1") as (server, seen), requests_to(server) as request:
        assert await request() == _RESULT
        assert b"\r\nhost: [::1]:" in seen.heads[0]


async def _endless(writer: asyncio.StreamWriter, piece: bytes) -> bool:
    """Write for ever; ends with an OSError when the other side closes the connection."""
    while True:
        writer.write(piece)
        await writer.drain()


_JSON_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
_FLOODS: dict[str, tuple[bytes, bytes]] = {
    "a body without end": (_JSON_HEAD + b"\r\n", b"[" * 65_536),
    "chunks without end": (_JSON_HEAD + b"Transfer-Encoding: chunked\r\n\r\n", b"8000\r\n" + b" " * 0x8000 + b"\r\n"),
    "chunks of one byte": (_JSON_HEAD + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\n[\r\n" * 10_000),
    "a length of exabytes": (_JSON_HEAD + b"Content-Length: 9999999999999999999\r\n\r\n", b" " * 65_536),
    "an event without end": (b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: ", b"x" * 65_536),
    "an event of lines without end": (
        b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n",
        b"data: 1234567890\r\n" * 1_000,
    ),
    "a compressed bomb": (
        _JSON_HEAD + b"Content-Encoding: gzip\r\nConnection: close\r\n\r\n" + gzip.compress(b" " * 100_000_000),
        b"",
    ),
}
_GARBAGE: dict[str, tuple[bytes, bytes]] = {
    "headers without end": (b"HTTP/1.1 200 OK\r\n", b"X-More: " + b"x" * 60_000 + b"\r\n"),
    "a header without end": (b"HTTP/1.1 200 OK\r\nX-More: ", b"x" * 65_536),
    "interim responses without end": (b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 100),
    "a chunk size without end": (_JSON_HEAD + b"Transfer-Encoding: chunked\r\n\r\n", b"0" * 65_536),
    "trailers without end": (_JSON_HEAD + b"Transfer-Encoding: chunked\r\n\r\n0\r\n", b"X-A: b\r\n" * 1_000),
    "another protocol": (b"", b"220 mail.example.com ESMTP\r\n\r\n" * 100),
    "two lengths": (_JSON_HEAD + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\n", b"[" * 100),
    "an unknown transfer encoding": (_JSON_HEAD + b"Transfer-Encoding: gzip, chunked\r\n\r\n", b"[" * 100),
    "a header with a line break": (b"HTTP/1.1 200 OK\r\nX-A: b\rX-C: d\r\n\r\n", b"[" * 100),
}


@pytest.mark.parametrize("case", [*_FLOODS, *_GARBAGE])
async def test_a_server_that_floods_is_cut_off_at_the_limit_and_one_that_sends_garbage_at_once(
    case: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hikidashi.gateway.upstream.http_requests.LONGEST_MESSAGE", _LIMIT)
    begin, more = {**_FLOODS, **_GARBAGE}[case]
    sent = 0
    cut_off = asyncio.Event()

    async def flood(_: dict[str, Any], writer: asyncio.StreamWriter, __: int) -> bool:
        nonlocal sent
        writer.write(begin)
        try:
            while more:
                writer.write(more)
                await writer.drain()
                await asyncio.sleep(0)  # so that the end of the connection is noticed
                sent += len(more)
        finally:
            cut_off.set()
        return False

    async with raw_server(flood) as (server, seen), requests_to(server) as request:
        with pytest.raises(MCPError) as refused:
            await request()
        async with asyncio.timeout(60):
            await cut_off.wait()

    expected = (
        "The server 'raw' sent a message of more than 1,000,000 bytes, which is the limit. Ask it for less at once."
        if case in _FLOODS
        else "The server 'raw' sent an invalid response: "
    )
    assert refused.value.message.startswith(expected)
    assert seen.connections == 1
    # What it could send before it noticed: the limit of the message, framed, and the buffers of the sockets.
    assert sent < 20 * _LIMIT


_LISTING: dict[str, Any] = {
    "resultType": "complete",
    "tools": [{"name": name, "inputSchema": {"type": "object"}} for name in ("flood", "tell")],
    "ttlMs": 0,
    "cacheScope": "private",
}
_DISCOVERED: dict[str, Any] = {
    "resultType": "complete",
    "supportedVersions": ["2026-07-28"],
    "capabilities": {"tools": {}},
    "serverInfo": {"name": "raw", "version": "1"},
    "ttlMs": 0,
    "cacheScope": "private",
}


async def _discovered(body: dict[str, Any], writer: asyncio.StreamWriter) -> bool:
    """Answer as a server of 2026-07-28 with two tools."""
    results = {"server/discover": _DISCOVERED, "tools/list": _LISTING, "tools/call": _RESULT}
    if body["method"] not in results:
        writer.write(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
        return True
    text = json.dumps({"jsonrpc": "2.0", "id": body["id"], "result": results[body["method"]]}).encode()
    writer.write(_JSON_HEAD + b"Content-Length: %d\r\n\r\n%s" % (len(text), text))
    return True


async def test_a_flood_in_a_call_is_explained_and_other_calls_and_servers_do_not_notice(tmp_path: Any) -> None:
    async def answer(body: dict[str, Any], writer: asyncio.StreamWriter, _: int) -> bool:
        if body.get("params", {}).get("name") == "flood":
            writer.write(_JSON_HEAD + b"Transfer-Encoding: chunked\r\n\r\n")
            return await _endless(writer, b"8000\r\n" + b" " * 0x8000 + b"\r\n")
        return await _discovered(body, writer)

    async with (
        raw_server(answer) as (server, _),
        connected([server, program(tmp_path, "legacy", LEGACY)]) as (client, gateway),
    ):
        await gateway.listed(60)
        flooded: list[str] = []

        async def call_flood(client: Client) -> None:
            with pytest.raises(MCPError) as refused:
                await client.call_tool("raw__flood", {})
            flooded.append(refused.value.message)

        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(call_flood(client))
            told = text_of(await client.call_tool("raw__tell", {}))
            read = await client.call_tool("legacy__read", {})
        again = text_of(await client.call_tool("raw__tell", {}))
        states = [(state.status, state.restarts) for state in gateway.states]

    assert (told, again, read.is_error) == ("fine", "fine", False)
    assert flooded == [
        "The server 'raw' sent a message of more than 64,000,000 bytes, which is the limit. Ask it for less at once."
    ]
    assert states == [("ready", 0), ("ready", 0)]


@pytest.mark.parametrize("case", ["chunks without end", "a compressed bomb"])
async def test_a_flood_instead_of_a_list_is_cut_off_and_says_so(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hikidashi.servers.connection.LONGEST_MESSAGE", _LIMIT)
    begin, more = _FLOODS[case]

    async def flood(body: dict[str, Any], writer: asyncio.StreamWriter, _: int) -> bool:
        if body["method"] != "tools/list":
            return await _discovered(body, writer)
        writer.write(begin)
        return await _endless(writer, more) if more else False

    async with raw_server(flood) as (server, _), connected([server]) as (_, gateway):
        await gateway.listed(60)
        (state,) = gateway.states

    assert state.status == "failed"
    assert "The server 'raw' sent a message of more than 1,000,000 bytes" in state.reason


_EVENTS = {
    "line feeds": b"data: %s\n\n",
    "carriage returns": b"data: %s\r\r",
    "both": b"event: message\r\ndata: %s\r\n\r\n",
    "a byte order mark": b"\xef\xbb\xbfdata: %s\n\n",
    "comments, ids and pauses": b": hello\n\nid: 7\nretry: 10\ndata: %s\n\n",
    "another event first": b"event: other\ndata: {}\n\ndata:%s\n\n",
    "several lines": None,
}


@pytest.mark.parametrize("case", _EVENTS)
@pytest.mark.parametrize("size", [1, 7, 100_000])
async def test_the_result_in_a_stream_of_events_is_read_however_it_is_cut_and_ended(case: str, size: int) -> None:
    async def answer(body: dict[str, Any], writer: asyncio.StreamWriter, _: int) -> bool:
        text = _result(body)
        shape = _EVENTS[case]
        if shape is None:
            lines = json.dumps(json.loads(text), indent=1).encode().splitlines()
            sent = b"".join(b"data: " + line + b"\n" for line in lines) + b"\n"
        else:
            sent = shape % text
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\n")
        writer.write(b"Transfer-Encoding: chunked\r\n\r\n")
        for at in range(0, len(sent), size):
            piece = sent[at : at + size]
            writer.write(b"%x;ext=1\r\n%s\r\n" % (len(piece), piece))
        writer.write(b"0\r\nX-Trailer: 1\r\n\r\n")
        return True

    async with raw_server(answer) as (server, _), requests_to(server) as request:
        assert await request() == _RESULT


async def test_a_large_event_is_a_result_like_any_other() -> None:
    large = {"type": "image", "data": "A" * 3_000_000, "mimeType": "image/png"}

    async def answer(body: dict[str, Any], writer: asyncio.StreamWriter, _: int) -> bool:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n")
        writer.write(b"data: " + _result(body, content=[large]) + b"\n\n")
        await writer.drain()
        return False

    async with raw_server(answer) as (server, _), requests_to(server) as request:
        assert (await request())["content"] == [large]


async def test_an_old_server_and_interim_responses_are_understood() -> None:
    async def answer(body: dict[str, Any], writer: asyncio.StreamWriter, _: int) -> bool:
        writer.write(b"HTTP/1.1 103 Early Hints\r\nLink: <x>\r\n\r\nHTTP/1.0 200\nContent-Type: application/json\n\n")
        writer.write(_result(body))
        await writer.drain()
        return False

    async with raw_server(answer) as (server, _), requests_to(server) as request:
        assert await request() == _RESULT


async def test_bytes_after_a_response_are_not_taken_for_the_next_one() -> None:
    async def answer(body: dict[str, Any], writer: asyncio.StreamWriter, _: int) -> bool:
        await _fine(body, writer)
        return await _fine({"id": "forged"}, writer)

    async with raw_server(answer) as (server, seen), requests_to(server) as request:
        assert [await request() for _ in range(3)] == [_RESULT] * 3
        assert seen.connections == 3


async def test_a_header_with_a_line_break_is_never_sent() -> None:
    from hikidashi.gateway.upstream.http_requests import AskAgain

    async with raw_server(_fine) as (server, seen), requests_to(server) as request:
        for value in ("a\r\nX-Forged: 1", "a\nb", "a\0b"):
            with pytest.raises(AskAgain):
                await request(headers={"mcp-param-region": value})
        assert seen.bodies == []
        assert await request(headers={"mcp-param-region": "eu"}) == _RESULT
        assert b"\r\nmcp-param-region: eu\r\n" in seen.heads[0]
