from __future__ import annotations

import pytest

from contextive.knowledge.graph import Edge
from contextive.knowledge.symbol import Symbol
from contextive.knowledge.trace_layer import requirement_chunks, symbol_at, trace_layer
from contextive.trace.catalog import TraceCatalog
from contextive.trace.requirement import identify
from tests.trace.in_memory_trace import trace

SPEC = "# Coffee\n\n## Brewing\n\nThe pot MUST brew.\nThe pot SHOULD keep warm.\n\n## Serving\n\nThe pot MUST brew.\n"
REQUIREMENTS = "".join(
    f"//= docs/coffee.md#{section}\n//= type=spec\n//= level=MUST\n//# {text}\n\n"
    for section, text in [
        ("brewing", "The pot MUST brew."),
        ("brewing", "The pot SHOULD keep warm."),
        ("serving", "The pot MUST brew."),
    ]
)
CODE = """\
fn outer() {
    //= docs/coffee.md#brewing
    //# The pot MUST brew.
    work();
}

//= docs/coffee.md#serving
//# The pot MUST brew.
//= docs/coffee.md#brewing
//= type=todo
//# The pot SHOULD keep warm.
fn below() {}

//= docs/coffee.md#serving
"""
TEST = "//= docs/coffee.md#brewing\n//= type=test\n//# The pot MUST brew.\n"
BREW, WARM = (f"Requirement:{identify(text)}" for text in ("The pot MUST brew.", "The pot SHOULD keep warm."))


def symbol(name: str, start: int, end: int) -> Symbol:
    return Symbol(f"src/a.rs::{name}", name, name, "function", "rust", start, end)


@pytest.fixture
def catalog() -> TraceCatalog:
    files = {"requirements.rs": REQUIREMENTS, "src/a.rs": CODE, "tests/t.rs": TEST}
    return TraceCatalog(trace({"docs/coffee.md": SPEC}, files), {})


ARTIFACTS = {
    "docs/coffee.md": "DesignDoc:docs/coffee.md",
    "src/a.rs": "SourceFile:src/a.rs",
    "tests/t.rs": "TestCase:tests/t.rs",
}
SYMBOLS = {"src/a.rs": [symbol("outer", 1, 5), symbol("below", 12, 12)]}


def test_requirements_are_part_of_their_section_specification_and_document(catalog: TraceCatalog) -> None:
    layer = trace_layer(catalog, ARTIFACTS, SYMBOLS)
    nodes = {node.id: node for node in layer.nodes}
    assert set(nodes) >= {
        "Specification:docs-coffee",
        "Section:docs-coffee#brewing",
        "Section:docs-coffee#serving",
        BREW,
        WARM,
    }
    assert nodes[BREW].properties["text"] == "The pot MUST brew."
    assert nodes[BREW].properties["level"] == "MUST"
    assert nodes["Specification:docs-coffee"].properties["path"] == "docs/coffee.md"
    assert {
        Edge(BREW, "PART_OF", "Section:docs-coffee#brewing"),
        Edge(BREW, "PART_OF", "Section:docs-coffee#serving"),
        Edge(BREW, "PART_OF", "DesignDoc:docs/coffee.md"),
        Edge("Section:docs-coffee#brewing", "PART_OF", "Specification:docs-coffee"),
    } <= set(layer.edges)


##= docs/spec/knowledge.md#nodes-and-edges
##% The graph MUST show which code cites and which tests test a requirement.
def test_files_and_symbols_cite_and_test_requirements(catalog: TraceCatalog) -> None:
    layer = trace_layer(catalog, ARTIFACTS, SYMBOLS)
    assert {edge for edge in layer.edges if edge.type in ("CITES", "TESTS")} == {
        Edge("SourceFile:src/a.rs", "CITES", BREW),
        Edge("Symbol:src/a.rs::outer", "CITES", BREW),
        Edge("Symbol:src/a.rs::below", "CITES", BREW),
        Edge("TestCase:tests/t.rs", "TESTS", BREW),
        Edge("SourceFile:src/a.rs", "CITES", "Section:docs-coffee#serving"),
    }


def test_citations_in_files_that_are_not_indexed_have_no_edges(catalog: TraceCatalog) -> None:
    layer = trace_layer(catalog, {}, {})
    assert {edge.type for edge in layer.edges} == {"PART_OF"}


def test_every_edge_connects_known_nodes(catalog: TraceCatalog) -> None:
    layer = trace_layer(catalog, ARTIFACTS, SYMBOLS)
    known = {node.id for node in layer.nodes} | set(ARTIFACTS.values())
    known |= {f"Symbol:{item.id}" for symbols in SYMBOLS.values() for item in symbols}
    assert {end for edge in layer.edges for end in (edge.source, edge.target)} <= known


##= docs/spec/knowledge.md#chunks-and-symbols
##% Each requirement of a specification MUST be a separate chunk.
def test_each_requirement_is_one_chunk_of_its_document(catalog: TraceCatalog) -> None:
    chunks = requirement_chunks(catalog, first_sequence=7)["docs/coffee.md"]
    assert [(chunk.text, chunk.line_start, chunk.line_end, chunk.sequence) for chunk in chunks] == [
        ("The pot MUST brew.", 5, 5, 7),
        ("The pot SHOULD keep warm.", 6, 6, 8),
    ]
    assert chunks[0].chunk_id == f"docs/coffee.md::r{identify('The pot MUST brew.')[:12]}"
    assert chunks[0].title == "Coffee > Brewing"
    assert len({chunk.digest for chunk in chunks}) == 2


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ((3, 4), "inner"),
        ((7, 8), "method"),
        ((9, 9), "method"),
        ((14, 15), "next"),
        ((12, 12), "kind"),
        ((30, 30), None),
    ],
)
def test_a_comment_belongs_to_the_symbol_below_or_around_it(lines: tuple[int, int], expected: str | None) -> None:
    symbols = [symbol("kind", 1, 12), symbol("inner", 2, 5), symbol("method", 9, 10), symbol("next", 16, 20)]
    found = symbol_at(symbols, *lines)
    assert (found.name if found else None) == expected


def test_a_specification_with_a_url_is_found_in_its_stored_file() -> None:
    url, file = "https://spec.example/pot.md", "kept/spec.example/pot.txt"
    text = "# Pot\n\n## Brewing\n\nThe pot MUST brew.\n"
    requirements = f"//= {url}#brewing\n//= type=spec\n//= level=MUST\n//# The pot MUST brew.\n"
    catalog = TraceCatalog(trace({url: text}, {"requirements.rs": requirements}), {}, download_dir="kept")
    assert [chunk.text for chunk in requirement_chunks(catalog)[file]] == ["The pot MUST brew."]
    layer = trace_layer(catalog, {file: f"DesignDoc:{file}"}, {})
    assert Edge(BREW, "PART_OF", f"DesignDoc:{file}") in layer.edges
    assert next(node for node in layer.nodes if node.label == "Specification").properties["path"] == file
