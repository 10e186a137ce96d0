"""All views, each with its path."""

from __future__ import annotations

from typing import Final

from contextive.web.changes import changes
from contextive.web.code import code
from contextive.web.findings import findings
from contextive.web.graph import graph
from contextive.web.matrix import matrix
from contextive.web.notes import note, note_form, notes
from contextive.web.overview import overview
from contextive.web.page import View
from contextive.web.requirement import requirement
from contextive.web.search import search
from contextive.web.specification import specification, specifications
from contextive.web.status import status

VIEWS: Final = (
    View("overview", "/", overview, "trace", "Overview"),
    View("specs", "/specs", specifications, "trace", "Specs"),
    View("specification", "/specs/{spec_id}", specification, "trace"),
    View("requirement", "/requirements/{identifier:path}", requirement, "trace"),
    View("findings", "/findings", findings, "trace"),
    View("changes", "/changes", changes, "trace", "Changes"),
    View("matrix", "/matrix", matrix, "trace", "Matrix"),
    View("code", "/code", code, "trace", "Code"),
    View("file", "/code/{path:path}", code, "trace"),
    View("graph", "/graph", graph, "knowledge", "Graph"),
    View("notes", "/notes", notes, "notes", "Notes"),
    View("note-new", "/notes/new", note_form, "notes"),
    View("note-edit", "/notes/{slug}/edit", note_form, "notes"),
    View("note", "/notes/{slug}", note, "notes"),
    View("search", "/search", search, "knowledge"),
    View("status", "/status", status, "introspect", "Status"),
)
