"""Calls of every tool with the arguments that lead to the largest answers in a project, and the budget of each answer."""

from __future__ import annotations

import asyncio
import statistics
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from typing import Any, Final

from contextive.errors import ContextiveError
from contextive.ingest.notes_service import NotesService
from contextive.ingest.task_files import version_of
from contextive.ingest.trace_service import TraceService
from contextive.registry import OWNER_AS_MAINTAINER, Text, Tool
from contextive.registry.budget import ANSWER_TOKENS, compact_json, estimated_tokens
from contextive.server.host import Host
from contextive.server.profiles import PROFILES

from .project import CANARY

BUDGETS: Final[Mapping[str, int]] = {
    "km-search-batch": 5_000,
    "km-coverage-summary": 1_500,
    "km-lifecycle-report": 1_500,
    "km-health-summary": 1_500,
    "km-recipe-run": 1_500,
    "km-graph-node": 2_000,
    "km-graph-subsystem": 2_000,
    "next_requirement": 2_000,
    "explain_requirement": 2_000,
    "spec_status": 2_000,
    "get_page": 4_000,
    "get_section": 4_000,
    "find_usages": 2_000,
    "orient": 1_200,
    "review_changes": 2_000,
}
"""The most tokens of a default answer. Any other tool has ANSWER_TOKENS."""
ARRAYS: Final = frozenset(
    {
        "list_uncited_requirements",
        "list_invalid_citations",
        "list_tasks",
        "get_prioritized_requirements",
        "search_requirements",
    }
)
"""Tools whose text is the array of the entries and not the whole object."""
PLAN: Final = "kiro:harbour-plan"
SEARCH_MEDIAN: Final = 2_200
QUESTIONS: Final = (
    "how is the configuration loaded",
    "error handling and retries",
    "where are permissions checked",
    "cache invalidation",
    "parse a date",
    "command line options",
    "what happens when the connection is lost",
    "list of all settings",
    "unit tests of the parser",
    "release and installation",
)
_SAMPLE: Final = 400


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a tool."""

    tool: str
    arguments: Mapping[str, Any] = field(default_factory=dict)

    @property
    def label(self) -> str:
        """The call on one line."""
        values = ", ".join(f"{key}={_short(value)}" for key, value in self.arguments.items())
        return f"{self.tool} {values}".rstrip()

    @property
    def budget(self) -> int:
        return BUDGETS.get(self.tool, ANSWER_TOKENS)


@dataclass(frozen=True, slots=True)
class Size:
    """The estimated tokens of an answer: of its structured data, and of its texts."""

    call: Call
    data: int
    text: int
    error: str = ""
    is_same: bool = True
    """Whether the first text is the structured data as compact JSON."""
    carrying: frozenset[str] = frozenset()
    """The fields of the answer with text that the project's files contain and the arguments do not."""
    untrusted: tuple[str, ...] = ()
    """The fields that the answer itself names as such."""

    @property
    def tokens(self) -> int:
        return max(self.data, self.text)


@dataclass(frozen=True)
class Sampler:
    """The busiest parts of a project: what has the most neighbours, symbols, links or citations."""

    host: Host

    @cached_property
    def nodes(self) -> list[str]:
        """Ids of the nodes with the most edges: files, a symbol, a requirement and a note."""
        graph = self.host.index().store.graph
        found = []
        for label in ("SourceFile", "DesignDoc", "TestCase", "Symbol", "Requirement", "Note", "Section"):
            ids = [node.id for node in graph.nodes_labelled(label, None, _SAMPLE)]
            degrees = Counter({node_id: sum(graph.degree(node_id).values()) for node_id in ids})
            found += [node_id for node_id, _ in degrees.most_common(2)]
        return found

    @cached_property
    def subsystems(self) -> list[str]:
        graph = self.host.index().store.graph
        names = [node.key for node in graph.nodes_labelled("Subsystem", None, _SAMPLE)]
        degrees = Counter({name: sum(graph.degree(f"Subsystem:{name}").values()) for name in names})
        return [name for name, _ in degrees.most_common(3)]

    @cached_property
    def titles(self) -> list[str]:
        """Titles of chunks from all over the project, as queries."""
        files = [row.artifact.path for row in self.host.index().store.files.artifacts() if row.chunk_count]
        paths = files[:: max(1, len(files) // 10)][:10]
        chunks = self.host.index().store.files.chunks_of
        return [title for path in paths if (title := chunks(path)[-1].chunk.title.strip())]

    @cached_property
    def tested(self) -> list[str]:
        """Ids of the symbols that the most tests exercise."""
        graph = self.host.index().store.graph
        tests = [node.id for node in graph.nodes_labelled("TestCase", None, _SAMPLE)]
        edges = graph.expand(tests, ("EXERCISES",), "outgoing", _SAMPLE)
        return [node_id for node_id, _ in Counter(edge.target for edge in edges).most_common(2)]

    @cached_property
    def common_names(self) -> list[str]:
        """The names that the most symbols share."""
        names = Counter(symbol.name for _, symbol in self.host.index().store.files.symbols())
        return [name for name, _ in names.most_common(2)]

    @cached_property
    def pages(self) -> list[str]:
        """The longest page and the one with the most links."""
        catalog = self.host.services.get(NotesService).view().catalog
        longest = sorted(catalog.notes, key=lambda note: len(note.content))[-1:]
        linked = sorted(catalog.notes, key=lambda n: len(catalog.backlinks(n)) + len(catalog.outlinks(n)))[-1:]
        return [note.slug for note in (*longest, *linked)]

    @cached_property
    def requirements(self) -> list[str]:
        """The requirement with the most citations, and one without any."""
        ordered = sorted(self._catalog.requirements, key=lambda r: len(r.related))
        return [requirement.identifier for requirement in (*ordered[:1], *ordered[-1:])]

    @cached_property
    def sentences(self) -> list[str]:
        """The texts of the longest requirements, as queries."""
        texts = sorted((r.text for r in self._catalog.requirements), key=len)[-2:]
        return [text[:500] for text in texts]

    @cached_property
    def citations(self) -> list[str]:
        return [citation.id for r in self._catalog.requirements for citation in r.related][:1]

    @cached_property
    def specifications(self) -> list[str]:
        """The ids of the specifications, the largest first."""
        sizes = {name: len(entry.specification.sections) for name, entry in self._catalog.specifications.items()}
        return sorted(sizes, key=lambda name: -sizes[name])

    @cached_property
    def sections(self) -> list[tuple[str, str]]:
        """The longest section of each specification, by specification and section id."""
        entries = self._catalog.specifications.items()
        longest = ((name, max(entry.specification.sections, key=lambda s: len(s.content()))) for name, entry in entries)
        return [(name, section.id) for name, section in longest]

    @property
    def _catalog(self) -> Any:
        return self.host.services.get(TraceService).view().catalog


def reading_calls(sampler: Sampler) -> Iterator[Call]:
    """Default calls of every tool that changes nothing but the state directory."""
    yield from (Call("contextive_server_info"), Call("contextive_health"))
    yield from _orient_calls(sampler)
    yield from _trace_calls(sampler)
    yield Call("list_pages")
    for slug in sampler.pages:
        yield from (Call("get_page", {"slug": slug}), Call("get_connections", {"slug": slug}))
    yield from (Call("search", {"query": "the"}), Call("ask", {"question": QUESTIONS[0]}))
    yield from (Call("km-help"), Call("km-help", {"tool": "km-search"}))
    for query in (*QUESTIONS, *sampler.titles):
        yield Call("km-search", {"query": query})
    yield Call("km-search-batch", {"queries": [*sampler.titles[:3], *QUESTIONS[:2]]})
    for node_id in sampler.nodes:
        yield from (
            Call("km-graph-node", {"node_id": node_id}),
            Call("km-graph-node", {"node_id": node_id, "relationships": "all"}),
        )
    for name in sampler.subsystems:
        yield Call("km-graph-subsystem", {"name": name})
        yield Call("km-recipe-run", {"recipe": "subsystem-freshness", "vars": {"subsystem": name}})
    yield Call("km-graph-search", {"term": "a"})
    for symbol in sampler.tested:
        yield from (Call("km-graph-tests-of", {"symbol_id": symbol}), Call("find_usages", {"id": symbol}))
    for name in sampler.common_names:
        yield Call("find_usages", {"name": name})
    yield Call("km-graph-query", {"start": {"label": "SourceFile"}, "steps": [{"types": ["DECLARES_SYMBOL"]}]})
    yield Call("km-graph-query", {"start": {"label": "SourceFile"}, "steps": [{}, {}], "returns": "paths"})
    for tool in ("km-coverage-summary", "km-lifecycle-report", "km-health-summary"):
        yield Call(tool)
    for tool in ("km-ingest-status", "km-ingest-list", "km-scheduler-status"):
        yield Call(tool)
    yield Call("km-ingest-trigger")
    for recipe in ("daily-health", "stale-audit", "post-restore-verify", "spec-audit"):
        yield Call("km-recipe-run", {"recipe": recipe})


def writing_calls(sampler: Sampler) -> Iterator[Call]:
    """Calls of every tool that changes the project, each made after the one before."""
    notes = sampler.host.services.get(NotesService)
    text = " ".join(QUESTIONS) * 50
    yield Call("create_page", {"title": "A new page about mooring", "content": text})
    version = notes.page("a-new-page-about-mooring")[1].version
    yield Call("update_page", {"slug": "a-new-page-about-mooring", "version": version, "content": f"{text} more"})
    for slug in sampler.pages:
        yield Call("rename_page", {"slug": slug, "new_title": f"{slug} under another name"})
        yield Call("delete_page", {"slug": f"{slug}-under-another-name"})
    service = sampler.host.services.get(TraceService)
    version = version_of(service.files, service.view().state.formats.by_id[PLAN].tasks[0].place.path)
    yield Call("complete_task", {"spec": PLAN, "task": "1.1", "version": version})
    yield Call("km-storetext", {"content": text, "title": "A stored text", "ingest": True})
    yield Call("km-upload", {"source_path": "docs/a-stored-text.md", "destination": "docs/copy.md", "ingest": True})
    for number in range(30):
        document = sampler.host.loaded.project / "docs" / f"another-document-about-the-harbour-{number}.md"
        document.write_text(f"# Document {number}\n", encoding="utf-8")
    yield Call("km-ingest-trigger")
    query = {"query": sampler.titles[0]}
    yield Call("km-search", query)
    sampler.host.index().search_event_log.write()
    [event] = sampler.host.index().store.records.events(limit=1)
    vote = {"request_id": event.request_id, "chunk_id": event.chunk_id, "vote": 1}
    yield Call("km-feedback-submit", vote)
    yield Call("km-feedback-batch", {"votes": [vote]})
    yield Call("km-backup-trigger")
    yield Call("km-recipe-run", {"recipe": "release-prep"})
    yield Call("km-recipe-run", {"recipe": "authoring-loop", "vars": {"title": "Mooring lines", "content": text}})
    yield Call("km-recipe-run", {"recipe": "feedback-triage", "vars": {**query, "vote": 1}})


def _orient_calls(sampler: Sampler) -> Iterator[Call]:
    yield Call("orient")
    for query in (*QUESTIONS[:3], *sampler.titles[:2]):
        yield Call("orient", {"task": query})
    for node_id in sampler.nodes:
        label, _, key = node_id.partition(":")
        if label in ("SourceFile", "DesignDoc", "TestCase"):
            yield Call("orient", {"path": key})
    for name in sampler.common_names:
        yield Call("orient", {"symbol": name})


def _trace_calls(sampler: Sampler) -> Iterator[Call]:
    for tool in ("list_uncited_requirements", "list_invalid_citations", "get_prioritized_requirements"):
        yield Call(tool)
    for sentence in sampler.sentences or ["how is it configured"]:
        yield Call("search_requirements", {"query": sentence})
    yield Call("validate_citation", {"citation": "//= no-such-specification#section\n//# no such sentence"})
    for spec, section in sampler.sections[:1]:
        yield Call("validate_citation", {"citation": f"//= {spec}#{section}\n//# The berth must be reserved."})
    for name in sampler.specifications[:1]:
        yield Call("resolve_spec_id", {"url": name})
    yield Call("resolve_spec_id", {"url": "no-such-specification"})
    yield Call("spec_status")
    for name in sampler.specifications[:1]:
        yield Call("spec_status", {"spec": name})
    for identifier in sampler.requirements:
        yield Call("get_requirement_status", {"req_identifier": identifier})
        yield Call("explain_requirement", {"req_identifier": identifier})
    for spec, section in sampler.sections:
        yield Call("get_section", {"spec": spec, "section": section})
    for citation in sampler.citations:
        yield Call("get_citation_context", {"citation_id": citation})
    yield Call("next_requirement")
    yield Call("review_changes", {"base": "HEAD"})
    yield from (Call("spec_status"), Call("spec_status", {"spec": PLAN}), Call("list_tasks"))


def all_tools(host: Host) -> dict[str, Tool]:
    """Every tool of every profile."""
    return {name: tool for profile in PROFILES.values() for name, tool in host.widest_surface(profile).tools.items()}


def measure(host: Host, call: Call) -> Size:
    """Make a call as a maintainer and measure its answer."""
    profile = next(p for p in PROFILES.values() if call.tool in host.widest_surface(p).tools)
    surface = host.widest_surface(profile)
    context = host.context(OWNER_AS_MAINTAINER, door="tests", profile=profile, request_id="0" * 32)
    try:
        result = asyncio.run(host.dispatcher.call(surface, call.tool, call.arguments, context))
    except ContextiveError as error:
        return Size(call, 0, 0, error.full_message())
    texts = [block.text for block in result.content if isinstance(block, Text)]
    return Size(
        call,
        estimated_tokens(result.data),
        -(-sum(map(len, texts)) // 4),
        is_same=bool(texts) and texts[0] == compact_json(result.data),
        carrying=frozenset(_fields_with_project_text(result.data, call.arguments)),
        untrusted=result.untrusted,
    )


def _fields_with_project_text(data: Mapping[str, Any], arguments: Mapping[str, Any]) -> Iterator[str]:
    given = compact_json(arguments)
    for name, value in data.items():
        if any(found.group() not in given for found in CANARY.finditer(compact_json(value))):
            yield name


def median_of_searches(sizes: Sequence[Size]) -> float:
    return statistics.median(size.tokens for size in sizes if size.call.tool == "km-search")


def table(sizes: Sequence[Size]) -> str:
    """The largest answer of each tool, the number of calls and the budget, one line each."""
    lines = [f"{'tool':<30} {'calls':>5} {'median':>7} {'most':>7} {'budget':>7}"]
    for tool in dict.fromkeys(size.call.tool for size in sizes):
        answers = [size for size in sizes if size.call.tool == tool and not size.error]
        if not answers:
            error = next(size.error for size in sizes if size.call.tool == tool)
            lines.append(f"{tool:<30}  not answered: {error}")
            continue
        most = max(answers, key=lambda size: size.tokens)
        median = statistics.median(size.tokens for size in answers)
        over = f"  over: {most.call.label}" if most.tokens > most.call.budget else ""
        lines.append(f"{tool:<30} {len(answers):>5} {median:>7.0f} {most.tokens:>7} {most.call.budget:>7}{over}")
    return "\n".join(lines)


def _short(value: Any) -> str:
    return " ".join("".join(islice(str(value), 60)).split())
