"""Specifications, requirements and citations as nodes, edges and chunks."""

from __future__ import annotations

import hashlib
import posixpath
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from contextive.knowledge.chunk import Chunk
from contextive.knowledge.graph import Edge, EdgeType, Layer, Node
from contextive.knowledge.node_ids import node_id
from contextive.knowledge.symbol import Symbol
from contextive.trace.catalog import EMPTY_SECTION_ID, SpecificationEntry, TraceCatalog
from contextive.trace.citation import Citation
from contextive.trace.formats.values import FormatSpecification
from contextive.trace.level import CitationType
from contextive.trace.requirement import Requirement
from contextive.trace.spec_trace import SpecTrace
from contextive.trace.specification import Section

_RELATIONS: Final[dict[CitationType, EdgeType]] = {
    CitationType.CITATION: "CITES",
    CitationType.IMPLICATION: "CITES",
    CitationType.EXCEPTION: "CITES",
    CitationType.TEST: "TESTS",
}
"""The edge for each type of citation. A todo has no edge."""
_MAX_LINES_BELOW = 2
"""A declaration at most this number of lines below a comment still belongs to it."""


##= docs/spec/knowledge.md#nodes-and-edges
##% The graph MUST contain files, chunks, symbols, subsystems, specifications, sections, requirements, notes, messages
##% and channels.
##= docs/spec/knowledge.md#nodes-and-edges
##% The graph MUST show which code cites and which tests test a requirement.
def trace_layer(
    catalog: TraceCatalog,
    artifacts: Mapping[str, str],
    symbols: Mapping[str, Sequence[Symbol]],
    formats: SpecTrace | None = None,
) -> Layer:
    """Specifications, sections, requirements and tasks, and edges from the code that cites and tests them.

    `artifacts` maps paths to node ids, `symbols` maps paths to declared symbols. A citation counts for its file and
    for the symbol around it or directly below it.
    """
    nodes: dict[str, Node] = {}
    edges: set[Edge] = set()
    for entry in catalog.specifications.values():
        specification_node = Node("Specification", entry.id, _specification_properties(catalog, entry))
        nodes[specification_node.id] = specification_node
        for section in entry.specification.sections:
            section_node = _section_node(entry, section)
            nodes.setdefault(section_node.id, section_node)
            edges.add(Edge(section_node.id, "PART_OF", specification_node.id))
    for requirement in catalog.requirements:
        entry = catalog.entry_of(requirement.target)
        node = _requirement_node(catalog, entry, requirement)
        nodes.setdefault(node.id, node)
        edges.add(Edge(node.id, "PART_OF", _section_node(entry, requirement.section).id))
        document = artifacts.get(catalog.file_of(entry) or "")
        if document is not None:
            edges.add(Edge(node.id, "PART_OF", document))
    citing_nodes = _CitingNodes(catalog, artifacts, symbols)
    for cited in catalog.citations:
        relation = _RELATIONS.get(cited.citation.type)
        if relation is None:
            continue
        if cited.requirement is not None:
            target = node_id("Requirement", cited.requirement.identifier)
        else:
            matched = catalog.matched_by_id[cited.citation.id]
            target = _section_node(catalog.entry_of(matched.target), matched.section).id
        edges.update(Edge(source, relation, target) for source in citing_nodes.of(cited.citation))
    for specification in formats.current if formats is not None else ():
        task_nodes, task_edges = _tasks(catalog, specification, artifacts)
        nodes |= {node.id: node for node in task_nodes if node.id not in nodes}
        edges.update(task_edges)
    return Layer(tuple(nodes.values()), tuple(sorted(edges)))


def _tasks(
    catalog: TraceCatalog, specification: FormatSpecification, artifacts: Mapping[str, str]
) -> tuple[list[Node], list[Edge]]:
    """The tasks of a specification, with edges to their requirements and to the files that they name."""
    entry = catalog.resolve(specification.id)
    nodes, edges = [], []
    for task in specification.tasks:
        node = Node(
            "Task",
            f"{specification.id}#{task.key}",
            {"key": task.key, "title": task.title, "state": task.state.value, "path": task.place.path},
        )
        nodes.append(node)
        if entry is not None:
            edges.append(Edge(node.id, "PART_OF", node_id("Specification", entry.id)))
        for key in task.requirement_keys:
            meant = catalog.by_handle.get(specification.handle(key), ())
            edges += [Edge(node.id, "IMPLEMENTS", node_id("Requirement", one.identifier)) for one in meant]
        edges += [Edge(node.id, "LINKS_TO", artifacts[file]) for file in task.files if file in artifacts]
    return nodes, edges


##= docs/spec/knowledge.md#chunks-and-symbols
##% Each requirement of a specification MUST be a separate chunk.
def requirement_chunks(catalog: TraceCatalog, first_sequence: int = 0) -> dict[str, tuple[Chunk, ...]]:
    """One chunk for each requirement, by the path of its specification in the project or by its URL.

    A text that appears in several sections of one specification is one requirement and one chunk.
    """
    found: dict[str, dict[str, Chunk]] = {}
    for requirement in catalog.requirements:
        entry = catalog.entry_of(requirement.target)
        path = catalog.file_of(entry) or entry.url
        chunks = found.setdefault(path, {})
        chunk = _chunk(path, entry, requirement, first_sequence + len(chunks))
        chunks.setdefault(chunk.chunk_id, chunk)
    return {path: tuple(chunks.values()) for path, chunks in found.items()}


def requirement_chunk_id(catalog: TraceCatalog, requirement: Requirement) -> str:
    """The id of the chunk of a requirement."""
    entry = catalog.entry_of(requirement.target)
    return f"{catalog.file_of(entry) or entry.url}::{_chunk_name(requirement)}"


def _chunk_name(requirement: Requirement) -> str:
    return f"r{requirement.identifier[:12]}"


def _chunk(path: str, entry: SpecificationEntry, requirement: Requirement, sequence: int) -> Chunk:
    source = entry.specification.source
    name = _chunk_name(requirement)
    title = " > ".join(part for part in (entry.name, requirement.section.title) if part)
    digest = hashlib.sha256(f"{path}:{name}:{title}\0{requirement.text}".encode("utf-8", "surrogatepass"))
    return Chunk(
        chunk_id=f"{path}::{name}",
        sequence=sequence,
        kind="requirement",
        title=title,
        text=requirement.text,
        line_start=source.line_of(requirement.spans[0][0]),
        line_end=source.line_of(max(requirement.spans[-1][1] - 1, requirement.spans[0][0])),
        digest=digest.hexdigest(),
    )


def _specification_properties(catalog: TraceCatalog, entry: SpecificationEntry) -> dict[str, str | None]:
    return {
        "id": entry.id,
        "name": entry.name,
        "url": entry.url if entry.target.is_url else None,
        "path": catalog.file_of(entry),
        "format": entry.specification.format.value,
    }


def _section_node(entry: SpecificationEntry, section: Section) -> Node:
    properties = {"id": section.id, "title": section.title, "specification": entry.id}
    return Node("Section", f"{entry.id}#{section.id or EMPTY_SECTION_ID}", properties)


def _requirement_node(catalog: TraceCatalog, entry: SpecificationEntry, requirement: Requirement) -> Node:
    return Node(
        "Requirement",
        requirement.identifier,
        {
            "identifier": requirement.identifier,
            "text": requirement.text,
            "level": requirement.level.name,
            "status": requirement.status.value,
            "specification": entry.id,
            "section": requirement.section.id,
            **({"handle": requirement.handle} if requirement.handle else {}),
            "full_path": catalog.full_path(requirement),
        },
    )


class _CitingNodes:
    """The nodes that a citation belongs to: its file, and the symbol that the comment is about."""

    def __init__(
        self, catalog: TraceCatalog, artifacts: Mapping[str, str], symbols: Mapping[str, Sequence[Symbol]]
    ) -> None:
        self._artifacts, self._symbols = artifacts, symbols
        self._ends = _comment_block_ends(entry.citation for entry in catalog.citations)

    def of(self, citation: Citation) -> Iterator[str]:
        path = posixpath.normpath(citation.source)
        file = self._artifacts.get(path)
        if file is None:
            return
        yield file
        symbol = symbol_at(self._symbols.get(path, ()), citation.line, self._ends[citation.id])
        if symbol is not None:
            yield node_id("Symbol", symbol.id)


def symbol_at(symbols: Sequence[Symbol], line: int, end_line: int) -> Symbol | None:
    """The symbol that a comment belongs to: the one right below, else the innermost one around it.

    A declaration below counts only inside the symbol around the comment: a comment at the end of one function does
    not belong to the next.
    """
    around = [symbol for symbol in symbols if symbol.line_start <= line <= symbol.line_end]
    innermost = min(around, key=lambda symbol: (symbol.line_end - symbol.line_start, symbol.id), default=None)
    below = [
        symbol
        for symbol in symbols
        if end_line < symbol.line_start <= end_line + _MAX_LINES_BELOW
        and (innermost is None or symbol.line_end <= innermost.line_end)
    ]
    return min(below, key=lambda symbol: (symbol.line_start, -symbol.line_end, symbol.id), default=innermost)


def _comment_block_ends(citations: Iterable[Citation]) -> dict[str, int]:
    """The last line of each block of comments, by citation id. Several citations can be above one declaration."""
    by_file: dict[str, dict[int, Citation]] = {}
    for citation in citations:
        by_file.setdefault(citation.source, {})[citation.line] = citation
    ends: dict[str, int] = {}
    for lines in by_file.values():
        end, start_of_next = 0, -1
        for line in sorted(lines, reverse=True):
            own_end = max(line, lines[line].end_line)
            end = end if own_end + 1 >= start_of_next > 0 else own_end
            ends[lines[line].id] = end
            start_of_next = line
    return ends
