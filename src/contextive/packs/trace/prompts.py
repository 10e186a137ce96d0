"""The prompts of the trace pack: implement or cite a requirement, review coverage."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from contextive.errors import InvalidRequest
from contextive.packs.trace.pack import pack, service_of, view_of
from contextive.packs.trace.resources import _complete_requirement, _complete_spec
from contextive.registry import Context, PromptArgument, PromptMessage, Text
from contextive.trace.citation_writing import missing_citations
from contextive.trace.ranking import SIMPLE_STATUS, least_finished, level_word, prioritise
from contextive.trace.reports.safe_text import escape_invisible
from contextive.trace.requirement import Requirement

_REQUIREMENT = PromptArgument(
    "req_identifier",
    "Requirement identifier (8 or more digits suffice) or handle",
    required=True,
    complete=_complete_requirement,
)


def _user(text: str) -> list[PromptMessage]:
    # A model treats a prompt as the user's words, so hidden characters in a specification must become visible.
    return [PromptMessage("user", Text(escape_invisible(text)))]


def _quoted(text: str) -> str:
    return "\n".join(f"> {line}" for line in text.splitlines())


def _find_requirement(arguments: Mapping[str, str], ctx: Context) -> Requirement:
    found = view_of(ctx).catalog.find(arguments["req_identifier"])
    if not found:
        raise InvalidRequest("Requirement not found.", hint="Find identifiers with search_requirements.")
    return least_finished(found)


def _name(requirement: Requirement) -> str:
    """What a person types to name a requirement."""
    return requirement.handle or requirement.identifier[:16]


def _missing_comments(requirement: Requirement, ctx: Context) -> str:
    service = service_of(ctx)
    style = service.style_for(view_of(ctx), next((c for c in requirement.related if c.base is None), None))
    return "\n\n".join(f"{m.what}:\n{m.citation}" for m in missing_citations(requirement, style))


@pack.prompt(
    "implement_requirement",
    title="Implement a requirement",
    description="Implement and test one requirement, and cite it in the code.",
    arguments=(_REQUIREMENT,),
)
def implement_requirement(arguments: Mapping[str, str], ctx: Context) -> list[PromptMessage]:
    requirement = _find_requirement(arguments, ctx)
    return _user(
        f"Implement this requirement of level {level_word(requirement.level)}. It is quoted from section "
        f"{requirement.section.id} of {requirement.target.path}:\n\n{_quoted(requirement.text)}\n\n"
        f"Its status is: {SIMPLE_STATUS[requirement.status]}. First call explain_requirement {_name(requirement)}, and "
        "get_section if its paragraph does not say enough. Write the code, then a test that fails without it. Put the citation "
        f"comments above the code and the test, and check each with validate_citation.\n\n{_missing_comments(requirement, ctx)}"
    )


@pack.prompt(
    "cite_requirement",
    title="Cite a requirement",
    description="Find the code that already implements a requirement, and cite it there.",
    arguments=(_REQUIREMENT, PromptArgument("file", "File to search first")),
)
def cite_requirement(arguments: Mapping[str, str], ctx: Context) -> list[PromptMessage]:
    requirement = _find_requirement(arguments, ctx)
    where = f"Search this file first: {arguments['file']}\n" if arguments.get("file") else ""
    return _user(
        "Find the code that already implements this requirement, and the test that checks it:\n\n"
        f"{_quoted(requirement.text)}\n\n{where}"
        "Do not change behaviour. Put the citation comment directly above the lines that implement or test it. If there are "
        f"none, say so and add no citation.\n\n{_missing_comments(requirement, ctx)}"
    )


@pack.prompt(
    "review_coverage",
    title="Review coverage",
    description="How many requirements are done, what is wrong, and what to do next.",
    arguments=(PromptArgument("spec", "Only this specification", complete=_complete_spec),),
)
def review_coverage(arguments: Mapping[str, str], ctx: Context) -> list[PromptMessage]:
    view = view_of(ctx)
    requirements = list(view.catalog.requirements)
    if arguments.get("spec"):
        entry = view.catalog.resolve(arguments["spec"])
        if entry is None:
            raise InvalidRequest("Specification not found.", hint="resolve_spec_id lists the known ones.")
        requirements = [r for r in requirements if r.target == entry.target]
    counts = Counter(SIMPLE_STATUS[r.status] for r in requirements)
    summary = ", ".join(f"{counts[word]} {word}" for word in dict.fromkeys(SIMPLE_STATUS.values()))
    first = "\n".join(
        f"> {_name(r)} [{level_word(r.level)}] {r.text}"
        for r in prioritise([r for r in requirements if not r.status.is_done], view.catalog)[:10]
    )
    return _user(
        f"Review the requirements of this project: {len(requirements)} in total, {summary}; "
        f"{len(view.state.problems)} invalid citations.\n\nThe first open requirements:\n{first or '> none'}\n\n"
        "Call list_invalid_citations and fix those citations. Then say which three requirements to work on next and why, "
        "which exceptions lack a good reason, and which citations are above code that does not do what they quote."
    )
