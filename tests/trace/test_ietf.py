from __future__ import annotations

import pytest

from contextive.trace.specification import Format, parse_specification

from .in_memory_trace import ietf, only_section


def ids(text: str) -> list[str]:
    return [section.id for section in ietf(text).sections]


@pytest.mark.parametrize(
    ("heading", "section_id", "title"),
    [
        ("1. Introduction", "section-1", "Introduction"),
        ("1.  Introduction", "section-1", "Introduction"),
        ("1 Introduction", "section-1", "Introduction"),
        ("1: Introduction", "section-1", "Introduction"),
        ("1.2.3.  Deep", "section-1.2.3", "Deep"),
        ("12", "section-12", ""),
        ("3.1.", "section-3.1", ""),
        ("1.\tTab", "section-1", "Tab"),
        ("A.1.  Inner", "appendix-A.1", "Inner"),
        ("A1 Inner", "appendix-A1", "Inner"),
        ("Appendix A", "appendix-A", ""),
        ("Appendix A.", "appendix-A", ""),
        ("Appendix A. Title", "appendix-A", "Title"),
        ("APPENDIX B: Title", "appendix-B", "Title"),
        ("Annex C : Title", "appendix-C", "Title"),
        ("Appendix D - Title", "appendix-D", "Title"),
        ("Appendix E -- Title", "appendix-E", "Title"),
        ("Appendix F Title", "appendix-F", "Title"),
        ("Appendix A.1 Title", "appendix-A.1", "Title"),
        ("Appendix 3 Title", "appendix-3", "Title"),
        ("1. Trailing |", "section-1", "Trailing |"),
        ("1.\u3000Wide", "section-1", "Wide"),
        ("1. \x1c Odd", "section-1", "\x1c Odd"),
    ],
)
def test_a_heading_after_a_blank_line_is_a_section(heading: str, section_id: str, title: str) -> None:
    section = only_section(ietf(f"\n{heading}\n\n   Text.\n"))
    assert (section.id, section.title) == (section_id, title)


@pytest.mark.parametrize(
    "line",
    [
        "1. Contents ......... 3",
        "1. Contents . . . . 3",
        "1. ; comment",
        "1. struct {",
        "1. call(",
        "1. too     wide",
        "200. Too big",
        "0. Zero",
        "1.a Letter",
        "AA. Two",
        " 1. Indented",
        "a. Lower case",
        "... dots",
        "Appendix a",
        "1.\x1cOdd",
    ],
)
def test_a_line_that_only_looks_like_a_heading_is_text(line: str) -> None:
    assert ids(f"\n{line}\n\n   Text.\n") == []


@pytest.mark.parametrize(
    ("first", "second", "accepted"),
    [
        ("1", "2", True),
        ("1", "1.1", True),
        ("1", "3", False),
        ("1.1", "1.2", True),
        ("1.1", "1.3", False),
        ("1.9", "2", True),
        ("2", "1", False),
        ("2", "2", False),
        ("2", "A.", True),
        ("A.1", "B.1", True),
        ("A.1", "A.2", True),
        ("A.1", "C.1", False),
    ],
)
def test_without_a_blank_line_before_it_a_number_must_follow_the_previous_one(
    first: str, second: str, accepted: bool
) -> None:
    text = f"\n{first} First\n   Text.\n{'Appendix ' if second == 'A.' else ''}{second} Second\n   Text.\n"
    assert (len(ids(text)) == 2) is accepted


def test_without_a_blank_line_before_it_the_first_heading_must_be_number_one() -> None:
    assert ids("1 One\n") == ["section-1"]
    assert ids("1.0 One\n") == ["section-1.0"]
    assert ids("2 Two\n") == []


def test_the_number_of_a_title_with_a_bar_must_follow_even_after_a_blank_line() -> None:
    assert ids("\n1 One\n\n5 a | b\n\n2 c | d\n") == ["section-1", "section-2"]


def test_well_known_titles_alone_between_blank_lines_are_headings() -> None:
    assert ids("\nAbstract\n\n   A.\n\nSecurity Considerations\n\n   S.\n") == [
        "name-abstract",
        "name-security-considerations",
    ]
    assert ids("\nAbstract\n   A.\n") == []
    assert ids("Abstract\n\n   A.\n") == []
    assert ids("\n Abstract\n\n   A.\n") == []
    # The blank line after one title does not count as the blank line before the next.
    assert ids("\nAbstract\n\nIndex\n\n") == ["name-abstract"]


def test_page_headers_and_footers_are_removed() -> None:
    text = (
        "\n1. One\n\n   First,\n\nAuthor      Informational      [Page 1]\n\x0c\nRFC 1      Title      May 2020\n\n\n"
        "   second.\n\x0c\nA Running Header\n   third.\n[Page 9]\n"
    )
    lines = [line.text for line in only_section(ietf(text)).text_lines]
    assert lines == ["   First,", "", "   second.", "", "   third."]


def test_a_form_feed_next_to_other_white_space_is_a_blank_line() -> None:
    section = only_section(ietf("\n1. One\n\n   a\n \x0c\n   b\n"))
    assert [line.text for line in section.text_lines] == ["   a", "", "   b"]


def test_a_byte_order_mark_is_not_part_of_the_first_line() -> None:
    specification = ietf("\ufeff1. One\n   Text.\n")
    assert specification.sections[0].id == "section-1"
    assert specification.source.text[specification.sections[0].title_start] == "O"


def test_of_two_sections_with_the_same_number_the_last_counts() -> None:
    specification = ietf("\n1. One\n\n   a\n\n1. Again\n\n   b\n")
    assert [section.title for section in specification.sections] == ["Again"]
    assert specification.duplicates == ("section-1",)


@pytest.mark.parametrize("name", ["section-1", "1", "appendix-1", "section-section-1"])
def test_the_prefix_of_an_id_may_be_missing_or_the_other_one(name: str) -> None:
    section = ietf("\n1. One\n\n   a\n").section(name)
    assert section is not None
    assert section.id == "section-1"


def test_in_other_formats_ids_must_match_exactly() -> None:
    assert parse_specification("# section-1\n", Format.MARKDOWN, "x").section("1") is None


@pytest.mark.parametrize(
    ("name", "text", "form"),
    [
        ("a.md", "1. x", Format.MARKDOWN),
        ("a.markdown", "", Format.MARKDOWN),
        ("a.MD", "1. x", Format.IETF),
        ("a.txt", "\n  # x", Format.MARKDOWN),
        ("a.txt", '[//]: "Copyright"', Format.MARKDOWN),
        ("a.txt", "x # y", Format.IETF),
        (".md", "x", Format.IETF),
        ("md", "x", Format.IETF),
    ],
)
def test_the_format_is_detected_from_the_name_or_the_first_characters(name: str, text: str, form: Format) -> None:
    assert parse_specification(text, Format.AUTO, name).format is form
