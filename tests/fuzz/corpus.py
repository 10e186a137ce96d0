"""The inputs that are kept: some of every kind, and every one that once broke a law."""

from __future__ import annotations

from functools import cache
from pathlib import Path

FOLDER = Path(__file__).parent / "corpus"


@cache
def seeds_of(name: str) -> tuple[bytes, ...]:
    """The kept inputs of one parser, in the order of their names."""
    found = tuple(path.read_bytes() for path in sorted((FOLDER / name).iterdir()))
    assert found, f"no inputs are kept for {name}"
    return found
