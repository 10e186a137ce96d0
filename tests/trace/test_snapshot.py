from __future__ import annotations

from contextive.trace.snapshot import write_snapshot

from .in_memory_trace import trace

SPEC = "# Doc\n\n## One\n\n  It MUST work, and so on.\n  And it MAY rest.\n\n## Two\n\n| A |\n\n## Three\n\nNothing here.\n"


def snapshot(code: str, spec: str = SPEC) -> str:
    return write_snapshot(trace({"s.md": spec}, {"a.rs": code}).reports.values())


def test_each_part_of_a_line_is_written_with_its_status() -> None:
    code = (
        "//= s.md#one\n//= type=spec\n//= level=MUST\n//# It MUST work, and so on.\n\n"
        "//= s.md#one\n//# It MUST work\n\n//= s.md#one\n//= type=test\n//# MUST work, and\n"
    )
    assert snapshot(code) == (
        "SPECIFICATION: [Doc](s.md)\n"
        "  SECTION: [One](#one)\n"
        "    TEXT[!MUST,implementation]:   It\n"
        "    TEXT[!MUST,implementation,test]: MUST work\n"
        "    TEXT[!MUST,test]: , and\n"
        "    TEXT[!MUST]:  so on.\n"
    )


def test_statuses_are_always_in_the_same_order() -> None:
    types = ("todo", "exception", "test", "implication", "implementation")
    code = "\n".join(f"//= s.md#one\n//= type={kind}\n//# And it MAY rest.\n" for kind in types)
    assert "TEXT[implementation,implication,test,exception,todo]:   And it MAY rest." in snapshot(code)


def test_a_requirement_without_a_level_only_shows_its_section() -> None:
    assert snapshot("//= s.md#one\n//= type=spec\n//# And it MAY rest.\n") == (
        "SPECIFICATION: [Doc](s.md)\n  SECTION: [One](#one)\n"
    )


def test_only_cited_sections_are_written_with_an_empty_line_between_them() -> None:
    assert snapshot("//= s.md#one\n//# It MUST work\n\n//= s.md#three\n//# Nothing\n") == (
        "SPECIFICATION: [Doc](s.md)\n"
        "  SECTION: [One](#one)\n    TEXT[implementation]:   It MUST work\n\n"
        "  SECTION: [Three](#three)\n    TEXT[implementation]: Nothing\n"
    )


def test_a_citation_without_a_quote_is_not_written() -> None:
    assert snapshot("//= s.md#one\n") == ""


def test_targets_are_sorted_with_urls_first() -> None:
    specs = {"https://b.example/x": "# B\nb b\n", "z.md": "# Z\nz z\n", "a/y.md": "# Y\ny y\n"}
    code = "//= z.md#z\n//# z z\n\n//= https://b.example/x#b\n//# b b\n\n//= a/y.md#y\n//# y y\n"
    lines = write_snapshot(trace(specs, {"a.rs": code}).reports.values()).split("\n")
    assert [line for line in lines if line.startswith("SPEC")] == [
        "SPECIFICATION: [B](https://b.example/x)",
        "SPECIFICATION: [Y](a/y.md)",
        "SPECIFICATION: [Z](z.md)",
    ]
    assert lines.count("") == 3


def test_an_empty_title_is_written_as_an_empty_link_text() -> None:
    assert snapshot("//= s.md#\n//# some words\n", "# `code` #\n\nsome words\n").startswith("SPECIFICATION: [](s.md)\n")


def test_a_target_without_cited_lines_still_gets_a_separator() -> None:
    specs = {"a.txt": "\n1. One\n\n  x y\n", "b.md": "# B\nb b\n"}
    code = "//= a.txt#section-1\n\n//= b.md#b\n//# b b\n"
    assert write_snapshot(trace(specs, {"a.rs": code}).reports.values()).startswith("\nSPECIFICATION: [B]")
