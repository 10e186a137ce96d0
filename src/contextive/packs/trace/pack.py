"""The pack object, and helpers that its modules share."""

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
    """Import the modules of the pack in listing order; each one adds its declarations."""
    for part in ("tools", "resources", "prompts"):
        import_module(f"contextive.packs.trace.{part}")


def view_of(ctx: Context) -> TraceView:
    """The requirements and citations of the project, read from the current files."""
    return ctx.service(TraceService).view()
