from __future__ import annotations

import json
from typing import Any

from contextive.trace.reports.json_v1 import write_json_v1
from tests.trace.in_memory_trace import trace

SPEC = '# Doc\n\n## One\n\nÉt MUST work.\n\n## Two "q"\n\nEnd.\n'
CODE = """//= s.md#one
//# Ét MUST

//= s.md#one
//= type=spec
//= level=MUST
//# Ét MUST work.

//= s.md#one
//= type=todo
//= feature=f
//= tracking-issue=#1
//# work.

//= s.md#two-q
//= type=exception
//= reason=tab\t"quoted"
"""


def report(code: str = CODE, **options: str) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(write_json_v1(trace({"s.md": SPEC}, {"a.rs": code}), **options))
    return loaded


def test_the_report_is_one_line_with_its_parts_in_order() -> None:
    text = write_json_v1(trace({"s.md": SPEC}, {"a.rs": CODE}), blob_link="https://b.example", issue_link="i")
    assert text.startswith('{"blob_link":"https://b.example","issue_link":"i","specifications":{"s.md":{"title":"Doc",')
    assert list(json.loads(text)) == ["blob_link", "issue_link", "specifications", "annotations", "statuses", "refs"]
    assert "\n" not in text
    assert "Ét" in text


def test_default_values_of_citations_are_left_out() -> None:
    assert report()["annotations"] == [
        {"source": "a.rs", "target_path": "s.md", "target_section": "one", "line": 1},
        {"source": "a.rs", "target_path": "s.md", "target_section": "one", "line": 4, "type": "SPEC", "level": "MUST"},
        {
            "source": "a.rs",
            "target_path": "s.md",
            "target_section": "one",
            "line": 9,
            "type": "TODO",
            "feature": "f",
            "tracking_issue": "#1",
        },
        {
            "source": "a.rs",
            "target_path": "s.md",
            "target_section": "two-q",
            "line": 15,
            "type": "EXCEPTION",
            "comment": 'tab\t"quoted"',
        },
    ]


def test_lines_are_split_where_references_begin_and_end() -> None:
    specification = report()["specifications"]["s.md"]
    assert specification["requirements"] == [1]
    doc, one, two = specification["sections"]
    assert doc == {"id": "doc", "title": "Doc", "lines": []}
    assert one == {
        "id": "one",
        "title": "One",
        "lines": [[[[0, 1], 240, "Ét MUST"], [[1], 224, " "], [[1, 2], 225, "work."]]],
        "requirements": [1],
    }
    assert two == {"id": "two-q", "title": 'Two "q"', "lines": ["End."]}


def test_statuses_count_bytes() -> None:
    assert report()["statuses"] == {"1": {"spec": 14, "incomplete": 6, "citation": 8, "todo": 5, "related": [0, 2]}}


def test_text_that_several_citations_cover_is_counted_once() -> None:
    quotes = ("Ét MUST", "MUST work.", "MUST")
    code = "//= s.md#one\n//= type=spec\n//# Ét MUST work.\n" + "".join(
        f"\n//= s.md#one\n//= type={kind}\n//# {quote}\n" for quote in quotes for kind in ("test", "implication")
    )
    status = report(code)["statuses"]["0"]
    assert status == {"spec": 14, "implication": 14, "test": 14, "related": [1, 2, 3, 4, 5, 6]}


def test_a_status_number_is_an_index_into_the_status_table() -> None:
    table = report()["refs"]
    assert len(table) == 256
    assert table[0] == {}
    assert table[240] == {"spec": True, "citation": True, "level": "MUST"}
    assert table[1 + 4 + 64] == {"test": True, "todo": True, "level": "MAY"}
    assert list(table[255]) == ["spec", "citation", "implication", "test", "exception", "todo", "level"]


def test_a_url_keeps_the_spelling_of_the_citation() -> None:
    url = "https://www.rfc-editor.org/rfc/rfc1"
    analysis = trace({url: "\n1. One\n\n  a b\n"}, {"a.rs": f"//= {url}#1\n//# a b\n"})
    report_data = json.loads(write_json_v1(analysis))
    assert report_data["annotations"][0]["target_path"] == url
    assert report_data["specifications"][url]["format"] == "ietf"
    assert "title" not in report_data["specifications"][url]


def test_an_empty_project_has_a_report() -> None:
    text = write_json_v1(trace({}, {}))
    assert text.startswith('{"specifications":{},"annotations":[],"statuses":{},"refs":[{},{"todo":true},')
