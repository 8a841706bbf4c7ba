"""A tracer provider for the process of `hikidashi serve`, from the standard `OTEL_*` variables."""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
from importlib.metadata import entry_points
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from ... import __version__
from ...errors import MissingExtra

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider

__all__ = ["configure_tracing"]

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
