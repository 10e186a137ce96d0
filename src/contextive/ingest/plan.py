"""What an ingest run has to do: which files are new, changed, only touched, or gone."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from contextive.errors import Unavailable
from contextive.store.values import LedgerEntry
from contextive.workspace.discovery import FoundFile
from contextive.workspace.files import Fingerprint


class RunInProgress(Unavailable):
    """Another process makes a run, and it lasts."""


class IndexReplaced(Unavailable):
    """The index is another one than the one for which a run made its plan."""


@dataclass(frozen=True, slots=True)
class Plan:
    """The files to look into, those that are surely the same, and those that are no longer there."""

    candidates: tuple[FoundFile, ...]
    unchanged: tuple[str, ...]
    gone: tuple[str, ...]
    left_out: Mapping[str, LeftOut] = field(default_factory=dict)
    """Files that are the same as when their content kept them out."""

    @property
    def is_empty(self) -> bool:
        return not (self.candidates or self.gone)


class LeftOut(NamedTuple):
    """A file that its content keeps out of the index."""

    fingerprint: Fingerprint
    reason: str


##= docs/spec/knowledge.md#index-updates
##% An unchanged file SHOULD NOT be parsed or embedded again.
def make_plan(
    found: Iterable[FoundFile],
    ledger: Mapping[str, LedgerEntry],
    left_out: Mapping[str, LeftOut],
    parser_version: Callable[[str], str] | None,
) -> Plan:
    """Compare what is on disk with what was indexed, without reading any file.

    `left_out` are files whose content kept them out of the index. `parser_version` is None where all files are known to have been
    indexed by the rules of today.
    """
    candidates: list[FoundFile] = []
    unchanged: list[str] = []
    passed: dict[str, LeftOut] = {}
    seen: set[str] = set()
    for file in found:
        seen.add(file.path)
        known = ledger.get(file.path)
        if known is None and (out := left_out.get(file.path)) is not None and out.fingerprint == file.fingerprint:
            passed[file.path] = out
        elif (
            known is None
            or not is_same_file(known, file.fingerprint)
            or (parser_version is not None and known.parser != parser_version(file.path))
        ):
            candidates.append(file)
        else:
            unchanged.append(file.path)
    return Plan(tuple(candidates), tuple(unchanged), tuple(sorted(ledger.keys() - seen)), passed)


def is_same_file(known: LedgerEntry, now: Fingerprint) -> bool:
    return (
        known.modified_ns == now.modified_ns
        and known.changed_ns == now.changed_ns
        and known.size == now.size
        and known.inode == now.inode
    )


def ledger_entry(path: str, digest: str, fingerprint: Fingerprint, parser: str, read_at_ns: int) -> LedgerEntry:
    """What to remember of a file that was read. One that changed a moment before is remembered as never looked at,
    because a second change could have left the same fingerprint."""
    settled = fingerprint.is_settled(read_at_ns)
    return LedgerEntry(
        path=path,
        digest=digest,
        size=fingerprint.size,
        modified_ns=fingerprint.modified_ns if settled else 0,
        changed_ns=fingerprint.changed_ns,
        inode=fingerprint.inode,
        parser=parser,
    )
