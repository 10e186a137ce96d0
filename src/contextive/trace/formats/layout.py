"""Which files of a project are specifications in a spec-driven format. Paths in, values out."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from contextive.trace.formats.kiro import read_kiro
from contextive.trace.formats.openspec import read_openspec
from contextive.trace.formats.speckit import CONSTITUTION, read_speckit
from contextive.trace.formats.values import FormatSpecification, SpecFiles, SpecFormat, SpecState

FOLDERS = (".kiro", ".specify", "specs", "openspec", "memory")
"""Every specification is below a folder with one of these names."""

_KIRO_FILES = ("requirements.md", "bugfix.md", "design.md", "tasks.md")
_SPECKIT_FILES = ("spec.md", "tasks.md")
_CONTEXT_FOLDERS = frozenset(("settings", "steering", "hooks", "templates"))
_FINISHED = frozenset(("done", "completed", "archive", "archived", "finished"))
_NUMBERED = re.compile(r"\d{3,14}-")


@dataclass(slots=True)
class _Found:
    """A specification while its files are collected."""

    format: SpecFormat
    folder: str
    name: str
    state: SpecState
    paths: dict[str, None] = field(default_factory=dict)


##= docs/spec/trace.md#spec-driven-formats
##% Specifications in the formats of Kiro, spec-kit and OpenSpec MUST be found without configuration; the setting
##% `trace.formats` names the formats to read, and an empty list means none.
def find_specifications(paths: Iterable[str], formats: Collection[SpecFormat] = tuple(SpecFormat)) -> list[SpecFiles]:
    """The specifications among the paths of a project, relative and with slashes, in the order of their folders."""
    found: dict[tuple[SpecFormat, str], _Found] = {}
    ordered = sorted(paths)
    roots = frozenset(
        path.partition("/.specify/")[0] if "/.specify/" in path else "" for path in ordered if _specify(path)
    )
    for path in ordered:
        one = _kiro(path) or _openspec(path) or _speckit(path, roots)
        if one is not None and one.format in formats:
            found.setdefault((one.format, one.folder), one).paths[path] = None
    chosen = [one for one in found.values() if _is_specification(one)]
    keys = _unique_names(chosen)
    return [
        SpecFiles(one.format, key, one.state, tuple(_main_first(one.paths)))
        for one, key in zip(chosen, keys, strict=True)
    ]


def read_specification(files: SpecFiles, texts: Mapping[str, str]) -> FormatSpecification:
    """Read one specification from the texts of its files. Files that cannot be read are left out of `texts`."""
    match files.format:
        case SpecFormat.KIRO:
            return read_kiro(files, texts)
        case SpecFormat.SPECKIT:
            return read_speckit(files, texts)
        case SpecFormat.OPENSPEC:
            return read_openspec(files, texts)


def _specify(path: str) -> bool:
    return path.startswith(".specify/") or "/.specify/" in path


def _kiro(path: str) -> _Found | None:
    """A file of `.kiro/specs/<feature>`, or of a feature in another folder of `.kiro`."""
    parts = path.split("/")
    if ".kiro" not in parts or parts[-1] not in _KIRO_FILES:
        return None
    inside = parts[parts.index(".kiro") + 1 : -1]
    if len(inside) < 2 or inside[0] in _CONTEXT_FOLDERS:
        return None
    state = SpecState.FINISHED if _FINISHED.intersection(inside[:-1]) else SpecState.CURRENT
    return _Found(SpecFormat.KIRO, "/".join(parts[:-1]), inside[-1], state)


def _openspec(path: str) -> _Found | None:
    """A `spec.md` of `openspec/specs`, or a file of a change."""
    parts = path.split("/")
    if "openspec" not in parts:
        return None
    start = parts.index("openspec") + 1
    inside, name = parts[start:-1], parts[-1]
    if len(inside) >= 2 and inside[0] == "specs" and name == "spec.md":
        return _Found(SpecFormat.OPENSPEC, "/".join(parts[:-1]), "/".join(inside[1:]), SpecState.CURRENT)
    if len(inside) < 2 or inside[0] != "changes":
        return None
    is_archived = inside[1] == "archive"
    depth = 3 if is_archived else 2
    below = inside[depth:]
    is_file = name in ("tasks.md", "proposal.md") and not below
    is_delta = name == "spec.md" and below[:1] == ["specs"] and len(below) > 1
    if len(inside) < depth or not (is_file or is_delta):
        return None
    state = SpecState.ARCHIVED if is_archived else SpecState.PROPOSED
    return _Found(SpecFormat.OPENSPEC, "/".join(parts[: start + depth]), inside[depth - 1], state)


def _speckit(path: str, roots: Collection[str]) -> _Found | None:
    """A file of `specs/<feature>`, or the constitution.

    Without a folder `.specify` next to `specs`, the name of a feature must begin with a number.
    """
    folder, _, name = path.rpartition("/")
    if folder.endswith(("memory", ".specify/memory")) and name == "constitution.md":
        is_constitution = folder in (".specify/memory", "memory") or folder.endswith("/.specify/memory")
        return _Found(SpecFormat.SPECKIT, folder, CONSTITUTION, SpecState.CURRENT) if is_constitution else None
    parts = folder.split("/")
    if name not in _SPECKIT_FILES or len(parts) < 2 or parts[-2] != "specs" or ".kiro" in parts or "openspec" in parts:
        return None
    root = "/".join(parts[:-2])
    if root.removesuffix(".specify").rstrip("/") not in roots and _NUMBERED.match(parts[-1]) is None:
        return None
    return _Found(SpecFormat.SPECKIT, folder, parts[-1], SpecState.CURRENT)


def _is_specification(one: _Found) -> bool:
    """Whether there is more than tasks. Kiro keeps plans without requirements; other formats do not."""
    names = {path.rpartition("/")[2] for path in one.paths}
    match one.format:
        case SpecFormat.SPECKIT:
            return one.name == CONSTITUTION or "spec.md" in names
        case SpecFormat.KIRO:
            return names != {"design.md"}
        case SpecFormat.OPENSPEC:
            return True


def _main_first(paths: Iterable[str]) -> list[str]:
    return sorted(paths, key=lambda path: (not path.endswith(("/requirements.md", "/bugfix.md", "spec.md")), path))


def _unique_names(found: Sequence[_Found]) -> Iterator[str]:
    """The names of the specifications. Of several with one name, the first current one keeps it; the others get more
    of their path, so that a key never changes because another specification is finished."""
    taken: set[tuple[SpecFormat, str]] = set()
    names: dict[int, str] = {}
    order = sorted(range(len(found)), key=lambda n: (list(SpecState).index(found[n].state), len(found[n].paths) < 2, n))
    for number in order:
        one = found[number]
        parts = [part for part in one.folder.split("/") if part not in (".kiro", "specs", "openspec", "changes")]
        size = one.name.count("/") + 1
        name = one.name
        while (one.format, name) in taken and size < len(parts):
            size += 1
            name = "/".join(parts[-size:])
        while (one.format, name) in taken:
            name = one.folder if (one.format, one.folder) not in taken else f"{name}~"
        taken.add((one.format, name))
        names[number] = name
    return (names[number] for number in range(len(found)))
