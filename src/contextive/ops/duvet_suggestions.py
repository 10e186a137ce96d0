"""Suggestions that `duvet report` prints below invalid citations. Loaded only if there are any."""

from __future__ import annotations

from contextive.ingest.traced_project import TraceState
from contextive.trace.catalog import TraceCatalog
from contextive.trace.citation import Citation, Problem
from contextive.trace.citation_help import COMMENT_STYLES, check_citation

MAX_SUGGESTIONS = 20
"""Only this many invalid citations get a suggestion: finding one takes longer than the rest of the report."""
_SUGGESTIBLE_CODES = frozenset({"specification_not_found", "section_missing", "section_not_found", "quote_not_found"})


class Suggestions:
    """What invalid citations probably meant, computed on demand."""

    def __init__(self, state: TraceState) -> None:
        self._state = state
        self._catalog_cache: tuple[TraceCatalog, dict[Problem, Citation]] | None = None

    def of(self, problem: Problem) -> str:
        """The nearest specification, section or sentence; empty if nothing is near."""
        if problem.code not in _SUGGESTIBLE_CODES:
            return ""
        if self._catalog_cache is None:
            catalog = TraceCatalog(self._state.analysis, self._state.specifications)
            self._catalog_cache = catalog, {problem: citation for citation, problem in catalog.invalid}
        catalog, invalid = self._catalog_cache
        citation = invalid.get(problem)
        nearest = check_citation(citation, catalog, COMMENT_STYLES[0]).nearest if citation is not None else ""
        return f"nearest: {nearest}" if nearest else ""
