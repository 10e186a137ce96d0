"""Search in everything: requirements, code, documents and notes in one list, with the reason for each rank."""

from __future__ import annotations

import re
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from contextive.errors import ContextiveError
from contextive.knowledge.tokeniser import query_terms, tokenise
from contextive.search.answer import FoundChunk, SearchRequest, SearchResponse, SearchResult
from contextive.search.filters import SYMBOL_LANGUAGES, parse_filters
from contextive.search.graph_facts import graph_facts
from contextive.search.requirement_search import RequirementSearch
from contextive.search.snippets import best_lines
from contextive.trace.ranking import STATUS_WORDS, level_word
from contextive.trace.requirement import Requirement
from contextive.web.addresses import file_address, note_address, requirement_address, with_query
from contextive.web.page import Page, Parameters
from contextive.web.project import SiteProject

TYPES: Final = ("requirement", "code", "test", "doc", "note", "proto", "config")
_LIMIT: Final = 25
_LIMIT_OF_NOTES: Final = 100
"""How many documents are searched for notes, which the index does not tell apart."""
_REQUIREMENT: Final = re.compile(r"r([0-9a-f]{12})")
_WORD: Final = re.compile(r"\w+")
_MOST_CHARACTERS: Final = 600
_NOTHING: Final = "Nothing relevant was found. Try other words, or remove a filter."
_NAMES: Final = {"lexical": "words", "vector": "meaning", "graph": "connections"}


@dataclass(frozen=True, slots=True)
class TextPart:
    """Some text; `is_hit` if it is a word of the query."""

    text: str
    is_hit: bool = False


@dataclass(frozen=True, slots=True)
class Reason:
    """A part of a score, as a share of it in percent."""

    name: str
    percent: int


@dataclass(frozen=True, slots=True)
class Result:
    kind: str
    title: tuple[TextPart, ...]
    address: str
    path: str
    line: int
    text: tuple[TextPart, ...]
    is_code: bool
    status: str
    level: str
    score: int
    """The relevance in percent."""
    reasons: tuple[Reason, ...]
    facts: tuple[str, ...]
    editor: str | None


@dataclass(frozen=True, slots=True)
class FilterValue:
    text: str
    address: str
    is_chosen: bool


@dataclass(frozen=True, slots=True)
class Search:
    query: str
    types: tuple[FilterValue, ...]
    languages: tuple[FilterValue, ...]
    results: tuple[Result, ...]
    message: str
    """Why there is no result, or what to know about the results."""
    corrected: tuple[tuple[str, str], ...]


def search(project: SiteProject, given: Parameters) -> Page:
    """The results of a query, best first."""
    query = given.get("q", "").strip()[:1_000]
    chosen = {"type": given.get("type", ""), "lang": given.get("lang", "")}
    results: tuple[Result, ...] = ()
    message, corrected = "", tuple[tuple[str, str], ...]()
    if query:
        results, message, corrected = _results(project, query, chosen)
    content = Search(
        query=query,
        types=tuple(_values(query, chosen, "type", TYPES)),
        languages=tuple(_values(query, chosen, "lang", SYMBOL_LANGUAGES)),
        results=results,
        message=message,
        corrected=corrected,
    )
    return Page("search.html", f"Search: {query}" if query else "Search", content, "search")


def _values(query: str, chosen: Mapping[str, str], name: str, values: Sequence[str]) -> Iterator[FilterValue]:
    for value in values:
        is_chosen = chosen[name] == value
        address = with_query("/search", {"q": query, **chosen, name: "" if is_chosen else value})
        yield FilterValue(value, address, is_chosen)


def _results(
    project: SiteProject, query: str, chosen: Mapping[str, str]
) -> tuple[tuple[Result, ...], str, tuple[tuple[str, str], ...]]:
    terms = frozenset(query_terms(query))
    if chosen["type"] == "requirement":
        found = _requirements(project, query, terms)
        return found, "" if found else _NOTHING, ()
    only_notes = chosen["type"] == "note"
    artifact_type = "doc" if only_notes else chosen["type"]
    try:
        index = project.index()
        filters = {"artifact_types": [artifact_type]} if artifact_type else None
        request = SearchRequest(
            query=query,
            limit=_LIMIT_OF_NOTES if only_notes else _LIMIT,
            filters=parse_filters(filters, now=time.time(), lang=chosen["lang"] or None),
            explain=True,
        )
        response = index.search.search(request)
        facts = graph_facts(index.store, [result.chunk for result in response.results])
    except ContextiveError as error:
        found = _requirements(project, query, terms)
        return found, f"Only requirements were searched. {error.full_message()}", ()
    notes = {note.path: note.slug for note in project.notes.view().catalog.notes}
    results = tuple(
        _result(project, result, terms, notes, fact) for result, fact in zip(response.results, facts, strict=True)
    )
    if only_notes:
        results = tuple(result for result in results if result.kind == "note")[:_LIMIT]
    message = _message(response) or ("" if results else _NOTHING)
    return results, message, tuple(response.metadata.corrected.items())


def _message(response: SearchResponse) -> str:
    if response.metadata.message:
        nearest = response.metadata.nearest
        where = f" The nearest match is {nearest.title} in {nearest.artifact_path}." if nearest else ""
        return f"{response.metadata.message}{where}"
    if not response.results:
        return _NOTHING
    return "These results match only weakly." if response.metadata.relevance == "weak" else ""


def _result(
    project: SiteProject,
    result: SearchResult,
    terms: Collection[str],
    notes: Mapping[str, str],
    facts: Sequence[str],
) -> Result:
    chunk = result.chunk
    requirement = _requirement_of(project, chunk)
    snippet = best_lines(chunk.text, (chunk.line_start, chunk.line_end), terms)
    slug = notes.get(chunk.artifact_path)
    if requirement is not None:
        kind, address = "requirement", _address(project, requirement)
    elif slug is not None:
        kind, address = "note", note_address(slug)
    else:
        kind, address = chunk.artifact_type, file_address(chunk.artifact_path, snippet.line_start)
    text = requirement.text if requirement else snippet.text
    return Result(
        kind=kind,
        title=tuple(highlighted(chunk.title or chunk.artifact_path, terms)),
        address=address,
        path=chunk.artifact_path,
        line=snippet.line_start,
        text=tuple(highlighted(text[:_MOST_CHARACTERS], terms)),
        is_code=kind in ("code", "test", "proto", "config"),
        status=STATUS_WORDS[requirement.status] if requirement else "",
        level=level_word(requirement.level) if requirement else "",
        score=round(100 * chunk.relevance),
        reasons=tuple(_reasons(result.explain or {})),
        facts=tuple(facts),
        editor=chunk.editor_uri,
    )


def _reasons(explain: Mapping[str, Any]) -> Iterator[Reason]:
    """The parts of a score that matter, the largest first."""
    parts = {_NAMES[name]: float(explain.get(name) or 0.0) for name in _NAMES}
    parts |= {str(name).replace("_", " "): float(gain) for name, gain in (explain.get("rules") or {}).items()}
    whole = sum(abs(part) for part in parts.values()) or 1.0
    for name, part in sorted(parts.items(), key=lambda item: -abs(item[1])):
        percent = round(100 * part / whole)
        if percent:
            yield Reason(name, percent)


def _requirement_of(project: SiteProject, chunk: FoundChunk) -> Requirement | None:
    found = _REQUIREMENT.fullmatch(chunk.chunk_id.rpartition("::")[2])
    known = project.view().catalog.find(found[1]) if found else []
    return known[0] if known else None


def _address(project: SiteProject, requirement: Requirement) -> str:
    return requirement_address(requirement, project.view().catalog.entry_of(requirement.target).id)


def _requirements(project: SiteProject, query: str, terms: Collection[str]) -> tuple[Result, ...]:
    """Requirements alone, for a server without an index."""
    view = project.view()
    answer = project.service(RequirementSearch).search(view.catalog, query)
    return tuple(
        Result(
            kind="requirement",
            title=(TextPart(view.catalog.entry_of(found.target).name),),
            address=_address(project, found),
            path="",
            line=0,
            text=tuple(highlighted(found.text, terms)),
            is_code=False,
            status=STATUS_WORDS[found.status],
            level=level_word(found.level),
            score=0,
            reasons=(),
            facts=(),
            editor=None,
        )
        for found in answer.requirements[:_LIMIT]
    )


def highlighted(text: str, terms: Collection[str]) -> Iterator[TextPart]:
    """The text with the words of the query marked, in any form of the word."""
    position = 0
    for word in _WORD.finditer(text):
        if not set(terms).isdisjoint(tokenise(word.group())):
            if word.start() > position:
                yield TextPart(text[position : word.start()])
            yield TextPart(word.group(), is_hit=True)
            position = word.end()
    if position < len(text):
        yield TextPart(text[position:])
