"""Specifications of Kiro, spec-kit and OpenSpec in the graph, in notes, in orient, the prompts, init and the doctor."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from contextive.ingest.notes_service import NotesService
from contextive.ingest.trace_service import TraceService
from contextive.knowledge.graph import Edge
from contextive.knowledge.note_layer import notes_layer
from contextive.knowledge.trace_layer import trace_layer
from contextive.ops.doctor_project import diagnose_project
from contextive.ops.survey import survey
from contextive.registry.content import Text
from contextive.trace.formats.values import SpecFormat
from tests.packs.spec_project import SpecHost, spec_project
from tests.workspace.repositories import commit, init


@pytest.fixture
def spec_host(tmp_path: Path) -> SpecHost:
    return SpecHost(spec_project(tmp_path))


def identifier_of(host: SpecHost, handle: str) -> str:
    found: str = host.call("explain_requirement", req_identifier=handle)["identifier"]
    return found


def test_tasks_are_nodes_with_edges_to_their_requirements_and_files(spec_host: SpecHost) -> None:
    view = spec_host.host.services.get(TraceService).view()
    layer = trace_layer(view.catalog, {"src/login.py": "SourceFile:src/login.py"}, {}, view.state.formats)
    requirement = f"Requirement:{identifier_of(spec_host, 'kiro:user-auth/1.1')}"
    task = "Task:kiro:user-auth#1"
    assert {node.id for node in layer.nodes} >= {task, requirement, "Specification:kiro:user-auth"}
    assert {edge for edge in layer.edges if edge.source == task} == {
        Edge(task, "IMPLEMENTS", requirement),
        Edge(task, "LINKS_TO", "SourceFile:src/login.py"),
        Edge(task, "PART_OF", "Specification:kiro:user-auth"),
    }
    assert Edge("SourceFile:src/login.py", "CITES", requirement) in layer.edges


@pytest.mark.parametrize("link", ["kiro:user-auth/1.1", "openspec:audit/Keep Entries", "openspec:audit/keep-entries"])
def test_a_note_links_to_a_requirement_by_its_handle(link: str, spec_host: SpecHost) -> None:
    spec_host.project.write("notes/why.md", f"# Why\n\nSee [[req:{link}|this]].\n")
    explained = spec_host.call("explain_requirement", req_identifier=link)
    assert [note["slug"] for note in explained["notes"]] == ["why"]
    catalog = spec_host.host.services.get(NotesService).view().catalog
    layer = notes_layer(catalog, handles={explained["handle"]: explained["identifier"]})
    assert layer.edges == (Edge("Note:why", "LINKS_TO", f"Requirement:{explained['identifier']}"),)


def test_the_prompts_name_the_handle(spec_host: SpecHost) -> None:
    dispatcher = spec_host.host.dispatcher
    context = spec_host.host.context(spec_host.host.owner, door="test", profile=spec_host.profile, request_id="r")
    _, messages = asyncio.run(
        dispatcher.render(spec_host.surface, "implement_requirement", {"req_identifier": "kiro:user-auth/1.2"}, context)
    )
    text = messages[0].content
    assert isinstance(text, Text)
    assert "explain_requirement kiro:user-auth/1.2" in text.text
    assert "kiro:user-auth/1.2\n" in text.text


def test_the_doctor_reports_the_formats_and_what_was_not_understood(spec_host: SpecHost) -> None:
    spec_host.project.write("openspec/specs/odd/spec.md", "# odd\n")
    (found,) = [
        d for d in diagnose_project(spec_host.project.root, spec_host.host.loaded) if d.subject == "requirements"
    ]
    assert "Found 1 of kiro, 2 of openspec, 1 of speckit, with 3 tasks; see contextive-mcp specs." in found.detail
    assert "openspec/specs/odd/spec.md:1: no `### Requirement:` below `## Requirements`" in found.detail


def test_init_reports_the_formats_and_does_not_configure_their_files(spec_host: SpecHost) -> None:
    found = survey(spec_host.project.root)
    assert dict(found.formats) == {"kiro": 1, "openspec": 1, "speckit": 1}
    assert not any("specs" in match.pattern for match in found.specifications)


##= docs/spec/trace.md#spec-driven-formats
##% A reference that can mean several specifications MUST be shown with all of them and count for none.
def test_the_commit_of_a_line_decides_which_specification_it_means(tmp_path: Path) -> None:
    project = spec_project(tmp_path)
    requirements = (tmp_path / ".kiro/specs/user-auth/requirements.md").read_text(encoding="utf-8")
    init(tmp_path)
    commit(tmp_path, {}, 1_700_000_000)
    billing = ".kiro/specs/billing/requirements.md"
    commit(tmp_path, {billing: requirements, "src/bill.py": "# Requirement 1.2\n"}, 1_700_000_100)
    project.write("src/later.py", "# Requirement 1.2\n")
    references = TraceService(tmp_path, formats=tuple(SpecFormat)).view().state.formats.references
    decided = {one.reference.path: one.owner for one in references.resolved if one.reference.key == "1.2"}
    assert decided == {"src/bill.py": "kiro:billing"}
    assert [one.reference.path for one in references.ambiguous] == ["src/later.py"]
