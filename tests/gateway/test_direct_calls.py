"""Calls of 2026-07-28 take a short way through the gateway; a call within a trace goes through the `mcp` package.

Both ways have to give the same, whatever the server answers.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import anyio
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID
from mcp import MCPError, types
from mcp.client import Client
from mcp.server import Server
from mcp.shared.message import SessionMessage
from tests.gateway.test_http_calls import sending
from tests.mcp_support import served

from hikidashi.gateway import Gateway, GatewayOptions
from hikidashi.gateway.calls import CallAnswers, LineCalls
from hikidashi.gateway.http_server import http_app
from hikidashi.gateway.server import GatewayMCPServer
from hikidashi.gateway.upstream.http_requests import HttpRequests
from hikidashi.gateway.upstream.requests import StreamRequests
from hikidashi.gateway.upstream.state import NotSent
from hikidashi.servers.config import McpServer

_VERSION = "2026-07-28"
_INFO = {"name": "test", "version": "1"}
_ENVELOPE: dict[str, Any] = {
    types.PROTOCOL_VERSION_META_KEY: _VERSION,
    types.CLIENT_INFO_META_KEY: _INFO,
    types.CLIENT_CAPABILITIES_META_KEY: {"elicitation": {}},
    types.LOG_LEVEL_META_KEY: "info",
    "example.com/kept": [1],
    "progressToken": "p1",
}
_TRACE = {"traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}


@dataclass
class Behind:
    """A server over HTTP, and what it saw."""

    url: str = ""
    calls: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    ports: set[int] = field(default_factory=set[int])
    cancelled: anyio.Event = field(default_factory=anyio.Event)
    started: anyio.Event = field(default_factory=anyio.Event)
    answer: Callable[[Any, Any, Any], Any] | None = None
    """Answers calls instead of the server: an ASGI application."""

    @property
    def server(self) -> McpServer:
        return McpServer(name="behind", transport="http", url=f"{self.url}/mcp")


@asynccontextmanager
async def behind(certificate: Path | None = None) -> AsyncGenerator[Behind]:
    seen = Behind()

    async def list_tools(_: Any, __: Any) -> types.ListToolsResult:
        names = ("tell", "wait")
        return types.ListToolsResult(tools=[types.Tool(name=name, input_schema={"type": "object"}) for name in names])

    async def call_tool(ctx: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        seen.calls.append({**(ctx.params or {})})
        if params.name == "wait":
            seen.started.set()
            try:
                await anyio.sleep_forever()
            finally:
                seen.cancelled.set()
        await ctx.session.report_progress(1, 2, "half")
        log = types.LoggingMessageNotificationParams(level="info", data="said")
        await ctx.session.send_notification(types.LoggingMessageNotification(params=log), ctx.request_id)
        return types.CallToolResult(
            content=[types.TextContent(text=f"told {params.arguments}")], _meta={"example.com/result": 1}
        )

    app = Server("behind", on_list_tools=list_tools, on_call_tool=call_tool).streamable_http_app()

    async def watched(scope: Any, receive: Any, send: Any) -> None:
        headers = dict(scope.get("headers", ()))
        if headers.get(b"mcp-method") == b"tools/call":
            seen.ports.add(scope["client"][1])
            if seen.answer is not None and scope["path"] == "/mcp":
                await seen.answer(scope, receive, send)
                return
        if scope["type"] == "http" and scope["path"] == "/moved":
            scope = {**scope, "path": "/mcp", "raw_path": b"/mcp"}
        await app(scope, receive, send)

    async with served(watched, certificate=certificate) as url:
        seen.url = url
        yield seen


def _gateway(server: Behind) -> Gateway:
    return Gateway([server.server], options=GatewayOptions(search="off"))


_ID = b'"THE ID"'


def _answering(status: int, kind: str, body: bytes, **headers: str) -> Callable[[Any, Any, Any], Any]:
    async def answer(_: Any, receive: Any, send: Any) -> None:
        sent, more = b"", True
        while more:
            part = await receive()
            sent, more = sent + part["body"], part["more_body"]
        answered = body.replace(_ID, json.dumps(json.loads(sent)["id"]).encode())
        if headers.get("content_encoding") == "gzip":
            answered = gzip.compress(answered)
        given = {"content-type": kind, **headers}
        encoded = [(name.replace("_", "-").encode(), value.encode()) for name, value in given.items()]
        await send({"type": "http.response.start", "status": status, "headers": encoded})
        for at in range(0, len(answered), 40):  # without a length: in chunks
            await send({"type": "http.response.body", "body": answered[at : at + 40], "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    return answer


def _json(value: object) -> bytes:
    return json.dumps(value).encode()


def _result(**result: Any) -> bytes:
    return _json({"jsonrpc": "2.0", "id": "THE ID", "result": result})


_FINE = {"resultType": "complete", "content": [{"type": "text", "text": "fine ✓"}], "isError": False}
_REFUSED = _json({"jsonrpc": "2.0", "id": None, "error": {"code": -32602, "message": "no", "data": {"a": 1}}})
_EVENT = b"event: message\r\ndata: " + _result(**_FINE) + b"\r\n\r\n"
_ANSWERS = {
    "a result": _answering(200, "application/json", _result(**_FINE)),
    "a result with unknown fields": _answering(200, "application/json", _result(**_FINE, other={"a": None})),
    "a compressed result": _answering(200, "application/json", _result(**_FINE), content_encoding="gzip"),
    "a stream": _answering(200, "text/event-stream; charset=utf-8", b": hello\n\n" + _EVENT),
    "a stream that ends early": _answering(200, "text/event-stream", b": hello\n\n"),
    "an error": _answering(200, "application/json", _REFUSED.replace(b"null", _ID)),
    "an error with a status": _answering(400, "application/json", _REFUSED),
    "a missing page": _answering(404, "text/html", b"<p>no"),
    "a broken server": _answering(500, "text/plain", b"oh"),
    "a forbidden call": _answering(403, "application/json", b"{}"),
    "no answer": _answering(202, "application/json", b""),
    "another type": _answering(200, "text/html", b"<p>hi"),
    "no message": _answering(200, "application/json", b'{"a":'),
    "no result": _answering(200, "application/json", _result(content="not a list")),
    "a redirect": _answering(307, "text/plain", b"", location="/moved"),
}


async def test_whatever_a_server_answers_the_client_gets_the_same_as_through_the_package() -> None:
    async with behind() as server, _gateway(server) as gateway, sending(gateway, _ENVELOPE) as sent:
        await gateway.listed(10)

        async def called(**more: str) -> tuple[int, str, str]:
            params = {"name": "behind__tell", "arguments": {"a": 1}}
            answer = await sent("tools/call", params, **{"Mcp-Name": "behind__tell", **more})
            said = answer.text.replace("SSE message", "JSON response")
            return answer.status_code, answer.headers["content-type"], said

        short, long = {}, {}
        for case, server.answer in _ANSWERS.items():
            short[case], long[case] = await called(), await called(**_TRACE)

    assert short == long
    assert "fine ✓" in short["a result"][2]
    assert "fine ✓" in short["a stream"][2]
    assert "told" in short["a redirect"][2]


@pytest.mark.parametrize("way", ["short", "through the package"])
async def test_progress_logs_and_metadata_pass_in_order_and_the_server_sees_the_capabilities_of_the_client(
    way: str,
) -> None:
    more = {} if way == "short" else _TRACE
    async with behind() as server, _gateway(server) as gateway, sending(gateway, _ENVELOPE) as sent:
        await gateway.listed(10)
        params = {"name": "behind__tell", "arguments": {"a": 1}}
        answer = await sent("tools/call", params, **{"Mcp-Name": "behind__tell", **more})

    events = [json.loads(line.removeprefix("data: ")) for line in answer.text.splitlines() if line.startswith("data")]
    assert [(event.get("method"), event.get("params")) for event in events[:2]] == [
        ("notifications/progress", {"progressToken": "p1", "progress": 1.0, "total": 2.0, "message": "half"}),
        ("notifications/message", {"level": "info", "data": "said"}),
    ]
    result = events[2]["result"]
    assert result["content"] == [{"type": "text", "text": "told {'a': 1}"}]
    assert result["_meta"]["example.com/result"] == 1
    meta = server.calls[0]["_meta"]
    assert meta[types.CLIENT_CAPABILITIES_META_KEY] == {"elicitation": {}}
    assert meta[types.LOG_LEVEL_META_KEY] == "info"
    assert meta["example.com/kept"] == [1]
    assert meta["progressToken"] != "p1"


@pytest.mark.parametrize("scheme", ["http", "https"])
async def test_calls_share_one_connection_to_the_server_and_one_that_it_closed_is_not_used_again(
    scheme: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    certificate = _certificate(tmp_path) if scheme == "https" else None
    if certificate is not None:
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    async with behind(certificate) as server, _gateway(server) as gateway, sending(gateway, _ENVELOPE) as sent:
        await gateway.listed(10)

        async def call() -> int:
            params: dict[str, Any] = {"name": "behind__tell", "arguments": {}}
            return (await sent("tools/call", params, **{"Mcp-Name": "behind__tell"})).status_code

        server.answer = _answering(200, "application/json", _result(**_FINE))
        assert [await call() for _ in range(3)] == [200, 200, 200]
        assert len(server.ports) == 1
        server.answer = _answering(200, "application/json", _result(**_FINE), connection="close")
        assert [await call() for _ in range(3)] == [200, 200, 200]
        assert len(server.ports) == 3


def _certificate(folder: Path) -> Path:
    """A key and a certificate of 127.0.0.1 that it signed itself, in one file."""
    key, name = ec.generate_private_key(ec.SECP256R1()), x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "test")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number(), now, now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False)
        .sign(key, hashes.SHA256())
    )
    file = folder / "certificate.pem"
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    file.write_bytes(private + certificate.public_bytes(Encoding.PEM))
    return file


async def test_over_tls_a_call_reaches_no_server_whose_certificate_is_not_trusted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    certificate = _certificate(tmp_path)
    answer = _answering(200, "application/json", _result(**_FINE))
    async with behind(certificate) as server:
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        requests = HttpRequests(server.server, seconds=5, on_notification=_unheard, on_error=lambda _: None)
        monkeypatch.delenv("SSL_CERT_FILE")
        refused = HttpRequests(server.server, seconds=5, on_notification=_unheard, on_error=lambda _: None)
        server.answer = answer

        async def call(requests: HttpRequests) -> Any:
            params: dict[str, Any] = {"name": "tell", "_meta": {types.PROTOCOL_VERSION_META_KEY: _VERSION}}
            return await requests.request("tools/call", params, _no_progress, {}, repeatable=True)

        assert await call(requests) == _FINE
        with pytest.raises(NotSent, match="CERTIFICATE_VERIFY_FAILED"):
            await call(refused)
        requests.close()


async def _unheard(_: str, __: dict[str, Any] | None) -> None:
    raise AssertionError


async def _no_progress(progress: float, total: float | None, message: str | None) -> None:
    raise AssertionError


_QUESTIONS: dict[str, Any] = {
    "elicitation": {
        "method": "elicitation/create",
        "params": {"mode": "form", "message": "Which?", "requestedSchema": {"type": "object", "properties": {}}},
    },
    "sampling": {"method": "sampling/createMessage", "params": {"messages": [], "maxTokens": 1}},
    "roots": {"method": "roots/list"},
}


@pytest.mark.parametrize("capability", _QUESTIONS)
async def test_a_client_gets_the_question_of_a_server_only_if_it_declared_that_it_can_answer(capability: str) -> None:
    question = {"resultType": "input_required", "inputRequests": {"q": _QUESTIONS[capability]}, "requestState": "s"}
    said: dict[str, Any] = {}
    async with behind() as server, _gateway(server) as gateway:
        await gateway.listed(10)
        server.answer = _answering(200, "application/json", _result(**question))
        others: dict[str, Any] = {name: {} for name in _QUESTIONS if name != capability}
        able: dict[str, Any] = {capability: {}}
        for case, capabilities in {"able": able, "unable": others}.items():
            envelope = {**_ENVELOPE, types.CLIENT_CAPABILITIES_META_KEY: capabilities}
            async with sending(gateway, envelope) as sent:
                params: dict[str, Any] = {"name": "behind__tell", "arguments": {}}
                said[case] = (await sent("tools/call", params, **{"Mcp-Name": "behind__tell"})).json()

    assert said["able"]["result"]["inputRequests"] == question["inputRequests"]
    assert said["able"]["result"]["requestState"] == "s"
    refusal = said["unable"]["error"]
    assert refusal["code"] == types.MISSING_REQUIRED_CLIENT_CAPABILITY
    assert refusal["message"] == f"The client does not support {capability}, which this call needs."
    assert refusal["data"] == {"requiredCapabilities": {capability: {}}}


async def test_a_client_that_goes_away_cancels_its_call_at_the_server() -> None:
    async with (
        behind() as server,
        _gateway(server) as gateway,
        served(http_app(gateway)) as url,
        Client(f"{url}/mcp") as client,
    ):
        await gateway.listed(10)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(client.call_tool, "behind__wait")
            with anyio.fail_after(30):
                await server.started.wait()
            tasks.cancel_scope.cancel()
        with anyio.fail_after(30):
            await server.cancelled.wait()


class Wire:
    """The streams of one side, as the package has them."""

    def __init__(self) -> None:
        self.to_us, incoming = anyio.create_memory_object_stream[SessionMessage](100)
        self.outgoing, self.from_us = anyio.create_memory_object_stream[SessionMessage](100)
        self.incoming = incoming

    def __enter__(self) -> Wire:
        return self

    def __exit__(self, *_: object) -> None:
        for stream in (self.to_us, self.incoming, self.outgoing, self.from_us):
            stream.close()

    async def say(self, **message: Any) -> None:
        text = json.dumps({"jsonrpc": "2.0", **message})
        await self.to_us.send(SessionMessage(types.jsonrpc_message_adapter.validate_json(text)))

    async def hear(self) -> dict[str, Any]:
        with anyio.fail_after(30):
            message = (await self.from_us.receive()).message
        return message.model_dump(mode="json", by_alias=True, exclude_none=True)


def _call(id_: int | str, name: str) -> dict[str, Any]:
    return {"id": id_, "method": "tools/call", "params": {"name": name, "arguments": {}, "_meta": _ENVELOPE}}


@pytest.fixture
def wire() -> Generator[Wire]:
    with Wire() as made:
        yield made


async def test_on_a_pipe_calls_are_answered_cancelled_and_closed_as_by_the_package(wire: Wire) -> None:
    async with behind() as server, _gateway(server) as gateway, anyio.create_task_group() as tasks:
        await gateway.listed(10)
        mcp = GatewayMCPServer(gateway)

        async def serve() -> None:
            with mcp.connection() as state:
                calls = LineCalls(wire.incoming, wire.outgoing, CallAnswers(mcp, gateway, state))
                await mcp.run(calls, wire.outgoing, mcp.create_initialization_options())

        tasks.start_soon(serve)
        await wire.say(id=1, method="server/discover", params={"_meta": _ENVELOPE})
        assert (await wire.hear())["result"]["supportedVersions"] == [_VERSION]
        await wire.say(**_call("two", "behind__tell"))
        heard = [await wire.hear() for _ in range(3)]
        assert [message.get("method") for message in heard] == ["notifications/progress", "notifications/message", None]
        assert (heard[2]["id"], heard[2]["result"]["content"][0]["text"]) == ("two", "told {}")
        await wire.say(**_call(3, "behind__nothing"))
        assert (await wire.hear())["result"]["isError"]
        await wire.say(id=4, method="tools/call", params={"name": 7, "_meta": _ENVELOPE})
        assert (await wire.hear())["error"]["code"] == types.INVALID_PARAMS

        await wire.say(**_call(5, "behind__wait"))
        with anyio.fail_after(30):
            await server.started.wait()
        await wire.say(method="notifications/cancelled", params={"requestId": 5})
        with anyio.fail_after(30):
            await server.cancelled.wait()
        server.started = anyio.Event()
        await wire.say(**_call(6, "behind__wait"))
        with anyio.fail_after(30):
            await server.started.wait()
        await wire.to_us.aclose()
        assert await wire.hear() == {
            "jsonrpc": "2.0",
            "id": 6,
            "error": {"code": types.CONNECTION_CLOSED, "message": "Connection closed"},
        }


async def test_requests_on_the_streams_of_a_process_are_told_apart_from_those_of_the_package(wire: Wire) -> None:
    requests = StreamRequests(wire.incoming, wire.outgoing)
    reported: list[tuple[float, float | None, str | None]] = []

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        reported.append((progress, total, message))

    async def ask(into: list[Any]) -> None:
        try:
            into.append(await requests.request("tools/call", {"_meta": {}}, on_progress))
        except MCPError as error:
            into.append(error.error.code)

    passed: list[Any] = []

    async def read() -> None:
        passed.extend([getattr(item.message, "id", None) or item.message.method async for item in requests])

    answers: list[Any] = []
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(read)
        tasks.start_soon(ask, answers)
        sent = await wire.hear()
        assert sent["params"]["_meta"]["progressToken"] == sent["id"]
        await wire.say(method="notifications/progress", params={"progressToken": sent["id"], "progress": 1})
        await wire.say(method="notifications/progress", params={"progressToken": 1, "progress": 1})
        await wire.say(method="notifications/message", params={})
        await wire.say(id=1, result={})
        await wire.say(id=str(sent["id"]), result={"a": 1})
        with anyio.fail_after(30):
            while not answers:
                await anyio.sleep(0)

        second: dict[str, Any] = {}
        async with anyio.create_task_group() as cancelled:
            cancelled.start_soon(ask, answers)
            second = await wire.hear()
            cancelled.cancel_scope.cancel()
        assert await wire.hear() == {
            "jsonrpc": "2.0",
            "method": "notifications/cancelled",
            "params": {"requestId": second["id"], "reason": "caller cancelled"},
        }
        await wire.say(id=second["id"], result={})  # too late

        tasks.start_soon(ask, answers)
        await wire.hear()
        await wire.to_us.aclose()

    assert answers == [{"a": 1}, types.CONNECTION_CLOSED]
    assert reported == [(1.0, None, None)]
    assert passed == ["notifications/progress", "notifications/message", 1]
