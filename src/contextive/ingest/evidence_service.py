"""Keeps the results of tests that were added as evidence, and says how well each requirement is shown to work."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from contextive.errors import ContextiveError, InvalidRequest, ParseError, TooLarge
from contextive.file_writing import make_folders, write_file
from contextive.ingest.evidence_files import EvidenceFile, EvidenceFiles
from contextive.ingest.trace_service import TraceService
from contextive.review.code_units import CodeUnit, SourceCode
from contextive.review.evidence import (
    CodePlace,
    EvidenceLevel,
    EvidenceRecord,
    EvidenceState,
    evidence_of,
    match_results,
    merge_records,
)
from contextive.review.evidence_readers import MAX_BYTES, ReadEvidence, read_evidence
from contextive.trace.catalog import TraceCatalog
from contextive.trace.citation import Citation
from contextive.trace.requirement import Requirement
from contextive.workspace.files import FileText, Fingerprint
from contextive.workspace.git import git_head

logger = logging.getLogger(__name__)
FILE_NAME: Final = "evidence.json"
_VERSION: Final = 1
_MAX_STORED_BYTES: Final = 32 * 1024 * 1024
"""As much as a backup keeps."""


@dataclass(frozen=True, slots=True)
class AddedEvidence:
    """What some files contained, and how much of it is about requirements."""

    formats: tuple[str, ...]
    results: int
    records: tuple[EvidenceRecord, ...]


class EvidenceService:
    """The evidence of one project, stored next to its index."""

    def __init__(self, trace: TraceService, state_dir: Path, paths: Sequence[str] = ()) -> None:
        """`paths` are globs of files that are added when they change."""
        self._trace = trace
        self._path = state_dir / FILE_NAME
        self._known: tuple[bytes, tuple[EvidenceRecord, ...]] | None = None
        self._sources: dict[str, tuple[FileText, SourceCode]] = {}
        self._files = EvidenceFiles(trace.files.root, paths)
        self._seen: dict[str, Fingerprint] = {}
        self._lock = threading.Lock()

    def add(self, files: Iterable[Path]) -> AddedEvidence:
        """Read files of test results and coverage together, and store what they say about requirements."""
        read = [_read_file(path) for path in files]
        commit = git_head(self._trace.files.root) or ""
        new = match_results(read, self._trace.view().catalog.requirements, self._unit_of, commit)
        merged = merge_records(self.records(), new)
        self._store(merged, self._digests())
        return AddedEvidence(tuple(one.format for one in read), sum(len(one.results) for one in read), tuple(new))

    ##= docs/spec/review.md#evidence
    ##% A file of `evidence.paths` MUST be added when its content changed, and count only for requirements whose code, tests and
    ##% specification are older.
    def _read_configured(self) -> None:
        found = self._files.fingerprints()
        with self._lock:
            if found == self._seen:
                return
            self._seen = found
            try:
                files = self._files.read(found)
                digests = {path: file.digest for path, file in files.items()}
                if not digests.items() <= self._digests().items():
                    self._store(merge_records(self._stored(), self._fresh_records(files)), digests)
            except (ContextiveError, OSError) as error:
                logger.warning("the files of evidence.paths were not added: %s", error)

    def _fresh_records(self, files: Mapping[str, EvidenceFile]) -> list[EvidenceRecord]:
        """The records of each requirement by the files that were made after all that the records are about."""
        requirements = self._trace.view().catalog.requirements
        groups: dict[tuple[str, ...], set[str]] = {}
        for requirement in requirements:
            changed = self._changed_ns(requirement)
            newer = tuple(path for path, file in files.items() if file.modified_ns >= changed)
            groups.setdefault(newer, set()).add(requirement.identifier)
        commit = git_head(self._trace.files.root) or ""
        return [
            record
            for paths, identifiers in groups.items()
            for record in match_results([files[p].evidence for p in paths], requirements, self._unit_of, commit)
            if record.requirement in identifiers
        ]

    def _changed_ns(self, requirement: Requirement) -> int:
        """When the specification, the code or a test of a requirement was last written."""
        target = requirement.target
        paths = {citation.source for citation in requirement.related if citation.base is None}
        paths |= set() if target.is_url else {target.path}
        found = (self._trace.files.fingerprint(path) for path in paths)
        return max((one.modified_ns for one in found if one is not None), default=0)

    def _digests(self) -> dict[str, str]:
        """The files of `evidence.paths` that were added last."""
        try:
            files = json.loads(self._path.read_bytes())["files"]
            return {str(path): str(digest) for path, digest in files.items()}
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return {}

    def _store(self, records: Sequence[EvidenceRecord], files: Mapping[str, str]) -> None:
        document = {"version": _VERSION, "files": files, "records": [asdict(record) for record in records]}
        data = json.dumps(document, indent=1).encode("utf-8")
        if len(data) > _MAX_STORED_BYTES:
            raise TooLarge("There are too many results to store.", hint="Add the results of fewer tests.")
        make_folders(self._path.parent)
        write_file(self._path, data)

    def records(self) -> tuple[EvidenceRecord, ...]:
        """What is stored, after files of `evidence.paths` that changed were added."""
        self._read_configured()
        return self._stored()

    def _stored(self) -> tuple[EvidenceRecord, ...]:
        """What is stored. A file that cannot be read counts as empty: evidence can be added again."""
        try:
            data = self._path.read_bytes() if self._path.stat().st_size <= _MAX_STORED_BYTES else b""
        except OSError:
            return ()
        if self._known is None or self._known[0] != data:
            self._known = data, _records(data)
        return self._known[1]

    def states(self, requirements: Sequence[Requirement]) -> list[EvidenceState]:
        """The evidence of each requirement, as the files are now."""
        by_path: dict[str, list[EvidenceRecord]] = {}
        for record in self.records():
            by_path.setdefault(record.test.path, []).append(record)
        return [evidence_of(requirement, by_path, self._unit_of) for requirement in requirements]

    ##= docs/spec/review.md#shown-evidence
    ##% Once results were added, `spec_status`, `list_tasks` and the command `specs` MUST show the level of each requirement, and
    ##% whether its evidence changed since.
    def described(self, requirements: Iterable[Requirement]) -> dict[str, EvidenceState]:
        """The evidence of requirements by identifier and by handle, the weaker of two that share one; empty if results
        were never added."""
        chosen = list(requirements) if self.records() else []
        pairs = zip(chosen, self.states(chosen), strict=True)
        ranked = sorted(pairs, key=lambda pair: (pair[1].level, pair[1].is_current), reverse=True)
        return {name: state for one, state in ranked for name in (one.identifier, one.handle) if name}

    def counts(self, catalog: TraceCatalog) -> dict[str, dict[str, int]]:
        """For each specification, how many requirements passed, were exercised, or changed since; empty if results were
        never added."""
        if not self.records():
            return {}
        found: dict[str, dict[str, int]] = {}
        for entry in catalog.specifications.values():
            requirements = catalog.requirements_of(entry)
            for requirement, state in zip(requirements, self.states(requirements), strict=True):
                owner = requirement.handle.partition("/")[0] or entry.id
                counted = found.setdefault(owner, {"passed": 0, "exercised": 0, "changed_since": 0})
                counted["passed"] += state.level >= EvidenceLevel.PASSED
                counted["exercised"] += state.level >= EvidenceLevel.EXERCISED
                counted["changed_since"] += not state.is_current
        return found

    def below(self, level: EvidenceLevel) -> list[tuple[Requirement, EvidenceState]]:
        """The requirements whose evidence is weaker than a level."""
        requirements = self._trace.view().catalog.requirements
        pairs = zip(requirements, self.states(requirements), strict=True)
        return [(requirement, state) for requirement, state in pairs if state.level < level]

    def _unit_of(self, citation: Citation) -> CodeUnit | None:
        if citation.base is not None:
            return None
        content = self._trace.files.read(citation.source)
        if not isinstance(content, FileText):
            return None
        known = self._sources.get(citation.source)
        if known is None or known[0] is not content:
            known = self._sources[citation.source] = content, SourceCode(citation.source, content.text)
        return known[1].unit_below(citation.line, max(citation.end_line, citation.line))


def _read_file(path: Path) -> ReadEvidence:
    name = path.name[:80]
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise InvalidRequest(f"{name} cannot be read: {error.strerror}.", hint="Name files of test results.") from None
    try:
        return read_evidence(data)
    except ParseError as error:
        raise InvalidRequest(
            f"{error.located_in(name)}.", hint="Known: JUnit, coverage.py JSON, LCOV, Cobertura, JaCoCo."
        ) from None


def _records(data: bytes) -> tuple[EvidenceRecord, ...]:
    try:
        document = json.loads(data)
        entries = document["records"] if document["version"] == _VERSION else []
        return tuple(sorted(_record(entry) for entry in entries))
    except (ValueError, KeyError, TypeError):
        return ()


def _record(entry: Mapping[str, Any]) -> EvidenceRecord:
    code, ran = (tuple(CodePlace(**place) for place in entry[name]) for name in ("code", "ran"))
    test = CodePlace(**entry["test"])
    return EvidenceRecord(str(entry["requirement"]), test, str(entry["outcome"]), code, ran, str(entry["commit"]))
