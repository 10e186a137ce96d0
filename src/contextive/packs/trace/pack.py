"""The pack itself, and what its tools share."""

from __future__ import annotations

from contextive.ingest.trace_service import TraceService, TraceView
from contextive.registry import Context, Pack

pack = Pack(
    "trace",
    title="Requirements traceability",
    description="Specifications, requirements and the citations in code that implement and test them.",
)


def view_of(ctx: Context) -> TraceView:
    """The project as its files are at this moment."""
    return ctx.service(TraceService).view()
