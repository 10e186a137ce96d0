"""In the specification of Contextive every requirement is one sentence that people and extractors understand."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from contextive.trace.extraction import extract_requirements
from contextive.trace.markdown import parse_markdown

from .source_tree import ROOT

PAGES = sorted((ROOT / "docs" / "spec").glob("*.md"))
MAX_LENGTH = 220
_KEYWORD = re.compile(
    r"\b(?:MUST(?: NOT)?|SHALL(?: NOT)?|REQUIRED|SHOULD(?: NOT)?|(?:NOT )?RECOMMENDED|MAY|OPTIONAL)\b(?!\")"
)


def _slug(title: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")


def sections(path: Path) -> Iterator[tuple[str, str]]:
    """Yield each heading with the text below it."""
    title, lines = "", list[str]()
    for line in path.read_text(encoding="utf-8").splitlines():
        if heading := re.match(r"#+ (.+)", line):
            yield title, "\n".join(lines)
            title, lines = heading[1], []
        else:
            lines.append(line)
    yield title, "\n".join(lines)


def sentences(text: str) -> Iterator[str]:
    """Split text as an extractor does: at a full stop before white space, at an empty line, at a list item."""
    for paragraph in re.split(r"\n\s*\n|\n(?=[-*] )", text):
        joined = " ".join(line.strip() for line in paragraph.splitlines())
        yield from (part.strip() for part in re.split(r"(?<=\.)(?=\s)", joined) if part.strip())


def requirement_sentences(path: Path) -> list[tuple[str, str]]:
    return [
        (title, sentence) for title, text in sections(path) for sentence in sentences(text) if _KEYWORD.search(sentence)
    ]


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_every_requirement_has_one_keyword_and_is_short(path: Path) -> None:
    found = requirement_sentences(path)
    assert found
    assert [s for _, s in found if len(_KEYWORD.findall(s)) != 1] == []
    assert [s for _, s in found if len(s) > MAX_LENGTH] == []


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_every_requirement_is_a_whole_sentence(path: Path) -> None:
    assert [
        s for _, s in requirement_sentences(path) if not s.endswith(".") or not s.lstrip("-* `")[:1].isupper()
    ] == []


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_no_requirement_is_repeated_in_a_section(path: Path) -> None:
    assert [found for found, times in Counter(requirement_sentences(path)).items() if times > 1] == []


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_no_requirement_is_in_a_table_or_in_code(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert "```" not in text
    assert [line for line in text.splitlines() if line.startswith(("|", "    ")) and _KEYWORD.search(line)] == []


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_every_section_has_a_unique_anchor(path: Path) -> None:
    slugs = [_slug(title) for title, _ in sections(path) if title]
    assert [slug for slug, times in Counter(slugs).items() if times > 1] == []


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_the_extractor_finds_the_same_requirements(path: Path) -> None:
    specification = parse_markdown(path.read_text(encoding="utf-8"))
    extracted = [r for _, requirements in extract_requirements(specification) for r in requirements]
    assert [r.text for r in extracted] == [sentence for _, sentence in requirement_sentences(path)]
    assert [r.text for r in extracted if len(r.quote) != 1] == [], (
        "a requirement is on one line, so that a quote is one line"
    )
