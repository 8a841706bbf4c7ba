"""What comes to the gateway over HTTP and is refused: under another name, too large, too slow, or two-faced."""

from __future__ import annotations

import base64
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any, cast

import anyio
import httpx2
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mcp import types
from tests.mcp_support import served

from hikidashi.gateway import Gateway, http_app
from hikidashi.gateway.http_server import Door, http_server

ACCEPT = {"Accept": "application/json, text/event-stream"}
HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}},
}


def call(name: str = "search_tools") -> dict[str, Any]:
    meta: dict[str, Any] = {types.PROTOCOL_VERSION_META_KEY: "2026-07-28", types.CLIENT_CAPABILITIES_META_KEY: {}}
    return {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": name, "arguments": {}, "_meta": meta}}


@asynccontextmanager
async def asking(host: str = "127.0.0.1", **options: Any) -> AsyncGenerator[httpx2.AsyncClient]:
    async with Gateway([]) as gateway:
        app = http_app(gateway, host=host, **options)
        transport = httpx2.ASGITransport(app)
        async with (
            app.router.lifespan_context(app),
            httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1", headers=ACCEPT) as http,
        ):
            yield http


GOOD_HOSTS = [
    "127.0.0.1",
    "127.0.0.1:8000",
    "localhost:1",
    "LOCALHOST:65535",
    "[::1]:8000",
    "[0:0:0:0:0:0:0:1]",
    "127.9.9.9",
]
BAD_HOSTS = [
    "",
    "evil.example",
    "evil.example:8000",
    "localhost.evil.example",
    "127.0.0.1.evil.example:8000",
    "evil.example:127.0.0.1",
    "127.0.0.1:8000@evil.example",
    "user@127.0.0.1:8000",
    "127.0.0.1:80:80",
    "127.0.0.1:evil",
    "127.0.0.1:99999",
    "127.0.0.1:0",
    "127.0.0.1:",
    "127.0.0.1,evil.example",
    "[::1",
    "::1",
    "[::1]evil:80",
    "[::1%25eth0]:80",
    "[fe80::1]",
    "[::ffff:192.168.0.1]",
    "192.168.0.1",
    "0.0.0.0",
    "2130706433",
    "0x7f.1",
    "evil.localhost.example",
    "127.0.0.1/",
    "127.0.0.1#",
    " 127.0.0.1 evil",
]


async def test_only_requests_for_this_machine_are_taken_under_any_of_its_names() -> None:
    async with asking() as http:

        async def status(host: str) -> int:
            return (await http.post("/mcp", json=HELLO, headers={"Host": host})).status_code

        assert {host: await status(host) for host in GOOD_HOSTS} == dict.fromkeys(GOOD_HOSTS, 200)
        assert {host: await status(host) for host in BAD_HOSTS} == dict.fromkeys(BAD_HOSTS, 421)
        twice = [("Host", "127.0.0.1"), ("Host", "evil.example"), ("Content-Type", "application/json")]
        assert (await http.post("/mcp", content=json.dumps(HELLO), headers=twice)).status_code == 421


async def test_only_pages_of_this_machine_may_ask() -> None:
    good = [f"{scheme}://{host}" for scheme in ("http", "https", "HTTP") for host in GOOD_HOSTS]
    bad = ["null", "", "file://", "127.0.0.1", "ftp://127.0.0.1", "http://", "http://127.0.0.1/path", "http//127.0.0.1"]
    bad += [f"http://{host}" for host in BAD_HOSTS] + [
        "chrome-extension://abc",
        "http://localhost:1 http://evil.example",
    ]
    async with asking() as http:

        async def status(origin: str) -> int:
            return (await http.post("/mcp", json=HELLO, headers={"Origin": origin})).status_code

        assert {origin: await status(origin) for origin in good} == dict.fromkeys(good, 200)
        assert {origin: await status(origin) for origin in bad} == dict.fromkeys(bad, 403)
        for method in ("GET", "DELETE", "OPTIONS", "PUT"):
            refused = await http.request(method, "/mcp", headers={"Origin": "http://evil.example"})
            assert refused.status_code == 403


@given(host=st.text(st.characters(codec="latin-1", exclude_categories=["Cc"]), max_size=30))
@settings(max_examples=200, deadline=None)
async def test_any_other_name_is_refused_and_fails_nothing(host: str) -> None:
    heard: list[int] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        heard.append(200)

    async def receive() -> Any:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Any) -> None:
        heard.append(message.get("status", 0))

    scope = {"type": "http", "method": "GET", "path": "/mcp", "headers": [(b"host", host.encode("latin-1"))]}
    await Door(app, "127.0.0.1")(scope, receive, send)

    assert heard[0] == (200 if heard == [200] else 421)
    if heard == [200]:
        assert host.lower().startswith(("127.", "localhost", "["))


# The body


async def test_a_body_that_is_too_large_is_refused_whether_it_says_so_or_not() -> None:
    async def pieces() -> AsyncGenerator[bytes]:
        for _ in range(80):
            yield b" " * 65_536

    json_type = {"Content-Type": "application/json"}
    async with asking() as http:
        told = await http.post("/mcp", content=b" " * 5_000_000, headers=json_type)
        untold = await http.post("/mcp", content=pieces(), headers=json_type)
        lying = await http.post("/mcp", content=b"{}", headers={**json_type, "Content-Length": "9" * 30})
        just_right = await http.post("/mcp", content=json.dumps(HELLO).ljust(4_000_000), headers=json_type)

    assert (told.status_code, untold.status_code, lying.status_code) == (413, 413, 413)
    assert just_right.status_code == 200


async def test_a_body_that_does_not_come_is_not_waited_for_for_ever() -> None:
    sent: list[Any] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        raise AssertionError("it has no body")

    async def receive() -> Any:
        await anyio.sleep_forever()
        raise AssertionError

    async def send(message: Any) -> None:
        sent.append(message)

    headers = [(b"host", b"127.0.0.1"), (b"content-type", b"application/json")]
    scope = {"type": "http", "method": "POST", "path": "/mcp", "headers": headers}
    await Door(app, "127.0.0.1", body_seconds=0.05)(scope, receive, send)

    assert sent[0]["status"] == 408
    assert (b"connection", b"close") in sent[0]["headers"]


async def test_too_many_headers_and_other_kinds_of_content_are_refused() -> None:
    many = [(f"X-{number}", "a") for number in range(300)]
    async with asking() as http:

        async def status(headers: Any) -> int:
            return (await http.post("/mcp", content=json.dumps(HELLO), headers=headers)).status_code

        assert await status([*many, ("Content-Type", "application/json")]) == 431
        assert await status({"X-Long": "a" * 70_000, "Content-Type": "application/json"}) == 431
        for good in ("application/json", "application/json ; charset=UTF-8", "application/json;charset=utf-8"):
            assert await status({"Content-Type": good}) == 200
        for bad in (
            "text/plain",
            "application/jsonp",
            "application/json, text/plain",
            "multipart/form-data",
            "",
            "json",
        ):
            assert await status({"Content-Type": bad}) == 415
        assert await status({}) == 415
        assert await status([("Content-Type", "application/json"), ("Content-Type", "text/plain")]) == 415


async def test_a_server_of_its_own_survives_all_of_it() -> None:
    async with Gateway([]) as gateway, served(http_app(gateway, token="sk-test")) as url:
        port = int(url.rpartition(":")[2])
        raw = [
            b"POST /mcp HTTP/1.1\r\nHost: evil.example\r\nContent-Length: 99999999\r\n\r\n",
            b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: 5\r\n\r\n{",
            b"GET /mcp HTTP/1.1\r\n" + b"X: y\r\n" * 5_000 + b"\r\n",
            b"POST /mcp HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
            b"\x00\xff garbage\r\n\r\n",
        ]
        for request in raw:
            async with await anyio.connect_tcp("127.0.0.1", port) as connection:
                await connection.send(request)
        async with httpx2.AsyncClient(headers={**ACCEPT, "Authorization": "Bearer sk-test"}) as http:
            answer = await http.post(f"{url}/mcp", json=HELLO)

    assert answer.status_code == 200


# Headers that proxies decide by


def encoded(name: str) -> str:
    return f"=?base64?{base64.b64encode(name.encode()).decode()}?="


@pytest.mark.parametrize("revision", ["2026-07-28", "2025-11-25", None])
async def test_headers_that_say_something_else_than_the_body_are_refused_in_every_revision(
    revision: str | None,
) -> None:
    modern = {"Mcp-Method": "tools/call"}
    same: list[dict[str, str]] = [
        {**modern, "Mcp-Name": "search_tools"},
        {**modern, "Mcp-Name": encoded("search_tools")},
    ]
    other: list[dict[str, str]] = [
        {"Mcp-Method": "tools/list", "Mcp-Name": "search_tools"},
        {"Mcp-Method": "TOOLS/CALL", "Mcp-Name": "search_tools"},
        {"Mcp-Method": "", "Mcp-Name": "search_tools"},
        {**modern, "Mcp-Name": "harmless"},
        {**modern, "Mcp-Name": encoded("harmless")},
        {**modern, "Mcp-Name": "=?base64?c2VhcmNoX3Rvb2xz"},
        {**modern, "Mcp-Name": "=?base64?!!?="},
        {**modern, "Mcp-Name": ""},
    ]
    version = {} if revision is None else {"MCP-Protocol-Version": revision}
    async with asking() as http:

        async def mismatch(given: Any, body: Any) -> bool:
            answer = await http.post("/mcp", json=body, headers=[*version.items(), *given])
            return answer.status_code == 400 and f'"code":{types.HEADER_MISMATCH}' in answer.text.replace(" ", "")

        for headers in same:
            assert not await mismatch(headers.items(), call())
        for headers in other:
            assert await mismatch(headers.items(), call()), headers
        twice = [("Mcp-Method", "tools/call"), ("Mcp-Method", "tools/list"), ("Mcp-Name", "search_tools")]
        assert await mismatch(twice, call())
        batch = await http.post("/mcp", json=[call(), call("delete")], headers={**version, **same[0]})
        assert batch.status_code == 400
        if version:
            both = [("MCP-Protocol-Version", "2025-06-18"), *same[0].items()]
            assert await mismatch(both, call())


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)


@given(body=JSON | st.fixed_dictionaries({"method": JSON, "params": JSON, "id": JSON}), name=st.text(max_size=8))
@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
async def test_a_body_of_any_kind_is_compared_and_fails_nothing(body: Any, name: str) -> None:
    statuses: list[int] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        statuses.append(200)

    async def receive() -> Any:
        return {"type": "http.request", "body": json.dumps(body).encode(), "more_body": False}

    async def send(message: Any) -> None:
        statuses.append(message.get("status", 0))

    headers = [(b"content-type", b"application/json"), (b"host", b"127.0.0.1"), (b"mcp-method", b"tools/call")]
    headers.append((b"mcp-name", encoded(name).encode()))
    await Door(app, "127.0.0.1")({"type": "http", "method": "POST", "path": "/", "headers": headers}, receive, send)

    said = cast("dict[str, Any]", body if isinstance(body, dict) else {})
    is_same = said.get("method") == "tools/call"
    params = said.get("params")
    named = cast("dict[str, Any]", params).get("name") if isinstance(params, dict) else None
    assert statuses[0] == (200 if is_same and (named is None or named == name) else 400)


def test_an_idle_connection_is_kept_for_longer_than_clients_keep_it() -> None:
    assert http_server(None, "127.0.0.1", 1).config.timeout_keep_alive > 60
