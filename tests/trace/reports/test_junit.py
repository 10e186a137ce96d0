"""The JUnit report is well-formed XML for any text in the requirements, and its totals agree with its cases."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from contextive.trace.reports.junit import write_junit

from .samples import HIDDEN, HOSTILE, Sample, hostile, ordinary


def parsed(sample: Sample, **options: object) -> ElementTree.Element:
    text = write_junit(sample.analysis.reports.values(), **options)  # type: ignore[arg-type]
    return ElementTree.fromstring(text.encode("utf-8"))


def outcomes(root: ElementTree.Element) -> list[str]:
    return [case[0].tag if len(case) else "passed" for case in root.iter("testcase")]


def test_each_requirement_is_a_case() -> None:
    root = parsed(ordinary())
    assert outcomes(root) == ["passed", "failure", "skipped", "skipped", "failure", "failure"]
    case = next(root.iter("testcase"))
    assert case.get("classname") == "spec.md#length"
    assert (case.get("name") or "").startswith("MUST: An endpoint MUST check the length of a frame. [")
    assert (case.get("file"), case.get("line")) == ("spec.md", "5")


def test_each_specification_is_a_suite() -> None:
    sample = Sample({f"{n}.md": f"# Spec {n}\n\n## S\n\nIt MUST do {n}.\n" for n in range(3)}, {})
    suites = parsed(sample).findall("testsuite")
    assert [suite.get("name") for suite in suites] == ["Spec 0", "Spec 1", "Spec 2"]
    assert [suite.get("tests") for suite in suites] == ["1", "1", "1"]


def test_a_specification_without_a_title_is_named_by_its_path() -> None:
    [suite] = parsed(Sample({"s.md": "## S\n\nIt MUST work.\n"}, {})).findall("testsuite")
    assert suite.get("name") == "s.md"


@pytest.mark.parametrize("sample", [ordinary(), hostile()], ids=["ordinary", "hostile"])
def test_the_totals_agree_with_the_cases(sample: Sample) -> None:
    root = parsed(sample)
    for element in (root, *root.findall("testsuite")):
        found = outcomes(element)
        assert element.get("tests") == str(len(found))
        assert element.get("failures") == str(found.count("failure"))
        assert element.get("skipped") == str(found.count("skipped"))
        assert element.get("errors") == "0"


def test_a_failure_says_what_is_missing_and_lists_the_citations() -> None:
    failures = [case[0] for case in parsed(ordinary()).iter("testcase") if len(case) and case[0].tag == "failure"]
    assert [(failure.get("type"), failure.get("message")) for failure in failures] == [
        ("missing_test", "Not fully covered by a test."),
        ("partial", "Not fully covered by code or a test."),
        ("not_started", "Not fully covered by code or a test."),
    ]
    assert failures[0].text == "A frame that is too long MUST be refused.\ncitation: src/frame.rs:11"


def test_a_skipped_case_has_a_reason() -> None:
    skipped = [
        case[0].get("message") for case in parsed(ordinary()).iter("testcase") if len(case) and case[0].tag == "skipped"
    ]
    assert skipped == ["Exception: One size fits all.", "Todo: 42"]


def test_a_requirement_without_a_test_passes_if_tests_are_not_required() -> None:
    assert outcomes(parsed(ordinary(), require_tests=False)) == [
        "passed",
        "passed",
        "skipped",
        "skipped",
        "failure",
        "failure",
    ]


def test_nothing_fails_if_nothing_is_required() -> None:
    assert "failure" not in outcomes(parsed(ordinary(), require_tests=False, require_citations=False))


@pytest.mark.parametrize("text", [*HOSTILE, HIDDEN, *(f"c{chr(code)}c" for code in range(32))])
def test_the_xml_is_well_formed_for_any_text(text: str) -> None:
    line = " ".join(text.split("\n")).strip()
    sample = Sample(
        {f"{line}.md": f"# T {line}\n\n## S {{#s}}\n\nIt MUST bear {line} always.\n"},
        {f"{line}.rs": f"//= {line}.md#s\n//= type=exception\n//= reason=x{line}\n//# It MUST bear\n"},
    )
    root = parsed(sample, project=text)
    assert {element.tag for element in root.iter()} <= {
        "testsuites", "testsuite", "properties", "property", "testcase", "failure", "skipped",
    }  # fmt: skip


def test_control_characters_are_spelled_out() -> None:
    sample = Sample({"s.md": "# T\n\n## S\n\nIt MUST bear \x00 and \x1b and \u202e.\n"}, {})
    assert "It MUST bear [U+0000] and [U+001B] and [U+202E]." in write_junit(sample.analysis.reports.values())


def test_a_project_without_requirements_has_an_empty_report() -> None:
    root = ElementTree.fromstring(write_junit([]))
    assert root.get("tests") == "0"
    assert list(root) == []
