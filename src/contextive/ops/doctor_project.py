"""Checks that the configured specifications and notes exist."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from contextive.config import LoadedConfig
from contextive.errors import ContextiveError
from contextive.workspace.files import ProjectFiles
from contextive.workspace.globs import Glob

if TYPE_CHECKING:
    from contextive.trace.spec_trace import SpecTrace

_MOST_UNREAD = 5


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """The result of one check."""

    subject: str
    ok: bool
    detail: str
    remedy: str = ""


def diagnose_project(project: Path, loaded: LoadedConfig) -> Iterator[Diagnosis]:
    """The checks of requirements and notes."""
    yield _requirements(project, loaded)
    yield _notes(project, loaded)


def _requirements(project: Path, loaded: LoadedConfig) -> Diagnosis:
    from contextive.ingest.trace_service import TraceService
    from contextive.trace.formats.values import SpecFormat

    trace = loaded.config.trace
    has_duvet = (project / ".duvet" / "config.toml").is_file()
    if not has_duvet and (empty := _unmatched_patterns(project, [p for p in trace.specifications if "://" not in p])):
        detail = f"No file matches {', '.join(empty)} in trace.specifications."
        return Diagnosis("requirements", False, detail, "Fix the pattern, or run contextive-mcp init --force.")
    service = TraceService(
        project,
        specifications=tuple(trace.specifications),
        sources=tuple(trace.sources),
        formats=tuple(map(SpecFormat, SpecFormat if trace.formats is None else trace.formats)),
    )
    try:
        view = service.view()
    except ContextiveError as error:
        return Diagnosis("requirements", False, error.message, error.hint or "Fix .duvet/config.toml.")
    count, specifications = len(view.catalog.requirements), len(view.catalog.specifications)
    if not specifications:
        detail = "There is no specification yet. To trace requirements, write one such as docs/spec/NAME.md."
        return Diagnosis("requirements", True, f"{detail} Search and notes work without one.")
    citations = sum(citation.type.value != "spec" for citation in view.state.analysis.citations)
    detail = f"{_count_text(count, 'requirement')} in {_count_text(specifications, 'specification')}"
    detail += f"; {_count_text(citations, 'citation')}."
    if view.state.formats.current:
        detail += f" {_formats_text(view.state.formats)}"
    absent = {
        citation.target_path
        for citation, problem in view.catalog.invalid
        if problem.code == "specification_not_found" and "://" in citation.target_path
    }
    if absent:
        predicate = "is not downloaded" if len(absent) == 1 else "are not downloaded"
        detail += f" {_count_text(len(absent), 'specification')} that code cites by URL {predicate}."
        remedy = "Run duvet report --fetch, which downloads the URLs in trace.specifications."
        return Diagnosis("requirements", False, detail, remedy)
    if broken := len(view.state.problems):
        detail += f" Invalid: {broken}; see duvet report."
    return Diagnosis("requirements", True, detail)


##= docs/spec/trace.md#spec-driven-formats
##% A line that a reader did not understand MUST be listed with its file, its number and the reason.
def _formats_text(formats: SpecTrace) -> str:
    """The specifications in spec-driven formats by format, and the lines that were not understood."""
    counts = Counter(specification.format.value for specification in formats.current)
    tasks = sum(len(specification.tasks) for specification in formats.current)
    named = ", ".join(f"{count} of {name}" for name, count in counts.items())
    unread = [line for specification in formats.current for line in specification.unread]
    lines = [f"Found {named}, with {_count_text(tasks, 'task')}; see contextive-mcp specs."]
    if unread:
        lines.append(f"{_count_text(len(unread), 'line')} not understood:")
        lines += [f"{line.path}:{line.line}: {line.reason}" for line in unread[:_MOST_UNREAD]]
    if len(unread) > _MOST_UNREAD:
        lines.append(f"and {len(unread) - _MOST_UNREAD} more; contextive-mcp specs lists all")
    return "\n".join(lines)


def _count_text(count: int, word: str) -> str:
    return f"{count} {word}{'' if count == 1 else 's'}"


def _notes(project: Path, loaded: LoadedConfig) -> Diagnosis:
    paths = list(loaded.config.notes.paths)
    is_set = "paths" in loaded.config.notes.model_fields_set
    if is_set and (empty := _unmatched_patterns(project, paths)):
        return Diagnosis("notes", False, f"No file matches {', '.join(empty)} in notes.paths.", "Fix the pattern.")
    files = ProjectFiles.bounded(project)
    count = len({path for pattern in paths for path in Glob(pattern).walk(str(project), files.allows)})
    if not count:
        detail = f"There are no notes yet. To add some, write Markdown files that match {', '.join(paths)}."
        return Diagnosis("notes", True, detail)
    return Diagnosis("notes", True, f"{_count_text(count, 'note')}.")


##= docs/spec/commands.md#doctor
##% The doctor MUST report configured patterns that match no file.
def _unmatched_patterns(project: Path, patterns: list[str]) -> list[str]:
    """The patterns that no file of the project matches."""
    files = ProjectFiles.bounded(project)
    return [
        pattern
        for pattern in patterns
        if next(iter(Glob(pattern, skip_generated=True).walk(str(project), files.allows)), None) is None
    ]


def diagnose_clients(project: Path) -> Diagnosis:
    """Which MCP clients start this server, as far as `install` knows their files."""
    from contextive.ops.clients import CLIENTS, UserEnvironment
    from contextive.ops.install import InstallRequest, plan_change

    user_env = UserEnvironment(sys.platform, Path.home(), os.environ)
    found: list[str] = []
    for client in CLIENTS.values():
        for scope in client.scopes:
            try:
                change = plan_change(InstallRequest(client, scope, project, remove=True), user_env)
            except ContextiveError:
                continue  # a file that cannot be read starts no server
            if change.is_needed:
                found.append(f"{client.title} ({scope})")
    if not found:
        return Diagnosis(
            "clients", True, "No client is configured yet; contextive-mcp install CLIENT adds this server."
        )
    approval = (
        " Claude Code asks for approval first: run claude in the project." if "Claude Code (project)" in found else ""
    )
    return Diagnosis("clients", True, f"Configured: {', '.join(found)}.{approval}")
