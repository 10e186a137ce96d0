"""Small traced projects for tests, and their state as plain values."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from contextive.ingest import traced_project, traced_specifications
from contextive.ingest.trace_service import TraceService, TraceView
from contextive.trace import analysis

CONFIG = """\
'$schema' = "https://awslabs.github.io/duvet/config/v0.4.0.json"

[[source]]
pattern = "src/**/*.rs"

[[source]]
pattern = "tests/**/*.rs"
type = "test"

[[specification]]
source = "specs/coffee.md"

[[specification]]
source = "specs/tea.md"
"""
COFFEE = """\
# Coffee

## Brewing

The pot MUST brew coffee. The pot SHOULD keep it warm.

## Serving

A cup MAY hold milk.
"""
TEA = """\
# Tea

## Steeping

The pot MUST NOT boil tea.
"""
BREW = "The pot MUST brew coffee."
WARM = "The pot SHOULD keep it warm."
MILK = "A cup MAY hold milk."
BOIL = "The pot MUST NOT boil tea."


def cite(target: str, quote: str = "", *meta: str, style: tuple[str, str] = ("//=", "//#")) -> str:
    lines = [f"{style[0]} {target}", *(f"{style[0]} {field}" for field in meta)]
    return "\n".join([*lines, *([f"{style[1]} {quote}"] if quote else []), ""])


@dataclass(frozen=True)
class Project:
    """A directory with a project in it."""

    root: Path

    def write(self, path: str, text: str | bytes) -> None:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text if isinstance(text, bytes) else text.encode())

    def remove(self, path: str) -> None:
        (self.root / path).unlink()

    def service(self, **more: Any) -> TraceService:
        return TraceService(self.root, **more)


def configured(root: Path) -> Project:
    """Two specifications and two source files, each citing one of them."""
    project = Project(root)
    project.write(".duvet/config.toml", CONFIG)
    project.write("specs/coffee.md", COFFEE)
    project.write("specs/tea.md", TEA)
    project.write("src/coffee.rs", cite("specs/coffee.md#brewing", BREW) + "fn brew() {}\n")
    project.write("src/tea.rs", cite("specs/tea.md#steeping", BOIL) + "fn steep() {}\n")
    return project


def statuses(view: TraceView) -> dict[str, str]:
    return {requirement.text: requirement.status.value for requirement in view.catalog.requirements}


def citations_of(view: TraceView, text: str) -> list[str]:
    """The ids of the citations of a requirement."""
    return [citation.id for r in view.catalog.requirements if r.text == text for citation in r.related]


def view_to_dict(view: TraceView) -> dict[str, Any]:
    """Everything that a caller can see, as plain values."""
    catalog = view.catalog
    return {
        "specifications": {
            entry.id: (entry.target.path, entry.target.format.value, entry.name, len(entry.specification.sections))
            for entry in catalog.specifications.values()
        },
        "requirements": [
            (catalog.full_path(r), r.text, r.level.name, r.status.value, r.todo_count, [c.id for c in r.related])
            for r in catalog.requirements
        ],
        "citations": [(c.id, c.type.value, c.target, c.quote) for c in catalog.analysis.citations],
        "paths": [entry.path for entry in catalog.citations],
        "matched": [(m.number, m.citation.id, m.target.path, m.section.id, m.match) for m in catalog.analysis.matched],
        "invalid": [(number, problem.code) for number, problem in catalog.analysis.invalid.items()],
        "references": [
            (report.target.path, [(r.number, r.citation.id, r.start, r.end) for r in report.references])
            for report in catalog.analysis.reports.values()
        ],
        "uncited": [r.identifier for r in catalog.uncited],
        "problems": [(p.code, p.message, str(p.location)) for p in view.state.problems],
        "failed": sorted((t.path, why) for t, why in view.state.specification_problems.items()),
        "settings": view.state.settings,
    }


@dataclass
class Work:
    """The files parsed and the quotes matched since the last call of `since`."""

    sources: list[str] = field(default_factory=list)
    requirement_files: list[str] = field(default_factory=list)
    specifications: list[str] = field(default_factory=list)
    quotes: list[str] = field(default_factory=list)

    def since(self) -> Work:
        """Return the work so far and start again."""
        done = Work(self.sources[:], self.requirement_files[:], self.specifications[:], self.quotes[:])
        for entries in (self.sources, self.requirement_files, self.specifications, self.quotes):
            entries.clear()
        return done


def record_work(monkeypatch: pytest.MonkeyPatch) -> Work:
    """Record every parsed file and every matched quote."""
    work = Work()

    def record(module: Any, name: str, entries: list[str], position: int) -> None:
        original = getattr(module, name)

        def recorded(*arguments: Any) -> Any:
            entries.append(arguments[position])
            return original(*arguments)

        monkeypatch.setattr(module, name, recorded)

    record(traced_project, "parse_citations", work.sources, 1)
    record(traced_project, "parse_requirement_file", work.requirement_files, 1)
    record(traced_specifications, "parse_specification", work.specifications, 2)
    record(analysis, "match_quote", work.quotes, 0)
    return work
