"""A small project in a real store, filled without an ingest run."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Mapping
from pathlib import Path

from contextive.knowledge.artifact import LastCommit
from contextive.knowledge.artifact_layers import artifact_layer, project_layer
from contextive.knowledge.artifact_parser import ParseContext, parse_artifact
from contextive.knowledge.packages import find_packages
from contextive.knowledge.subsystems import parse_catalog
from contextive.search.embedding.dummy import DummyEmbedder
from contextive.search.embedding.protocol import Embedder
from contextive.search.embedding_worker import embed_pending
from contextive.store import open_store
from contextive.store.protocol import Store
from contextive.store.values import LedgerEntry

FILES: Mapping[str, str] = {
    "src/shop/payment/gateway.py": (
        '"""Talks to the bank."""\n\n\nclass PaymentGateway:\n    """Charges cards."""\n\n'
        "    def charge_card(self, card: str, cents: int) -> bool:\n"
        '        """Take money from a card and wait for the receipt of the bank."""\n'
        "        return cents > 0 and bool(card)\n\n"
        "    def refund(self, receipt: str) -> None:\n"
        '        """Give money back for a receipt."""\n'
    ),
    "src/shop/stock/shelf.py": (
        "def count_items(shelf: list[str]) -> int:\n"
        '    """How many goods are on a shelf of the warehouse."""\n'
        "    return len(shelf)\n\n\n"
        "def gatherAll(shelves: list[list[str]]) -> list[str]:\n"
        '    """Goods of all shelves together."""\n'
        "    return [item for shelf in shelves for item in shelf]\n"
    ),
    "tests/payment/test_gateway.py": (
        "from shop.payment.gateway import PaymentGateway\n\n\n"
        "def test_a_card_is_charged_with_money_from_the_bank() -> None:\n"
        "    assert PaymentGateway().charge_card('card', 3)\n"
    ),
    "docs/payment.md": (
        "---\nsubsystem: Payment\ntags: [money]\n---\n# Payment\n\nHow customers pay.\n\n## Refunds\n\n"
        "A refund needs the receipt of the bank. It is paid within a week.\n\n## Cards\n\nCards are charged at once.\n"
    ),
    "docs/größe.md": "# Größe\n\nDie Größe der Kiste. 東京の倉庫は大きい。\n",
    "config/shop.toml": 'currency = "EUR"\n',
}
CATALOG = (
    '{"Payment": {"criticality": "high", "paths": ["src/shop/payment", "tests/payment"], "depends_on": ["Stock"]}}'
)
WRITTEN = 1_700_000_000.0


def fill(store: Store, files: Mapping[str, str] = FILES, *, without_git: frozenset[str] = frozenset()) -> None:
    """Index files with one catalog, each with a last commit unless it is in `without_git`."""
    catalog = parse_catalog(CATALOG, "docs/subsystems.json")
    context = ParseContext(catalog, find_packages(files, {}))
    artifacts = []
    with store.transaction() as writer:
        for path, text in files.items():
            data = text.encode()
            git = None if path in without_git else LastCommit("c0ffee", WRITTEN)
            parsed = parse_artifact(path, data, text, context, git)
            entry = LedgerEntry(path, hashlib.sha256(data).hexdigest(), len(data), 1, 1, 1, "test")
            writer.put_artifact(parsed, entry, artifact_layer(parsed))
            artifacts.append(parsed.artifact)
        writer.put_layer("@project", project_layer(artifacts, catalog))


def open_shop(directory: Path, embedder: Embedder | None = None) -> Store:
    """The store of the small shop, with embeddings."""
    store = open_store(directory)
    fill(store)
    embed_pending(store, embedder or DummyEmbedder(), threading.Event())
    return store
