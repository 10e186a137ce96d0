from __future__ import annotations

import re
import tomllib

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from contextive.trace.extraction import (
    ExtractedRequirement,
    extract_requirements,
    format_requirement_comments,
    format_requirement_file,
    requirement_file_citations,
)
from contextive.trace.level import CitationType, Level
from contextive.trace.requirement_file import parse_requirement_file
from contextive.trace.specification import Format, parse_specification

EXAMPLE = """target = "s.md#one"

# [[spec]] is not an entry in a comment

[[spec]]
level = "MUST"
quote = '''
It MUST
  work.

[[spec]]
'''

[[ exception ]] # why not
quote = "a"
reason = "because"
"target" = "t.md#two"

[[TODO]]
quote = 'b'
tags = ["z", "a", "z"]
tracking-issue = "#1"
"""


def test_entries_are_citations_at_the_line_of_their_header() -> None:
    spec, exception, todo = parse_requirement_file(EXAMPLE, "x.toml").citations
    assert (spec.type, spec.line, spec.level, spec.target) == (CitationType.SPEC, 5, Level.MUST, "s.md#one")
    assert (spec.quote, spec.comment) == ("It MUST work. [[spec]]", "It MUST\n  work.\n\n[[spec]]\n")
    assert (exception.type, exception.line, exception.target, exception.comment) == (
        CitationType.EXCEPTION,
        14,
        "t.md#two",
        "because",
    )
    assert (todo.type, todo.line, todo.tags, todo.tracking_issue) == (CitationType.TODO, 19, ("a", "z"), "#1")


def test_locations_are_those_of_the_values() -> None:
    spec, exception, _ = parse_requirement_file(EXAMPLE, "x.toml").citations
    assert (str(spec.target_location), str(spec.quote_location)) == ("x.toml:1:10", "x.toml:7:9")
    assert (str(exception.target_location), str(exception.quote_location)) == ("x.toml:17:12", "x.toml:15:9")


def test_the_line_of_an_inline_table_is_that_of_its_brace() -> None:
    text = 'target = "s#x"\nspecs = [\n  { quote = "é", level = "MAY" }, { quote = "b" },\n  { quote = """c""" }]\n'
    citations = parse_requirement_file(text, "x.toml").citations
    assert [(citation.line, citation.quote, str(citation.quote_location)) for citation in citations] == [
        (3, "é", "x.toml:3:13"),
        (3, "b", "x.toml:3:46"),
        (4, "c", "x.toml:4:13"),
    ]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("target = ", "invalid_toml"),
        ("other = 1", "unknown_key"),
        ("target = 1", "invalid_value"),
        ("spec = 1", "invalid_value"),
        ("[spec]\nquote = 'a'", "invalid_value"),
        ("[[spec]]\nquote = 1", "invalid_value"),
        ("[[spec]]\ntarget = 'a#b'", "missing_field"),
        ("[[exception]]\ntarget = 'a#b'\nquote = 'q'", "missing_field"),
        ("[[spec]]\nquote = 'q'\nreason = 'r'", "unknown_key"),
        ("[[todo]]\nquote = 'q'\ntags = [1]", "invalid_value"),
        ("[[spec]]\nquote = 'q'\n[[specs]]\nquote = 'q'", "repeated_key"),
    ],
)
def test_a_wrong_key_or_type_makes_the_file_invalid(text: str, code: str) -> None:
    parsed = parse_requirement_file(text, "x.toml")
    assert parsed.citations == ()
    assert [problem.code for problem in parsed.problems] == [code]


def test_a_wrong_value_makes_only_its_entry_invalid() -> None:
    wrong_level = "[[spec]]\nquote = 'a'\ntarget = 's#x'\nlevel = 'must'\n"
    text = f"{wrong_level}[[spec]]\nquote = 'b'\n[[spec]]\nquote = 'c'\ntarget = 's#x'\n"
    parsed = parse_requirement_file(text, "x.toml")
    assert [citation.quote for citation in parsed.citations] == ["c"]
    assert [(problem.code, str(problem.location)) for problem in parsed.problems] == [
        ("invalid_level", "x.toml:4:9"),
        ("missing_target", "x.toml:5:1"),
    ]


@pytest.mark.parametrize(
    "value",
    ['"""a"b"""', "'''a'b'''", '"a\\"b"', '"a#b"', '"""\na\\\n  b"""', '"""x"""""', "'''x'''''"],
)
def test_positions_are_right_after_every_kind_of_string(value: str) -> None:
    text = f"[[spec]]\nquote = {value}\ntarget = 's#x' # target = 'no'\n[[spec]]\nquote='q'\ntarget='s#y'\n"
    first, second = parse_requirement_file(text, "x.toml").citations
    assert first.target_location.line == 3 + value.count("\n")
    assert second.line == 4 + value.count("\n")


def test_positions_are_right_after_other_values() -> None:
    text = "target = 's#x'\n[[todo]]\ntags = [ # ]\n 'a', ]\nquote = 'q'\nfeature = \"f\"\n"
    (todo,) = parse_requirement_file(text, "x.toml").citations
    assert (todo.quote_location.line, todo.feature) == (5, "f")


CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
LINES = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n"), max_size=40)
ODD = ["it MUST \x1b[31m", "''' \"\"\" \\", "a\rb", "\x85\x9b"]


##= docs/spec/trace.md#requirement-files
##% A generated requirement file MUST be valid TOML without raw control characters, whatever the specification
##% contains.
@given(target=LINES, quote=st.lists(LINES, min_size=1, max_size=4), text=LINES)
@example(target='a"b\\c', quote=ODD, text="MUST\x0c\x07")
def test_any_text_survives_a_round_trip_through_a_requirement_file(target: str, quote: list[str], text: str) -> None:
    specification = parse_specification(f"# Title \x1b]0;x\x07\n\nIt MUST {text}\n", Format.MARKDOWN, "s.md")
    section = specification.sections[-1]
    requirements = [ExtractedRequirement(Level.MUST, tuple(quote)), ExtractedRequirement(Level.MAY, ("plain",))]
    written = format_requirement_file(target, section, requirements)
    assert not CONTROL.search(written)
    read = tomllib.loads(written)
    assert read["target"] == f"{target}#{section.id}"
    assert [entry["quote"] for entry in read["spec"]] == ["\n".join(quote) + "\n", "plain\n"]
    built = requirement_file_citations("x.toml", target, section, requirements).citations
    parsed = parse_requirement_file(written, "x.toml").citations
    assert [(c.line, c.target, c.comment) for c in built] == [(c.line, c.target, c.comment) for c in parsed]
    assert not CONTROL.search(format_requirement_comments(target, section, requirements))


def test_an_ordinary_requirement_file_is_the_same_as_duvets() -> None:
    specification = parse_specification('# A\n\nIt MUST be\n"so" \\ thus.\n', Format.MARKDOWN, "s.md")
    ((section, requirements),) = extract_requirements(specification)
    assert format_requirement_file("s.md", section, requirements) == (
        'target = "s.md#a"\n\n# A\n#\n# It MUST be\n# "so" \\ thus.\n\n'
        "[[spec]]\nlevel = \"MUST\"\nquote = '''\nIt MUST be\n\"so\" \\ thus.\n'''\n\n"
    )
