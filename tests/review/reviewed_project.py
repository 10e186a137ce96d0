"""A small project in a real git repository, and its reviews."""

from __future__ import annotations

from pathlib import Path

from contextive.ingest.review_service import Review, ReviewService
from contextive.ingest.trace_service import TraceService
from contextive.review.findings import Finding
from tests.workspace.repositories import commit, git, init, write

SPEC = """\
# Door

## Locking

The door MUST be locked at night.
The door SHOULD ring when it opens.
"""
LOCK = "##= docs/spec/door.md#locking\n##% The door MUST be locked at night.\n"
RING = "##= docs/spec/door.md#locking\n##% The door SHOULD ring when it opens.\n"
DOOR = f"""\
import lock


{LOCK}def evening(door):
    for bolt in door.bolts:
        lock.turn(bolt, 2)
    return door


def morning(door):
    {RING.replace(chr(10) + "##", chr(10) + "    ##").rstrip()}
    door.bell.ring(times=1)
    return door.open()
"""
TEST = f"""\
{LOCK.replace("locking", "locking" + chr(10) + "##= type=test")}def test_the_door_is_locked():
    assert evening(door).is_locked
"""
FILES = {"docs/spec/door.md": SPEC, "src/door.py": DOOR, "tests/test_door.py": TEST}


class ReviewedProject:
    """A repository with one commit on the branch main, and changes in the working tree."""

    def __init__(self, root: Path, files: dict[str, str] | None = None) -> None:
        self.root = init(root)
        commit(root, FILES if files is None else files, 1_700_000_000)
        self.service = ReviewService(TraceService(root))

    def write(self, path: str, text: str) -> None:
        write(self.root, {path: text})

    def change(self, path: str, old: str, new: str) -> None:
        text = (self.root / path).read_text(encoding="utf-8")
        assert old in text
        self.write(path, text.replace(old, new))

    def git(self, *arguments: str) -> str:
        return git(self.root, *arguments)

    def review(self, base: str | None = "HEAD", head: str | None = None) -> Review:
        return self.service.review(base, head)

    def findings(self, base: str | None = "HEAD", head: str | None = None) -> list[Finding]:
        return list(self.review(base, head).findings)

    def kinds(self) -> list[str]:
        return [finding.kind.value for finding in self.findings()]
