"""The tools that say what to do: explain a requirement, and choose the next one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from pydantic import Field

from contextive.ingest.evidence_service import EvidenceService
from contextive.ingest.notes_service import NotesService
from contextive.ingest.trace_service import TraceService, TraceView
from contextive.packs.trace.cited_code import code_only, line_below, stale_reason, type_word
from contextive.packs.trace.lists import (
    REGISTRY_NOTE,
    data_reply,
    filter_requirements,
    missing_specification_hint,
    not_extracted_hint,
    status_items,
    without_none,
)
from contextive.packs.trace.pack import LABELS, pack, service_of, view_of
from contextive.packs.trace.requirement_tools import MAX_OCCURRENCES, IdentifierInput, not_found_error
from contextive.packs.trace.schemas import (
    CitedCode,
    Explanation,
    ExplanationSchema,
    Level,
    ListInput,
    MissingCitation,
    NoteItem,
    SimilarPlace,
)
from contextive.registry import Context, Reply, ToolInput
from contextive.registry.budget import cut_at_line, estimated_tokens
from contextive.trace.citation import Citation, CommentStyle
from contextive.trace.citation_writing import missing_citations
from contextive.trace.level import CitationType
from contextive.trace.ranking import SIMPLE_STATUS, least_finished, level_word, prioritise, similar_requirements
from contextive.trace.requirement import Requirement, Status
from contextive.trace.surroundings import surroundings_of

EXPLANATION_TOKENS: Final = 2_000
_UNTRUSTED = (
    "full_path", "text", "section_title", "paragraph", "open_text", "untested_text", "citations", "missing", "similar",
    "notes", "requirements",
)  # fmt: skip
_MAX_NOTES = 20
_SIMILAR_REQUIREMENTS = 6
_MAX_SIMILAR = 4
_TODO_LINES = 8
_SHORT_TEXT = 160
_LONG_TEXT = 1_200


@dataclass(frozen=True, slots=True)
class _Detail:
    """How much of an explanation is included."""

    citations: int
    code_lines: int
    comment_characters: int
    paragraph_characters: int
    similar: int
    notes: int
    text_characters: int = 1_000_000


_DETAILS: Final = (
    _Detail(8, 40, 1_500, 2_400, _MAX_SIMILAR, _MAX_NOTES),
    _Detail(8, 20, 1_000, 1_600, _MAX_SIMILAR, 10),
    _Detail(6, 10, 600, 1_200, 3, 5),
    _Detail(4, 6, 300, 900, 2, 3),
    _Detail(4, 3, 200, 500, 1, 2),
    _Detail(2, 0, 100, 0, 0, 1),
    _Detail(1, 0, 0, 0, 0, 1, 2_000),
)
"""From the most to the least; the first one that fits into the budget is used."""


##= docs/spec/trace.md#next-steps
##% The tool `explain_requirement` MUST return a requirement's text, level, status, citations with their code, and the
##% missing citation comments.
##= docs/spec/trace.md#next-steps
##% For a text that occurs in several sections, `explain_requirement` MUST explain the least finished occurrence and
##% list all of them.
@pack.tool(
    "explain_requirement",
    title="Explain a requirement",
    description="Everything about one requirement: text and paragraph, level, status, citations with their code, notes about "
    "it, what is missing, and the exact comment to add.",
    labels=LABELS,
    invocation_hints="when you start to work on a requirement",
    untrusted=_UNTRUSTED,
    output=ExplanationSchema,
)
def explain_requirement(given: IdentifierInput, ctx: Context) -> Reply:
    view = view_of(ctx)
    found = view.catalog.find(given.req_identifier)
    if not found:
        return data_reply(Explanation(error=not_found_error(view, given.req_identifier)))
    linking = ctx.service(NotesService).view().catalog.about_requirement(found[0].identifier, found[0].handle)
    notes = [NoteItem(slug=note.slug, title=note.title, path=note.path) for note in linking[:_MAX_NOTES]]
    chosen = least_finished(found)
    explainer = Explainer(
        view,
        service_of(ctx),
        chosen,
        notes=notes,
        occurrences=found,
        evidence=evidence_words(ctx.service(EvidenceService), chosen),
    )
    return data_reply(explainer.within_budget())


def evidence_words(service: EvidenceService, requirement: Requirement) -> str | None:
    """How well a requirement is shown to work, if results of tests were ever added."""
    state = service.described([requirement]).get(requirement.identifier)
    return state.words if state is not None else None


class NextInput(ToolInput):
    spec: str | None = Field(None, description="Only this specification: id, URL or path")
    section: str | None = Field(None, description="Only this section id")
    level: Level | None = Field(None, description="Only this level")
    purpose: Literal["implement", "test"] | None = Field(
        None, alias="for", description="Only work of this kind; default: implement, then test"
    )


##= docs/spec/trace.md#next-steps
##% The tool `next_requirement` MUST return the open requirement with the highest priority, and say why.
@pack.tool(
    "next_requirement",
    title="Next requirement",
    description="The one requirement to work on next: first what is not implemented, then what is not tested. Says why it is "
    "next, what is missing, and where similar ones are cited.",
    essential=True,
    labels=LABELS,
    invocation_hints="when asked to continue implementing a specification",
    untrusted=_UNTRUSTED,
    output=ExplanationSchema,
)
def next_requirement(given: NextInput, ctx: Context) -> Reply:
    view = view_of(ctx)
    wanted = ListInput(spec=given.spec, section=given.section, level=given.level)
    matching = filter_requirements(view, wanted, view.catalog.requirements)
    to_implement = [r for r in matching if r.implementation != "whole"]
    to_test = [r for r in matching if r.status is Status.MISSING_TEST]
    ##= docs/spec/trace.md#next-steps
    ##% The tool `next_requirement` MUST return a requirement that is not implemented as long as there is one, and one that
    ##% is not tested otherwise; the argument `for` chooses one of the two kinds.
    if given.purpose is not None:
        candidates = to_implement if given.purpose == "implement" else to_test
    else:
        can_be_implemented = any(not view.catalog.is_about_registry(r) for r in to_implement)
        candidates = to_implement if can_be_implemented or not to_test else to_test
    if not candidates:
        return data_reply(_nothing_open(view, given, len(matching), len(to_implement), len(to_test)))
    chosen = min(prioritise(candidates, view.catalog), key=view.catalog.is_about_registry)
    why = _why(chosen, len(to_implement), len(to_test))
    return data_reply(Explainer(view, service_of(ctx), chosen, why=why).within_budget())


def _nothing_open(view: TraceView, given: NextInput, matching: int, to_implement: int, to_test: int) -> Explanation:
    """Why there is no next requirement: nothing matches, nothing is known of it, or it is done."""
    if hint := missing_specification_hint(view, given.spec):
        error = "Not extracted" if view.catalog.specifications else "No open requirement"
        return Explanation(error=error, detail=hint)
    if not matching:
        return Explanation(error="No open requirement", detail="no requirement matches these filters")
    if to_implement or to_test:
        rest = f"{to_implement} are not implemented" if to_implement else f"{to_test} are not tested"
        return Explanation(error="No open requirement", detail=f"nothing is left of this kind, but {rest}")
    unknown = [entry.id for entry in view.catalog.specifications.values() if not_extracted_hint(view, entry)]
    also = f"; {len(unknown)} specifications are cited but not extracted" if unknown and given.spec is None else ""
    return Explanation(error="No open requirement", detail=f"all {matching} matching requirements are done{also}")


def _why(requirement: Requirement, to_implement: int, to_test: int) -> str:
    match requirement.status:
        case Status.MISSING_TEST:
            reason = "it is implemented but not tested"
        case Status.MISSING_CITATION if requirement.implementation == "part":
            reason = "it is tested but only partly implemented"
        case Status.MISSING_CITATION:
            reason = "it is tested but no implementation is cited"
        case Status.PARTIAL:
            reason = "it is started but not finished"
        case Status.TODO:
            reason = f"it is marked as todo ({requirement.todo_count})"
        case _:
            reason = "it is not started"
    counted = f"{to_implement} to implement and {to_test} to test"
    return f"Highest priority of {counted}: level {level_word(requirement.level)}, and {reason}."


class Explainer:
    """Explains one requirement, in as much detail as fits into the budget, or in full."""

    def __init__(
        self,
        view: TraceView,
        service: TraceService,
        requirement: Requirement,
        *,
        why: str | None = None,
        notes: Sequence[NoteItem] = (),
        occurrences: Sequence[Requirement] = (),
        with_similar: bool = True,
        evidence: str | None = None,
    ) -> None:
        self._view, self._service, self._requirement = view, service, requirement
        self._why, self._notes, self._occurrences = why, notes, occurrences
        self._evidence = evidence
        self._similar = list(self._similar_citations()) if with_similar else []

    ##= docs/spec/trace.md#next-steps
    ##% An explanation MUST have at most 2000 tokens.
    def within_budget(self) -> Explanation:
        """The explanation with the most detail that fits."""
        explained = Explanation()
        for detail in _DETAILS:
            explained = self._explain(detail)
            if estimated_tokens(without_none(explained)) <= EXPLANATION_TOKENS:
                break
        return explained

    def in_full(self) -> Explanation:
        """The explanation with the most detail, for a reader without a budget."""
        return self._explain(_DETAILS[0])

    def _explain(self, detail: _Detail) -> Explanation:
        requirement, catalog = self._requirement, self._view.catalog
        paragraph = cut_at_line(surroundings_of(requirement), detail.paragraph_characters)[0]
        shown = self._ordered_citations()[: detail.citations]
        occurrences = status_items(self._occurrences, catalog) if len(self._occurrences) > 1 else []
        return Explanation(
            identifier=requirement.identifier,
            handle=requirement.handle or None,
            full_path=catalog.full_path(requirement),
            text=cut_at_line(requirement.text, detail.text_characters)[0],
            level=level_word(requirement.level),
            status=SIMPLE_STATUS[requirement.status],
            detail=requirement.status.value,
            note=REGISTRY_NOTE if catalog.is_about_registry(requirement) else None,
            why_next=self._why,
            evidence=self._evidence,
            section_title=requirement.section.title,
            paragraph=paragraph if paragraph and " ".join(paragraph.split()) != requirement.text else None,
            open_text=_if_partial(requirement.words_not_implemented(), requirement),
            untested_text=_if_partial(requirement.words_not_tested(), requirement),
            citations=[self._cited(citation, detail) for citation in shown],
            missing=self._missing(detail),
            similar=[self._similar_place(*found) for found in self._similar[: detail.similar]] or None,
            more_citations=len(requirement.related) - len(shown) or None,
            notes=list(self._notes[: detail.notes]) or None,
            requirements=occurrences[:MAX_OCCURRENCES] or None,
        )

    def _ordered_citations(self) -> list[Citation]:
        """The citations of the requirement, code before tests before the rest."""
        order = (CitationType.CITATION, CitationType.IMPLICATION, CitationType.TEST, CitationType.TODO)
        ranks = {kind: rank for rank, kind in enumerate(order)}
        return sorted(self._requirement.related, key=lambda citation: ranks.get(citation.type, len(order)))

    ##= docs/spec/trace.md#next-steps
    ##% An explanation MUST show the tracking issue and the feature of each todo.
    def _cited(self, citation: Citation, detail: _Detail) -> CitedCode:
        is_main = citation.type in (CitationType.CITATION, CitationType.IMPLICATION, CitationType.TEST)
        code = code_only(self._service, citation, detail.code_lines if is_main else min(_TODO_LINES, detail.code_lines))
        comment = cut_at_line(self._service.comment_of(citation), detail.comment_characters)[0]
        return CitedCode(
            id=citation.id,
            type=type_word(citation),
            strength="named" if self._requirement.handle and not citation.quote else None,
            resolved=self._resolution(citation),
            comment_text=comment or None,
            code=code.lines or None,
            more_lines=code.more or None,
            reason=citation.comment or None,
            tracking_issue=citation.tracking_issue or None,
            feature=citation.feature or None,
            stale=stale_reason(self._requirement, citation, self._view.catalog),
        )

    ##= docs/spec/trace.md#spec-driven-formats
    ##% An explanation MUST say how the specification of each such reference was found.
    def _resolution(self, citation: Citation) -> str | None:
        """How the specification of a comment that names the requirement was found."""
        if not self._requirement.handle or citation.quote:
            return None
        place = self._requirement.handle, citation.source, citation.line
        found = self._view.state.formats.resolution_of.get(place)
        return found.reason.value if found is not None and found.reason is not None else None

    def _missing(self, detail: _Detail) -> list[MissingCitation]:
        """The comments to add. The second one of a long text is described, because only its type differs."""
        found = [
            MissingCitation(what=m.what, citation=m.citation) for m in missing_citations(self._requirement, self._style)
        ]
        if len(found) > 1 and len(self._requirement.text) > _LONG_TEXT:
            line = f"{self._style.meta} type={CitationType.TEST.value}"
            found[1] = found[1].model_copy(update={"citation": f"the same comment with this second line:\n{line}"})
        limit = detail.text_characters
        return [piece.model_copy(update={"citation": cut_at_line(piece.citation, limit)[0]}) for piece in found]

    @property
    def _style(self) -> CommentStyle:
        own = (citation for citation in self._requirement.related if citation.base is None)
        near = next(own, None) or next((citation for _, citation in self._similar), None)
        return self._service.style_for(self._view, near)

    ##= docs/spec/trace.md#next-steps
    ##% The similar places of an explanation MUST include the text that is cited there, and no place twice.
    def _similar_citations(self) -> Iterator[tuple[Requirement, Citation]]:
        """Citations in code of similar requirements: implementations first, then tests."""
        others = [r for r in self._view.catalog.requirements if r.related]
        similar = similar_requirements(self._requirement, others, _SIMILAR_REQUIREMENTS)
        seen = {citation.id for citation in self._requirement.related}
        for kind in (CitationType.CITATION, CitationType.TEST):
            for other in similar:
                for citation in other.citations_of(kind):
                    if citation.base is None and citation.id not in seen:
                        seen.add(citation.id)
                        yield other, citation
                        break

    def _similar_place(self, requirement: Requirement, citation: Citation) -> SimilarPlace:
        return SimilarPlace(
            id=citation.id,
            type=type_word(citation),
            text=cut_at_line(requirement.text, _SHORT_TEXT)[0],
            code=line_below(self._service, citation),
        )


##= docs/spec/trace.md#next-steps
##% An explanation of a partly covered requirement MUST list the words that are not covered.
def _if_partial(words: Sequence[str], requirement: Requirement) -> list[str] | None:
    """The open words, unless they are the whole sentence."""
    is_whole = "".join(filter(str.isalnum, "".join(words))) == "".join(filter(str.isalnum, requirement.text))
    return list(words) if words and not is_whole else None
