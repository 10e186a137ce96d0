"""The files of Rust modules, by their paths."""

from __future__ import annotations

import posixpath

from contextive.knowledge.known_paths import KnownPaths

_ROOTS = ("lib.rs", "main.rs")
_FOLDER_FILES = frozenset({"mod.rs", *_ROOTS})


def crate_root(path: str, known: KnownPaths) -> str | None:
    """The root file of the crate that a file belongs to."""
    folder = posixpath.dirname(path)
    while True:
        for name in _ROOTS:
            candidate = f"{folder}/{name}" if folder else name
            if candidate in known.paths:
                return candidate
        if not folder or posixpath.basename(folder) == "src":
            return path  # a test, an example or a binary with only one file
        folder = posixpath.dirname(folder)


def parent_module(path: str, known: KnownPaths) -> str | None:
    """The file of the module that declares the module of a file."""
    folder, name = posixpath.split(path)
    if name == "mod.rs":
        folder = posixpath.dirname(folder)
    elif name in _ROOTS:
        return path
    candidates = [f"{folder}/{other}" for other in ("mod.rs", *_ROOTS)] if folder else list(_ROOTS)
    return known.exact([*candidates, f"{folder}.rs"])


def child_modules(path: str, name: str) -> tuple[str, str]:
    """The two paths at which a module can be that the file at `path` declares."""
    folder, file = posixpath.split(path)
    if file not in _FOLDER_FILES:
        folder = path.removesuffix(".rs")
    base = f"{folder}/{name}" if folder else name
    return f"{base}.rs", f"{base}/mod.rs"
