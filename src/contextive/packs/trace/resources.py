"""The resources of the trace pack: specifications, sections, requirements and citations, nested by path."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from contextive.errors import InvalidRequest, ResourceNotFound
from contextive.ingest.trace_service import TraceView
from contextive.packs.trace.cited_code import comment_and_code, type_word
from contextive.packs.trace.pack import pack, service_of, view_of
from contextive.registry import Context, ResourceEntry
from contextive.registry.registry import safe_repr
from contextive.trace.catalog import CitationEntry, SpecificationEntry, TraceCatalog, replace_surrogates
from contextive.trace.citation import Citation
from contextive.trace.ranking import SIMPLE_STATUS, level_word
from contextive.trace.requirement import Requirement
from contextive.trace.specification import Section

##= docs/spec/trace.md#uris
##% Every resource of the pack MUST have a URI that begins with `duvet:///`, and be readable by its path alone.
SCHEME = "duvet://"
_SPEC = "duvet:///specifications/{spec_id}"
_SECTION = _SPEC + "/sections/{section_id}"
_REQUIREMENT = _SECTION + "/requirements/{req_identifier}"
_CITATION = _REQUIREMENT + "/citations/{+citation_id}"
_SECTION_CITATION = _SECTION + "/citations/{+citation_id}"

Variables = Mapping[str, str]
JSON = "application/json"


##= docs/spec/trace.md#uris
##% The list of resources MUST contain each specification. Sections, requirements and citations MUST be in the list below
##% the path of their parent.
def _entries(
    make: Callable[[TraceCatalog], Sequence[ResourceEntry]],
) -> Callable[[int, int, Context], list[ResourceEntry]]:
    """A function that lists one page of the entries of a resource template."""

    def list_page(offset: int, limit: int, ctx: Context) -> list[ResourceEntry]:
        return list(make(view_of(ctx).catalog)[offset : offset + limit])

    return list_page


def _entry(path: str, name: str, title: str, fields: Mapping[str, Any] | None = None) -> ResourceEntry:
    return ResourceEntry(SCHEME + path, name, title[:120], None, JSON, fields=fields or {})


def _specification(variables: Variables, ctx: Context) -> tuple[TraceCatalog, SpecificationEntry]:
    catalog = view_of(ctx).catalog
    entry = catalog.specifications.get(variables["spec_id"]) or catalog.resolve(variables["spec_id"])
    if entry is None:
        known = ", ".join(list(catalog.specifications)[:20]) or "none"
        raise ResourceNotFound("No such specification.", hint=f"Known: {known}.")
    return catalog, entry


def _section(variables: Variables, ctx: Context) -> tuple[TraceCatalog, SpecificationEntry, Section]:
    catalog, entry = _specification(variables, ctx)
    section = entry.section(variables["section_id"])
    if section is None:
        raise ResourceNotFound("No such section.", hint=f"Read {entry.path}/sections.")
    return catalog, entry, section


def _requirement(variables: Variables, ctx: Context) -> tuple[TraceCatalog, Requirement]:
    catalog, entry, section = _section(variables, ctx)
    for requirement in catalog.find(variables["req_identifier"]):
        if requirement.target == entry.target and requirement.section.id == section.id:
            return catalog, requirement
    raise ResourceNotFound(
        "No such requirement in that section.", hint=f"Read {entry.section_path(section)}/requirements."
    )


# -- completion: values for a variable, limited by the variables already filled in -------------------------------------


def _complete_spec(prefix: str, _others: Variables, ctx: Context) -> list[str]:
    return [spec_id for spec_id in view_of(ctx).catalog.specifications if spec_id.startswith(prefix)]


def _complete_section(prefix: str, others: Variables, ctx: Context) -> list[str]:
    catalog = view_of(ctx).catalog
    entries = [catalog.specifications[others["spec_id"]]] if others.get("spec_id") in catalog.specifications else None
    chosen = entries or list(catalog.specifications.values())
    return list(dict.fromkeys(s.id for e in chosen for s in e.specification.sections if s.id.startswith(prefix)))


def _complete_requirement(prefix: str, others: Variables, ctx: Context) -> list[str]:
    catalog = view_of(ctx).catalog
    return list(
        dict.fromkeys(
            name
            for r in catalog.requirements
            for name in (r.handle, r.identifier)
            if name
            and name.startswith(prefix)
            and others.get("section_id") in (None, r.section.id)
            and others.get("spec_id") in (None, catalog.entry_of(r.target).id)
        )
    )


def _complete_citation(prefix: str, others: Variables, ctx: Context) -> list[str]:
    wanted = others.get("req_identifier")
    found = (
        e.citation.id
        for e in view_of(ctx).catalog.citations
        if e.citation.id.startswith(prefix)
        and (wanted is None or (e.requirement and wanted == e.requirement.identifier))
    )
    return list(dict.fromkeys(found))


_COMPLETE = {
    "spec_id": _complete_spec,
    "section_id": _complete_section,
    "req_identifier": _complete_requirement,
    "citation_id": _complete_citation,
}


# -- one resource for each level of the path ---------------------------------------------------------------------------


@pack.resource(
    "duvet:///specifications",
    name="specifications",
    title="Specifications",
    description="All specifications: id, name, url, description.",
)
def read_specifications(_variables: Variables, ctx: Context) -> list[dict[str, Any]]:
    view = view_of(ctx)
    return [_describe(entry) | _extraction(view, entry) for entry in view.catalog.specifications.values()]


##= docs/spec/trace.md#specification-resources
##% The resources `/specifications` (all) and `/specifications/{spec_id}` (one) MUST return `id`, `name`, `url`
##% and `description`.
def _describe(entry: SpecificationEntry) -> dict[str, Any]:
    return {"id": entry.id, "name": entry.name, "url": entry.url, "description": entry.description}


##= docs/spec/trace.md#specification-resources
##% A specification that is cited and not extracted MUST be marked.
def _extraction(view: TraceView, entry: SpecificationEntry) -> dict[str, Any]:
    """Marks a specification whose requirements are not known."""
    return {} if view.is_extracted(entry) else {"status": "not extracted"}


@pack.resource(
    _SPEC,
    name="specification",
    title="A specification",
    description="One specification: its format, and its requirements counted by status.",
    list_entries=_entries(lambda c: [_entry(e.path, e.id, e.title, _describe(e)) for e in c.specifications.values()]),
    complete=_COMPLETE,
)
def read_specification(variables: Variables, ctx: Context) -> dict[str, Any]:
    catalog, entry = _specification(variables, ctx)
    own = [r for r in catalog.requirements if r.target == entry.target]
    counts = dict.fromkeys(SIMPLE_STATUS.values(), 0)
    for requirement in own:
        counts[SIMPLE_STATUS[requirement.status]] += 1
    return {
        **_describe(entry),
        **_extraction(view_of(ctx), entry),
        "title": entry.title,
        "format": entry.specification.format.value,
        "sections": len(entry.specification.sections),
        "requirements": len(own),
        "statuses": counts,
    }


##= docs/spec/trace.md#specification-resources
##% The resource `/specifications/{spec_id}/sections` MUST list the sections of a specification with `id` and
##% `title`.
@pack.resource(
    _SPEC + "/sections",
    name="sections",
    title="Sections of a specification",
    description="All sections of one specification: id and title.",
    list_entries=_entries(
        lambda c: [_entry(f"{e.path}/sections", f"{e.id}/sections", e.name) for e in c.specifications.values()]
    ),
    complete=_COMPLETE,
    listed=False,
)
def read_sections(variables: Variables, ctx: Context) -> list[dict[str, Any]]:
    _, entry = _specification(variables, ctx)
    return [{"id": section.id, "title": section.title} for section in entry.specification.sections]


def _all_sections(catalog: TraceCatalog) -> list[tuple[SpecificationEntry, Section]]:
    return [(e, s) for e in catalog.specifications.values() for s in e.specification.sections]


##= docs/spec/trace.md#specification-resources
##% The resource `/specifications/{spec_id}/sections/{section_id}` MUST return one section with `id`, `title` and
##% `content`.
@pack.resource(
    _SECTION,
    name="section",
    title="A section",
    description="One section: id, title and full text.",
    list_entries=_entries(
        lambda c: [
            _entry(e.section_path(s), f"{e.id}#{s.id}", s.title, {"id": s.id, "title": s.title})
            for e, s in _all_sections(c)
        ]
    ),
    complete=_COMPLETE,
    listed=False,
)
def read_section(variables: Variables, ctx: Context) -> dict[str, Any]:
    _, _, section = _section(variables, ctx)
    return {"id": section.id, "title": section.title, "content": section.content()}


def _sections_with_requirements(catalog: TraceCatalog) -> list[ResourceEntry]:
    return [
        _entry(f"{e.section_path(s)}/requirements", f"{e.id}#{s.id}/requirements", s.title)
        for e, s in _all_sections(catalog)
        if (e.id, s.id) in catalog.by_section
    ]


##= docs/spec/trace.md#requirement-resources
##% The resource `requirements` below a section MUST list its requirements with `identifier` and `text`.
@pack.resource(
    _SECTION + "/requirements",
    name="section-requirements",
    title="Requirements of a section",
    description="All requirements of one section: identifier and text.",
    list_entries=_entries(_sections_with_requirements),
    complete=_COMPLETE,
    listed=False,
)
def read_section_requirements(variables: Variables, ctx: Context) -> list[dict[str, Any]]:
    catalog, entry, section = _section(variables, ctx)
    found = catalog.by_section.get((entry.id, section.id), [])
    return [{"identifier": r.identifier, **_handle(r), "text": r.text} for r in found]


def _handle(requirement: Requirement) -> dict[str, str]:
    """The handle of a requirement, if it has one."""
    return {"handle": requirement.handle} if requirement.handle else {}


def _requirement_entry(catalog: TraceCatalog, requirement: Requirement) -> ResourceEntry:
    path = catalog.full_path(requirement)
    fields = {
        "full_path": path,
        "identifier": requirement.identifier,
        **_handle(requirement),
        "text": requirement.text,
    }
    return _entry(path, requirement.identifier[:16], requirement.text, fields)


##= docs/spec/trace.md#requirement-resources
##% The resource `requirements/{req_identifier}` below a section MUST return one requirement with `identifier`, `text`
##% and `status`.
@pack.resource(
    _REQUIREMENT,
    name="requirement",
    title="A requirement",
    description="One requirement: text, level and status. Subscribe to be notified when its status changes.",
    list_entries=_entries(lambda c: [_requirement_entry(c, r) for r in c.requirements]),
    complete=_COMPLETE,
    listed=False,
)
def read_requirement(variables: Variables, ctx: Context) -> dict[str, Any]:
    _, requirement = _requirement(variables, ctx)
    return {
        "identifier": requirement.identifier,
        **_handle(requirement),
        "text": requirement.text,
        "status": SIMPLE_STATUS[requirement.status],
        "level": level_word(requirement.level),
        "detail": requirement.status.value,
        "todo_count": requirement.todo_count,
    }


##= docs/spec/trace.md#requirement-resources
##% The resource `citations` below a requirement MUST list its citations with `id`.
@pack.resource(
    _REQUIREMENT + "/citations",
    name="requirement-citations",
    title="Citations of a requirement",
    description="All citations of one requirement.",
    list_entries=_entries(
        lambda c: [
            _entry(f"{c.full_path(r)}/citations", f"{r.identifier[:16]}/citations", r.text)
            for r in c.requirements
            if r.related
        ]
    ),
    complete=_COMPLETE,
    listed=False,
)
def read_requirement_citations(variables: Variables, ctx: Context) -> list[dict[str, Any]]:
    _, requirement = _requirement(variables, ctx)
    return [{"id": c.id, "type": type_word(c)} for c in requirement.related]


def _citation_entry(entry: CitationEntry, title: str) -> ResourceEntry:
    fields = {"full_path": entry.path, "id": entry.citation.id, "type": type_word(entry.citation)}
    return _entry(entry.path, entry.citation.id, title, fields)


##= docs/spec/trace.md#requirement-resources
##% The resource `citations/{citation_id}` below a requirement MUST return `file_path`, `line_number`, `comment_text`
##% and `context_lines`.
@pack.resource(
    _CITATION,
    name="citation",
    title="A citation",
    description="One citation: file, line, comment and the code around it.",
    list_entries=_entries(lambda c: [_citation_entry(e, e.requirement.text) for e in c.citations if e.requirement]),
    complete=_COMPLETE,
    listed=False,
)
def read_citation(variables: Variables, ctx: Context) -> dict[str, Any]:
    catalog, requirement = _requirement(variables, ctx)
    wanted = variables["citation_id"]
    citation = next((c for c in requirement.related if wanted in (c.id, replace_surrogates(c.id))), None)
    if citation is None:
        raise ResourceNotFound(
            "No such citation of that requirement.", hint=f"Read {catalog.full_path(requirement)}/citations."
        )
    return _citation_to_dict(citation, ctx)


##= docs/spec/trace.md#requirement-resources
##% A citation that covers no part of a requirement MUST be available at `citations/{citation_id}` below its section.
@pack.resource(
    _SECTION_CITATION,
    name="section-citation",
    title="A citation of a section",
    description="One citation that covers no requirement: file, line, comment and the code around it.",
    list_entries=_entries(lambda c: [_citation_entry(e, "") for e in c.citations if not e.requirement]),
    complete=_COMPLETE,
    listed=False,
)
def read_section_citation(variables: Variables, ctx: Context) -> dict[str, Any]:
    catalog, entry, section = _section(variables, ctx)
    item = catalog.matched_by_id.get(variables["citation_id"])
    if item is None or item.target != entry.target or item.section.id != section.id:
        raise ResourceNotFound("No such citation of that section.", hint="Read /citations.")
    return _citation_to_dict(item.citation, ctx)


def _citation_to_dict(citation: Citation, ctx: Context) -> dict[str, Any]:
    service = service_of(ctx)
    fields = {
        "file_path": citation.source,
        "line_number": citation.line,
        "comment_text": service.comment_of(citation),
        "context_lines": comment_and_code(service, citation).lines,
        "type": type_word(citation),
        "reason": citation.comment,
        "tracking_issue": citation.tracking_issue,
        "feature": citation.feature,
    }
    return {name: value for name, value in fields.items() if value != ""}


# -- the whole project -------------------------------------------------------------------------------------------------


##= docs/spec/trace.md#project-resources
##% The resource `/requirements` MUST list every requirement of the project with `full_path`, `identifier` and
##% `text`.
@pack.resource(
    "duvet:///requirements",
    name="requirements",
    title="All requirements",
    description="Every requirement of the project: full_path, identifier, text. Large projects: page with ?offset=&limit=.",
    in_parts=True,
    members=(_REQUIREMENT,),
)
def read_requirements(variables: Variables, ctx: Context) -> list[dict[str, Any]]:
    catalog = view_of(ctx).catalog
    return [
        {"full_path": catalog.full_path(r), "identifier": r.identifier, **_handle(r), "text": r.text}
        for r in _sliced(catalog.requirements, variables)
    ]


##= docs/spec/trace.md#project-resources
##% The resource `/citations` MUST list every valid citation of the project with `full_path` and `id`.
@pack.resource(
    "duvet:///citations",
    name="citations",
    title="All citations",
    description="Every citation of the project: full_path and id. Large projects: page with ?offset=&limit=.",
    in_parts=True,
    members=(_CITATION, _SECTION_CITATION),
)
def read_citations(variables: Variables, ctx: Context) -> list[dict[str, Any]]:
    entries: Sequence[CitationEntry] = _sliced(view_of(ctx).catalog.citations, variables)
    return [{"full_path": entry.path, "id": entry.citation.id} for entry in entries]


##= docs/spec/trace.md#project-resources
##% The query parameters `offset` and `limit` MUST select a part of the two project lists; a value that is not a whole
##% number is an error.
def _sliced(items: Sequence[Any], variables: Variables) -> Sequence[Any]:
    offset, limit = _number(variables, "offset", 0), _number(variables, "limit", len(items))
    return items[offset : offset + limit]


def _number(variables: Variables, name: str, default: int) -> int:
    text = variables.get(name)
    if text is None:
        return default
    if not (text.isascii() and text.isdigit()):
        raise InvalidRequest(
            f"{name} must be a whole number, not {safe_repr(text)}.", hint="Example: ?offset=0&limit=100."
        )
    return int(text[:18])
