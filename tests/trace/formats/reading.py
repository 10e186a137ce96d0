"""Read specifications from strings."""

from __future__ import annotations

from textwrap import dedent

from contextive.trace.formats.layout import find_specifications, read_specification
from contextive.trace.formats.values import DeclaredRequirement, FormatSpecification


def read(files: dict[str, str]) -> list[FormatSpecification]:
    """Every specification among files, whose texts may be indented."""
    texts = {path: dedent(text).removeprefix("\n") for path, text in files.items()}
    return [
        read_specification(found, {path: texts[path] for path in found.paths}) for found in find_specifications(texts)
    ]


def read_one(files: dict[str, str]) -> FormatSpecification:
    (specification,) = read(files)
    return specification


def kiro(**files: str) -> FormatSpecification:
    """The specification `auth`; the names of the files are given without `.md`."""
    return read_one({f".kiro/specs/auth/{name}.md": text for name, text in files.items()})


def speckit(**files: str) -> FormatSpecification:
    return read_one({f"specs/004-events/{name}.md": text for name, text in files.items()})


def capability(text: str) -> FormatSpecification:
    return read_one({"openspec/specs/auth/spec.md": text})


def lines(requirement: DeclaredRequirement) -> tuple[str, int, int]:
    return requirement.key, requirement.place.line, requirement.place.end_line


def unread(specification: FormatSpecification) -> list[tuple[int, str]]:
    return [(line.line, line.reason) for line in specification.unread]
