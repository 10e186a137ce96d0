"""Find the files of a project to index, in one walk that reads names and times and opens only ignore files.

Left out are directories whose name starts with a dot (except `.duvet/specifications`), dependencies and caches, files
that git or a `.contextiveignore` ignores, files that the configuration excludes, files whose name suggests a secret,
lock files, minified, generated and vendored code, images and other binaries by their suffix, files that are too large,
and everything that is not a regular file. Links are not followed; targets inside the project are found at their own path.
A directory that is left out counts once.

`.contextiveignore` has the syntax of `.gitignore` and takes precedence: with `!` it includes files that git ignores, and
code that is recognised as generated.
Patterns in the configuration have the same syntax, relative to the root. A directory that an include pattern names is
included with everything below it.
"""

from __future__ import annotations

import math
import os
import stat
import time
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple

from contextive.file_writing import is_temporary
from contextive.workspace.contents import SkipReason
from contextive.workspace.directory_handles import require_project
from contextive.workspace.files import Fingerprint
from contextive.workspace.generated_files import is_vendored_folder, reason_by_name
from contextive.workspace.ignore import IgnoreRules, rules_from_patterns
from contextive.workspace.repository import is_ignored, outer_rules, read_rules, repository_root
from contextive.workspace.secrets import is_secret_name

DEFAULT_MAX_BYTES = 1024 * 1024
OWN_IGNORE_FILE = ".contextiveignore"
MAX_EXAMPLES = 5
GENERATED_DIRECTORIES = frozenset({"node_modules", "__pycache__", "bower_components", "site-packages"})
"""Directories that never contain the project's own work, whether git ignores them or not."""
GENERATED_MARKER_FILES = frozenset({"pyvenv.cfg", "CACHEDIR.TAG"})
"""Files that mark a virtual environment or a cache (such as the target directory of cargo)."""
STORED_SPECIFICATIONS = ".duvet/specifications"
"""Where a project stores the specifications that it names by URL. They are indexed despite the dot-directory."""
_SPECIFICATIONS_PARENT, _, _SPECIFICATIONS_NAME = STORED_SPECIFICATIONS.rpartition("/")
IMAGE_ENDINGS = frozenset(
    {
        "avif", "bmp", "gif", "heic", "ico", "icns", "jpeg", "jpg", "png", "psd", "svg", "svgz", "tif", "tiff",
        "webp",
    }
)  # fmt: skip
BINARY_ENDINGS = frozenset(
    {
        "7z", "a", "aac", "apk", "avi", "bin", "bz2", "class", "dat", "db", "deb", "dll", "dmg", "doc", "docx",
        "dylib", "egg", "eot", "exe", "flac", "gz", "h5", "iso", "jar", "lib", "lz4", "m4a", "mkv", "mo", "mov",
        "mp3", "mp4", "mpeg", "npy", "npz", "o", "obj", "ogg", "onnx", "otf", "parquet", "pb", "pdf", "pickle",
        "pkl", "ppt", "pptx", "pt", "pyc", "pyd", "pyo", "rar", "rlib", "rpm", "safetensors", "so", "sqlite",
        "sqlite3", "tar", "tgz", "ttf", "wasm", "wav", "webm", "whl", "woff", "woff2", "xls", "xlsx", "xz",
        "zip", "zst",
    }
)  # fmt: skip
_name_of = attrgetter("name")
_UNSAFE_CHARACTERS = frozenset([*range(0x202A, 0x202F), *range(0x2066, 0x206A), *range(0xE0000, 0xE0080)])


class FoundFile(NamedTuple):
    """A file that may be indexed. `path` is relative to the root, with slashes."""

    path: str
    fingerprint: Fingerprint


@dataclass(slots=True)
class DiscoveredFiles:
    """The files of a project by path, and for each reason the number of files left out and some example paths."""

    files: list[FoundFile] = field(default_factory=list)
    skipped: dict[SkipReason, int] = field(default_factory=dict)
    examples: dict[SkipReason, list[str]] = field(default_factory=dict)
    kept: set[str] = field(default_factory=set)
    """Files that `.contextiveignore` explicitly includes, also if they are generated or minified."""
    folders_with_temporary_files: set[str] = field(default_factory=set)
    """Directories with temporary files of this server, in use or left behind. The root is the empty string."""

    ##= docs/spec/knowledge.md#indexed-files
    ##% The number of files left out MUST be reported for each reason.
    def skip(self, reason: SkipReason, path: str) -> None:
        """Count a path that is left out. Also called later, for reasons found in the contents of a file."""
        self.skipped[reason] = self.skipped.get(reason, 0) + 1
        examples = self.examples.setdefault(reason, [])
        if len(examples) < MAX_EXAMPLES:
            examples.append(_escape(path))


##= docs/spec/knowledge.md#indexed-files
##% Every text file of the project MUST be indexed, unless there is a reason to leave it out.
def discover(
    root: Path,
    include: Sequence[str] = (),
    exclude: Sequence[str] = (),
    max_bytes: int = DEFAULT_MAX_BYTES,
    state_directory: Path | None = None,
    deadline: float = math.inf,
) -> DiscoveredFiles:
    """The files of a project to index, with their fingerprints; those found until `deadline` on the monotonic clock."""
    root = Path(os.path.realpath(root))
    require_project(root)
    walk = _ProjectWalk(
        root,
        rules_from_patterns(include),
        rules_from_patterns(exclude),
        max_bytes,
        _path_from_root(root, state_directory),
    )
    found = walk.run(deadline)
    require_project(root)  # if the project disappeared during the walk, missing files were not removed by the user
    found.files.sort()
    for paths in found.examples.values():
        paths.sort()
    return found


def reason_to_leave_out(
    root: Path,
    path: str,
    include: Sequence[str] = (),
    exclude: Sequence[str] = (),
    state_directory: Path | None = None,
) -> SkipReason | None:
    """Why a file at a path would be left out, judged by the path alone; None if it would be indexed.

    The file need not exist yet.
    """
    root = Path(os.path.realpath(root))
    require_project(root)
    state = _path_from_root(root, state_directory)
    return _ProjectWalk(root, rules_from_patterns(include), rules_from_patterns(exclude), 0, state).reason_for(path)


@dataclass(frozen=True, slots=True)
class _PendingFolder:
    """A directory to visit, with the rules collected above it."""

    path: str
    """Empty for the root, else with a slash at its end."""
    git: list[IgnoreRules]
    own: list[IgnoreRules]
    included: bool


class _Entries(NamedTuple):
    names: frozenset[str]
    files: list[os.DirEntry[str]]
    folders: list[os.DirEntry[str]]


class _ProjectWalk:
    """One walk. It keeps a list of directories to visit instead of recursing."""

    def __init__(
        self, root: Path, include: IgnoreRules | None, exclude: IgnoreRules | None, max_bytes: int, state: str | None
    ) -> None:
        self.prefix = os.path.join(root, "")  # noqa: PTH118 - strings, for speed
        self.include, self.exclude, self.max_bytes, self.state = include, exclude, max_bytes, state
        self.found = DiscoveredFiles()
        repository = repository_root(root)
        # Rules use paths from the root of the repository, the walk uses paths from the root of the project.
        self.repository_prefix = (
            b"" if repository in (None, root) else os.fsencode(f"{root.relative_to(repository or root)}/")
        )
        self.pending = [_PendingFolder("", outer_rules(root), [], include is None)]

    def run(self, deadline: float) -> DiscoveredFiles:
        while self.pending and time.monotonic() < deadline:
            self._visit(self.pending.pop())
        return self.found

    def reason_for(self, path: str) -> SkipReason | None:
        """Why one path would be left out: the walk along its directories, without the other entries."""
        *folders, name = path.split("/")
        folder = self.pending.pop()
        names = self._existing_names(folder.path)
        for part in folders:
            git, own = self._with_rules(folder, names)
            here = folder.path + part
            if reason := self._reason_for_folder(part, here, git, own):
                return reason
            included = folder.included or _matches(self.include, here, part, True)
            folder = _PendingFolder(f"{here}/", git, own, included)
            names = self._existing_names(folder.path)
            if reason := self._reason_by_entries(folder, names):
                return reason
        git, own = self._with_rules(folder, names)
        return self._reason_by_rules(name, path, git, own, folder.included) or self._reason_by_ending(name, path, own)

    def _existing_names(self, folder: str) -> frozenset[str]:
        try:
            return frozenset(os.listdir(self.prefix + folder))  # noqa: PTH208 - strings, for speed
        except OSError:
            return frozenset()

    def _visit(self, folder: _PendingFolder) -> None:
        entries = self._entries(folder.path)
        if entries is None:
            return
        reason_by_entries = self._reason_by_entries(folder, entries.names)
        if reason_by_entries is not None:
            self.found.skip(reason_by_entries, folder.path.rstrip("/"))
            return
        git, own = self._with_rules(folder, entries.names)
        ##= docs/spec/knowledge.md#indexed-files
        ##% Specification texts stored below `.duvet/specifications` MUST be indexed like any other file.
        if folder.path == f"{_SPECIFICATIONS_PARENT}/":
            # Only the specifications directory is entered.
            entries = entries._replace(files=[], folders=[e for e in entries.folders if e.name == _SPECIFICATIONS_NAME])
        for entry in entries.files:
            path = folder.path + entry.name
            reason = self._reason_for_file(entry, path, git, own, folder.included)
            if isinstance(reason, Fingerprint):
                self.found.files.append(FoundFile(path, reason))
                if own and self._own_verdict(path, entry.name, False, own) is False:
                    self.found.kept.add(path)
            else:
                self.found.skip(reason, path)
                if reason == "temporary":
                    self.found.folders_with_temporary_files.add(folder.path.rstrip("/"))
        for entry in entries.folders:
            path = folder.path + entry.name
            reason_for_folder = self._reason_for_folder(entry.name, path, git, own)
            if reason_for_folder is not None:
                self.found.skip(reason_for_folder, path)
            else:
                included = folder.included or _matches(self.include, path, entry.name, True)
                self.pending.append(_PendingFolder(f"{path}/", git, own, included))

    def _with_rules(self, folder: _PendingFolder, names: frozenset[str]) -> tuple[list[IgnoreRules], list[IgnoreRules]]:
        git, own = folder.git, folder.own
        repository_prefix = os.fsdecode(self.repository_prefix)
        if ".gitignore" in names:
            rules = read_rules(f"{self.prefix}{folder.path}.gitignore", repository_prefix + folder.path)
            git = [*git, rules] if rules else git
        if OWN_IGNORE_FILE in names:
            rules = read_rules(f"{self.prefix}{folder.path}{OWN_IGNORE_FILE}", repository_prefix + folder.path)
            own = [*own, rules] if rules else own
        return git, own

    def _entries(self, path: str) -> _Entries | None:
        try:
            with os.scandir(self.prefix + path) as listing:
                names = sorted(listing, key=_name_of)
        except (OSError, ValueError):
            self.found.skip("unreadable", path.rstrip("/"))
            return None
        files: list[os.DirEntry[str]] = []
        folders: list[os.DirEntry[str]] = []
        for entry in names:
            try:
                is_folder = entry.is_dir(follow_symlinks=False)
            except OSError:
                is_folder = False
            (folders if is_folder else files).append(entry)
        return _Entries(frozenset(entry.name for entry in names), files, folders)

    ##= docs/spec/knowledge.md#indexed-files
    ##% Files that git or `.contextiveignore` ignores MUST NOT be indexed.
    def _is_ignored(
        self, path: str, name: str, is_directory: bool, git: list[IgnoreRules], own: list[IgnoreRules]
    ) -> bool:
        if not git and not own:
            return False
        full, last = self.repository_prefix + os.fsencode(path), os.fsencode(name)
        verdict = self._own_verdict(path, name, is_directory, own)
        return bool(is_ignored(git, full, last, is_directory) if verdict is None else verdict)

    def _own_verdict(self, path: str, name: str, is_directory: bool, own: list[IgnoreRules]) -> bool | None:
        """Whether a `.contextiveignore` ignores an entry (True) or includes it (False); None if it does not say."""
        full = self.repository_prefix + os.fsencode(path)
        return is_ignored(own, full, os.fsencode(name), is_directory) if own else None

    def _reason_by_entries(self, folder: _PendingFolder, names: frozenset[str]) -> SkipReason | None:
        """Why a directory is left out because of what is in it."""
        if folder.path and not GENERATED_MARKER_FILES.isdisjoint(names):
            return "generated_directory"
        return "vendored" if self._is_vendored(folder, names) else None

    ##= docs/spec/knowledge.md#indexed-files
    ##% Lock files and minified, generated and vendored code MUST be left out, unless `.contextiveignore` includes them.
    def _is_vendored(self, folder: _PendingFolder, names: frozenset[str]) -> bool:
        path = folder.path.rstrip("/")
        if not path or not is_vendored_folder(path, names):
            return False
        name = path.rpartition("/")[2]
        is_named = _matches(self.include, path, name, True)
        return not is_named and self._own_verdict(path, name, True, folder.own) is not False

    def _reason_for_folder(
        self, name: str, path: str, git: list[IgnoreRules], own: list[IgnoreRules]
    ) -> SkipReason | None:
        if path == self.state:
            return "state_directory"
        if name.startswith(".") and path != _SPECIFICATIONS_PARENT:
            return "dot_directory"
        if name in GENERATED_DIRECTORIES:
            return "generated_directory"
        if _is_unsafe_name(name):
            return "bad_name"
        if self._is_ignored(path, name, True, git, own):
            return "ignored"
        return "excluded" if _matches(self.exclude, path, name, True) else None

    ##= docs/spec/knowledge.md#indexed-files
    ##% A file whose name or content shows that it holds a secret MUST NOT be indexed.
    ##= docs/spec/knowledge.md#indexed-files
    ##% A file larger than `knowledge.maxFileBytes`, or one that is not text, MUST be left out.
    def _reason_for_file(
        self, entry: os.DirEntry[str], path: str, git: list[IgnoreRules], own: list[IgnoreRules], included: bool
    ) -> SkipReason | Fingerprint:
        name = entry.name
        if reason := self._reason_by_rules(name, path, git, own, included):
            return reason
        try:
            status = entry.stat(follow_symlinks=False)
        except OSError:
            return "unreadable"
        mode = stat.S_IFMT(status.st_mode)
        if mode != stat.S_IFREG:
            return "symlink" if mode == stat.S_IFLNK else "special"
        if reason := self._reason_by_ending(name, path, own):
            return reason
        return "too_large" if status.st_size > self.max_bytes else Fingerprint.of(status)

    def _reason_by_rules(
        self, name: str, path: str, git: list[IgnoreRules], own: list[IgnoreRules], included: bool
    ) -> SkipReason | None:
        if name == ".git":
            return "dot_directory"  # in a worktree or submodule, `.git` is a file
        if _is_unsafe_name(name):
            return "bad_name"
        ##= docs/spec/knowledge.md#indexed-files
        ##% A temporary file of this server, `.<16 hex digits>.tmp`, MUST NOT be indexed.
        if is_temporary(name):
            return "temporary"
        # Secrets come before other reasons, so the report always names them.
        if is_secret_name(name):
            return "secret"
        if self._is_ignored(path, name, False, git, own):
            return "ignored"
        if _matches(self.exclude, path, name, False):
            return "excluded"
        if not (included or _matches(self.include, path, name, False)):
            return "not_included"
        return None

    def _reason_by_ending(self, name: str, path: str, own: list[IgnoreRules]) -> SkipReason | None:
        generated = reason_by_name(name)
        if generated is not None and self._own_verdict(path, name, False, own) is not False:
            return generated
        stem, dot, ending = name.rpartition(".")
        ending = ending.lower() if dot and stem else ""
        if ending in IMAGE_ENDINGS:
            return "image"
        return "binary" if ending in BINARY_ENDINGS else None


def _matches(rules: IgnoreRules | None, path: str, name: str, is_directory: bool) -> bool:
    """Whether a pattern of the configuration matches an entry."""
    return rules is not None and bool(rules.verdict(os.fsencode(path), os.fsencode(name), is_directory))


def _path_from_root(root: Path, folder: Path | None) -> str | None:
    """The path of a directory relative to the root, or None if it is not below the root."""
    if folder is None:
        return None
    real = Path(os.path.realpath(folder))
    return real.relative_to(root).as_posix() if real != root and real.is_relative_to(root) else None


def _is_unsafe_name(name: str) -> bool:
    """Whether a name cannot be shown or stored: not UTF-8, or with line ends, control or bidirectional characters."""
    if name.isprintable():
        return False
    return any(
        ord(character) in _UNSAFE_CHARACTERS or unicodedata.category(character) in ("Cc", "Cs", "Zl", "Zp")
        for character in name
    )


def _escape(path: str) -> str:
    """A path with unprintable characters escaped."""
    if not _is_unsafe_name(path):
        return path
    return "".join(c if c.isprintable() else c.encode("unicode_escape", "surrogatepass").decode("ascii") for c in path)
