"""The SARIF 2.1.0 report is valid, with stable rules and with locations that a code scanner finds in the repository."""

from __future__ import annotations

import json
import re
from typing import Any
from urllib.parse import unquote

import pytest

from contextive.trace.citation import Location, Problem
from contextive.trace.level import Level
from contextive.trace.reports.sarif import write_sarif

from .samples import HIDDEN, HOSTILE, Sample, hostile, ordinary

_URI = re.compile(r"(?:[A-Za-z][A-Za-z0-9+.-]*:)?(?:[A-Za-z0-9._~:/?#\[\]@!$&'()*+,;=-]|%[0-9A-Fa-f]{2})*")
_LEVELS = {"none", "note", "warning", "error"}

_TEXT = {"text": str}
_RULE = {"id": str, "shortDescription": _TEXT, "fullDescription": _TEXT, "defaultConfiguration": {"level": str}}
_ARTIFACT = {"uri": str, "uriBaseId?": str}
_REGION = {"startLine": int, "startColumn?": int, "endLine?": int, "endColumn?": int}
_LOCATION = {"physicalLocation": {"artifactLocation": _ARTIFACT, "region?": _REGION}}
_RESULT = {
    "ruleId": str,
    "ruleIndex": int,
    "level": str,
    "message": _TEXT,
    "locations": [_LOCATION],
    "partialFingerprints?": dict,
}
_RUN = {
    "tool": {"driver": {"name": str, "version": str, "rules": [_RULE]}},
    "columnKind": str,
    "originalUriBaseIds": {"SRCROOT": {"description": _TEXT}},
    "results": [_RESULT],
}
_LOG = {"$schema": str, "version": str, "runs": [_RUN]}


def check_shape(value: object, shape: object, path: str = "log") -> None:
    """Check that a value has every required field and no unknown ones."""
    match shape:
        case type():
            assert type(value) is shape, path
        case [item]:
            assert isinstance(value, list), path
            for index, element in enumerate(value):
                check_shape(element, item, f"{path}[{index}]")
        case dict():
            assert isinstance(value, dict), path
            required = {name for name in shape if not name.endswith("?")}
            known = {name.rstrip("?"): inner for name, inner in shape.items()}
            assert required <= value.keys() <= known.keys(), f"{path}: {sorted(value)}"
            for name, element in value.items():
                check_shape(element, known[name], f"{path}.{name}")
        case _:
            raise AssertionError(shape)


def run_of(text: str) -> dict[str, Any]:
    """Check a log and return its only run."""
    log = json.loads(text)
    check_shape(log, _LOG)
    assert log["version"] == "2.1.0"
    [run] = log["runs"]
    assert run["columnKind"] in ("utf16CodeUnits", "unicodeCodePoints")
    rules = run["tool"]["driver"]["rules"]
    assert len({rule["id"] for rule in rules}) == len(rules)
    for rule in rules:
        assert rule["defaultConfiguration"]["level"] in _LEVELS
        assert rule["shortDescription"]["text"]
    for result in run["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
        assert result["level"] in _LEVELS
        assert result["message"]["text"]
        for location in result["locations"]:
            artifact = location["physicalLocation"]["artifactLocation"]
            assert _URI.fullmatch(artifact["uri"]), artifact
            assert (":" in artifact["uri"].split("/")[0]) != ("uriBaseId" in artifact)
            assert all(number >= 1 for number in location["physicalLocation"].get("region", {}).values())
    assert isinstance(run, dict)
    return run


def test_a_project_without_findings_is_a_valid_log() -> None:
    assert run_of(write_sarif())["results"] == []


def test_an_invalid_citation_is_an_error_with_its_location() -> None:
    problem = Problem("quote_not_found", "It is gone.", Location("src/a.rs", 3, 5), help="Copy it again.")
    run = run_of(write_sarif([problem]))
    [result] = run["results"]
    assert (result["ruleId"], result["level"]) == ("quote_not_found", "error")
    assert result["message"]["text"] == "It is gone.\nCopy it again."
    physical = result["locations"][0]["physicalLocation"]
    assert physical["artifactLocation"] == {"uri": "src/a.rs", "uriBaseId": "SRCROOT"}
    assert physical["region"] == {"startLine": 3, "startColumn": 5}
    [rule] = run["tool"]["driver"]["rules"]
    assert rule["shortDescription"]["text"] == "The quoted text is not in the cited section."


def test_a_warning_is_a_warning_and_an_unknown_code_has_a_description() -> None:
    run = run_of(write_sarif(warnings=[Problem("some_new_code", "m", Location("a", 1))]))
    assert run["results"][0]["level"] == "warning"
    assert run["tool"]["driver"]["rules"][0]["shortDescription"]["text"] == "Some new code."


def test_open_musts_are_reported_at_their_location() -> None:
    sample = ordinary()
    run = run_of(write_sarif(reports=sample.analysis.reports.values()))
    found = [(r["ruleId"], r["level"], r["locations"][0]["physicalLocation"]["region"]) for r in run["results"]]
    assert found == [
        ("requirement_untested", "note", {"startLine": 6, "startColumn": 1}),
        ("requirement_partial", "warning", {"startLine": 9, "startColumn": 1}),
        ("requirement_not_started", "warning", {"startLine": 10, "startColumn": 1}),
    ]
    open_musts = [r for r in sample.requirements if r.level is Level.MUST and not r.status.is_done]
    assert [r["partialFingerprints"]["requirement/v1"] for r in run["results"]] == [r.identifier for r in open_musts]


def test_a_requirement_on_several_lines_has_an_end_line() -> None:
    sample = Sample({"s.md": "# T\n\n## S\n\nIt MUST\nwork\nwell.\n"}, {})
    [result] = run_of(write_sarif(reports=sample.analysis.reports.values()))["results"]
    assert result["locations"][0]["physicalLocation"]["region"] == {"startLine": 5, "startColumn": 1, "endLine": 7}


def test_columns_are_counted_in_utf_16_code_units() -> None:
    line = "é😀 //= specs/s.md#x"
    problem = Problem("quote_not_found", "It is gone.", Location("src/a.rs", 3, len("é😀 ".encode()) + 1))
    log = run_of(write_sarif([problem], lines={problem.location: line}))
    assert log["columnKind"] == "utf16CodeUnits"
    region = log["results"][0]["locations"][0]["physicalLocation"]["region"]
    assert region == {"startLine": 3, "startColumn": 5}
    sample = Sample({"s.md": "# T\n\n## S\n\n😀 Fine. It MUST work.\n"}, {})
    [result] = run_of(write_sarif(reports=sample.analysis.reports.values()))["results"]
    assert result["locations"][0]["physicalLocation"]["region"] == {"startLine": 5, "startColumn": 10}


def test_lower_levels_are_reported_if_requested() -> None:
    run = run_of(write_sarif(reports=ordinary().analysis.reports.values(), min_level=Level.MAY))
    assert "requirement_todo" in {result["ruleId"] for result in run["results"]}


def test_findings_of_one_kind_share_a_rule() -> None:
    problems = [Problem("quote_not_found", str(n), Location("a.rs", n)) for n in range(1, 4)]
    run = run_of(write_sarif(problems))
    assert len(run["results"]) == 3
    assert len(run["tool"]["driver"]["rules"]) == 1


@pytest.mark.parametrize(
    "path", ["a b.rs", "a#b?c.rs", "c:/x.rs", "ä/ü.rs", "<evil>\u202e.rs", "100%.rs", "a\\b.rs", "\udcff"]
)
def test_paths_are_percent_encoded(path: str) -> None:
    [result] = run_of(write_sarif([Problem("x", "m", Location(path, 1))]))["results"]
    uri = result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert unquote(uri, errors="surrogateescape") == path


def test_a_location_without_a_line_or_a_path_is_left_out() -> None:
    problems = [Problem("x", "m", Location("a.rs", 0)), Problem("x", "m", Location("", 0))]
    first, second = run_of(write_sarif(problems))["results"]
    assert "region" not in first["locations"][0]["physicalLocation"]
    assert second["locations"] == []


@pytest.mark.parametrize("text", [*HOSTILE, HIDDEN])
def test_hostile_text_is_kept_as_text_and_invisible_characters_are_spelled_out(text: str) -> None:
    written = write_sarif([Problem(text, text, Location(text, 1), help=text)])
    assert written.isascii()
    [result] = run_of(written)["results"]
    assert not set(result["message"]["text"]) & set(HIDDEN)


def test_the_log_of_a_hostile_project_is_valid() -> None:
    sample = hostile()
    run = run_of(write_sarif(sample.problems, reports=sample.analysis.reports.values()))
    assert len(run["results"]) > len(HOSTILE) // 2


def test_the_report_of_a_project_is_reproducible() -> None:
    first, second = ordinary(), ordinary()
    assert write_sarif(reports=first.analysis.reports.values()) == write_sarif(reports=second.analysis.reports.values())
