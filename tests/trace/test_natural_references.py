from __future__ import annotations

from collections.abc import Iterable

import pytest

from contextive.knowledge.comment_spans import comment_spans
from contextive.trace.comments import CommentBlock, blocks_of_lines, blocks_of_spans, titles_of_tests
from contextive.trace.natural_references import NaturalReference, ReferenceKind, candidate_pattern
from contextive.trace.natural_references import find_references as find_with_candidate

CANDIDATE = candidate_pattern(frozenset({"fr", "sc", "us", "utf", "sha"}), numbers=True, tasks=True, names=True)


def find_references(path: str, blocks: Iterable[CommentBlock]) -> list[NaturalReference]:
    return list(find_with_candidate(path, blocks, CANDIDATE))


def found(comment: str) -> list[str]:
    """The references in a comment, each as its kind, owner and key or range."""
    references = find_references("a.py", blocks_of_lines("\n".join(f"# {line}" for line in comment.split("\n"))))
    return [
        f"{r.kind} {r.owner + '/' if r.owner else ''}{r.key}{'-' + r.last_key if r.last_key else ''}"
        for r in references
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("comment", "expected"),
    [
        ("Validates: Requirements 1.1, 1.3", ["key 1.1", "key 1.3"]),
        ("**Validates: Requirement 9.1**", ["key 9.1"]),
        ("Requirements: 10.4", ["key 10.4"]),
        ("Retry (Requirement 4.6, 13.4)", ["key 4.6", "key 13.4"]),
        ("(per Requirements 6.1-6.4)", ["key 6.1-6.4"]),
        ("Feature: auth, Property 3: round trip", ["property 3"]),
        ("FR-012 and SC-001", ["key FR-012", "key SC-001"]),
        ("see US1 (T012)", ["key US1", "task T012"]),
        ("Requirement: User Authentication", ["name User Authentication"]),
        ("Scenario: Right password", ["scenario Right password"]),
        ("Implements REQ-027.", ["key REQ-027"]),
        ("@req 4.2", ["key 4.2"]),
        ("@requirement user-auth/REQ-18.6", ["key user-auth/REQ-18.6"]),
        ("kiro:user-auth/3.2", ["key kiro:user-auth/3.2"]),
        ("openspec:auth/User Authentication", ["key openspec:auth/User Authentication"]),
        ("入力（要件1.2、1.3）", ["key 1.2", "key 1.3"]),
        ("Requirements:\n- 6.1: sort\n- 6.2, 6.3: filter\nand 7.1", ["key 6.1", "key 6.2", "key 6.3"]),
        ("the requirements of version 1.1", []),
        ("Property 3 of the object", []),
        ("uses UTF-8 and SHA-256", ["key UTF-8", "key SHA-256"]),
        ("a requirement: be kind to 1.2", []),
        ("http://example.com/T012/FR-001", []),
    ],
)
def test_references_are_recognised(comment: str, expected: list[str]) -> None:
    assert found(comment) == expected


def test_only_a_keyword_makes_an_unknown_key_a_mistake() -> None:
    text = "# Requirement 1.1\n# REQ-7 is old\n# FR-009\n# US1\n"
    keywords = {r.key: r.has_keyword for r in find_references("a.py", blocks_of_lines(text))}
    assert keywords == {"1.1": True, "REQ-7": False, "FR-009": True, "US1": False}


def test_the_lines_of_one_comment_share_its_feature() -> None:
    text = "# Feature: auth\n# Requirement 1.1\nx = 1\n# Requirement 1.2\n"
    assert [(r.line, r.features) for r in find_references("a.py", blocks_of_lines(text))] == [(2, ("auth",)), (4, ())]


def test_code_and_strings_are_no_comments() -> None:
    text = '''
"""Requirement 1.1"""
x = "Requirement 1.2"  # Requirement 1.3
call(
    "Requirement 1.4"
)
def f():
    """Do it.

    Validates: Requirements 1.5
    """
'''
    spans = comment_spans(text, "python")
    assert spans is not None
    references = find_references("a.py", blocks_of_spans(text, spans))
    assert [(r.line, r.key) for r in references] == [(2, "1.1"), (3, "1.3"), (10, "1.5")]


def test_offsets_count_characters() -> None:
    text = "// 要件 é 1\nconst a = 'ü'; // Requirement 1.1\n/* 要件2.1 */\n"
    spans = comment_spans(text, "typescript")
    assert spans is not None
    assert [text[start:end] for start, end in spans] == ["// 要件 é 1", "// Requirement 1.1", "/* 要件2.1 */"]
    assert [(r.line, r.key) for r in find_references("a.ts", blocks_of_spans(text, spans))] == [(2, "1.1"), (3, "2.1")]


def test_the_title_of_a_test_counts_if_it_has_a_keyword_or_an_owner() -> None:
    text = "it('sorts (Requirement 6.1)', f)\ntest(\"x FR-001 T012\", f)\ndescribe(`auth/REQ-2.1`, f)\nsplit('Requirement 9.9')\n"
    assert [(r.line, r.owner, r.key) for r in find_references("a.test.ts", titles_of_tests(text))] == [
        (1, "", "6.1"),
        (3, "auth", "REQ-2.1"),
    ]


@pytest.mark.parametrize(
    "line",
    ["// Requirement 1.1", "-- Requirement 1.1", "; Requirement 1.1", "x := 1 // Requirement 1.1", " * Requirement 1.1",
     "<!-- Requirement 1.1 -->", "{/* Requirement 1.1 */}", "f() # Requirement 1.1"],
)  # fmt: skip
def test_comments_of_other_languages_are_read_by_lines(line: str) -> None:
    assert [r.key for r in find_references("a.xyz", blocks_of_lines(line))] == ["1.1"]


def test_a_line_has_a_bounded_number_of_references() -> None:
    block = next(blocks_of_lines("# Requirements " + "1.1, " * 300))
    assert len(find_references("a.py", [block])) == 200


def test_kinds_have_plain_names() -> None:
    assert [kind.value for kind in ReferenceKind] == ["key", "name", "scenario", "property", "task"]
    assert CommentBlock(()).is_title is False


def test_lines_that_cannot_name_a_requirement_of_the_project_are_skipped() -> None:
    only_names = candidate_pattern(frozenset(), numbers=False, tasks=False, names=True)
    assert only_names.search("Requirement 1.1 and FR-001 and T012") is None
    assert only_names.search("Requirement: Log in") is not None
    assert only_names.search("kiro:a/1.1") is not None
