"""Annotations for GitHub: one line each; no text can end the line or start another command."""

from __future__ import annotations

import re

import pytest

from contextive.trace.citation import Location, Problem
from contextive.trace.level import Level
from contextive.trace.reports.github import annotation, write_github

from .samples import HIDDEN, HOSTILE, Sample, ordinary

_COMMAND = re.compile(r"::(error|warning|notice)(?: ((?:[a-z]+=[^,:\r\n]*)(?:,[a-z]+=[^,:\r\n]*)*))?::([^\r\n]*)")


def parse_command(line: str) -> tuple[str, dict[str, str], str]:
    """A command parsed as the runner does it: severity, properties and message."""
    found = _COMMAND.fullmatch(line)
    assert found, line
    properties = dict(part.split("=", 1) for part in (found[2] or "").split(",") if part)
    return found[1], {name: _unescape(value) for name, value in properties.items()}, _unescape(found[3])


def _unescape(text: str) -> str:
    for code, character in (("%0D", "\r"), ("%0A", "\n"), ("%3A", ":"), ("%2C", ","), ("%25", "%")):
        text = text.replace(code, character)
    return text


def test_an_annotation_has_the_form_of_a_workflow_command() -> None:
    assert (
        annotation("error", "It is gone.", Location("src/a.rs", 3, 5), "quote not found")
        == "::error file=src/a.rs,line=3,col=5,title=quote not found::It is gone."
    )


def test_an_annotation_without_location_and_title_has_no_properties() -> None:
    assert annotation("notice", "Hello") == "::notice::Hello"


def test_colons_and_commas_are_escaped_in_properties_but_not_in_messages() -> None:
    line = annotation("warning", "100%, a: b\r\nnext", Location("a,b:c%.rs", 1), "x:y,z")
    assert line == "::warning file=a%2Cb%3Ac%25.rs,line=1,col=1,title=x%3Ay%2Cz::100%25, a: b%0Anext"


@pytest.mark.parametrize("text", [*HOSTILE, HIDDEN, "%0A", "%250A", "::set-output name=x::y"])
def test_hostile_text_stays_one_command(text: str) -> None:
    line = annotation("error", text, Location(text, 1), text)
    line.encode("utf-8")
    assert len(line.splitlines()) == 1
    kind, properties, message = parse_command(line)
    assert kind == "error"
    assert set(properties) == {"file", "line", "col", "title"}
    if text.isprintable():
        assert message == properties["file"] == properties["title"] == text


def test_an_unknown_line_is_left_out() -> None:
    assert annotation("error", "m", Location("a.rs", 0)) == "::error file=a.rs::m"


def test_problems_are_errors_and_warnings_are_warnings() -> None:
    problem = Problem("quote_not_found", "It is gone.", Location("a.rs", 2, 5), help="Copy it anew.")
    lines = write_github([problem], [problem]).splitlines()
    assert [parse_command(line)[0] for line in lines] == ["error", "warning"]
    assert parse_command(lines[0])[2] == "It is gone.\nCopy it anew."
    assert parse_command(lines[0])[1]["title"] == "quote not found"


def test_open_musts_point_into_the_specification() -> None:
    lines = write_github(reports=ordinary().analysis.reports.values()).splitlines()
    found = [parse_command(line) for line in lines]
    assert [(kind, properties["file"], properties["line"]) for kind, properties, _ in found] == [
        ("notice", "spec.md", "6"),
        ("warning", "spec.md", "9"),
        ("warning", "spec.md", "10"),
    ]
    assert "has no test" in found[0][2]


def test_lower_levels_are_reported_if_requested() -> None:
    reports = ordinary().analysis.reports.values()
    assert len(write_github(reports=reports, min_level=Level.MAY).splitlines()) == 4


def test_a_finding_in_a_specification_from_the_web_points_to_its_stored_copy() -> None:
    url = "https://www.rfc-editor.org/rfc/rfc9999"
    sample = Sample({url: "1. Title\n\n   It MUST work.\n"}, {})
    problem = Problem("duplicate_section", "Twice.", Location(url, 7))
    lines = write_github([problem], reports=sample.analysis.reports.values()).splitlines()
    files = {parse_command(line)[1]["file"] for line in lines}
    assert files == {".duvet/specifications/www.rfc-editor.org/rfc/rfc9999.txt"}


def test_a_project_without_findings_has_an_empty_report() -> None:
    assert write_github() == ""
