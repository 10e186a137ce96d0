"""The text that a requirement needs to be understood."""

from __future__ import annotations

from contextive.trace.requirement import Requirement
from contextive.trace.surroundings import MAX_CHARACTERS, paragraph_of, sentence_before, surroundings_of
from tests.trace.in_memory_trace import catalog_of

SPEC = """\
# Pots

## Brewing

A pot is for coffee. It MUST be clean before it brews. Nobody drinks from a dirty pot.

The pot MUST show:

- its name,
- its age. It MAY show its price.

Tea is another matter.

This rule MUST NOT apply to tea pots. They are never clean.

The amount MUST be computed as follows.

    amount = cups * 2

The end.
"""


def named(text: str) -> Requirement:
    return next(r for r in catalog_of({"s.md": SPEC}).requirements if text in r.text)


##= docs/spec/trace.md#next-steps
##= type=test
##% An explanation MUST contain the paragraph around the sentence, the sentence that introduces a list item, and what a
##% paragraph announces.
def test_the_surroundings_have_what_the_sentence_needs() -> None:
    clean = surroundings_of(named("be clean"))
    assert clean == "A pot is for coffee. It MUST be clean before it brews. Nobody drinks from a dirty pot."
    shown = surroundings_of(named("MUST show"))
    assert shown.split() == [
        "The",
        "pot",
        "MUST",
        "show:",
        "-",
        "its",
        "name,",
        "-",
        "its",
        "age.",
        "It",
        "MAY",
        "show",
        "its",
        "price.",
    ]
    item = surroundings_of(named("MAY show"))
    assert item.startswith("The pot MUST show:")
    assert item.endswith("It MAY show its price.")
    assert "amount = cups * 2" in surroundings_of(named("as follows"))
    assert surroundings_of(named("tea pots")).startswith("Tea is another matter.")
    assert paragraph_of(named("tea pots")).startswith("This rule")


def test_a_huge_paragraph_is_cut_around_the_sentence() -> None:
    text = "# A\n\n" + "Filler is here. " * 2000 + "The pot MUST brew. " + "More filler. " * 2000 + "\n"
    (requirement,) = catalog_of({"s.md": text}).requirements
    found = surroundings_of(requirement)
    assert "The pot MUST brew." in found
    assert len(found) <= MAX_CHARACTERS + 2


def test_a_requirement_that_refers_back_has_the_sentence_before_it() -> None:
    assert sentence_before(named("be clean")) == "A pot is for coffee."
    assert sentence_before(named("This rule")) == "Tea is another matter."
    assert sentence_before(named("The amount")) == ""
