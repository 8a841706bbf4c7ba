"""One trace from the client through the gateway to the server, and nothing confidential in it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import asynccontextmanager, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest
from mcp import StdioServerParameters
from mcp.client import Client
from opentelemetry import trace
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from tests.gateway.servers import LEGACY, MODERN, free_port, program
from tests.gateway.test_gateway import MODES, Mode, choose_blue, connected, text_of
from tests.gateway.test_untouched import headers_server

from hikidashi.gateway import Gateway, GatewayOptions
from hikidashi.gateway.http_server import http_app
from hikidashi.servers.config import McpServer

HIKIDASHI = str(Path(sys.executable).with_name("hikidashi"))
TRACE = "0af7651916cd43dd8448eb211c80319c"
TRACEPARENT = f"00-{TRACE}-b7ad6b7169203331-01"

_EXPORTER = InMemorySpanExporter()


@pytest.fixture
def exporter() -> Generator[InMemorySpanExporter]:
    """The spans of this process. OpenTelemetry takes one provider for the life of a process."""
    if isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider):
        trace.set_tracer_provider(TracerProvider())
    provider = trace.get_tracer_provider()
    assert isinstance(provider, TracerProvider)
    if not _PROCESSORS:
        _PROCESSORS.append(SimpleSpanProcessor(_EXPORTER))
        provider.add_span_processor(_PROCESSORS[0])
    _EXPORTER.clear()
    yield _EXPORTER
    _EXPORTER.clear()


_PROCESSORS: list[SimpleSpanProcessor] = []


def chain(spans: list[ReadableSpan], last: str) -> list[tuple[str, str]]:
    """Kind and name of each span from the root to the last one that is called `last`."""
    by_id = {span.context.span_id: span for span in spans if span.context is not None}
    at: ReadableSpan | None = [span for span in spans if span.name == last][-1]
    names: list[tuple[str, str]] = []
    while at is not None:
        names.insert(0, (at.kind.name, at.name))
        at = None if at.parent is None else by_id.get(at.parent.span_id)
    return names


@pytest.mark.parametrize("mode", MODES)
async def test_a_search_and_a_call_are_spans_between_the_client_and_the_server(
    mode: Mode, tmp_path: Path, exporter: InMemorySpanExporter
) -> None:
    server = program(tmp_path, "legacy", LEGACY)
    with trace.get_tracer("test").start_as_current_span("agent"):
        async with connected([server], mode, search="on") as (client, _):
            await client.call_tool("search_tools", {"query": "read a file"})
            result = await client.call_tool(
                "call_read_tool", {"name": "legacy__read", "arguments": {"path": "sk-test"}}
            )
    spans = list(exporter.get_finished_spans())
    found = next(span for span in spans if span.name == "search")
    call = next(span for span in spans if span.name == "execute_tool legacy__read")
    sent = json.loads(text_of(result))["_meta"]["traceparent"]

    def sent_by_client(name: str) -> list[tuple[str, str]]:
        """A modern client in this process calls the server without messages, and so without a span of its own."""
        return [("CLIENT", f"MCP send tools/call {name}")] if mode == "legacy" else []

    assert chain(spans, "search") == [
        ("INTERNAL", "agent"),
        *sent_by_client("search_tools"),
        ("SERVER", "tools/call search_tools"),
        ("INTERNAL", "search"),
    ]
    assert chain(spans, "MCP send tools/call read") == [
        ("INTERNAL", "agent"),
        *sent_by_client("call_read_tool"),
        ("SERVER", "tools/call call_read_tool"),
        ("INTERNAL", "execute_tool legacy__read"),
        ("CLIENT", "MCP send tools/call read"),
    ]
    to_server = next(span for span in spans if span.name == "MCP send tools/call read")
    assert to_server.context is not None
    assert sent.startswith(f"00-{to_server.context.trace_id:032x}-{to_server.context.span_id:016x}-")
    assert found.attributes == {"hikidashi.search.kind": "words", "hikidashi.search.found": 1}
    assert call.attributes == {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "legacy__read",
        "hikidashi.server.name": "legacy",
    }


async def test_a_tool_called_by_its_name_has_one_span_for_each_hop(
    tmp_path: Path, exporter: InMemorySpanExporter
) -> None:
    async with connected([program(tmp_path, "legacy", LEGACY)], "legacy") as (client, _):
        await client.call_tool("legacy__read", {})
    spans = list(exporter.get_finished_spans())
    request = next(span for span in spans if span.name == "tools/call legacy__read")

    assert chain(spans, "MCP send tools/call read") == [
        ("CLIENT", "MCP send tools/call legacy__read"),
        ("SERVER", "tools/call legacy__read"),
        ("CLIENT", "MCP send tools/call read"),
    ]
    assert request.attributes is not None
    assert dict(request.attributes) | {"jsonrpc.request.id": ""} == {
        "mcp.method.name": "tools/call",
        "mcp.protocol.version": "2025-11-25",
        "jsonrpc.request.id": "",
        "network.transport": "pipe",
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "legacy__read",
        "hikidashi.server.name": "legacy",
    }


@pytest.mark.parametrize("mode", MODES)
async def test_a_question_of_a_server_is_part_of_the_trace_of_its_call(
    mode: Mode, tmp_path: Path, exporter: InMemorySpanExporter
) -> None:
    async with connected([program(tmp_path, "legacy", LEGACY)], mode, elicitation_callback=choose_blue) as (client, _):
        await client.call_tool("legacy__ask", {})
    spans = list(exporter.get_finished_spans())
    if mode == "legacy":
        assert chain(spans, "MCP send elicitation/create")[:2] == [
            ("CLIENT", "MCP send tools/call legacy__ask"),
            ("SERVER", "tools/call legacy__ask"),
        ]
    else:
        assert sum(span.name == "tools/call legacy__ask" for span in spans) == 2
        assert sum(span.name == "MCP send tools/call ask" for span in spans) == 1


async def test_neither_arguments_nor_results_nor_messages_of_errors_are_in_a_span(
    tmp_path: Path, exporter: InMemorySpanExporter
) -> None:
    refusing = LEGACY.replace('text("word " * 50000)', 'text("secret result")').replace(
        "        os._exit(3)", '        send({"id": asked, "error": {"code": -32602, "message": "no " + str(params)}})'
    )
    async with connected([program(tmp_path, "legacy", refusing)], search="on") as (client, _):
        await client.call_tool("search_tools", {"query": "secret question"})
        await client.call_tool("call_tool", {"name": "legacy__long", "arguments": {"key": "secret argument"}})
        refused = await client.call_tool("call_tool", {"name": "legacy__die", "arguments": {"key": "secret argument"}})
        await client.call_tool("call_tool", {"name": "unknown", "arguments": {"key": "secret argument"}})
    spans = exporter.get_finished_spans()
    assert refused.is_error
    assert "secret" in text_of(refused)
    assert "secret" not in "".join(span.to_json() for span in spans)
    failed = [span for span in spans if span.name == "tools/call call_tool" and not span.status.is_ok]
    assert [dict(span.attributes or {})["error.type"] for span in failed] == ["tool_error", "tool_error"]


@pytest.mark.parametrize("header_only", [True, False])
async def test_trace_context_comes_from_meta_or_from_the_http_header(
    header_only: bool, tmp_path: Path, exporter: InMemorySpanExporter
) -> None:
    legacy = program(tmp_path, "legacy", LEGACY)
    async with Gateway([legacy], options=GatewayOptions(search="off")) as gateway:
        app = http_app(gateway)
        async with app.router.lifespan_context(app), httpx.AsyncClient(transport=httpx.ASGITransport(app)) as http:
            meta: dict[str, Any] = {} if header_only else {"traceparent": TRACEPARENT, "baggage": "user=1"}
            other = f"00-{'1' * 32}-b7ad6b7169203331-01"
            headers = {"traceparent": TRACEPARENT if header_only else other}
            sent = json.loads((await call_by_http(http, "legacy__read", meta, headers))["content"][0]["text"])["_meta"]
    request = next(span for span in exporter.get_finished_spans() if span.name == "tools/call legacy__read")
    assert request.parent is not None
    assert request.context is not None
    assert f"{request.context.trace_id:032x}" == TRACE
    assert f"{request.parent.span_id:016x}" == "b7ad6b7169203331"
    assert sent["traceparent"].startswith(f"00-{TRACE}-")
    assert sent["traceparent"] != TRACEPARENT
    assert sent.get("baggage") == (None if header_only else "user=1")


@pytest.mark.parametrize("broken", [1, "", "00-zz-b7ad6b7169203331-01", {"a": 1}, ["x"], None])
async def test_a_broken_trace_context_begins_a_new_trace(
    broken: object, tmp_path: Path, exporter: InMemorySpanExporter
) -> None:
    legacy = program(tmp_path, "legacy", LEGACY)
    async with Gateway([legacy], options=GatewayOptions(search="off")) as gateway:
        app = http_app(gateway)
        async with app.router.lifespan_context(app), httpx.AsyncClient(transport=httpx.ASGITransport(app)) as http:
            meta = {"traceparent": broken, "tracestate": "stale=1"}
            sent = json.loads((await call_by_http(http, "legacy__read", meta, {}))["content"][0]["text"])["_meta"]
    request = next(span for span in exporter.get_finished_spans() if span.name == "tools/call legacy__read")
    assert request.parent is None
    assert request.context is not None
    assert f"{request.context.trace_id:032x}" in sent["traceparent"]
    assert "tracestate" not in sent


async def call_by_http(
    http: httpx.AsyncClient, name: str, meta: dict[str, Any], headers: dict[str, str]
) -> dict[str, Any]:
    """The result of a call by a client of 2026-07-28 that was written by hand."""
    stamped = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
        **meta,
    }
    body = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": name, "arguments": {}, "_meta": stamped},
    }
    answer = await http.post(
        "http://127.0.0.1/mcp",
        json=body,
        headers={
            "Accept": "application/json, text/event-stream",
            "MCP-Protocol-Version": "2026-07-28",
            "Mcp-Method": "tools/call",
            "Mcp-Name": name,
            **headers,
        },
    )
    text = answer.text
    data = next((line[5:] for line in text.splitlines() if line.startswith("data:")), text)
    return json.loads(data)["result"]


async def test_a_server_gets_the_trace_context_as_an_http_header_too(
    tmp_path: Path, exporter: InMemorySpanExporter
) -> None:
    async with headers_server(tmp_path) as server, connected([server]) as (client, _):
        result = json.loads(text_of(await client.call_tool("modern__where", {"region": "eu-1"})))
    sent = next(span for span in exporter.get_finished_spans() if span.name == "MCP send tools/call where")
    assert sent.context is not None
    assert result["traceparent"].startswith(f"00-{sent.context.trace_id:032x}-{sent.context.span_id:016x}-")


# Processes: the real command, a collector that speaks OTLP over HTTP, a server with a provider of its own


@contextmanager
def collector() -> Generator[tuple[str, Callable[[], list[tuple[str, Span]]]]]:
    """The endpoint of a collector, and the spans it has got, each with the name of its service."""
    received: list[ExportTraceServiceRequest] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if self.headers.get("Content-Encoding") == "gzip":
                import gzip

                body = gzip.decompress(body)
            received.append(ExportTraceServiceRequest.FromString(body))
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - as the base class has it
            pass

    def spans() -> list[tuple[str, Span]]:
        return [
            (next(a.value.string_value for a in one.resource.attributes if a.key == "service.name"), span)
            for request in received
            for one in request.resource_spans
            for scope in one.scope_spans
            for span in scope.spans
        ]

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}", spans
        server.shutdown()


TRACED_SERVER = (
    """
import os
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor

provider = TracerProvider(resource=Resource.create({"service.name": "server"}))
provider.add_span_processor(SimpleSpanProcessor(OTLPSpanExporter(os.environ["ENDPOINT"] + "/v1/traces")))
trace.set_tracer_provider(provider)
"""
    + MODERN
)


def environment(folder: Path, **more: str) -> dict[str, str]:
    homes = {"HOME": str(folder), "XDG_STATE_HOME": str(folder / "state"), "XDG_RUNTIME_DIR": str(folder)}
    kept = {key: value for key, value in os.environ.items() if not key.startswith("OTEL_")}
    return {**kept, **homes, "NO_PROXY": "127.0.0.1", **more}


def config_of(folder: Path, server: McpServer, **env: str) -> str:
    path = folder / "mcp.json"
    entry = {"command": server.command, "args": list(server.args), "env": env}
    path.write_text(json.dumps({"mcpServers": {server.name: entry}}))
    return str(path)


@asynccontextmanager
async def served(transport: str, config: str, env: dict[str, str]) -> AsyncGenerator[Any]:
    """What a client connects to."""
    arguments = ["serve", "--config", config, "--yes", "--search", "on"]
    if transport == "daemon":
        yield StdioServerParameters(command=HIKIDASHI, args=arguments, env=env)
        await anyio.run_process([HIKIDASHI, "serve", "stop"], env=env)
        return
    if transport == "stdio":
        yield StdioServerParameters(command=HIKIDASHI, args=[*arguments, "--no-daemon"], env=env)
        return
    port = free_port()
    process = await anyio.open_process([HIKIDASHI, *arguments, "--http", str(port)], env=env)
    try:
        assert process.stderr is not None
        await process.stderr.receive()
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        process.terminate()
        await process.wait()


@pytest.mark.parametrize("transport", ["daemon", "stdio", "http"])
async def test_the_process_exports_to_the_collector_that_the_environment_names(
    transport: str, tmp_path: Path, exporter: InMemorySpanExporter
) -> None:
    server = program(tmp_path, "modern", TRACED_SERVER)
    with collector() as (endpoint, spans):
        env = environment(tmp_path, OTEL_EXPORTER_OTLP_ENDPOINT=endpoint, OTEL_BSP_SCHEDULE_DELAY="600000")
        config = config_of(tmp_path, server, ENDPOINT=endpoint)
        async with served(transport, config, env) as where:
            target = where if isinstance(where, str) else _stdio(where)
            async with Client(target) as client:
                await client.call_tool("search_tools", {"query": "add two numbers"})
                await client.call_tool("call_tool", {"name": "modern__add", "arguments": {"a": 1, "b": 2}})
        with anyio.fail_after(20):
            while not {"tools/call add", "execute_tool modern__add", "search"} <= {span.name for _, span in spans()}:
                await anyio.sleep(0.02)
        got = spans()
    own = next(
        span for span in exporter.get_finished_spans() if span.name == "MCP send tools/call call_tool" and span.context
    )
    assert own.context is not None
    parents = {span.span_id.hex(): (service, span) for service, span in got}
    service, at = next((service, span) for service, span in got if span.name == "tools/call add")
    path = [(service, at.name)]
    while (parent := parents.get(at.parent_span_id.hex())) is not None:
        service, at = parent
        path.insert(0, (service, at.name))
    assert path == [
        ("hikidashi", "tools/call call_tool"),
        ("hikidashi", "execute_tool modern__add"),
        ("hikidashi", "MCP send tools/call add"),
        ("server", "tools/call add"),
    ]
    assert (at.parent_span_id.hex(), at.trace_id.hex()) == (
        f"{own.context.span_id:016x}",
        f"{own.context.trace_id:032x}",
    )


def _stdio(parameters: StdioServerParameters) -> Any:
    from mcp.client.stdio import stdio_client

    return stdio_client(parameters)


NO_PROVIDER = """
import asyncio, json, sys
import httpx
from tests.gateway.servers import LEGACY, program
from tests.gateway.test_telemetry import TRACEPARENT, call_by_http
from hikidashi.gateway import Gateway, GatewayOptions
from hikidashi.gateway.telemetry import is_tracing
from hikidashi.gateway.http_server import http_app
from pathlib import Path

async def main():
    legacy = program(Path(sys.argv[1]), "legacy", LEGACY)
    async with Gateway([legacy], options=GatewayOptions(search="off")) as gateway:
        app = http_app(gateway)
        async with app.router.lifespan_context(app), httpx.AsyncClient(transport=httpx.ASGITransport(app)) as http:
            meta = {"traceparent": TRACEPARENT, "tracestate": "a=1", "baggage": "user=1;kept"}
            for given, headers in (meta, {}), ({}, {"traceparent": TRACEPARENT}), ({}, {}):
                result = await call_by_http(http, "legacy__read", given, headers)
                print(json.dumps(json.loads(result["content"][0]["text"])["_meta"]))
    print(is_tracing())

asyncio.run(main())
"""


def test_without_a_provider_trace_context_passes_unchanged(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", NO_PROVIDER, str(tmp_path)],
        env=environment(tmp_path, PYTHONPATH=str(Path(__file__).parent.parent.parent)),
        capture_output=True,
        text=True,
        check=True,
    )
    meta, header, neither, tracing = done.stdout.splitlines()
    keys = {"traceparent", "tracestate", "baggage"}
    assert {key: value for key, value in json.loads(meta).items() if key in keys} == {
        "traceparent": TRACEPARENT,
        "tracestate": "a=1",
        "baggage": "user=1;kept",
    }
    assert json.loads(header)["traceparent"] == TRACEPARENT
    assert not keys & set(json.loads(neither))
    assert tracing == "False"


CONFIGURED = """
import logging
logging.basicConfig(format="%(message)s")
from hikidashi.gateway.telemetry import configure_tracing
print(configure_tracing())
"""


@pytest.mark.parametrize(
    ("variables", "configured", "warning"),
    [
        ({}, "False", ""),
        ({"OTEL_TRACES_EXPORTER": "none", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9"}, "False", ""),
        ({"OTEL_SDK_DISABLED": "true", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9"}, "False", ""),
        ({"OTEL_TRACES_EXPORTER": "console"}, "True", ""),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9"}, "True", ""),
        (
            {"OTEL_TRACES_EXPORTER": "nothing-such"},
            "False",
            "No traces are exported: the exporter 'nothing-such' is not installed. Install its package.",
        ),
    ],
)
def test_exporters_are_configured_only_by_the_standard_variables(
    variables: dict[str, str], configured: str, warning: str, tmp_path: Path
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", CONFIGURED],
        env=environment(tmp_path, **variables),
        capture_output=True,
        text=True,
        check=True,
    )
    assert (done.stdout.strip(), done.stderr.strip()) == (configured, warning)


def test_variables_without_the_extra_are_a_warning_and_no_obstacle(tmp_path: Path) -> None:
    blocked = "import sys\nsys.modules['opentelemetry.sdk'] = None\n" + CONFIGURED
    done = subprocess.run(
        [sys.executable, "-c", blocked],
        env=environment(tmp_path, OTEL_EXPORTER_OTLP_ENDPOINT="http://127.0.0.1:9"),
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == "False"
    assert "Run: pip install 'hikidashi[otel]'" in done.stderr
