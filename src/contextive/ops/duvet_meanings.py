"""What broken citations meant, as `duvet report` shows it below each of the first ones. A sound project never loads this."""

from __future__ import annotations

from contextive.ingest.traced_project import TraceState
from contextive.trace.advice import STYLES, judge_citation
from contextive.trace.catalog import TraceCatalog
from contextive.trace.citation import Citation, Problem

MOST_MEANINGS = 20
"""For so many broken citations the nearest text is looked for; that takes longer than all the rest."""
_JUDGED = frozenset({"specification_not_found", "section_missing", "section_not_found", "quote_not_found"})


class Meanings:
    """What broken citations probably meant, found out when it is asked for."""

    def __init__(self, state: TraceState) -> None:
        self._state = state
        self._asked: tuple[TraceCatalog, dict[Problem, Citation]] | None = None

    def of(self, problem: Problem) -> str:
        """The nearest specification, section or sentence; nothing where none is near."""
        if problem.code not in _JUDGED:
            return ""
        if self._asked is None:
            catalog = TraceCatalog(self._state.analysis, self._state.specifications)
            self._asked = catalog, {problem: citation for citation, problem in catalog.invalid}
        catalog, broken = self._asked
        citation = broken.get(problem)
        nearest = judge_citation(citation, catalog, STYLES[0]).nearest if citation is not None else ""
        return f"nearest: {nearest}" if nearest else ""
