"""Finds and reads the files of test results and coverage that `evidence.paths` names."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from contextive.errors import ParseError
from contextive.review.evidence_readers import MAX_BYTES, ReadEvidence, read_evidence
from contextive.workspace.directory_listings import DirectoryListings
from contextive.workspace.files import FileText, Fingerprint, ProjectFiles
from contextive.workspace.globs import Glob

logger = logging.getLogger(__name__)
MAX_FILES: Final = 200


@dataclass(frozen=True, slots=True)
class EvidenceFile:
    """A file of results."""

    modified_ns: int
    digest: str
    evidence: ReadEvidence


class EvidenceFiles:
    """The files of one project that match some globs, inside the project or its repository."""

    def __init__(self, root: Path, globs: Sequence[str]) -> None:
        self._root = root
        self._globs = tuple(map(Glob, globs))
        self._folders = DirectoryListings()

    def fingerprints(self) -> dict[str, Fingerprint]:
        """The files there are now."""
        if not self._globs:
            return {}
        files = ProjectFiles.bounded(self._root)
        self._folders = self._folders.refreshed()
        root = str(files.root)
        allowed = (glob for glob in self._globs if files.allows(glob.base))
        paths = {path for glob in allowed for path in glob.walk(root, files.allows, self._folders)}
        return {path: found for path in sorted(paths) if (found := files.fingerprint(path)) is not None}

    def read(self, found: Mapping[str, Fingerprint]) -> dict[str, EvidenceFile]:
        """The newest of these files, up to a limit. What is no evidence is left out, with a warning."""
        bounded = ProjectFiles.bounded(self._root)
        files = ProjectFiles(bounded.root, bounded.boundary, MAX_BYTES)
        read: dict[str, EvidenceFile] = {}
        rest = MAX_BYTES
        for path in sorted(found, key=lambda path: (-found[path].modified_ns, path))[:MAX_FILES]:
            rest -= found[path].size
            if rest < 0:
                logger.warning("the newest files of evidence.paths have more than 50 MB; older ones are not read")
                break
            content = files.read(path)
            if not isinstance(content, FileText):
                logger.warning("a file of evidence.paths cannot be read: %s", content.reason)
                continue
            data = content.text.encode("utf-8", "surrogatepass")
            try:
                evidence = read_evidence(data)
            except ParseError as error:
                logger.warning("a file of evidence.paths is no evidence: %s", error)
                continue
            read[path] = EvidenceFile(content.fingerprint.modified_ns, hashlib.sha256(data).hexdigest(), evidence)
        return read
