"""Reviews of the changes in a project: reads both versions from git and from disk, and compares them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from contextive.errors import ConfigError, InvalidRequest, ParseError
from contextive.file_writing import write_file
from contextive.ingest.trace_service import TraceService
from contextive.ingest.traced_project import TraceState
from contextive.review.acceptances import (
    ACCEPTANCES_PATH,
    Acceptance,
    acceptance_of,
    changed_acceptances,
    format_acceptances,
    parse_acceptances,
    without_accepted,
)
from contextive.review.evidence import EvidenceRecord, outdated_evidence
from contextive.review.findings import Finding, sort_findings
from contextive.review.requirement_changes import MentionedIn
from contextive.review.review import review_versions
from contextive.review.task_changes import ticked_tasks
from contextive.review.versions import ProjectVersion
from contextive.workspace.files import FileText, ProjectFiles
from contextive.workspace.git_trees import CommitTree, GitTrees, WorkingTree
from contextive.workspace.tree_files import ReadObject, TreeDifference, TreeFiles, TreeListings, TreeTexts

WORKING_TREE = "working tree"
_MAX_NOTICES = 5


@dataclass(frozen=True, slots=True)
class Review:
    """The findings of a change, and what was compared."""

    findings: tuple[Finding, ...]
    base: str
    """The commit before the change."""
    head: str
    """The commit after it, or "working tree"."""
    changed_files: int
    accepted: int = 0
    """The findings that are left out because a person accepted them."""
    notices: tuple[str, ...] = ()
    """What could not be compared."""

    @property
    def as_of(self) -> dict[str, Any]:
        shown: dict[str, Any] = {"base": self.base, "head": self.head, "changed_files": self.changed_files}
        if self.accepted:
            shown["accepted"] = self.accepted
        if self.notices:
            shown["notices"] = list(self.notices)
        return shown


class ReviewService:
    """Compares versions of one project. What it reads of a version is kept for the next review."""

    def __init__(self, trace: TraceService, records: Callable[[], Sequence[EvidenceRecord]] = tuple) -> None:
        """`records` returns the evidence that was added."""
        self._trace = trace
        self._records = records
        self._profiles: dict[TraceService, ReviewService] = {trace: self}
        self._lock = threading.Lock()
        self._disk = WorkingTree(trace.files.root)
        self._texts = TreeTexts()

    def for_profile(self, profile: str) -> ReviewService:
        """Reviews of the specifications that a profile shows."""
        trace = self._trace.for_profile(profile)
        with self._lock:
            return self._profiles.setdefault(trace, ReviewService(trace, self._records))

    @property
    def root(self) -> Path:
        return self._trace.files.root

    ##= docs/spec/review.md#git
    ##% Without a head, a review MUST be about the working tree with staged and untracked files; without a base, it
    ##% starts where the work since the default branch began.
    def review(
        self,
        base: str | None = None,
        head: str | None = None,
        *,
        since: str | None = None,
        timeout_seconds: float = 60.0,
        mentioned_in: MentionedIn | None = None,
    ) -> Review:
        """The review of what changed between two commits; with `since` in place of a base, since a branch was left."""
        git = GitTrees(self.root, timeout_seconds)
        head_commit = git.commit_of(head) if head is not None else git.head()
        if base is not None:
            base_commit = git.commit_of(base)
        else:
            base_commit = git.common_ancestor(since, head_commit) if since else git.merge_base(head_commit)
        with self._lock:
            return self._compare(git, base_commit, head_commit, mentioned_in, in_working_tree=head is None)

    def accept(self, finding_id: str, note: str, base: str | None = None, head: str | None = None) -> Acceptance:
        """Record that a person read a finding and found it right."""
        review = self.review(base, head)
        found = next((one for one in review.findings if one.id == finding_id), None)
        if found is None:
            raise InvalidRequest(
                f"The review has no finding {finding_id[:40]!r}.", hint="Run review with the same --base and --head."
            )
        accepted = acceptance_of(found, note)
        path = self.root / ACCEPTANCES_PATH
        if path.is_symlink():
            raise InvalidRequest(f"{ACCEPTANCES_PATH} is a link.", hint="Replace it with a file.")
        known = _acceptances(self._trace.files)
        write_file(path, format_acceptances([*known, accepted]).encode("utf-8"))
        return accepted

    def _compare(
        self,
        git: GitTrees,
        base_commit: str,
        head_commit: str,
        mentioned_in: MentionedIn | None,
        *,
        in_working_tree: bool,
    ) -> Review:
        old_tree, new_tree = git.tree(base_commit), git.tree(head_commit)
        own_files = git.own_files()
        self._disk.keep_only(own_files.union(old_tree.files))
        before = self._difference(old_tree, own_files)
        after = TreeDifference({}, frozenset()) if in_working_tree else self._difference(new_tree, own_files)
        changed = frozenset(path for path in before.paths | after.paths if _differs(path, before, after))
        notices = list(_submodule_notices(old_tree, new_tree))
        with git.objects() as objects:
            new_files, new_state = self._version(after, objects.read)
            old_files, old_state = self._old_version(before, objects.read, new_state, notices)
            cited = frozenset(_files_to_compare(old_state, new_state, changed))
            old = ProjectVersion(old_state.analysis, _texts(old_files, cited))
            new = ProjectVersion(new_state.analysis, _texts(new_files, cited))
            before_accepted, accepted = _acceptances(old_files, notices), _acceptances(new_files)
            tasks = list(ticked_tasks(old_state.read.specifications, new_state.formats, new_files.is_file))
        outdated = outdated_evidence(self._records(), old, new, cited)
        findings = sort_findings([*review_versions(old, new, cited, mentioned_in), *tasks, *outdated])
        left = without_accepted(findings, accepted)
        return Review(
            findings=(*left.findings, *changed_acceptances(before_accepted, accepted)),
            base=base_commit,
            head=WORKING_TREE if in_working_tree else head_commit,
            changed_files=len(changed),
            accepted=left.accepted,
            notices=tuple(notices[:_MAX_NOTICES]),
        )

    def _difference(self, tree: CommitTree, own_files: frozenset[str]) -> TreeDifference:
        other = {path: tree.files[path] for path in self._disk.differing(tree.files)}
        return TreeDifference(other, own_files - tree.files.keys())

    def _version(self, difference: TreeDifference, read: ReadObject) -> tuple[ProjectFiles, TraceState]:
        """The files of a version and what they trace; without a difference, the files on disk."""
        if not difference.paths:
            return self._trace.files, self._trace.view().state
        files = TreeFiles(self._trace.files, difference, self._texts, read)
        return files, self._trace.state_of(files, TreeListings(str(self.root), difference))

    def _old_version(
        self, difference: TreeDifference, read: ReadObject, new: TraceState, notices: list[str]
    ) -> tuple[ProjectFiles, TraceState]:
        try:
            return self._version(difference, read)
        except ConfigError as error:
            notices.append(
                f"The configuration before the change is not valid, so that of now was used: {error.message}"
            )
        files = TreeFiles(self._trace.files, difference, self._texts, read)
        return files, self._trace.state_of(files, TreeListings(str(self.root), difference), new.settings)


def _differs(path: str, before: TreeDifference, after: TreeDifference) -> bool:
    """Whether a file differs between two versions that are both described by how they differ from the disk."""
    if (path in before.absent) != (path in after.absent):
        return True
    return before.other.get(path) != after.other.get(path)


def _files_to_compare(old: TraceState, new: TraceState, changed: AbstractSet[str]) -> Iterator[str]:
    """The files with citations that changed, or that only one of the two configurations reads, or reads differently."""
    before, after = old.analysis.files, new.analysis.files
    for key in before.keys() | after.keys():
        was, now = before.get(key), after.get(key)
        path = next(file.citations[0].source for file in (was, now) if file is not None)
        if path in changed or was is None or now is None or was.parsed != now.parsed:
            yield path
    named = {citation.source for state in (old, new) for citation in state.analysis.declarations.citations}
    yield from named & changed


def _acceptances(files: ProjectFiles, notices: list[str] | None = None) -> list[Acceptance]:
    """The accepted findings of a version. A broken file is an error, except before the change, where it is a notice."""
    content = files.read(ACCEPTANCES_PATH)
    try:
        return parse_acceptances(content.text) if isinstance(content, FileText) else []
    except ParseError as error:
        if notices is None:
            raise ConfigError(error.located_in(ACCEPTANCES_PATH)) from None
        notices.append(f"{ACCEPTANCES_PATH} was not valid before the change.")
        return []


def _texts(files: ProjectFiles, paths: Iterable[str]) -> dict[str, str]:
    contents = ((path, files.read(path)) for path in paths)
    return {path: content.text for path, content in contents if isinstance(content, FileText)}


def _submodule_notices(old: CommitTree, new: CommitTree) -> Iterator[str]:
    for path in sorted(old.submodules.keys() | new.submodules.keys()):
        if old.submodules.get(path) != new.submodules.get(path):
            yield f"The submodule {path} changed; the files in it were not compared."
