"""Spans of requests, searches and calls, and the trace context of clients and servers.

The `mcp` package makes the spans of requests to servers and puts their context into `_meta`. The spans made here follow
the semantic conventions for MCP and generative AI. Without a tracer provider a request costs two lookups.
"""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
from collections.abc import Generator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from importlib.metadata import entry_points
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from mcp import MCPError
from mcp.server import ServerRequestContext
from mcp.server.context import CallNext, HandlerResult
from mcp_types import CallToolResult
from opentelemetry import trace
from opentelemetry.context import Context, attach, detach
from opentelemetry.propagate import extract, inject
from opentelemetry.trace import Span, SpanKind, StatusCode

from .. import __version__
from ..errors import MissingExtra

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider

logger = logging.getLogger("hikidashi.gateway")

_ENDPOINTS = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
_PROTOCOLS = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
_FLUSH_SECONDS = 2.0


def configure_tracing() -> bool:
    """Export spans as `OTEL_TRACES_EXPORTER` or an `OTEL_EXPORTER_OTLP_*ENDPOINT` says; False if none is set.

    A missing package or an invalid setting is logged: the variables may be meant for other programs, so they do not
    keep the gateway from starting.
    """
    wanted = _exporters_wanted()
    if not wanted:
        return False
    if find_spec("opentelemetry") is None or find_spec("opentelemetry.sdk") is None:
        logger.warning("No traces are exported: %s", MissingExtra("opentelemetry-sdk", "otel"))
        return False
    from opentelemetry import trace
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    exporters = [exporter for name in wanted if (exporter := _exporter(name)) is not None]
    if not exporters:
        return False
    named = "OTEL_SERVICE_NAME" in os.environ or "service.name=" in os.environ.get("OTEL_RESOURCE_ATTRIBUTES", "")
    attributes = {"service.version": __version__} | ({} if named else {"service.name": "hikidashi"})
    provider = TracerProvider(resource=Resource.create(attributes))
    for exporter in exporters:
        provider.add_span_processor(BatchSpanProcessor(exporter))
    trace.set_tracer_provider(provider)
    _flush_on_termination(provider)
    return True


def _exporters_wanted() -> list[str]:
    if os.environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return []
    default = "otlp" if any(os.environ.get(name) for name in _ENDPOINTS) else ""
    given = os.environ.get("OTEL_TRACES_EXPORTER", "").strip() or default
    return [name for part in given.split(",") if (name := part.strip()) and name != "none"]


def _exporter(name: str) -> Any:
    """The exporter that the entry point `name` makes; None, and a warning, if that fails."""
    if name == "console":
        from opentelemetry.sdk.trace.export import ConsoleSpanExporter

        return ConsoleSpanExporter(out=sys.stderr)  # standard output belongs to the protocol
    if name == "otlp":
        protocol = next(filter(None, map(os.environ.get, _PROTOCOLS)), "http/protobuf")
        name = "otlp_proto_grpc" if protocol == "grpc" else "otlp_proto_http"
    found = next(iter(entry_points(group="opentelemetry_traces_exporter", name=name)), None)
    if found is None:
        remedy = "Run: pip install 'hikidashi[otel]'" if name == "otlp_proto_http" else "Install its package."
        logger.warning("No traces are exported: the exporter %r is not installed. %s", name, remedy)
        return None
    try:
        return found.load()()
    except Exception as error:  # its message may have the headers of the exporter, and so a key
        logger.warning("No traces are exported: the exporter %r fails with %s.", name, type(error).__name__)
        return None


def _flush_on_termination(provider: TracerProvider) -> None:
    """Export what is left on SIGTERM too: the provider does so only at a normal exit."""
    if threading.current_thread() is not threading.main_thread() or signal.getsignal(signal.SIGTERM) != signal.SIG_DFL:
        return

    def flush(number: int, _: object) -> None:
        # In a thread, since a collector that does not answer must not keep the process from ending.
        flushing = threading.Thread(target=provider.force_flush, daemon=True)
        flushing.start()
        flushing.join(_FLUSH_SECONDS)
        signal.signal(number, signal.SIG_DFL)
        signal.raise_signal(number)

    signal.signal(signal.SIGTERM, flush)


_TRACEPARENT = "traceparent"
_LONGEST_NAME = 128
_tracer = trace.get_tracer("hikidashi.gateway", __version__)
_NO_SPAN: AbstractContextManager[Span] = nullcontext(trace.INVALID_SPAN)


def is_tracing() -> bool:
    """Whether a tracer provider is configured."""
    return not isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider)


def has_trace() -> bool:
    """Whether there is a current trace, whose context the `mcp` package puts into each request to a server."""
    return trace.get_current_span().get_span_context().is_valid


class RequestSpans:
    """Middleware that makes the span of each message of a client, as a child of the client's own span.

    It replaces that of the `mcp` package, which puts the messages of errors into the span's status.
    """

    async def __call__(self, ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
        """Handle the message within its trace."""
        if not is_tracing():
            # `_meta` is forwarded as it is; a header becomes `_meta` when the request is sent to a server.
            parent = None if _context_in(ctx.meta) is not None else _context_in_headers(ctx)
            if parent is None:
                return await call_next(ctx)
            with within_trace(parent):
                return await call_next(ctx)
        with within_trace(_context_in(ctx.meta) or _context_in_headers(ctx)):
            name, attributes = _described(ctx)
            with _span(name, SpanKind.SERVER, attributes) as span:
                result = await call_next(ctx)
                match result:
                    case CallToolResult(is_error=True) | {"isError": True}:
                        _set_error(span, "tool_error")
                    case _:
                        pass
                return result


def search_span() -> AbstractContextManager[Span]:
    """The span of one search in the catalogue."""
    return _span("search", SpanKind.INTERNAL, {}) if trace.get_current_span().is_recording() else _NO_SPAN


def call_span(tool: str, server: str) -> AbstractContextManager[Span]:
    """The span of one call through `call_tool` or `call_read_tool`, whose own span does not name the tool."""
    if not trace.get_current_span().is_recording():
        return _NO_SPAN
    attributes = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": tool, "hikidashi.server.name": server}
    return _span(f"execute_tool {tool}", SpanKind.INTERNAL, attributes)


def describe_call(server: str) -> AbstractContextManager[Span]:
    """No span of its own for a call by the tool's name: the server is added to the span of the request."""
    trace.get_current_span().set_attribute("hikidashi.server.name", server)
    return _NO_SPAN


@contextmanager
def within_trace(context: Context | None) -> Generator[None]:
    """Make spans in this block children of `context`; None keeps the current one."""
    if context is None:
        yield
        return
    token = attach(context)
    try:
        yield
    finally:
        detach(token)


async def inject_headers(request: Any) -> None:
    """Hook of an HTTP client: adds the headers `traceparent`, `tracestate` and `baggage` of the current trace."""
    if has_trace():
        inject(request.headers)


@contextmanager
def _span(name: str, kind: SpanKind, attributes: dict[str, str]) -> Generator[Span]:
    """A span whose status never has the message of an exception."""
    with _tracer.start_as_current_span(
        name, kind=kind, attributes=attributes, record_exception=False, set_status_on_exception=False
    ) as span:
        try:
            yield span
        except MCPError as error:
            code = str(error.error.code)
            span.set_attribute("rpc.response.status_code", code)
            _set_error(span, code)
            raise
        except BaseException as error:
            _set_error(span, type(error).__qualname__)
            raise


def _set_error(span: Span, kind: str) -> None:
    span.set_attribute("error.type", kind)
    span.set_status(StatusCode.ERROR)


def _described(ctx: ServerRequestContext[Any, Any]) -> tuple[str, dict[str, str]]:
    """Name and attributes of the span of a client's message."""
    attributes = {"mcp.method.name": ctx.method, "mcp.protocol.version": ctx.protocol_version}
    if ctx.request_id is not None:
        attributes["jsonrpc.request.id"] = str(ctx.request_id)
    if ctx.request is None:
        attributes["network.transport"] = "pipe"
    else:
        attributes |= {"network.transport": "tcp", "network.protocol.name": "http"}
    name: object = (ctx.params or {}).get("name")
    if not isinstance(name, str) or ctx.method not in {"tools/call", "prompts/get"}:
        return ctx.method, attributes
    target = name[:_LONGEST_NAME]
    if ctx.method == "tools/call":
        attributes |= {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": target}
    else:
        attributes["gen_ai.prompt.name"] = target
    return f"{ctx.method} {target}", attributes


def _context_in_headers(ctx: ServerRequestContext[Any, Any]) -> Context | None:
    # Where the application is instrumented, its current span is already a child of the header's.
    return None if ctx.request is None or has_trace() else _context_in(ctx.request.headers)


def _context_in(carrier: Any) -> Context | None:
    """The trace context in `_meta` or headers; None without a valid `traceparent`."""
    if not carrier or _TRACEPARENT not in carrier:
        return None
    try:
        context = extract(carrier)
    except (TypeError, ValueError):  # values that are not text
        return None
    return context if trace.get_current_span(context).get_span_context().is_valid else None
