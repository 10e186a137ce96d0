from __future__ import annotations

import json
from typing import Any

from contextive.trace.reports.json_v2 import (
    CITE,
    INLINE,
    LINKED,
    REQUIREMENT,
    SECTION,
    SPECIFICATION,
    write_json_v2,
)
from tests.trace.in_memory_trace import trace

SPEC = "# Dé\n\nÉt MUST work\nwell.\n\n## Two\n"
CODE = """//= s.md#de
//= type=spec
//= level=MUST
//# Ét MUST work well.

//= s.md#de
//= type=test
//= reason=why
//# MUST work well.

//= s.md#two
//= type=todo
//= feature=f
"""


def report(code: str = CODE, specs: dict[str, str] | None = None, **options: str) -> dict[str, Any]:
    analysis = trace(specs or {"s.md": SPEC}, {"a.rs": code})
    loaded: dict[str, Any] = json.loads(write_json_v2(analysis, download_dir=".duvet/specifications", **options))
    return loaded


def test_the_report_is_indented_with_its_parts_in_order() -> None:
    text = write_json_v2(trace({"s.md": SPEC}, {"a.rs": CODE}), download_dir="d", blob_link="b", issue_link="i")
    assert text.startswith('{\n  "version": "2.0",\n  "issue_links": [\n    "i"\n  ],\n  "repositories": {\n    "repo-')
    document = json.loads(text)
    assert list(document) == ["version", "issue_links", "repositories", "sources", "annotations"]
    assert list(document["annotations"]) == [SPECIFICATION, SECTION, REQUIREMENT, CITE]
    assert not text.endswith("\n")


def test_offsets_are_bytes() -> None:
    annotations = report()["annotations"]
    (specification,) = annotations[SPECIFICATION].values()
    assert specification["source"]["end"] == len(SPEC.encode())
    assert (specification["title"], specification["format"]) == ("Dé", "markdown")
    assert "url" not in specification
    sections = {section["short_name"]: section for section in annotations[SECTION].values()}
    assert (sections["de"]["source"]["start"], sections["de"]["source"]["end"]) == (2, 26)
    assert (sections["two"]["source"]["start"], sections["two"]["source"]["end"]) == (31, 34)
    assert sections["de"]["long_name"] == "Dé"


def test_a_requirement_lists_the_citations_that_cover_it() -> None:
    document = report()
    ((lnk, source),) = document["sources"][LINKED].items()
    assert source == {"file_name": "a.rs"}
    cites = {cite["type"]: (key, cite) for key, cite in document["annotations"][CITE].items()}
    (requirement,) = document["annotations"][REQUIREMENT].values()
    (src,) = document["sources"][INLINE]
    test_id, test = cites["TEST"]
    assert requirement == {
        "source": {"src": lnk, "line": 1},
        "origin": {"src": src, "ranges": [{"start": 7, "end": 20}, {"start": 21, "end": 26}]},
        "level": "MUST",
        "coverage": {test_id: [{"start": 11, "end": 20}, {"start": 21, "end": 26}]},
    }
    assert test == {
        "source": {"src": lnk, "line": 6},
        "target": {"src": src, "ranges": [{"start": 11, "end": 20}, {"start": 21, "end": 26}]},
        "type": "TEST",
        "level": "AUTO",
        "comment": "why",
    }
    assert cites["TODO"][1]["target"]["ranges"] == [{"start": 31, "end": 34}]
    assert cites["TODO"][1]["feature"] == "f"


def test_a_blob_link_adds_a_repository_to_every_file() -> None:
    document = report(blob_link="https://github.com/org/repo/blob/main")
    assert document["repositories"] == {
        "repo-2a688096043d13a6": {"blob_link": "https://github.com/org/repo/blob/main"},
    }
    assert [source["repository"] for source in document["sources"][LINKED].values()] == ["repo-2a688096043d13a6"]


def test_a_url_is_written_in_canonical_form_with_the_path_of_its_stored_copy() -> None:
    url = "https://datatracker.ietf.org/doc/html/rfc1"
    document = report(f"//= {url}#1\n//# a b\n", {url: "\n1. One\n\n  a b\n"})
    (source,) = document["sources"][INLINE].values()
    (specification,) = document["annotations"][SPECIFICATION].values()
    assert source["file_name"] == ".duvet/specifications/www.rfc-editor.org/rfc/rfc1.txt"
    assert specification["url"] == "https://www.rfc-editor.org/rfc/rfc1.txt"


def test_a_span_of_one_byte_is_an_empty_range_that_covers_nothing() -> None:
    spec = "# T\n\nab cd\n}\n"
    code = "//= s.md#t\n//= type=spec\n//# ab cd }\n\n//= s.md#t\n//# }\n"
    document = report(code, {"s.md": spec})
    (requirement,) = document["annotations"][REQUIREMENT].values()
    assert requirement["origin"]["ranges"] == [{"start": 5, "end": 10}, {"start": 11, "end": 11}]
    assert "coverage" not in requirement


def test_citations_of_a_document_under_two_formats_cover_each_others_requirements() -> None:
    code = "//= s.md#de\n//= type=spec\n//# Ét MUST work\n\n//= s.md#de\n//= format=markdown\n//# work\n"
    (requirement,) = report(code)["annotations"][REQUIREMENT].values()
    assert list(requirement["coverage"].values()) == [[{"start": 16, "end": 20}]]


def test_an_empty_project_has_a_report() -> None:
    empty: dict[str, Any] = {}
    assert report("", {}) == {
        "version": "2.0",
        "sources": {INLINE: empty, LINKED: empty},
        "annotations": {SPECIFICATION: empty, SECTION: empty, REQUIREMENT: empty, CITE: empty},
    }
