"""The text of a specification on a page: paragraphs, and what covers which words."""

from __future__ import annotations

from contextive.trace.level import CitationType
from contextive.trace.reports.coverage_spans import CitedSpans
from contextive.trace.specification import Format, Specification, parse_specification
from contextive.web.spec_text import Block, blocks_of, mark_of

PROSE = """# Locker

A door MUST close.
It stays closed.

* one item
  that goes on
* another item

```python
x = 1

y = 2
```

| a | b |
|---|---|
| 1 | 2 |
"""


def blocks(specification: Specification, section_id: str) -> list[Block]:
    section = specification.by_id[section_id]
    return list(blocks_of(section, specification.source.text, specification.format, CitedSpans(()), ()))


def text_of(block: Block) -> str:
    return "".join(piece.text for piece in block.pieces)


def test_lines_of_a_paragraph_are_joined_and_figures_keep_their_lines() -> None:
    found = blocks(parse_specification(PROSE, Format.MARKDOWN, "spec.md"), "locker")
    assert [(block.kind, text_of(block)) for block in found] == [
        ("paragraph", "A door MUST close. It stays closed."),
        ("item", "* one item that goes on"),
        ("item", "* another item"),
        ("figure", "```python\nx = 1\n\ny = 2\n```"),
        ("figure", "| a | b |\n|---|---|\n| 1 | 2 |"),
    ]


def test_code_and_strong_words_lose_their_marks_and_get_a_style() -> None:
    specification = parse_specification("# A\n\nUse `x` and **never** y.\n", Format.MARKDOWN, "spec.md")
    (block,) = blocks(specification, "a")
    assert [(p.text, p.style) for p in block.pieces if p.style] == [("x", "code"), ("never", "strong")]


def test_a_diagram_of_an_rfc_keeps_its_spaces() -> None:
    text = "1.  Frames\n\n   A frame MUST\n   end.\n\n    +---+---+\n    | a | b |\n    +---+---+\n"
    found = blocks(parse_specification(text, Format.IETF, "rfc.txt"), "section-1")
    assert [(block.kind, text_of(block)) for block in found] == [
        ("paragraph", "A frame MUST end."),
        ("figure", "    +---+---+\n    | a | b |\n    +---+---+"),
    ]


def test_words_are_marked_by_the_strongest_citation() -> None:
    citation, test, todo = CitationType.CITATION, CitationType.TEST, CitationType.TODO
    assert mark_of([citation, test], is_required=True) == "both"
    assert mark_of([citation, todo], is_required=True) == "code"
    assert mark_of([CitationType.EXCEPTION, test], is_required=True) == "exception"
    assert mark_of([], is_required=True) == "open"
    assert mark_of([], is_required=False) == ""
