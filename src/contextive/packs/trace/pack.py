"""The pack object, and helpers that its modules share."""

from __future__ import annotations

from importlib import import_module
from typing import Final

from contextive.ingest.trace_service import TraceService, TraceView
from contextive.packs.trace.system_prompt import SYSTEM_PROMPT
from contextive.registry import Context, Pack

pack = Pack(
    "trace",
    title="Requirements traceability",
    description="Specifications, requirements and the citations in code that implement and test them.",
    default_tools=(
        "search_requirements",
        "explain_requirement",
        "next_requirement",
        "list_uncited_requirements",
        "validate_citation",
        "list_invalid_citations",
        "spec_status",
        "review_changes",
    ),
    needs="specifications",
    guide=SYSTEM_PROMPT,
)

LABELS: Final = ("requirements",)
_ORDER: Final = (
    "validate_citation",
    "search_requirements",
    "get_requirement_status",
    "list_uncited_requirements",
    "list_invalid_citations",
    "get_citation_context",
    "resolve_spec_id",
    "get_prioritized_requirements",
    "explain_requirement",
    "next_requirement",
    "get_section",
    "spec_status",
    "list_tasks",
    "complete_task",
    "review_changes",
)
"""The tools in listing order: those of the Duvet MCP specification as it lists them, then the others."""


def load_declarations() -> None:
    """Import the modules of the pack, each of which adds its declarations."""
    for part in (
        "citation_tools", "requirement_tools", "next_steps", "spec_tools", "task_tools", "review_tools", "resources",
        "prompts",
    ):  # fmt: skip
        import_module(f"contextive.packs.trace.{part}")
    pack.tools.sort(key=lambda tool: _ORDER.index(tool.name))


def service_of(ctx: Context) -> TraceService:
    """The requirements that the profile of a call shows."""
    return ctx.service(TraceService).for_profile(ctx.profile)


def view_of(ctx: Context) -> TraceView:
    """The requirements and citations of the project, read from the current files."""
    return service_of(ctx).view()
