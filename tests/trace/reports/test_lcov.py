from __future__ import annotations

import pytest

from contextive.trace.analysis import TargetReport
from contextive.trace.reports.lcov import write_lcov
from tests.trace.in_memory_trace import trace

SPEC = "# Doc\n\n## One\n\nFirst line,\nsecond line.\n\n## Two\n\nThird line.\n"


def target_report(code: str, spec: str = SPEC, target: str = "s.md") -> TargetReport:
    (report,) = trace({target: spec}, {"a.rs": code}).reports.values()
    return report


def test_sections_are_functions_and_lines_have_two_branches() -> None:
    report = target_report("//= s.md#one\n//# First line, second\n\n//= s.md#two\n//= type=test\n//# Third line.\n")
    assert write_lcov(report, download_dir="d").split("\n") == [
        "TN:Compliance",
        "SF:s.md",
        "FN:1,Doc",
        "FN:3,One",
        "FN:8,Two",
        "FNF:3",
        # The first line is implemented, and so is its section.
        "BRDA:5,0,0,1",
        "FNDA:1,One",
        "BRDA:3,0,0,1",
        "BRDA:5,1,0,0",
        "FNDA:0,One",
        "BRDA:3,1,0,0",
        # So is the second line; the section counts once.
        "BRDA:6,0,0,1",
        "FNDA:0,One",
        "BRDA:3,0,0,0",
        "BRDA:6,1,0,0",
        "FNDA:0,One",
        "BRDA:3,1,0,0",
        "BRDA:10,0,0,0",
        "FNDA:0,Two",
        "BRDA:8,0,0,0",
        "BRDA:10,1,0,1",
        "FNDA:1,Two",
        "BRDA:8,1,0,1",
        "DA:5,0",
        "DA:6,0",
        "DA:10,0",
        "DA:3,0",
        "DA:5,0",
        "DA:6,0",
        "DA:8,0",
        "DA:10,0",
        "end_of_record",
        "",
    ]


@pytest.mark.parametrize(
    ("citations", "tests", "kind", "complete"),
    [
        (True, True, "implementation", []),
        (True, True, "implication", ["DA:3,1", "DA:5,1"]),
        (True, True, "exception", ["DA:3,1", "DA:5,1"]),
        (True, False, "implementation", ["DA:3,1", "DA:5,1"]),
        (True, False, "test", []),
        (False, True, "test", ["DA:3,1", "DA:5,1"]),
        (False, False, "test", ["DA:3,1", "DA:5,1"]),
        (False, False, "todo", []),
    ],
)
def test_a_line_is_complete_if_it_has_what_is_required(
    citations: bool, tests: bool, kind: str, complete: list[str]
) -> None:
    report = target_report(f"//= s.md#one\n//= type={kind}\n//# First line,\n")
    text = write_lcov(report, download_dir="d", require_citations=citations, require_tests=tests)
    assert [line for line in text.split("\n") if line.startswith("DA:") and line.endswith(",1")] == complete


def test_the_path_of_a_url_is_in_the_download_directory() -> None:
    url = "https://example.com/spec.html"
    report = target_report(f"//= {url}#one\n", target=url)
    assert "\nSF:/p/.duvet/specifications/example.com/spec.txt\n" in write_lcov(
        report, download_dir="/p/.duvet/specifications"
    )


def test_a_section_cited_without_its_prefix_is_found() -> None:
    report = target_report("//= s.txt#1\n//# a b\n", "\n1. One\n\n  a b\n", "s.txt")
    assert "FNDA:1,One" in write_lcov(report, download_dir="d")
