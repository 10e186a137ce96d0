"""What broken citations meant, as `duvet report` shows it below each of the first ones. A sound project never loads this."""

from __future__ import annotations

from contextive.ingest.traced_project import TraceState
from contextive.trace.catalog import TraceCatalog
from contextive.trace.citation import Citation, Problem
from contextive.trace.citation_help import COMMENT_STYLES, check_citation

MAX_SUGGESTIONS = 20
"""For so many broken citations the nearest text is looked for; that takes longer than all the rest."""
_SUGGESTIBLE_CODES = frozenset({"specification_not_found", "section_missing", "section_not_found", "quote_not_found"})


class Suggestions:
    """What broken citations probably meant, found out when it is asked for."""

    def __init__(self, state: TraceState) -> None:
        self._state = state
        self._catalog_cache: tuple[TraceCatalog, dict[Problem, Citation]] | None = None

    def of(self, problem: Problem) -> str:
        """The nearest specification, section or sentence; nothing where none is near."""
        if problem.code not in _SUGGESTIBLE_CODES:
            return ""
        if self._catalog_cache is None:
            catalog = TraceCatalog(self._state.analysis, self._state.specifications)
            self._catalog_cache = catalog, {problem: citation for citation, problem in catalog.invalid}
        catalog, broken = self._catalog_cache
        citation = broken.get(problem)
        nearest = check_citation(citation, catalog, COMMENT_STYLES[0]).nearest if citation is not None else ""
        return f"nearest: {nearest}" if nearest else ""
