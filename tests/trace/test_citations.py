from __future__ import annotations

import pytest

from contextive.trace.citation import Citation, CommentStyle, parse_citations
from contextive.trace.level import CitationType, Level
from contextive.trace.specification import Format


def parse_one(text: str, **options: object) -> Citation:
    parsed = parse_citations(text, "a.rs", **options)  # type: ignore[arg-type]
    assert parsed.problems == ()
    (citation,) = parsed.citations
    return citation


def problems(text: str) -> list[tuple[str, str]]:
    return [(problem.message, str(problem.location)) for problem in parse_citations(text, "a.rs").problems]


def test_a_citation_is_a_target_and_quoted_lines() -> None:
    citation = parse_one("fn f() {\n    //= spec.md#one\n    //# It MUST\n    //#   work. \n")
    assert (citation.target, citation.quote, citation.id) == ("spec.md#one", "It MUST work.", "a.rs:2")
    assert (citation.target_path, citation.section_id) == ("spec.md", "one")
    assert (citation.type, citation.level, citation.format) == (CitationType.CITATION, Level.AUTO, Format.AUTO)


def test_all_fields_are_read() -> None:
    text = "//= source = s#x\n//= type=todo\n//=level = SHOULD\n//= format=md\n//= feature=a b\n//= tracking-issue=#1 = 2\n"
    citation = parse_one(text)
    assert citation.target == "s#x"
    assert (citation.type, citation.level, citation.format) == (CitationType.TODO, Level.SHOULD, Format.MARKDOWN)
    assert (citation.feature, citation.tracking_issue) == ("a b", "#1 = 2")


def test_reasons_are_joined() -> None:
    assert parse_one("//= s#x\n//= type=exception\n//= reason=one \n//= reason= two\n").comment == "one two"


@pytest.mark.parametrize(
    "word", ["spec", "SPEC", "test", "implementation", "CITATION", "exception", "todo", "implication"]
)
def test_a_type_is_all_lower_case_or_all_upper_case(word: str) -> None:
    assert parse_one(f"//= s#x\n//= type={word}\n").type.value == word.lower().replace("implementation", "citation")


@pytest.mark.parametrize(
    ("between", "kind"),
    [
        ("", CitationType.TEST),
        ("//#\n", CitationType.TEST),
        ("\n", CitationType.CITATION),
        ("code\n", CitationType.CITATION),
        ("//# q\n", CitationType.CITATION),
        ("//\n", CitationType.CITATION),
    ],
    ids=["next line", "empty quote before", "empty line", "code", "quote before", "other comment"],
)
def test_a_gap_or_a_quote_ends_a_citation(between: str, kind: CitationType) -> None:
    first, *_ = parse_citations(f"//= s#x\n{between}//= type=test\n", "a.rs").citations
    assert first.type is kind


def test_quoted_lines_without_a_target_before_them_are_ignored() -> None:
    assert parse_citations("//# alone\n//# still\n\n//= s#x\n", "a.rs").citations[0].quote == ""


def test_a_comment_style_can_have_any_two_prefixes() -> None:
    style = CommentStyle("# //=", "# //#")
    assert parse_one("\t# //=s#x\n\t# //#q\n", style=style).quote == "q"


def test_the_meta_prefix_is_tried_first() -> None:
    assert parse_one("//= s#x\n//# q\n", style=CommentStyle("//=", "//")).quote == "# q"


def test_an_empty_meta_prefix_makes_every_line_a_meta_line() -> None:
    parsed = parse_citations("s#x\nx\nx more\n", "a.rs", CommentStyle("", "x"))
    assert [str(problem.location) for problem in parsed.problems] == ["a.rs:1:1", "a.rs:2:1"]


def test_a_prefix_after_code_does_not_start_a_citation() -> None:
    assert parse_one("let x; //= a#a //= b#b\n//= s#x\n//# q\nlet y; //# r\n").quote == "q"


def test_a_prefix_that_begins_with_a_space_never_matches_because_indent_is_removed_first() -> None:
    assert parse_citations("  //= s#x\n", "a.rs", CommentStyle(" //=", " //#")).citations == ()


def test_any_white_space_is_indent_and_only_a_line_feed_ends_a_line() -> None:
    assert parse_one("\u00a0\x0c//= s#x\r\n\u3000//# a\u2028b\r\n").quote == "a\u2028b"


def test_the_type_of_the_source_pattern_is_the_default() -> None:
    assert parse_one("//= s#x\n", default_type=CitationType.TEST).type is CitationType.TEST
    assert parse_one("//= s#x\n//= type=spec\n", default_type=CitationType.TEST).type is CitationType.SPEC


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("//= foo=bar\n//= s#x\n", [("invalid metadata field", "a.rs:1:5")]),
        ("//= s#x\n  //= s#y\n", [('"source" already specified', "a.rs:1:5")]),
        ("//= s#x\n//= level=MAY\n//= level=MUST\n", [('"level" already specified', "a.rs:2:11")]),
        ("//= s#x\n//= type=todo\n//= reason=r\n", [("invalid key for type TODO", "a.rs:3:12")]),
        ("//= s#x\n//= feature=f\n", [("invalid key for type CITATION", "a.rs:2:13")]),
        (" //= type=test\n", [("comment is missing source specification", "a.rs:1:11")]),
        (
            "//= s#x\n//= level=must\n",
            [('Invalid annotation level "must", expected one of ["AUTO", "MUST", "SHOULD", "MAY"]', "a.rs:2:11")],
        ),
        (
            "//= s#x\n//= format=txt\n",
            [('Invalid spec type "txt", expected one of ["auto", "ietf", "markdown"]', "a.rs:2:12")],
        ),
    ],
)
def test_each_problem_has_a_message_and_a_location(text: str, expected: list[tuple[str, str]]) -> None:
    assert problems(text) == expected


def test_columns_are_counted_in_bytes() -> None:
    assert problems("é//= x\n\u00a0//= é=1\n//= s#x\n") == [("invalid metadata field", "a.rs:2:7")]


@pytest.mark.parametrize(("line", "column"), [("//= type=", 10), ("//= type =   ", 11), ("//= type=  \r", 10)])
def test_the_location_of_an_empty_value_is_after_the_equals_sign(line: str, column: int) -> None:
    (found, _), *_ = [(problem.location.column, problem) for problem in parse_citations(line + "\n", "a.rs").problems]
    assert found == column


def test_a_wrong_type_does_not_count_as_a_first_value() -> None:
    found = parse_citations("//= s#x\n//= type=tst\n//= type=test\n", "a.rs")
    assert [problem.code for problem in found.problems] == ["invalid_type"]


def test_a_problem_makes_only_its_citation_invalid() -> None:
    found = parse_citations("//= type=test\n\n//= s#x\n", "a.rs")
    assert len(found.problems) == len(found.citations) == 1
