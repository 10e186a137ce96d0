from __future__ import annotations

import json
from collections.abc import Callable
from itertools import permutations
from typing import Any

import pytest

from contextive.errors import Conflict, InvalidRequest
from contextive.trace.reports.json_v2 import CITE, INLINE, LINKED, REQUIREMENT, SECTION, SPECIFICATION, write_json_v2
from contextive.trace.reports.merge import merge, merge_reports
from tests.trace.in_memory_trace import trace

SPEC = "# Doc\n\nIt MUST work well.\n"
REQUIREMENTS = "//= s.md#doc\n//= type=spec\n//= level=MUST\n//# It MUST work well.\n"
Document = dict[str, Any]


def package(name: str, kind: str, quote: str) -> str:
    """The report of a package. All packages share the specification and its requirements."""
    code = {"shared.rs": REQUIREMENTS, f"{name}.rs": f"//= s.md#doc\n//= type={kind}\n//# {quote}\n"}
    return write_json_v2(trace({"s.md": SPEC}, code), download_dir="d", blob_link="https://b.example", issue_link=name)


A, B, C = package("a", "test", "It MUST"), package("b", "implication", "MUST work"), package("c", "todo", "work well.")


def changed(report: str, change: Callable[[Document], object]) -> str:
    document: Document = json.loads(report)
    change(document)
    return json.dumps(document)


def first(document: Document, part: str, url: str) -> Document:
    entry: Document = next(iter(document[part][url].values()))
    return entry


def test_merging_one_report_does_not_change_it() -> None:
    assert merge_reports([A]) == A


def test_merging_a_report_with_itself_does_not_change_it() -> None:
    assert merge_reports([A, A, A]) == A


def test_the_order_of_the_reports_does_not_matter() -> None:
    assert len({merge_reports(order) for order in permutations((A, B, C))}) == 1


def test_coverage_is_the_union_of_all_reports() -> None:
    merged = json.loads(merge_reports([A, B, C]))
    (requirement,) = merged["annotations"][REQUIREMENT].values()
    assert len(requirement["coverage"]) == len(merged["annotations"][CITE]) == 3
    assert merged["issue_links"] == ["a", "b", "c"]
    assert len(merged["sources"][LINKED]) == 4


def test_merging_in_two_steps_is_the_same_as_in_one() -> None:
    assert merge_reports([merge_reports([A, B]), C]) == merge_reports([A, B, C])


def test_collections_of_other_tools_are_kept() -> None:
    url = "https://else.example/x.json#more"
    extended = changed(A, lambda document: document["annotations"].update({url: {"b": [1.5, None], "a": True}}))
    merged = json.loads(merge_reports([extended, B]))
    assert merged["annotations"][url] == {"a": True, "b": [1.5, None]}
    other = changed(B, lambda document: document["annotations"].update({url: {}}))
    with pytest.raises(Conflict, match="differs from an earlier report"):
        merge_reports([extended, other])


def test_comments_of_a_citation_may_differ_and_merge_the_same_in_any_order() -> None:
    one = changed(A, lambda document: first(document, "annotations", CITE).update(comment="b", tags=["z"]))
    other = changed(
        A, lambda document: first(document, "annotations", CITE).update(comment="a", tags=["y"], feature="f")
    )
    merged = merge([one, other])
    cite = first(json.loads(merged.text), "annotations", CITE)
    assert (cite["comment"], cite["tags"], cite["feature"]) == ("a", ["y", "z"], "f")
    assert merged.text == merge_reports([other, one])
    assert "comment, feature, tags" in merged.warnings[0]


def test_a_url_is_taken_from_the_report_that_has_it() -> None:
    known = changed(A, lambda document: first(document, "annotations", SPECIFICATION).update(url="https://u.example"))
    merged = json.loads(merge_reports([A, known]))
    assert first(merged, "annotations", SPECIFICATION)["url"] == "https://u.example"
    other = changed(A, lambda document: first(document, "annotations", SPECIFICATION).update(url="https://v.example"))
    with pytest.raises(Conflict, match="url"):
        merge_reports([known, other])


@pytest.mark.parametrize(
    ("part", "url", "change", "field"),
    [
        ("annotations", SPECIFICATION, {"title": "Else"}, "title"),
        ("annotations", SPECIFICATION, {"format": "ietf"}, "format"),
        ("annotations", SECTION, {"short_name": "else"}, "short_name"),
        ("annotations", SECTION, {"long_name": "Else"}, "long_name"),
        ("annotations", REQUIREMENT, {"level": "MAY"}, "level"),
        ("annotations", CITE, {"type": "TODO"}, "type"),
        ("annotations", CITE, {"level": "MAY"}, "level"),
        ("annotations", CITE, {"target": {"src": "src-x", "ranges": []}}, "target"),
        ("sources", INLINE, {"file_name": "else.md"}, "file_name"),
        ("sources", INLINE, {"contents": "else"}, "contents"),
    ],
)
def test_a_contradiction_is_refused(part: str, url: str, change: Document, field: str) -> None:
    other = changed(A, lambda document: first(document, part, url).update(change))
    with pytest.raises(Conflict, match=f"report 2, .*: its {field} differs from an earlier report"):
        merge_reports([A, other])


def test_a_file_without_a_repository_in_two_reports_is_refused() -> None:
    bare = write_json_v2(trace({"s.md": SPEC}, {"a.rs": REQUIREMENTS}), download_dir="d")
    assert merge_reports([bare]) == bare
    with pytest.raises(Conflict, match=r"a\.rs has no repository in report 1 and report 3") as refused:
        merge_reports([bare, A, bare])
    assert refused.value.hint is not None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "report 1 is not JSON"),
        ("[]", "report 1 has version None"),
        ('{"version": "3.0"}', "report 1 has version '3.0'"),
        ('{"version": "2.0"}', "report 1 has no 'sources'"),
        ('{"version": "2.0", "sources": {}, "annotations": {}, "more": 1}', "unknown field 'more'"),
        (changed(A, lambda d: first(d, "annotations", CITE).update(type="SPEC")), "must be one of CITATION"),
        (changed(A, lambda d: first(d, "annotations", CITE).update(more=1)), "unknown field 'more'"),
        (changed(A, lambda d: first(d, "annotations", SECTION)["source"].update(start=-1)), "must be a whole number"),
        (changed(A, lambda d: first(d, "annotations", SECTION)["source"].update(start=True)), "must be a whole number"),
        (changed(A, lambda d: first(d, "sources", INLINE).pop("contents")), "has no 'contents'"),
        (changed(A, lambda d: d.update(issue_links="x")), "must be a list"),
    ],
)
def test_an_invalid_report_is_refused(text: str, message: str) -> None:
    with pytest.raises(InvalidRequest, match=message):
        merge_reports([text])


def test_merging_no_reports_is_an_error() -> None:
    with pytest.raises(InvalidRequest, match="nothing to merge"):
        merge_reports([])


def test_empty_collections_may_be_left_out() -> None:
    merged = json.loads(merge_reports(['{"version": "2.0", "sources": {}, "annotations": {}}', A]))
    assert merged == json.loads(A)
