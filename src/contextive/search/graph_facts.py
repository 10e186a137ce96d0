"""Short sentences from the graph about the results of a search, such as "tested by tests/test_gauge.py"."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from contextive.knowledge.graph import Edge, EdgeType, Node
from contextive.knowledge.node_ids import artifact_node_id, node_id
from contextive.notes.slug import first_slug
from contextive.search.answer import FoundChunk
from contextive.store.protocol import Store

MAX_FACTS: Final = 3
_MAX_CHARACTERS: Final = 160
_MAX_SYMBOLS: Final = 10
_MAX_EDGES: Final = 200
_INCOMING: Final[tuple[tuple[tuple[EdgeType, ...], str], ...]] = (
    (("EXERCISES", "TESTS"), "tested by"),
    (("CITES",), "cited by"),
    (("CALLS",), "called by"),
    (("LINKS_TO",), "linked from"),
)
_OUTGOING: Final[tuple[tuple[tuple[EdgeType, ...], str], ...]] = (
    (("CITES",), "cites"),
    (("TESTS",), "tests"),
    (("LINKS_TO",), "links to"),
)
_TYPES: Final = tuple(dict.fromkeys(kind for kinds, _ in (*_INCOMING, *_OUTGOING) for kind in kinds))
_ORDER: Final = ("tested by", "cites", "cited by", "tests", "called by", "linked from", "links to")
_CATALOG_PROPERTIES: Final = ("description", "criticality", "owner", "domain")
_REQUIREMENT: Final = re.compile(r"r([0-9a-f]{12})")
_RFC: Final = re.compile(r"rfc-?([0-9]{1,5})")
_WORD: Final = re.compile(r"[a-z0-9]{3,}")


##= docs/spec/knowledge.md#km-search-answers
##% A concise result MUST have at most three facts from the graph, such as which tests exercise its symbols.
def graph_facts(store: Store, chunks: Sequence[FoundChunk]) -> list[tuple[str, ...]]:
    """Up to three facts about each chunk, the most useful first."""
    with store.snapshot():
        subjects = [tuple(_subjects(store, chunk)) for chunk in chunks]
        edges = store.graph.expand(sorted({name for names in subjects for name in names}), _TYPES, "both", _MAX_EDGES)
        at_node: dict[str, list[Edge]] = {}
        for edge in edges:
            at_node.setdefault(edge.source, []).append(edge)
            at_node.setdefault(edge.target, []).append(edge)
        relations = [_relations(names, at_node, chunk) for names, chunk in zip(subjects, chunks, strict=True)]
        named = {others[0] for found in relations for others in found.values() if others[0].startswith("Requirement:")}
        named |= {node_id("Subsystem", chunk.subsystem) for chunk in chunks if chunk.subsystem}
        nodes = store.graph.nodes(sorted(named))
    return [tuple(_facts(chunk, found, nodes))[:MAX_FACTS] for chunk, found in zip(chunks, relations, strict=True)]


def _subjects(store: Store, chunk: FoundChunk) -> Iterator[str]:
    """The nodes that a chunk is about: its symbols, or its requirement, or else its file and note."""
    if prefix := _requirement_of(chunk):
        for node in store.graph.nodes_labelled("Requirement", prefix, 1):
            if node.key.startswith(prefix):
                yield node.id
    elif chunk.symbols:
        yield from (node_id("Symbol", found.symbol.id) for found in chunk.symbols[:_MAX_SYMBOLS])
    elif chunk.language is not None:
        # The later pieces of a long function declare no symbol. Their title names it.
        names = chunk.title.rpartition(" (")[0].split(", ")[:_MAX_SYMBOLS]
        yield from (node_id("Symbol", f"{chunk.artifact_path}::{name}") for name in names if name)
    elif chunk.artifact_type == "doc":
        yield artifact_node_id(chunk.artifact_path, "doc")
        stem = posixpath.splitext(posixpath.basename(chunk.artifact_path))[0]
        note = store.graph.node(node_id("Note", first_slug(stem)))
        if note is not None and note.properties.get("path") == chunk.artifact_path:
            yield note.id


def _requirement_of(chunk: FoundChunk) -> str:
    """The first digits of the identifier of the requirement that the chunk is; empty for other chunks."""
    found = _REQUIREMENT.fullmatch(chunk.chunk_id.rpartition("::")[2])
    return found[1] if found else ""


def _relations(names: Sequence[str], at_node: Mapping[str, Sequence[Edge]], chunk: FoundChunk) -> dict[str, list[str]]:
    """The nodes at the other end, by the word for the relation; those with the most words of the chunk's path first."""
    found: dict[str, set[str]] = {}
    for name in names:
        for edge in at_node.get(name, ()):
            other, words = (edge.source, _INCOMING) if edge.target == name else (edge.target, _OUTGOING)
            for kinds, word in words:
                if edge.type in kinds and other not in names:
                    found.setdefault(word, set()).add(other)
    path_words = _words(chunk.artifact_path)
    return {
        word: sorted(_without_files_of_symbols(others), key=lambda o: (-len(path_words & _words(o)), o))
        for word, others in found.items()
    }


def _without_files_of_symbols(others: Iterable[str]) -> Iterator[str]:
    """The nodes, without a file if one of its symbols is among them: a citation counts for both."""
    all_others = set(others)
    paths = {name.partition(":")[2].partition("::")[0] for name in all_others if name.startswith("Symbol:")}
    return (name for name in all_others if name.startswith("Symbol:") or name.partition(":")[2] not in paths)


def _facts(chunk: FoundChunk, relations: Mapping[str, Sequence[str]], nodes: Mapping[str, Node]) -> Iterator[str]:
    for word in _ORDER:
        if others := relations.get(word):
            more = f" and {len(others) - 1} more" if len(others) > 1 else ""
            yield f"{word} {_name(others[0], nodes)[:_MAX_CHARACTERS]}{more}"
    if _requirement_of(chunk) and "cited by" not in relations:
        yield "cited by no code"
    subsystem = nodes.get(node_id("Subsystem", chunk.subsystem)) if chunk.subsystem else None
    if subsystem is not None and any(subsystem.properties.get(name) for name in _CATALOG_PROPERTIES):
        # A subsystem without any of these is only the name of a directory.
        yield f"in subsystem {subsystem.key}"[:_MAX_CHARACTERS]


def _name(other: str, nodes: Mapping[str, Node]) -> str:
    """The name of a node as a developer would write it."""
    label, _, key = other.partition(":")
    match label:
        case "Requirement":
            properties = nodes[other].properties if other in nodes else {}
            return _section_name(str(properties.get("specification", key[:12])), str(properties.get("section", "")))
        case "Section":
            specification, _, section = key.partition("#")
            return _section_name(specification, section)
        case "Note":
            return f"note {key}"
        case _:
            return key


def _section_name(specification: str, section: str) -> str:
    rfc = _RFC.fullmatch(specification)
    name = f"RFC {rfc[1]}" if rfc else specification
    if section.startswith("section-"):
        return f"{name} section {section.removeprefix('section-')}"
    return f"{name}#{section}" if section else name


def _words(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text.lower()))
