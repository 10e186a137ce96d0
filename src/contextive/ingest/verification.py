"""Checks the index against the files: parses every file again and compares the result with its rows in the store."""

from __future__ import annotations

import threading
from collections.abc import Iterator

from contextive.ingest.indexer import Indexer, extra_digests, with_git_and_extra_chunks
from contextive.ingest.settings import IngestProgress
from contextive.knowledge.artifact import ParsedArtifact
from contextive.store.protocol import Store
from contextive.store.values import Discrepancy
from contextive.workspace.contents import Skipped


##= docs/spec/knowledge.md#store
##% The command `verify` MUST compare every file with its rows and exit with 0 only if they agree.
def verify_index(
    indexer: Indexer, store: Store, progress: IngestProgress = lambda _phase, _done, _total: None
) -> Iterator[Discrepancy]:
    """All differences between the index and the files, and all inconsistencies inside the index."""
    yield from store.verify()
    if store.state("links") == "pending":
        yield Discrepancy("links", "a run was interrupted before the links between files were resolved")
    discovery = indexer.discover()
    found = discovery.files
    context = indexer.parse_context(discovery)
    extra = indexer.extra_chunks()
    parser_version = indexer.parser_version(context, extra_digests(extra))
    ledger = store.files.ledger()
    on_disk: set[str] = set()
    outcomes = indexer.parse_files(context, [file.path for file in found], threading.Event())
    for number, (path, outcome) in enumerate(outcomes, 1):
        progress("verify", number, len(found))
        row = store.files.artifact(path)
        on_disk.add(path)
        if isinstance(outcome, Skipped):
            if row is not None:
                yield Discrepancy(path, f"it is indexed, but should be left out ({outcome.reason})")
        elif row is None or path not in ledger:
            yield Discrepancy(path, "it is not indexed")
        elif ledger[path].parser != parser_version(path):
            yield Discrepancy(path, "it was indexed by another version of Contextive or with other settings")
        else:
            yield from _compare(with_git_and_extra_chunks(outcome[0], row.artifact.git, extra.get(path, ())), store)
    for path in sorted(ledger.keys() - on_disk):
        yield Discrepancy(path, "it is indexed, but the file does not exist")


def _compare(parsed: ParsedArtifact, store: Store) -> Iterator[Discrepancy]:
    path = parsed.artifact.path
    row = store.files.artifact(path)
    if row is None or row.artifact != parsed.artifact:
        yield Discrepancy(path, "its properties differ")
    if [stored.chunk for stored in store.files.chunks_of(path)] != list(parsed.chunks):
        yield Discrepancy(path, "its chunks differ")
    if [symbol for _, symbol in store.files.symbols(path)] != list(parsed.symbols):
        yield Discrepancy(path, "its symbols differ")
    if set(store.files.references(path)) != set(parsed.references):
        yield Discrepancy(path, "its references differ")
    if store.files.hints(path) != parsed.hints:
        yield Discrepancy(path, "its type hints differ")
