"""Counts what an ingest run does, file by file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from contextive.ingest.linker import LinkChanges
from contextive.ingest.parser_pool import ParseOutcome
from contextive.ingest.plan import LeftOut
from contextive.knowledge.artifact import ParsedArtifact
from contextive.store.values import LedgerEntry
from contextive.workspace.contents import Skipped
from contextive.workspace.files import Fingerprint

_MAX_LEFT_OUT = 20_000


@dataclass(frozen=True, slots=True)
class FileResult:
    """A parsed file: its rows, or why it has none."""

    path: str
    outcome: ParseOutcome
    fingerprint: Fingerprint
    """Taken before the file was read."""
    read_at_ns: int


@dataclass(slots=True)
class Tally:
    """The counts of a run in progress."""

    counts: Counter[str] = field(default_factory=Counter)
    """Files that were written, by type."""
    chunk_count: int = 0
    changed: list[str] = field(default_factory=list)
    touched: LinkChanges = field(default_factory=LinkChanges)
    skipped: Counter[str] = field(default_factory=Counter)
    left_out: dict[str, LeftOut] = field(default_factory=dict)

    def leave_out(self, result: FileResult) -> None:
        assert isinstance(result.outcome, Skipped)
        self.skipped[result.outcome.reason] += 1
        fingerprint = result.fingerprint
        if len(self.left_out) < _MAX_LEFT_OUT and fingerprint.is_settled(result.read_at_ns):
            self.left_out[result.path] = LeftOut(fingerprint, result.outcome.reason)

    def count(self, parsed: ParsedArtifact) -> None:
        self.counts[parsed.artifact.artifact_type] += 1
        self.chunk_count += len(parsed.chunks)
        self.changed.append(parsed.artifact.path)


def count_changes(
    batch: Iterable[FileResult], ledger: Mapping[str, LedgerEntry], parser_version: Callable[[str], str], tally: Tally
) -> None:
    """Count what a run would change, without writing it."""
    for result in batch:
        if isinstance(result.outcome, Skipped):
            tally.leave_out(result)
            continue
        parsed, _ = result.outcome
        known = ledger.get(result.path)
        if known is None or (known.digest, known.parser) != (parsed.artifact.digest, parser_version(result.path)):
            tally.count(parsed)
