"""The code that a citation comment belongs to: what is below it, to the end of the statement or function.

Programming languages are not parsed. Indentation shows where a block ends in all of them, if the code is formatted.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

MAX_LINES: Final = 40
"""The most lines of code that belong to a citation."""
MAX_LINE_CHARACTERS: Final = 400
"""Longer lines are generated code or data, and are cut."""
_SHORT = 4
"""A statement with fewer lines is shown together with the next ones of its block."""
_ALONE = 6
"""How many lines above a comment are shown if nothing is below it."""
_TAB = 4
_MAX_SKIPPED = 60
_COMMENT = re.compile(r"//|#(?!\[|include|define|if|pragma)|--|;|%|/?\*(?!\w)|<!--|\"\"\"|'''")
_ATTRIBUTE = re.compile(r"#!?\[|@")
_CLOSING = re.compile(
    r"[)\]}>|.?&+]|->|=>|(?:end|else|elif|elsif|except|finally|catch|rescue|ensure|when|then|where|and|or)\b|\{"
)


@dataclass(frozen=True, slots=True)
class CodeBelow:
    """A range of lines of a file, by index. `more` lines of the same code are left out after it."""

    first: int
    last: int
    more: int = 0

    def of(self, lines: Sequence[str]) -> list[str]:
        """These lines, without line ends; very long ones are cut."""
        return [shown_line(line) for line in lines[self.first : self.last + 1]]


def shown_line(line: str) -> str:
    """A line as it is shown: without its line end, and cut if it is very long."""
    line = line.rstrip("\r")
    return line if len(line) <= MAX_LINE_CHARACTERS else line[:MAX_LINE_CHARACTERS] + "…"


##= docs/spec/trace.md#get-citation-context
##% The code of a citation MUST reach from its comment to the end of the statement, block or function below it.
def code_below(lines: Sequence[str], first: int, last: int, most: int = MAX_LINES) -> CodeBelow:
    """The code below the comment in lines `first` to `last` (indexes), at most `most` lines from the comment's end."""
    start = first_code_line(lines, last + 1)
    if start is None or _indent(lines[start]) < _comment_indent(lines, first):
        return CodeBelow(_block_start(lines, first), min(last, len(lines) - 1))
    end = _statement_end(lines, start)
    if end - start + 1 < _SHORT:
        end = _with_next_statements(lines, start, end)
    shown = min(end, last + most)
    return CodeBelow(first, shown, end - shown)


def first_code_line(lines: Sequence[str], start: int) -> int | None:
    """The index of the first line from `start` on that is neither empty nor a comment."""
    for index in range(start, min(len(lines), start + _MAX_SKIPPED)):
        text = lines[index].strip()
        if text and not _COMMENT.match(text):
            return index
    return None


def enclosing_line(lines: Sequence[str], index: int) -> int | None:
    """The index of the line that opens the block of a line, such as its condition; None at the top level."""
    indent = _indent(lines[index]) if index < len(lines) else 0
    for above in range(index - 1, max(-1, index - _MAX_SKIPPED), -1):
        text = lines[above].strip()
        if text and _indent(lines[above]) < indent and text[0] not in ")]}" and not _COMMENT.match(text):
            return above
    return None


def _statement_end(lines: Sequence[str], start: int) -> int:
    """The last line of the statement or block that begins at `start`, with the attributes above a definition."""
    indent, end, after_attribute = _indent(lines[start]), start, _is_attribute(lines[start])
    for index in range(start + 1, len(lines)):
        text = lines[index].strip()
        if not text:
            continue
        depth = _indent(lines[index])
        if depth < indent or (depth == indent and not (after_attribute or _CLOSING.match(text))):
            break
        if depth == indent:
            after_attribute = _is_attribute(lines[index]) or (after_attribute and _COMMENT.match(text) is not None)
        end = index
    return end


def _with_next_statements(lines: Sequence[str], start: int, end: int) -> int:
    """The end of a few lines more of the same block. A definition that is not indented is not continued."""
    indent = _indent(lines[start])
    while end - start + 1 < _SHORT:
        following = next((index for index in range(end + 1, len(lines)) if lines[index].strip()), None)
        if following is None or _indent(lines[following]) < indent or (indent == 0 and following > end + 1):
            break
        if _COMMENT.match(lines[following].strip()):
            break  # about something else
        end = _statement_end(lines, following)
    return end


def _comment_indent(lines: Sequence[str], index: int) -> int:
    """The indentation of a comment. That of a line in a block comment is where the comment begins."""
    for above in range(index, max(-1, index - _MAX_SKIPPED), -1):
        text = lines[above].lstrip()
        if text.startswith("/*"):
            return _indent(lines[above])
        if not text.startswith("*"):
            break
    return _indent(lines[index])


def _block_start(lines: Sequence[str], first: int) -> int:
    """The start of a few lines above a comment that nothing follows in its block."""
    indent, start = _indent(lines[first]), first
    while (
        start > 0 and first - start < _ALONE and (not lines[start - 1].strip() or _indent(lines[start - 1]) >= indent)
    ):
        start -= 1
    return start


def _is_attribute(line: str) -> bool:
    return _ATTRIBUTE.match(line.strip()) is not None


def _indent(line: str) -> int:
    expanded = line[: len(line) - len(line.lstrip())].expandtabs(_TAB)
    return len(expanded)
