"""The corpus: typical inputs of every parser, and every input that once broke an invariant."""

from __future__ import annotations

from functools import cache
from pathlib import Path

FOLDER = Path(__file__).parent / "corpus"


@cache
def seeds_of(name: str) -> tuple[bytes, ...]:
    """Return the inputs of one parser, sorted by file name."""
    found = tuple(path.read_bytes() for path in sorted((FOLDER / name).iterdir()))
    assert found, f"the corpus has no inputs for {name}"
    return found
