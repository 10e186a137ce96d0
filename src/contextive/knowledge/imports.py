"""Find the files that a file imports.

The rules use paths only, and each import is looked up by its last part. So `import_keys` can tell, for an added or
removed file, which imports may now resolve differently.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterable, Iterator

from contextive.knowledge.known_paths import KnownPaths
from contextive.knowledge.languages import family_of, language_of
from contextive.knowledge.symbol import Reference, last_part

_MAX_PACKAGE_FILES = 50
"""The limit of files that an import of a whole package resolves to."""
_SOURCE_ROOTS = frozenset({"src", "lib", "python"})
_SCRIPT_ENDINGS = (".ts", ".tsx", ".d.ts", ".mts", ".cts", ".js", ".jsx", ".mjs", ".cjs", ".json")
_COMPILED = {".js": (".ts", ".tsx", ".d.ts"), ".jsx": (".tsx",), ".mjs": (".mts",), ".cjs": (".cts",)}
_GO_STANDARD_TEXT = """
archive bufio builtin bytes cmp compress container context crypto database debug embed encoding errors expvar
flag fmt go hash html image index internal io iter log maps math mime net os path plugin reflect regexp
runtime slices sort strconv strings structs sync syscall testing text time unicode unique unsafe weak
"""
_GO_STANDARD = frozenset(_GO_STANDARD_TEXT.split())
_GO_MODULE_PARTS = 3
"""The parts of a Go module name: host, owner, repository."""


def resolve_imports(path: str, references: Iterable[Reference], known: KnownPaths) -> tuple[str, ...]:
    """The sorted files that the imports of `path` unambiguously refer to, without `path` itself."""
    language = language_of(path)
    resolve = _RESOLVERS.get(family_of(language)) if language else None
    if resolve is None:
        return ()
    names = [reference.name for reference in references if reference.kind == "import"]
    return tuple(sorted(set(resolve(path, names, known)) - {path}))


def resolve_import(path: str, module: str, known: KnownPaths) -> tuple[str, ...]:
    """The files of one imported module: none if it is not part of the project, several for a package of Go or Java."""
    language = language_of(path)
    resolve = _RESOLVERS.get(family_of(language)) if language else None
    return () if resolve is None else tuple(resolve(path, [module], known))


def import_keys(path: str) -> frozenset[str]:
    """The last parts (after the last dot or slash) of imports that may refer to this file or one in its folder."""
    language = language_of(path)
    folder, name = posixpath.split(path)
    stem, _, ending = name.rpartition(".")
    parent = last_part(folder)
    match family_of(language) if language else None:
        case "python":
            return frozenset({parent if stem == "__init__" else stem})
        case "ecmascript":
            endings = {suffix[suffix.rfind(".") + 1 :] for suffix in _SCRIPT_ENDINGS}
            stem = stem.removesuffix(".d")
            return frozenset({last_part(stem), ending, *endings} | ({parent, ""} if stem == "index" else set()))
        case "go":
            return frozenset({parent})
        case "rust":
            roots = {"crate", *_crate_names(posixpath.basename(posixpath.dirname(folder)))}
            keys = {"self", "super", parent if stem == "mod" else stem}
            return frozenset(keys | (roots if stem in ("lib", "main") else set()))
        case "java":
            return frozenset({stem, "*"})
        case "c family":
            return frozenset({ending})
        case _:
            return frozenset()


def _python(path: str, names: list[str], known: KnownPaths) -> Iterator[str]:
    folder = posixpath.dirname(path)
    for name in names:
        if "/" in name:
            target = known.exact(_modules(name))
        elif "." in name:
            target = known.nearest(path, _modules(name.replace(".", "/")))
        else:
            # A bare name is more often a module of the standard library than one of a nested package.
            near = [
                found
                for tail in _modules(name)
                for found in known.ending(tail)
                if _is_root(found[: -len(tail)].rstrip("/"), folder)
            ]
            target = near[0] if len(near) == 1 else known.exact(near) if folder == "" else _closest(path, near)
        if target is not None:
            yield target


def _modules(name: str) -> tuple[str, ...]:
    return (f"{name}.py", f"{name}/__init__.py", f"{name}.pyi", f"{name}/__init__.pyi")


def _is_root(root: str, folder: str) -> bool:
    return root in ("", folder) or folder.startswith(f"{root}/") or posixpath.basename(root) in _SOURCE_ROOTS


def _closest(path: str, found: list[str]) -> str | None:
    return KnownPaths.of(found).nearest(path, [posixpath.basename(target) for target in found]) if found else None


def _script(path: str, names: list[str], known: KnownPaths) -> Iterator[str]:
    folder = posixpath.dirname(path)
    for name in names:
        name = name.partition("?")[0]
        target: str | None = None
        if name.startswith("."):
            base = posixpath.normpath(posixpath.join(folder, name))
            target = None if base.startswith("..") else known.exact(_script_files("" if base == "." else base))
        elif name.startswith(("@/", "~/")):
            target = known.nearest(path, _script_files(name[2:]))
        elif "/" in name:
            target = known.exact(_script_files(name))
        if target is not None:
            yield target


def _script_files(base: str) -> Iterator[str]:
    if base:
        yield base
        stem, ending = posixpath.splitext(base)
        for other in _COMPILED.get(ending, ()):
            yield stem + other
        for other in _SCRIPT_ENDINGS:
            yield base + other
        base += "/"
    for other in _SCRIPT_ENDINGS:
        yield f"{base}index{other}"


def _go(_path: str, names: list[str], known: KnownPaths) -> Iterator[str]:
    for name in names:
        parts = name.split("/")
        if parts[0] in _GO_STANDARD:
            continue
        needed = max(1, len(parts) - _GO_MODULE_PARTS) if "." in parts[0] else len(parts) - 1
        folders = known.folders_by_name.get(parts[-1], ())
        if needed < 1 or ("." in parts[0] and len(parts) <= _GO_MODULE_PARTS):
            continue
        tails = [_common_suffix_length(parts, folder.split("/")) for folder in folders]
        most = max(tails, default=0)
        if most >= needed and tails.count(most) == 1:
            members = known.by_folder[folders[tails.index(most)]]
            sources = [member for member in members if member.endswith(".go") and not member.endswith("_test.go")]
            yield from sources[:_MAX_PACKAGE_FILES]


def _common_suffix_length(one: list[str], other: list[str]) -> int:
    count = 0
    for left, right in zip(reversed(one), reversed(other), strict=False):
        if left != right:
            break
        count += 1
    return count


def _rust(path: str, names: list[str], known: KnownPaths) -> Iterator[str]:
    found: dict[str, str] = {}
    for name in names:
        parts = name.split(".")
        if parts[0] in ("crate", "self", "super"):
            target = _rust_inside(path, parts, known)
        else:
            tail = "/".join(parts[1:])
            files = (f"{tail}.rs", f"{tail}/mod.rs") if tail else ("lib.rs",)
            target = known.nearest(path, [f"{crate}/src/{file}" for crate in _crate_names(parts[0]) for file in files])
        if target is not None:
            found[name] = target
    for name, target in found.items():
        # Every prefix of a path is also a module; only the longest one is meant.
        if not any(other.startswith(f"{name}.") for other in found):
            yield target


def _rust_inside(path: str, parts: list[str], known: KnownPaths) -> str | None:
    folders = path.split("/")[:-1]
    stem = posixpath.basename(path).removesuffix(".rs")
    depth = len(folders) - folders[::-1].index("src") if "src" in folders else len(folders)
    root = folders[:depth]
    base = root if parts[0] == "crate" else folders if stem in ("mod", "lib", "main") else [*folders, stem]
    rest = parts[1:]
    climbing = parts[0] == "super"
    while climbing:
        if len(base) <= len(root):
            return None
        base = base[:-1]
        climbing = rest[:1] == ["super"]
        rest = rest[1:] if climbing else rest
    base_path = "/".join([*base, *rest])
    if not rest and base == root:
        return known.exact("/".join([*root, name]) for name in ("lib.rs", "main.rs"))
    return known.exact((f"{base_path}.rs", f"{base_path}/mod.rs"))


def _crate_names(name: str) -> tuple[str, ...]:
    return tuple(sorted({name, name.replace("_", "-"), name.replace("-", "_")}))


def _java(path: str, names: list[str], known: KnownPaths) -> Iterator[str]:
    for name in names:
        if name.endswith(".*"):
            parts = name[:-2].split(".")
            folders = [
                folder
                for folder in known.folders_by_name.get(parts[-1], ())
                if _common_suffix_length(parts, folder.split("/")) == len(parts)
            ]
            members = known.by_folder[folders[0]] if len(folders) == 1 else ()
            yield from [member for member in members if member.endswith(".java")][:_MAX_PACKAGE_FILES]
        elif (target := known.nearest(path, [name.replace(".", "/") + ".java"])) is not None:
            yield target


def _c(path: str, names: list[str], known: KnownPaths) -> Iterator[str]:
    folder = posixpath.dirname(path)
    for name in names:
        same_folder = posixpath.normpath(posixpath.join(folder, name))
        if same_folder in known.paths:
            yield same_folder
        elif not name.startswith(".") and (target := known.nearest(path, [posixpath.normpath(name)])) is not None:
            yield target


_RESOLVERS: dict[str, Callable[[str, list[str], KnownPaths], Iterator[str]]] = {
    "python": _python,
    "ecmascript": _script,
    "go": _go,
    "rust": _rust,
    "java": _java,
    "c family": _c,
}
