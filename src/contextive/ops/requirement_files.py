"""The requirement files that `duvet report` and `duvet extract` write."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from contextive.ingest.traced_project import GeneratedFile

# Without Python's file objects: there are hundreds of small files, and each would be asked what it is.
_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)


def write_requirement_files(root: Path, generated: Sequence[GeneratedFile]) -> None:
    """Write the requirement files. They can be made again at any time, so they need no detour through a temporary file."""
    make_folders(root, generated)
    for file in generated:
        write_requirement_file(root, file)


def make_folders(root: Path, generated: Sequence[GeneratedFile]) -> None:
    for folder in {file.path.rpartition("/")[0] for file in generated}:
        (root / folder).mkdir(parents=True, exist_ok=True)


def write_requirement_file(root: Path, file: GeneratedFile) -> None:
    """Write one of them, into a folder that is there."""
    rest = memoryview(file.text.encode("utf-8", "surrogatepass"))
    handle = os.open(f"{root}/{file.path}", _FLAGS, 0o666)
    try:
        while rest:
            rest = rest[os.write(handle, rest) :]
    finally:
        os.close(handle)
