"""Read a citation that someone pasted: a comment in any style, with or without prefixes, or a TOML entry."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from contextive.trace.citation import Citation, CommentStyle, parse_citations
from contextive.trace.requirement_file import parse_requirement_file
from contextive.trace.text import trim

##= docs/spec/trace.md#validate-citation
##% A citation MUST be accepted in every common comment style, and without comment markers.
COMMENT_STYLES = (
    CommentStyle("//=", "//#"),
    CommentStyle("*=", "*#"),
    CommentStyle("##=", "##%"),
    CommentStyle("#=", "#%"),
    CommentStyle("--=", "--#"),
    CommentStyle(";=", ";#"),
    CommentStyle("%=", "%#"),
)
"""The comment styles that are accepted in a pasted citation."""

META, CONTENT = "//= ", "//# "
_FIELD = re.compile(r"(source|type|level|format|reason|feature|tracking-issue)\s*=")
_OPENING = re.compile(r"(?:/(?=\*[=#])|/\*+|\(\*|<!--|\"\"\"|''')\s*")
_CLOSINGS = ("*/", "*)", "-->", '"""', "'''")
_PLAIN_COMMENT = re.compile(r"(?:///?|//!|(?<!#)#++|--|(?<!;);++|(?<!%)%++|\*)\s++")
_FENCES = ("```", "~~~")


def styles_of(own: Iterable[CommentStyle]) -> list[CommentStyle]:
    """The common comment styles and those of a project, longest prefix first."""
    added = [style for style in own if style.meta and style.content and style not in COMMENT_STYLES]
    return sorted(
        {*added, *COMMENT_STYLES},
        key=lambda style: (-len(style.meta), COMMENT_STYLES.index(style) if style in COMMENT_STYLES else -1),
    )


def read_citation(
    text: str, styles: Sequence[CommentStyle] = COMMENT_STYLES
) -> tuple[Citation | None, str, CommentStyle]:
    """The citation in a pasted text, or an error message; and its comment style.

    The text is a comment, with or without prefixes, or an entry of a requirement file.
    """
    if is_toml_entry(text):
        entry = parse_requirement_file(text, "citation")
        if not entry.problems and len(entry.citations) == 1:
            return entry.citations[0], "", styles[0]
    style, lines = strip_prefixes(text, styles)
    citation, error = parse_lines(lines)
    return citation, error, style or styles[0]


def is_toml_entry(text: str) -> bool:
    return text.lstrip().startswith("[[")


def parse_lines(lines: Sequence[str]) -> tuple[Citation | None, str]:
    """The one citation in lines that have the usual prefixes, or an error message."""
    if not lines:
        return None, "The citation is empty"
    if lines[0].startswith(CONTENT):
        return None, "Invalid citation: it must begin with its target (path or URL of the specification, #, section)"
    parsed = parse_citations("\n".join(lines), "citation", CommentStyle("//=", "//#"))
    if parsed.problems:
        return None, f"Invalid citation: {parsed.problems[0].message}"
    if len(parsed.citations) != 1:
        return None, "Expected one citation: validate each one separately"
    return parsed.citations[0], ""


def strip_prefixes(text: str, styles: Sequence[CommentStyle]) -> tuple[CommentStyle | None, list[str]]:
    """The comment style of a pasted text, if it has one, and its lines with the usual prefixes instead."""
    found: CommentStyle | None = None
    lines: list[str] = []
    if "\n" not in text:
        text = text.replace("\\n", "\n")  # escaped by a shell, or in JSON that was encoded twice
    opened = False
    for raw in text.split("\n"):
        line = trim(raw)
        if line.startswith(_FENCES):
            continue  # a code block around the citation
        opening = _OPENING.match(line)
        if opening is not None:
            opened, line = True, line[opening.end() :]
        if opened:
            line = _strip_comment_end(line)
        style = next((s for s in styles if line.startswith((s.meta, s.content))), None)
        if style is not None:
            found = style
            is_meta = line.startswith(style.meta)
            body = line[len(style.meta if is_meta else style.content) :]
        else:
            body = _PLAIN_COMMENT.sub("", _strip_comment_end(line), count=1)
            is_meta = not lines or bool(_FIELD.match(body))
        if trim(body):
            lines.append((META if is_meta else CONTENT) + trim(body))
    return found, lines


def _strip_comment_end(line: str) -> str:
    """The line without the end of a comment and the space around it."""
    bare = line.rstrip()
    mark = next((mark for mark in _CLOSINGS if bare.endswith(mark)), None)
    return line if mark is None else bare.removesuffix(mark).rstrip()
