"""Ids of the v2 report. They are the same in every report, so reports can be merged.

An id is a prefix for the kind of object and the FNV-1a hash (64 bits) of the fields that identify it.
"""

from __future__ import annotations

from collections.abc import Iterable

_OFFSET_BASIS = 0xCBF29CE484222325
_PRIME = 0x100000001B3
_MASK = 0xFFFFFFFFFFFFFFFF


def fnv1a_64(data: bytes) -> int:
    value = _OFFSET_BASIS
    for byte in data:
        value = ((value ^ byte) * _PRIME) & _MASK
    return value


def _id(prefix: str, *fields: object) -> str:
    data = "\0".join(map(str, fields)).encode("utf-8", "surrogatepass")
    return f"{prefix}-{fnv1a_64(data):016x}"


def repository_id(blob_link: str) -> str:
    return _id("repo", blob_link)


def inline_source_id(contents: str) -> str:
    return _id("src", contents)


def linked_source_id(file_name: str, repository: str) -> str:
    """`repository` is the id of a repository, or empty."""
    return _id("lnk", file_name, repository)


def specification_id(source: str, start: int, end: int) -> str:
    return _id("spc", source, start, end)


def section_id(source: str, start: int, end: int) -> str:
    return _id("sec", source, start, end)


def requirement_id(origin: str, ranges: Iterable[tuple[int, int]], linked: str, line: int) -> str:
    offsets = (offset for span in sorted(ranges) for offset in span)
    return _id("req", origin, *offsets, linked, line)


def cite_id(linked: str, line: int, target: str) -> str:
    return _id("cite", linked, line, target)
