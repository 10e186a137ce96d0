"""The addresses of pages. Names from the project are percent-encoded and only occur below fixed prefixes."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from urllib.parse import urlencode

from contextive.trace.catalog import quote_path, quote_segment
from contextive.trace.requirement import Requirement

_IDENTIFIER_DIGITS = 16
FILE_LINES = 600
"""The lines of a file on one page."""


def with_query(path: str, query: Mapping[str, object]) -> str:
    """The path with the parameters that have a value."""
    given = {name: str(value) for name, value in query.items() if value not in (None, "")}
    return f"{path}?{urlencode(given)}" if given else path


def specification_address(spec_id: str, part: int = 1, anchor: str = "") -> str:
    path = with_query(f"/specs/{quote_segment(spec_id)}", {"part": part if part > 1 else ""})
    return f"{path}#{quote_segment(anchor)}" if anchor else path


def requirement_address(requirement: Requirement, spec_id: str) -> str:
    place = f"{spec_id}#{requirement.section.id}"
    return with_query(f"/requirements/{requirement.identifier[:_IDENTIFIER_DIGITS]}", {"in": place})


def requirement_anchor(requirement: Requirement) -> str:
    """The anchor of a requirement in the text. The same text in two sections has two anchors."""
    section = zlib.crc32(requirement.section.id.encode("utf-8", "surrogatepass")) & 0xFFFF
    return f"r-{requirement.identifier[:12]}-{section:04x}"


def file_address(path: str, line: int = 0) -> str:
    """The page of a file or a directory. Long files come in parts, so a line behind the first part is named twice."""
    address = f"/code/{quote_path(path)}"
    part = f"?line={line}" if line > FILE_LINES else ""
    return f"{address}{part}#L{line}" if line else address


def note_address(slug: str) -> str:
    return f"/notes/{quote_segment(slug)}"
