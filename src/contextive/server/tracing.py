"""Exports the OpenTelemetry spans of the MCP SDK as configured; off by default."""

from __future__ import annotations

import sys
from collections.abc import Callable

from contextive.config import Tracing
from contextive.errors import ConfigError


def enable_tracing(settings: Tracing) -> Callable[[], None]:
    """Start exporting spans, if enabled. Returns a function that flushes and stops it."""
    if not settings.enabled:
        return lambda: None
    try:
        from opentelemetry import trace
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor, ConsoleSpanExporter
        from opentelemetry.sdk.trace.sampling import TraceIdRatioBased

        if settings.endpoint is not None:
            from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    except ImportError:
        raise ConfigError(
            "server.tracing.enabled needs OpenTelemetry, which is not installed.", hint="Install contextive-mcp[otel]."
        ) from None
    provider = TracerProvider(
        resource=Resource.create({"service.name": settings.service_name}),
        sampler=TraceIdRatioBased(settings.sample_ratio),
    )
    if settings.endpoint is not None:
        provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint=settings.endpoint)))
    if settings.console_export:
        provider.add_span_processor(BatchSpanProcessor(ConsoleSpanExporter(out=sys.stderr)))
    trace.set_tracer_provider(provider)
    shutdown: Callable[[], None] = provider.shutdown
    return shutdown
