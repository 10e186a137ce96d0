"""Read the current commit of a project, and the last commit that touched each file, from git.

A repository is untrusted data: its configuration can name programs for git to start. Git is run so that it starts no
programs, does not prompt, fetch or lock, and stops after a time limit. If git has no answer (no repository, no git,
or an untrusted owner of the directory), the result is empty; this is not an error.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import threading
from collections.abc import Collection, Generator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

TIMEOUT_SECONDS = 30.0
_COMMIT = re.compile(r"[0-9a-f]{40,64}")
_HEADER = re.compile(rb"\x01([0-9a-f]{40,64}) (\d+) ([0-9a-f ]*)")
_MAX_DIFFERENCE = 8_000_000
_HUNK = re.compile(r"@@ -\d+(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_SAFE_OPTIONS = (
    "--no-pager",
    "--literal-pathspecs",
    "--no-replace-objects",
    "-c", "core.fsmonitor=false",
    "-c", "core.hooksPath=" + os.devnull,
    "-c", "core.pager=cat",
    "-c", "core.quotePath=false",
    "-c", "core.sshCommand=false",
    "-c", "core.alternateRefsCommand=",
    "-c", "gc.auto=0",
    "-c", "log.showSignature=false",
    "-c", "maintenance.auto=false",
    "-c", "protocol.allow=never",
    "-c", "safe.bareRepository=explicit",
    "-c", "submodule.recurse=false",
)  # fmt: skip


class FileCommit(NamedTuple):
    """The last commit that touched a file, and its time in seconds since the epoch."""

    commit: str
    timestamp: float


@dataclass(frozen=True, slots=True)
class GitHistory:
    """The result of reading the history."""

    head: str
    tracked: frozenset[str]
    """The files of the commit below the root."""
    commits: Mapping[str, FileCommit] = field(default_factory=dict)
    is_full: bool = True
    """False if only the commits since an earlier one were read. The last commits of other files have not changed."""
    is_complete: bool = True
    """False if the time limit was reached before all files were found."""

    def last_commit(self, path: str, before: FileCommit | None = None) -> FileCommit | None:
        """The last commit of a file. `before` is its last commit in the earlier history."""
        if path not in self.tracked:
            return None
        return self.commits.get(path) or (None if self.is_full else before)


def git_head(root: Path, timeout_seconds: float = TIMEOUT_SECONDS) -> str | None:
    """The current commit, or None without a repository or before its first commit."""
    found = run_git(root, timeout_seconds, "rev-parse", "--verify", "--quiet", "--end-of-options", "HEAD^{commit}")
    head = found.decode("ascii", "replace").strip() if found is not None else ""
    return head if _COMMIT.fullmatch(head) else None


##= docs/spec/knowledge.md#file-metadata
##% The time of a file MUST be the time of the last commit that changed it.
def git_history(
    root: Path,
    paths: Collection[str] | None = None,
    since: str | None = None,
    timeout_seconds: float = TIMEOUT_SECONDS,
) -> GitHistory | None:
    """The last commit of each tracked file, or of each of `paths`. None if there is no history.

    With `since`, the head of an earlier result, only newer commits are read if that gives the same result: it must be
    an ancestor, and there must be no merge in between, because a merge can bring older commits to a file.
    """
    head = git_head(root, timeout_seconds)
    if head is None:
        return None
    listing = run_git(root, timeout_seconds, "ls-tree", "-r", "-z", head)
    if listing is None:
        return None
    # Each entry is a mode, a type, an id, a tab and a path. Entries of type commit are submodules, not files.
    entries = (entry.partition(b"\t") for entry in listing.split(b"\0"))
    tracked = frozenset(os.fsdecode(path) for metadata, _, path in entries if b" blob " in metadata)
    wanted = tracked if paths is None else tracked.intersection(paths)
    if since == head:
        return GitHistory(head, tracked, is_full=False)
    if since is not None and _is_ancestor(root, since, head, timeout_seconds):
        recent = _last_commits(root, [head, f"^{since}"], wanted, timeout_seconds, is_full=False)
        if recent is not None:
            return GitHistory(head, tracked, recent, is_full=False)
    found = _last_commits(root, [head], wanted, timeout_seconds, is_full=True) or {}
    return GitHistory(head, tracked, found, is_complete=len(found) == len(wanted))


class Hunk(NamedTuple):
    """Neighbouring lines that differ, numbered as in the later commit. A deletion is between `start` and `end`."""

    start: int
    end: int
    removed: str
    added: str


def changed_lines(
    root: Path, since: str, head: str, paths: Collection[str], timeout_seconds: float = TIMEOUT_SECONDS
) -> dict[str, tuple[Hunk, ...]] | None:
    """The lines of each file that differ between two commits other than in white space.

    Files without a difference are left out. None if git has no answer, for example because a commit is not here.
    """
    if not (_COMMIT.fullmatch(since) and _COMMIT.fullmatch(head)):
        return None
    arguments = (
        "diff", "--unified=0", "--ignore-all-space", "--ignore-blank-lines", "--no-ext-diff", "--no-textconv", "--no-color",
        "--no-renames", "--ignore-submodules=all", "--relative", "--src-prefix=a/", "--dst-prefix=b/", f"-O{os.devnull}",
        since, head, "--", *sorted(paths),
    )  # fmt: skip
    found = _limited_output(root, timeout_seconds, arguments)
    return None if found is None else _hunks_by_file(found)


def _hunks_by_file(difference: bytes) -> dict[str, tuple[Hunk, ...]]:
    hunks: dict[str, list[Hunk]] = {}
    current: list[Hunk] = []
    lines = iter(difference.decode("utf-8", "replace").split("\n"))
    for line in lines:
        if line.startswith("+++ "):
            current = hunks.setdefault(line[4:].removeprefix("b/").removesuffix("\t"), [])
        elif header := _HUNK.match(line):
            start, count = int(header[2]), int(header[3] or 1)
            text: dict[str, list[str]] = {"-": [], "+": []}
            remaining = int(header[1] or 1) + count
            while remaining and (changed := next(lines, None)) is not None:
                if changed[:1] in text:  # not "\\ No newline at end of file"
                    text[changed[:1]].append(changed[1:])
                    remaining -= 1
            end = start + count - 1 if count else start + 1
            current.append(Hunk(start, end, "\n".join(text["-"]), "\n".join(text["+"])))
    return {path: tuple(found) for path, found in hunks.items()}


def _limited_output(root: Path, timeout_seconds: float, arguments: tuple[str, ...]) -> bytes | None:
    """The output of a git command, or None if it fails or writes too much."""
    command = command_line(root, arguments)
    if command is None:
        return None
    with subprocess.Popen(
        command, env=git_environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        timer = threading.Timer(timeout_seconds, process.kill)
        timer.daemon = True
        timer.start()
        try:
            assert process.stdout is not None
            found = process.stdout.read(_MAX_DIFFERENCE + 1)
            return found if len(found) <= _MAX_DIFFERENCE and process.wait() == 0 else None
        finally:
            timer.cancel()
            process.kill()


def _is_ancestor(root: Path, commit: str, head: str, timeout_seconds: float) -> bool:
    if not _COMMIT.fullmatch(commit):
        return False
    return run_git(root, timeout_seconds, "merge-base", "--is-ancestor", commit, head) is not None


def _last_commits(
    root: Path, commits: list[str], wanted: frozenset[str], timeout_seconds: float, *, is_full: bool
) -> dict[str, FileCommit] | None:
    """The newest of some commits for each wanted file. Reading stops when all files are found.

    Reading a part of the history returns None if it finds a merge or is cut short.
    """
    found: dict[str, FileCommit] = {}
    missing = set(wanted)
    current: FileCommit | None = None
    arguments = (
        "log", "-z", "-c", "--name-only", "--no-renames", "--no-ext-diff", "--no-textconv", "--no-show-signature",
        "--no-color", "--no-decorate", "--no-notes", "--ignore-submodules=all", "--relative", "--root",
        f"-O{os.devnull}",
        "--format=%x01%H %ct %P", *commits, "--", ".",
    )  # fmt: skip
    with closing(_tokens(root, timeout_seconds, arguments)) as tokens:
        for token in tokens:
            if token is None:  # git did not finish
                return found if is_full else None
            header = _HEADER.fullmatch(token)
            if header is not None:
                if not is_full and b" " in header[3]:
                    return None
                current = FileCommit(header[1].decode("ascii"), float(header[2]))
            elif current is not None and (path := os.fsdecode(token)) in missing:
                found[path] = current
                missing.discard(path)
                if not missing:
                    break
    return found


def _tokens(root: Path, timeout_seconds: float, arguments: tuple[str, ...]) -> Generator[bytes | None, None, None]:
    """The parts of git's output as they arrive, and a final None if git fails or time runs out.

    Git is stopped when the reader stops.
    """
    command = command_line(root, arguments)
    if command is None:
        return
    with subprocess.Popen(
        command, env=git_environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        timer = threading.Timer(timeout_seconds, process.kill)
        timer.daemon = True
        timer.start()
        try:
            assert process.stdout is not None
            rest = b""
            while block := process.stdout.read(65536):
                *whole, rest = (rest + block).split(b"\0")
                # There is a line end between a commit and its files.
                yield from (token for part in whole if (token := part.removeprefix(b"\n")))
            if process.wait() != 0:
                yield None
        finally:
            timer.cancel()
            process.kill()


def run_git(root: Path, timeout_seconds: float, *arguments: str) -> bytes | None:
    """The output of a git command, or None if it fails."""
    command = command_line(root, arguments)
    if command is None:
        return None
    try:
        done = subprocess.run(
            command,
            env=git_environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=timeout_seconds,
            check=True,
        )
    except (OSError, ValueError, subprocess.SubprocessError):
        return None
    return done.stdout


def command_line(root: Path, arguments: tuple[str, ...]) -> list[str] | None:
    program = shutil.which("git")
    return None if program is None else [program, "-C", str(root), *_SAFE_OPTIONS, *arguments]


def git_environment() -> dict[str, str]:
    """The environment without variables that affect git, plus settings against prompts, fetches and locks."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("GIT_", "SSH_", "GPG_"))}
    return kept | {
        "GIT_ALLOW_PROTOCOL": "none",
        "GIT_ASKPASS": "true",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_PAGER": "cat",
        "GIT_TERMINAL_PROMPT": "0",
        "LC_ALL": "C",
    }
