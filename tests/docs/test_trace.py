"""The tables of the tracing guide match the code."""

from __future__ import annotations

import re

from contextive.ingest.trace_defaults import SPECIFICATION_PATTERNS, STYLES_BY_ENDING
from contextive.ops.duvet_init import LANGUAGES
from contextive.trace.ranking import PRIORITY_DETAIL, PRIORITY_STATUS, SIMPLE_STATUS
from contextive.trace.requirement import Status

from .pages import ROOT

PAGE = (ROOT / "docs" / "trace.md").read_text(encoding="utf-8")


def rows(heading: str) -> list[list[str]]:
    """Return the cells of the tables below a heading, with their header rows."""
    text = re.search(rf"^#+ {re.escape(heading)}\n(.*?)(?=^##|\Z)", PAGE, re.MULTILINE | re.DOTALL)
    assert text is not None
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in text[1].splitlines() if line[:1] == "|"]


def test_the_statuses_match_the_code() -> None:
    found = {row[0]: row[2].rstrip(" |") for row in rows("Statuses") if row[0].startswith("`")}
    assert found == {f"`{status.value}`": SIMPLE_STATUS[status] for status in Status}
    section = PAGE.partition("\n## Statuses\n")[2].partition("\n## ")[0]
    assert all(f"`{word}`" in section for word in PRIORITY_STATUS.values())
    assert PRIORITY_DETAIL[Status.MISSING_TEST] in section


def test_the_default_file_endings_match_the_code() -> None:
    found = {
        ending: re.findall(r"`(\S+)` and `(\S+)`", row[1])
        for row in rows("Without a configuration")[2:]
        for ending in row[0].split(", ")
    }
    assert found == {ending: [(s.meta, s.content) for s in styles] for ending, styles in STYLES_BY_ENDING.items()}


def test_the_default_specification_patterns_match_the_code() -> None:
    text = PAGE.partition("### Without a configuration")[2].partition("\n## ")[0]
    assert tuple(re.findall(r"`([^`]+\.(?:md|txt))`", text)) == SPECIFICATION_PATTERNS


def test_the_comment_styles_of_init_are_documented() -> None:
    documented = {
        f'comment-style = {{ meta = "{m}", content = "{c}" }}' for m, c in re.findall(r"\| `(\S+)` \| `(\S+)` \|", PAGE)
    }
    assert {style for _, style, _ in LANGUAGES.values() if style} <= documented
