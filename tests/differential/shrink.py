"""Shrink a failing project: leave out files, then lines, then words as long as it still fails in the same way."""

from __future__ import annotations

from collections.abc import Callable, Iterator

Project = dict[str, bytes]
_CONFIG = ".duvet/config.toml"


def shrink(project: Project, fails: Callable[[Project], bool]) -> Project:
    """The smallest project found that still fails."""
    while True:
        smaller = next((candidate for candidate in _smaller(project) if fails(candidate)), None)
        if smaller is None:
            return project
        project = smaller


def _smaller(project: Project) -> Iterator[Project]:
    for name in project:
        if name != _CONFIG:
            yield {other: content for other, content in project.items() if other != name}
    for separator, size_limit in ((b"\n", 10_000), (b" ", 400)):
        for name, content in project.items():
            pieces = content.split(separator)
            if len(pieces) > size_limit:
                continue
            for kept in _without_a_part(pieces):
                yield project | {name: separator.join(kept)}


def _without_a_part(pieces: list[bytes]) -> Iterator[list[bytes]]:
    size = len(pieces) // 2
    while size >= 1:
        for start in range(0, len(pieces), size):
            yield pieces[:start] + pieces[start + size :]
        size //= 2
