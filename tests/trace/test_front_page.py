"""Names, titles and descriptions of specifications."""

from __future__ import annotations

import pytest

from contextive.trace.front_page import description_of, name_of, title_of
from contextive.trace.specification import Format, Specification, parse_specification
from contextive.trace.target import Target

RFC = """\
Network Working Group                                           A. Author
Request for Comments: 2324                                           Pots
Category: Informational                                      1 April 1998

                                                                 B. Other

             Hyper Text Coffee Pot Control Protocol
                       draft-author-coffee-03

Status of this Memo

   This memo is free.

Abstract

   This document is about coffee.

1.  Rationale

   There is coffee all over the world.
"""
OLD = """\
NETWORK GROUP                                                    A. Author

                            POTS AND CUPS

References

   [1]  A book.
"""


def parsed(text: str) -> Specification:
    return parse_specification(text, Format.IETF, "rfc.txt")


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("https://www.rfc-editor.org/rfc/rfc2324", "RFC 2324"),
        ("https://tools.ietf.org/id/draft-author-coffee-03.txt", "draft-author-coffee-03"),
        ("https://example.org/", "example.org"),
        ("specs/rfc.txt", "specs/rfc.txt"),
    ],
)
def test_a_specification_has_a_short_name(path: str, name: str) -> None:
    assert name_of(Target(path), parsed(RFC)) == name


def test_a_title_is_the_centred_text_of_the_first_page() -> None:
    assert title_of(parsed(RFC), "RFC 2324") == "RFC 2324: Hyper Text Coffee Pot Control Protocol"
    assert title_of(parsed("1. One\n\n   Text.\n"), "RFC 1") == "RFC 1"


##= docs/spec/trace.md#specification-resources
##= type=test
##% The description of a specification MUST be the beginning of its abstract or introduction or, if it has neither, its
##% title.
def test_a_description_says_what_the_document_is_about() -> None:
    assert description_of(parsed(RFC), "T") == "This document is about coffee."
    assert description_of(parsed(OLD), "RFC 1: POTS AND CUPS") == "RFC 1: POTS AND CUPS"
    text = "# Pots\n\n## References\n\n[1] A book.\n\n## Introduction\n\nAll about pots.\n"
    assert description_of(parse_specification(text, Format.MARKDOWN, "a.md"), "Pots") == "All about pots."
