"""Split the text of a file into chunks."""

from __future__ import annotations

import hashlib
import posixpath
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence

from contextive.knowledge.artifact import ArtifactType
from contextive.knowledge.chunk import Chunk, ChunkDraft
from contextive.knowledge.code_chunks import cut_code, display_stem
from contextive.knowledge.document_links import is_markdown
from contextive.knowledge.languages import suffix_of
from contextive.knowledge.lines import MAX_CHUNK_CHARACTERS, TextLines, paragraph_cost, split_range
from contextive.knowledge.markdown_chunks import cut_markdown
from contextive.knowledge.markup_chunks import cut_markup, is_marked_up
from contextive.knowledge.symbol import Symbol
from contextive.knowledge.windows import DEFAULT_WINDOW, Window, cut_line, cut_windows

CHUNKER_VERSION: str = "2"
"""Increase it when the same text would give different chunks, symbols or references, so indexed files are reparsed."""

_PARAGRAPH_SUFFIXES = frozenset({"proto", "sql"})
_DECLARATION = re.compile(
    r"^[ \t]*(?:(?:message|service|enum)|CREATE[ \t]+(?:OR[ \t]+REPLACE[ \t]+)?(?:TEMP(?:ORARY)?[ \t]+)?(?:UNIQUE[ \t]+)?"
    r"(?:TABLE|(?:MATERIALIZED[ \t]+)?VIEW|INDEX|FUNCTION|PROCEDURE|TRIGGER|TYPE)(?:[ \t]+IF[ \t]+NOT[ \t]+EXISTS)?)"
    r"[ \t]+[\"`\[]?([\w.]+)",
    re.MULTILINE | re.IGNORECASE,
)
_MAX_NAMES = 8


##= docs/spec/knowledge.md#chunks-and-symbols
##% Every non-blank line of a file MUST be in a chunk, except for front matter.
##= docs/spec/knowledge.md#chunks-and-symbols
##% Prose MUST be split at headings, code at symbols, and everything else into overlapping windows.
def chunk_text(
    path: str,
    text: str,
    language: str | None,
    artifact_type: ArtifactType,
    symbols: Sequence[Symbol],
    window: Window = DEFAULT_WINDOW,
) -> tuple[Chunk, ...]:
    """The chunks of a file, by line. Together they contain every non-blank line except front matter.

    Markdown, reStructuredText and AsciiDoc are split at headings, code at the given symbols, protocols and SQL at
    paragraphs, everything else into windows.
    """
    if not text or text.isspace():
        return ()
    lines = TextLines.of(text.replace("\r\n", "\n"))
    if is_markdown(path):
        return tuple(_number(path, cut_markdown(path, lines), ()))
    if is_marked_up(path):
        return tuple(_number(path, cut_markup(path, lines), ()))
    if language is not None:
        return tuple(_number(path, cut_code(path, lines, language, symbols), symbols))
    if artifact_type == "proto" or suffix_of(path) in _PARAGRAPH_SUFFIXES:
        return tuple(_number(path, _cut_paragraphs(path, lines), ()))
    return tuple(_number(path, cut_windows(lines, posixpath.basename(path), window), ()))


def _cut_paragraphs(path: str, lines: TextLines) -> Iterator[ChunkDraft]:
    stem = display_stem(path)
    for first, stop in split_range(lines, 0, len(lines.items), paragraph_cost(lines)):
        first, stop = lines.trim(first, stop)
        if stop == first + 1 and lines.size(first, stop) > MAX_CHUNK_CHARACTERS:
            yield from cut_line(lines, first, stem)
        elif first < stop:
            text = lines.text(first, stop)
            names = list(dict.fromkeys(_DECLARATION.findall(text)))[:_MAX_NAMES]
            yield ChunkDraft("code", f"{', '.join(names)} ({stem})" if names else stem, first, stop, text)


##= docs/spec/knowledge.md#chunks-and-symbols
##% The id of a chunk MUST be its path and its number, separated by two colons.
def _number(path: str, pieces: Iterable[ChunkDraft], symbols: Sequence[Symbol]) -> Iterator[Chunk]:
    starts = [symbol.line_start for symbol in symbols]
    for number, (kind, title, first, stop, text) in enumerate(pieces):
        declared: tuple[str, ...] = ()
        if starts:
            begin, end = bisect_left(starts, first + 1), bisect_right(starts, stop)
            declared = tuple(symbol.id for symbol in symbols[begin:end])
        digest = hashlib.sha256(f"{path}:{number}:{title}\0{text}".encode("utf-8", "surrogatepass")).hexdigest()
        yield Chunk(
            chunk_id=f"{path}::{number}",
            sequence=number,
            kind=kind,
            title=title,
            text=text,
            line_start=first + 1,
            line_end=stop,
            digest=digest,
            symbols=declared,
        )
