"""Mutations of inputs. The same random seed gives the same mutations."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

from .invariants import SMALL_BYTES

_SCRAPS = (
    b"\0", b"\n", b"\r", b"\r\n", b"\t", b" ", b"\xef\xbb\xbf", b"\xff", b"\xed\xa0\x80", "\u2028".encode(), "\u0130".encode(),
    "\u0660".encode(), "\U000e0041".encode(), "\u200b".encode(), "e\u0301".encode(), "\u00b2".encode(),
    b"'", b'"', b'"""', b"'''", b"\\", b"/", b"..", b"../", b"//", b"[",
    b"]", b"[[", b"]]", b"{", b"}", b"(", b")", b"<", b">", b"#", b"##", b"|", b"*", b"**", b"?", b"!", b"!!", b"&a ", b"*a",
    b"---", b"...", b"```", b"~~~", b"- ", b"> ", b"1. ", b": ", b"=", b",", b";", b"$", b"${", b"%", b"%00", b"@", b"^",
    b"0", b"-1", b"-0", b"1e400", b"9" * 30, b"9" * 5000, b"NaN", b"Infinity", b"null", b"true", b"0x1f", b"2038-01-19T03:14:08Z",
    b"9999-12-31T23:59:59-23:59", b"0001-01-01", b"MUST", b"SHOULD NOT", b"AND", b"NEAR(", b"-----BEGIN", b"//=", b"//#",
)  # fmt: skip


def mutated(source: random.Random, seeds: Sequence[bytes]) -> bytes:
    """Return one of the seeds, mutated one to eight times."""
    data = bytearray(source.choice(seeds)[:SMALL_BYTES])
    for _ in range(source.choice((1, 1, 2, 3, 5, 8))):
        source.choice(_CHANGES)(source, data, seeds)
    return bytes(data[:SMALL_BYTES])


def _position(source: random.Random, data: bytearray) -> int:
    return source.randint(0, len(data))


def _span(source: random.Random, data: bytes | bytearray) -> tuple[int, int]:
    start = source.randint(0, len(data))
    return start, min(len(data), start + source.choice((1, 2, 4, 16, 64, 256)))


def _flip(source: random.Random, data: bytearray, seeds: Sequence[bytes]) -> None:
    if data:
        data[source.randrange(len(data))] = source.randrange(256)


def _insert(source: random.Random, data: bytearray, seeds: Sequence[bytes]) -> None:
    at = _position(source, data)
    data[at:at] = source.choice(_SCRAPS)


def _replace(source: random.Random, data: bytearray, seeds: Sequence[bytes]) -> None:
    start, end = _span(source, data)
    data[start:end] = source.choice(_SCRAPS)


def _cut(source: random.Random, data: bytearray, seeds: Sequence[bytes]) -> None:
    start, end = _span(source, data)
    del data[start:end]


def _truncate(source: random.Random, data: bytearray, seeds: Sequence[bytes]) -> None:
    del data[_position(source, data) :]


def _repeat(source: random.Random, data: bytearray, seeds: Sequence[bytes]) -> None:
    start, end = _span(source, data)
    data[end:end] = data[start:end] * source.choice((1, 2, 8, 64, 500))
    del data[SMALL_BYTES:]


def _splice(source: random.Random, data: bytearray, seeds: Sequence[bytes]) -> None:
    other = source.choice(seeds)
    start, end = _span(source, other)
    at = _position(source, data)
    data[at:at] = other[start:end]


def _swap_lines(source: random.Random, data: bytearray, seeds: Sequence[bytes]) -> None:
    lines = bytes(data).split(b"\n")
    source.shuffle(lines)
    data[:] = b"\n".join(lines)


_CHANGES: tuple[Callable[[random.Random, bytearray, Sequence[bytes]], None], ...] = (
    _flip,
    _insert,
    _insert,
    _replace,
    _replace,
    _cut,
    _truncate,
    _repeat,
    _splice,
    _splice,
    _swap_lines,
)
