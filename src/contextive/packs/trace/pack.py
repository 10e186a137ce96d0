"""The pack itself, and what its tools share."""

from __future__ import annotations

from importlib import import_module

from contextive.ingest.trace_service import TraceService, TraceView
from contextive.registry import Context, Pack

pack = Pack(
    "trace",
    title="Requirements traceability",
    description="Specifications, requirements and the citations in code that implement and test them.",
)


def load_declarations() -> None:
    """Have each part of the pack declare what it offers, in the order in which it is listed."""
    for part in ("tools", "resources", "prompts"):
        import_module(f"contextive.packs.trace.{part}")


def view_of(ctx: Context) -> TraceView:
    """The project as its files are at this moment."""
    return ctx.service(TraceService).view()
