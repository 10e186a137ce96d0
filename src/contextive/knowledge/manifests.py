"""The names of packages in manifests, and the names under which packages are imported."""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Iterable, Mapping

from contextive.errors import ParseError
from contextive.knowledge.known_paths import KnownPaths
from contextive.knowledge.symbol import TypeHint
from contextive.toml.reader import read_toml

MANIFESTS = ("Cargo.toml", "go.mod")
_MAX_CHARACTERS = 200_000
_CARGO_NAME = re.compile(r"""[ \t]*name[ \t]*=[ \t]*["']([^"'\n]{1,200})["']""")
_GO_MODULE = re.compile(r"^module[ \t]+\"?([^\s\"]+)", re.MULTILINE)


def is_manifest(path: str) -> bool:
    return posixpath.basename(path) in MANIFESTS


def package_hints(path: str, text: str) -> tuple[TypeHint, ...]:
    """The package that a manifest declares, with the file or folder that its name stands for."""
    if len(text) > _MAX_CHARACTERS:
        return ()
    folder = posixpath.dirname(path)
    if path.endswith("go.mod"):
        module = go_module(text)
        return (TypeHint("package", "", module, folder),) if module else ()
    try:
        manifest = read_toml(text)
    except ParseError:
        return ()
    library, package = _table(manifest, "lib"), _table(manifest, "package")
    name = library.get("name") or package.get("name")
    if not isinstance(name, str) or not name:
        return ()
    root = library.get("path")
    file = posixpath.normpath(posixpath.join(folder, root if isinstance(root, str) else "src/lib.rs"))
    return (TypeHint("package", "", name.replace("-", "_"), file),)


def crate_name(text: str) -> str | None:
    """The name of the package in a Cargo.toml. Reads lines only: every run reads every manifest."""
    inside = False
    for line in text.splitlines():
        if line.lstrip().startswith("["):
            inside = line.strip().startswith("[package]")
        elif inside and (found := _CARGO_NAME.match(line)):
            return found[1]
    return None


def go_module(text: str) -> str | None:
    """The import path of the module in a go.mod."""
    found = _GO_MODULE.search(text)
    return found[1] if found else None


def npm_name(text: str) -> str | None:
    """The name of the package in a package.json."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return None
    name = data.get("name") if isinstance(data, dict) else None
    return name if isinstance(name, str) else None


def packages_of(hints: Iterable[TypeHint]) -> dict[str, str]:
    """The packages by name. A name that two manifests declare is left out."""
    found: dict[str, set[str]] = {}
    for hint in hints:
        if hint.kind == "package":
            found.setdefault(hint.name, set()).add(hint.value)
    return {name: next(iter(places)) for name, places in found.items() if len(places) == 1}


def go_package(module: str, packages: Mapping[str, str], known: KnownPaths) -> tuple[str, ...]:
    """The files of a Go package of the project, by its import path."""
    name, rest = module, ""
    while name:
        if name in packages:
            folder = posixpath.join(packages[name], rest).rstrip("/")
            members = known.by_folder.get(folder, ())
            return tuple(file for file in members if file.endswith(".go") and not file.endswith("_test.go"))
        name, _, last = name.rpartition("/")
        rest = f"{last}/{rest}" if rest else last
    return ()


def package_keys(path: str, packages: Mapping[str, str]) -> set[str]:
    """The last parts of imports that reach a file by the name of its package."""
    folder = posixpath.dirname(path)
    keys = set()
    for name, place in packages.items():
        if place == path:
            keys.add(name)
        elif path.endswith(".go") and (folder == place or folder.startswith(f"{place}/") or not place):
            inner = folder[len(place) :].strip("/")
            keys.add(posixpath.join(name, inner).rstrip("/").rpartition("/")[2])
    return keys


def _table(manifest: Mapping[str, object], name: str) -> Mapping[str, object]:
    found = manifest.get(name)
    return found if isinstance(found, dict) else {}
