"""Facts from the graph about the results of a search."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from contextive.knowledge.graph import Edge, Layer, Node
from contextive.search.answer import FoundChunk, SearchRequest
from contextive.search.graph_facts import graph_facts
from contextive.search.service import SearchService
from contextive.store import open_store
from contextive.store.protocol import Store

from .project import fill

GATEWAY = "src/shop/payment/gateway.py"
CHARGE = f"Symbol:{GATEWAY}::PaymentGateway.charge_card"
REFUND = f"Symbol:{GATEWAY}::PaymentGateway.refund"
IDENTIFIER = "0123456789abcdef" * 4


@pytest.fixture
def store(state_dir: Path) -> Iterator[Store]:
    store = open_store(state_dir)
    fill(store)
    requirement = Node("Requirement", IDENTIFIER, {"specification": "rfc9114", "section": "section-5.2"})
    page = Node("Note", "payment", {"path": "docs/payment.md"})
    second_test = Node("TestCase", "tests/payment/test_refunds.py", {})
    edges = (
        Edge("TestCase:tests/payment/test_gateway.py", "EXERCISES", CHARGE),
        Edge(second_test.id, "EXERCISES", CHARGE),
        Edge(f"SourceFile:{GATEWAY}", "CITES", requirement.id),
        Edge(CHARGE, "CITES", requirement.id),
        Edge(REFUND, "CITES", requirement.id),
        Edge("Symbol:src/shop/stock/shelf.py::count_items", "CALLS", REFUND),
        Edge("Note:how-cards-work", "LINKS_TO", CHARGE),
        Edge("Note:how-cards-work", "LINKS_TO", page.id),
    )
    with store.transaction() as writer:
        nodes = (requirement, page, second_test, Node("Note", "how-cards-work", {}))
        writer.put_layer("@facts", Layer(nodes, edges))
    yield store
    store.close()


def found(store: Store, query: str, path: str) -> FoundChunk:
    response = SearchService(store).search(SearchRequest(query))
    return next(result.chunk for result in response.results if result.chunk.artifact_path == path)


##= docs/spec/knowledge.md#km-search-answers
##% A concise result MUST have at most three facts from the graph, such as which tests exercise its symbols.
def test_code_says_what_tests_cites_and_calls_it(store: Store) -> None:
    [facts] = graph_facts(store, [found(store, "charge_card refund", GATEWAY)])
    assert facts == (
        "tested by tests/payment/test_gateway.py and 1 more",
        "cites RFC 9114 section 5.2",
        "called by src/shop/stock/shelf.py::count_items",
    )


def test_a_document_says_which_notes_link_to_it_and_its_subsystem(store: Store) -> None:
    [facts] = graph_facts(store, [found(store, "how customers pay", "docs/payment.md")])
    assert facts == ("linked from note how-cards-work", "in subsystem Payment")


def test_a_directory_that_no_catalog_describes_is_not_a_fact(store: Store) -> None:
    [facts] = graph_facts(store, [found(store, "gatherAll shelves", "src/shop/stock/shelf.py")])
    assert facts == ()


def test_a_requirement_says_which_code_cites_it_or_that_none_does(store: Store) -> None:
    chunk = found(store, "how customers pay", "docs/payment.md")
    cited = replace(chunk, chunk_id=f"docs/payment.md::r{IDENTIFIER[:12]}", subsystem=None)
    open_ = replace(chunk, chunk_id="docs/payment.md::rfedcba987654", subsystem=None)
    assert graph_facts(store, [cited, open_]) == [
        (f"cited by {CHARGE.removeprefix('Symbol:')} and 1 more",),
        ("cited by no code",),
    ]
