from __future__ import annotations

import pytest

from contextive.trace.commonmark import block_parser

from .in_memory_trace import markdown, only_section


@pytest.mark.parametrize(
    ("heading", "section_id", "title"),
    [
        ("# Overview", "overview", "Overview"),
        ("## 1.1 Purpose", "1-1-purpose", "1.1 Purpose"),
        ("### A_B.C", "a-b-c", "A_B.C"),
        ("   ## Indented", "indented", "Indented"),
        ("##\tTab", "tab", "Tab"),
        ("## Closed ##", "closed", "Closed"),
        ("## Closed##", "closed", "Closed##"),
        ("## Closed \\##", "closed", "Closed \\##"),
        ("## Trailing tab\t", "trailing-tab", "Trailing tab\t"),
        ("## Tab before\t##", "tab-before", "Tab before\t##"),
        ("##", "", "##"),
        ("## ", "", "## "),
        ("## ###", "", "## ###"),
        ("## Foo *bar baz*", "foo-bar-baz", "Foo *bar baz*"),
        ("## **Bold** rest", "bold-rest", "Bold** rest"),
        ("## _em_", "em", "em_"),
        ("## [Foo](x)", "foo-x", "Foo](x)"),
        ("## `code` first", "first", " first"),
        ("## `code`", "code", "## `code`"),
        ("## `code`\t", "code", "## `code`\t"),
        ("## `code` ##", "", ""),
        ("## <!-- c -->\t", "", "\t"),
        ("## Some `code`", "some-code", "Some `code`"),
        ("## <b>html</b> x", "html-b-x", "html</b> x"),
        ("## ![img](y) z", "img-y-z", "img](y) z"),
        ("## ![](y) z", "z", " z"),
        ("## \\*lead", "lead", "*lead"),
        ("## Escaped \\* star", "escaped-star", "Escaped \\* star"),
        ("## &lt;lead", "lead", "lead"),
        ("## Entity &amp; so", "entity-amp-so", "Entity &amp; so"),
        ("## Last &amp;", "last", "Last "),
        ("## <http://a.example> b", "http-a-example-b", "http://a.example> b"),
        ("## Custom {#own-Id}", "own-Id", "Custom"),
        ("## Custom {.c #a #b key=v}", "b", "Custom"),
        ("## Class {.x}", "class", "Class"),
        ("## Empty {}", "empty", "Empty"),
        ("## Open {not closed", "open-not-closed", "Open {not closed"),
        ("## Angle {#a<b}", "angle-a-b", "Angle {#a<b}"),
        ("## Both ## {#x}", "x", "Both"),
        ("## Both {#x} ##", "both-x", "Both {#x}"),
        ("Setext\n===", "setext", "Setext"),
        ("Setext  \n--- ", "setext", "Setext"),
        ("Two\nlines\n---", "two-lines", "Two lines"),
        ("Own {#id}\n---", "id", "Own"),
        ("`code`\n---", "code", "`code`"),
        ("\u00a0Nbsp\u00a0\n---", "nbsp", "\u00a0Nbsp\u00a0"),
        ("\x1cOdd\n---", "odd", "\x1cOdd"),
        ("> # Quoted", "quoted", "Quoted"),
        ("- # Item", "item", "Item"),
        ("1. ## `x`", "1-x", "1. ## `x`"),
    ],
)
def test_a_section_gets_its_id_and_title_from_the_heading(heading: str, section_id: str, title: str) -> None:
    section = only_section(markdown(heading + "\n"))
    assert (section.id, section.title) == (section_id, title)


def test_a_name_in_brackets_is_a_link_if_it_is_defined() -> None:
    definition = "\n[ref]: /x\n"
    assert only_section(markdown("## [ref]\n" + definition)).title == "ref]"
    assert only_section(markdown("## [ref]\n")).title == "[ref]"
    # Before a tab at the end it is not a link.
    assert only_section(markdown("## [ref]\t\n" + definition)).title == "[ref]\t"


@pytest.mark.parametrize(
    "text",
    [
        "#no space",
        "####### seven",
        "    # code",
        "```\n# fenced\n```",
        "<div>\n# html\n</div>",
        "\\# escaped",
        "text\n    ===",
    ],
)
def test_a_line_that_only_looks_like_a_heading_is_text(text: str) -> None:
    assert markdown(text + "\n").sections == ()


def test_repeated_ids_get_a_number() -> None:
    specification = markdown("# A\n# A\n# A-1\n# A\n")
    assert [section.id for section in specification.sections] == ["a", "a-1", "a-1-1", "a-2"]
    assert specification.duplicates == ("a", "a-1")


def test_the_first_top_level_heading_is_the_title_of_the_document() -> None:
    assert markdown("## B\n\nTwo\nlines\n===\n\n# A\n").title == "Two lines"
    assert markdown("## B\n").title is None


def bodies(text: str) -> list[list[str | None]]:
    return [[line.text if line else None for line in section.lines] for section in markdown(text).sections]


def test_a_section_has_the_raw_lines_up_to_the_next_heading() -> None:
    assert bodies("lost\n# A\n\n  *x*\n\n```\n# no\n```\n\n## B\ny\r\n") == [["  *x*", "", "```", "# no", "```"], ["y"]]


def test_each_list_item_is_separated() -> None:
    assert bodies("# A\nIntro\n- one\n  more\n- two\n\nEnd\n") == [
        ["Intro", None, "- one", "  more", None, "- two", None, "", "End"],
    ]


def test_nested_list_items_are_separated_too() -> None:
    assert bodies("# A\n- a\n  - b\n  - c\n- d\nx\n\ny\n") == [
        ["- a", None, "  - b", None, "  - c", None, "- d", "x", None, "", "y"],
    ]


def test_the_separator_after_code_is_where_its_last_piece_begins() -> None:
    assert bodies("# A\n- a\n\n  ```\n  x\n  y\n  ```\nz\n") == [["- a", "", "  ```", "  x", "  y", None, "  ```", "z"]]
    # Lines whose indent is not removed belong to the piece before them.
    assert bodies("# A\n- a\n\n  ```\n  x\n\n\n  ```\nz\n") == [["- a", "", "  ```", "  x", None, "", "", "  ```", "z"]]


def test_after_code_with_crlf_the_separator_is_one_line_later() -> None:
    assert bodies("# A\r\n- ```\r\n  a\r\n- MUST\r\n i.e.\r\n") == [["- ```", "  a", None, "- MUST", " i.e."]]


@pytest.mark.parametrize("odd", ["\x85", "\x1c", "\u2028", "\x0b"])
def test_only_line_ends_end_lines_of_code(odd: str) -> None:
    assert bodies(f"# A\n- ```\n  a{odd}b\n- c\n") == [["- ```", f"  a{odd}b", None, "- c"]]


def test_a_tag_or_code_span_of_several_lines_counts_as_on_its_first_line() -> None:
    assert bodies("# A\n- a `b\n  c`\nd\n\nz\n") == [["- a `b", "  c`", "d", None, "", "z"]]
    assert bodies("# A\n- a `b\n  c`\n\nz\n") == [["- a `b", None, "  c`", "", "z"]]


def test_a_line_outside_an_item_indented_by_four_columns_continues_its_paragraph() -> None:
    assert bodies("# A\n-    one\n    <p>MUST\n") == [["-    one", "    <p>MUST"]]
    assert bodies("# A\n 10) MUST\n    ```\n") == [[" 10) MUST", "    ```"]]
    assert bodies("# A\n   -\t- one\n    - two\n") == [["   -\t- one", "    - two"]]


def test_a_heading_inside_a_list_item_starts_a_section_and_the_item_ends_later() -> None:
    assert bodies("# A\nx\n- # B\n  y\n- z\n") == [["x"], ["  y", None, "- z"]]


def test_only_the_last_line_of_a_heading_right_after_a_list_item_is_kept() -> None:
    sections = markdown("# x\n1. ## b\nTrailing\nin between\ntwo *spaces*\n---\nMUST\n").sections
    assert [section.title for section in sections] == ["x", "b", "two *spaces*"]
    assert [line.text for line in sections[1].text_lines] == ["in between"]


def test_a_lone_carriage_return_ends_a_line_only_for_markdown() -> None:
    section = only_section(markdown("# A\rtext\nmore\n"))
    assert (section.id, section.title) == ("a", "A")
    assert [line.text for line in section.text_lines] == ["more"]


def test_a_form_feed_alone_on_a_line_is_a_blank_line() -> None:
    assert [section.title for section in markdown("\x0c\r\nTitle\r\n---\r\n").sections] == ["Title"]
    assert [section.title for section in markdown("#\x0cTitle\n").sections] == ["Title"]
    assert markdown("\n\x0c\n-\n").sections == ()
    assert [section.title for section in markdown("# A\n \x0c\t\n\x0b\n-\n").sections] == ["A"]


def test_a_form_feed_does_not_end_a_paragraph() -> None:
    assert bodies("# A\n* the\nMAY\n\x0c\nbe\n") == [["* the", "MAY", "\x0c", "be"]]


def test_offsets_refer_to_the_file() -> None:
    text = "intro é\r\n\r\n> ## *Title* \r\n> text 🦀\r\n"
    section = only_section(markdown(text))
    assert text[section.title_start : section.title_end] == section.title_text == "Title*"
    assert all(text[line.start : line.end] == line.text for line in section.text_lines)


@pytest.mark.parametrize(
    "block",
    [
        "Plain words\nand more of them",
        "  Indented\n      and deeper",
        "Words\n# Heading",
        "Words\n- item\n  # Inner",
        "Words\n===",
        "Words\n---",
        "Words\n1. item",
        "Words\n2. no item",
        "Words\n> # Quoted",
        "Words\n```\n# code\n```",
        "Words\n<!-- \n# comment\n-->",
        "- item\n\n  words\n  # Inner\nlazy\n# Outer",
        "> words\nlazy\n# Outer",
        "[words]: x\n# Heading",
        "[words]: x\n===",
        "    words\n# Heading",
        "= words\n===",
    ],
)
def test_skipping_plain_paragraphs_does_not_change_the_sections(block: str) -> None:
    text = f"# First [words]\n\n{block}\n\nLast words\n\n## [words] last\n"
    expected = markdown(text).sections
    ruler = block_parser().block.ruler
    ruler.disable("plain_paragraph")
    try:
        assert markdown(text).sections == expected
    finally:
        ruler.enable("plain_paragraph")
