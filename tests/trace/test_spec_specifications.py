"""One test for each requirement about specifications in docs/spec/trace.md: formats, sections, extraction, identifiers."""

from __future__ import annotations

from pathlib import Path

import pytest
from blake3 import blake3

from contextive.trace.catalog import assign_ids
from contextive.trace.extraction import extract_requirements
from contextive.trace.level import Level
from contextive.trace.specification import Format, Specification, parse_specification, slug
from contextive.trace.target import Target
from tests.ingest.projects import Project, cite

SCHEMA = "'$schema' = \"https://awslabs.github.io/duvet/config/v0.4.0.json\"\n"
PROSE = "No heading here.\n\n# Part\n\nIt MUST hold.\n"


def markdown(text: str) -> Specification:
    return parse_specification(text, Format.MARKDOWN, "spec.md")


def found(text: str) -> list[tuple[str, Level]]:
    """The requirements below one heading, with their levels."""
    sections = extract_requirements(markdown(f"# Part\n\n{text}\n"))
    return [(requirement.text, requirement.level) for _, requirements in sections for requirement in requirements]


# -- formats -----------------------------------------------------------------------------------------------------------


##= docs/spec/trace.md#formats
##% If no format is given, a specification whose path ends with `.md` or `.markdown` MUST be read as Markdown.
@pytest.mark.parametrize("name", ["spec.md", "spec.markdown", "deep/down/a.b.md"])
def test_a_markdown_extension_decides_the_format_for_any_text(name: str) -> None:
    assert parse_specification(PROSE, Format.AUTO, name).format is Format.MARKDOWN


##= docs/spec/trace.md#formats
##% Every other text MUST be read as Markdown if it begins with a number sign or with `[//]:`, and as IETF plain text
##% otherwise.
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("# Part\n", Format.MARKDOWN),
        ("[//]: # (a comment)\n\n# Part\n", Format.MARKDOWN),
        (PROSE, Format.IETF),
        ("1.  Part\n\n   It MUST hold.\n", Format.IETF),
    ],
)
def test_without_a_markdown_extension_the_first_characters_decide_the_format(text: str, expected: Format) -> None:
    for name in ("spec.txt", "spec", "https://example.org/spec"):
        assert parse_specification(text, Format.AUTO, name).format is expected


##= docs/spec/trace.md#formats
##% A format set in the configuration (for extraction) or in a citation (for matching it) MUST override the guessed
##% one.
def test_a_configured_format_is_used(tmp_path: Path) -> None:
    project = Project(tmp_path)
    specification = '[[specification]]\nsource = "spec.txt"\n'
    project.write("spec.txt", PROSE)
    project.write("a.rs", cite("spec.txt#part", "It MUST hold.", "format=markdown"))
    project.write(".duvet/config.toml", SCHEMA + '[[source]]\npattern = "*.rs"\n')
    assert project.service().view().state.problems == ()
    project.write("a.rs", cite("spec.txt#part", "It MUST hold."))
    assert [p.code for p in project.service().view().state.problems] == ["section_not_found"]
    project.remove("a.rs")
    project.write(".duvet/config.toml", SCHEMA + specification)
    assert project.service().view().state.generated == ()
    project.write(".duvet/config.toml", SCHEMA + specification + 'format = "markdown"\n')
    assert [file.path for file in project.service().view().state.generated] == [".duvet/requirements/spec/part.toml"]


# -- sections ----------------------------------------------------------------------------------------------------------


##= docs/spec/trace.md#markdown-sections
##% Every heading of a Markdown specification outside code MUST start a section.
def test_every_heading_outside_code_starts_a_section() -> None:
    text = "# One\n\nTwo\n---\n\n- # Three\n\n> ## Four\n\n```\n# not\n```\n\n    # nor\n\n`# neither`\n\n###### Five\n"
    assert [section.title for section in markdown(text).sections] == ["One", "Two", "Three", "Four", "Five"]


##= docs/spec/trace.md#markdown-sections
##% The id of a Markdown section MUST be the one that its heading sets, or else the slug of its title; a duplicate
##% gets a number as a suffix.
def test_a_section_id_comes_from_its_heading_with_a_number_for_duplicates() -> None:
    text = "# Own {#chosen}\n\n# A Title\n\n# A title!\n\n# A title\n\n# Own {#chosen}\n"
    assert list(markdown(text).by_id) == ["chosen", "a-title", "a-title-1", "a-title-2", "chosen-1"]


##= docs/spec/trace.md#markdown-sections
##% A slug MUST consist of the letters and digits of a title in lower-case ASCII, with one dash for each run of other
##% characters.
@pytest.mark.parametrize(
    ("title", "expected"),
    [
        ("Brewing Coffee", "brewing-coffee"),
        ("  3.1 -- What's *new*?  ", "3-1-what-s-new"),
        ("Über Größe", "uber-grosse"),
        ("a_b/c&d", "a-b-c-d"),
    ],
)
def test_a_slug_is_lower_case_ascii_with_single_dashes(title: str, expected: str) -> None:
    assert slug(title) == expected


RFC = "1.  Introduction\n\n   It MUST hold.\n\n1.1.  Detail\n\n   More.\n\nAppendix A.  Notes\n\n   End.\n\nA.1.  Small\n\n   x\n"


##= docs/spec/trace.md#ietf-sections
##% The id of a numbered IETF section MUST be `section-` or `appendix-` followed by the number.
def test_the_id_of_a_numbered_section_has_its_number() -> None:
    ids = list(parse_specification(RFC, Format.IETF, "rfc.txt").by_id)
    assert ids == ["section-1", "section-1.1", "appendix-A", "appendix-A.1"]


##= docs/spec/trace.md#ietf-sections
##% A section of an IETF text MUST also be found without its prefix or with the other prefix.
def test_a_numbered_section_is_found_with_any_prefix_or_without_one() -> None:
    specification = parse_specification(RFC, Format.IETF, "rfc.txt")
    for name in ("1.1", "section-1.1", "appendix-1.1"):
        assert specification.section(name) is specification.by_id["section-1.1"]
    for name in ("A", "section-A", "appendix-A"):
        assert specification.section(name) is specification.by_id["appendix-A"]
    assert markdown("# Section 1").section("1") is None


# -- extraction --------------------------------------------------------------------------------------------------------


##= docs/spec/trace.md#extraction
##% Each sentence that is below a heading and contains a key word of RFC 2119 in capitals MUST be a requirement.
def test_sentences_with_a_key_word_in_capitals_are_requirements() -> None:
    text = "It MUST NOT rain. It must shine.\nThe sun MAY\nset. It is a MUSTER."
    assert [words for words, _ in found(text)] == ["It MUST NOT rain.", "The sun MAY set."]
    assert extract_requirements(markdown("It MUST hold.\n")) == []


##= docs/spec/trace.md#extraction
##% A sentence MUST end at a full stop before white space, at an empty line, at the start or end of a list item, or at
##% the end of its section.
def test_a_sentence_ends_at_a_stop_an_empty_line_an_item_or_the_section() -> None:
    text = "A. B MUST use v1.2 now. C.\n\nD MUST go on\n\nE\n\n- F MUST be\n- G MUST be\n\nH MUST be\n\n# Other\n\nI."
    ((_, requirements),) = extract_requirements(markdown(f"# Part\n\n{text}\n"))
    expected = ["B MUST use v1.2 now.", "D MUST go on", "- F MUST be", "- G MUST be", "H MUST be"]
    assert [requirement.text for requirement in requirements] == expected


##= docs/spec/trace.md#extraction
##% The level MUST be "MUST" for "MUST", "SHALL" and "REQUIRED", "SHOULD" for "SHOULD" and "RECOMMENDED", "MAY" for
##% "MAY" and "OPTIONAL".
@pytest.mark.parametrize(
    ("word", "level"),
    [
        ("MUST", Level.MUST),
        ("SHALL", Level.MUST),
        ("REQUIRED", Level.MUST),
        ("SHOULD", Level.SHOULD),
        ("RECOMMENDED", Level.SHOULD),
        ("MAY", Level.MAY),
        ("OPTIONAL", Level.MAY),
    ],
)
def test_each_key_word_has_its_level(word: str, level: Level) -> None:
    assert found(f"Coffee {word} flow.") == [(f"Coffee {word} flow.", level)]


##= docs/spec/trace.md#extraction
##% A sentence with several key words MUST have the highest of their levels.
@pytest.mark.parametrize("text", ["It MAY and MUST and SHOULD.", "It MUST and MAY.", "It SHOULD\nor MUST."])
def test_the_highest_key_word_of_a_sentence_counts(text: str) -> None:
    assert found(text) == [(" ".join(text.split("\n")), Level.MUST)]


##= docs/spec/trace.md#extraction
##% A key word directly before a quotation mark MUST NOT make a sentence a requirement.
def test_a_key_word_in_quotation_marks_does_not_make_a_requirement() -> None:
    assert found('The word "MUST" is a word.') == []
    assert found('The words "MAY" and SHOULD differ.') == [('The words "MAY" and SHOULD differ.', Level.SHOULD)]


# -- identifiers -------------------------------------------------------------------------------------------------------


##= docs/spec/trace.md#identifiers
##% The identifier of a requirement MUST be the BLAKE3 hash, in 64 hexadecimal digits, of its trimmed lines joined
##% with one space.
def test_an_identifier_is_the_hash_of_the_trimmed_and_joined_lines(tmp_path: Path) -> None:
    project = Project(tmp_path)
    project.write("specs/a.md", "# Part\n\n  The pot MUST  \n   brew coffee.\n")
    (requirement,) = project.service().view().catalog.requirements
    assert requirement.identifier == blake3(b"The pot MUST brew coffee.").hexdigest()
    assert len(requirement.identifier) == 64


##= docs/spec/trace.md#identifiers
##% An identifier MUST be accepted when shortened to eight or more digits, as long as only one requirement text
##% matches.
def test_eight_digits_are_enough_if_they_match_one_text(tmp_path: Path) -> None:
    # Two sentences whose hashes begin with the same eight digits.
    twins = ("Cup number 27965 MUST be full.", "Cup number 58395 MUST be full.")
    project = Project(tmp_path)
    project.write(
        "specs/a.md", f"# Part\n\nThe pot MUST brew. {twins[0]} {twins[1]}\n\n# Other\n\nThe pot MUST brew.\n"
    )
    catalog = project.service().view().catalog
    brew = catalog.requirements[0].identifier
    assert [r.section.id for r in catalog.find(brew[:8])] == ["part", "other"]
    assert catalog.find(brew[:7]) == []
    shared = next(r.identifier for r in catalog.requirements if r.text == twins[0])
    assert catalog.find(shared[:8]) == []
    assert [r.text for r in catalog.find(shared)] == [twins[0]]


##= docs/spec/trace.md#identifiers
##% Two specifications of a project MUST NOT have the same id.
def test_specifications_never_share_an_id() -> None:
    paths = ["specs/a.md", "specs/a.txt", "specs/a b.md", "specs/a-b.md", "https://x.org/spec", "https://y.org/spec.md"]
    ids = assign_ids([Target(path) for path in paths])
    assert len(set(ids.values())) == len(paths)
