"""Read commits of a repository next to its working tree: which files differ, and the text that they had.

Only object names, lists of names and raw objects are read, so that git starts no hook, filter or diff program. What
differs in the working tree is found by hashing its files here. Names of revisions are untrusted text.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
import subprocess
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from contextive.errors import InvalidRequest, Unavailable
from contextive.workspace.files import Fingerprint
from contextive.workspace.git import command_line, git_environment, run_git

MAX_FILES: Final = 200_000
MAX_BLOB_BYTES: Final = 16 * 1024 * 1024
MAX_TOTAL_BYTES: Final = 256 * 1024 * 1024
_COMMIT = re.compile(r"[0-9a-f]{40,64}")
_MAX_REVISION = 256
_DEFAULT_BRANCHES = ("refs/remotes/origin/HEAD", "refs/remotes/origin/main", "refs/remotes/origin/master",
                     "refs/heads/main", "refs/heads/master")  # fmt: skip
_FILE_MODES = (b"100644", b"100755", b"100664")
_SUBMODULE_MODE = b"160000"
_HASHES = {40: "sha1", 64: "sha256"}


@dataclass(frozen=True, slots=True)
class CommitTree:
    """The regular files of one commit below a directory, and their object names."""

    commit: str
    files: Mapping[str, str]
    submodules: Mapping[str, str] = field(default_factory=dict)
    """The commits of submodules. Their files are not part of this repository."""


class GitTrees:
    """The commits of one project. All calls share a time limit."""

    def __init__(self, root: Path, timeout_seconds: float = 30.0) -> None:
        self.root = root
        self._deadline = time.monotonic() + timeout_seconds

    ##= docs/spec/review.md#git
    ##% The name of a revision MUST be resolved as a commit and never be an option of git.
    def commit_of(self, revision: str) -> str:
        """The commit that a branch, tag or hash names. Raises InvalidRequest if there is none."""
        shown = revision[:80]
        if not revision or len(revision) > _MAX_REVISION or not revision.isprintable():
            raise InvalidRequest("A revision is a branch, a tag or a commit.", hint="For example: main or HEAD~1.")
        found = self._resolve(revision)
        if found is None:
            raise InvalidRequest(f"There is no commit {shown!r} in this repository.", hint=self._why_missing())
        return found

    def merge_base(self, head: str) -> str:
        """The commit at which the work since the default branch began."""
        self._require_repository()
        for name in _DEFAULT_BRANCHES:
            if self._resolve(name) is not None:
                return self.common_ancestor(name, head)
        raise InvalidRequest("The repository has no default branch to compare with.", hint="Name one with base.")

    def common_ancestor(self, revision: str, head: str) -> str:
        """The newest commit that two branches share."""
        other = self.commit_of(revision)
        found = self._git("merge-base", other, head)
        base = found.decode("ascii", "replace").strip() if found is not None else ""
        if not _COMMIT.fullmatch(base):
            raise InvalidRequest("The two commits have no common history.", hint=self._why_missing())
        return base

    def head(self) -> str:
        found = self._resolve("HEAD")
        if found is None:
            self._require_repository()
            raise InvalidRequest("The repository has no commit yet.", hint="Commit something first.")
        return found

    @property
    def is_shallow(self) -> bool:
        return (self._git("rev-parse", "--is-shallow-repository") or b"").strip() == b"true"

    def tree(self, commit: str) -> CommitTree:
        """The files of a commit."""
        listing = self._git("ls-tree", "-r", "-z", commit)
        if listing is None:
            raise Unavailable("Git cannot list the files of the commit.", hint=self._why_missing())
        files: dict[str, str] = {}
        submodules: dict[str, str] = {}
        for entry in listing.split(b"\0"):
            metadata, _, path = entry.partition(b"\t")
            mode, _, rest = metadata.partition(b" ")
            name = rest.rpartition(b" ")[2].decode("ascii", "replace")
            if mode in _FILE_MODES:
                files[os.fsdecode(path)] = name
            elif mode == _SUBMODULE_MODE:
                submodules[os.fsdecode(path)] = name
        if len(files) > MAX_FILES:
            raise Unavailable(f"The commit has more than {MAX_FILES} files.", hint="Review a part of the repository.")
        return CommitTree(commit, files, submodules)

    def own_files(self) -> frozenset[str]:
        """The files of the working tree that are in the index or that git does not ignore."""
        found = self._git("ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", ".")
        if found is None:
            raise Unavailable("Git cannot list the files of the project.", hint="Run: git status")
        return frozenset(os.fsdecode(path) for path in found.split(b"\0") if path)

    @contextmanager
    def objects(self) -> Iterator[ObjectReader]:
        """Reads the contents of files by their object names."""
        command = command_line(self.root, ("cat-file", "--batch"))
        if command is None:
            raise Unavailable("Git is not installed.", hint="Install git.")
        process = subprocess.Popen(
            command, env=git_environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        timer = threading.Timer(max(0.1, self._deadline - time.monotonic()), process.kill)
        timer.daemon = True
        timer.start()
        try:
            yield ObjectReader(process)
        finally:
            timer.cancel()
            process.kill()
            process.communicate()

    def _resolve(self, revision: str) -> str | None:
        found = self._git("rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
        commit = found.decode("ascii", "replace").strip() if found is not None else ""
        return commit if _COMMIT.fullmatch(commit) else None

    def _require_repository(self) -> None:
        if self._git("rev-parse", "--git-dir") is None:
            raise InvalidRequest(
                "The project is not a git repository.", hint="A review compares commits: run git init."
            )

    ##= docs/spec/review.md#git
    ##% In a shallow clone, an error about a missing commit MUST say that the history is incomplete.
    def _why_missing(self) -> str:
        if self.is_shallow:
            return "This is a shallow clone: fetch the history first (git fetch --unshallow, or fetch-depth: 0)."
        return "Check the name, or run: git fetch"

    def _git(self, *arguments: str) -> bytes | None:
        remaining = self._deadline - time.monotonic()
        if remaining <= 0:
            raise Unavailable("Git took too long.", hint="Try again, or review a smaller range.")
        return run_git(self.root, remaining, *arguments)


class ObjectReader:
    """Reads objects through one process of git."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        self._total = 0

    def read(self, name: str) -> bytes | None:
        """The content of a file; None if it is not here, or too large."""
        if not _COMMIT.fullmatch(name):
            return None
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        try:
            stdin.write(f"{name}\n".encode("ascii"))
            stdin.flush()
            header = stdout.readline().split()
            if len(header) != 3 or header[1] != b"blob":
                self._skip(header)
                return None
            size = int(header[2])
            self._total += size
            if self._total > MAX_TOTAL_BYTES:
                raise Unavailable("The change is too large to review.", hint="Review a smaller range of commits.")
            if size > MAX_BLOB_BYTES:
                self._skip(header)
                return None
            data = stdout.read(size)
            stdout.read(1)
        except (OSError, ValueError):
            raise Unavailable("Git stopped while it read a file.", hint="Try again.") from None
        if len(data) != size:
            raise Unavailable("Git took too long.", hint="Try again, or review a smaller range.")
        return data

    def _skip(self, header: list[bytes]) -> None:
        """Read past an object that is not used."""
        assert self._process.stdout is not None
        remaining = int(header[2]) + 1 if len(header) == 3 and header[2].isdigit() else 0
        while remaining > 0 and (block := self._process.stdout.read(min(remaining, 1 << 20))):
            remaining -= len(block)


##= docs/spec/review.md#git
##% A review MUST NOT fetch anything or run a hook, a filter or another program that the repository configures.
class WorkingTree:
    """The object names of the files of a working tree. A file is hashed again only after a change."""

    def __init__(self, root: Path) -> None:
        self._prefix = os.path.join(root, "")  # noqa: PTH118 - strings, for speed
        self._known: dict[str, tuple[Fingerprint, str]] = {}

    def differing(self, files: Mapping[str, str]) -> Iterator[str]:
        """Of the files with object names, those that are not here with the same content."""
        for path, name in files.items():
            if self._name_of(path, _HASHES.get(len(name), "sha1")) != name:
                yield path

    def keep_only(self, paths: Iterable[str]) -> None:
        for path in self._known.keys() - set(paths):
            del self._known[path]

    def _name_of(self, path: str, algorithm: str) -> str | None:
        absolute = self._prefix + path
        try:
            found = os.lstat(absolute)
            if not stat.S_ISREG(found.st_mode) or found.st_size > MAX_BLOB_BYTES:
                return None
            fingerprint = Fingerprint.of(found)
            known = self._known.get(path)
            if known is not None and known[0] == fingerprint:
                return known[1]
            now = time.time_ns()
            with open(absolute, "rb") as file:  # noqa: PTH123
                data = file.read(MAX_BLOB_BYTES + 1)
        except (OSError, ValueError):
            return None
        name = hashlib.new(algorithm, b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()
        if fingerprint.is_settled(now):
            self._known[path] = (fingerprint, name)
        return name
