"""Plans an ingest run: which files may have changed, which have not, and which are gone."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from contextive.errors import Unavailable
from contextive.store.values import LedgerEntry
from contextive.workspace.discovery import FoundFile
from contextive.workspace.files import Fingerprint


class RunInProgress(Unavailable):
    """Another process is running an ingest."""


class IndexReplaced(Unavailable):
    """The index was replaced after a run made its plan."""


@dataclass(frozen=True, slots=True)
class Plan:
    """The files to parse, the unchanged ones, and those that no longer exist."""

    candidates: tuple[FoundFile, ...]
    unchanged: tuple[str, ...]
    gone: tuple[str, ...]
    left_out: Mapping[str, LeftOut] = field(default_factory=dict)
    """Unchanged files that an earlier run left out because of their content."""

    @property
    def is_empty(self) -> bool:
        return not (self.candidates or self.gone)


class LeftOut(NamedTuple):
    """A file that is not indexed because of its content."""

    fingerprint: Fingerprint
    reason: str


def format_left_out(files: Mapping[str, LeftOut]) -> str:
    """Left-out files as JSON, for the next run."""
    return json.dumps({path: [list(out.fingerprint), out.reason] for path, out in sorted(files.items())})


def parse_left_out(text: str | None) -> dict[str, LeftOut]:
    """The files that an earlier run left out, from the JSON of `format_left_out`."""
    files = json.loads(text or "{}").items()
    return {path: LeftOut(Fingerprint(*fingerprint), reason) for path, (fingerprint, reason) in files}


##= docs/spec/knowledge.md#index-updates
##% An unchanged file SHOULD NOT be parsed or embedded again.
def make_plan(
    found: Iterable[FoundFile],
    ledger: Mapping[str, LedgerEntry],
    left_out: Mapping[str, LeftOut],
    parser_version: Callable[[str], str] | None,
) -> Plan:
    """Compare the files on disk with the indexed ones, without reading any file.

    `left_out` are files that an earlier run left out because of their content. `parser_version` is None if all files
    are known to be indexed by the current version.
    """
    candidates: list[FoundFile] = []
    unchanged: list[str] = []
    still_left_out: dict[str, LeftOut] = {}
    seen: set[str] = set()
    for file in found:
        seen.add(file.path)
        known = ledger.get(file.path)
        if known is None and (out := left_out.get(file.path)) is not None and out.fingerprint == file.fingerprint:
            still_left_out[file.path] = out
        elif (
            known is None
            or not is_same_file(known, file.fingerprint)
            or (parser_version is not None and known.parser != parser_version(file.path))
        ):
            candidates.append(file)
        else:
            unchanged.append(file.path)
    return Plan(tuple(candidates), tuple(unchanged), tuple(sorted(ledger.keys() - seen)), still_left_out)


def is_same_file(known: LedgerEntry, now: Fingerprint) -> bool:
    return (
        known.modified_ns == now.modified_ns
        and known.changed_ns == now.changed_ns
        and known.size == now.size
        and known.inode == now.inode
    )


def ledger_entry(path: str, digest: str, fingerprint: Fingerprint, parser: str, read_at_ns: int) -> LedgerEntry:
    """The ledger entry of a file that was read. A file that changed just before gets no modification time, so the
    next run reads it again: a second change could have left the same fingerprint."""
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
