from __future__ import annotations

from contextive.trace.analysis import sort_citations
from contextive.trace.catalog import TraceCatalog
from contextive.trace.citation import CommentStyle, parse_citations
from contextive.trace.level import CitationType
from contextive.trace.requirement_file import parse_requirement_file

from .in_memory_trace import trace

SPEC = {"s.md": "# T\n\n## One\n\nIt MUST work.\n\n## Empty\n"}


def problems(code: str) -> list[tuple[str, str, str]]:
    return [(problem.message, str(problem.location), problem.label) for problem in trace(SPEC, {"a.rs": code}).problems]


def test_a_citation_that_cannot_be_matched_is_a_problem() -> None:
    assert problems("//= s.md#none\n") == [('missing section "none" in s.md', "a.rs:1:5", "referenced here")]
    assert problems("//= s.md\n") == [("reference to s.md is missing a section", "a.rs:1:5", "referenced here")]
    assert problems("//= x.md#y\n") == [("x.md does not exist", "a.rs:1:5", "referenced here")]
    assert problems("//= s.md#one\n  //# Wrong words.\n") == [
        ('could not find text in section "one" of s.md', "a.rs:2:7", "text here"),
    ]
    assert problems("//= s.md#empty\n//# x\n") == [
        ('could not find text in section "empty" of s.md', "a.rs:2:5", "section is empty"),
    ]


def test_an_invalid_citation_does_not_affect_others() -> None:
    analysis = trace(SPEC, {"a.rs": "//= s.md#none\n\n//= s.md#one\n//# It MUST work.\n"})
    assert list(analysis.invalid) == [0]
    assert [item.number for item in analysis.matched] == [1]


def test_citations_are_sorted_by_path_and_line() -> None:
    citations = [
        citation
        for path in ("b.rs", "a/z.rs", "a.rs", "a/b.rs")
        for citation in parse_citations("\n//= s#x\n\n//= s#y\n", path).citations
    ]
    assert [citation.id for citation in sort_citations(reversed(citations))] == [
        "a/b.rs:2", "a/b.rs:4", "a/z.rs:2", "a/z.rs:4", "a.rs:2", "a.rs:4", "b.rs:2", "b.rs:4",
    ]  # fmt: skip


def test_citations_of_a_file_that_is_parsed_twice_are_sorted_by_type_and_link() -> None:
    code = "//= s#x\n"
    parsed_files = [
        parse_citations(code, "a.rs", default_type=CitationType.TODO),
        parse_citations(code, "a.rs", blob_link="https://b.example"),
        parse_citations(code, "a.rs"),
        parse_citations(code, "a.rs"),
        parse_citations(code, "a.rs", CommentStyle("//=", "//"), CitationType.TEST),
    ]
    ordered = sort_citations(citation for parsed in parsed_files for citation in parsed.citations)
    assert [(citation.type.value, citation.blob_link) for citation in ordered] == [
        ("test", None),
        ("citation", None),
        ("citation", "https://b.example"),
        ("todo", None),
    ]


def test_of_two_citations_at_one_location_the_shorter_quote_comes_first() -> None:
    code = "//= s#x\n//x y\n"
    long = parse_citations(code, "a.rs", CommentStyle("//=", "//")).citations
    short = parse_citations(code, "a.rs", default_type=CitationType.TODO).citations
    assert [citation.quote for citation in sort_citations([*long, *short])] == ["", "x y"]


def test_two_equal_entries_on_one_line_of_a_toml_file_are_two_citations() -> None:
    text = 'exceptions = [{ target = "s#x", reason = "r", quote = "" }, { target = "s#x", reason = "r", quote = "" }]\n'
    assert len(sort_citations(parse_requirement_file(text, "x.toml").citations)) == 2


def test_two_formats_of_one_document_are_two_targets() -> None:
    analysis = trace(SPEC, {"a.rs": "//= s.md#one\n\n//= s.md#one\n//= format=markdown\n"})
    assert [target.format.value for target in analysis.reports] == ["auto", "markdown"]


def test_a_section_id_may_be_equal_to_a_cache_key_of_its_specification() -> None:
    spec = "# T\n\n## Requirements\n\nIt MUST work.\n"
    code = "//= s.md#requirements\n//= type=spec\n//# It MUST work.\n"
    catalog = TraceCatalog(trace({"s.md": spec}, {"a.rs": code}), {})
    assert [requirement.text for requirement in catalog.requirements] == ["It MUST work."]
